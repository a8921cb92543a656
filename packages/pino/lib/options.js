'use strict'
// Checks the options of a destination: some are its own, and the others are those of the log writer.

const { misuse } = require('@millrace/errors')
const { lines, parseOptions: parseWriterOptions } = require('@millrace/log-writer')
const { SegmentedLog } = require('@millrace/segmented-log')
const { createRedactor } = require('./patterns')
const { Tee } = require('./tee')

// A log of a program must not fill the disk because nobody thought of it.
const SIZE_MAX = 2 ** 30
const LEVELS = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 }
const LOCK_TIMEOUT_MS = 2000
/** The folder can be opened again at once: a new segment lies behind what cannot be written. */
const REOPENED = new Set(['ERR_LOG_POISONED', 'ERR_FILE_MOVED', 'ERR_FILE_NOT_UNDONE', 'ERR_LOG_READ_ONLY',
  'ERR_LOG_CORRUPT', 'ERR_LOG_FULL'])

/**
 * @typedef {import('@millrace/log-writer').LogWriterOptions} LogWriterOptions
 * @typedef {import('@millrace/log-writer').Log} Log
 * @typedef {import('./patterns').PatternName} PatternName
 * @typedef {Omit<import('@millrace/segmented-log').SegmentedLogOptions, 'codec'>} FolderOptions
 */

/**
 * Those of a log writer, except `codec` and `levels`, and:
 * @typedef {object} OwnOptions
 * @property {FolderOptions} [log]  options of the log, if the target is a folder
 * @property {Record<string, number>} [levels]  levels of your own, beside those of pino
 * @property {boolean | PatternName[]} [redact]  secrets to find by their form: all kinds, or some; none by default
 * @property {string} [censor]  what stands in place of a secret; `[Redacted]` by default
 * @property {import('./tee').TeeTarget} [tee]  where lines go besides
 */

/** @typedef {OwnOptions & Omit<LogWriterOptions, 'codec' | 'levels' | 'onDrop'>} DestinationOptions */

/**
 * @typedef {object} Target
 * @property {Log} log
 * @property {boolean} isOwned  whether the destination closes it
 * @property {LogWriterOptions['replace']} [replace]
 */

/**
 * @typedef {object} ParsedOptions
 * @property {FolderOptions | undefined} log
 * @property {LogWriterOptions & { levels: Record<string, number> }} writer
 * @property {((line: string) => string) | null} redact
 * @property {Tee | null} tee
 */

/**
 * Checks the options before anything is opened.
 * @param {DestinationOptions} [options]
 * @returns {ParsedOptions}
 */
function parseOptions (options = {}) {
  if (options === null || typeof options !== 'object') throw misuse(`destination: expected options, got ${String(options)}`)
  const { log, levels = {}, redact = false, censor, tee, ...writer } = options
  const all = { handleSignals: true, ...writer, levels: { ...LEVELS, ...levels } }
  parseWriterOptions(all)
  return {
    log,
    writer: all,
    redact: redact === false ? null : createRedactor(redact === true ? undefined : redact, censor).redact,
    tee: tee === undefined ? null : new Tee(tee)
  }
}

/**
 * @param {unknown} target  a folder, or a Log
 * @param {FolderOptions} [options]
 * @returns {Target}
 */
function openTarget (target, options) {
  if (typeof target !== 'string' && !(target instanceof URL)) {
    if (options !== undefined) throw misuse('destination: the option log is for a folder; a Log has its own options')
    return { log: /** @type {Log} */ (target), isOwned: false }
  }
  const open = (/** @type {FolderOptions} */ more = {}) => {
    return SegmentedLog(target, { maxSize: SIZE_MAX, ...options, ...more, codec: lines })
  }
  let log = open()
  return {
    log,
    isOwned: true,
    replace: async (err, attempt) => {
      const isFirst = attempt === 1
      // The same again would fail in the same way: in a while. Until then the lines are on standard error.
      if (isFirst && !REOPENED.has(String(/** @type {Error & { code?: string }} */ (err).code))) return null
      // Its failure is reported by the writer.
      await log.close().catch(() => {})
      // The lock of the log that was given up may be released later.
      log = open(isFirst ? { lockTimeout: LOCK_TIMEOUT_MS } : {})
      return log
    }
  }
}

exports.openTarget = openTarget
exports.parseOptions = parseOptions
