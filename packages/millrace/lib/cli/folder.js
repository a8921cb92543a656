'use strict'
// A log in a folder: a segmented one, or the slots of several processes. It is read as a log of one file is.

const fs = require('node:fs')
const path = require('node:path')
const { LogError, misuse } = require('@millrace/errors')
const { SegmentedLog, findMissingSegments, listSegments } = require('@millrace/segmented-log')
const { describeFolder, listLogs } = require('./failures')
const { createLineCodec, createTally } = require('./line-codecs')
const { findIndex } = require('./log-index')
const { chooseCodec, guessCodec, hasFilter, identify, isFolder, openIdentified, whole } = require('./source')
const { framingOf } = require('../open')

/** @typedef {import('./source').OpenedSource} OpenedSource */

/**
 * @param {string} folder
 * @param {import('./source').SourceOptions} options
 * @returns {Promise<OpenedSource>}
 */
async function openFolder (folder, options) {
  const { listSlots, openSlots } = require('./slots')
  if (listSlots(folder).length > 0) return openSlots(folder, options)
  const { codec, raw = false } = options
  const identity = await identifyFolder(folder).catch((err) => {
    if (err.code !== 'ENOENT') throw err
    // None will come there: nobody should wait for it.
    if (listLogs(folder).length > 0) throw misuse(describeFolder(folder, ''))
    throw new LogError('ENOENT', describeFolder(folder, 'check the path, or wait for a log with millrace tail -f'), { cause: err })
  })
  const chosen = codec ?? identity.guessed ?? await chooseCodec(identity)
  const tally = createTally()
  const index = hasFilter(options) ? await findIndex(identity.path, chosen) : null
  const log = openIdentified(identity, createLineCodec(chosen, raw, tally), index)
  await log.ready()
  await index?.loaded()
  return { ...whole(log), tally, identity, codec: chosen, index, close: () => log.close() }
}

/** @param {string} folder */
async function identifyFolder (folder) {
  const log = SegmentedLog(folder, { flags: 'r' })
  try {
    const { codec, ...stats } = await log.stats()
    const framing = /** @type {import('@millrace/offset-log').FramingName} */ (stats.framing)
    const segments = await listSegments(log.filename)
    const size = segments.reduce((sum, segment) => sum + sizeOf(segment), 0)
    const identity = { path: log.filename, size, framing, codec, segments }
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
 * Refuses a folder where a command works on one file.
 * @param {string} folder
 * @param {string} advice  if it has a log
 */
async function refuseFolder (folder, advice) {
  if (!isFolder(folder)) return
  const { listSlots } = require('./slots')
  const hasSlots = listSlots(folder).length > 0
  if (hasSlots || (await listSegments(folder)).length > 0) {
    throw misuse(`${folder} is ${hasSlots ? 'a folder that several processes write' : 'a folder of segments'}; ${advice}`)
  }
  throw misuse(describeFolder(folder, `give the path of a log's file, such as ${path.join(folder, 'events.log')}`))
}

/**
 * What is in the place of segments, or missing between them: reading meets it, but opening the log does not.
 * @param {string} folder
 * @returns {Promise<Array<{ path: string, error: string }>>}
 */
async function findBroken (folder) {
  /** @type {Array<{ path: string, error: string }>} */
  const broken = []
  for (const file of await listSegments(folder)) {
    const found = isFolder(file) ? 'it is a folder' : await whyBroken(file)
    if (found !== null && fs.existsSync(file)) broken.push({ path: file, error: `${file} is no segment: ${found}` })
  }
  for (const { error } of await findMissingSegments(folder).catch(() => [])) {
    broken.push({ path: folder, error: error.message })
  }
  return broken
}

/** @param {string} file @returns {Promise<string | null>} */
async function whyBroken (file) {
  const expected = framingOf(file.replace(/\.(gz|zst)$/, ''))
  try {
    const { framing } = await identify(file)
    // A checked segment always has a head.
    if (framing === null) return expected === 'checked' ? 'it has no bytes' : null
    return framing === expected ? null : `it is a log of ${framing}`
  } catch (/** @type {any} */ err) {
    return err.message
  }
}

exports.findBroken = findBroken
exports.refuseFolder = refuseFolder
exports.identifyFolder = identifyFolder
exports.openFolder = openFolder
