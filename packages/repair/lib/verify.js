'use strict'
// verify: goes through a log once, however damaged and whatever its framing, and says what is in it and what is wrong
// with it. It changes nothing.

const { asError } = require('@millrace/errors')
const { call, callbackOrPromise, toCallback } = require('@millrace/flow')
const { AREA_SIZE, JOURNAL_POSITIONS, JOURNAL_SIZE } = require('@millrace/framing')
const { DamageList } = require('@millrace/framing/survey')
const { isShorter, surveyFile } = require('@millrace/offset-log/copying')
const { OffsetSurvey, isZeroRange } = require('./offset-survey')
const { checkPath, parseOptions } = require('./options')
const { withSource } = require('./source')

/**
 * @template T
 * @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback
 */

/** @typedef {Omit<import('./options').SalvageOptions, 'keepSuspects' | 'write'>} VerifyOptions */

/**
 * Goes through a log, however damaged, and says what is in it and what is wrong with it. It changes nothing.
 * @overload
 * @param {string} path
 * @param {VerifyOptions} [options]
 * @returns {Promise<Report>}
 */
/**
 * @overload
 * @param {string} path
 * @param {NodeCallback<Report>} cb
 * @returns {void}
 */
/**
 * @overload
 * @param {string} path
 * @param {VerifyOptions | undefined} options
 * @param {NodeCallback<Report>} cb
 * @returns {void}
 */
/**
 * @param {string} path
 * @param {VerifyOptions | NodeCallback<Report>} [options]
 * @param {NodeCallback<Report>} [cb]
 * @returns {any}  a promise of the report, when there is no callback
 */
function verify (path, options = {}, cb) {
  if (typeof options === 'function') return verify(path, {}, options)
  return callbackOrPromise(cb, (cb) => toCallback(verifyLog(path, options), cb), 'verify')
}

/**
 * @param {string} path
 * @param {VerifyOptions} options
 */
async function verifyLog (path, options) {
  checkPath('verify', 'the path of a log', path)
  const parsed = parseOptions('verify', options)
  const { report } = await withSource(path, parsed, (source) => examine(source, parsed, null))
  return report
}

/**
 * @typedef {import('@millrace/framing/survey').DamagedRange} DamagedRange
 * @typedef {import('./source').LogSource} LogSource
 * @typedef {import('@millrace/offset-log/copying').Output} Output
 * @typedef {ReturnType<typeof import('./options').parseOptions>} Options
 */

/**
 * @typedef {object} Report
 * @property {string} path
 * @property {string | null} framing  null of an empty file
 * @property {string | null} codec  the name of the codec that the log was made with; null if the log says none
 * @property {number} size  of the file, in bytes
 * @property {number} end  where the log ends in it
 * @property {boolean} isSound  whether nothing is missing or wrong; flaws, and a tail, are neither
 * @property {number} records  how many there are that are whole and not deleted
 * @property {number} mendable  how many of them only `repair` gets at, since what is around them is damaged
 * @property {number} erased  how many are deleted, and pieces of them
 * @property {number} undeleted  how many deletions were undone by pages that are old; 0 when that is not known
 * @property {import('@millrace/framing/survey').UnanchoredRange[]} unanchored  the first of the ranges of
 *   chunks that verify, and may be of a write that was taken back: what would tell is damaged
 * @property {number} unanchoredCount  how many there are
 * @property {number} since  seq of the last record, -1 if there is none
 * @property {number | null} promisedEnd  all of the file before it was once known to be on stable storage; null when it
 *   does not say
 * @property {DamagedRange[]} damage  the first of the damaged ranges
 * @property {number} damageCount  how many there are
 * @property {number} damageSize  their bytes
 * @property {{ offset: number, size: number, isZeros: boolean } | null} tail  what was written last and never promised,
 *   or zeros kept behind the end: the next open cuts it
 * @property {Array<{ what: string, offset: number, size: number }>} flaws  parts of the head that cannot be used
 * @property {{ offset: number, size: number, path: string } | null} unrestored  the end that only the file `path` has:
 *   an open for writing was cut off while it wrote these bytes anew, and the next one finishes that
 * @property {number} unfinished  how many chunks a deletion that was cut off has still to change; the next open does
 */

/** @typedef {ReturnType<typeof describeEmpty>} Found */

/**
 * @typedef {object} Examination
 * @property {Report} report
 * @property {import('@millrace/framing/survey').ChunkState | null} state  where a log of the checked framing ends
 * @property {DamageList} lost  the ranges that records were lost in
 */

/**
 * @param {LogSource} source
 * @param {Options} options
 * @param {Output | null} output  gets what is good
 * @returns {Promise<Examination>}
 */
