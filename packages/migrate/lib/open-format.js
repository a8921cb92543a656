'use strict'
// Opens a file as what it is: finds out which formats fit, and settles on one or says why that cannot be done.

const { BlockFile } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { OffsetLog } = require('@millrace/offset-log')
const { detectBlocks } = require('./detect-blocks')
const { exists } = require('./files')
const { blockFormats, logFormats } = require('./formats')

// Blocks are read past the cache; it serves those who count frames.
const CACHE_SIZE = 256 * 1024

/**
 * @typedef {ReturnType<typeof import('./options').parseSourceOptions>} Options
 * @typedef {ReturnType<typeof BlockFile>} BlockFileHandle
 * @typedef {ReturnType<typeof OffsetLog>} Log
 */

/**
 * @typedef {object} Opened
 * @property {import('./formats').Format | 'empty'} format
 * @property {BlockFileHandle} blocks
 * @property {string | null} codec  the name of the one that the log was made with; null if it says none
 * @property {Log | null} log  of the formats that offset-log reads
 * @property {number} end  where the records end: in the file, or in the seqs of a log
 * @typedef {Omit<Opened, 'blocks'>} Chosen
 */

/**
 * @param {string} path
 * @param {Options} options
 * @param {(err: Error | null, opened?: Opened) => void} cb  ERR_LOG_UNKNOWN_FORMAT, ERR_LOG_AMBIGUOUS_FORMAT, and what
 *   opening a file or a log may fail with; nothing is left open then
 */
function openFormat (path, options, cb) {
  const blocks = BlockFile(path, { flags: 'r', cache: CACHE_SIZE, storage: options.storage })
  blocks.ready((err) => {
    if (err) return blocks.close(() => cb(err))
    choose(blocks, path, options, (err, chosen) => {
      if (err || !chosen) blocks.close(() => cb(err))
      else cb(null, { ...chosen, blocks })
    })
  })
}

/**
 * @param {BlockFileHandle} blocks
 * @param {string} path
 * @param {Options} options
 * @param {(err: Error | null, chosen?: Chosen) => void} cb
 */
function choose (blocks, path, options, cb) {
  const { format, blockSize, storage } = options
  const size = blocks.size.value
  /** @param {import('./formats').Format} name */
  const takeBlocks = (name) => {
    checkCompaction(path, name, storage, (err) => cb(err, { format: name, codec: null, log: null, end: size }))
  }
  // Of no bytes any format has made nothing.
  if (size === 0) return cb(null, { format: format ?? 'empty', codec: null, log: null, end: 0 })
  if (format !== undefined && format in blockFormats) return takeBlocks(format)
  openLog(path, storage, (err, opened, reason) => {
    if (err) return cb(err)
    if (format !== undefined) {
      return settle(opened, opened?.format === format ? null : anotherFormat(path, format, opened, reason), cb)
    }
    detectBlocks(blocks, blockSize, (err, names = []) => {
      const candidates = opened ? [opened.format, ...names] : names
      if (err || candidates.length > 1) return settle(opened, err ?? ambiguousFormat(path, candidates), cb)
      if (opened) cb(null, opened)
      else if (names.length === 1) takeBlocks(names[0])
      else cb(unknownFormat(path, reason))
    })
  })
}

/**
 * @param {Chosen | undefined} opened
 * @param {Error | null} err  why it must be closed again
 * @param {(err: Error | null, chosen?: Chosen) => void} cb
 */
function settle (opened, err, cb) {
  if (err && opened?.log) opened.log.close(() => cb(err))
  else cb(err, opened)
}

/**
 * @param {string} path
 * @param {Options['storage']} storage
 * @param {(err: Error | null, opened?: Chosen, reason?: Error) => void} cb  nothing but the reason if it is no such log
 */
function openLog (path, storage, cb) {
  const log = OffsetLog(path, { flags: 'r', storage })
  log.ready((/** @type {any} */ err) => {
    // A log that could not be opened has closed its file already.
    if (err) return err.code === 'ERR_LOG_UNKNOWN_FORMAT' ? cb(null, undefined, err) : cb(err)
    log.stats((/** @type {Error | null} */ err, /** @type {any} */ stats) => {
      if (err) log.close(() => cb(err))
      else cb(null, { format: stats.framing, codec: stats.codec, log, end: stats.size })
    })
  })
}

/**
 * While async-append-only-log compacts, its file has some records twice, and only a file beside it tells which.
 * @param {string} path
 * @param {string} format
 * @param {Options['storage']} storage
 * @param {(err: Error | null) => void} cb
 */
function checkCompaction (path, format, storage, cb) {
  if (format !== 'async-append-only-log') return cb(null)
  const statePath = `${path}.compaction`
  exists(storage, statePath, (err, isThere) => {
    if (err || !isThere) return cb(err)
    cb(new LogError('ERR_NOT_SUPPORTED', `${path} was being compacted when its process ended: ${statePath} is there, and ` +
      'some records may be in the log twice. Open it once with async-append-only-log, which finishes that', { path }))
  })
}

/**
 * @param {string} path
 * @param {string} wanted
 * @param {Chosen | undefined} found
 * @param {Error | undefined} cause
 */
function anotherFormat (path, wanted, found, cause) {
  return new LogError('ERR_LOG_UNKNOWN_FORMAT', `${path} is ${found ? `a log of ${found.format}` : 'no such log'}, not one of ` +
    `${wanted}; leave format out, or give the right one`, { cause, offset: 0, path })
}

/**
 * @param {string} path
 * @param {Error | undefined} cause
 */
function unknownFormat (path, cause) {
  const others = Object.keys(blockFormats).join(' or ')
  return new LogError('ERR_LOG_UNKNOWN_FORMAT', `${path} begins like no log of ${Object.keys(logFormats).join(', ')}, ` +
    `${others}. Check the path; if it is damaged, or shorter than a block, say which format it has; and the blockSize of ` +
    `${others} if it is not 64 KiB`, { cause, offset: 0, path })
}

/**
 * @param {string} path
 * @param {string[]} candidates
 */
function ambiguousFormat (path, candidates) {
  return new LogError('ERR_LOG_AMBIGUOUS_FORMAT', `${path} may be a log of ${candidates.join(' or of ')}; say which one with ` +
    'the option format', { offset: 0, path })
}

exports.openFormat = openFormat
