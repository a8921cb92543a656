'use strict'
// Walks a log of any framing once, however damaged it is, and reports its contents and its damage. It changes nothing.

const { asError } = require('@millrace/errors')
const { abortError, call, callbackOrPromise, toCallback } = require('@millrace/flow')
const { AREA_SIZE, JOURNAL_POSITIONS, JOURNAL_SIZE } = require('@millrace/framing')
const { DamageList } = require('@millrace/framing/survey')
const { isShorter, surveyFile } = require('@millrace/offset-log/copying')
const { OffsetSurvey, isZeroRange } = require('./offset-survey')
const { checkPath, parseOptions } = require('./options')
const { withSource } = require('./source')

/** @template T @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback */

/** @typedef {Omit<import('./options').SalvageOptions, 'keepSuspects' | 'write'>} VerifyOptions */

/**
 * Reports the contents and the damage of a log, however damaged it is. It changes nothing.
 * @overload
 * @param {string | URL} path
 * @param {VerifyOptions} [options]
 * @returns {Promise<Report>}
 */
/**
 * @overload
 * @param {string | URL} path
 * @param {NodeCallback<Report>} cb
 * @returns {void}
 */
/**
 * @overload
 * @param {string | URL} path
 * @param {VerifyOptions | undefined} options
 * @param {NodeCallback<Report>} cb
 * @returns {void}
 */
/**
 * @param {string | URL} path
 * @param {VerifyOptions | NodeCallback<Report>} [options]
 * @param {NodeCallback<Report>} [cb]
 * @returns {any}  a promise of the report if there is no callback
 */
function verify (path, options = {}, cb) {
  if (typeof options === 'function') return verify(path, {}, options)
  return callbackOrPromise(cb, (cb) => toCallback(verifyLog(path, options), cb), 'verify')
}

/** @type {(path: string | URL, options: VerifyOptions) => Promise<any>} */
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
 * @property {string | null} framing  null if the file is empty
 * @property {string | null} codec  the name of the codec that the log was made with; null if the log stores none
 * @property {number} size  of the file, in bytes
 * @property {number} end  where the log ends in the file
 * @property {boolean} isSound  whether the log has no damage; flaws, a tail and unfinished deletions are none
 * @property {number} records  how many are whole and not deleted
 * @property {number} mendable  how many of `records` only `repair` can reach, because what is around them is damaged
 * @property {number} erased  how many records are deleted, and pieces of them
 * @property {number} undeleted  how many deletions old pages have undone; 0 if unknown
 * @property {import('@millrace/framing/survey').UnanchoredRange[]} unanchored  the first ranges of chunks that verify,
 *   but may be left over from a write that was taken back
 * @property {number} unanchoredCount  how many there are
 * @property {number} since  seq of the last record; -1 if there is none
 * @property {number | null} promisedEnd  everything before it was once on stable storage; null if the file does not say
 * @property {DamagedRange[]} damage  the first damaged ranges
 * @property {number} damageCount  how many there are
 * @property {number} damageSize  their bytes
 * @property {{ offset: number, size: number, isZeros: boolean } | null} tail  a last write that was never promised, or
 *   zeros kept behind the end; the next open cuts it
 * @property {Array<{ what: string, offset: number, size: number }>} flaws  unusable parts of the head
 * @property {{ offset: number, size: number, path: string } | null} unrestored  an end that only the file `path` has;
 *   the next open for writing restores it
 * @property {number} unfinished  how many chunks an interrupted deletion still has to change; the next open does
 */

/** @typedef {ReturnType<typeof describeEmpty>} Found */

/**
 * @typedef {object} Examination
 * @property {Report} report
 * @property {import('@millrace/framing/survey').ChunkState | null} state  where a log of the checked framing ends
 * @property {DamageList} lost  the ranges in which records were lost
 */

// The output, if there is one, gets what is good.
/** @type {(source: LogSource, options: Options, output: Output | null) => Promise<Examination>} */
async function examine (source, options, output) {
  const { name, rangesMax, signal } = options
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
  const onProgress = (/** @type {number} */ position) => {
    if (position > 0) listeners.onProgress({ position, size: blocks.size.value })
    if (listeners.error) throw listeners.error
    if (signal?.aborted) throw abortError(name, signal)
  }
  onProgress(0)
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
 * If a listener throws, the call fails with that.
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

/** @type {(source: NonNullable<LogSource['checked']>, surveyed: Awaited<ReturnType<typeof surveyFile>>) => Found} */
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

/** @type {(blocks: LogSource['blocks'], end: number) => Promise<Report['tail']>} */
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

/** @type {(source: LogSource, found: Found, damage: DamageList, tail: Report['tail']) => Report} */
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
