'use strict'
// Random public calls over a segmented log, on a disk whose calls take a random time, held against a map in memory. A
// second log follows in the same folder, as another process does. Calls overlap as they come.
//
// What a read may deliver is bounded from both sides: all that was there when it began and is still there when it ends;
// nothing that was gone before, and nothing else.

const tape = require('tape')
const { createIndex } = require('@millrace/index')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, createRandom, isLongRun, slowStorage, until } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const FOLDER = '/logs'
const CALLS_PER_RUN = 400
const RUN_COUNT = isLongRun ? 500 : 12
const PENDING_MAX = 24
/** Reads with an index ask for one of so many keys. */
const KEY_COUNT = 40

const turn = () => new Promise(setImmediate)

/** Records that `keep` keeps. @param {number} n */
const isRare = (n) => n % 7 === 0

/** What is known of the records of one log, by seq. */
class Model {
  /** @type {Map<number, { n: number, isDying: boolean, isDeleted: boolean }>} */
  records = new Map()
  /** Numbers that were handed to an append, and whether it has failed. @type {Map<number, { hasFailed: boolean }>} */
  given = new Map()
  /** Number by seq, of what a read has delivered before its append called back. */
  shown = new Map()
  /** All below may be dropped, and all below `dropped` is. */
  dropping = 0
  dropped = 0
  /** Counts drops that have begun. */
  dropCount = 0
  #count = 0
  failures = []

  /** @param {boolean} keeps  whether limits may drop all but the rare records, at any moment */
  constructor (keeps) {
    this.keeps = keeps
  }

  /** @param {Function} random */
  createValue (random) {
    const n = this.#count++
    this.given.set(n, { hasFailed: false })
    return { n, key: n % KEY_COUNT, kind: isRare(n) ? 'rare' : 'often', pad: 'x'.repeat(random(8) === 0 ? random(9000) : random(200)) }
  }

  fail (what) {
    this.failures.push(what)
  }

  /** @type {(seq: number, n: number) => void} */
  noteAppended (seq, n) {
    if (this.records.has(seq)) this.fail(`${seq} was given twice`)
    this.records.set(seq, { n, isDying: false, isDeleted: false })
    this.#checkShown(seq, n)
  }

  /** @type {(seq: number, n: number) => void} */
  noteShown (seq, n) {
    if (!this.given.has(n)) this.fail(`${seq}: nobody has appended ${n}`)
    const known = this.records.get(seq)
    if (known !== undefined && known.n !== n) this.fail(`${seq}: ${n} instead of ${known.n}`)
    this.#checkShown(seq, n)
    this.shown.set(seq, n)
  }

  #checkShown (seq, n) {
    if ((this.shown.get(seq) ?? n) !== n) this.fail(`${seq}: ${n}, and ${this.shown.get(seq)} before`)
  }

  /** What is certainly there now, and what is certainly gone. */
  mark () {
    const there = []
    const gone = new Set()
    for (const [seq, { n, isDeleted }] of this.records) {
      if (isDeleted || (seq < this.dropped && !(this.keeps && isRare(n)))) gone.add(seq)
      else if (this.isThere(seq)) there.push(seq)
    }
    return { there, gone, dropCount: this.dropCount }
  }

  /** Whether a record that was there at a mark must still be. */
  isThere (seq) {
    const record = this.records.get(seq)
    const mayBeLimited = this.keeps && (record === undefined || !isRare(record.n))
    return seq >= this.dropping && !mayBeLimited && !record?.isDying
  }

  /**
   * @param {string} what
   * @param {Array<{ seq: number, value: any }>} items  delivered
   * @param {ReturnType<Model['mark']>} mark  made before the read
   * @param {{ from?: number, stop?: number, isReverse?: boolean, isWhole?: boolean, mayLag?: boolean,
   *   since?: number }} how
   */
  check (what, items, mark, how) {
    const { from = 0, stop = Infinity, isReverse = false, isWhole = true, mayLag = false, since = Infinity } = how
    let before = isReverse ? Infinity : -1
    const seen = new Set()
    for (const { seq, value } of items) {
      if (isReverse ? seq >= before : seq <= before) this.fail(`${what}: ${seq} after ${before}`)
      if (seq < from || seq >= stop) this.fail(`${what}: ${seq} is not in ${from} to ${stop}`)
      before = seq
      seen.add(seq)
      this.noteShown(seq, value.n)
      if (!mayLag && mark.gone.has(seq)) this.fail(`${what}: ${seq} was gone`)
    }
    const missing = (isWhole ? mark.there : []).filter((seq) => {
      return seq >= from && seq < stop && seq <= since && !seen.has(seq) && this.isThere(seq)
    })
    if (missing.length > 0) this.fail(`${what}: ${missing.length} are missing, such as ${missing[0]}`)
  }
}

