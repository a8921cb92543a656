'use strict'
// A log in a folder: a segmented one, or the slots of several processes. It is read as a log of one file is.

const fs = require('node:fs')
const { SegmentedLog, listSegments } = require('@millrace/segmented-log')
const { createLineCodec } = require('./line-codecs')
const { chooseCodec, guessCodec, whole } = require('./source')

// A record may have waited so long before it was written.
const LATE_MS = 60_000

/** @typedef {import('./source').OpenedSource} OpenedSource */

/**
 * @param {string} path
 * @param {import('./source').SourceOptions} options
 * @returns {Promise<OpenedSource>}
 */
async function openFolder (path, options) {
  const { listSlots, openSlots } = require('./slots')
  if (listSlots(path).length > 0) return openSlots(path, options)
  const { codec, raw = false } = options
  const identity = await identifyFolder(path)
  const chosen = codec ?? identity.guessed ?? await chooseCodec(identity)
  const log = SegmentedLog(path, { flags: 'r', codec: createLineCodec(chosen, raw) })
  await log.ready()
  const first = await findFirst(log, options)
  return { ...whole(/** @type {any} */ (log), first), identity, codec: chosen, close: () => log.close() }
}

/** @param {string} path */
async function identifyFolder (path) {
  const log = SegmentedLog(path, { flags: 'r' })
  try {
    const { codec } = await log.stats()
    const segments = await listSegments(log.filename)
    const size = segments.reduce((sum, segment) => sum + sizeOf(segment), 0)
    const identity = { path: log.filename, size, framing: /** @type {const} */ ('checked'), codec, segments }
    if (codec !== null) return { ...identity, guessed: null }
    const first = await log.first({ seqs: false })
    return { ...identity, guessed: first === undefined ? /** @type {const} */ ('json') : guessCodec(first) }
  } finally {
    await log.close()
  }
}

/** @param {string} path  of a segment @returns {number} in bytes; 0 if it was dropped or compressed meanwhile */
function sizeOf (path) {
  return fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/**
 * Segments before this one have only records that were written earlier, so they need not be read. If the time is in
 * another field than `time`, it may be any time, not that of the writing.
 * @param {ReturnType<typeof SegmentedLog>} log
 * @param {import('./source').SourceOptions} options
 * @returns {Promise<number | null>}  a seq
 */
async function findFirst (log, { since, time }) {
  if (since === undefined || time !== undefined) return null
  const segments = await log.segments()
  const later = segments.findIndex(({ created }) => created.getTime() - LATE_MS > since.getTime())
  const index = later === -1 ? segments.length - 1 : later - 1
  return index > 0 ? segments[index].base : null
}

exports.findFirst = findFirst
exports.identifyFolder = identifyFolder
exports.openFolder = openFolder
