'use strict'
// Appends with a condition to logs with an index, whatever happens meanwhile: no condition is broken, and each refusal
// names a record that matches.

const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { fileStorage } = require('@millrace/block-file')
const { withDictionary } = require('@millrace/dictionary')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { createRandom, failureOf, faultyStorage, inQuickRuns, newPath, slowStorage, temporaryFolder } = require('@millrace/testkit')
const { SegmentedLog } = require('@millrace/segmented-log')
const { createIndex } = require('..')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUNDS = inQuickRuns(6)
const KEYS = 8
const CALLERS = 8
const STEPS = 12
/** As in protobuf, what has nothing but default values takes no byte. */
const DEFAULT = { key: 'key 0', n: 0, tags: ['of key 0'], other: 'key 0', pad: '' }
const defaultCodec = {
  encode: (value) => value === DEFAULT ? '' : JSON.stringify(value),
  decode: (text) => text === '' ? DEFAULT : JSON.parse(text)
}
const KINDS = {
  checked: (options) => OffsetLog(newPath('log'), { codec: jsonCodec, ...options }),
  binary: (options) => OffsetLog(newPath('log'), { codec: binaryCodec, ...options }),
  dictionary: (options) => OffsetLog(newPath('log'), { codec: withDictionary(jsonCodec), ...options }),
  lines: (options) => OffsetLog(newPath('log'), { framing: 'lines', codec: jsonCodec, ...options }),
  offset: (options) => OffsetLog(newPath('log'), { framing: 'offset48', codec: jsonCodec, ...options }),
  segments: (options) => SegmentedLog(temporaryFolder(), { codec: jsonCodec, segmentSize: 20_000, ...options }),
  'checked with empty records': (options) => OffsetLog(newPath('log'), { codec: defaultCodec, ...options }),
  'a dictionary with empty records': (options) => OffsetLog(newPath('log'), { codec: withDictionary(defaultCodec), ...options }),
  'segments with empty records': (options) => SegmentedLog(temporaryFolder(), { codec: defaultCodec, segmentSize: 20_000, ...options })
}

const turns = async (count) => { for (; count > 0; count--) await new Promise(setImmediate) }

/** Filters that find the same. @type {(key: string, random: (limit: number) => number) => any} */
function makeWhere (key, random) {
  const equals = { path: 'key', equals: key }
  return [
    equals,
    equals,
    { path: 'key', in: [key, 'nobody'] },
    [equals, { path: 'n', gte: 0 }],
    { any: [equals, { path: 'tags', includes: `of ${key}` }] },
    { path: 'other', equals: key }
  ][random(6)]
}

class Story {
  constructor (log, random, mayDelete) {
    this.log = log
    this.random = random
    this.mayDelete = mayDelete
    /** By seq. */
    this.keys = new Map()
    /** By seq: when `del` was called. */
    this.deleted = new Map()
    this.accepted = []
    this.refused = []
    this.failedCount = 0
    this.now = 0
    this.n = 0
  }

  pickKey () {
    return `key ${this.random(KEYS)}`
  }

  /** Of an append: one value, or a batch. */
  valuesOf (key) {
    const { random } = this
    const values = Array.from({ length: random(4) === 0 ? 1 + random(3) : 1 }, () => {
      if (key === DEFAULT.key && random(3) > 0) return DEFAULT
      return { key, n: this.n++, tags: [`of ${key}`], other: key, pad: 'x'.repeat(random(20) === 0 ? 9000 : random(60)) }
    })
    return values.length === 1 && random(2) === 0 ? values[0] : values
  }

  async pickSince (key, known) {
    const { random, log } = this
    switch (random(5)) {
      case 0: return -1
      case 1: return log.since.value
      case 2: return await log.last({ where: { path: 'key', equals: key }, values: false }) ?? -1
      case 3: return known.get(key) ?? -1
      default: return [...this.keys.keys()][random(this.keys.size)] ?? -1
    }
  }

  note (key, seqs) {
    for (const seq of seqs) this.keys.set(seq, key)
  }

  async append (known) {
    const { log, random } = this
    const key = random(3) === 0 ? `once ${random(50)}` : this.pickKey()
    const since = key.startsWith('once') ? -1 : await this.pickSince(key, known)
    const values = this.valuesOf(key)
    try {
      if (random(4) === 0) return this.note(key, await log.append(values, { seqs: true }))
      const seqs = await log.append(values, { seqs: true, if: { where: makeWhere(key, random), since } })
      this.accepted.push({ key, since, first: seqs[0], at: this.now++ })
      this.note(key, seqs)
      known.set(key, seqs.at(-1))
    } catch (err) {
      if (err.code === 'ERR_APPEND_CONDITION') {
        this.refused.push({ key, since, seq: err.seq })
        known.set(key, err.seq)
      } else if (isPlanted(err)) this.failedCount++
      else throw err
    }
  }

  appendNow () {
    const key = this.pickKey()
    try {
      this.note(key, this.log.appendSync(this.valuesOf(key), { seqs: true, sync: this.random(2) === 0 }))
    } catch (err) {
      // While a compacted file gets the name.
      if (err.code !== 'ERR_LOG_NOT_READY') rethrowUnplanted(err)
    }
  }

  async call () {
    const { random, log } = this
    const known = new Map()
    for (let step = 0; step < STEPS; step++) {
      if (random(3) === 0) await turns(random(6))
      if (random(12) === 0 && log.supports.flushSync) this.appendNow()
      else if (random(4) === 0) await Promise.all(Array.from({ length: 5 }, () => this.append(known)))
      else await this.append(known)
    }
  }