class Run {
  callCount = 0
  /** Calls that have not called back. @type {Set<Promise<void>>} */
  pending = new Set()
  /** Streams that are read now and then. @type {any[]} */
  held = []
  isClosing = false

  constructor (random) {
    this.random = random
    this.disk = new SimulatedDisk()
    const keeping = { maxCount: 1 + random(4), keep: { where: { path: ['kind'], equals: 'rare' } } }
    const framing = random(4) === 0 ? 'lines' : 'checked'
    this.keeps = framing === 'checked' && random(3) === 0
    this.model = new Model(this.keeps)
    this.options = {
      ...(this.keeps && keeping),
      framing,
      codec: jsonCodec,
      fsync: ['always', 'interval', 'never'][random(3)],
      segmentSize: 34_000 + random(60_000),
      openSegments: 1 + random(3),
      cache: random(2) ? 0 : 2 ** 20,
      compress: random(3) === 0 ? 'gzip' : false
    }
    this.index = random(2) === 0 ? createIndex(['key'], { tuning: { recordsMax: 10 + random(60), fanOut: 2, waitMs: 1 } }) : null
    this.storage = slowStorage(this.disk.storage, random, { isBlocking: random(4) > 0 })
  }

  async open () {
    this.isClosing = false
    this.log = SegmentedLog(FOLDER, { ...this.options, ...this.index && { index: this.index }, storage: this.storage })
    await this.log.ready()
    this.follower ??= SegmentedLog(FOLDER, { ...this.options, ...this.index && { index: this.index }, flags: 'r', storage: slowStorage(this.disk.storage, this.random) })
    await this.follower.ready()
  }

  /** Begins a call. @type {(what: string, codes: string[], run: () => Promise<any>) => void} */
  begin (what, codes, run) {
    this.callCount++
    const allowed = new Set([...codes, ...(this.isClosing ? ['ERR_LOG_CLOSED'] : [])])
    const promise = run().catch((err) => {
      if (!allowed.has(err.code) && !(this.isClosing && err.code === 'ERR_LOG_CLOSED')) this.model.fail(`${what}: ${err.stack}`)
    }).then(() => { this.pending.delete(promise) })
    this.pending.add(promise)
  }

  async settle () {
    while (this.pending.size > 0) await Promise.all(this.pending)
  }

  /** A seq: of a record, as a rule. */
  pickSeq () {
    const seqs = [...this.model.records.keys()]
    return seqs.length === 0 ? 0 : seqs[this.random(seqs.length)]
  }

  pickBounds () {
    const { random } = this
    const from = random(3) ? 0 : this.pickSeq()
    const stop = random(3) ? Infinity : this.pickSeq()
    return { from, stop, options: { ...(from > 0 && { gte: from }), ...(stop < Infinity && { lt: stop }) } }
  }

  append () {
    const { model, random, log } = this
    const values = Array.from({ length: random(6) === 0 ? random(5) : 1 }, () => model.createValue(random))
    const given = values.length !== 1 ? values : values[0]
    const seqs = random(2) === 0
    this.begin('append', [], async () => {
      const result = await log.append(given, { seqs })
      const seq = seqs ? result.at(-1) ?? -1 : result
      if (seqs && result.length !== values.length) model.fail(`append: ${result} of ${values.length} records`)
      if (log.since.value < seq) model.fail(`append: since is ${log.since.value}, behind ${seq}`)
      if (this.options.fsync === 'always' && values.length > 0 && log.durable.value < seq) model.fail(`append: durable is ${log.durable.value}, behind ${seq}`)
      if (seqs) result.forEach((seq, index) => model.noteAppended(seq, values[index].n))
      else if (values.length > 0) model.noteAppended(seq, values[values.length - 1].n)
    })
  }

