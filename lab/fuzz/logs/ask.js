'use strict'
// Calls a log's methods and streams, and notices when one of them answers twice.

const { crc32 } = require('node:zlib')
const { Failure, failureOf } = require('../answers')
const { Violation } = require('../violation')

/** Three of each record: no more is compared. */
const ITEMS_MAX = 99_999

/** How many records were delivered. A stream may let the event loop have a turn before each of them. */
const progress = { count: 0 }

/** What was answered twice: noticed when the first answer has been dealt with already. @type {Violation[]} */
const doubles = []

/**
 * @param {string} name
 * @param {(cb: (err: Error | null, result?: any) => void) => void} call
 * @returns {Promise<any>}  the result, or a Failure
 */
function ask (name, call) {
  return new Promise((resolve, reject) => {
    let answerCount = 0
    call((err, result) => {
      if (++answerCount > 1) return doubles.push(new Violation('answered twice', `${name} called back ${answerCount} times`))
      settle(err, result, resolve, reject)
    })
  })
}

/**
 * @param {Promise<any>} promise
 * @returns {Promise<any>}  the same, or a Failure
 */
function askPromise (promise) {
  return promise.catch((err) => failureOf(err))
}

/**
 * @param {Error | null} err
 * @param {any} result
 * @param {(result: any) => void} resolve
 * @param {(violation: unknown) => void} reject
 */
function settle (err, result, resolve, reject) {
  if (!err) return resolve(result)
  try {
    resolve(failureOf(err))
  } catch (violation) {
    reject(violation)
  }
}

/** @throws {Violation} */
function checkDoubles () {
  const [double] = doubles.splice(0)
  if (double) throw double
}

/**
 * @param {any} log
 * @param {object} options
 * @returns {Promise<{ items: number[], end: any }>}  of each record its seq, its size and its checksum
 */
async function scan (log, options) {
  /** @type {number[]} */
  const items = []
  const end = await ask('scan', (cb) => log.scan(options, (/** @type {any} */ { buffer, count, seqs, starts, ends }) => {
    progress.count += count
    for (let index = 0; index < count; index++) {
      items.push(seqs[index], ends[index] - starts[index], crc32(buffer.subarray(starts[index], ends[index])))
    }
    return items.length < ITEMS_MAX
  }, cb))
  // A chunk more or less must not show.
  items.length = Math.min(items.length, ITEMS_MAX)
  return { items, end: end instanceof Failure ? end : end.lost }
}

/**
 * The same as a pull-stream.
 * @param {any} log  with a codec that hands out bytes
 * @param {object} options
 * @returns {Promise<{ items: number[], end: any }>}
 */
function pull (log, options) {
  /** @type {number[]} */
  const items = []
  return new Promise((resolve, reject) => {
    const source = log.stream(options)
    let isReading = false
    let hasAnswer = true
    const read = () => {
      if (isReading) return
      isReading = true
      while (hasAnswer) {
        hasAnswer = false
        let answerCount = 0
        source(null, (/** @type {any} */ end, /** @type {any} */ item) => {
          if (++answerCount > 1) return doubles.push(new Violation('answered twice', 'a stream called back twice'))
          const { lost } = source
          const answer = (/** @type {any} */ failure) => resolve({ items, end: failure ?? lost })
          if (end) return settle(end === true ? null : end, null, answer, reject)
          progress.count++
          items.push(item.seq, item.value.length, crc32(item.value))
          hasAnswer = true
          read()
        })
      }
      isReading = false
    }
    read()
  })
}

exports.ask = ask
exports.askPromise = askPromise
exports.checkDoubles = checkDoubles
exports.progress = progress
exports.pull = pull
exports.scan = scan
