'use strict'
// Opens a file for reading, however damaged it is, and tells which framing it has: by its beginning, or, where that is
// lost, by what lies behind.

const { BlockFile } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { eachInOrder, toCallback } = require('@millrace/flow')
const { readSource } = require('../framing/checked/salvage/read-source')
const { TailCopy } = require('../framing/checked/tail-copy')
const { detectFraming } = require('../framing/detect')
const { offsetFramings } = require('../framing/offset/offset-framing')
const { NOWHERE, findFrames } = require('../framing/offset/salvage/find-frames')
const { judgeFrame } = require('../framing/offset/salvage/mend-frame')

/**
 * @typedef {ReturnType<typeof BlockFile>} BlockFileHandle
 * @typedef {import('../framing/checked/salvage/read-source').Source} CheckedSource
 * @typedef {import('../framing/offset/offset-framing').OffsetFraming} OffsetFraming
 */

/**
 * @typedef {object} LogSource
 * @property {BlockFileHandle} blocks  open for reading
 * @property {CheckedSource | null} checked  of a file of the checked framing
 * @property {OffsetFraming | null} framing  of a legacy one; an empty file has none
 * @property {import('../framing/checked/tail-copy').Unrestored | null} [unrestored]  what the log gets back when it is
 *   opened for writing
 */

/**
 * @param {string} path
 * @param {object} options
 * @param {string} [options.framing]  that the file is known to have
 * @param {import('@millrace/block-file/lib/storage').Storage} [options.storage]
 * @param {(err: Error | null, source?: LogSource) => void} cb  its file is to be closed
 */
function openSource (path, { framing, storage }, cb) {
  const blocks = BlockFile(path, { flags: 'r', cache: 0, storage })
  blocks.ready((err) => {
    if (err) return cb(err)
    tellFraming(blocks, framing, (err, source) => {
      if (err || !source) return blocks.close(() => cb(err))
      if (source.checked === null) return cb(null, source)
      toCallback(new TailCopy(blocks, source.checked.head, storage).find(), (err, unrestored) => {
        if (err) blocks.close(() => cb(err))
        else cb(null, { ...source, unrestored })
      })
    })
  })
}

/**
 * @param {BlockFileHandle} blocks
 * @param {string | undefined} known
 * @param {(err: Error | null, source?: LogSource) => void} cb
 */
function tellFraming (blocks, known, cb) {
  const asLegacy = (/** @type {OffsetFraming | null} */ framing) => cb(null, { blocks, checked: null, framing })
  const asChecked = () => readSource(blocks, null, (err, checked) => {
    if (err || !checked) cb(err)
    else cb(null, { blocks, checked, framing: null })
  })
  if (known === 'checked') return asChecked()
  if (known !== undefined) return asLegacy(offsetFramings[known])
  if (blocks.size.value === 0) return asLegacy(null)
  detectFraming(blocks, (err, framing) => {
    if (framing === 'checked') return asChecked()
    if (framing) return asLegacy(framing)
    if (!(err instanceof LogError) || err.code !== 'ERR_LOG_UNKNOWN_FORMAT') return cb(err)
    // A header that is lost may still be found; else it was none.
    readSource(blocks, null, (checkedError, checked) => {
      if (checked) return cb(null, { blocks, checked, framing: null })
      if (!isOfBytes(checkedError)) return cb(checkedError)
      guessOffsetFraming(blocks, (guessError, framing) => {
        if (framing) asLegacy(framing)
        else cb(guessError ?? unknownFormat(blocks.path, err))
      })
    })
  })
}

/**
 * @param {BlockFileHandle} blocks
 * @param {(err: Error | null, framing?: OffsetFraming | null) => void} cb  the one whose whole frames come first
 */
function guessOffsetFraming (blocks, cb) {
  const fileSize = blocks.size.value
  let first = { framing: /** @type {OffsetFraming | null} */ (null), end: Infinity }
  eachInOrder(Object.values(offsetFramings), (framing, done) => {
    findFrames(blocks, framing, 0, fileSize, NOWHERE, blocks.createSpanReader(), (err, place) => {
      if (err) return done(err)
      if (place && place.start !== NOWHERE && place.end < first.end) first = { framing, end: place.end }
      // All of the file may be one frame.
      judgeFrame(blocks, framing, 0, fileSize, (err, verdict) => {
        if (verdict?.isMendable && fileSize < first.end) first = { framing, end: fileSize }
        done(err)
      })
    })
  }, (err) => cb(err, first.framing))
}

/**
 * @param {Error | null} err
 * @returns {boolean}  whether it is the bytes that are wrong, not the disk
 */
function isOfBytes (err) {
  return err instanceof LogError && ['ERR_LOG_CORRUPT', 'ERR_LOG_UNKNOWN_FORMAT'].includes(err.code)
}

/**
 * @param {string} path
 * @param {LogError} cause
 */
function unknownFormat (path, cause) {
  return new LogError('ERR_LOG_UNKNOWN_FORMAT', `verify: no log of any framing that this version knows was found in ${path}; ` +
    'check the path, or say which framing it has', { cause, offset: 0, path })
}

exports.openSource = openSource
