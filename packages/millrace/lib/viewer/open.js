'use strict'
// Opens what the viewer shows: a file, a folder of segments, or the slots of several processes.

const { isUtf8 } = require('node:buffer')
const { misuse } = require('@millrace/errors')
const { formatIndexPath } = require('../cli/index-paths')
const { findIndex } = require('../cli/log-index')
const { chooseCodec, identify, isFolder, openIdentified, storageOf } = require('../cli/source')
const { codecs } = require('../open')
const { OneLog } = require('./one-log')
const { Records } = require('./records')
const { SlotsLog } = require('./slots-log')
const { ViewedLog } = require('./viewed-log')

/**
 * @typedef {import('../open').CodecName} CodecName
 * @typedef {{ codec?: string | undefined, time?: string | undefined }} ViewOptions  by default what the log says, and
 *   what its records have
 * @typedef {{ viewed: ViewedLog, close: () => Promise<void> }} Opened
 */

/** Shows bytes as text if they are text. @type {import('@millrace/offset-log').Codec<any>} */
const bytesCodec = {
  name: 'bytes',
  buffer: true,
  encode: () => { throw misuse('this log is open for reading') },
  decode: (bytes) => isUtf8(bytes) ? bytes.toString() : bytes,
  compile: () => () => false
}

/**
 * @param {string} path
 * @param {ViewOptions} [options]
 * @returns {Promise<Opened>}
 */
async function openViewed (path, options = {}) {
  if (!isFolder(path)) return openFile(path, options)
  const hasSlots = require('../cli/slots').listSlots(path).length > 0
  return hasSlots ? openSlots(path, options) : openSegments(path, options)
}

/** @type {(path: string, options: ViewOptions) => Promise<Opened>} */
async function openFile (path, options) {
  const identity = await identify(path)
  const chosen = /** @type {CodecName} */ (options.codec ?? await chooseCodec(identity))
  const codec = codecOf(chosen)
  const index = await findIndex(identity.path, chosen, { keepsUp: true })
  const log = openIdentified(identity, codec, index)
  await log.ready()
  await index?.loaded()
  const paths = index === null ? [] : index.paths.map(formatIndexPath)
  return show(log, new OneLog(log), { ...identity, paths }, recordsOf(codec, options))
}

/** @type {typeof openFile} */
async function openSegments (folder, options) {
  const { SegmentedLog } = require('@millrace/segmented-log')
  const identity = await require('../cli/folder').identifyFolder(folder)
  const codec = codecOf(options.codec ?? identity.guessed ?? await chooseCodec(identity))
  const log = SegmentedLog(folder, { flags: 'r', codec })
  await log.ready()
  return show(log, new OneLog(log, { listFiles: listFilesOf(log) }), identity, recordsOf(codec, options))
}

/** @type {typeof openFile} */
async function openSlots (folder, options) {
  const { MergedLog } = require('@millrace/merged-log')
  const identity = await require('../cli/slots').identifySlots(folder)
  const codec = codecOf(options.codec ?? identity.guessed ?? await chooseCodec(identity))
  const records = recordsOf(codec, options)
  const log = MergedLog(folder, { codec: toBytes(codec), time: (bytes) => records.timeOf(bytes) ?? NaN })
  await log.ready()
  return show(log, new SlotsLog(log, records, listFilesOf), identity, records)
}

/** @type {(log: any, source: import('./one-log').Source, identity: any, records: Records) => Opened} */
function show (log, source, identity, records) {
  return { viewed: new ViewedLog(source, { identity, records }), close: () => log.close() }
}

/** @param {string} name */
function codecOf (name) {
  return codecs[/** @type {CodecName} */ (name)] ?? bytesCodec
}

/** @type {(codec: import('@millrace/offset-log').Codec<any>, options: ViewOptions) => Records} */
function recordsOf (codec, { time }) {
  return new Records(codec, time?.split('.'))
}

/** @param {any} log  of segments */
function listFilesOf (log) {
  return async () => {
    /** @type {Array<{ path: string, base: number }>} */
    const segments = await log.segments()
    return segments.map(({ path, base }) => ({ path, base, storage: storageOf(path) }))
  }
}

/**
 * With the filters of a codec, but its records as they are.
 * @param {import('@millrace/offset-log').Codec<any>} codec
 * @returns {import('@millrace/offset-log').Codec<any>}
 */
function toBytes ({ name, encode, compile }) {
  return {
    name,
    buffer: true,
    encode,
    decode: (bytes) => Buffer.from(bytes),
    decodeRange: (buffer, start, end) => Buffer.from(buffer.subarray(start, end)),
    ...(compile && { compile })
  }
}

exports.openViewed = openViewed
