'use strict'
// Which cases run, in which order, each in a process of its own; and that all stacks deliver the same.

const fs = require('node:fs')
const { createInputs, findSource } = require('../lib/logs')
const { Tally, time } = require('../lib/measure')
const { formatKib } = require('../lib/report')
const { createAgreement, rotate, runTask, takeTurns } = require('../lib/run')

/** @typedef {import('./stacks').Stack} Stack */
/** @typedef {import('./layers').Layer} Layer */
/** @typedef {import('../lib/measure').TallyResult} TallyResult */

/**
 * One child process to be.
 * @typedef {object} Case
 * @property {Stack} stack
 * @property {Layer} layer
 * @property {number} blockSize
 * @property {number} run  from 1
 * @property {boolean} prefix  reads the first 64 MiB instead of the whole log
 * @property {boolean} unmeasured  runs only so that another stack's answers can be compared with its own
 */

/**
 * What a child process reports.
 * @typedef {TallyResult & { ms: number, bytes: number, peakMemory: number }} Answer
 */

/**
 * One line of a CSV file.
 * @typedef {object} Measurement
 * @property {string} stack
 * @property {string} layer
 * @property {number} blockSize
 * @property {number} run
 * @property {number} ms  for the whole log; where `scaled`, worked out from the part that was read
 * @property {number} records  delivered by this run
 * @property {number} bytes  of the file, read by this run
 * @property {number} peakMemory  bytes, of the whole process
 * @property {boolean} scaled
 */

/**
 * @typedef {object} Choice
 * @property {Stack[]} stacks
 * @property {Layer[]} layers
 * @property {number[]} blockSizes  ascending
 * @property {(log: Layer['log']) => boolean} isLong  whether a log is longer than the prefix that slow cases read
 */

/**
 * Rounds are outermost and the stacks take turns within them, each round another one first: what slows the machine for
 * a while slows all of them. Should time run out, it does so at the end: there are the repeats of slow layers, and of
 * small blocks.
 * @param {Choice & { runs: number }} choice
 * @returns {Case[]}
 */
function planCases ({ stacks, layers, blockSizes, runs, isLong }) {
  /** @type {Case[]} */
  const cases = []
  const plan = (/** @type {Layer[]} */ own, /** @type {number} */ firstRun, /** @type {number} */ lastRun) => {
    for (let run = firstRun; run <= lastRun; run++) {
      for (const [sizeIndex, blockSize] of [...blockSizes].reverse().entries()) {
        for (const [layerIndex, layer] of own.entries()) {
          for (const stack of rotate(stacks, run + sizeIndex + layerIndex)) {
            const prefix = isLong(layer.log) && isSlow(stack, blockSize)
            if (!prefix || run === 1) cases.push({ stack, layer, blockSize, run, prefix, unmeasured: false })
          }
        }
      }
    }
  }
  plan(layers, 1, 1)
  for (const isLast of [false, true]) plan(layers.filter(({ isSlow = false }) => isSlow === isLast), 2, runs)
  return [...planWitnesses(stacks, cases), ...cases]
}

/**
 * A stack that only reads the prefix has nobody to agree with, unless a fast one of the same framing reads it too.
 * @param {Stack[]} stacks
 * @param {Case[]} cases
 * @returns {Case[]}
 */
function planWitnesses (stacks, cases) {
  /** @type {Map<string, Case>} */
  const witnesses = new Map()
  for (const { stack, layer, blockSize, prefix } of cases) {
    const key = `${stack.framing} ${layer.name} ${layer.perBlockSize ? blockSize : ''}`
    const witness = stacks.find((other) => other.framing === stack.framing && !isSlow(other, blockSize))
    if (!prefix || witness === undefined || witnesses.has(key)) continue
    witnesses.set(key, { stack: witness, layer, blockSize, run: 1, prefix, unmeasured: true })
  }
  return [...witnesses.values()]
}

/**
 * @param {Stack} stack
 * @param {number} blockSize
 */
function isSlow ({ slowUpTo = 0 }, blockSize) {
  return blockSize <= slowUpTo
}

