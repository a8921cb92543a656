'use strict'
// Random public calls over the slots of a folder and the merged log that reads them, on a disk whose calls take a
// random time, held against a map in memory. Calls overlap as they come. MILLRACE_SEED=n tries a run again, but the
// system decides when its timers end.

const tape = require('tape')
const { createIndex } = require('@millrace/index')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, collect, createRandom, isLongRun, slowStorage } = require('@millrace/testkit')
const { MergedLog, SlotLog } = require('..')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const FOLDER = '/logs'
const CALLS_PER_RUN = 400
const CALL_COUNT = isLongRun ? 200_000 : 3200
/** Progress is told after so many runs. */
const RUNS_PER_COMMENT = 20
const PENDING_MAX = 16
/** So often a stream is looked at before it counts as stuck. */
const TURN_COUNT_MAX = 200_000

const RARE = { path: 'kind', equals: 'rare' }
const isRare = (n) => n % 7 === 0

const turn = () => new Promise(setImmediate)

/** A simulated disk has neither folders nor locks; slots are locked folders in a folder. */
function withSlots (storage, disk) {
  const locked = new Set()
  const answer = (cb) => process.nextTick(cb, null)
  const lock = (file, request, cb) => {
    if (locked.has(file)) return process.nextTick(cb, Object.assign(new Error('locked'), { code: 'ERR_LOG_LOCKED' }))
    locked.add(file)
    const release = (cb) => {
      locked.delete(file)
      answer(cb)
    }
    process.nextTick(cb, null, { kind: 'file', noteFile: answer, forgetFile: answer, release })
  }

  const listFolder = (folder, cb) => process.nextTick(() => {
    const inside = disk.list().filter((file) => file.startsWith(`${folder}/`)).map((file) => file.slice(folder.length + 1))
    cb(null, [...new Set(inside.map((file) => file.split('/')[0]))])
  })
  return { ...storage, listFolder, lock }
}

class Run {
  failures = []
  callCount = 0
  #count = 0
  pending = new Set()
  /** By key: the number of the record, once its append has called back. @type {Map<string, number>} */
  records = new Map()
  /** Numbers that were handed to an append, and their slots. */
  given = new Map()
  shown = new Map()
  deleted = new Set()
  held = []
  slots = []
  isClosing = false
  /** The logs of the slots that the merged log has open. */
  opened = new Map()

  constructor (random) {
    this.random = random
    const disk = new SimulatedDisk()
    this.storage = withSlots(slowStorage(disk.storage, random), disk)
    const index = createIndex(['kind'], { tuning: { recordsMax: 20, waitMs: 1 } })
    this.indexed = random(2) === 0 ? { index } : {}
    this.options = { codec: jsonCodec, ...this.indexed, segmentSize: 34_000 + random(60_000), fsync: ['always', 'interval', 'never'][random(3)], storage: this.storage }
  }

  async open () {
    this.isClosing = false
    this.opened = new Map()
    this.merged = MergedLog(FOLDER, { codec: jsonCodec, ...this.indexed, storage: this.storage, latenessMs: 0 })
    this.merged.eachSlot((log, slot) => this.opened.set(slot, log))
    await this.merged.ready()
  }

  fail (what) {
    this.failures.push(what)
  }

  begin (what, codes, run) {
    this.callCount++
    const promise = run().catch((err) => {
      if (!codes.includes(err.code) && !(this.isClosing && err.code === 'ERR_LOG_CLOSED')) this.fail(`${what}: ${err.stack}`)
    }).then(() => { this.pending.delete(promise) })
    this.pending.add(promise)
  }

  async settle () {
    while (this.pending.size > 0) await Promise.all(this.pending)
  }

  createValue (slot) {
    const n = this.#count++
    this.given.set(n, slot)
    const time = this.random(10) === 0 ? {} : { time: 1 + n - (this.random(10) === 0 ? this.random(50) : 0) }
    return { n, ...time, kind: isRare(n) ? 'rare' : 'often', pad: 'x'.repeat(this.random(8) === 0 ? this.random(9000) : this.random(200)) }
  }

  noteAppended (slot, seq, n) {
    const key = `${slot}:${seq}`
    if (this.records.has(key)) this.fail(`${key} was given twice`)
    this.records.set(key, n)
    if ((this.shown.get(key) ?? n) !== n) this.fail(`${key}: ${n} was appended, and ${this.shown.get(key)} shown`)
  }

  noteShown (key, { n }) {
    if (this.given.get(n) !== Number(key.split(':')[0])) this.fail(`${key}: nobody has appended ${n}`)
    if ((this.records.get(key) ?? n) !== n || (this.shown.get(key) ?? n) !== n) this.fail(`${key}: ${n} is not its record`)
    this.shown.set(key, n)
  }

  /** The keys of what the merged log certainly has. @type {(after?: Record<string, number>) => string[]} */
  there (after = {}) {
    return [...this.records.keys()].filter((key) => {
      const [slot, seq] = key.split(':').map(Number)
      return !this.deleted.has(key) && seq <= (this.opened.get(slot)?.since.value ?? -1) && seq > (after[slot] ?? -1)
    })
  }

