'use strict'
// The owner's side: takes the records of worker threads out of their rings, and gives them to one log writer.

const { clearImmediate, setImmediate } = require('node:timers')
const { MessageChannel, threadId } = require('node:worker_threads')
const { checkOptions, misuse, reasonOf } = require('@millrace/errors')
const {
  BELL, BELL_HALF, BELL_OFF, BELL_ON, CLOSED, CLOSING, DROPPED, DROPPED_FROM_COUNT, DROPPED_FROM_MS, DROPPED_SEEN,
  DROPPED_TO_MS, FINAL, FLUSH, FLUSHED, HEAD, LEVEL_COUNT_MAX, LEVEL_MASK, MORE, OWNER_THREAD, PUSHED, Ring, STATE,
  TAIL, TAKEN
} = require('./ring')
const { countersOf } = require('./thread-writer')

const SIZE = 1024 * 1024
const SIZE_MIN = 4096
const SIZE_MAX = 2 ** 30
// While records arrive, the owner looks so often, and threads need not tell it.
const LOOK_MS = 5
// After so many looks that found nothing it sleeps.
const IDLE_COUNT_MAX = 20
const LEVELS = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 }
const WARN = 40

/**
 * What a worker thread needs. Hand it over in `workerData` or in a message, with `port` in the transfer list.
 * @typedef {object} Channel
 * @property {SharedArrayBuffer} memory
 * @property {import('node:worker_threads').MessagePort} port
 * @property {Record<string, number>} levels
 * @property {boolean} handlesSignals  whether the log writer does
 *
 * @typedef {object} Target  a log writer
 * @property {(record: any, level?: string | number) => boolean} write
 * @property {() => boolean} flushSync
 * @property {(options: { unref: boolean }) => Promise<void>} drained
 * @property {boolean} [handlesSignals]
 */

/** One thread's ring. */
class Connection {
  #writer
  #names
  #port
  /** @type {Buffer[]} of a record whose other parts are not there yet */
  #parts = []
  /** Of each level, how many drops were seen, and when they were counted. @type {Float64Array} */
  #seenDrops = new Float64Array(LEVEL_COUNT_MAX)
  #seenMs = 0
  #isPaused = false
  #idleCount = 0
  /** The next look, if one is due: soon, or at once. @type {NodeJS.Timeout | undefined} */
  #timer
  /** @type {NodeJS.Immediate | undefined} */
  #immediate

  /**
   * @param {Target} writer
   * @param {{ size: number, levels: Record<string, number> }} options
   * @param {(ended: Connection) => void} onEnd  the thread has ended
   */
  constructor (writer, { size, levels }, onEnd) {
    this.#writer = writer
    this.#names = Object.keys(levels).slice(0, LEVEL_COUNT_MAX - 1)
    this.ring = Ring.create(size)
    this.ring.words[OWNER_THREAD] = threadId
    Atomics.store(this.ring.words, BELL, BELL_ON)
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    /** @type {Channel} */
    this.channel = { memory: this.ring.memory, port: port2, levels, handlesSignals: writer.handlesSignals === true }
    port1.on('message', () => this.#look())
    port1.on('close', () => {
      // If the owner has stopped, the thread may go on, and its numbers are its own.
      if (Atomics.load(this.ring.words, STATE) === CLOSED) return
      this.close()
      // A record that was being put in when the thread was terminated was never submitted.
      this.ring.numbers[PUSHED] = this.ring.numbers[TAKEN]
      onEnd(this)
    })
    port1.unref()
  }

  #look () {
    this.#cancel()
    if (this.#isPaused) return
    const { words } = this.ring
    Atomics.store(words, BELL, BELL_OFF)
    const isFound = this.#drain()
    if (!this.#isPaused) this.#sleep(isFound)
  }

  /** @param {boolean} isFound  whether there were records */
  #sleep (isFound) {
    const { words, used, size } = this.ring
    this.#idleCount = isFound ? 0 : this.#idleCount + 1
    const isIdle = this.#idleCount > IDLE_COUNT_MAX
    Atomics.store(words, BELL, isIdle ? BELL_ON : BELL_HALF)
    // What came in before the thread could see this.
    const isUrgent = isIdle ? this.ring.used > 0 : used >= size / 2
    if (isUrgent) this.#immediate = setImmediate(() => this.#look())
    else if (!isIdle) this.#timer = setTimeout(() => this.#look(), LOOK_MS).unref()
  }

  #cancel () {
    clearTimeout(this.#timer)
    clearImmediate(this.#immediate)
  }

  /** @param {boolean} [isLast]  whether a full queue of the writer is no reason to stop @returns {boolean} */
  #drain (isLast = false) {
    const { ring } = this
    const { words } = ring
    // What was dropped until now was dropped after the records that are in the ring.
    const gap = this.#seeDrops()
    const end = Atomics.load(words, TAIL)
    const isFound = end !== Atomics.load(words, HEAD)
    ring.take(end, (bytes, meta) => {
      if ((meta & FLUSH) !== 0) {
        Atomics.store(words, FLUSHED, this.#writer.flushSync() ? 1 : 0)
        return true
      }
      return this.#write(bytes, meta) || isLast
    })
    if (gap !== undefined) {
      const msg = `${gap.count} records were dropped: ${gap.reason}`
      this.#writer.write({ level: WARN, time: Date.now(), msg, gap }, 'warn')
    }
    return isFound
  }

  /** @type {(bytes: Buffer, meta: number) => boolean} false if the writer wants to be left alone */
  #write (bytes, meta) {
    if ((meta & MORE) !== 0) {
      this.#parts.push(Buffer.from(bytes))
      return true
    }
    let record = bytes
    if (this.#parts.length > 0) {
      record = Buffer.concat([...this.#parts, bytes])
      this.#parts = []
    }
    this.ring.numbers[TAKEN]++
    const hasRoom = this.#writer.write(record, this.#names[meta & LEVEL_MASK] ?? 'other')
    if (!hasRoom && !this.#isPaused) this.#pause()
    return hasRoom
  }

  #pause () {
    this.#isPaused = true
    this.#writer.drained({ unref: true }).then(() => {
      this.#isPaused = false
      this.#look()
    })
  }

  /** What was dropped since the last call, if anything was. @returns {import('./gap').Gap | undefined} */
  #seeDrops () {
    const { numbers } = this.ring
    const nowMs = Date.now()
    const drops = numbers.slice(DROPPED, DROPPED + LEVEL_COUNT_MAX)
    /** @type {Record<string, number>} */
    const levels = {}
    let count = 0
    for (const [index, total] of drops.entries()) {
      const fresh = total - this.#seenDrops[index]
      if (fresh > 0) levels[this.#names[index] ?? 'other'] = fresh
      count += fresh
    }
    if (count === 0) return undefined
    // The thread goes on. What it drops between the lines above and below is not taken for the first drop of the next
    // call; but it is younger than this call.
    const isFirstKnown = numbers[DROPPED_FROM_COUNT] === numbers[DROPPED_SEEN]
    const from = isFirstKnown ? numbers[DROPPED_FROM_MS] : this.#seenMs
    numbers[DROPPED_SEEN] += count
    this.#seenDrops = drops
    this.#seenMs = nowMs
    return { count, levels, reason: 'drop-new', from, to: numbers[DROPPED_TO_MS] }
  }

  /** Takes what is there; then the thread writes elsewhere. It may be called twice. */
  close () {
    const { words } = this.ring
    this.#cancel()
    this.#isPaused = true
    if (Atomics.load(words, STATE) === CLOSED) return
    Atomics.store(words, STATE, CLOSING)
    // A record that is put in during this is taken, or its thread sees that the owner stops.
    this.#drain(true)
    Atomics.store(words, FINAL, Atomics.load(words, HEAD))
    Atomics.store(words, STATE, CLOSED)
    Atomics.notify(words, STATE)
    Atomics.notify(words, HEAD)
    this.#port.close()
  }
}

class SharedWriter {
  #writer
  #options
  /** @type {Set<Connection>} */
  #connections = new Set()
  /** Of threads that ended before the owner stopped. */
  #ended = { submitted: 0, taken: 0, queued: 0, dropped: 0, diverted: 0 }
  #onExit = () => {
    for (const connection of this.#connections) connection.close()
  }