async function examine (source, options, output) {
  const { rangesMax } = options
  const { blocks } = source
  const listeners = guardListeners(options)
  const lost = new DamageList({ rangesMax })
  const damage = new DamageList({
    rangesMax,
    onRange: (range) => {
      if (range.records !== 0) lost.add({ ...range, start: range.offset, end: range.offset + range.size })
      listeners.onDamage(range)
    }
  })
  const onProgress = (/** @type {number} */ position) => listeners.onProgress({ position, size: blocks.size.value })
  const { found, state } = await survey(source, options, { damage, output, onProgress })
  if (listeners.error) throw listeners.error
  lost.close()
  return { report: describe(source, found, damage, await findTail(blocks, found.end)), state, lost }
}

/**
 * @param {LogSource} source
 * @param {Options} options
 * @param {{ damage: DamageList, output: Output | null, onProgress: (position: number) => void }} sinks
 * @returns {Promise<{ found: Found, state: Examination['state'] }>}
 */
async function survey ({ blocks, checked, framing }, { rangesMax, keepSuspects, suspects }, sinks) {
  if (checked) {
    const surveyed = await surveyFile(blocks, checked, { ...sinks, rangesMax })
    return { found: describeChecked(checked, surveyed), state: surveyed.survey.found }
  }
  if (framing === null) return { found: describeEmpty(), state: null }
  const survey = new OffsetSurvey({ blocks, framing, suspects }, { ...sinks, keepsSuspects: keepSuspects })
  await survey.run()
  return { found: { ...describeEmpty(), framing: framing.name, end: survey.end, ...survey.counts }, state: null }
}

/**
 * What a listener throws is what the call fails with.
 * @param {Options} options
 */
function guardListeners ({ onDamage, onProgress }) {
  const listeners = {
    /** @type {Error | null} */
    error: null,
    onDamage: (/** @type {DamagedRange} */ range) => attempt(() => onDamage(range)),
    onProgress: (/** @type {{ position: number, size: number }} */ progress) => attempt(() => onProgress(progress))
  }
  const attempt = (/** @type {() => void} */ run) => {
    try {
      if (listeners.error === null) run()
    } catch (err) {
      listeners.error = asError(err, 'a listener')
    }
  }
  return listeners
}

/**
 * @param {NonNullable<LogSource['checked']>} source
 * @param {Awaited<ReturnType<typeof surveyFile>>} surveyed
 * @returns {Found}
 */
function describeChecked ({ head, isHeadLost, promisedEnd, unfinishedCount, isBlind }, { survey, undeleted }) {
  const { found } = survey
  return {
    framing: 'checked',
    codec: head.header.codec || null,
    end: survey.end,
    isSound: !isHeadLost && !isBlind && undeleted === 0,
    records: found.recordCount,
    mendable: found.mendedCount,
    erased: found.erasedCount,
    undeleted,
    unanchored: survey.unanchored.ranges,
    unanchoredCount: survey.unanchored.count,
    since: found.last,
    promisedEnd: isBlind ? null : promisedEnd,
    flaws: head.flaws.map(({ what, offset }) => ({
      what,
      offset,
      size: offset >= JOURNAL_POSITIONS[0] ? JOURNAL_SIZE : AREA_SIZE
    })),
    unfinished: unfinishedCount
  }
}

function describeEmpty () {
  return {
    framing: /** @type {string | null} */ (null),
    codec: /** @type {string | null} */ (null),
    end: 0,
    isSound: true,
    records: 0,
    mendable: 0,
    erased: 0,
    undeleted: 0,
    unanchored: /** @type {Report['unanchored']} */ ([]),
    unanchoredCount: 0,
    since: -1,
    promisedEnd: /** @type {number | null} */ (null),
    flaws: /** @type {Report['flaws']} */ ([]),
    unfinished: 0
  }
}

/**
 * @param {LogSource['blocks']} blocks
 * @param {number} end
 * @returns {Promise<Report['tail']>}
 */
async function findTail (blocks, end) {
  for (;;) {
    const size = blocks.size.value - end
    if (size <= 0) return null
    try {
      return { offset: end, size, isZeros: await isZeroRange(blocks, end, blocks.size.value) }
    } catch (err) {
      if (!isShorter(err)) throw err
      await call(blocks, 'refresh')
    }
  }
}

/**
 * @param {LogSource} source
 * @param {Found} found
 * @param {DamageList} damage
 * @param {Report['tail']} tail
 * @returns {Report}
 */
function describe ({ blocks, unrestored }, found, { ranges, count, size }, tail) {
  return {
    path: blocks.path,
    size: blocks.size.value,
    ...found,
    isSound: found.isSound && count === 0 && unrestored === null,
    damage: ranges,
    damageCount: count,
    damageSize: size,
    tail,
    unrestored
  }
}

exports.verify = verify
exports.examine = examine
