'use strict'
// The destination: an object with the methods that pino calls, in front of a log writer.

const { EventEmitter } = require('node:events')
const { nextTick } = require('node:process')
const { StringDecoder } = require('node:string_decoder')
const { clearTimeout, setTimeout } = require('node:timers')
const { misuse, timerMs } = require('@millrace/errors')
const { LogWriter, warnOnce } = require('@millrace/log-writer')
const { checkLine, looksWhole, trimEnd } = require('./lines')
const { openTarget, parseDrain, parseOptions } = require('./options')

// pino sets the properties last... of a destination that has this one.
const METADATA = Symbol.for('pino.metadata')
const HOOKS = Symbol.for('pino.hooks')
// A text without an end of line is kept until the rest comes, but not for ever.
const REST_LENGTH_MAX = 1024 * 1024

/**
 * @typedef {import('./options').DestinationOptions} DestinationOptions
 * @typedef {import('./options').Log} Log
 * @typedef {{ [HOOKS]?: { streamWrite?: unknown } }} Logger
 * @typedef {{ levels?: { values: Record<string, number> }, messageKey?: string }} PinoConfig
 */

/** @template {Log} [L=Log] @typedef {import('@millrace/log-writer').OpenWriter<L>} Writer */

/**
 * @template {Log} [L=Log]  the kind of log that is written
 */
class DestinationStream extends EventEmitter {
  #options
  /** @type {import('./options').Target} */
  #target
  /** @type {Writer} */
  #writer
  #messageKey = 'msg'
  /** Whether pino has just set the metadata of the line that comes next. */
  #isAnnounced = false
  /** Whether a line of the logger that was made last was parsed: its timestamp function may give no JSON. */
  #isProven = false
  /** @type {Logger | undefined} */
  #lastLogger
  /** The begin of a line that does not come from pino. */
  #rest = ''
  #decoder = new StringDecoder()
  #isDraining = false
  /** @type {Promise<void> | null} */
  #closing = null
  /** Earlier targets that are being closed. @type {Set<Promise<void>>} */
  #replaced = new Set()
  #flushRest = () => this.#writeRest();

  [METADATA] = true
  writable = true
  destroyed = false
  /** What pino said about the last line: its level, object, message and time. */
  lastLevel = /** @type {number | string | undefined} */ (undefined)
  lastObj = /** @type {unknown} */ (undefined)
  lastMsg = /** @type {unknown} */ (undefined)
  lastTime = /** @type {unknown} */ (undefined)

  /**
   * @param {string | URL | Log} target
   * @param {DestinationOptions} [options]
   */
  constructor (target, options) {
    super()
    this.#options = parseOptions(options)
    this.#target = this.#open(target)
    this.#writer = this.#createWriter()
    this.on('message', (/** @type {{ code?: string, config?: PinoConfig }} */ { code, config }) => {
      if (code === 'PINO_CONFIG' && config) this.#configure(config)
    })
  }

  /** pino sets it last. */
  get lastLogger () {
    return this.#lastLogger
  }

  set lastLogger (logger) {
    this.#lastLogger = logger
    this.#isAnnounced = true
  }

  /** The log writer, with its counters and levels. @returns {Writer<L>} */
  get writer () {
    return /** @type {any} */ (this.#writer)
  }

  /** The log that is written now. @returns {L} */
  get log () {
    return this.writer.log
  }

  /** @param {string | URL | Log} target */
  #open (target) {
    return openTarget(target, this.#options)
  }

  /** @returns {Writer} */
  #createWriter () {
    const warn = warnOnce()
    const writer = LogWriter(this.#target.log, {
      onReport: (err) => this.listenerCount('error') > 0 ? this.emit('error', err) : warn(err),
      ...(this.#target.replace && { replace: this.#target.replace }),
      ...this.#options.writer,
      onDrop: (record) => this.emit('drop', Buffer.from(record).toString())
    })
    this.#target.log.ready(() => nextTick(() => this.emit('ready')))
    return writer
  }

