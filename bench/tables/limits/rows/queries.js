'use strict'
// Rows about filters that the codec answers in the bytes, and about the binary codec alone.

const { decode, encode } = require('@millrace/binary-codec')
const { Tally, time } = require('../../../lib/measure')
const { loadRecords, openRecords, openSeekRoot, rootIs } = require('../../../lib/readers')
const { findAnswers } = require('../logs')
const { openBareLoop, timeReader } = require('../runners')
const { reads, readsPath, toRow } = require('../shared')

/** @typedef {import('../logs').FoundLog} FoundLog */
/** @typedef {'json' | 'binary'} Format */
/** @typedef {{ encode: (value: any) => Buffer, decode: (buf: Buffer) => any }} Codec */

// So many that a record has left the processor's caches when its turn comes again.
const VALUES_MAX = 50000
const EVERY = 1000

/** @type {Codec} */
const BINARY = { encode: (value) => encode(value), decode: (buf) => decode(buf) }
/** @type {Codec} */
const JSON_TEXT = { encode: (value) => Buffer.from(JSON.stringify(value)), decode: (buf) => JSON.parse(buf.toString()) }

const over = { within: 2.3, samples: 7 }
const beside = { samples: 5, otherSamples: 1 }
const besideEquality = { within: 1.5, samples: 7 }
/** @type {import('../shared').OpenSide} */
const inJson = (log) => openQuery(log, 'json')
/** @type {import('../shared').OpenSide} */
const inBinary = (log) => openQuery(log, 'binary')
/** @type {import('../shared').OpenSide} */
const parseAndCompare = ({ path, json = path, root }) => found(openParseAndCompare(json, root), 'json')

/** @type {(codec: Format) => import('../shared').OpenSide}  the same records, by equality with one long value */
const byEquality = (codec) => ({ path, root }) => found(openRecords(path, { codec, where: rootIs(root) }), codec)

exports.parts = [
  // The query parses only records that may match.
  toRow('json-where', 'JSON where, 1 in 1,000 : bare loop', { ...over, within: 1.8, drawn: 'a query of JSON, 1 in 1,000' },
    reads('json', 'offset32', 'root'), { millrace: inJson, loop: openBareLoop }),
  toRow('json-where-parse', 'JSON where : parse and compare', { ...beside, times: 12 },
    reads('json', 'offset32', 'root'), { millrace: inJson, json: parseAndCompare }),
  // A long value, found by a search of the bytes.
  toRow('binary-root', 'binary, root == X : bare loop', { ...over, within: 1.6, drawn: 'a binary query, root == X' },
    reads('binary', 'offset32', 'root'), { millrace: inBinary, loop: openBareLoop }),
  toRow('binary-root-bipf', 'binary, root == X : bipf, flumelog-offset', { ...beside, times: 8 }, reads('binary', 'offset32', 'root'),
    { millrace: inBinary, bipf: ({ path, root }) => found(openSeekRoot(path, { query: root }), 'binary') }),
  toRow('binary-root-parse', 'binary, root == X : JSON, parse, compare', { ...beside, times: 15 }, prepareBoth,
    { millrace: inBinary, json: parseAndCompare }),
  // A short value, whose bytes occur in many records.
  toRow('binary-short', 'binary, short value : bare loop', { ...over, drawn: 'a binary query, a short value' },
    reads('binary', 'offset32', 'short'), { millrace: inBinary, loop: openBareLoop }),
  // A number has no text to search for.
  toRow('binary-number', 'binary, number : bare loop', { ...over, drawn: 'a binary query, a number' },
    reads('binary', 'offset32', 'number'), { millrace: inBinary, loop: openBareLoop }),
  // Two conditions. Most records match the first or neither.
  toRow('binary-two', 'binary, two paths : bare loop', { ...over, drawn: 'a binary query, two paths' },
    reads('binary', 'offset32', 'two'), { millrace: inBinary, loop: openBareLoop }),
  // A field that some records have: the query walks to it and compares nothing.
  toRow('binary-presence', 'binary, presence : bare loop', { ...over, drawn: 'a binary query, presence' },
    reads('binary', 'offset32', 'presence'), { millrace: inBinary, loop: openBareLoop }),
  // A range of numbers: those of a key are read in place. In JSON so too, in any spelling.
  toRow('binary-range', 'binary, a range of numbers : bare loop', { ...over, drawn: 'a binary query, a range of numbers' },
    reads('binary', 'offset32', 'range'), { millrace: inBinary, loop: openBareLoop }),
  toRow('json-range', 'JSON, a range of numbers : bare loop', { ...over, within: 4, drawn: 'a query of JSON, a range of numbers' },
    reads('json', 'offset32', 'range'), { millrace: inJson, loop: openBareLoop }),
  // How a long value begins, and one of ten long values, beside equality with one.
  toRow('binary-prefix', 'binary, a prefix : root == X', besideEquality,
    reads('binary', 'offset32', 'prefix'), { millrace: inBinary, equality: byEquality('binary') }),
  toRow('json-prefix', 'JSON, a prefix : root == X', besideEquality,
    reads('json', 'offset32', 'prefix'), { millrace: inJson, equality: byEquality('json') }),
  toRow('binary-in', 'binary, in of ten long values : root == X', besideEquality,
    reads('binary', 'offset32', 'choice'), { millrace: inBinary, equality: byEquality('binary') }),
  toRow('json-in', 'JSON, in of ten long values : root == X', besideEquality,
    reads('json', 'offset32', 'choice'), { millrace: inJson, equality: byEquality('json') }),
  toRow('binary-encode', 'binary.encode : JSON to a Buffer', { within: 0.5, samples: 7 },
    readsPath('json', 'offset32'), codecSides('encode')),
  toRow('binary-decode', 'binary.decode : JSON.parse of a Buffer', { within: 0.7, samples: 7 },
    readsPath('json', 'offset32'), codecSides('decode'))
]

