'use strict'
// Numbers as people read them.

/**
 * @param {number} count
 * @returns {string}  with its thousands apart
 */
function formatCount (count) {
  return count.toLocaleString('en-US')
}

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB']

/**
 * In units of 1000, as in the viewer's text.mjs and in the charts of the bench.
 * @param {number} size  in bytes
 * @returns {string}
 */
function formatSize (size) {
  let unit = 0
  let amount = size
  for (; Math.round(amount) >= 1000 && unit < UNITS.length - 1; unit++) amount /= 1000
  return `${unit === 0 || amount >= 99.95 ? Math.round(amount) : Math.max(1, amount).toPrecision(3)} ${UNITS[unit]}`
}

/**
 * @param {number} seconds
 * @returns {string}
 */
function formatDuration (seconds) {
  const whole = Math.ceil(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  return `${Math.floor(whole / 3600)} h ${Math.floor(whole % 3600 / 60)} min`
}

exports.formatCount = formatCount
exports.formatDuration = formatDuration
exports.formatSize = formatSize