  appendSync () {
    const { model, random, log } = this
    if (!log.supports.flushSync) return this.append()
    this.callCount++
    const values = Array.from({ length: 1 + random(3) }, () => model.createValue(random))
    try {
      const seqs = log.appendSync(values, { sync: random(2) === 0, seqs: true })
      seqs.forEach((seq, index) => model.noteAppended(seq, values[index].n))
      // With 'always' they may be shown later.
      if (this.options.fsync === 'always') for (const { n } of values) this.unsure(n)
    } catch (err) {
      if (err.code !== 'ERR_LOG_NOT_READY') throw err
    }
  }

  /** A record that was returned, but may not be shown yet: it is no failure if a read misses it until a sync. */
  unsure (n) {
    const entry = [...this.model.records].find(([, record]) => record.n === n)
    if (!entry) return
    const [seq, record] = entry
    this.model.records.delete(seq)
    this.begin('sync', [], async () => {
      await this.log.sync()
      this.model.records.set(seq, record)
    })
  }

  flushSync () {
    if (!this.log.supports.flushSync) return
    this.callCount++
    try {
      this.log.flushSync({ sync: this.random(2) === 0 })
    } catch (err) {
      if (err.code !== 'ERR_LOG_NOT_READY') throw err
    }
  }

  get () {
    const { model, log } = this
    const seq = this.pickSeq()
    const mark = model.mark()
    const wasThere = mark.there.includes(seq)
    this.begin('get', ['flumelog:deleted', 'ERR_RECORD_NOT_FOUND', 'ERR_LOG_SEQ_RETAINED'], async () => {
      const value = await log.get(seq).catch((err) => {
        if (wasThere && model.isThere(seq) && err.code !== 'ERR_LOG_CLOSED') model.fail(`get ${seq}: ${err.stack}`)
        throw err
      })
      model.noteShown(seq, value.n)
      if (mark.gone.has(seq)) model.fail(`get ${seq}: it was gone`)
    })
  }

  getMany () {
    const { model, log, random } = this
    const { there } = model.mark()
    const seqs = Array.from({ length: random(8) }, () => there[random(there.length)]).filter((seq) => seq !== undefined)
    this.begin('getMany', ['ERR_LOG_SEQ_RETAINED'], async () => {
      const values = await log.getMany(seqs)
      values.forEach((value, index) => {
        if (value) model.noteShown(seqs[index], value.n)
        else if (model.isThere(seqs[index])) model.fail(`getMany ${seqs[index]}: nothing`)
      })
    })
  }

  /** @type {(how?: { isFollower?: boolean, isScan?: boolean }) => void} */
  read ({ isFollower = false, isScan = false } = {}) {
    const { model, random } = this
    const log = isFollower ? this.follower : this.log
    const isReverse = random(3) === 0
    const { from, stop, options } = this.pickBounds()
    const limit = random(4) === 0 ? random(20) : -1
    const skips = random(2) === 0
    const mark = model.mark()
    const key = this.index !== null && random(3) > 0 ? random(KEY_COUNT) : null
    if (key !== null) mark.there = mark.there.filter((seq) => model.records.get(seq).n % KEY_COUNT === key)
    const since = isFollower ? log.since.value : Infinity
    const what = `${isFollower ? 'follower ' : ''}${isScan ? 'scan' : 'stream'} ${JSON.stringify({ ...options, isReverse, limit, key })}`
    const mayMiss = model.dropping > 0 || isFollower || this.keeps
    this.begin(what, mayMiss || from > 0 ? ['ERR_LOG_SEQ_RETAINED'] : [], async () => {
      const items = []
      const all = { ...options, reverse: isReverse, limit, ...(skips && { onRetained: 'skip' }) }
      if (key !== null) all.where = { path: 'key', equals: key }
      try {
        if (isScan) {
          await log.scan(all, ({ buffer, seqs, starts, ends, count }) => {
            for (let index = 0; index < count; index++) {
              items.push({ seq: seqs[index], value: jsonCodec.decode(buffer.subarray(starts[index], ends[index])) })
            }
          })
        } else for await (const item of log.stream(all)) items.push(item)
      } catch (err) {
        model.check(what, items, mark, { from, stop, isReverse, isWhole: false, mayLag: isFollower })
        const isOvertaken = model.dropCount > mark.dropCount || from < model.dropping || isFollower || this.keeps
        const isExpected = err.code === 'ERR_LOG_SEQ_RETAINED' && !skips && isOvertaken
        if (isExpected || err.code === 'ERR_LOG_CLOSED') return
        throw err
      }
      if (key !== null && items.some(({ value }) => value.key !== key)) model.fail(`${what}: other keys`)
      model.check(what, items, mark, { from, stop, isReverse, isWhole: limit === -1, mayLag: isFollower, since })
    })
  }

