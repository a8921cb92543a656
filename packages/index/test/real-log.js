'use strict'
// Logs of real files with an index: random values, filters, and what can happen to a log; and the comparison of two
// logs, one of which has the index.

const fs = require('node:fs')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { collect, newPath } = require('@millrace/testkit')
const { createIndex } = require('..')
const { connect } = require('./builders')
const { makeOddBytes, makeOddPaths, makeOddRecord, makeOddWhere } = require('./odd-cases')

const PATHS = ['type', 'user', { path: 'tags', each: true }, { path: 'n', range: true }]
const KINDS = [['checked', jsonCodec], ['checked', binaryCodec], ['lines', jsonCodec]]

function makeValue (random, n) {
  return {
    n: random(5) === 0 ? -n : n,
    type: ['post', 'vote', 'rare', 7, null, true][random(20) === 0 ? 2 : random(6)],
    ...random(4) > 0 && { user: `u${random(30)}` },
    tags: Array.from({ length: random(4) }, () => `t${random(12)}`),
    text: 'x'.repeat(random(80))
  }
}

function makeWhere (random) {
  const n = random(3000) - 300
  const filters = [
    { path: 'type', equals: ['post', 'rare', 7, null, 'none'][random(5)] },
    { path: 'user', equals: `u${random(35)}` },
    { path: 'user', in: [`u${random(30)}`, `u${random(30)}`, 'nobody'] },
    { path: 'tags', includes: `t${random(14)}` },
    { path: 'n', gte: n, lt: n + random(200) },
    { path: 'text', exists: true }
  ]
  const pick = () => filters[random(filters.length)]
  return [pick(), [pick(), pick()], { any: [pick(), pick()] }, { all: [pick(), { not: pick() }] }][random(4)]
}

/** What a call gives, or how it fails: some records do not decode. */
async function answerOf (promise) {
  try {
    return JSON.stringify(await promise)
  } catch (err) {
    return err.code ?? err.stack
  }
}

/** @returns {Promise<string[]>}  how the answers of two logs differ */
async function compare (indexed, plain, random, make = makeWhere) {
  const differences = []
  const check = async (what, one, other) => {
    const [found, wanted] = [await answerOf(one), await answerOf(other)]
    if (found !== wanted) differences.push(`${what}: ${found}, not ${wanted}`)
  }
  for (let query = 0; query < 4; query++) {
    const where = make(random)
    const all = await collect(plain.stream({ where, values: false }))
    const name = JSON.stringify(where)
    await check(`stream ${name}`, collect(indexed.stream({ where, values: false })), all)
    await check(`count ${name}`, indexed.count({ where }), all.length)
    const limit = 1 + random(9)
    await check(`limited count ${name}`, indexed.count({ where, limit }), Math.min(limit, all.length))
    const newest = collect(indexed.stream({ where, values: false, reverse: true, limit }))
    await check(`newest ${name}`, newest, all.slice(-limit).reverse())
    const bounds = all.length > 1 ? { gte: all[random(all.length)], lt: all[random(all.length)] } : { gt: 0 }
    const within = { where, values: false, ...bounds }
    await check(`bounds ${name}`, collect(indexed.stream(within)), collect(plain.stream(within)))
    await check(`count in bounds ${name}`, indexed.count({ where, ...bounds }), plain.count({ where, ...bounds }))
    await check(`first ${name}`, indexed.first({ where }), plain.first({ where }))
    await check(`last ${name}`, indexed.last({ where }), plain.last({ where }))
  }
  return differences
}

/** Removes or cuts files of the index. */
function hurt (file, random) {
  const folder = `${file}.index`
  if (!fs.existsSync(folder)) return
  for (const name of fs.readdirSync(folder)) {
    if (random(3) > 0) continue
    const path = `${folder}/${name}`
    if (random(2) === 0) fs.rmSync(path)
    else fs.truncateSync(path, random(fs.statSync(path).size + 1))
  }
}

const steps = {
  async append (state, random) {
    const { log } = state
    const values = Array.from({ length: 1 + random(400) }, () => state.make(random, state.count++))
    state.seqs.push(...await log.append(values, { seqs: true }))
  },
  async one (state, random) {
    state.seqs.push(await state.log.append(state.make(random, state.count++)))
  },
  async ready ({ log }) {
    await log.index.ready()
  },
  async delete ({ log, seqs }, random) {
    // Until the file was read, the log does not know what it supports.
    await log.ready()
    if (!log.supports.del) return
    for (let left = random(30); left > 0 && seqs.length > 0; left--) {
      await log.del(seqs.splice(random(seqs.length), 1)[0])
    }
  },
  async compact ({ log }) {
    await log.ready()
    if (log.supports.compact) await log.compact()
  },
  async reopen (state, random) {
    await state.log.close()
    if (random(3) === 0) hurt(state.file, random)
    if (random(3) === 0) state.paths = state.allPaths.filter(() => random(2) === 0).concat('text')
    state.open()
  },
  async drop ({ log }) {
    await log.index.drop()
  }
}

/** What a log is tried with: records of a few fields; or odd ones, as bytes. */
function createOddMakers (random, framing, codec) {
  const values = Array.from({ length: 8 }, () => makeOddRecord(random))
  const allPaths = makeOddPaths(random, values)
  const make = () => {
    for (;;) {
      try {
        const bytes = makeOddBytes(random, codec, { lines: framing === 'lines' })
        if (bytes.length > 0) return bytes
      } catch {
        // Not every value can be encoded.
      }
    }
  }
  return { allPaths, make, makeWhere: () => makeOddWhere(random, allPaths, values) }
}

/** Takes the bytes of records, too. */
function withBytes (codec) {
  return { ...codec, encode: (value) => Buffer.isBuffer(value) ? value : codec.encode(value) }
}

/** A file with a log, what happens to it, and what is known of it. */
function createState (random, kind = random(KINDS.length), isOdd = false) {
  const [framing, codec] = KINDS[kind]
  const makers = isOdd ? createOddMakers(random, framing, codec) : { allPaths: PATHS, make: makeValue, makeWhere }
  const file = newPath(framing === 'lines' ? 'events.jsonl' : 'events.log')
  const tuning = {
    recordsMax: [50, 300, 32768][random(3)],
    fanOut: 2 + random(3),
    hashBits: random(2) === 0 ? 8 : 32,
    waitMs: random(5),
    sieveRunsMin: random(4),
    cachedPages: 1 + random(100),
    openRuns: [1, 3, 128][random(3)]
  }
  const paths = makers.allPaths
  const hasBuilder = random(2) === 0
  return openState({ kind, framing, codec, file, tuning, hasBuilder, paths, seqs: [], count: 0, log: null, ...makers })
}

/** Opens its log. */
function openState (state) {
  state.codec = withBytes(KINDS[state.kind][1])
  state.make ??= makeValue
  state.allPaths ??= PATHS
  state.open = () => { state.log = openLog(state, { fsync: 'never' }) }
  state.open()
  return state
}

/** Another log of the same file. */
function openLog ({ file, framing, codec, paths, tuning, hasBuilder }, options) {
  const openThere = (index) => OffsetLog(file, { framing, codec, flags: 'r', index })
  const builder = hasBuilder ? connect(openThere) : undefined
  return OffsetLog(file, { framing, codec, index: createIndex(paths, { builder, tuning }), ...options })
}

exports.KINDS = KINDS
exports.PATHS = PATHS
exports.compare = compare
exports.createState = createState
exports.makeValue = makeValue
exports.makeWhere = makeWhere
exports.openLog = openLog
exports.openState = openState
exports.steps = steps
