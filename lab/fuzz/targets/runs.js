'use strict'
// Run files of an index: hurt, or forged so that their checksums fit again. What the index names is what a scan finds;
// of forged files it may be less, but in order, and in the range that was asked.

const path = require('node:path')
const { ensure, ensureSame, show } = require('../answers')
const { FOLDER, makeBases, makeIndexedLog, makeRange } = require('../runs/make-base')
const { damageRun, forgeRun } = require('../runs/tamper-run')
const { seededRandom } = require('../../torture/seeded')

/**
 * @typedef {(limit: number) => number} Random
 * @typedef {import('../runs/make-base').Base} Base
 * @typedef {import('../runs/make-base').RunFile} RunFile
 * @typedef {import('../runs/make-base').IndexedLog} IndexedLog
 *
 * @typedef {object} Plan  the bytes of a case are those of all files, one after the other
 * @property {number} log  its seed
 * @property {Array<[name: string, size: number]>} files
 * @property {boolean} isForged
 * @property {boolean} isBuilt  whether the index builds again what it does not have
 * @property {object} tuning  of the index
 * @property {number} pick
 * @property {boolean} isSteady
 */

const BASE_COUNT = 12
/** Asked at once, once the files are open, and when the index is ready. */
const QUERIES = [1, 6, 4]

exports.name = 'index'
exports.count = 2_000_000
exports.batchSize = 2000
exports.isSync = false
exports.limits = {
  steps: { fixed: 1_500_000, perByte: 60 },
  callCount: { fixed: 3000, perByte: 1 },
  transferred: { fixed: 1_000_000, perByte: 20 }
}
exports.isThere = (/** @type {import('../library').Library} */ library) => library.has('index/lib/run.js')

/** @type {(seed: number, library: import('../library').Library) => Promise<Base[]>} */
exports.prepare = (seed, library) => makeBases(seed, BASE_COUNT, library)

/**
 * @param {Random} random
 * @param {Base[]} bases
 * @returns {{ bytes: Buffer, plan: Plan }}
 */
exports.make = (random, bases) => {
  const base = bases[random(bases.length)]
  const isForged = random(3) === 0
  const isBuilt = random(4) === 0
  const others = [...base.files, ...base.older, ...base.older, ...bases[random(bases.length)].files]
  const files = base.files.map((file) => ({ ...file }))
  for (let left = 1 + (random(3) === 0 ? random(3) : 0); left > 0; left--) {
    const file = files[random(files.length)]
    // What was forged already has no sound footer.
    const { bytes } = base.files[files.indexOf(file)]
    file.bytes = (isForged ? forgeRun : damageRun)(random, bytes, others)
  }
  if (random(4) === 0) addOrRemove(random, files, others)
  return {
    bytes: Buffer.concat(files.map(({ bytes }) => bytes)),
    plan: {
      log: base.seed,
      files: files.map(({ name, bytes }) => [name, bytes.length]),
      isForged,
      isBuilt,
      tuning: {
        recordsMax: 20 + random(200), fanOut: 2 + random(7), waitMs: 1,
        sieveRunsMin: 3,
        // Who merges runs with fewer pages than it reads at once reads them again for each key.
        cachedPages: (isBuilt ? 16 : 1) + random(4)
      },
      pick: random(2 ** 30),
      isSteady: false
    }
  }
}

/**
 * A file that is missing, left over, or has the name of another one.
 * @type {(random: Random, files: RunFile[], others: RunFile[]) => void}
 */
function addOrRemove (random, files, others) {
  const at = random(files.length)
  const other = others[random(others.length)]
  const name = other.name.replace(/[0-9a-f]{12}(?=\.run)/, '0123456789ab')
  if (random(3) === 0) files.splice(at, 1)
  else if (random(2) === 0) files.push({ name: random(4) === 0 ? `${name}.new` : name, bytes: other.bytes })
  else files.push({ name: files[at].name.replace(/[0-9a-f]{12}(?=\.run)/, '0123456789ab'), bytes: other.bytes })
}