  async maintain () {
    const { random, log } = this
    for (let step = 0; step < STEPS / 2; step++) {
      await turns(random(30))
      const what = random(5)
      const seqs = [...this.keys.keys()].filter((seq) => !this.deleted.has(seq) && random(15) === 0)
      const mayCompact = log.supports.uniqueSeqs && log.supports.compact
      if (what === 0) await log.index.ready().catch(() => {})
      else if (what === 1 && mayCompact) await log.compact().catch(rethrowUnplanted)
      else if (this.mayDelete && log.supports.del && seqs.length > 0) {
        for (const seq of seqs) this.deleted.set(seq, this.now++)
        await log.del(seqs)
      }
    }
  }

  /** As `check`, of reads: no path `other` is declared, so it is scanned. */
  async checkReads () {
    const { log } = this
    for (let n = 0; n < KEYS; n++) {
      const [indexed, scanned] = ['key', 'other'].map((path) => ({ path, equals: `key ${n}` }))
      const found = await list(log.stream({ where: indexed, values: false }))
      const expected = await list(log.stream({ where: scanned, values: false }))
      const count = await log.count({ where: indexed })
      const isRight = String(found) === String(expected) && count === expected.length
      if (!isRight) return `key ${n}: ${found}, ${count} instead of ${expected}`
    }
    return null
  }

  /** Says what is wrong; null if nothing. */
  check () {
    for (const { key, since, first, at } of this.accepted) {
      for (const [seq, other] of this.keys) {
        const isGone = this.deleted.has(seq) && this.deleted.get(seq) < at
        if (other === key && seq > since && seq < first && !isGone) return `${key} at ${first}: ${seq} is after ${since}`
      }
    }
    for (const { key, since, seq } of this.refused) {
      const found = this.keys.get(seq)
      if (seq <= since || found !== key) return `${key} since ${since} was refused for ${seq}, of ${found}`
    }
    return null
  }
}

async function list (source) {
  const items = []
  for await (const item of source) items.push(item)
  return items
}

/** Also of a log that takes no more, because what a failed write had left could not be put back. */
function isPlanted (err) {
  return err.message.includes('planted')
}

function rethrowUnplanted (err) {
  if (!isPlanted(err)) throw err
}

tape('append if: a record without bytes is a conflict as any other', async (t) => {
  const where = { path: 'kind', equals: 0 }
  const codec = {
    encode: ({ kind }) => kind === 0 ? '' : String(kind),
    decode: (text) => ({ kind: Number(text) })
  }
  for (const make of [
    (options) => OffsetLog(newPath('log'), options),
    (options) => OffsetLog(newPath('log'), { ...options, codec: withDictionary(codec) }),
    (options) => SegmentedLog(temporaryFolder(), options)
  ]) {
    const log = make({ codec, index: createIndex(['kind']) })
    await log.append({ kind: 1 }, { if: { where } })
    const since = log.since.value
    const appending = log.append({ kind: 0 })
    const whileItWaits = await failureOf(() => log.append({ kind: 2 }, { if: { where, since } }))
    const single = await appending
    t.deepEqual([whileItWaits.code, whileItWaits.seq], ['ERR_APPEND_CONDITION', single])
    const afterwards = await failureOf(() => log.append({ kind: 2 }, { if: { where, since } }))
    t.deepEqual([afterwards.code, afterwards.seq], ['ERR_APPEND_CONDITION', single])
    const seq = log.appendSync({ kind: 0 })
    const atOnce = await failureOf(() => log.append({ kind: 2 }, { if: { where, since: single } }))
    t.deepEqual([atOnce.code, atOnce.seq], ['ERR_APPEND_CONDITION', seq])
    await log.append([])
    await log.append({ kind: 2 }, { if: { where, since: seq } })
    await log.close()
  }
})

for (const [kind, open] of Object.entries(KINDS)) {
  tape(`append if: in random histories with an index no condition is broken, in ${kind} (seed ${seed})`, async (t) => {
    let total = 0
    for (let round = 0; round < ROUNDS; round++) {
      const random = createRandom(seed + round)
      let mayFail = false
      const failing = faultyStorage(fileStorage, ({ name }) => {
        if (mayFail && name === 'write' && random(12) === 0) return { error: new Error('planted') }
      })
      // Some take no more after a failed write; none does after a deletion that has failed.
      const storages = [fileStorage, slowStorage(fileStorage, random), failing]
      const storage = storages[random(['lines', 'segments'].includes(kind) ? 2 : 3)]
      const recordsMax = [20, 100, 32768][random(3)]
      const hashBits = random(2) === 0 ? 8 : 32
      const tuning = {
        hashBits, recordsMax, fanOut: 2, waitMs: random(5),
        sieveRunsMin: random(4), cachedPages: 1 + random(4)
      }
      const index = createIndex(['key', { path: 'n', range: true }, { path: 'tags', each: true }], { tuning })
      const log = open({ storage, index, fsync: ['always', 'interval', 'never'][random(3)] })
      await log.ready()
      mayFail = true
      const story = new Story(log, random, storage !== failing)
      await Promise.all([...Array.from({ length: CALLERS }, () => story.call()), story.maintain()])
      mayFail = false
      // What appendSync has returned may not be readable yet.
      await log.sync().catch(rethrowUnplanted)
      const wrong = story.check() ?? await story.checkReads()
      if (wrong !== null) t.fail(`seed ${seed + round}: ${wrong}`)
      await log.close().catch(rethrowUnplanted)
      total += story.accepted.length * story.refused.length
    }
    t.ok(total > 0, 'some were accepted, some refused')
  })
}
