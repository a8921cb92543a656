'use strict'
// Walks a log of any framing once, however damaged it is, and reports its contents and its damage. It changes nothing.

const { asError } = require('@millrace/errors')
const { abortError, callbackOrPromise, toCallback, toPromise } = require('@millrace/flow')
const { AREA_SIZE, JOURNAL_POSITIONS, JOURNAL_SIZE } = require('@millrace/framing')
const { DamageList } = require('@millrace/framing/survey')
const { isShorter, surveyFile, surveyLines } = require('@millrace/offset-log/copies')
const { OffsetSurvey, isZeroRange } = require('./offset-survey')
const { checkPath, parseOptions } = require('./options')
const { withSource } = require('./source')

/** @template T @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback */

/** @typedef {Omit<import('./options').SalvageOptions, 'write'>} VerifyOptions */

/**
 * Reads a whole log, however damaged it is, and reports its contents and its damage. It needs no codec, changes
 * nothing, and takes a few MiB of memory for any size of file. A writer may have the log open: what looks damaged is
 * read again before it is reported.
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
 * Reads all of a log, and says whether it is sound. It changes nothing.
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
 * @typedef {import('@millrace/offset-log/copies').Output} Output
 * @typedef {ReturnType<typeof import('./options').parseOptions>} Options
 */

/**
 * @typedef {object} Report
 * @property {string} path  Of the log.
 * @property {string | null} framing  One of the five framings; null if the file is empty.
 * @property {string | null} codec  The name of the codec that the log was made with; null if the log stores none.
 * @property {number} size  Of the file, in bytes.
 * @property {number} end  The offset where the log ends in the file.
 * @property {boolean} isSound  True if nothing is damaged, `undeleted` is 0, and `unrestored` and `changed` are
 *   null. A tail, unfinished deletions and most flaws are not damage.
 * @property {number} records  How many records are whole and not deleted.
 * @property {number} mendable  How many of `records` only `repair` can reach: they are good, but the bytes that lead to
 *   them, such as a header, are damaged.
 * @property {number} erased  How many records are deleted. In a checked log, pieces of a deleted record count too.
 * @property {number} undeleted  How many deletions have no effect any more, because the disk returned old versions of
 *   pages; 0 if none, or if it is unknown. It cannot be said where they are.
 * @property {import('@millrace/framing/survey').UnanchoredRange[]} unanchored  The first ranges whose chunks have
 *   correct checksums, but may come from a write that recovery removed from the log. Their records are counted, and
 *   `repair` keeps them.
 * @property {number} unanchoredCount  How many such ranges there are, listed or not.
 * @property {number} since  The seq of the last record; -1 if there is none.
 * @property {number | null} promisedEnd  Everything before this offset was once on stable storage; null if the file
 *   does not say. What is bad after it is the `tail`, not damage: the file does not say which appends there had called
 *   back.
 * @property {DamagedRange[]} damage  The first damaged ranges, in order. Adjoining ranges are joined.
 * @property {number} damageCount  How many there are, listed or not.
 * @property {number} damageSize  The bytes of all of them.
 * @property {{ offset: number, size: number, isZeros: boolean } | null} tail  A last write that was never known to be
 *   on stable storage, or zeros that a writer reserved after the end; null if there is none. The next open for writing
 *   removes it.
 * @property {Array<{ what: string, offset: number, size: number }>} flaws  Unusable parts of the head. They are damage
 *   only if both copies of the header, or both checkpoint slots, are unusable.
 * @property {{ offset: number, size: number, path: string } | null} unrestored  An end of the log that only the file
 *   `path` has; null if there is none. Open the log for writing once to restore it.
 * @property {number} unfinished  How many chunks an interrupted deletion still has to change. The next open changes
 *   them.
 * @property {string | null} changed  Of a log of lines: what another program has done to its file; null if nothing, or
 *   if somebody has accepted it.
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
async function survey ({ blocks, checked, framing, areLines }, { rangesMax, storage }, sinks) {
  if (checked) {
    const surveyed = await surveyFile(blocks, checked, { ...sinks, rangesMax })
    return { found: describeChecked(checked, surveyed), state: surveyed.survey.found }
  }
  if (areLines) {
    const found = await surveyLines(blocks.path, storage, sinks)
    return { found: { ...describeEmpty(), ...found, framing: 'lines', isSound: found.changed === null }, state: null }
  }
  if (framing === null) return { found: describeEmpty(), state: null }
  const survey = new OffsetSurvey({ blocks, framing }, sinks)
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
    unfinished: unfinishedCount,
    changed: null
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
    unfinished: 0,
    changed: /** @type {string | null} */ (null)
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
      await toPromise((cb) => blocks.refresh(cb))
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
