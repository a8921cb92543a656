'use strict'
// The measurements of a bench, gathered: one cell for each layer, block size and stack. Table and charts draw on these.

const { summarize } = require('./statistics')

/** @typedef {import('./shapes').Measurement} Measurement */
/** @typedef {import('./shapes').Stack} Stack */
/** @typedef {import('./shapes').Layer} Layer */
/** @typedef {import('./statistics').Summary & { scaled: boolean }} Cell */

/**
 * @typedef {object} Cells
 * @property {Stack[]} stacks  the first is what the others are compared with
 * @property {Layer[]} layers
 * @property {number[]} blockSizes
 * @property {(stack: Stack, layer: Layer, blockSize: number) => Cell | undefined} get
 * @property {(stack: Stack, layer: Layer, blockSize: number) => number | undefined} ratio  how many times as long this
 *   stack takes as the first one
 */

/**
 * @param {{ stacks: Stack[], layers: Layer[], blockSizes: number[] }} choice
 * @param {Measurement[]} measurements
 * @returns {Cells}
 */
function gatherCells ({ stacks, layers, blockSizes }, measurements) {
  /** @type {Map<string, Measurement[]>} */
  const runs = new Map()
  for (const one of measurements) {
    const key = toKey(one.stack, one.layer, one.blockSize)
    runs.set(key, [...(runs.get(key) ?? []), one])
  }
  /** @type {Map<string, Cell>} */
  const cells = new Map()
  for (const [key, list] of runs) {
    cells.set(key, { ...summarize(list.map((one) => one.ms)), scaled: list.some((one) => one.scaled) })
  }

  /** @type {Cells['get']} */
  const get = (stack, layer, blockSize) => cells.get(toKey(stack.name, layer.name, blockSize))

  /** @type {Cells['ratio']} */
  const ratio = (stack, layer, blockSize) => {
    const own = get(stack, layer, blockSize)
    const first = get(stacks[0], layer, blockSize)
    return own && first && own.median / first.median
  }

  return { stacks, layers, blockSizes, get, ratio }
}

/**
 * @param {string} stack
 * @param {string} layer
 * @param {number} blockSize
 */
function toKey (stack, layer, blockSize) {
  return `${stack} ${layer} ${blockSize}`
}

exports.gatherCells = gatherCells
