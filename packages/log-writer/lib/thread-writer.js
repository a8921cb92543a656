'use strict'
// The writer of a worker thread: puts records into a ring of shared memory. The thread that owns the log takes them
// out.

const { isUint8Array } = require('node:util').types
const { threadId } = require('node:worker_threads')
const { checkOptions, misuse, reasonOf } = require('@millrace/errors')
const { jsonCodec } = require('@millrace/json-codec')
const { refuseCondition } = require('./levels')
const {
  BELL, BELL_HALF, BELL_OFF, CLOSED, CLOSING, DIVERTED, DROPPED, DROPPED_FROM_COUNT, DROPPED_FROM_MS, DROPPED_SEEN,
  DROPPED_TO_MS, FINAL, FLUSH, FLUSHED, HEAD, LEVEL_COUNT_MAX, MORE, OPEN, OWNER_THREAD, PUSHED, Ring, STATE, TAIL,
  TAKEN, WAITING, frameSize
} = require('./ring')
const { descriptor } = require('./standard-error')

// A wait looks again after this time, in case that nobody wakes it.
const LOOK_MS = 100
const POLL_MS = 2
const CLOSE_MS = 1000
const EAGER = ['error', 'fatal']

/**
 * @typedef {import('./shared-writer').Channel} Channel
 *
 * @typedef {object} ThreadWriterOptions
 * @property {'wait' | 'drop-new'} [whenFull]  what `write` does when the ring is full. `'wait'`, the default: the
 *   thread is blocked until the owner's event loop turns, so an owner that waits for the thread synchronously waits
 *   without end. `'drop-new'`: drops the record, and the owner writes a gap record
 * @property {string[]} [eager]  levels whose records the owner has taken before `write` returns: error and fatal by
 *   default, and all of them if the log writer has `handleSignals`
 * @property {number} [eagerMs]  for how long `write` waits for that at most; 1000 by default
 * @property {{ encode: (value: any) => Uint8Array | string }} [codec]  for records that are neither strings nor bytes;
 *   JSON by default
 */

class Writer {
  #ring
  #port
  #levels
  /** Of each level that was seen: its index in the channel. @type {Map<unknown, number>} */
  #indexOf = new Map()
  /** @type {boolean[]} */
  #isEager = []
  #isEagerByDefault
  #options
  /** Only this thread moves it. */
  #tail
  #dropCount = 0

  /** @param {Channel} channel  @param {ThreadWriterOptions} [options] */
  constructor (channel, options = {}) {
    if (!(channel?.memory instanceof SharedArrayBuffer)) throw misuse('ThreadWriter: expected what connect() has returned')
    checkOptions('ThreadWriter', options, ['whenFull', 'eager', 'eagerMs', 'codec'])
    const { whenFull = 'wait', eager, eagerMs = 1000, codec = jsonCodec } = options
    if (whenFull !== 'wait' && whenFull !== 'drop-new') {
      throw misuse(`ThreadWriter: whenFull must be wait or drop-new, got ${reasonOf(whenFull)}`)
    }
    this.#isEagerByDefault = eager === undefined && channel.handlesSignals
    this.#options = { waits: whenFull === 'wait', eagerMs, codec }
    this.#ring = new Ring(channel.memory)
    if (this.#ring.words[OWNER_THREAD] === threadId) {
      throw misuse('ThreadWriter: this thread owns the log writer; write to that')
    }
    this.#port = channel.port
    this.#levels = Object.entries(channel.levels).slice(0, LEVEL_COUNT_MAX - 1)
    for (const [index, [name, number]] of this.#levels.entries()) {
      this.#indexOf.set(name, index).set(number, index)
      this.#isEager[index] = this.#isEagerByDefault || (eager ?? EAGER).includes(name)
    }
    this.#tail = Atomics.load(this.#ring.words, TAIL)
  }

