'use strict'
// Rows about filters that the codec answers in the bytes, and about the binary codec alone.

const { decode, encode } = require('@millrace/binary-codec')
const { Tally, time } = require('../../../lib/measure')
const { loadRecords, openRecords, openSeekRoot, rootIs } = require('../../../lib/readers')
const { findAnswers } = require('../logs')
const { openBareLoop, timeReader } = require('../runners')
const { reads, readsPath, toRow } = require('../shared')

/** @typedef {import('../../../engine/row').Row} Row */
/** @typedef {'json' | 'binary'} Format */
/** @typedef {{ encode: (value: any) => Buffer, decode: (buf: Buffer) => any }} Codec */

// So many that a record has left the processor's caches when its turn comes again.
const VALUES_MAX = 50000
const EVERY = 1000

/** @type {Codec} */
const BINARY = { encode: (value) => encode(value), decode: (buf) => decode(buf) }
/** @type {Codec} */
const JSON_TEXT = { encode: (value) => Buffer.from(JSON.stringify(value)), decode: (buf) => JSON.parse(buf.toString()) }

const beside = { samples: 5, otherSamples: 1 }
/** @type {(codec: Format) => import('../shared').OpenSide} */
const by = (codec) => ({ path, where }) => found(openRecords(path, { codec, where }), codec)
/** @type {import('../shared').OpenSide} */
const parseAndCompare = ({ path, json = path, root }) => found(openParseAndCompare(json, root), 'json')

/**
 * @type {(name: string, what: string, log: Format, query: import('../logs').QueryName, within: number, drawn: string)
 *   => Row}
 */
const overLoop = (name, what, log, query, within, drawn) => {
  return toRow(name, `${what} : bare loop`, { within, samples: 7, drawn }, reads(log, 'offset32', query), { millrace: by(log), loop: openBareLoop })
}

/**
 * Beside equality with one long value: the same records.
 * @type {(name: string, what: string, log: Format, query: import('../logs').QueryName) => Row}
 */
const overEquality = (name, what, log, query) => {
  return toRow(name, `${what} : root == X`, { within: 1.5, samples: 7 }, reads(log, 'offset32', query),
    { millrace: by(log), equality: ({ path, root }) => by(log)({ path, where: rootIs(root) }) })
}

/** @type {(way: 'encode' | 'decode', what: string, within: number) => Row} */
const ofCodec = (way, what, within) => {
  return toRow(`binary-${way}`, what, { within, samples: 7 }, readsPath('json', 'offset32'),
    { millrace: ({ path }) => timeCodec(way, BINARY, path), json: ({ path }) => timeCodec(way, JSON_TEXT, path) })
}

exports.parts = [
  // The query parses only records that may match.
  overLoop('json-where', 'JSON where, 1 in 1,000', 'json', 'root', 1.8, 'a query of JSON, 1 in 1,000'),
  toRow('json-where-parse', 'JSON where : parse and compare', { ...beside, times: 12 },
    reads('json', 'offset32', 'root'), { millrace: by('json'), json: parseAndCompare }),
  // A long value, found by a search of the bytes.
  overLoop('binary-root', 'binary, root == X', 'binary', 'root', 1.6, 'a binary query, root == X'),
  toRow('binary-root-bipf', 'binary, root == X : bipf, flumelog-offset', { ...beside, times: 8 }, reads('binary', 'offset32', 'root'),
    { millrace: by('binary'), bipf: ({ path, root }) => found(openSeekRoot(path, { query: root }), 'binary') }),
  toRow('binary-root-parse', 'binary, root == X : JSON, parse, compare', { ...beside, times: 15 }, prepareBoth,
    { millrace: by('binary'), json: parseAndCompare }),
  // A short value, whose bytes occur in many records.
  overLoop('binary-short', 'binary, short value', 'binary', 'short', 2.3, 'a binary query, a short value'),
  // A number has no text to search for.
  overLoop('binary-number', 'binary, number', 'binary', 'number', 2.3, 'a binary query, a number'),
  // Two conditions. Most records match the first or neither.
  overLoop('binary-two', 'binary, two paths', 'binary', 'two', 2.3, 'a binary query, two paths'),
  // A field that some records have: the query walks to it and compares nothing.
  overLoop('binary-presence', 'binary, presence', 'binary', 'presence', 2.3, 'a binary query, presence'),
  // A range of numbers: those of a key are read in place. In JSON so too, in any spelling.
  overLoop('binary-range', 'binary, a range of numbers', 'binary', 'range', 2.3, 'a binary query, a range of numbers'),
  overLoop('json-range', 'JSON, a range of numbers', 'json', 'range', 4, 'a query of JSON, a range of numbers'),
  // How a long value begins, and one of ten long values.
  overEquality('binary-prefix', 'binary, a prefix', 'binary', 'prefix'),
  overEquality('json-prefix', 'JSON, a prefix', 'json', 'prefix'),
  overEquality('binary-in', 'binary, in of ten long values', 'binary', 'choice'),
  overEquality('json-in', 'JSON, in of ten long values', 'json', 'choice'),
  ofCodec('encode', 'binary.encode : JSON to a Buffer', 0.5),
  ofCodec('decode', 'binary.decode : JSON.parse of a Buffer', 0.7)
]

/** @param {import('../../../engine/row').Context} context */
async function prepareBoth (context) {
  return { ...await findAnswers(context, 'binary', 'offset32', 'root'), json: (await findAnswers(context, 'json', 'offset32')).path }
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

exports.by = by
