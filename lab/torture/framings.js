'use strict'
// What differs between the framings that are tortured: how a log is opened, what its records are, and what the file
// must be for other programs.

const { createRandom } = require('@millrace/testkit')
const { checkLines, checkOpening } = require('./lines-file')
const { makeRecord } = require('./records')

/**
 * @typedef {'checked' | 'lines'} FramingName
 * @typedef {import('./compare').Found} Found
 * @typedef {import('./records').RecordPlan} RecordPlan
 * @typedef {import('./lines-file').Files} Files
 */

/**
 * @typedef {object} Framing
 * @property {object} options  of the log
 * @property {boolean} hasUniqueSeqs  no seq is ever given twice, and who asks for a lost one is told
 * @property {boolean} canDelete
 * @property {boolean} writesEndAnew  what a failed sync has lost is written again by the next open
 * @property {(salt: number, plan: RecordPlan, readLog: () => Buffer) => Buffer} makeRecord
 * @property {(files: Files, file: string, found: Found[]) => void} checkFile  of an open log, or a closed one
 * @property {(before: Buffer | null, files: Files, file: string, recovery: any) => void} checkOpening
 */

const PAD_SIZE = 30
const LETTERS = 'abcdefghijklmnopqrstuvwxyz{}[]:, 0123456789'

/** Passes the bytes on; the name says that a line is JSON. */
const lineCodec = {
  name: 'json',
  buffer: true,
  encode: (/** @type {Buffer} */ line) => line,
  decode: (/** @type {Buffer} */ line) => line
}

/**
 * @param {number} salt  of the workload
 * @param {RecordPlan} plan  the size is about that of the line
 * @param {() => Buffer} readLog
 * @returns {Buffer}  JSON of one line, which no other record has
 */
function makeLine (salt, [id, size, kind], readLog) {
  const random = createRandom(salt * 1000 + id)
  const padSize = Math.max(0, size - PAD_SIZE)
  const pad = (/** @type {string} */ letters) => Array.from({ length: padSize }, () => letters[random(letters.length)]).join('')
  if (kind === 'zeros') return Buffer.from(JSON.stringify([id, '0'.repeat(padSize)]))
  // Several bytes a letter, some of which other programs take for line breaks.
  if (kind === 'ones') return Buffer.from(JSON.stringify(`${id} ${'\u00ff\u2028\u{1f600}'.repeat(padSize >> 3)}`))
  if (kind === 'log') return Buffer.from(JSON.stringify({ id, log: readLog().subarray(0, padSize).toString() }))
  // What is left of a line that lost its beginning must not be taken for one.
  const rows = Array.from({ length: padSize >> 4 }, (_, row) => ({ id: id + row }))
  return Buffer.from(JSON.stringify(random(4) === 0 ? { id, rows } : { id, text: pad(LETTERS) }))
}

/** @type {Record<FramingName, Framing>} */
const FRAMINGS = {
  checked: {
    options: { framing: 'checked' },
    hasUniqueSeqs: true,
    canDelete: true,
    writesEndAnew: true,
    makeRecord,
    checkFile: () => {},
    checkOpening: () => {}
  },
  lines: {
    options: { framing: 'lines', codec: lineCodec },
    hasUniqueSeqs: false,
    canDelete: false,
    writesEndAnew: true,
    makeRecord: makeLine,
    checkFile: checkLines,
    checkOpening
  }
}

/** @param {{ framing?: FramingName }} workload */
function framingOf ({ framing = 'checked' }) {
  return FRAMINGS[framing]
}

exports.FRAMINGS = FRAMINGS
exports.framingOf = framingOf
