'use strict'
// Makes a new log of the good records of a damaged one, and reports what is lost. It never changes the damaged log, and
// writes nothing unless told to. The new log is verified before it gets its name.

const { resolvePath } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { callbackOrPromise, toCallback } = require('@millrace/flow')
const { SeqReservation } = require('@millrace/framing')
const { encodeHeadOf } = require('@millrace/framing/survey')
const { writeAside } = require('@millrace/offset-log/copies')
const { checkPath, parseOptions } = require('./options')
const { withSource } = require('./source')
const { examine } = require('./verify')

/**
 * @typedef {import('./source').LogSource} LogSource
 * @typedef {import('./verify').Examination} Examination
 * @typedef {ReturnType<typeof parseOptions>} Options
 */

/**
 * @typedef {object} RepairParts  what the report of `repair` has besides that of `verify`
 * @property {string} out  The path of the new log.
 * @property {boolean} isDryRun  Whether nothing was written.
 * @property {number} recovered  How many records the new log has.
 * @property {number} recoveredFromDamage  How many of them no reader of the damaged log can reach.
 * @property {import('@millrace/framing/survey').DamagedRange[]} lost  The first of the ranges of the old file in which
 *   records were lost.
 * @property {number} lostCount  How many such ranges there are, listed or not.
 * @property {number} lostSize  The bytes of all of them.
 * @typedef {import('./verify').Report & RepairParts} RepairReport
 */

/** @template T @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback */

/** @typedef {import('./options').SalvageOptions} RepairOptions */

/**
 * Makes a new log of the good records of a damaged one, and reports what is lost. It never changes the damaged log, and
 * writes nothing without the option `write`. Good bytes stay where they are, and lost ranges are filled with erased
 * records, so every record keeps its seq, and no seq of a lost record is used again. A record that lost a part is lost
 * as a whole. The new log is written beside `out`, synced, verified as a whole, and only then renamed. It fails with
 * EEXIST if something is at `out`, with ERR_LOG_CORRUPT if neither copy of the header can be reconstructed or the new
 * log differs when it is read again, with ERR_LOG_UNKNOWN_FORMAT if the file is not a log that this version knows, and
 * with ERR_NOT_SUPPORTED if only the file `<path>.tail` has the end of the log: then open the log for writing first.
 * @overload
 * @param {string | URL} path
 * @param {string | URL} out  path of the new log; nothing may be there
 * @param {RepairOptions} [options]
 * @returns {Promise<RepairReport>}
 */
/**
 * @overload
 * @param {string | URL} path
 * @param {string | URL} out
 * @param {NodeCallback<RepairReport>} cb
 * @returns {void}
 */
/**
 * @overload
 * @param {string | URL} path
 * @param {string | URL} out
 * @param {RepairOptions | undefined} options
 * @param {NodeCallback<RepairReport>} cb
 * @returns {void}
 */
/**
 * Makes a new log of the good records of a damaged one, and changes nothing in the damaged one.
 * @param {string | URL} path
 * @param {string | URL} out  EEXIST if something is there
 * @param {RepairOptions | NodeCallback<RepairReport>} [options]
 * @param {NodeCallback<RepairReport>} [cb]
 * @returns {any}  a promise of the report if there is no callback
 */
function repair (path, out, options = {}, cb) {
  if (typeof options === 'function') return repair(path, out, {}, options)
  return callbackOrPromise(cb, (cb) => toCallback(repairLog(path, out, options), cb), 'repair')
}

/** @type {(path: string | URL, out: string | URL, options: RepairOptions) => Promise<RepairReport>} */
async function repairLog (path, out, options) {
  checkPath('repair', 'the path of a log', path)
  checkPath('repair', 'the path of the new log', out)
  const parsed = parseOptions('repair', options)
  const target = resolvePath(out, parsed.storage)
  const examination = await withSource(path, parsed, (source) => {
    if (source.areLines) throw linesError(source.blocks.path)
    return parsed.write ? writeRepaired(target, source, parsed) : examine(source, parsed, null)
  })
  return describe(examination, out instanceof URL ? target : out, !parsed.write)
}

/** @type {(examination: Examination, out: string, isDryRun: boolean) => RepairReport} */
function describe ({ report, lost }, out, isDryRun) {
  return {
    ...report,
    out,
    isDryRun,
    recovered: report.records,
    recoveredFromDamage: report.mendable,
    lost: lost.ranges,
    lostCount: lost.count,
    lostSize: lost.size
  }
}

/** @type {(out: string, source: LogSource, options: Options) => Promise<Examination>} */
async function writeRepaired (out, source, options) {
  if (source.unrestored) throw unrestoredError(source.blocks.path, source.unrestored)
  return writeAside(out, options.storage, async (output) => {
    const examination = await examine(source, options, output)
    await output.flush()
    const { state } = examination
    if (source.checked && state) {
      const { head, epoch } = source.checked
      output.put(0, encodeHeadOf(head, state, reservedEndOf(head, state), epoch))
    }
    return examination
  }, (examination, path) => verifyRepaired(path, examination, options))
}

/** @param {string} path */
function linesError (path) {
  return new LogError('ERR_NOT_SUPPORTED', `repair: ${path} is a text file, in which no record can keep its seq. ` +
    'onCorrupt: "skip" reads the lines that are whole; accept takes the file as it is', { path })
}

/** @type {(path: string, unrestored: NonNullable<LogSource['unrestored']>) => LogError} */
function unrestoredError (path, { offset, size, path: copy }) {
  return new LogError('ERR_NOT_SUPPORTED', `repair: ${copy} holds the ${size} bytes of ${path} from ${offset} on, which were ` +
    'being written anew when the process ended. Open the log for writing once to restore them; then repair it if it is damaged',
  { offset, path: copy })
}

// Of the damaged log's head and the state at its end: above all positions that may be lost; 0 if none may be.
/** @type {(head: import('@millrace/framing').Head, state: import('@millrace/framing/survey').ChunkState) => number} */
function reservedEndOf (head, { end, shift, logicalEnd }) {
  const reservedEnd = new SeqReservation(head, false).reservedEndFor(end + shift, true)
  const before = head.slot?.logicalEnd ?? 0
  // What the file lacks at its end was shown once, so its seqs are skipped too.
  return before > logicalEnd ? Math.max(reservedEnd, before) : reservedEnd
}

/** @type {(path: string, examination: Examination, options: Options) => Promise<void>} */
async function verifyRepaired (path, { report: before }, { name, storage, framing, signal }) {
  const parsed = { ...parseOptions('verify', { storage, framing }), name, signal }
  const { report } = await withSource(path, parsed, (source) => examine(source, parsed, null))
  const { isSound, tail, flaws, records, since } = report
  const isWhole = isSound && tail === null && flaws.length === 0
  if (!isWhole || records !== before.records || since !== before.since) throw notRight(path, before.path)
}

/** @type {(path: string, from: string) => LogError} */
function notRight (path, from) {
  return new LogError('ERR_LOG_CORRUPT', `the log written to ${path} differs from ${from}: a program is changing ${from}, ` +
    `or the disk of ${path} loses bytes. The new log was removed; try again, on another disk`, { path })
}

exports.repair = repair
