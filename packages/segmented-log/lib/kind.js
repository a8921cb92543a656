'use strict'
// A folder has either segments or slots. What has both, or the other kind, is refused: some records would not be seen.

const path = require('node:path')
const { LogError } = require('@millrace/errors')
const { EXTENSIONS, parseNames } = require('./names')

const SHOWN_COUNT = 3
/** Copies of chosen records have the same seqs. */
const NO_KEEP = 'keep is not possible in a log of lines, where the seq of a record is its place in the file'
/** Nothing in it means anything to a shell. On Windows a backslash is the separator of paths. */
const SHELL_WORD = path.sep === '\\' ? /^[\w@%+=:,./\\-]+$/ : /^[\w@%+=:,./-]+$/

/** @typedef {import('./names').Framing} Framing */
/** @typedef {Pick<import('./names').Listing, 'segments' | 'slots' | 'holds'>} Found */

/**
 * Why a folder cannot be opened as what it is not; null if it can.
 * @type {(folder: string, found: Found, expected: 'segments' | 'slots') => LogError | null}
 */
function kindError (folder, { segments, slots, holds }, expected) {
  if ((expected === 'segments' ? slots : segments).length === 0) return null
  const listed = slots.slice(0, SHOWN_COUNT).join(', ') + (slots.length > SHOWN_COUNT ? ' and more' : '')
  if (segments.length === 0) {
    return unknown(folder, `${folder} has the slots of several processes (${listed}), and is no folder of segments. Write with ` +
      '`SlotLog` (the option `slots` of a pino destination), read with `MergedLog`, open one slot, such as ' +
      `${path.join(folder, String(slots[0]))}, or give another folder`)
  }
  const what = slots.length === 0
    ? 'has the segments of one log, and is no folder of slots'
    : `has segments as well as slots (${listed}), which are different logs`
  const slot = path.join(folder, String(findFree(slots)))
  const [at, free] = [path.dirname(slot), slot].map(quoteForShell)
  const kinds = new Set(segments.map(({ framing }) => `*${EXTENSIONS[framing]}*`))
  const files = [...kinds, ...(holds.length > 0 ? ['*.hold'] : [])].map((pattern) => `${at}${path.sep}${pattern}`)
  const steps = `mkdir ${free} && mv ${files.join(' ')} ${free}${path.sep}`
  return unknown(folder, `${folder} ${what}. Move the segments into a slot while no process writes there (${steps}), or give ` +
    'another folder')
}

/**
 * Why a folder cannot be opened with a framing; null if it can. All segments of a folder have the same.
 * @type {(folder: string, segments: import('./names').SegmentName[], asked: Framing | undefined) => LogError | null}
 */
function framingError (folder, segments, asked) {
  const [first] = segments
  if (first === undefined) return null
  const other = segments.find(({ framing }) => framing !== first.framing)
  if (other !== undefined) {
    return unknown(folder, `${folder} has segments of different framings, ${first.name} and ${other.name}, which are ` +
      'different logs. Move those of one of them into another folder while no process writes there')
  }
  if (asked === undefined || asked === first.framing) return null
  return unknown(folder, `${folder} has a log of the framing ${first.framing} (${first.name}), and the option framing asks for ` +
    `${asked}. Open it without the option, or give another folder`)
}

/** @type {(folder: string, names: string[]) => LogError | null} by the names in a folder of slots */
function slotsError (folder, names) {
  return kindError(folder, parseNames([...names]), 'slots')
}

/** @type {(folder: string, what: string) => LogError} */
function unknown (folder, what) {
  return new LogError('ERR_LOG_UNKNOWN_FORMAT', `open: ${what}`, { path: folder })
}

/**
 * A path as one word of a command that a POSIX shell reads. What needs no quotes gets none.
 * @param {string} name
 */
function quoteForShell (name) {
  const word = name.startsWith('-') ? `./${name}` : name
  if (SHELL_WORD.test(word)) return word
  return `'${word.replaceAll("'", "'\\''")}'`
}

/** @param {number[]} slots  in order */
function findFree (slots) {
  let free = 0
  while (slots.includes(free)) free++
  return free
}

exports.NO_KEEP = NO_KEEP
exports.framingError = framingError
exports.kindError = kindError
exports.slotsError = slotsError
