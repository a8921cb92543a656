'use strict'
// The options of a stream or a scan, checked, as one half-open range of seqs.

const { misuse } = require('@millrace/errors')
const { parseWhere } = require('@millrace/where')

/**
 * @typedef {object} ReadOptions
 * @property {number} [gt]  seqs above; any number, not only a record's seq
 * @property {number} [gte]  seqs at or above
 * @property {number} [lt]  seqs below
 * @property {number} [lte]  seqs at or below
 * @property {boolean} [reverse]  last record first
 * @property {number} [limit]  how many records at most; -1 for no limit
 * @property {boolean} [live]  go on with records that are appended later
 * @property {boolean} [old]  false leaves out what was there at the call, and means live
 * @property {boolean} [ref]  true keeps the process running while a live pull-stream waits for an append, as async
 *   iterators do by themselves, and all streams of a log that was opened with `flags: 'r'`
 * @property {boolean} [unref]  true lets the process end meanwhile
 * @property {boolean} [seqs]  false leaves the seq out of the items
 * @property {boolean} [values]  false leaves the value out of the items
 * @property {boolean} [cache]  accepted for flume's sake: streams never go through the cache
 * @property {'error' | 'skip'} [onCorrupt]  what to do at damage, if not what the log was opened with: end with
 *   ERR_LOG_CORRUPT, or go on behind it and count what was lost
 * @property {import('@millrace/where').Where} [where]  only records of which this holds, see @millrace/where
 */

/**
 * @typedef {object} Range
 * @property {number} from  the lowest seq wanted
 * @property {number} stop  one past the highest
 * @property {boolean} reverse
 * @property {boolean} live
 * @property {boolean} old
 * @property {number} limit
 * @property {boolean | undefined} skipsDamage  undefined for what the log does by default
 * @property {import('@millrace/where').Condition[] | null} where
 * @property {boolean} [isKept]  whether the bytes of its chunks may be kept
 * @property {number} [at]  where in the file to begin, going forward, if a record of `from` would be there
 */

/**
 * @param {'stream' | 'scan'} call  that was given them
 * @param {ReadOptions} [options]
 * @returns {Range}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseRange (call, options) {
  try {
    return parse(options)
  } catch (err) {
    throw isMisuse(err) ? misuse(`${call}: ${err.message}`) : err
  }
}

/**
 * @param {unknown} err
 * @returns {err is Error}
 */
function isMisuse (err) {
  return err instanceof TypeError && /** @type {any} */ (err).code === 'ERR_INVALID_ARGUMENT'
}

/** @param {ReadOptions} [options] */
function parse (options = {}) {
  if (options === null || typeof options !== 'object') throw misuse(`expected options, got ${typeof options}`)
  const { onCorrupt } = options
  if (onCorrupt !== undefined && onCorrupt !== 'error' && onCorrupt !== 'skip') {
    throw misuse(`onCorrupt must be "error" or "skip", got ${String(onCorrupt)}`)
  }
  const old = options.old !== false
  const live = Boolean(options.live) || !old
  const reverse = Boolean(options.reverse)
  if (live && reverse) throw misuse('a live stream cannot be reversed; leave out live, old or reverse')
  const skipsDamage = onCorrupt === undefined ? undefined : onCorrupt === 'skip'
  const where = options.where === undefined ? null : parseWhere(options.where)
  const { from, stop } = parseBounds(options)
  // Nothing can be in it, now or later: it ends at once, though it be live, and no file is read for it.
  const limit = Math.min(parseLimit(options.limit), from < stop ? Infinity : 0)
  return { from, stop, reverse, live, old, limit, where, skipsDamage }
}

/**
 * Seqs are whole, so each bound has one whole number that says the same.
 * @param {ReadOptions} options
 */
function parseBounds (options) {
  const { gt, gte, lt, lte } = options
  checkBound('gt', gt)
  checkBound('gte', gte)
  checkBound('lt', lt)
  checkBound('lte', lte)
  return {
    from: Math.max(0, Math.ceil(gte ?? 0), Math.floor(gt ?? -1) + 1),
    stop: Math.min(Math.ceil(lt ?? Infinity), Math.floor(lte ?? Infinity) + 1)
  }
}

/**
 * @param {string} name
 * @param {unknown} bound
 */
function checkBound (name, bound) {
  if (bound !== undefined && bound !== null && (typeof bound !== 'number' || Number.isNaN(bound))) {
    throw misuse(`${name} must be a number, got ${String(bound)}`)
  }
}

/** @param {unknown} limit */
function parseLimit (limit) {
  if (limit === undefined || limit === null || limit === -1) return Infinity
  if (typeof limit === 'number' && limit >= 0 && (Number.isInteger(limit) || limit === Infinity)) return limit
  throw misuse(`limit must be a whole number, or -1 for none, got ${String(limit)}`)
}

exports.parseRange = parseRange
