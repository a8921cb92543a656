'use strict'
// Goes through a whole log once, whatever its framing, and says what it found.

const { asError } = require('@millrace/errors')
const { isShorter } = require('../framing/checked/salvage/read-source')
const { Survey } = require('../framing/checked/salvage/survey')
const { OffsetSurvey, isZeroRange } = require('../framing/offset/salvage/survey')
const { DamageList } = require('./damage-list')

const AREA_SIZE_OF_JOURNALS = 8192
const AREA_SIZE = 4096
const JOURNALS_START = 16384

/**
 * @typedef {import('./damage-list').DamagedRange} DamagedRange
 * @typedef {import('./source').LogSource} LogSource
 * @typedef {import('./output').Output} Output
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
 * @property {import('../framing/checked/salvage/unanchored').UnanchoredRange[]} unanchored  the first of the ranges of
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
 * @property {Survey | null} survey  of a file of the checked framing
 * @property {DamageList} lost  the ranges that records were lost in
 */

/**
 * @param {LogSource} source
 * @param {Options} options
 * @param {Output | null} output  gets what is good
 * @param {(err: Error | null, examination?: Examination) => void} cb
 */
function examine (source, options, output, cb) {
  const { rangesMax, keepSuspects, suspects } = options
  const { blocks, checked, framing } = source
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
  const finish = (/** @type {Survey | null} */ survey, /** @type {Error | null} */ err, /** @type {Found} */ found) => {
    if (err || listeners.error) return cb(err ?? listeners.error)
    lost.close()
    findTail(blocks, found.end, (err, tail = null) => {
      cb(err, { report: describe(source, found, damage, tail), survey, lost })
    })
  }
  if (checked) {
    const survey = new Survey(checked, { damage, output, onProgress, rangesMax })
    return survey.run((err) => finish(survey, err, describeChecked(checked, survey)))
  }
  if (framing === null) return finish(null, null, describeEmpty())
  const sinks = { damage, output, onProgress, keepsSuspects: keepSuspects }
  const survey = new OffsetSurvey({ blocks, framing, suspects }, sinks)
  survey.run((err) => finish(null, err, describeLegacy(framing, survey)))
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
 * @param {Survey} survey
 * @returns {Found}
 */
function describeChecked ({ head, isHeadLost, promisedEnd, unfinishedCount, isBlind }, survey) {
  const { found } = survey
  return {
    framing: 'checked',
    codec: head.header.codec || null,
    end: survey.end,
    isSound: !isHeadLost && !isBlind && survey.erasedTooFew === 0,
    records: found.recordCount,
    mendable: found.mendedCount,
    erased: found.erasedCount,
    undeleted: survey.erasedTooFew,
    unanchored: survey.unanchored.ranges,
    unanchoredCount: survey.unanchored.count,
    since: found.last,
    promisedEnd: isBlind ? null : promisedEnd,
    flaws: head.flaws.map(({ what, offset }) => ({
      what,
      offset,
      size: offset >= JOURNALS_START ? AREA_SIZE_OF_JOURNALS : AREA_SIZE
    })),
    unfinished: unfinishedCount
  }
}

/**
 * @param {import('../framing/offset/offset-framing').OffsetFraming} framing
 * @param {OffsetSurvey} survey
 * @returns {Found}
 */
function describeLegacy (framing, { keeper }) {
  const { end, recordCount, mendedCount, erasedCount, last } = keeper
  return {
    ...describeEmpty(),
    framing: framing.name,
    end,
    records: recordCount,
    mendable: mendedCount,
    erased: erasedCount,
    since: last
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
 * @param {(err: Error | null, tail?: Report['tail']) => void} cb
 */
function findTail (blocks, end, cb) {
  const size = blocks.size.value - end
  if (size <= 0) return cb(null, null)
  isZeroRange(blocks, end, blocks.size.value, (err, isZeros = false) => {
    if (!isShorter(err)) return cb(err, { offset: end, size, isZeros })
    blocks.refresh((err) => err ? cb(err) : findTail(blocks, end, cb))
  })
}

/**
 * @param {LogSource} source
 * @param {Found} found
 * @param {DamageList} damage
 * @param {Report['tail']} tail
 * @returns {Report}
 */
function describe ({ blocks, unrestored = null }, found, { ranges, count, size }, tail) {
  const { framing, codec, end, isSound, records, mendable, erased, undeleted } = found
  const { unanchored, unanchoredCount, since, promisedEnd, flaws, unfinished } = found
  return {
    path: blocks.path,
    framing,
    codec,
    size: blocks.size.value,
    end,
    isSound: isSound && count === 0 && unrestored === null,
    records,
    mendable,
    erased,
    undeleted,
    unanchored,
    unanchoredCount,
    since,
    promisedEnd,
    damage: ranges,
    damageCount: count,
    damageSize: size,
    tail,
    flaws,
    unrestored,
    unfinished
  }
}

exports.examine = examine
