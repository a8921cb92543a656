'use strict'
// What makes a server work hard for a request that costs its sender little. `status`: what it may answer.

const zlib = require('node:zlib')
const { LINES_TYPE, PROTOBUF_TYPE } = require('./requests')

const MIB = 2 ** 20
const CONDITION_COUNT = 200

/**
 * @typedef {object} Hostile
 * @property {string} path
 * @property {'GET' | 'POST'} method
 * @property {Record<string, string>} [headers]
 * @property {Buffer} [body]
 */

const fill = (/** @type {string} */ text, /** @type {number} */ size) => text.repeat(Math.ceil(size / text.length))

/** @type {(path: string, type: string, body: string | Buffer) => Hostile} */
function bomb (path, type, body) {
  const headers = { 'content-type': type, 'content-encoding': 'gzip' }
  return { path, method: 'POST', headers, body: zlib.gzipSync(body) }
}

/** The longest filter on a log that has `stored` events. @returns {Hostile} */
function heavyRead () {
  const any = Array.from({ length: CONDITION_COUNT }, (_, n) => ({ path: `a.b.c${n}`, gt: n }))
  return { path: `/v1/logs/big?where=${encodeURIComponent(JSON.stringify({ any }))}`, method: 'GET' }
}

/** By name. @type {Record<string, () => Hostile[]>} */
const hostile = {
  bombs: () => {
    const records = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${fill('{},', 31 * MIB)}{}]}]}]}`
    return [
      bomb('/v1/logs/a', 'application/json', `[${fill('{},', 31 * MIB)}1]`),
      bomb('/v1/logs/a', 'application/json', `["${fill('x', 31 * MIB)}"]`),
      bomb('/v1/logs/a', LINES_TYPE, `[${fill('{},', 31 * MIB)}1]`),
      bomb('/v1/logs/a', LINES_TYPE, fill(`"${fill('x', 900_000)}"\n`, 30 * MIB)),
      bomb('/v1/logs', 'application/json', records),
      bomb('/v1/logs', 'application/json', `{"x":[${fill('{},', 31 * MIB)}1]}`),
      bomb('/v1/logs', PROTOBUF_TYPE, Buffer.alloc(31 * MIB, Buffer.from([0x0a, 0x00])))
    ]
  },
  reads: () => [heavyRead()]
}

exports.hostile = hostile
