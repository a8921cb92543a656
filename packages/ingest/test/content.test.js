'use strict'
// What requests say about their bodies: codings, charsets, marks and media types as they are written in the wild.

const zlib = require('node:zlib')
const tape = require('tape')
const { rawRequest, serve } = require('./helpers')

const JSON_TYPE = 'application/json'
const LINES = 'application/x-ndjson'
const OTLP = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: 'x' } }] }] }] })
const plain = Buffer.from('{"a":1}')
const packed = zlib.gzipSync(plain)
const BOM = Buffer.from('\ufeff')

/** Coding as it is sent, whether the body is gzip, and the status. */
const codings = [
  [undefined, false, 200], ['', false, 200], ['identity', false, 200], ['Identity', false, 200], [',', false, 200],
  ['gzip', true, 200], ['GZIP', true, 200], ['Gzip', true, 200], ['x-gzip', true, 200], ['X-GZip', true, 200],
  [' gzip ', true, 200], ['gzip,', true, 200], ['identity, gzip', true, 200], ['gzip, identity', true, 200],
  [['gzip', 'identity'], true, 200], [['', 'gzip'], true, 200],
  ['gzip, gzip', true, 415], [['gzip', 'gzip'], true, 415], ['br', true, 415], ['zstd', true, 415], ['deflate', true, 415],
  ['gzip, br', true, 415], ['gzip;q=1', true, 415], ['gzipx', true, 415], ['gzip', false, 400], ['identity', true, 400]
]

/** Media type and charset, and the status for `plain`. */
const types = [
  ['application/json', 200], ['APPLICATION/JSON', 200], ['Application/Json; Charset=UTF-8', 200], [' application/json ', 200],
  ['application/json;charset=utf-8', 200], ['application/json;charset="UTF-8"', 200], ['application/json ; charset = utf8', 200],
  ['application/json; profile="a;charset=utf-16"', 415], ['application/json;', 200], ['application/json; x=1', 200],
  ['application/json; charset=', 200], ['application/json; x=1; charset=utf-8', 200],
  ['application/x-ndjson; charset=utf-8', 200], ['application/jsonl', 200], ['application/NDJSON', 200],
  ['application/json; charset=utf-16', 415], ['application/json; charset=utf-16le', 415], ['application/json;charset=latin1', 415],
  ['application/json; CHARSET=ISO-8859-1', 415], ['application/json; charset="windows-1252"', 415],
  ['application/json; charset=utf-8; charset=utf-16', 415], ['application/x-ndjson; charset=utf-16', 415],
  ['application/jsonx', 415], ['application/json, text/plain', 415], ['text/plain', 415], ['text/plain; charset=utf-8', 415],
  ['json', 415], ['', 415], [undefined, 415]
]

/** Bodies with a mark, and how many records they have; null: refused. */
const marked = [
  [JSON_TYPE, Buffer.concat([BOM, plain]), 1], [JSON_TYPE, Buffer.concat([BOM, Buffer.from('[1,2]')]), 2],
  [LINES, Buffer.concat([BOM, plain]), 1], [LINES, Buffer.concat([BOM, plain, Buffer.from('\r\n\r\n'), plain]), 2],
  [JSON_TYPE, BOM, null], [LINES, BOM, null], [JSON_TYPE, Buffer.concat([plain, BOM, plain]), null],
  [JSON_TYPE, BOM.subarray(0, 2), null], [JSON_TYPE, Buffer.from('"\ufeff"'), 1]
]

tape('content: codings in any case, alone and in lists', async (t) => {
  const { url } = await serve(t)
  for (const [path, bodies] of [['/v1/logs/a', [plain, packed]], ['/v1/logs', [Buffer.from(OTLP), zlib.gzipSync(OTLP)]]]) {
    for (const [coding, isPacked, expected] of codings) {
      const headers = { 'content-type': JSON_TYPE, ...(coding !== undefined && { 'content-encoding': coding }) }
      const answer = await rawRequest(url, { path, method: 'POST', headers, body: bodies[isPacked ? 1 : 0] })
      t.equal(answer.status, expected, `${path}: ${JSON.stringify(coding)}${isPacked ? ', packed' : ''}`)
      if (expected === 415) t.equal(answer.headers['accept-encoding'], 'gzip')
    }
  }
})

tape('content: text is UTF-8, whatever else its type says', async (t) => {
  const { url } = await serve(t)
  for (const [type, expected] of types) {
    const headers = type === undefined ? {} : { 'content-type': type }
    const { status, text } = await rawRequest(url, { path: '/v1/logs/a', method: 'POST', headers, body: plain })
    t.equal(status, expected, `${JSON.stringify(type)} ${text}`)
  }
  const otlp = { path: '/v1/logs', method: 'POST', body: OTLP }
  t.equal((await rawRequest(url, { ...otlp, headers: { 'content-type': 'application/json; charset=utf-16' } })).status, 415)
})

tape('content: a byte-order mark is no part of the first record, packed or not', async (t) => {
  const { url, read } = await serve(t)
  let count = 0
  for (const [type, body, records] of marked) {
    for (const coding of ['identity', 'gzip']) {
      const headers = { 'content-type': type, 'content-encoding': coding }
      const bytes = coding === 'gzip' ? zlib.gzipSync(body) : body
      const { status, text } = await rawRequest(url, { path: '/v1/logs/a', method: 'POST', headers, body: bytes })
      t.equal(status, records === null ? 400 : 200, `${type} ${JSON.stringify(body.toString())} ${text}`)
      count += records ?? 0
    }
  }
  t.equal((await read('/v1/logs/a')).records.length, count)
  const headers = { 'content-type': JSON_TYPE }
  t.equal((await rawRequest(url, { path: '/v1/logs', method: 'POST', headers, body: `\ufeff${OTLP}` })).status, 200, 'OTLP')
  t.equal((await read('/v1/logs/otlp')).records.length, 1)
})