/** @param {import('../../../engine/row').Context} context */
async function prepareBoth (context) {
  return { ...await findAnswers(context, 'binary', 'offset32', 'root'), json: (await findAnswers(context, 'json', 'offset32')).path }
}

/** @type {(log: FoundLog, codec: Format) => Promise<import('../runners').Runner>} */
function openQuery ({ path, where }, codec) {
  return found(openRecords(path, { codec, where }), codec)
}

/**
 * @param {Promise<import('../runners').Reader>} reader
 * @param {Format} decode
 * @returns {Promise<import('../runners').Runner>}  its digest is of the values that were found
 */
function found (reader, decode) {
  return timeReader(reader, { decode, every: 1, pick: ({ records, digest }) => ({ records, digest }) })
}

/**
 * Answers the query without a filter: parses every record and compares one field.
 * @param {string} path  of a log of JSON
 * @param {string} root
 * @returns {Promise<import('../runners').Reader>}
 */
async function openParseAndCompare (path, root) {
  const { run } = await openRecords(path, { codec: 'json' })
  return {
    run: (visit) => run((seq, buf, start, end) => {
      const text = /** @type {Buffer} */ (buf).toString('utf8', start, end)
      if (JSON.parse(text).value?.content?.root === root) visit(seq, buf, start, end)
    })
  }
}

/** @type {(way: 'encode' | 'decode') => Record<string, import('../shared').OpenSide>} */
function codecSides (way) {
  return { millrace: ({ path }) => timeCodec(way, BINARY, path), json: ({ path }) => timeCodec(way, JSON_TEXT, path) }
}

/**
 * @param {'encode' | 'decode'} way
 * @param {Codec} codec
 * @param {string} path  of a log of JSON
 * @returns {Promise<import('../runners').Runner>}
 */
async function timeCodec (way, codec, path) {
  const { bytes, starts, ends } = await loadRecords(path)
  const values = Array.from(starts.subarray(0, VALUES_MAX), (start, index) => JSON.parse(bytes.toString('utf8', start, ends[index])))
  const items = way === 'encode' ? values : values.map(codec.encode)
  const step = way === 'encode' ? (/** @type {any} */ one) => codec.encode(one).length : (/** @type {any} */ one) => codec.decode(one).timestamp
  const sumUp = () => items.reduce((sum, one) => sum + step(one), 0)
  let sum = 0
  return {
    sample: () => time(() => { sum = sumUp() }),
    finish () {
      if (sumUp() !== sum) throw new Error(`${way}d twice, to other sums`)
      const tally = new Tally({ every: EVERY })
      for (const [index, value] of values.entries()) tally.visit(index, codec.decode(codec.encode(value)))
      const { records, digest } = tally.result()
      return { records, digest, ...(way === 'decode' && { timestamps: sum }) }
    }
  }
}
