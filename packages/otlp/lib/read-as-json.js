'use strict'
// The log records of a request as JSON texts, each with its resource and scope: what a log stores.

const { isUtf8 } = require('node:buffer')
const { LogError } = require('@millrace/errors')
const { copyBytes } = require('@millrace/flow')
const { GIVEN_UP } = require('./json-scanner')
const { JsonTranscoder } = require('./json-to-json')
const { JsonWriter } = require('./json-writer')
const { ProtobufReader } = require('./protobuf-reader')
const { writeMembers } = require('./protobuf-to-json')
const { readJson } = require('./read-json')
const { readGroups } = require('./read-protobuf')

/**
 * @typedef {{ bytes?: Buffer | undefined, begin: number, end: number }} Range  the members of a record in bytes, or in
 *   the writer, each with a comma after it
 * @typedef {import('./log-record').Group<Range>} RangeGroup
 *
 * @typedef {object} JsonLimits
 * @property {number} countMax  log records of a request
 * @property {number} [sizeMax]  bytes of all texts; a large resource with many records would become any size
 * @property {string} [before]  what stands before each text
 * @property {string} [after]
 */

/**
 * @typedef {object} Part  a group
 * @property {Range[]} records
 * @property {Buffer} head  before each
 * @property {Buffer} tail  after each
 * @property {number} surplus
 */

/** A reader ends before another one begins, so all of them share it. It is empty between them. */
const writer = new JsonWriter()

/**
 * Reads a request, and gives its log records as JSON texts, each with its resource and scope. For nearly all requests
 * it makes no objects, so it takes about as long as reading.
 * @param {import('./answers').Encoding} encoding
 * @param {Uint8Array} bytes
 * @param {JsonLimits} limits
 * @returns {Buffer[]}  which belong to the caller
 * @throws {LogError} ERR_CODEC_DECODE; ERR_RECORD_TOO_LARGE beyond the limits
 */
function readAsJson (encoding, bytes, limits) {
  try {
    return readTexts(encoding, bytes, limits)
  } finally {
    // What a large request needed must not stay until the next one comes.
    writer.clear()
  }
}

/** @type {typeof readAsJson} */
function readTexts (encoding, bytes, { countMax, sizeMax = Infinity, before = '', after = '' }) {
  const groups = readAtOnce(encoding === 'protobuf', bytes, countMax) ?? writeFromObjects(bytes, countMax)
  const parts = groups.map((group) => partOf(group, before, after))
  const size = parts.reduce((sum, part) => sum + sizeOf(part), 0)
  if (size <= sizeMax) return parts.flatMap(join)
  throw new LogError('ERR_RECORD_TOO_LARGE',
    `the records have ${size} bytes, each with its resource and scope, and ${sizeMax} are allowed; send smaller batches`)
}

/**
 * Into the writer.
 * @type {(isProtobuf: boolean, bytes: Uint8Array, countMax: number) => RangeGroup[] | null}  null: it cannot be read in
 *   this way
 */
function readAtOnce (isProtobuf, bytes, countMax) {
  return isProtobuf ? writeFromProtobuf(bytes, countMax) : writeFromJson(bytes, countMax)
}

/** @type {(group: RangeGroup, before: string, after: string) => Part} */
function partOf (group, before, after) {
  return { head: Buffer.from(`${before}{`), records: group.records, ...tailOf(group, after) }
}

/** @type {(bytes: Uint8Array, countMax: number) => RangeGroup[]} */
function writeFromProtobuf (bytes, countMax) {
  return readGroups(new ProtobufReader(bytes), countMax, (reader, end) => {
    const begin = writer.at
    writeMembers(reader, end, writer)
    return { begin, end: writer.at }
  })
}

/** @type {(bytes: Uint8Array, countMax: number) => RangeGroup[] | null} null: objects have to be made */
function writeFromJson (bytes, countMax) {
  if (!isUtf8(bytes)) return null
  const transcoder = new JsonTranscoder(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), writer, countMax)
  try {
    transcoder.passRequest()
    return transcoder.groups
  } catch (err) {
    // What is wrong here may be good: of a member that comes twice, the last one counts.
    if (err === GIVEN_UP || err instanceof LogError) return null
    throw err
  }
}

/** The slow, obvious way. @type {(bytes: Uint8Array, countMax: number) => RangeGroup[]} */
function writeFromObjects (bytes, countMax) {
  writer.clear()
  return readJson(bytes, { countMax }).map(({ resource, scope, records }) => ({
    resource,
    scope,
    records: records.map((record) => {
      const begin = writer.at
      writer.members(JSON.stringify(record))
      return { begin, end: writer.at }
    })
  }))
}

/**
 * What stands after the members of each record in a group. `surplus`: bytes at their end that go.
 * @type {(group: RangeGroup, after: string) => { tail: Buffer, surplus: number }}
 */
function tailOf ({ resource, scope }, after) {
  const shared = JSON.stringify({ resource: presentOf(resource), scope: presentOf(scope) }).slice(1, -1)
  return { tail: Buffer.from(`${shared}}${after}`), surplus: shared === '' ? 1 : 0 }
}

/** @param {object} part */
function presentOf (part) {
  return Object.values(part).some((value) => value !== undefined) ? part : undefined
}

/** @param {Part} part */
function sizeOf (part) {
  return part.records.reduce((sum, record) => sum + sizeOfRecord(part, record), 0)
}

/** @type {(part: Part, record: Range) => number} */
function sizeOfRecord ({ head, tail, surplus }, { begin, end }) {
  return head.length + Math.max(0, end - begin - surplus) + tail.length
}

/** The texts of a group, in a buffer of their own. @param {Part} part */
function join (part) {
  const { head, records, tail, surplus } = part
  const texts = Buffer.allocUnsafeSlow(sizeOf(part))
  let at = 0
  return records.map(({ bytes = writer.bytes, begin, end }) => {
    const from = at
    at = copyBytes(head, 0, head.length, texts, at)
    if (end > begin) at = copyBytes(bytes, begin, end - surplus, texts, at)
    // All of it: a part would be an object of its own.
    texts.set(tail, at)
    at += tail.length
    return texts.subarray(from, at)
  })
}

exports.join = join
exports.partOf = partOf
exports.readAsJson = readAsJson
exports.readAtOnce = readAtOnce
exports.sizeOf = sizeOf
exports.sizeOfRecord = sizeOfRecord
exports.writer = writer
