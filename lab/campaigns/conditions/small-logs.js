// @ts-nocheck
'use strict'
// Many small histories: callers race for a few keys of a log on a disk in memory. A model says what was wrong.

const path = require('node:path')
const { SimulatedDisk } = require('@millrace/testkit')
const { judge } = require('./model')

const FOLDER = '/logs'
const SEGMENT_SIZE = 34_000
/** Of one log. */
const HISTORIES_MAX = 24
const CALLERS_MAX = 4
/** So many calls are asked about again, of so many that came last. */
const ASKED_AGAIN = 6
const ASKED_AGAIN_MAX = 40
const KEYS = ['a', 'b', 'é\ud83d\ude00', '\ud800', '\ufffd', '"\\u0041"\n', '', 'a.b', '0']
const NUMBERS = [0, -0, 1, -1, 0.1, 2 ** 53, 2 ** 53 + 2, -(2 ** 60), 1e300, 5e-324]
const PATHS = ['key', { path: 'tags', each: true }, { path: 'price', range: true }, { path: 'parts', each: 'id' }]
const KINDS = ['checked', 'checked', 'lines', 'offset48', 'segments', 'segments of lines']
const MODES = ['always', 'interval', 'never']

/**
 * @typedef {(limit: number) => number} Random
 * @typedef {{ OffsetLog: any, SegmentedLog: any, createIndex: any, jsonCodec: any }} Modules
 * @typedef {{ histories: number, accepted: number, refused: number, faults: string[] }} Result
 */

/** @param {string} logModule  the path of offset-log @returns {Modules} those beside it */
function loadModules (logModule) {
  const load = (name) => require(path.join(logModule, '..', name))
  return { ...load('offset-log'), ...load('segmented-log'), ...load('index'), ...load('json-codec') }
}

/** One log. @type {(modules: Modules, random: Random) => Promise<Result>} */
async function playSmallLog (modules, random) {
  const story = new Story(modules, random)
  await story.open()
  const histories = 1 + random(HISTORIES_MAX)
  for (let history = 0; history < histories && !story.isBroken; history++) {
    // Beside the callers, or between them.
    await Promise.all([story.play(history), random(4) === 0 && story.maintain()])
    if (random(3) === 0) await story.maintain()
    if (random(4) === 0 && !story.isBroken) await story.askAgain()
    if (random(20) === 0) await story.reopen()
  }
  const faults = await story.end()
  const { calls, setting } = story
  const count = (isCounted) => calls.filter(({ where, ...call }) => where !== null && isCounted(call)).length
  return {
    histories,
    accepted: count(({ seqs }) => seqs !== null),
    refused: count(({ err }) => err?.code === 'ERR_APPEND_CONDITION'),
    faults: faults.map((fault) => `${JSON.stringify(setting)}: ${fault}`)
  }
}

/** Of one value, some time or other, it makes no bytes, as protobuf does of what is all defaults. */
function createEmptyingCodec (random) {
  let empty = null
  return {
    encode (value) {
      const text = JSON.stringify(value)
      if (empty !== null || random(8) > 0) return text
      empty = text
      return ''
    },
    decode: (text) => JSON.parse(text === '' ? empty : text)
  }
}

class Story {
  calls = []
  /** Of calls. */
  count = 0
  /** By history: where it began. */
  begins = []
  deleted = new Map()
  isBroken = false
  hasDropped = false
  now = 0
  /** Whether a write fails now and then. */
  mayFail = false

  constructor (modules, random) {
    this.modules = modules
    this.random = random
    const recordsMax = 2 + random(random(2) === 0 ? 4 : 40)
    const tuning = { recordsMax, fanOut: 2 + random(3), waitMs: random(2), hashBits: random(2) === 0 ? 8 : 32 }
    this.setting = {
      kind: KINDS[random(KINDS.length)],
      fsync: MODES[random(3)],
      tuning: random(3) === 0 ? null : tuning,
      isFailing: random(8) === 0,
      isLate: random(2) === 0
    }
    const decide = ({ name, path }) => {
      if (name === 'write' && this.mayFail && !path.includes('.index') && random(10) === 0) return { code: 'EIO' }
    }
    const defer = this.setting.isLate ? (run) => { late(random(4), run) } : process.nextTick
    // Few: histories go on with the keys of earlier ones. Many: each has its own.
    this.groupCount = random(2) === 0 ? 1 + random(4) : Infinity
    this.isWide = random(4) === 0
    this.disk = new SimulatedDisk({ decide, defer })
    this.codec = random(3) === 0 ? createEmptyingCodec(random) : modules.jsonCodec
  }

