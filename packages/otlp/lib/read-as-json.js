'use strict'
// The log records of a request as JSON texts, each with its resource and scope: what a log stores.

const { LogError } = require('@millrace/errors')
const { JsonWriter } = require('./json-writer')
const { ProtobufReader } = require('./protobuf-reader')
const { writeMembers } = require('./protobuf-to-json')
const { readJson } = require('./read-json')
const { readGroups } = require('./read-protobuf')

/**
 * @typedef {import('./log-record').Group<any>} Group
 * @typedef {import('./log-record').LogRecord} LogRecord
 *
 * @typedef {object} JsonLimits
 * @property {number} countMax  log records of a request
 * @property {number} [sizeMax]  bytes of all texts; a large resource with many records would become any size
 * @property {string} [before]  what stands in front of each text
 * @property {string} [after]
 */

/** A reader ends before another one begins, so all of them share it. */
const writer = new JsonWriter()

/**
 * @param {import('./answers').Encoding} encoding
 * @param {Uint8Array} bytes
 * @param {JsonLimits} limits
 * @returns {Buffer[]}  which belong to the caller
 * @throws {LogError} ERR_CODEC_DECODE; ERR_RECORD_TOO_LARGE beyond the limits
 */
function readAsJson (encoding, bytes, { countMax, sizeMax = Infinity, before = '', after = '' }) {
  const { groups, writeMembersOf } = encoding === 'json' ? readObjects(bytes, countMax) : readRanges(bytes, countMax)
  const [first, last] = [Buffer.from(before), Buffer.from(after)]
  /** Where each text ends. @type {number[]} */
  const ends = []
  writer.clear()
  for (const { resource, scope, records } of groups) {
    // Made once for all records of the group.
    const rest = Buffer.from(JSON.stringify({ resource: presentOf(resource), scope: presentOf(scope) }).slice(1, -1))
    for (const record of records) {
      writer.raw(first)
      writer.openObject()
      writeMembersOf(record)
      writer.raw(rest)
      writer.closeObject()
      writer.raw(last)
      if (writer.at > sizeMax) throw tooLarge(sizeMax)
      ends.push(writer.at)
    }
  }
  const texts = writer.take()
  return ends.map((end, index) => texts.subarray(index === 0 ? 0 : ends[index - 1], end))
}

/** @type {(bytes: Uint8Array, countMax: number) => { groups: Group[], writeMembersOf: (record: any) => void }} */
function readObjects (bytes, countMax) {
  const writeMembersOf = (/** @type {LogRecord} */ record) => writer.members(JSON.stringify(record))
  return { groups: readJson(bytes, { countMax }), writeMembersOf }
}

/** The same, of where each record is in the bytes. @type {typeof readObjects} */
function readRanges (bytes, countMax) {
  const reader = new ProtobufReader(bytes)
  const groups = readGroups(reader, countMax, (reader, end) => {
    const begin = reader.at
    reader.at = end
    return { begin, end }
  })
  const writeMembersOf = (/** @type {{ begin: number, end: number }} */ { begin, end }) => {
    reader.at = begin
    writeMembers(reader, end, writer)
  }
  return { groups, writeMembersOf }
}

/** @param {object} part */
function presentOf (part) {
  return Object.values(part).some((value) => value !== undefined) ? part : undefined
}

/** @param {number} sizeMax */
function tooLarge (sizeMax) {
  return new LogError('ERR_RECORD_TOO_LARGE',
    `the records have more than ${sizeMax} bytes, each with its resource and scope; send smaller batches`)
}

exports.readAsJson = readAsJson