  /** @param {Target} writer  @param {{ size: number, levels: Record<string, number> }} options */
  constructor (writer, options) {
    this.#writer = writer
    this.#options = options
    // Before the writer writes its last records.
    process.prependListener('exit', this.#onExit)
  }

  /**
   * Makes a ring, a piece of shared memory, for one thread.
   * @returns {Channel}
   */
  connect () {
    const connection = new Connection(this.#writer, this.#options, (ended) => {
      if (!this.#connections.delete(ended)) return
      add(this.#ended, countersOf(ended.ring))
    })
    this.#connections.add(connection)
    return connection.channel
  }

  /**
   * Counts the records of all threads together: submitted = taken + queued + dropped + diverted. `taken`: handed to the
   * log writer, whose own counters count them from then on.
   */
  counters () {
    const total = { ...this.#ended }
    for (const { ring } of this.#connections) add(total, countersOf(ring))
    return total
  }

  /** Takes what is in the rings. Later records of the threads go to standard error. The writer stays open. */
  close () {
    process.off('exit', this.#onExit)
    this.#onExit()
  }
}

/** @type {(total: Record<string, number>, more: Record<string, number>) => void} */
function add (total, more) {
  for (const name of Object.keys(total)) total[name] += more[name]
}

/**
 * Lets worker threads write to a log writer. Each record is in the log once, whole, and in the order of its thread. A
 * record is safe from `worker.terminate()` and from an error in the thread once `write` has returned. When the process
 * exits, what is in the rings is written first; a signal that ends the process takes it.
 * @param {Target} writer
 * @param {{ size?: number, levels?: Record<string, number> }} [options]  `size` in bytes, of each thread's ring: a
 *   power of two, 1 MiB by default. `levels` as those of the writer
 */
function shareWriter (writer, options = {}) {
  checkOptions('shareWriter', options, ['size', 'levels'])
  const { size = SIZE, levels = LEVELS } = options
  if (typeof writer?.write !== 'function') throw misuse('shareWriter: expected a LogWriter')
  if (!(typeof size === 'number' && size >= SIZE_MIN && size <= SIZE_MAX && Number.isInteger(Math.log2(size)))) {
    throw misuse(`shareWriter: size must be a power of two from ${SIZE_MIN} to ${SIZE_MAX}, got ${reasonOf(size)}`)
  }
  return new SharedWriter(writer, { size, levels })
}

exports.shareWriter = shareWriter
exports.SharedWriter = SharedWriter
