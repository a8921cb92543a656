'use strict'
// What the name of the next segment tells of the one before: its base is SLACK above the seqs that this one had when it
// was sealed. If those end earlier now, its end is missing, or whole segments are that were between the two.

const { LogError } = require('@millrace/errors')
const { framingOf } = require('./names')

/**
 * A segment's base is this much above the end of the segment before. While the next segment is made, `flushSync` may
 * still append to the one before.
 */
const SLACK = 2 ** 26
/** After a damaged segment, more seqs are skipped than any record can have had that was shown and is lost. */
const DAMAGE_DISTANCE = 2 ** 33

/**
 * @typedef {import('@millrace/offset-log/composing').Source} Source
 * @typedef {import('./segments').Segment} Segment
 * @typedef {import('./segments').Segments} Segments
 *
 * @typedef {object} Missing  a place where records are missing
 * @property {number} from  The lowest seq that may be missing.
 * @property {number} stop  One above the highest.
 * @property {number} size  How many bytes are missing.
 * @property {LogError} error  What reads fail with there.
 */

/**
 * How many bytes a segment had that its file has not; with SLACK or more, segments after it are missing too.
 * @type {(base: number, source: Pick<Source, 'reservedEnd'>, nextBase: number) => number} 0 if none
 */
function countMissing (base, { reservedEnd }, nextBase) {
  const distance = nextBase - SLACK - (base + reservedEnd)
  // After a newest segment that was damaged, the next one began far away.
  return distance >= DAMAGE_DISTANCE ? 0 : Math.max(0, distance)
}

/** Whether a segment had records that its file has not. @type {(segment: Segment, source: Source) => boolean} */
function lacksEnd ({ base, next }, source) {
  return next !== null && countMissing(base, source, next.base) > 0
}

/**
 * What is missing between a sealed segment and the next one; null if nothing is. Where the segment is damaged, its end
 * is unknown.
 * @param {Segment} segment
 * @param {Source} source
 * @param {Segments} segments
 * @returns {Missing | null}
 */
function findMissing ({ base, next, path, name, log, logOptions, keptUntilMs }, source, { wholeFrom }) {
  // Nothing is after a stand-in but what its writer has made since.
  if (next === null || logOptions !== null || keptUntilMs !== null || base < wholeFrom) return null
  if (log?.recovery?.damage.length > 0) return null
  const count = countMissing(base, source, next.base)
  const hasGap = count >= SLACK
  // Any program may shorten a text.
  if (count === 0 || (!hasGap && framingOf(name) === 'lines')) return null
  const from = base + source.reservedEnd + (hasGap ? SLACK : 0)
  const what = hasGap
    ? `a segment is missing between ${path} and ${next.path}, and with it the records with seqs from ${from} to ${next.base}. ` +
      'Put it from a backup in its place'
    : `the end of ${path} is missing, and with it the records with seqs from ${from} to ${next.base - SLACK}: an older copy ` +
      'may have come in its place. Put the newer file there, from a backup or from the compressed one beside it if there is one'
  const error = new LogError('ERR_LOG_CORRUPT', `${what}, or read the others with onCorrupt: "skip"`, { offset: from, path })
  return { from, stop: next.base, size: sizeBetween(from, next), error }
}

/** Of the file of a lost segment, about. @type {(base: number, next: Segment | null) => number} */
function sizeBetween (base, next) {
  if (next === null) return 0
  const size = next.base - SLACK - base
  return Math.max(0, size >= DAMAGE_DISTANCE ? size - DAMAGE_DISTANCE : size)
}

/**
 * If a segment ends earlier than it did, a power cut took what was shown there. It also took what was shown while the
 * next segment was made, if the segment has an unclean end: its file then reserves the seqs of what may be lost.
 * @type {(segment: Segment, source: Source, seq: number) => LogError | null} null unless a record with the seq was lost
 */
function lostError ({ base, next, path }, { end, reservedEnd }, seq) {
  if (next === null || seq <= base + end || seq >= next.base) return null
  if (seq > Math.max(next.base - SLACK, base + reservedEnd)) return null
  return new LogError('ERR_LOG_SEQ_LOST', `the records from ${base + end} to ${seq} were lost after ${path} in a power cut. Rebuild views and ` +
    'indexes that saw them, from the first record on', { offset: seq, path })
}

exports.DAMAGE_DISTANCE = DAMAGE_DISTANCE
exports.SLACK = SLACK
exports.countMissing = countMissing
exports.findMissing = findMissing
exports.lacksEnd = lacksEnd
exports.lostError = lostError
exports.sizeBetween = sizeBetween
