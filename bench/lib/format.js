'use strict'
// Figures as people read them.

const KIB = 1024

/** @param {number} ms */
function formatMs (ms) {
  return ms < 10 ? ms.toFixed(1) : formatCount(Math.round(ms))
}

/** @param {number} count */
function formatCount (count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** @param {number} bytes */
function formatKib (bytes) {
  return `${bytes / KIB} KiB`
}

/** @param {number} ratio */
function formatRatio (ratio) {
  return `${ratio < 9.95 ? ratio.toFixed(1) : Math.round(ratio)}×`
}

exports.formatMs = formatMs
exports.formatCount = formatCount
exports.formatKib = formatKib
exports.formatRatio = formatRatio
