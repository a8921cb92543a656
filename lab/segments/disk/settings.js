'use strict'
// The logs of the torture on real disks: their options and their records.

const { createRecord } = require('../../torture/disk/session')

const STAMP_SIZE = 8
const CACHE_SIZE = 512 * 1024
const READ_ATTEMPTS_MAX = 50
/** Deletions of the tail that nothing compresses are as interesting as those in compressed segments. */
const UNCOMPRESSIBLE_SHARE = 4

/**
 * @typedef {object} Settings  of a log, the same for all sessions of a history
 * @property {number} segmentSize
 * @property {'gzip' | false} compress
 * @property {number} openSegments
 * @property {number | null} maxCount
 * @property {boolean} keeps  the chosen records of the segments that `maxCount` drops
 */

/**
 * @param {(limit: number) => number} random
 * @returns {Settings}
 */
function pickSettings (random) {
  const maxCount = random(2) === 0 ? 1 + random(4) : null
  return {
    segmentSize: 40_000 + random(80_000),
    compress: random(3) > 0 ? 'gzip' : false,
    openSegments: 1 + random(3),
    maxCount,
    keeps: maxCount !== null && random(2) === 0
  }
}

/** Some records stay longer than others. @param {number} id */
function isChosen (id) {
  return id % 3 === 1
}

/** A record is known by its number wherever it is; its time is its number, too. */
const codec = {
  name: 'stamped',
  buffer: true,
  encode: (/** @type {Buffer} */ bytes) => bytes,
  decode: (/** @type {Buffer} */ bytes) => {
    const id = bytes.length < STAMP_SIZE ? -1 : bytes.readUInt32BE(0)
    return { id, isChosen: isChosen(id), bytes }
  }
}

/**
 * @param {Settings} settings
 * @param {string} fsync
 */
function createOptions ({ segmentSize, compress, openSegments, maxCount, keeps }, fsync) {
  return {
    codec,
    fsync,
    cache: CACHE_SIZE,
    segmentSize,
    openSegments,
    compress,
    time: (/** @type {{ id: number }} */ { id }) => id,
    ...(maxCount !== null && { maxCount }),
    ...(keeps && { keep: { where: { path: ['isChosen'], equals: true } } })
  }
}

/**
 * Most of them can be compressed.
 * @param {number} salt
 * @param {number} id
 * @param {number} size
 * @returns {Buffer}
 */
function createText (salt, id, size) {
  const bytes = createRecord(salt, id, size)
  if (id % UNCOMPRESSIBLE_SHARE === 0) return bytes
  const text = Buffer.from(bytes.toString('hex', STAMP_SIZE, STAMP_SIZE + Math.ceil((size - STAMP_SIZE) / 2)))
  return Buffer.concat([bytes.subarray(0, STAMP_SIZE), text], size)
}

/**
 * Opening may have begun to drop what the limits no longer allow, and whoever reads may be overtaken.
 * @template T
 * @param {() => Promise<T>} read
 * @returns {Promise<T>}
 */
async function untilWhole (read) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read()
    } catch (err) {
      if (/** @type {any} */ (err).code !== 'ERR_LOG_SEQ_RETAINED' || attempt === READ_ATTEMPTS_MAX) throw err
    }
  }
}

exports.STAMP_SIZE = STAMP_SIZE
exports.createOptions = createOptions
exports.createText = createText
exports.isChosen = isChosen
exports.pickSettings = pickSettings
exports.untilWhole = untilWhole
