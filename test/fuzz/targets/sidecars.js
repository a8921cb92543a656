'use strict'
// Sidecars of legacy logs: parsed alone, and believed or not when the log is opened with them.

const { mixSeed, seededRandom } = require('../../../packages/offset-log/test/torture/seeded')
const { Failure, attempt, ensure, ensureSame, show } = require('../answers')
const { ask } = require('../logs/ask')
const { judgeLog } = require('../logs/judge-log')
const { questionLog } = require('../logs/question-log')
const { FILE, FRAMINGS, SIDECAR, makeHostilePair, recordPairs } = require('../sidecars/make-sidecar')

/**
 * @typedef {import('../sidecars/make-sidecar').Pair} Pair
 * @typedef {import('../logs/question-log').Plan & { log: string }} Plan  with the log's bytes, in base64
 */

const SESSION_COUNT = 12

exports.name = 'sidecars'
exports.count = 500_000
exports.batchSize = 2000
exports.isSync = false
// The size is that of the sidecar, which has 16 KiB as a rule; the log beside it has up to 100 KB.
exports.limits = {
  steps: { fixed: 1_000_000, perByte: 200 },
  callCount: { fixed: 1000, perByte: 0.6 },
  transferred: { fixed: 3_000_000, perByte: 60 }
}
/** @param {import('../library').Library} library */
exports.isThere = (library) => library.has('offset-log/lib/sidecar/parse-sidecar.js')

/**
 * @param {number} seed
 * @param {import('../library').Library} library
 * @returns {Promise<Pair[]>}
 */
exports.prepare = async (seed, library) => {
  /** @type {Pair[]} */
  const pairs = []
  for (let index = 0; index < SESSION_COUNT; index++) {
    pairs.push(...await recordPairs(seededRandom(mixSeed(seed, 3, index)), library, FRAMINGS[index % FRAMINGS.length]))
  }
  return pairs
}

/**
 * @param {(limit: number) => number} random
 * @param {Pair[]} pairs
 * @returns {{ bytes: Buffer, plan: Plan }}
 */
exports.make = (random, pairs) => {
  const pair = pairs[random(pairs.length)]
  const { log, sidecar } = makeHostilePair(random, pair)
  const seqs = [random(log.length + 1), pair.known.length > 0 ? pair.known[random(pair.known.length)][0] : 0]
  return {
    bytes: sidecar,
    plan: {
      log: log.toString('base64'),
      flags: random(3) === 0 ? 'r+' : 'r',
      verify: random(6) > 0,
      onCorrupt: 'error',
      maxRecordSize: 2 ** 30,
      seqs,
      bound: random(log.length + 1),
      append: 1 + random(200),
      deletes: random(2) === 0,
      pick: random(2 ** 30),
      // Whether a sidecar is believed depends on what the storage knows of files.
      isSteady: true,
      order: 'always',
      known: null
    }
  }
}

/**
 * @param {{ bytes: Buffer, plan: Plan }} sample
 * @param {import('../surroundings').Surroundings} surroundings
 */
exports.run = async ({ bytes, plan }, surroundings) => {
  const { library } = surroundings
  const storage = surroundings.createStorage(plan.pick, true)
  const log = Buffer.from(plan.log, 'base64')
  storage.put(FILE, Buffer.from(log))
  storage.put(SIDECAR, Buffer.from(bytes))
  const { memory, start, end } = surroundings.place(bytes, plan.pick % 64)
  const { parseSidecar } = library.load('offset-log/lib/sidecar/parse-sidecar.js')
  const { readSidecar } = library.load('offset-log/lib/sidecar/read-sidecar.js')
  const parsed = attempt(() => describe(parseSidecar(memory.subarray(start, end))))
  const report = await ask('readSidecar', (cb) => readSidecar(storage, FILE, cb))
  const { OffsetLog } = library.load('offset-log')
  const answers = await questionLog(OffsetLog, storage, { cache: 65536, sidecar: true }, plan)
  const isReport = report !== null && !(report instanceof Failure)
  return { ...answers, parsed, report: isReport ? { ...report, block: null } : report }
}

/** @param {any} parsed */
function describe (parsed) {
  if (parsed === null) return null
  const { slot, sums, lostPages, unequalPages, hasLostSlot } = parsed
  const length = Math.min(sums.blockCount, 5000)
  const known = Array.from({ length }, (_, index) => sums.isKnown(index) ? sums.at(index) : -1)
  const pages = { lost: [...lostPages], unequal: [...unequalPages] }
  return { slot: { ...slot, sums: [...slot.sums] }, known, ...pages, hasLostSlot }
}

/**
 * @param {{ bytes: Buffer, plan: Plan }} sample
 * @param {Record<string, any>} answers
 */
exports.judge = ({ plan }, answers) => {
  const { parsed, report, opened, files } = answers
  ensure(!(parsed instanceof Failure), () => `parseSidecar fails with ${show(parsed)}`)
  if (report !== null && !(report instanceof Failure)) {
    ensureSame('the end of what is covered', report.end, parsed?.slot.end ?? 0)
  }
  // Whatever the sidecar says, the log is left as it is where it cannot be opened.
  if (opened instanceof Failure && plan.flags === 'r+') {
    const size = Buffer.from(plan.log, 'base64').length
    ensureSame('the size of a log that cannot be opened', files.find(([path]) => path === FILE)?.[1], size)
  }
  judgeLog(plan, answers)
}
