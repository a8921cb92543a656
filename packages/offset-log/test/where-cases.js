'use strict'
// Random filters of a log, forward, in reverse, live and in partitions, against decoding and comparing. Longer than a
// test has time for: node where-cases.js [--pairs 1000000] [--seed N]

const { parseArgs } = require('node:util')
const { setTimeout: delay } = require('node:timers/promises')
const { collect, createRandom, makeFilter, makeValue, newPath } = require('@millrace/testkit')
const { matches, parseWhere } = require('@millrace/where')
const { OffsetLog } = require('..')
const codecs = require('./spelled-codecs')

const RECORD_COUNT = 200
const FILTER_COUNT = 26

/**
 * @param {{ pairs: number, seed: number }} options
 * @returns {Promise<{ logs: number, pairs: number, hits: number, failures: any[] }>}  pairs of records and filters;
 *   each log has at least `FILTER_COUNT / 2` hits
 */
async function runWhereCases ({ pairs, seed }) {
  const random = createRandom(seed)
  const sums = { logs: 0, pairs: 0, hits: 0, failures: [] }
  for (let round = 0; sums.pairs < pairs && sums.failures.length === 0; round++) {
    const codec = Object.keys(codecs)[round % 3]
    await runLog(random, codec, sums)
  }
  return sums
}

async function runLog (random, codec, sums) {
  const framing = ['checked', 'offset32'][random(2)]
  const log = OffsetLog(newPath('a.log'), { codec: codecs[codec], fsync: 'never', framing })
  await log.ready()
  const values = makeValues(random, codec)
  const stored = values.map((value) => codecs[codec].decode(codecs[codec].encode(value)))
  const wheres = Array.from({ length: FILTER_COUNT }, (_, index) => makeWhere(random, stored, index % 2 === 0))
  const live = wheres.map((where) => collectLive(log, where))
  for (let at = 0; at < values.length; at += 50) await log.append(values.slice(at, at + 50))
  const entries = await collect(log.stream())
  const partitions = await log.partitions(3)
  for (const [index, where] of wheres.entries()) {
    const filters = parseWhere(where)
    const expected = entries.filter(({ value }) => matches(filters, value)).map(({ seq }) => seq)
    const answers = await readAll(log, where, partitions)
    answers.live = await live[index](expected)
    for (const [way, seqs] of Object.entries(answers)) {
      if (String(seqs) !== String(expected)) sums.failures.push({ codec, way, where, expected, seqs })
    }
    sums.pairs += entries.length * Object.keys(answers).length
    sums.hits += expected.length
  }
  sums.logs++
  await log.close()
}

/** @type {(random: (limit: number) => number, values: any[], isHit: boolean) => any} isHit: it holds for one of them */
function makeWhere (random, values, isHit) {
  while (true) {
    const value = values[random(values.length)]
    const where = makeFilter(random, value)
    if (!isHit || matches(parseWhere(where), value)) return where
  }
}

/** Half a pair has no UTF-8, and may make one key of two. An empty text alone is a zero byte, which no log takes. */
function makeValues (random, codec) {
  const values = []
  while (values.length < RECORD_COUNT) {
    const value = random(4) === 0 ? [makeValue(random)] : { key: makeValue(random), a: makeValue(random, 1) }
    try {
      if (codec === 'binary') codecs.binary.encode(value)
      values.push(value)
    } catch {}
  }
  return values
}

async function readAll (log, where, partitions) {
  const answers = { forward: [], reverse: [], scan: [], partitions: [] }
  for await (const seq of log.stream({ where, values: false })) answers.forward.push(seq)
  for await (const seq of log.stream({ where, values: false, reverse: true })) answers.reverse.unshift(seq)
  await log.scan({ where }, ({ count, seqs }) => { answers.scan.push(...seqs.subarray(0, count)) })
  for (const range of partitions) {
    await log.scan({ ...range, where }, ({ count, seqs }) => { answers.partitions.push(...seqs.subarray(0, count)) })
  }
  return answers
}

/** Gives, once as many are there as are expected, and time for one more, all that came. */
function collectLive (log, where) {
  const seqs = []
  const source = log.stream({ where, live: true, values: false })
  const read = () => source(null, (end, seq) => {
    if (end) return
    seqs.push(seq)
    read()
  })
  read()
  return async (expected) => {
    for (let turn = 0; turn < 2000 && seqs.length < expected.length; turn++) await delay(5)
    await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => source(true, resolve))
    return seqs
  }
}

exports.FILTER_COUNT = FILTER_COUNT
exports.runWhereCases = runWhereCases

if (require.main === module) {
  const { values: { pairs, seed } } = parseArgs({
    options: {
      pairs: { type: 'string', default: '1000000' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) }
    }
  })
  runWhereCases({ pairs: Number(pairs), seed: Number(seed) }).then((result) => {
    console.dir({ seed, ...result }, { depth: 9 })
    process.exitCode = result.failures.length > 0 ? 1 : 0
  })
}