  async open () {
    const { modules, setting: { kind, fsync, tuning }, disk: { storage } } = this
    // The other framings refuse a record without bytes.
    const mayBeEmpty = kind === 'checked' || kind === 'segments'
    const options = { codec: mayBeEmpty ? this.codec : modules.jsonCodec, fsync, storage }
    if (tuning !== null) options.index = modules.createIndex(PATHS, { tuning })
    const framing = kind.includes('lines') ? 'lines' : kind.startsWith('segments') ? 'checked' : kind
    const isSegmented = kind.startsWith('segments')
    if (isSegmented) this.log = modules.SegmentedLog(FOLDER, { ...options, framing, segmentSize: SEGMENT_SIZE })
    else this.log = modules.OffsetLog(`${FOLDER}/log`, { ...options, framing })
    if (this.setting.isFailing || this.random(2) === 0) await this.log.ready()
    this.mayFail = this.setting.isFailing
  }

  async reopen () {
    this.mayFail = false
    await this.log.close().catch(() => { this.isBroken = true })
    await this.open()
  }

  /** Callers who race for the keys of one history. @param {number} history  its number */
  async play (history) {
    const { random, log } = this
    const group = history % this.groupCount
    const keys = Array.from({ length: 1 + random(3) }, () => `${group}/${KEYS[random(KEYS.length)]}`)
    this.begins.push(Number(log.since.value ?? -1))
    const begin = random(2) === 0 ? this.begins.at(-1) : this.begins[random(this.begins.length)]
    const call = async () => {
      const known = [begin, -1]
      const append = () => this.append({ group, keys, known })
      for (let step = 1 + random(2); step > 0; step--) {
        for (let turns = random(3); turns > 0; turns--) await new Promise(setImmediate)
        if (random(4) === 0) await Promise.all([append(), append(), append()])
        else await append()
      }
    }
    await Promise.all(Array.from({ length: 2 + random(CALLERS_MAX - 1) }, call))
  }

  async append ({ group, keys, known }) {
    const { random } = this
    const key = keys[random(keys.length)]
    const count = random(4) === 0 ? random(4) : 1
    const price = random(4) === 0 ? NUMBERS[random(NUMBERS.length)] : 1000 * group + random(20)
    const id = this.count++
    const { isWide } = this
    const values = Array.from({ length: count }, (_, n) => {
      return makeValue({ id, n, group, key: random(3) === 0 ? keys[random(keys.length)] : key, price, random, isWide })
    })
    const where = random(6) === 0 ? null : makeWhere({ group, key, price, random })
    const since = where === null ? -1 : await this.pickSince(where, known)
    const seqs = await this.send({ id, values, where, since })
    if (seqs !== null) known.push(...seqs)
  }

  /** @returns {Promise<number[] | null>}  null if it was not accepted */
  async send ({ id, values, where, since }) {
    const { random, log } = this
    const call = { id, count: values.length, values, where, since, calledAt: this.now++, answeredAt: 0, seqs: null }
    this.calls.push(call)
    const given = values.length === 1 && random(2) === 0 ? values[0] : values
    const isNow = where === null && random(2) === 0 && log.supports.flushSync
    try {
      if (isNow) call.seqs = log.appendSync(given, { seqs: true, sync: random(2) === 0 })
      else call.seqs = await log.append(given, { seqs: true, ...where !== null && { if: { where, since } } })
    } catch (err) {
      this.noteError(call, err)
    }
    call.answeredAt = this.now++
    return call.seqs
  }

  /** What was appended conflicts with whoever has not seen it. */
  async askAgain () {
    const { random, isWide } = this
    const first = Math.max(0, this.calls.length - 1 - random(ASKED_AGAIN_MAX))
    for (const { id: own, seqs, values: found } of this.calls.slice(first, first + ASKED_AGAIN)) {
      for (const [n, seq] of seqs?.entries() ?? []) {
        const { key, group, price } = found[n]
        const id = this.count++
        const values = [makeValue({ id, n: 0, group, key, price, random, isWide })]
        const ofOne = { path: 'parts', includes: { path: 'id', equals: `${own}.${n}` } }
        const where = random(2) === 0 ? ofOne : { path: 'key', equals: key }
        await this.send({ id, values, where, since: random(2) === 0 ? seq - 1 : -1 })
      }
    }
  }

  noteError (call, err) {
    call.err = err
    if (err.code === 'ERR_APPEND_CONDITION') return
    if (err.code === 'ERR_LOG_SEQ_LOST' && call.since === UNKNOWN) return
    // No record may be given without waiting while a segment begins.
    if (call.where === null && err.code === 'ERR_LOG_NOT_READY') return
    if (!this.mayFail || err.code === undefined) throw err
    // After all other failures the log takes no more.
    this.isBroken ||= err.code !== 'EIO'
  }

  /** The newest match, or -1 if the log cannot be read: after a write has failed, not all of it can. */
  async findLast (where) {
    try {
      return await this.log.last({ where, values: false }) ?? -1
    } catch (err) {
      if (!this.mayFail) throw err
      return -1
    }
  }

