'use strict'
// From every run to one figure and how far to trust it.

/**
 * @param {number[]} values  at least one
 * @returns {number}  the middle one, or the mean of the two in the middle
 */
function median (values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/**
 * @typedef {object} Summary
 * @property {number} median
 * @property {number} min
 * @property {number} max
 * @property {number} spread  max - min, as a fraction of the median
 */

/**
 * @param {number[]} values
 * @returns {Summary}
 */
function summarize (values) {
  const [middle, min, max] = [median(values), Math.min(...values), Math.max(...values)]
  return { median: middle, min, max, spread: middle === 0 ? 0 : (max - min) / middle }
}

/**
 * @param {number} ms  for a part of the log
 * @param {{ bytesRead: number, bytesWhole: number }} sizes
 * @returns {number}  for all of it, at the same speed
 */
function scale (ms, { bytesRead, bytesWhole }) {
  return ms * bytesWhole / bytesRead
}

exports.median = median
exports.summarize = summarize
exports.scale = scale