  /** Of what a read has delivered. `there`: the keys of what it had to deliver. */
  check (what, items, there, { reverse = false, isWhole = true, isMerged = true }) {
    const seqs = new Map()
    const orders = new Map()
    const seen = new Set()
    let before = null
    for (const { seq: key, time, value } of items) {
      const [slot, seq] = key.split(':').map(Number)
      this.noteShown(key, value)
      if ((value.time ?? null) !== time) this.fail(`${what}: the time of ${key} is ${time}`)
      const last = seqs.get(slot)
      if (last !== undefined && (reverse ? seq >= last : seq <= last)) this.fail(`${what}: ${key} after ${last}`)
      seqs.set(slot, seq)
      seen.add(key)
      // In a slot, the latest time so far counts.
      const own = time ?? (reverse ? Infinity : -Infinity)
      const order = (reverse ? Math.min : Math.max)(orders.get(slot) ?? own, own)
      orders.set(slot, order)
      const rank = order === before?.order ? slot - before.slot : order - (before?.order ?? order)
      if (isMerged && before !== null && (reverse ? rank > 0 : rank < 0)) this.fail(`${what}: ${key} (${order}) after slot ${before.slot} (${before.order})`)
      before = { order, slot }
    }
    const missing = isWhole ? there.filter((key) => !seen.has(key) && !this.deleted.has(key)) : []
    if (missing.length > 0) this.fail(`${what}: ${missing.length} are missing, such as ${missing[0]}`)
  }

  pickSlot () {
    return this.slots[this.random(this.slots.length)]
  }

  append () {
    const log = this.pickSlot()
    const { slot } = log
    const values = Array.from({ length: this.random(5) === 0 ? 3 : 1 }, () => this.createValue(slot))
    const given = values.length > 1 ? values : values[0]
    const seqs = this.random(2) === 0
    this.begin('append', ['ERR_LOG_CLOSED'], async () => {
      const result = await log.append(given, { seqs })
      if (!seqs) return this.noteAppended(slot, result, values[values.length - 1].n)
      if (result.length !== values.length) this.fail(`append: ${result} of ${values.length} records`)
      result.forEach((seq, index) => this.noteAppended(slot, seq, values[index].n))
    })
  }

  appendSync () {
    const log = this.pickSlot()
    if (!log.supports.flushSync) return this.append()
    this.callCount++
    const values = Array.from({ length: 1 + this.random(2) }, () => this.createValue(log.slot))
    const seqs = log.appendSync(values, { sync: this.random(2) === 0, seqs: true })
    seqs.forEach((seq, index) => this.noteAppended(log.slot, seq, values[index].n))
    if (this.random(2)) log.flushSync()
  }

  ask () {
    const log = this.pickSlot()
    const name = ['sync', 'stats', 'roll', 'drained', 'ready'][this.random(5)]
    this.begin(name, ['ERR_LOG_CLOSED'], () => log[name]())
  }

  del () {
    const there = this.there()
    if (there.length === 0) return
    const key = there[this.random(there.length)]
    const [slot, seq] = key.split(':').map(Number)
    const log = this.slots.find((log) => log.slot === slot)
    if (log === undefined) return
    this.deleted.add(key)
    this.begin('del', ['ERR_LOG_CLOSED', 'flumelog:deleted'], () => log.log.del(seq))
  }

  get () {
    const there = this.there()
    const keys = Array.from({ length: 1 + this.random(4) }, () => there[this.random(there.length)]).filter(Boolean)
    this.begin('getMany', [], async () => {
      const values = await this.merged.getMany(keys)
      values.forEach((value, index) => {
        if (value) this.noteShown(keys[index], value)
        else if (!this.deleted.has(keys[index])) this.fail(`getMany ${keys[index]}: nothing`)
      })
    })
    if (keys.length > 0) this.begin('get', ['flumelog:deleted'], async () => this.noteShown(keys[0], await this.merged.get(keys[0])))
  }

  read () {
    const { random, merged } = this
    const reverse = random(2) === 0
    const limit = random(3) ? -1 : random(20)
    const after = {}
    if (!reverse && random(3) === 0) {
      for (const key of this.there().filter(() => random(20) === 0)) {
        const [slot, seq] = key.split(':').map(Number)
        after[slot] = Math.max(after[slot] ?? -1, seq)
      }
    }
    const filter = random(2) === 0 ? { where: RARE } : {}
    const there = this.there(after).filter((key) => !filter.where || isRare(this.records.get(key)))
    this.begin('stream', [], async () => {
      const options = { ...filter, reverse, limit, after }
      const source = random(2) ? merged.stream(options) : merged.toReadable(options)
      const items = await collect(source)
      this.check(`stream ${JSON.stringify(options)}`, items, there, { reverse, isWhole: limit === -1 })
      if (filter.where && !items.every(({ value }) => isRare(value.n))) this.fail('a record that does not match')
      if (!source.position) return
      const next = []
      const rest = { ...filter, ...reverse ? { reverse, upTo: source.position } : { after: source.position } }
      for await (const item of merged.stream(rest)) next.push(item)
      if (items.some(({ seq }) => next.some((item) => item.seq === seq))) this.fail('a record came again after its position')
    })
  }

