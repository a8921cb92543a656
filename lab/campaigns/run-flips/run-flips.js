'use strict'
// Reads changed run files, each as a whole, and compares what each question gave with the unchanged file.

const fs = require('node:fs')
const path = require('node:path')
const { temporaryFolder } = require('@millrace/testkit')
const { Library } = require('../../fuzz/library')
const { MemoryStorage } = require('../../fuzz/memory-storage')
const { makeBases } = require('../../fuzz/runs/make-base')
const { mixSeed, seededRandom } = require('../../torture/seeded')
const { openRun } = require('../../../packages/index/lib/run')
const { RunFiles } = require('../../../packages/index/lib/run-files')
const { DamagedRun } = require('../../../packages/index/lib/run-format')
const { RunPages } = require('../../../packages/index/lib/run-pages')
const { RunQuestions } = require('./run-questions')

const NAME = 'run'
/** Logs at once; each has several files. */
const BASE_COUNT = 4
/** Of one file. */
const CHANGES = 2000
const FAULTS_MAX = 20
const CACHED_PAGES = 64
const END_SIZE = 1500

/**
 * @typedef {(limit: number) => number} Random
 * @typedef {{ faults: string[], changes: number, files: number, refused: number, partly: number, unharmed: number }}
 *   Result  `refused`: the whole file; `partly`: some questions; `unharmed`: none
 */

/** @type {(changes: number, seed: number) => Promise<Result>} */
async function runFlips (changes, seed) {
  /** @type {Result} */
  const result = { faults: [], changes: 0, files: 0, refused: 0, partly: 0, unharmed: 0 }
  // Most answers are errors, whose stacks would take half of the time.
  Error.stackTraceLimit = 0
  const library = new Library()
  for (let round = 0; result.changes < changes && result.faults.length < FAULTS_MAX; round++) {
    const bases = await makeBases(mixSeed(seed, round), BASE_COUNT, library)
    const files = bases.flatMap(({ files, older }) => [...files, ...older])
    for (const [index, { bytes }] of files.entries()) {
      const count = Math.min(CHANGES, changes - result.changes)
      await changeOne(bytes, count, seededRandom(mixSeed(seed, round), index), result)
    }
  }
  return result
}

/** @type {(bytes: Buffer, count: number, random: Random, result: Result) => Promise<void>} */
async function changeOne (bytes, count, random, result) {
  result.files++
  const storage = new MemoryStorage()
  const files = new RunFiles(storage, '/')
  const pages = new RunPages(CACHED_PAGES)
  const read = async (/** @type {Buffer} */ content) => {
    storage.put(`/${NAME}`, content)
    return openRun(files, NAME, pages)
  }
  const original = await read(bytes)
  const questions = new RunQuestions(original, random)
  await original.close()
  for (let left = count; left > 0 && result.faults.length < FAULTS_MAX; left--) {
    const change = chooseChange(random, bytes.length)
    result.changes++
    try {
      const run = await read(apply(change, bytes))
      const { refused, wrong } = questions.ask(run)
      await run.close()
      if (wrong !== null) result.faults.push(`${wrong}: ${keep(change, bytes)}`)
      if (refused > 0) result.partly++
      else result.unharmed++
    } catch (err) {
      if (err instanceof DamagedRun) result.refused++
      else result.faults.push(`${err}: ${keep(change, bytes)}`)
    }
  }
}

/**
 * @typedef {{ size: number, flips: Array<[at: number, bits: number]> }} Change  `size`: what is left of the file
 */

/** Half of them are in the end, where the footer is. @type {(random: Random, size: number) => Change} */
function chooseChange (random, size) {
  if (random(20) === 0) return { size: random(size), flips: [] }
  const count = random(2) === 0 ? 1 : 1 + random(8)
  const flips = Array.from({ length: count }, () => {
    const at = random(2) === 0 ? random(size) : size - 1 - random(Math.min(size, END_SIZE))
    return /** @type {[number, number]} */ ([at, random(2) === 0 ? 1 << random(8) : 1 + random(255)])
  })
  // A byte that is flipped twice may be as it was.
  return { size, flips: [...new Map(flips)] }
}

/** @type {(change: Change, bytes: Buffer) => Buffer} */
function apply ({ size, flips }, bytes) {
  const changed = Buffer.from(bytes.subarray(0, size))
  for (const [at, bits] of flips) changed[at] ^= bits
  return changed
}

/** Keys of hashes are random, so no seed makes the file again. @type {(change: Change, bytes: Buffer) => string} */
function keep (change, bytes) {
  const file = path.join(temporaryFolder(), NAME)
  fs.writeFileSync(file, bytes)
  return `${JSON.stringify(change)} of ${file}`
}

exports.runFlips = runFlips
