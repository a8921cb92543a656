'use strict'
// A log in a folder: a segmented one, or the slots of several processes. It is read as a log of one file is.

const fs = require('node:fs')
const { LogError } = require('@millrace/errors')
const { SegmentedLog, listSegments } = require('@millrace/segmented-log')
const { createLineCodec, createTally } = require('./line-codecs')
const { chooseCodec, guessCodec, whole } = require('./source')

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
  const identity = await identifyFolder(path).catch((err) => {
    if (err.code !== 'ENOENT') throw err
    const found = `${path} is a folder without a segment of a log`
    throw new LogError('ENOENT', `${found}; check the path, or wait for a log with millrace tail -f`, { cause: err })
  })
  const chosen = codec ?? identity.guessed ?? await chooseCodec(identity)
  const tally = createTally()
  const log = SegmentedLog(path, { flags: 'r', codec: createLineCodec(chosen, raw, tally) })
  await log.ready()
  return { ...whole(/** @type {any} */ (log)), tally, identity, codec: chosen, close: () => log.close() }
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

exports.identifyFolder = identifyFolder
exports.openFolder = openFolder