  async pickSince (where, known) {
    const { random, log } = this
    switch (random(12)) {
      case 0: return random(4) === 0 ? UNKNOWN : -1
      case 1: return await this.findLast(where)
      case 2:
      case 3: return Number(log.since.value ?? -1)
      case 4:
      case 5: return known.at(-1)
      default: return known[random(known.length)]
    }
  }

  async maintain () {
    const { random, log } = this
    const isSegmented = this.setting.kind.startsWith('segments')
    await log.ready()
    switch (random(8)) {
      case 0:
      case 1: return await log.index?.ready().catch(() => {})
      case 2: return await log.sync().catch(() => {})
      case 3: return isSegmented ? await log.roll().catch(() => {}) : undefined
      case 4: return await this.del()
      case 5: return random(3) === 0 ? await log.index?.drop().catch(() => {}) : undefined
      case 6:
        if (!isSegmented || random(2) === 0) return
        this.hasDropped = true
        return await log.dropBefore(Math.max(0, Number(log.since.value))).catch(() => {})
      case 7: if (log.supports.compact && log.supports.uniqueSeqs && !this.mayFail) await log.compact()
    }
  }

  async del () {
    const { random, log, deleted } = this
    if (!log.supports.del || this.mayFail) return
    for (const { seqs, values } of this.calls.slice(-20)) {
      if (seqs === null || random(4) > 0) continue
      for (const [n, seq] of seqs.entries()) {
        if (deleted.has(seq)) continue
        const deletion = { value: values[n], calledAt: this.now++, answeredAt: Infinity }
        deleted.set(seq, deletion)
        // Its segment may have been dropped.
        const isDone = await log.del(seq).then(() => true, (err) => { if (!this.hasDropped) throw err })
        if (isDone) deletion.answeredAt = this.now++
      }
    }
  }

  /** @returns {Promise<string[]>}  what is wrong */
  async end () {
    if (this.setting.isFailing) await this.reopen()
    this.mayFail = false
    if (!this.isBroken) await this.log.sync().catch(() => { this.isBroken = true })
    const found = new Map()
    for await (const { seq, value } of this.log.stream()) found.set(seq, value)
    await this.log.close().catch(() => {})
    return [...judge({ ...this, dropped: this.findDropped(found) }, found), ...judgeUnknown(this.calls)]
  }

  /** Records that are before the first one that is left. @param {Map<number, any>} found */
  findDropped (found) {
    const dropped = new Map()
    if (!this.hasDropped) return dropped
    const first = Math.min(...found.keys())
    for (const { seqs, values } of this.calls) {
      for (const [n, seq] of seqs?.entries() ?? []) if (seq < first) dropped.set(seq, values[n])
    }
    return dropped
  }
}

/** After every record of any log here. */
const UNKNOWN = 2 ** 50

function judgeUnknown (calls) {
  const wrong = calls.filter(({ where, since, err }) => where !== null && since === UNKNOWN && err === null)
  return wrong.map(({ id }) => `call ${id}: nobody knows since, and it was accepted`)
}

function makeValue ({ id, n, group, key, price, random, isWide }) {
  const pad = 'x'.repeat(random(40) === 0 ? 9000 : random(40))
  // One append may have more keys than the index keeps in memory.
  const others = Array.from({ length: isWide && random(4) === 0 ? 60 : 0 }, (_, index) => `tag ${id} ${index}`)
  return { id, n, group, key, other: key, price, tags: ['all', ...others, key], parts: [{ id: key }, { id: `${id}.${n}` }], pad }
}

/** Each is met by few records of other histories. */
function makeWhere ({ group, key, price, random }) {
  const equals = { path: 'key', equals: key }
  const nobody = (count) => Array.from({ length: count }, (_, index) => `nobody ${index}`)
  switch (random(18)) {
    case 0: return { path: 'key', in: [key, key, ...nobody(random(3))] }
    case 1: return { path: 'key', in: [...nobody(random(10) === 0 ? 1000 : 2), key] }
    case 2:
    case 14: return { path: 'tags', includes: key }
    case 3: return { path: 'key', prefix: `${group}/` }
    case 4: return [equals, { path: 'price', gte: price, lt: price + 5 }]
    case 5: return { path: 'price', gt: 1000 * group - 1, lte: 1000 * group + random(20) }
    case 6: return { path: 'other', equals: key }
    case 7: return { any: [equals, { path: 'tags', includes: 'nobody' }] }
    case 8: return { all: [{ not: { path: 'key', equals: 'nobody' } }, { path: 'group', equals: group }] }
    case 9: return { path: 'price', equals: price }
    case 10: return { path: 'parts', includes: { path: 'id', equals: key } }
    case 11: return { path: 'price', in: [price, 'text'] }
    case 12: return [{ path: 'tags', includes: 'all' }, equals]
    default: return equals
  }
}

function late (turns, run) {
  if (turns < 2) process.nextTick(run)
  else setImmediate(() => late(turns - 1, run))
}

exports.Story = Story
exports.loadModules = loadModules
exports.playSmallLog = playSmallLog
