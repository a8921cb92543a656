'use strict'
// What a command has around it: its streams, and what they lead to; the signal that ends it; colours and progress.

const { once } = require('node:events')
const { watchOutput } = require('./output-watch')
const { formatDuration, formatSize } = require('./text')

const PROGRESS_MS = 100
// What is done sooner needs no bar.
const QUIET_MS = 400
const BAR_SIZE = 24
const STYLES = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 }

/** Nobody reads the output any more. */
class OutputClosed extends Error {}

/** The user does not want to wait any longer. */
class Interrupted extends Error {}

class Shell {
  #process
  #aborting = new AbortController()
  #needsOutput = true
  #isOutputClosed = false
  /** Why the output takes no more, if somebody reads it. @type {Error | null} */
  #outputError = null
  /** What was not written yet, and when it will be. */
  #waiting = ''
  /** @type {NodeJS.Signals | null} */
  #interrupt = null
  /** @type {Array<() => void>} */
  #cleanups = []

  /** @param {NodeJS.Process} process */
  constructor (process) {
    this.#process = process
    this.stdin = process.stdin
    this.stdout = process.stdout
    this.env = process.env
    /**
     * Aborted when the user interrupts the command, or when nobody reads its output any more.
     * @type {AbortSignal}
     */
    this.signal = this.#aborting.signal
    process.stdout.on('error', (err) => this.#onError(err))
    // What cannot be said is left out. A server goes on, also if its messages go to a full disk.
    process.stderr.on('error', () => {})
    for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.once(signal, () => this.#onSignal(signal))
  }

  /** Whether records go to a terminal, which must not be told what to do by them. */
  get isTerminal () {
    return Boolean(this.stdout.isTTY)
  }

  /** @param {any} err */
  #onError (err) {
    if (!this.#needsOutput) return
    const isClosed = err.code === 'EPIPE' || err.code === 'ERR_STREAM_DESTROYED'
    if (!isClosed && this.#outputError === null) this.#outputError = describeOutput(err)
    this.#endOutput()
  }

  /** @param {NodeJS.Signals} signal */
  #onSignal (signal) {
    this.#interrupt = signal
    this.#aborting.abort()
  }

  /**
   * Writes to standard output, and waits while the reader is behind.
   * @param {string | Uint8Array} text
   * @returns {Promise<void>}
   * @throws {OutputClosed}
   */
  async write (text) {
    if (this.#isOutputClosed) throw this.#closedError()
    if (this.stdout.write(text) || this.#isOutputClosed) return
    await once(this.stdout, 'drain', { signal: this.signal }).catch((err) => {
      throw this.#isOutputClosed ? this.#closedError() : err
    })
  }

  /** Ends the command, too, when nobody reads the output any more and there is nothing to write. */
  watchOutput () {
    watchOutput(this.stdout.fd, () => this.#endOutput())
  }

  /** The command goes on if its output takes no more. */
  outliveOutput () {
    this.#needsOutput = false
  }

  #endOutput () {
    this.#isOutputClosed = true
    this.#aborting.abort()
  }

  #closedError () {
    return this.#outputError ?? new OutputClosed('nobody reads the output')
  }

  /** Why the output could not be written, if it could not. */
  get outputError () {
    return this.#outputError
  }

  /**
   * @param {() => void} listener  runs at once if the command was interrupted before: an abort signal does not say it
   *   again
   */
  onAbort (listener) {
    if (this.signal.aborted) listener()
    else this.signal.addEventListener('abort', listener, { once: true })
  }

  /** @throws {Interrupted} */
  throwIfAborted () {
    if (this.#isOutputClosed) throw this.#closedError()
    if (this.signal.aborted) throw new Interrupted('interrupted')
  }

  /** @param {string} line  whose text is harmless */
  print (line) {
    this.#waiting += `${line}\n`
  }

  async flush () {
    const text = this.#waiting
    this.#waiting = ''
    if (text !== '') await this.write(text)
  }

  /** @param {string} text */
  writeNow (text) {
    this.stdout.write(text)
  }

  /** @param {string} text  for people, beside the output */
  complain (text) {
    this.#process.stderr.write(text)
  }

  /** Colours are for terminals only, and not for all of their users. */
  get hasColors () {
    return this.isTerminal && !this.env.NO_COLOR && this.env.TERM !== 'dumb'
  }

  /**
   * @param {keyof typeof STYLES} name
   * @param {string} text
   */
  style (name, text) {
    return this.hasColors ? `\u001b[${STYLES[name]}m${text}\u001b[0m` : text
  }

  /**
   * A bar with rate and time left, on standard error, if that is a terminal.
   * @param {string} label
   */
  progress (label) {
    const { stderr } = this.#process
    return new Progress(label, stderr.isTTY ? (text) => stderr.write(text) : null)
  }

  /** @param {() => void} cleanup  runs when the command is interrupted, before the process ends */
  onInterrupt (cleanup) {
    this.#cleanups.push(cleanup)
  }

  /** @param {number} code  of the process, unless it ends as a signal says */
  end (code) {
    this.#process.exitCode = code
    // Who reads standard input would be waited for.
    this.stdin.destroy()
    if (this.#interrupt === null) return
    for (const cleanup of this.#cleanups) cleanup()
    // So that a shell sees that it was interrupted, and ends its loop too.
    this.#process.kill(this.#process.pid, this.#interrupt)
  }
}

/** @param {NodeJS.ErrnoException} err */
function describeOutput (err) {
  const reason = err.code === 'ENOSPC' ? 'its disk is full; make room' : `${err.message}; check where it goes`
  return new Error(`the output could not be written: ${reason}, and run the command again`, { cause: err })
}

class Progress {
  #label
  #write
  #began = performance.now()
  #shown = 0

  /**
   * @param {string} label
   * @param {((text: string) => void) | null} write
   */
  constructor (label, write) {
    this.#label = label
    this.#write = write
  }

  /**
   * @param {number} done  bytes
   * @param {number} total  bytes; 0 if that is unknown
   */
  update (done, total) {
    const now = performance.now()
    if (this.#write === null || now - this.#began < QUIET_MS || now - this.#shown < PROGRESS_MS) return
    this.#shown = now
    const rate = done / Math.max(0.001, (now - this.#began) / 1000)
    this.#write(`\r\u001b[2K${this.#label} ${describeProgress(done, total, rate)}`)
  }

  /** Takes the bar away. */
  end () {
    if (this.#write !== null && this.#shown > 0) this.#write('\r\u001b[2K')
    this.#shown = 0
  }
}

/**
 * @param {number} done
 * @param {number} total
 * @param {number} rate  bytes a second
 */
function describeProgress (done, total, rate) {
  if (!(total > 0)) return `${formatSize(done)}  ${formatSize(rate)}/s`
  const part = Math.min(1, done / total)
  const filled = Math.round(part * BAR_SIZE)
  const bar = '#'.repeat(filled) + '-'.repeat(BAR_SIZE - filled)
  const left = rate > 0 ? `  ${formatDuration(Math.max(0, total - done) / rate)} left` : ''
  return `[${bar}] ${String(Math.floor(100 * part)).padStart(3)}%  ${formatSize(rate)}/s${left}`
}

exports.OutputClosed = OutputClosed
exports.Progress = Progress
exports.Shell = Shell
