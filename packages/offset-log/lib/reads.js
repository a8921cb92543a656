'use strict'
// Reads that call back once: get with options, getMany, count, first and last. They use the getter and the scan.

const { nextTick } = require('node:process')
const { LogError, asError, checkOptions, misuse } = require('@millrace/errors')
const { abortable, abortError, parseSignal, trampoline } = require('@millrace/flow')
const { parseRange } = require('./range')
const { scan } = require('./scan')

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./getter').Getter} Getter
 * @typedef {import('./range').Range} Range
 * @typedef {object} GetOptions
 * @property {AbortSignal | undefined} [signal]  An abort ends the call with ABORT_ERR.
 * @typedef {{ what: any, options: any }} Request  the options are not checked yet
 */

/** @template T @typedef {import('@millrace/flow').Callback<T>} Callback */

// If records must be waited for, `getMany` waits for this many at the same time.
const LANE_COUNT = 16

/** @type {(file: LogFile, getter: Getter, request: Request, cb: Callback<any>) => void} */
function get ({ isStrict, lifecycle }, getter, { what: seq, options }, cb) {
  const signal = attempt(() => parseGetOptions('get', options, isStrict))
  if (signal instanceof Error) return lifecycle.run('get', cb, (cb) => cb(signal))
  abortable('get', signal, cb, (cb) => getter.get(seq, cb))
}

/**
 * Gets the values of many seqs, in their order; undefined for a deleted record. Any other failure fails the call.
 * @type {(file: LogFile, getter: Getter, request: Request, cb: Callback<any[]>) => void}
 */
function getMany ({ lifecycle }, getter, { what: seqs, options }, cb) {
  const signal = attempt(() => {
    if (!Array.isArray(seqs)) throw misuse(`getMany: expected an array of seqs, got ${typeof seqs}`)
    return parseGetOptions('getMany', options, true)
  })
  if (signal instanceof Error) return lifecycle.run('getMany', cb, (cb) => cb(signal))
  const wanted = [...seqs]
  abortable('getMany', signal, cb, (cb) => lifecycle.run('getMany', cb, (cb) => getEach(getter, wanted, signal, cb)))
}

/** @type {(getter: Getter, seqs: number[], signal: AbortSignal | null, cb: Callback<any[]>) => void} */
function getEach (getter, seqs, signal, cb) {
  const values = new Array(seqs.length)
  // In the order of the file, so that each page is read once.
  const order = [...seqs.keys()]
  // Others may not even become numbers; each of them fails by itself.
  if (seqs.every((seq) => typeof seq === 'number')) order.sort((a, b) => seqs[a] - seqs[b])
  let nextIndex = 0
  let doneCount = 0
  let hasEnded = false
  const end = (/** @type {Error | null} */ err) => {
    if (hasEnded) return
    hasEnded = true
    if (err) cb(err)
    else cb(null, values)
  }
  const runLane = () => trampoline((next) => {
    if (hasEnded || nextIndex === order.length) return
    if (signal?.aborted) return end(abortError('getMany', signal))
    const index = order[nextIndex++]
    getter.read(seqs[index], (err, value) => {
      if (err && !isDeleted(err)) return end(ofList(err, index))
      values[index] = value
      if (++doneCount === order.length) end(null)
      else next()
    })
  })
  if (order.length === 0) return end(null)
  for (let lane = 0; lane < LANE_COUNT; lane++) runLane()
}

/** @param {Error} err */
function isDeleted (err) {
  return err instanceof LogError && err.code === 'flumelog:deleted'
}

/** Adds the index of the seq in the list. @type {(err: Error, index: number) => Error} */
function ofList (err, index) {
  if (!(err instanceof LogError)) return err
  const { code, message, cause, offset, path } = err
  return new LogError(code, `getMany: seq ${index} of the list: ${message.replace(/^get: /, '')}`, { cause, offset, path, index })
}