  countOrEnds () {
    const { merged } = this
    const there = this.there()
    const least = there.length
    this.begin('count', [], async () => {
      const count = await merged.count()
      const gone = there.filter((key) => this.deleted.has(key)).length
      if (count < least - gone) this.fail(`count: ${count} instead of at least ${least - gone}`)
    })
    const name = this.random(2) ? 'first' : 'last'
    this.begin(name, [], async () => {
      const item = await merged[name]()
      if (item) this.noteShown(item.seq, item.value)
      else if (there.some((key) => !this.deleted.has(key))) this.fail(`${name}: nothing`)
    })
    this.begin('stats', [], () => merged.stats())
  }

  refused () {
    const { merged } = this
    const options = this.random(2) === 0 ? { seqs: true } : undefined
    this.begin('append to the merged log', ['ERR_LOG_READ_ONLY'], () => merged.append({}, options).then(() => this.fail('appended')))
    this.begin('scan', ['ERR_NOT_SUPPORTED'], () => merged.scan({}, () => {}).then(() => this.fail('scanned')))
  }

  follow () {
    const iterator = this.merged.stream({ live: true })[Symbol.asyncIterator]()
    this.callCount++
    this.held.push({ iterator, items: [], isReading: false, end: null, isWanted: this.random(2) === 0 })
  }

  step (held) {
    if (held.isReading || held.end !== null) return
    held.isReading = true
    this.callCount++
    held.iterator.next().then(({ done, value }) => {
      if (done) held.end = true
      else held.items.push(value)
      held.isReading = false
    }, (err) => {
      held.end = err
      held.isReading = false
    })
  }

  /** A live stream gets everything; another one is left. */
  async endHeld () {
    for (const held of this.held.splice(0)) {
      const there = this.there()
      const keys = () => new Set(held.items.map(({ seq }) => seq))
      const lacks = () => {
        const seen = keys()
        return there.some((key) => !seen.has(key) && !this.deleted.has(key))
      }
      for (let count = 0; held.isWanted && held.end === null && count < TURN_COUNT_MAX; count++) {
        this.step(held)
        if (count % 50 === 0 && !lacks()) break
        await turn()
      }
      if (held.end !== null && held.end !== true) this.fail(`live: ${held.end.stack}`)
      this.check('live', held.items, there, { isWhole: held.isWanted, isMerged: false })
      if (!held.isReading) await held.iterator.return()
    }
  }

  async reopen () {
    if (this.random(2)) {
      const index = this.random(this.slots.length)
      const [log] = this.slots.splice(index, 1)
      this.callCount += 2
      await log.close()
      const again = log.openAgain()
      await again.ready()
      this.slots.push(again)
      return
    }
    await this.endHeld()
    if (this.random(2)) await this.settle()
    this.isClosing = true
    this.callCount += 2
    await this.merged.close()
    await this.settle()
    await this.open()
  }

  async run () {
    const { random } = this
    for (let n = 1 + random(4); n > 0; n--) this.slots.push(SlotLog(FOLDER, this.options))
    for (const log of this.slots) await log.ready()
    await this.open()
    const calls = [
      [30, () => this.append()], [6, () => this.appendSync()], [6, () => this.ask()], [5, () => this.del()],
      [8, () => this.get()], [8, () => this.read()], [4, () => this.countOrEnds()], [1, () => this.refused()],
      [2, () => this.follow()]
    ]
    const total = calls.reduce((sum, [weight]) => sum + weight, 0)
    while (this.callCount < CALLS_PER_RUN) {
      let left = random(total)
      calls.find(([weight]) => (left -= weight) < 0)[1]()
      for (const held of this.held) if (random(2)) this.step(held)
      if (this.pending.size > random(PENDING_MAX)) await turn()
      if (this.pending.size > PENDING_MAX) await this.settle()
      if (random(120) === 0) await this.reopen()
    }
    await this.settle()
    await this.endHeld()
    await Promise.all(this.slots.map((log) => log.close()))
    await this.merged.close()
    await this.open()
    const items = await collect(this.merged.stream())
    this.check('at the end', items, [...this.records.keys()], {})
    if (items.some(({ seq }) => this.deleted.has(seq))) this.fail('a deleted record is there')
    await this.merged.close()
    return this.failures
  }
}

tape(`model: slots and their merged log are what a map would be, whatever is called (seed ${seed})`, async (t) => {
  let callCount = 0
  let failureCount = 0
  for (let index = 0; callCount < CALL_COUNT; index++) {
    const run = new Run(createRandom(seed + index))
    const failures = await run.run()
    callCount += run.callCount
    failureCount += failures.length
    const what = `run ${index} (MILLRACE_SEED=${seed + index}): ${failures.length} differences`
    if (failures.length > 0) t.fail(`${what}: ${failures.slice(0, 3).join('\n')}`)
    if (index % RUNS_PER_COMMENT === RUNS_PER_COMMENT - 1) t.comment(`${callCount} calls so far`)
  }
  t.equal(failureCount, 0, `${callCount} calls`)
})
