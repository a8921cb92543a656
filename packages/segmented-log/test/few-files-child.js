'use strict'
// Works on a log of many segments with an index, in a process that may have few files open, and compares every answer
// with what the records say. Usage: node few-files-child.js <role> <folder> <seed> <segments> <steps>
// See few-files.test.js.

const { isDeepStrictEqual } = require('node:util')
const { createIndex } = require('@millrace/index')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, createRandom } = require('@millrace/testkit')
const { matches, parseWhere } = require('@millrace/where')
const { SegmentedLog } = require('..')

const PATHS = ['type', 'user', { path: 'tags', each: true }, { path: 'n', range: true }]
const STEPS = ['append', 'append', 'appendSync', 'roll', 'ready', 'reopen', 'drop']

const valueOf = (n) => ({
  n,
  type: ['post', 'vote', 'rare'][n % 23 === 0 ? 2 : n % 2],
  user: `u${Math.imul(n, 0x9e3779b1) >>> 24}`,
  tags: [`t${n % 7}`, `t${n % 11}`]
})

function makeWhere (random, count) {
  const n = random(count + 20) - 10
  const filters = [
    { path: 'type', equals: ['post', 'rare', 'none'][random(3)] },
    { path: 'user', equals: `u${random(270)}` },
    { path: 'user', in: [`u${random(256)}`, `u${random(256)}`, 'nobody'] },
    { path: 'tags', includes: `t${random(14)}` },
    { path: 'n', gte: n, lt: n + random(200) },
    { path: 'n', equals: n }
  ]
  const pick = () => filters[random(filters.length)]
  return [pick(), pick(), [pick(), pick()], { any: [pick(), pick()] }][random(4)]
}

const createOptions = (random) => {
  const recordsMax = [4, 10, 100][random(3)]
  const sieveRunsMin = [1, 17, 1000][random(3)]
  const tuning = { recordsMax, fanOut: 2 + random(3), waitMs: random(5), cachedPages: 1 + random(60), sieveRunsMin }
  return {
    codec: jsonCodec,
    ...random(2) === 0 && { openSegments: 1 + random(200) },
    index: createIndex(PATHS, { tuning })
  }
}