  count () {
    const { model, log } = this
    const { from, stop, options } = this.pickBounds()
    const mark = model.mark()
    this.begin('count', ['ERR_LOG_SEQ_RETAINED'], async () => {
      const count = await log.count(options)
      const least = mark.there.filter((seq) => seq >= from && seq < stop && model.isThere(seq)).length
      if (count < least) model.fail(`count ${JSON.stringify(options)}: ${count} instead of at least ${least}`)
    })
  }

  firstOrLast () {
    const { model, log, random } = this
    const name = random(2) ? 'first' : 'last'
    const { from, stop, options } = this.pickBounds()
    const mark = model.mark()
    this.begin(name, ['ERR_LOG_SEQ_RETAINED'], async () => {
      const item = await log[name](options)
      const there = mark.there.filter((seq) => seq >= from && seq < stop && model.isThere(seq))
      if (item) model.check(name, [item], mark, { from, stop, isWhole: false })
      const isWrong = name === 'first' ? there.some((seq) => !item || seq < item.seq) : there.some((seq) => !item || seq > item.seq)
      if (isWrong) model.fail(`${name} ${JSON.stringify(options)}: ${item?.seq}, but there are ${there.slice(0, 3)} to ${there.slice(-3)}`)
    })
  }

  del () {
    const { model, log, random } = this
    const { there } = model.mark()
    if (there.length === 0 || !log.supports.del) return
    const seqs = [...new Set(Array.from({ length: 1 + random(3) }, () => there[random(there.length)]))]
    for (const seq of seqs) model.records.get(seq).isDying = true
    this.begin('del', ['ERR_LOG_SEQ_RETAINED', 'flumelog:deleted'], async () => {
      await log.del(seqs.length === 1 ? seqs[0] : seqs)
      for (const seq of seqs) model.records.get(seq).isDeleted = true
    })
  }

  drop () {
    const { model, log } = this
    if (this.random(12) > 0) return this.roll()
    const seq = this.pickSeq()
    model.dropping = Math.max(model.dropping, seq)
    model.dropCount++
    this.begin('dropBefore', [], async () => {
      const { first } = await log.dropBefore(seq)
      model.dropped = Math.max(model.dropped, first)
    })
  }

  /** What the limits no longer allow is dropped now, all but the rare records. */
  keep () {
    if (!this.keeps) return this.roll()
    this.model.dropCount++
    this.begin('keep', [], async () => {
      const { first } = await this.log.dropBefore(0)
      this.model.dropped = Math.max(this.model.dropped, first)
    })
  }

  roll () {
    this.begin('roll', [], () => this.log.roll())
  }

  hold () {
    const { log, random } = this
    if (random(2)) this.begin('hold', [], () => log.hold('reader', Math.max(this.pickSeq(), 1)))
    else this.begin('release', [], () => log.release('reader'))
  }

  sync () {
    const { log, model } = this
    const { value } = log.since
    this.begin('sync', [], async () => {
      await log.sync()
      if (log.durable.value < value) model.fail(`sync: durable is ${log.durable.value}, behind ${value}`)
    })
  }

  ask () {
    const { log, random } = this
    const name = ['stats', 'segments', 'holds', 'drained'][random(4)]
    this.begin(name, [], () => log[name]())
  }

  /** A stream that is read one item at a time, with other calls between. */
  keepStream () {
    const { random } = this
    const isFollower = random(3) === 0
    const isLive = random(2) === 0
    const isReverse = !isLive && random(2) === 0
    const log = isFollower ? this.follower : this.log
    const stream = log.stream({ live: isLive, reverse: isReverse, onRetained: 'skip', ...(isLive && { gt: -1 }) })
    const iterator = stream[Symbol.asyncIterator]()
    const mark = this.model.mark()
    this.callCount++
    const state = { items: [], isReading: false, hasEnded: false, error: null }
    this.held.push({ iterator, isLive, isReverse, isFollower, mark, ...state })
  }

  /** @param {any} stream */
  step (stream) {
    if (stream.isReading || stream.hasEnded) return
    stream.isReading = true
    this.callCount++
    stream.iterator.next().then(({ done, value }) => {
      stream.isReading = false
      if (done) stream.hasEnded = true
      else stream.items.push(value)
    }, (err) => {
      stream.isReading = false
      stream.hasEnded = true
      stream.error = err
    })
  }

