'use strict'
// Which cases run, and in which order.

/** @typedef {import('./shapes').Case} Case */
/** @typedef {import('./shapes').Stack} Stack */
/** @typedef {import('./shapes').Layer} Layer */

/**
 * Rounds are outermost and the stacks take turns within them, each round another one first: what slows the machine for
 * a while slows all of them. Large blocks come first: should time run out, small ones can best do without another run.
 * @param {object} choice
 * @param {Stack[]} choice.stacks
 * @param {Layer[]} choice.layers
 * @param {number[]} choice.blockSizes  ascending
 * @param {number} choice.runs
 * @param {(layer: Layer) => boolean} choice.isLong  whether its log is longer than the prefix that slow cases read
 * @returns {Case[]}
 */
function planCases ({ stacks, layers, blockSizes, runs, isLong }) {
  /** @type {Case[]} */
  const cases = []
  for (let run = 1; run <= runs; run++) {
    for (const [sizeIndex, blockSize] of [...blockSizes].reverse().entries()) {
      for (const [layerIndex, layer] of layers.entries()) {
        for (const stack of rotate(stacks, run + sizeIndex + layerIndex)) {
          const prefix = isLong(layer) && isSlow(stack, blockSize)
          if (!prefix || run === 1) cases.push({ stack, layer, blockSize, run, prefix, unmeasured: false })
        }
      }
    }
  }
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