/** @type {(file: LogFile, getter: Getter, request: Request, cb: Callback<number>) => void} */
function count (file, getter, request, cb) {
  scanRange('count', file, request, cb, (range) => {
    const { sure = 0, openRest = undefined } = file.countSure?.(range) ?? {}
    let recordCount = Math.min(sure, range.limit)
    return { onRecords: ({ count }) => { recordCount += count }, result: () => recordCount, open: openRest }
  }, lookFirst)
}

/**
 * An index counts without a look at the records, so it must know what the writer of the log has deleted by now. If that
 * cannot be found out, it does not count.
 * @type {(file: LogFile, range: Range, go: () => void) => void}
 */
function lookFirst ({ follower, countSure }, { where }, go) {
  if (follower && countSure && where !== null) follower.refresh(() => nextTick(go))
  else go()
}

/** @type {(file: LogFile, getter: Getter, request: Request, cb: Callback<any>) => void} */
function first (file, getter, request, cb) {
  readOne('first', file, request, cb)
}

/** @type {(file: LogFile, getter: Getter, request: Request, cb: Callback<any>) => void} */
function last (file, getter, request, cb) {
  readOne('last', file, request, cb)
}

/** @type {(call: 'first' | 'last', file: LogFile, request: Request, cb: Callback<any>) => void} */
function readOne (call, file, request, cb) {
  /** @type {any} */
  let item
  scanRange(call, file, request, cb, (range) => {
    range.reverse = call === 'last'
    const { seqs: hasSeqs, values: hasValues } = request.options ?? {}
    const { codec, skipsDamage } = file
    /** @type {(records: import('./record-run').RecordRun) => boolean} */
    const onRecords = ({ buffer, count, seqs, starts, ends }) => {
      for (let index = 0; index < count; index++) {
        const seq = seqs[index]
        if (hasValues === false && hasSeqs !== false) {
          item = seq
          return false
        }
        try {
          const value = codec.decode(buffer, starts[index], ends[index], seq)
          item = hasSeqs === false ? value : { seq, value }
          return false
        } catch (err) {
          // A stream skips undecodable records under the same option.
          if (!(range.skipsDamage ?? skipsDamage)) throw err
        }
      }
      return true
    }
    return { onRecords, result: () => item }
  })
}

/**
 * @typedef {object} Reading
 * @property {(records: import('./record-run').RecordRun) => unknown} onRecords
 * @property {() => any} result
 * @property {import('./load').OpenRange | null} [open]  opens the reader; null if nothing is to be read
 * @param {'count' | 'first' | 'last'} call
 * @param {LogFile} file
 * @param {Request} request
 * @param {Callback<any>} cb
 * @param {(range: Range) => Reading} begin
 * @param {(file: LogFile, range: Range, go: () => void) => void} [prepare]
 */
function scanRange (call, file, { options }, cb, begin, prepare = (file, range, go) => go()) {
  const range = attempt(() => parseRange(call, options, true))
  if (range instanceof Error) return file.lifecycle.run(call, cb, (cb) => cb(range))
  abortable(call, range.signal, cb, (cb) => file.lifecycle.run(call, cb, (cb) => prepare(file, range, () => {
    const reading = attempt(() => begin(range))
    if (reading instanceof Error) return cb(reading)
    const { onRecords, result, open } = reading
    if (open === null) return cb(null, result())
    scan(file, range, onRecords, (err) => err ? cb(err) : cb(null, result()), open)
  })))
}

/**
 * @param {string} call
 * @param {GetOptions} [options]
 * @param {boolean} [isStrict]
 */
function parseGetOptions (call, options = {}, isStrict = true) {
  checkOptions(call, options, isStrict ? ['signal'] : undefined)
  return parseSignal(call, options.signal)
}

/**
 * Returns what was thrown: misuse of a method must reach its callback.
 * @template T
 * @param {() => T} run
 * @returns {T | Error}
 */
function attempt (run) {
  try {
    return run()
  } catch (err) {
    return asError(err, 'an option')
  }
}

exports.get = get
exports.getMany = getMany
exports.count = count
exports.first = first
exports.last = last