/**
 * @param {Omit<Choice, 'isLong'> & { runs: number, budgetMs: number, records: number, file?: string }} options
 * @param {string} folder  for the logs that are made
 * @returns {Promise<{ measurements: Measurement[], source: import('../lib/logs').Source, skipped: number }>}
 *   `skipped` counts the second and later runs that there was no time for
 */
async function runCases (options, folder) {
  const source = await findSource(options, folder)
  const { isLong, pathOf, prepare } = createInputs(source, folder)
  const cases = planCases({ ...options, isLong })
  const inputOf = (/** @type {Case} */ { layer, stack, prefix }) => ({ log: layer.log, framing: stack.framing, prefix })
  await prepare(cases.map(inputOf))

  const agree = createCaseAgreement()
  /** @type {Measurement[]} */
  const measurements = []
  let skipped = 0
  await takeTurns(`measuring ${cases.length} cases`, cases, describeCase, async (one) => {
    if (one.run > 1 && performance.now() > options.budgetMs) return skipped++
    const { stack, layer, blockSize, run, prefix: scaled, unmeasured } = one
    const order = { module: __filename, task: 'measureCase', path: pathOf(inputOf(one)), blockSize, query: source.query }
    /** @type {Answer} */
    const answer = await runTask(order, { stack, layer })
    agree(one, answer)
    if (unmeasured) return
    const { records, bytes, peakMemory } = answer
    const whole = fs.statSync(pathOf({ ...inputOf(one), prefix: false })).size
    // In microseconds, as the CSV files have it: what is drawn from them is the same.
    const ms = Number(scale(answer.ms, { bytesRead: bytes, bytesWhole: whole }).toFixed(3))
    measurements.push({ stack: stack.name, layer: layer.name, blockSize, run, ms, records, bytes, peakMemory, scaled })
  })
  return { measurements, source, skipped }
}

/**
 * In the child. The clock runs from the first read to the last item. Opening (and whatever a stack checks then) is over
 * before.
 * @param {{ stack: Stack, layer: Layer, path: string, blockSize: number, query: string }} order
 * @returns {Promise<Answer>}
 */
async function measureCase ({ stack, layer, path, blockSize, query }) {
  const tally = new Tally(layer)
  const visit = tally.visit.bind(tally)
  const reader = await stack.primitives[layer.primitive](path, { blockSize, query })
  const ms = await time(() => reader.run(visit))
  // Node gives kibibytes. Taken before the digest is worked out, which is the harness's and not the stack's.
  const peakMemory = process.resourceUsage().maxRSS * 1024
  await reader.close()
  return { ms, bytes: fs.statSync(path).size, peakMemory, ...tally.result() }
}

/** @returns {(one: Case, answer: TallyResult) => void}  throws at the first answer that differs from an earlier one */
function createCaseAgreement () {
  const agree = createAgreement()
  return ({ stack: { name, framing }, layer, blockSize, run, prefix }, answer) => {
    const { records, delivered, digest, seqSum, seqDigest } = answer
    const size = formatKib(blockSize)
    const group = `layer ${layer.name}${layer.perBlockSize ? ` at ${size}` : ''}, ${prefix ? 'the first 64 MiB' : 'the whole log'}`
    const by = `${name} (run ${run}, ${size} blocks)`
    // Records and what is in them are the same in every framing; where they lie is not, and neither are the file's
    // bytes. The first 64 MiB of two framings do not end at the same record either.
    const isShared = layer.delivers === 'records' && !prefix
    agree(`${group}${isShared ? '' : `, ${framing}`}`, by, { records, delivered, digest })
    agree(`${group}, ${framing}`, by, { seqSum, seqDigest })
  }
}

/**
 * @param {number} ms  for a part of the log
 * @param {{ bytesRead: number, bytesWhole: number }} sizes
 * @returns {number}  for all of it, at the same speed
 */
function scale (ms, { bytesRead, bytesWhole }) {
  return ms * bytesWhole / bytesRead
}

/** @param {Case} one */
function describeCase ({ stack, layer, blockSize }) {
  return `stack ${stack.name}, layer ${layer.name}, ${formatKib(blockSize)} blocks`
}

exports.planCases = planCases
exports.runCases = runCases
exports.measureCase = measureCase
exports.scale = scale
exports.createCaseAgreement = createCaseAgreement