/**
 * @param {{ bytes: Buffer, plan: Plan }} sample
 * @param {import('../surroundings').Surroundings} surroundings
 */
exports.run = async ({ bytes, plan }, surroundings) => {
  const { createIndex } = surroundings.library.load('index')
  const indexed = makeIndexedLog(plan.log)
  const storage = surroundings.createStorage(plan.pick, plan.isSteady)
  let at = 0
  for (const [name, size] of plan.files) {
    storage.put(path.join(FOLDER, name), Buffer.from(bytes.subarray(at, at + size)))
    at += size
  }
  const log = indexed.log.copy({ disk: null, storage })
  const index = createIndex(indexed.paths, { tuning: plan.tuning }).open(log)
  const random = seededRandom(plan.pick)
  const [before, open, ready] = QUERIES
  for (let left = before; left > 0; left--) query(index, indexed, random, plan)
  // Once its files are open.
  await index.refresh()
  for (let left = open; left > 0; left--) query(index, indexed, random, plan)
  // Most cases end here: to build takes ten times as long.
  if (!plan.isBuilt) {
    await index.close()
    return {}
  }
  await index.ready()
  for (let left = ready; left > 0; left--) query(index, indexed, random, plan)
  // What was found to be damaged just now is built again.
  await index.ready()
  const { isReady, failure } = index.status()
  ensure(isReady && failure === null, () => `the index is not ready: ${failure}`)
  const wrong = (await index.inspect()).filter((/** @type {any} */ { why }) => why !== null)
  ensureSame('files that are left, and not used', wrong, [])
  await index.close()
  return {}
}

/** @type {(index: any, indexed: IndexedLog, random: Random, plan: Plan) => void} */
function query (index, { log, asked }, random, { isForged }) {
  const { where, found, isMatch } = asked[random(asked.length)]
  const range = makeRange(random, log)
  const { from = log.start, to = log.end, reverse } = range
  const isInside = (/** @type {number} */ seq) => seq >= from && seq < to
  const expected = found.filter(isInside)
  const parts = index.parts(where, range)
  if (parts !== null) {
    const named = findIn(parts, { from, to, reverse }, found, isMatch)
    if (!isForged) ensureSame(`the records of ${show(where)} in ${show(range)}`, named, reverse ? [...expected].reverse() : expected)
  }
  const counted = index.count(where, range)
  if (counted !== null) {
    const { sure } = counted
    ensure(Number.isSafeInteger(sure) && sure >= 0, () => `a count of ${sure}`)
    const count = sure + findIn(counted.parts, { from, to, reverse: false }, found, isMatch).length
    if (!isForged) ensureSame(`the count of ${show(where)} in ${show(range)}`, count, expected.length)
  }
  index.explain(where, range)
}

/**
 * What a log finds in the parts of an index.
 * @type {(parts: Iterable<any>, range: { from: number, to: number, reverse: boolean }, found: number[],
 *   isMatch: Set<number>) => number[]}
 */
function findIn (parts, { from, to, reverse }, found, isMatch) {
  /** @type {number[]} */
  const named = []
  let [low, high] = [from, to]
  /** @type {(first: number, end: number) => void} */
  const pass = (first, end) => {
    const isInside = first >= low && end <= high && first < end
    ensure(isInside, () => `a part from ${first} to ${end} where ${low} to ${high} is left`)
    if (reverse) high = first
    else low = end
  }
  for (const part of parts) {
    if ('seqs' in part) {
      ensure(part.seqs.length > 0, () => 'a part without a candidate')
      for (const seq of part.seqs) {
        pass(seq, seq + 1)
        if (isMatch.has(seq)) named.push(seq)
      }
    } else {
      pass(part.from, part.to)
      const inside = found.filter((seq) => seq >= part.from && seq < part.to)
      named.push(...(reverse ? inside.reverse() : inside))
    }
  }
  return named
}