  /** @param {PinoConfig} config  of a logger that was made with this destination */
  #configure ({ levels, messageKey }) {
    this.#isProven = false
    if (messageKey) this.#messageKey = messageKey
    if (levels) this.#writer.addLevels(levels.values)
  }

  /**
   * Takes a line of pino; or text of others that may hold several lines, and parts of lines. A line is stored as its
   * bytes are, without the end of line. Text that is not a JSON object becomes the `msg` of one. Of pino's lines only
   * the first one of each logger is parsed to find that out, and of later ones the first and the last character are
   * looked at; with a hook `streamWrite` every line is parsed. The level of a line that is not from pino is found in
   * it.
   * @param {string | Uint8Array} chunk
   * @returns {boolean}  false: wait for `drain`
   */
  write (chunk) {
    const hasRoom = this.#isAnnounced ? this.#writePino(String(chunk)) : this.#writeForeign(chunk)
    if (!hasRoom && !this.#isDraining) this.#tellDrained()
    return hasRoom
  }

  /** @param {string} line */
  #writePino (line) {
    this.#isAnnounced = false
    const text = trimEnd(line)
    const level = this.lastLevel
    const isMade = this.#isProven && this.#lastLogger?.[HOOKS]?.streamWrite === undefined
    if (isMade && looksWhole(text)) return this.#store(text, level)
    const checked = checkLine(text, { level, messageKey: this.#messageKey })
    this.#isProven = checked.text === text
    return this.#store(checked.text, checked.level)
  }

  /** @type {(text: string, level: any) => boolean} */
  #store (text, level) {
    const { redact, tee } = this.#options
    const line = redact === null ? text : redact(text)
    const hasRoom = this.#writer.write(line, level)
    if (tee !== null && this.#writer.isEnabled(level)) tee.write(line)
    return hasRoom
  }

  /** @param {string | Uint8Array} chunk */
  #writeForeign (chunk) {
    const text = typeof chunk === 'string' ? chunk : this.#decoder.write(Buffer.from(chunk))
    const end = text.lastIndexOf('\n')
    let hasRoom = true
    if (end !== -1) {
      const whole = this.#rest + text.slice(0, end)
      this.#setRest(text.slice(end + 1))
      for (const line of whole.split('\n')) hasRoom = this.#writeChecked(line) && hasRoom
    } else {
      this.#setRest(this.#rest + text)
    }
    return this.#rest.length > REST_LENGTH_MAX ? this.#writeRest() : hasRoom
  }

  /** @param {string} line */
  #writeChecked (line) {
    const text = trimEnd(line)
    if (text === '') return true
    const checked = checkLine(text, { level: undefined, messageKey: this.#messageKey })
    return this.#store(checked.text, checked.level)
  }

  /** @param {string} rest */
  #setRest (rest) {
    if (rest !== '' && this.#rest === '') process.on('exit', this.#flushRest)
    if (rest === '' && this.#rest !== '') process.off('exit', this.#flushRest)
    this.#rest = rest
  }

  #writeRest () {
    const rest = this.#rest + this.#decoder.end()
    this.#setRest('')
    return this.#writeChecked(rest)
  }

  async #tellDrained () {
    this.#isDraining = true
    await this.#writer.drained({ unref: true })
    this.#isDraining = false
    this.#emitAll('drain')
  }

  /**
   * Calls back when all earlier lines are synced. `logger.flush(cb)` calls it.
   * @param {((err?: Error) => void) | null} [cb]
   */
  flush (cb) {
    if (cb != null && typeof cb !== 'function') throw misuse('flush: the callback must be a function')
    this.#writeRest()
    const done = cb ?? ignore
    this.#writer.flush().then(() => nextTick(done), (/** @type {Error} */ err) => nextTick(done, err))
  }

  /**
   * Syncs all earlier lines before it returns. Never throws.
   * @returns {boolean}  false if something is not in the log
   */
  flushSync () {
    this.#writeRest()
    return this.#writer.flushSync()
  }

  /**
   * For a program that may be stopped at any time after a deadline: flushes, and waits until a forwarder has sent what
   * is in the log.
   * @param {{ withinMs: number, forwarder?: { drained: (options: any) => Promise<unknown> } }} options  `withinMs`: for
   *   how long to wait at most. `forwarder`: of the log, if there is one
   * @returns {Promise<boolean>}  false if the time was too short, or something failed; it goes on
   */
  async drain (options) {
    const { withinMs, forwarder } = parseDrain(options)
    const work = this.#writer.flush().then(() => forwarder?.drained({ unref: true })).then(() => true, () => false)
    /** @type {NodeJS.Timeout | undefined} */
    let timer
    const late = new Promise((resolve) => { timer = setTimeout(resolve, timerMs(withinMs), false) })
    const isDone = await Promise.race([work, late])
    clearTimeout(timer)
    return isDone
  }

  /** How many lines the option `tee` has left out. */
  get teeSkippedCount () {
    return this.#options.tee?.skippedCount ?? 0
  }

  /**
   * Waits until the log is open, or opening has failed. It never fails: the event `error` has the reason.
   * @returns {Promise<void>}
   */
  ready () {
    return new Promise((resolve) => this.log.ready(() => resolve()))
  }

  /** Writes what waits, and closes. Emits `finish` and `close`. Later lines go to standard error. */
  end () {
    if (this.#closing) return this
    this.close().then(() => this.#emitAll('finish', 'close'))
    return this
  }

  /** The same, without `finish`. Nothing that was written is lost. */
  destroy () {
    if (this.#closing) return
    this.close().then(() => this.#emitAll('close'))
  }

  /** Writes what waits, and closes. Later lines go to standard error. @returns {Promise<void>} */
  close () {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close () {
    this.writable = false
    this.destroyed = true
    this.#writeRest()
    await Promise.all([...this.#replaced, closeTarget(this.#writer, this.#target)])
  }

  async [Symbol.asyncDispose] () {
    await this.close()
  }

  /**
   * With a target, later lines go there. Without one, they go into a new segment, if the log has segments. Emits
   * `ready` and `drain`.
   * @param {string | URL | Log} [target]
   */
  reopen (target) {
    if (this.#closing) return
    this.#writeRest()
    if (target === undefined) {
      this.#roll()
      return
    }
    this.#writer.flushSync()
    const closing = closeTarget(this.#writer, this.#target)
    this.#replaced.add(closing)
    closing.then(() => this.#replaced.delete(closing))
    this.#target = this.#open(target)
    this.#writer = this.#createWriter()
    this.once('ready', () => this.emit('drain'))
  }

  async #roll () {
    const { log } = this
    try {
      await this.#writer.flush()
      if ('roll' in log && typeof log.roll === 'function') await log.roll()
    } catch {
      // The writer has reported it, or will when it writes.
    }
    this.#emitAll('ready', 'drain')
  }

  /**
   * Emits events from the event loop: what a listener throws rejects no promise, and takes no later event.
   * @param {string[]} names
   */
  #emitAll (...names) {
    for (const name of names) nextTick(() => this.emit(name))
  }
}

function ignore () {}

/**
 * @param {Writer} writer
 * @param {import('./options').Target} target
 */
async function closeTarget (writer, { log, isOwned }) {
  try {
    await writer.close()
    await /** @type {Promise<void>} */ (new Promise((resolve, reject) => {
      if (isOwned) log.close((err) => err ? reject(err) : resolve())
      else resolve()
    }))
  } catch {
    // What could not be written is on standard error and counted.
  }
}

/**
 * Makes a destination for pino in this process. Events: `ready` (the log is open, or opening has failed), `drain`
 * (there is room again after `write` returned false, or `reopen` is done), `drop` (a line was dropped; the listener
 * gets it), `error` (a failure; if nobody listens, the first one with each code is a warning of the process), `finish`
 * and `close` (after `end`).
 * @param {string | URL | Log} target  a folder, for a segmented log; or a Log that was opened with the codec `lines` of
 *   `@millrace/log-writer`. A Log has its own limits, and is not closed, unless it cannot be used any more: then the
 *   destination closes it, and opens it again with the same options
 * @param {DestinationOptions} [options]
 * @returns {DestinationStream}
 */
function destination (target, options) {
  return new DestinationStream(target, options)
}

/**
 * @template {Log} [L=import('@millrace/segmented-log').SegmentedLog]
 * @typedef {DestinationStream<L>} Destination
 */

/**
 * By the target: `log` is a segmented log in a folder, the log of a slot if several processes write the folder, or the
 * log that was given.
 * @typedef {{
 *   (target: string | URL, options: DestinationOptions & { slots: number | true }):
 *     Destination<import('@millrace/merged-log').SlotLog>
 *   (target: string | URL, options?: DestinationOptions): Destination
 *   <L extends Log>(target: L, options?: DestinationOptions): Destination<L>
 *   (target: string | URL | Log, options?: DestinationOptions): Destination<Log>
 * }} CreateDestination
 */

/** @type {CreateDestination} */
exports.destination = /** @type {any} */ (destination)
