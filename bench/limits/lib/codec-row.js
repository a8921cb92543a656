'use strict'
// The rows of the binary codec alone, beside what JSON takes for the same values.

const { decode, encode } = require('@millrace/binary-codec')
const { ValueTally } = require('../../lib/tally')
const { loadRecords } = require('./in-memory')

// Enough that no record is in the caches of the processor still when its turn comes again.
const RECORDS_MAX = 50000
const EVERY = 1000

/** @typedef {{ encode: (value: any) => Buffer, decode: (buf: Buffer) => any }} Format */

/** @type {Format} */
const binary = { encode: (value) => encode(value), decode: (buf) => decode(buf) }
/** @type {Format} */
const json = {
  encode: (value) => Buffer.from(JSON.stringify(value)),
  decode: (buf) => JSON.parse(buf.toString())
}

/**
 * @param {Pick<import('./shapes').Row, 'name' | 'order' | 'what' | 'goal'>} row
 * @param {'encode' | 'decode'} direction
 * @returns {import('./shapes').Row}
 */
function createCodecRow (row, direction) {
  const open = direction === 'encode' ? openEncode : openDecode
  return {
    ...row,
    unit: 'ms',
    samples: 7,
    prepare: async ({ findLog }) => ({ path: (await findLog('json', 'offset32')).path }),
    ours: { open: async ({ path }) => open(binary, await loadValues(path)) },
    peer: { open: async ({ path }) => open(json, await loadValues(path)) }
  }
}

/**
 * @param {string} path  of a log of JSON
 * @returns {Promise<any[]>}
 */
async function loadValues (path) {
  const { bytes, starts, ends } = await loadRecords(path, RECORDS_MAX)
  return Array.from(starts, (start, index) => JSON.parse(bytes.toString('utf8', start, ends[index])))
}

/**
 * @param {Format} format
 * @param {any[]} values
 * @returns {import('./shapes').Runner}
 */
function openEncode (format, values) {
  let bytes = 0
  return {
    sample () {
      bytes = 0
      const started = performance.now()
      for (const value of values) bytes += format.encode(value).length
      return performance.now() - started
    },
    finish () {
      const bufs = values.map((value) => format.encode(value))
      if (bufs.reduce((sum, { length }) => sum + length, 0) !== bytes) throw new Error('encoded twice, to other sizes')
      return tallyValues(bufs.map((buf) => format.decode(buf)))
    }
  }
}

/**
 * @param {Format} format
 * @param {any[]} values
 * @returns {import('./shapes').Runner}
 */
function openDecode (format, values) {
  const bufs = values.map((value) => format.encode(value))
  let timestamps = 0
  return {
    sample () {
      timestamps = 0
      const started = performance.now()
      for (const buf of bufs) timestamps += format.decode(buf).timestamp
      return performance.now() - started
    },
    finish: () => ({ timestamps, ...tallyValues(bufs.map((buf) => format.decode(buf))) })
  }
}

/**
 * @param {any[]} values
 * @returns {import('./shapes').Answer}
 */
function tallyValues (values) {
  const tally = new ValueTally({ every: EVERY })
  for (const [index, value] of values.entries()) tally.visit(index, value)
  const { records, digest } = tally.result()
  return { records, digest }
}

exports.createCodecRow = createCodecRow