  /**
   * Puts a record into the ring. After the owner has closed its side, records go to standard error.
   * @param {unknown} record  a string or bytes are stored as they are; anything else is encoded now
   * @param {string | number} [level]  `'info'` by default
   * @returns {boolean}  false if the record was dropped
   * @throws {LogError} ERR_NOT_SUPPORTED for a condition in place of the level
   */
  write (record, level = 'info') {
    const index = this.#indexOf.get(level) ?? this.#ofUnknown(level)
    const data = typeof record === 'string' || isUint8Array(record) ? record : this.#encode(record)
    const size = typeof data === 'string' ? Buffer.byteLength(data) : data.length
    const { numbers } = this.#ring
    numbers[PUSHED]++
    const isIn = size <= this.#ring.partSizeMax ? this.#put(data, size, index) : this.#putParts(data, index)
    if (!isIn && Atomics.load(this.#ring.words, STATE) === OPEN) return this.#drop(index)
    if (!isIn) return this.#divert(data)
    if (Atomics.load(this.#ring.words, STATE) !== OPEN && !this.#wasTaken()) return this.#divert(data)
    if (this.#isEager[index] ?? this.#isEagerByDefault) this.#awaitTaken(this.#options.eagerMs)
    return true
  }

  /** @param {unknown} level */
  #ofUnknown (level) {
    refuseCondition(level)
    return this.#levels.length
  }

  /** @param {unknown} record */
  #encode (record) {
    try {
      return this.#options.codec.encode(record)
    } catch (err) {
      return JSON.stringify({ level: 50, time: Date.now(), msg: `a record could not be encoded: ${reasonOf(err)}` })
    }
  }

  /** @type {(data: string | Uint8Array, size: number, meta: number) => boolean} */
  #put (data, size, meta) {
    const ring = this.#ring
    let at = ring.findRoom(this.#tail, size)
    if (at === -1) at = this.#makeRoom(size)
    if (at === -1) return false
    const begin = at + 8
    if (typeof data === 'string') ring.bytes.write(data, begin, size)
    else ring.bytes.set(data, begin)
    ring.frames[at >>> 2] = size
    ring.frames[(at >>> 2) + 1] = meta
    this.#tail = ring.behind(this.#tail, at, size)
    // From here on the record is in the ring, as a whole.
    Atomics.store(ring.words, TAIL, this.#tail)
    this.#tell(false)
    return true
  }

  /** A record that is larger than a frame may be. @type {(data: string | Uint8Array, level: number) => boolean} */
  #putParts (data, level) {
    const { partSizeMax, size, used } = this.#ring
    const bytes = typeof data === 'string' ? Buffer.from(data) : data
    // All parts must fit now, if nothing is to wait; at the end of the memory, one part's room may be left empty.
    const needed = Math.ceil(bytes.length / partSizeMax) * frameSize(partSizeMax) + frameSize(partSizeMax)
    if (!this.#options.waits && needed > size - used) return false
    for (let from = 0; from < bytes.length; from += partSizeMax) {
      const part = bytes.subarray(from, from + partSizeMax)
      const isLast = from + partSizeMax >= bytes.length
      if (!this.#put(part, part.length, isLast ? level : level | MORE)) return false
    }
    return true
  }

  /** @param {number} size @returns {number}  where there is room now; -1 if the record is not to wait */
  #makeRoom (size) {
    const { words } = this.#ring
    while (this.#options.waits && Atomics.load(words, STATE) === OPEN) {
      const head = Atomics.load(words, HEAD)
      Atomics.store(words, WAITING, 1)
      const at = this.#ring.findRoom(this.#tail, size)
      if (at !== -1) return at
      this.#tell(true)
      Atomics.wait(words, HEAD, head, LOOK_MS)
    }
    return -1
  }

  /** Tells the owner that there is something, unless it looks soon. @param {boolean} isUrgent */
  #tell (isUrgent) {
    const { words, size } = this.#ring
    const bell = Atomics.load(words, BELL)
    if (bell === BELL_OFF) return
    if (bell === BELL_HALF && !isUrgent && this.#ring.used < size / 2) return
    if (Atomics.compareExchange(words, BELL, bell, BELL_OFF) === bell) this.#port.postMessage(null)
  }

  /** @param {number} index  of the level */
  #drop (index) {
    const { numbers } = this.#ring
    const nowMs = Date.now()
    if (this.#dropCount === 0 || numbers[DROPPED_FROM_COUNT] < numbers[DROPPED_SEEN]) {
      numbers[DROPPED_FROM_MS] = nowMs
      numbers[DROPPED_FROM_COUNT] = this.#dropCount
    }
    numbers[DROPPED_TO_MS] = nowMs
    this.#dropCount++
    numbers[PUSHED]--
    numbers[DROPPED + index]++
    this.#tell(true)
    return false
  }

  /** The owner has stopped. @param {string | Uint8Array} data */
  #divert (data) {
    const { numbers } = this.#ring
    numbers[PUSHED]--
    numbers[DIVERTED]++
    descriptor.writeLines([Buffer.from(data)])
    return true
  }

  /** Whether the owner, which is stopping, has taken the record that was put in last. */
  #wasTaken () {
    const { words } = this.#ring
    if (Atomics.load(words, STATE) === CLOSING) Atomics.wait(words, STATE, CLOSING, CLOSE_MS)
    return Atomics.load(words, STATE) === CLOSED && ((Atomics.load(words, FINAL) - this.#tail) | 0) >= 0
  }

  /** @param {number} ms  at most @returns {boolean}  whether the owner has taken everything */
  #awaitTaken (ms) {
    const { words } = this.#ring
    const endMs = performance.now() + ms
    const end = this.#tail
    for (;;) {
      const head = Atomics.load(words, HEAD)
      if (((head - end) | 0) >= 0) return true
      const leftMs = endMs - performance.now()
      if (leftMs <= 0 || Atomics.load(words, STATE) === CLOSED) return false
      Atomics.store(words, WAITING, 1)
      this.#tell(true)
      Atomics.wait(words, HEAD, head, Math.min(leftMs, LOOK_MS))
    }
  }

  /**
   * Blocks the thread until everything is in the log, and synced.
   * @param {{ timeoutMs?: number | undefined }} [options]  5,000 by default
   * @returns {boolean}  false if it is not, or not in time
   */
  flushSync ({ timeoutMs = 5000 } = {}) {
    return this.#put('', 0, FLUSH) && this.#awaitTaken(timeoutMs) && Atomics.load(this.#ring.words, FLUSHED) === 1
  }

  /** The same without blocking the thread. @returns {Promise<boolean>}  false if the owner has stopped, or failed */
  async flush () {
    const { words } = this.#ring
    if (!this.#put('', 0, FLUSH)) return false
    const end = this.#tail
    this.#tell(true)
    while (((Atomics.load(words, HEAD) - end) | 0) < 0) {
      if (Atomics.load(words, STATE) === CLOSED) return false
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
    return Atomics.load(words, FLUSHED) === 1
  }

  /** Counts the records of this thread: submitted = taken + queued + dropped + diverted. */
  counters () {
    return countersOf(this.#ring)
  }
}

/** @param {Ring} ring */
function countersOf ({ numbers }) {
  const dropped = numbers.subarray(DROPPED, DROPPED + LEVEL_COUNT_MAX).reduce((sum, count) => sum + count, 0)
  const [pushed, taken, diverted] = [numbers[PUSHED], numbers[TAKEN], numbers[DIVERTED]]
  return { submitted: pushed + dropped + diverted, taken, queued: pushed - taken, dropped, diverted }
}

/**
 * With or without `new`.
 * @param {Channel} channel  what `connect` of a shared writer has returned, in `workerData` or in a message
 * @param {ThreadWriterOptions} [options]
 * @returns {Writer}
 */
function ThreadWriter (channel, options) {
  return new Writer(channel, options)
}
ThreadWriter.prototype = Writer.prototype

/**
 * @type {{
 *   new (channel: Channel, options?: ThreadWriterOptions): Writer
 *   (channel: Channel, options?: ThreadWriterOptions): Writer
 * }}
 */
exports.ThreadWriter = /** @type {any} */ (ThreadWriter)
exports.countersOf = countersOf
