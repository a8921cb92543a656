'use strict'
// What the tests of this package have in common.

const fs = require('node:fs')
const path = require('node:path')
const { OffsetLog } = require('@millrace/offset-log')
const { collect, temporaryFolder } = require('@millrace/testkit')
const { openSource } = require('..')

const FIXTURE = path.join(__dirname, '..', '..', 'offset-log', 'test', 'fixtures', 'ssb-2000.offset')

/** @param {string} [name] */
function newPath (name = 'log') {
  return path.join(temporaryFolder(), name)
}

/**
 * Every record of a source, and what the pass met.
 * @param {string} file
 * @param {object} [options]
 */
async function readSource (file, options) {
  const source = openSource(file, options)
  try {
    await source.ready()
    const stream = source.stream()
    const items = await collect(stream)
    return { format: source.format, items, deleted: stream.deleted, lost: stream.lost, torn: stream.torn }
  } finally {
    await source.close()
  }
}

/** Makes a log of these records. @returns {Promise<string>}  its path */
async function writeLog (records, options) {
  const file = newPath()
  const log = OffsetLog(file, options)
  await log.append(records)
  await log.close()
  return file
}

/** @returns {Promise<any[]>}  every value of a log */
async function readLog (file, codec) {
  const log = OffsetLog(file, { codec, flags: 'r' })
  const values = []
  try {
    for await (const { value } of log.stream()) values.push(value)
  } finally {
    await log.close()
  }
  return values
}

/** The bytes of each record, to be compared at a glance. */
function texts (items) {
  return items.map(({ bytes }) => bytes.toString())
}

/** Names in the folder of a file. */
function beside (file) {
  return fs.readdirSync(path.dirname(file)).sort()
}

/** @param {(limit: number) => number} random */
function randomBytes (random, size) {
  const bytes = Buffer.allocUnsafe(size)
  for (let offset = 0; offset < size; offset++) bytes[offset] = random(256)
  // All zeros look deleted.
  if (size > 0) bytes[random(size)] = 1 + random(255)
  return bytes
}

exports.FIXTURE = FIXTURE
exports.newPath = newPath
exports.readSource = readSource
exports.readLog = readLog
exports.texts = texts
exports.beside = beside
exports.randomBytes = randomBytes
exports.writeLog = writeLog
