'use strict'
// Reports for people: a name and a value a line; and the ranges that verify and repair list.

const { escapeControls } = require('@millrace/flow')
const { formatCount, formatSize } = require('./text')

const NAME_SIZE = 14

/**
 * @param {import('./shell').Shell} shell
 * @param {ReadonlyArray<readonly [name: string, value: string | null]>} fields  those that are null are left out
 */
function printFields (shell, fields) {
  for (const [name, value] of fields) {
    if (value !== null) shell.print(`${shell.style('bold', name.padEnd(NAME_SIZE))}  ${escapeControls(value)}`)
  }
}

/** @param {number} size  in bytes */
function describeSize (size) {
  const exact = `${formatCount(size)} bytes`
  return size < 1000 ? exact : `${exact} (${formatSize(size)})`
}

/**
 * @param {{ what: string, offset: number, size: number, records?: number | null,
 *   seqs?: { from: number, to: number } | null }} range
 * @returns {string}
 */
function describeRange ({ what, offset, size, records, seqs }) {
  const parts = [`bytes ${offset} to ${offset + size} (${formatCount(size)}): ${what}`]
  if (seqs) parts.push(`${records === null || records === undefined ? 'records' : countRecords(records)} with seqs from ${seqs.from} to below ${seqs.to}`)
  return escapeControls(parts.join('; '))
}

/** @param {number} count @param {number} size  in bytes */
function countRanges (count, size) {
  return `${formatCount(count)} range${count === 1 ? '' : 's'} of ${formatCount(size)} bytes`
}

/** @param {number} count */
function countRecords (count) {
  return `${formatCount(count)} record${count === 1 ? '' : 's'}`
}

exports.countRanges = countRanges
exports.countRecords = countRecords
exports.describeRange = describeRange
exports.describeSize = describeSize
exports.printFields = printFields