/** Fails if two answers differ. */
function check (what, found, right) {
  if (!isDeepStrictEqual(found, right)) {
    throw new Error(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(right)}`.slice(0, 900))
  }
}

/** A log, and the records that it must have. */
class Writer {
  /** @type {Array<{ n: number, seq: number }>} */
  records = []
  count = 0

  constructor (folder, random) {
    this.folder = folder
    this.random = random
    this.open()
  }

  open () {
    const { random } = this
    const options = { ...createOptions(random), fsync: 'never', ...random(3) === 0 && { compress: 'gzip' } }
    this.log = SegmentedLog(this.folder, options)
  }

  note (values, seqs) {
    values.forEach(({ n }, index) => this.records.push({ n, seq: seqs[index] }))
  }

  async fill (segments) {
    for (let segment = 0; segment < segments; segment++) {
      await this.append()
      await this.log.roll()
    }
    await this.log.index.ready()
  }

  makeValues (countMax) {
    return Array.from({ length: 1 + this.random(countMax) }, () => valueOf(this.count++))
  }

  async append () {
    const values = this.makeValues(12)
    this.note(values, await this.log.append(values, { seqs: true }))
  }

  async appendSync () {
    await this.log.sync()
    const values = this.makeValues(3)
    this.note(values, values.map((value) => this.log.appendSync(value)))
    await this.log.sync()
  }

  async roll () {
    for (let left = this.random(4); left > 0; left--) {
      await this.append()
      await this.log.roll()
    }
  }

  async ready () {
    await this.log.index.ready()
  }

  async reopen () {
    await this.log.close()
    this.open()
    if (this.random(2) === 0) await this.log.index.ready()
  }

  async del () {
    for (let left = this.random(6); left > 0 && this.records.length > 0; left--) {
      const [{ seq }] = this.records.splice(this.random(this.records.length), 1)
      await this.log.del(seq)
    }
  }

  async drop () {
    const { seq } = this.records[this.random(Math.ceil(this.records.length / 30))] ?? { seq: 0 }
    await this.log.dropBefore(seq)
    const [{ base }] = await this.log.segments()
    this.records = this.records.filter(({ seq }) => seq >= base)
  }

  /** The records that match, as they are now. */
  find (where, from = -1) {
    const filters = parseWhere(where)
    return this.records.filter(({ n, seq }) => seq > from && matches(filters, valueOf(n)))
  }

  /** A query, whatever is appended meanwhile. */
  async query () {
    const { random, log, count } = this
    const where = makeWhere(random, count)
    const right = this.find(where)
    const seqs = right.map(({ seq }) => seq)
    const lt = (this.records.at(-1)?.seq ?? -1) + 1
    const told = JSON.stringify(where)
    const pick = () => this.records[random(this.records.length)]
    const any = this.records.length === 0 ? [] : Array.from({ length: 30 }, pick)
    const values = right.map(({ n, seq }) => ({ seq, value: valueOf(n) }))
    const seqsOf = (/** @type {any} */ options) => collect(log.stream({ where, lt, values: false, ...options }))
    const queries = {
      forward: async () => check(`forward ${told}`, await collect(log.stream({ where, lt })), values),
      reverse: async () => check(`reverse ${told}`, await seqsOf({ reverse: true }), [...seqs].reverse()),
      limit: async () => check(`limit ${told}`, await seqsOf({ limit: 3 }), seqs.slice(0, 3)),
      count: async () => check(`count ${told}`, await log.count({ where, lt }), seqs.length),
      first: async () => check(`first ${told}`, (await log.first({ where, lt }))?.seq, seqs[0]),
      last: async () => check(`last ${told}`, (await log.last({ where, lt }))?.seq, seqs.at(-1)),
      getMany: async () => {
        check('getMany', await log.getMany(any.map(({ seq }) => seq)), any.map(({ n }) => valueOf(n)))
      }
    }
    const names = Object.keys(queries)
    await queries[names[random(names.length)]]()
  }

  /** An append that holds only if nothing matches. */
  async condition () {
    const { random } = this
    const where = makeWhere(random, this.count)
    const since = random(2) === 0 ? -1 : this.records.at(-1 - random(Math.min(this.records.length, 40)))?.seq ?? -1
    const [conflict] = this.find(where, since)
    const value = valueOf(this.count)
    try {
      const seq = await this.log.append(value, { if: { where, since } })
      this.count++
      this.note([value], [seq])
      check(`append if ${JSON.stringify({ where, since })}`, null, conflict ?? null)
    } catch (err) {
      if (err.code !== 'ERR_APPEND_CONDITION') throw err
      check(`append if ${JSON.stringify({ where, since })}`, err.seq, conflict?.seq)
    }
  }

  async runSteps (count, names = [...STEPS, 'del']) {
    for (let step = 0; step < count; step++) {
      const name = names[this.random(names.length)]
      const isAlone = ['reopen', 'del', 'drop'].includes(name)
      const queries = () => Promise.all(Array.from({ length: 4 }, () => this.query()))
      const told = (err) => { throw Object.assign(err, { message: `step ${step}, ${name}: ${err.message}` }) }
      if (isAlone) await this[name]().catch(told)
      await Promise.all([isAlone ? null : this[name](), queries()]).catch(told)
      await this.query().catch(told)
      if (this.random(3) === 0) await this.condition().catch(told)
    }
  }
}

/** Reads a live stream slowly, until the log is closed. */
function follow (log, where) {
  const found = []
  const read = async () => {
    for await (const { value } of log.stream({ where, live: true, onRetained: 'skip' })) {
      found.push(value.n)
      if (found.length % 5 === 0) await new Promise((resolve) => { setTimeout(resolve, 5) })
    }
  }
  return { found, reading: read().catch((err) => { if (err.code !== 'ERR_LOG_CLOSED') throw err }) }
}

/** The numbers of the records; none if some were dropped meanwhile. */
async function readOrOvertaken (log, options) {
  try {
    return (await collect(log.stream({ ...options, seqs: false }))).map(({ n }) => n)
  } catch (err) {
    if (err.code !== 'ERR_LOG_SEQ_RETAINED') throw err
    return []
  }
}

const roles = {
  async writer (folder, random, segments, steps) {
    const writer = new Writer(folder, random)
    await writer.fill(segments)
    await writer.runSteps(steps)
    await writer.log.close()
  },

  /** A live stream with back-pressure, while everything is merged and dropped. */
  async live (folder, random, segments, steps) {
    const writer = new Writer(folder, random)
    await writer.fill(segments)
    const where = { path: 'type', equals: 'rare' }
    const { found, reading } = follow(writer.log, where)
    for (let step = 0; step < steps; step++) {
      await Promise.all([writer.roll(), writer.query(), writer.query()])
      await writer.drop()
    }
    const right = writer.find(where).map(({ n }) => n)
    while (right.length > 0 && found.at(-1) !== right.at(-1)) await new Promise((resolve) => { setTimeout(resolve, 5) })
    check('live: what is there', found.filter((n) => n >= right[0]), right)
    check('live: in order', found, [...found].sort((a, b) => a - b))
    await writer.log.close()
    await reading
  },

  /** Reads what its parent writes. Whatever happens meanwhile, no answer lacks a record between two others. */
  async follower (folder, random) {
    const log = SegmentedLog(folder, { ...createOptions(random), flags: 'r' })
    const asked = []
    let isEnded = false
    process.on('message', (message) => { asked.push(message) })
    let last = 0
    process.send('ready')
    while (!isEnded) {
      const where = makeWhere(random, last)
      const reverse = random(2) === 0
      const found = await readOrOvertaken(log, { where, reverse })
      if (reverse) found.reverse()
      const filters = parseWhere(where)
      const right = []
      for (let n = found[0]; n <= found.at(-1); n++) if (matches(filters, valueOf(n))) right.push(n)
      check(`follower ${JSON.stringify(where)}`, found, right)
      last = Math.max(last, found.at(-1) ?? 0)
      await new Promise(setImmediate)
      for (const message of asked.splice(0)) {
        isEnded = message === 'end'
        if (isEnded) break
        const { where, right } = message
        await log.refresh()
        const seqs = await collect(log.stream({ where, values: false }))
        check(`follower, refreshed, ${JSON.stringify(where)}`, seqs, right)
        check(`follower, count ${JSON.stringify(where)}`, await log.count({ where }), right.length)
        process.send('answered')
      }
    }
    await log.close()
    process.disconnect()
  }
}

async function run ([role, folder, seed, segments, steps]) {
  await roles[role](folder, createRandom(Number(seed)), Number(segments), Number(steps))
}

if (require.main === module) {
  run(process.argv.slice(2)).catch((err) => {
    console.error(err)
    process.exit(1)
  })
}

exports.PATHS = PATHS
exports.STEPS = STEPS
exports.Writer = Writer
exports.makeWhere = makeWhere
exports.valueOf = valueOf
