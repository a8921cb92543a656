'use strict'
// Watches the log that is forwarded: tells when it has more, when it was closed, and which log takes its place.

const { clearInterval, setInterval } = require('node:timers')
const { onAbort } = require('@millrace/flow')

/** A log says nothing when it is closed or replaced, so it is asked so often. */
const LOOK_MS = 1000

/** Whether any program can change what a seq leads to. @param {any} log  loaded */
function isText ({ supports }) {
  return supports?.uniqueSeqs === false && supports.del === false
}

/** Another log, or another copy of this one, has its path. */
const REPLACED = ['ERR_LOG_REPLACED', 'ERR_FILE_MOVED']

/** Whether nothing more will come of a log. @param {any} err */
function isOver (err) {
  return err?.code === 'ERR_LOG_CLOSED' || REPLACED.includes(err?.code)
}

class LogWatch {
  /** Why the log can no longer be read, once it was found closed or replaced. @type {Error | null} */
  closed = null
  #log
  #onNews
  #timer
  #forgetSince

  /**
   * @param {any} log  loaded
   * @param {() => void} onNews  the log has more, or was found closed
   */
  constructor (log, onNews) {
    this.#log = log
    this.#onNews = onNews
    this.#timer = setInterval(() => this.refresh(), LOOK_MS).unref()
    this.#forgetSince = log.since(onNews, false)
  }

  stop () {
    clearInterval(this.#timer)
    this.#forgetSince()
  }

  /** Finds what another process, which writes the log, has appended so far. A failure is for the reader to notice. */
  async refresh () {
    await this.#log.ready().then(() => this.#log.refresh?.()).catch((/** @type {any} */ err) => {
      if (!isOver(err) || this.closed !== null) return
      this.closed = err
      this.#onNews()
    })
  }

  /** Whether the log was closed because a log writer is replacing it. */
  get isReplaced () {
    return this.closed !== null && Boolean(this.#log.replacedBy)
  }

  /**
   * A text that lost its name to another file is read to its end first: nobody else will. One that was cut or written
   * anew fails that read.
   * @param {boolean} hasLeft  whether the log has something that was not sent
   */
  throwIfClosed (hasLeft) {
    const isOld = hasLeft && isText(this.#log) && REPLACED.includes(/** @type {any} */ (this.closed)?.code)
    if (this.closed !== null && !isOld) throw this.closed
  }

  /**
   * Call it after a read: if a text was written anew meanwhile, what was read may be parts of lines.
   * @param {number} seq  after which was read
   */
  async checkText (seq) {
    if (!isText(this.#log)) return
    try {
      await this.#log.refresh?.()
    } catch (/** @type {any} */ err) {
      if (!REPLACED.includes(err.code)) throw err
      // It only fails if that was more than the name.
      await this.#log.scan({ gt: seq, limit: 1 }, () => false)
    }
  }
}

/**
 * The log that a log writer writes in place of another one.
 * @type {(log: any, signal: AbortSignal) => Promise<any>} null if there is none, or if the signal ends the wait
 */
async function findNext ({ replacedBy }, signal) {
  if (!replacedBy || signal.aborted) return null
  let forget = () => {}
  const ended = new Promise((resolve) => { forget = onAbort(signal, () => resolve(null)) })
  return Promise.race([replacedBy, ended]).finally(() => forget())
}

exports.REPLACED = REPLACED
exports.isOver = isOver
exports.isText = isText
exports.LogWatch = LogWatch
exports.findNext = findNext
