'use strict'
// Which cases run, and in which order.

/** @typedef {import('./shapes').Case} Case */
/** @typedef {import('./shapes').Stack} Stack */
/** @typedef {import('./shapes').Layer} Layer */

/**
 * Rounds are outermost and the stacks take turns within them, each round another one first: what slows the machine for
 * a while slows all of them. Should time run out, it does so at the end: there are the repeats of slow layers, and of
 * small blocks.
 * @param {object} choice
 * @param {Stack[]} choice.stacks
 * @param {Layer[]} choice.layers
 * @param {number[]} choice.blockSizes  ascending
 * @param {number} choice.runs
 * @param {(layer: Layer) => boolean} choice.isLong  whether its log is longer than the prefix that slow cases read
 * @returns {Case[]}
 */
function planCases ({ stacks, layers, blockSizes, runs, isLong }) {
  const planPart = (/** @type {Layer[]} */ part, /** @type {number} */ firstRun, /** @type {number} */ lastRun) => {
    return planRounds({ stacks, layers: part, blockSizes, isLong }, firstRun, lastRun)
  }
  const cases = [
    ...planPart(layers, 1, 1),
    ...planPart(layers.filter((layer) => !layer.isSlow), 2, runs),
    ...planPart(layers.filter((layer) => layer.isSlow), 2, runs)
  ]
  return [...planWitnesses(stacks, cases), ...cases]
}

/**
 * @param {object} choice
 * @param {Stack[]} choice.stacks
 * @param {Layer[]} choice.layers
 * @param {number[]} choice.blockSizes
 * @param {(layer: Layer) => boolean} choice.isLong
 * @param {number} firstRun
 * @param {number} lastRun
 */
function planRounds ({ stacks, layers, blockSizes, isLong }, firstRun, lastRun) {
  /** @type {Case[]} */
  const cases = []
  for (let run = firstRun; run <= lastRun; run++) {
    for (const [sizeIndex, blockSize] of [...blockSizes].reverse().entries()) {
      for (const [layerIndex, layer] of layers.entries()) {
        for (const stack of rotate(stacks, run + sizeIndex + layerIndex)) {
          const prefix = isLong(layer) && isSlow(stack, blockSize)
          if (!prefix || run === 1) cases.push({ stack, layer, blockSize, run, prefix, unmeasured: false })
        }
      }
    }
  }
  return cases
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
 * @template T
 * @param {T[]} list
 * @param {number} by
 * @returns {T[]}
 */
function rotate (list, by) {
  const start = by % list.length
  return [...list.slice(start), ...list.slice(0, start)]
}

exports.planCases = planCases