  /** @param {any} stream  that is read no more */
  checkHeld ({ items, isReverse, isFollower, isLive, mark, hasEnded, error }) {
    const what = `held ${isLive ? 'live ' : ''}${isReverse ? 'reverse ' : ''}${isFollower ? 'follower ' : ''}stream`
    const isExpected = error === null || error.code === 'ERR_LOG_CLOSED'
    if (!isExpected) this.model.fail(`${what}: ${error.stack}`)
    const isWhole = hasEnded && error === null && !isLive && !isFollower
    this.model.check(what, items, mark, { isReverse, isWhole, mayLag: isFollower })
  }

  async close () {
    // Calls may be under way.
    if (this.random(2)) await this.settle()
    this.isClosing = true
    const closing = this.log.close()
    this.callCount++
    for (const stream of this.held) this.step(stream)
    await closing
    await this.settle()
    for (const stream of this.held.filter(({ isFollower }) => !isFollower)) {
      this.step(stream)
      while (stream.isReading) await turn()
      this.checkHeld(stream)
    }
    this.held = this.held.filter(({ isFollower }) => isFollower)
    const { since, durable } = this.log
    if (durable.value !== since.value) this.model.fail(`close: durable is ${durable.value}, since ${since.value}`)
  }

  async run () {
    await this.open()
    const { random } = this
    /** @type {Array<[number, () => any]>} */
    const calls = [
      [30, () => this.append()], [6, () => this.appendSync()], [3, () => this.flushSync()], [10, () => this.get()],
      [3, () => this.getMany()], [6, () => this.read()], [4, () => this.read({ isScan: true })],
      [5, () => this.read({ isFollower: true })], [3, () => this.count()], [3, () => this.firstOrLast()],
      [5, () => this.del()], [4, () => this.drop()], [2, () => this.keep()], [2, () => this.hold()],
      [4, () => this.sync()], [2, () => this.ask()], [2, () => this.keepStream()]
    ]
    const total = calls.reduce((sum, [weight]) => sum + weight, 0)
    while (this.callCount < CALLS_PER_RUN) {
      let left = random(total)
      const [, call] = calls.find(([weight]) => (left -= weight) < 0)
      call()
      for (const stream of this.held) if (random(2)) this.step(stream)
      if (this.pending.size > random(PENDING_MAX)) await (random(4) ? turn() : Promise.race([...this.pending, turn()]))
      if (this.pending.size > PENDING_MAX) await this.settle()
      if (random(150) === 0) {
        await this.close()
        await this.open()
      }
    }
    await this.end()
    return this.model.failures
  }

  /** All records are there at the end, for the follower too. */
  async end () {
    await this.settle()
    const { model, follower } = this
    await this.close()
    await this.open()
    const mark = model.mark()
    const collect = async (log, options) => {
      const items = []
      for await (const item of log.stream(options)) items.push(item)
      return items
    }
    model.check('at the end', await collect(this.log, { onRetained: 'skip' }), mark, {})
    model.check('at the end, reversed', await collect(this.log, { reverse: true }), mark, { isReverse: true })
    const { value: since } = this.log.since
    await until(() => follower.since.value >= since)
    model.check('the follower at the end', await collect(follower, { onRetained: 'skip' }), mark, { mayLag: true })
    await follower.close()
    for (const stream of this.held) {
      this.step(stream)
      while (stream.isReading) await turn()
      this.checkHeld(stream)
    }
    this.held = []
    await this.close()
  }
}

tape(`model: whatever is called, and however slow the disk is, the log is what a map would be (seed ${seed})`, async (t) => {
  let callCount = 0
  let keepCount = 0
  for (let index = 0; index < RUN_COUNT; index++) {
    if (isLongRun && index > 0 && index % 10 === 0) t.comment(`run ${index} of ${RUN_COUNT}: ${callCount} calls`)
    const run = new Run(createRandom(seed + index))
    const failures = await run.run()
    callCount += run.callCount
    if (run.keeps) keepCount++
    if (failures.length > 0) t.fail(`run ${index} (MILLRACE_SEED=${seed + index}), ${JSON.stringify(run.options)}: ${failures.length} differences: ${failures.slice(0, 3).join('\n')}`)
  }
  t.comment(`${callCount} calls, ${keepCount} of ${RUN_COUNT} runs with keep`)
  t.ok(callCount > 0)
})
