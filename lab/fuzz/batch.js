'use strict'
// Runs many cases of one target, one after the other, in this thread.

const { mixSeed, seededRandom } = require('../torture/seeded')
const { Figures } = require('./figures')
const { toLine } = require('./replay')
const { Shrinker } = require('./shrink')
const { Violation } = require('./violation')

/** With a stack, for whoever mends it. */
const STACK_TRACE_LIMIT = 12

/**
 * @typedef {import('./examine').Examiner} Examiner
 * @typedef {import('./examine').Sample} Sample
 * @typedef {import('./examine').Target} Target
 * @typedef {{ kind: string, signature: string, message: string, replay: string, target: string, index: number }} Report
 */

/**
 * @typedef {object} BatchOptions
 * @property {Target} target
 * @property {number} seed
 * @property {number} first  index of its first case; cases of the same seed and index are the same
 * @property {number} count
 * @property {number} [endMs]  when to end, by the real clock
 * @property {boolean} [shrinks]
 * @property {Set<string>} [seen]  signatures of failures that were reported already
 * @property {(index: number) => void} [onCase]
 */

/**
 * @param {Examiner} examiner  installed
 * @param {BatchOptions} options
 * @returns {Promise<{ figures: Figures, reports: Report[] }>}
 */
async function runBatch (examiner, options) {
  const { target, seed, first, count, endMs = Infinity, seen = new Set(), onCase = () => {} } = options
  const figures = new Figures(target.name)
  /** @type {Report[]} */
  const reports = []
  const prepared = await prepareBatch(examiner, target, seed, first)
  for (let index = first; index < first + count; index++) {
    if (index % 64 === 0 && examiner.stage.now() >= endMs) break
    onCase(index)
    const sample = makeSample(examiner, target, seed, index, prepared)
    try {
      const measures = target.isSync ? examiner.examineSync(target, sample) : await examiner.examine(target, sample)
      figures.add(sample.bytes.length, measures)
    } catch (err) {
      // Anything else is a mistake of the fuzzer.
      if (!(err instanceof Violation)) throw err
      figures.addViolation(sample.bytes.length, err.kind)
      if (seen.has(err.signature)) continue
      seen.add(err.signature)
      reports.push(await describe(examiner, options, sample, err, index))
    }
  }
  return { figures, reports }
}

/**
 * @param {Examiner} examiner
 * @param {Target} target
 * @param {number} seed
 * @param {number} first
 */
function prepareBatch ({ stage, library }, target, seed, first) {
  const number = Math.floor(first / target.batchSize)
  stage.begin(false)
  stage.set(false)
  const { prepare } = target
  return prepare ? stage.run(() => prepare(mixSeed(seed, number), library), () => 0, Infinity) : null
}

/**
 * @param {Examiner} examiner
 * @param {Target} target
 * @param {number} seed
 * @param {number} index
 * @param {any} prepared
 * @returns {Sample}
 */
function makeSample ({ stage }, target, seed, index, prepared) {
  stage.begin(false)
  stage.set(false)
  return target.make(seededRandom(seed, index), prepared)
}

/**
 * @param {Examiner} examiner
 * @param {BatchOptions} options
 * @param {Sample} sample
 * @param {Violation} violation
 * @param {number} index
 * @returns {Promise<Report>}
 */
async function describe (examiner, { target, shrinks = true }, sample, violation, index) {
  const { kind, signature } = violation
  const fails = async (/** @type {Sample} */ smaller) => {
    return (await judge(examiner, target, smaller))?.signature === signature
  }
  const smallest = shrinks ? await new Shrinker(fails, () => examiner.stage.now()).shrink(sample) : sample
  const again = await judgeWithStack(examiner, target, smallest)
  const message = again?.message ?? `${violation.message} (and not when it is run again)`
  return { kind, signature, message, replay: toLine(target, smallest), target: target.name, index }
}

/**
 * @param {Examiner} examiner
 * @param {Target} target
 * @param {Sample} sample
 * @returns {Promise<Violation | null>}
 */
async function judge (examiner, target, sample) {
  try {
    await examiner.examine(target, sample)
    return null
  } catch (err) {
    if (err instanceof Violation) return err
    throw err
  }
}

/**
 * @param {Examiner} examiner
 * @param {Target} target
 * @param {Sample} sample
 */
async function judgeWithStack (examiner, target, sample) {
  const before = Error.stackTraceLimit
  Error.stackTraceLimit = STACK_TRACE_LIMIT
  try {
    return await judge(examiner, target, sample)
  } finally {
    Error.stackTraceLimit = before
  }
}

exports.judgeWithStack = judgeWithStack
exports.makeSample = makeSample
exports.prepareBatch = prepareBatch
exports.runBatch = runBatch
