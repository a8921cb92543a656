'use strict'
// Runs bench-flumelog as it is over one log, and makes figures of the lines that it prints.

/**
 * @typedef {object} Figure
 * @property {string} name  of the case
 * @property {number} opsPerSecond
 * @property {number} mbPerSecond
 * @property {number} ops
 * @property {number} mb
 * @property {number} seconds
 */

const LAST_CASE = 'random'

/**
 * @param {(createLog: () => any) => void} bench  bench-flumelog
 * @param {() => any} createLog
 * @returns {Promise<Figure[]>}
 */
function measure (bench, createLog) {
  const { log: print } = console
  return new Promise((resolve) => {
    /** @type {Figure[]} */
    const figures = []
    // It says what it found nowhere else, and calls nobody when it is done.
    console.log = (line) => {
      const figure = parseLine(String(line))
      if (figure) figures.push(figure)
      if (figure?.name !== LAST_CASE) return
      console.log = print
      resolve(figures)
    }
    bench(createLog)
  })
}

/**
 * @param {string} line  name, ops/second, mb/second, ops, total-mb, seconds
 * @returns {Figure | null}  null for the heads, and for other lines
 */
function parseLine (line) {
  const [name, ...texts] = line.split(', ')
  const [opsPerSecond, mbPerSecond, ops, mb, seconds] = texts.map(Number)
  if (texts.length !== 5 || Number.isNaN(seconds)) return null
  return { name, opsPerSecond, mbPerSecond, ops, mb, seconds }
}

exports.measure = measure
exports.parseLine = parseLine
