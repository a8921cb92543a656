'use strict'
// Writes the new log of a repair, and verifies it before it gets its name.

const { LogError } = require('@millrace/errors')
const { encodeFileHeader, encodeSlot } = require('../framing/checked/head')
const { FILE_SIZE_MAX, HEADER_POSITIONS, HEAD_SIZE, SLOT_POSITIONS } = require('../framing/checked/layout')
const { Session } = require('../framing/checked/session')
const { Aside } = require('./aside')
const { examine } = require('./examine')
const { parseOptions } = require('./options')
const { openSource } = require('./source')

/**
 * @typedef {import('./source').LogSource} LogSource
 * @typedef {import('./examine').Examination} Examination
 * @typedef {import('./output').Output} Output
 * @typedef {ReturnType<typeof parseOptions>} Options
 */

/**
 * @param {string} out
 * @param {LogSource} source
 * @param {Options} options
 * @param {(err: Error | null, examination?: Examination) => void} cb
 */
function writeRepaired (out, source, options, cb) {
  if (source.unrestored) return cb(unrestoredError(source.blocks.path, source.unrestored))
  const aside = new Aside(out, options.storage)
  const fail = (/** @type {Error} */ err) => aside.abandon(err, cb)
  aside.open((err, output) => {
    if (err || !output) return cb(err)
    examine(source, options, output, (err, examination) => {
      if (err || !examination) return fail(err ?? new Error('nothing was found'))
      output.flush((err) => {
        if (err) return fail(err)
        if (source.checked && examination.survey) {
          const { head } = source.checked
          putHead(output, source.checked, examination.survey, ceilingOf(head, examination.survey.salvage.state))
        }
        aside.close((err) => {
          if (err) return fail(err)
          verifyRepaired(aside.path, examination, options, (err) => {
            if (err) return fail(err)
            aside.publish((err) => err ? fail(err) : cb(null, examination))
          })
        })
      })
    })
  })
}

/**
 * @param {string} path
 * @param {NonNullable<LogSource['unrestored']>} unrestored
 */
function unrestoredError (path, { offset, size, path: copy }) {
  return new LogError('ERR_NOT_SUPPORTED', `repair: ${copy} holds the ${size} bytes of ${path} from ${offset} on, which were ` +
    'being written anew when the process ended. Open the log for writing once, which brings them back; then repair it if it must be',
  { offset, path: copy })
}

/**
 * @param {import('../framing/checked/head').Head} head  of the damaged log
 * @param {NonNullable<Examination['survey']>['salvage']['state']} state  all that is left
 * @returns {number}  a logical position that nothing reaches that may be lost; 0 if nothing may be
 */
function ceilingOf (head, { end, shift, logicalEnd }) {
  const ceiling = new Session(head, false).ceilingFor(end + shift, true)
  const before = head.header.hasJumps ? head.slot?.logicalEnd ?? 0 : 0
  // What the file lacks at its end was shown once: its seqs are left out too.
  return before > logicalEnd ? Math.max(ceiling, before) : ceiling
}

/**
 * @param {Output} output
 * @param {NonNullable<LogSource['checked']>} source
 * @param {NonNullable<Examination['survey']>} survey  all of which is written
 * @param {number} ceiling  what nothing reaches that may be lost; 0 if nothing may be
 */
function putHead (output, { head: { header }, epoch }, { salvage: { state } }, ceiling) {
  const bytes = Buffer.alloc(HEAD_SIZE)
  for (const position of HEADER_POSITIONS) encodeFileHeader(header).copy(bytes, position)
  SLOT_POSITIONS.forEach((position, sequence) => encodeSlot({
    sequence,
    epoch: Math.max(1, epoch, state.epoch),
    end: state.end,
    logicalEnd: Math.min(state.logicalEnd, FILE_SIZE_MAX),
    last: Math.min(state.last, FILE_SIZE_MAX - 1),
    erasedCount: state.erasedInOutput,
    identity: state.identity,
    ceiling: ceiling === 0 ? 0 : Math.max(ceiling, state.logicalEnd)
  }, header.salt).copy(bytes, position))
  output.put(0, bytes)
}

/**
 * @param {string} path
 * @param {Examination} examination
 * @param {Options} options
 * @param {(err: Error | null) => void} cb
 */
function verifyRepaired (path, { report }, { storage, framing }, cb) {
  const options = parseOptions('verify', { storage, framing })
  openSource(path, options, (err, source) => {
    if (err || !source) return cb(err)
    examine(source, options, null, (err, examination) => {
      source.blocks.close((closeError) => {
        if (err || closeError || !examination) return cb(err ?? closeError)
        const { isSound, tail, flaws, records, since } = examination.report
        const isWhole = isSound && tail === null && flaws.length === 0
        cb(isWhole && records === report.records && since === report.since ? null : notRight(path, report.path))
      })
    })
  })
}

/**
 * @param {string} path
 * @param {string} from
 */
function notRight (path, from) {
  return new LogError('ERR_LOG_CORRUPT', `what was written to ${path} is not what was read from ${from}; something changes ` +
    'the one while it is read, or loses what is written to the other. Nothing was kept; try again, on another disk', { path })
}

exports.writeRepaired = writeRepaired
exports.putHead = putHead
