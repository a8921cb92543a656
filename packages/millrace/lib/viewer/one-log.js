'use strict'
// What the viewer needs of a log, for one that has one order of seqs: a file, a folder of segments, or one slot.

const path = require('node:path')

/**
 * @typedef {ArrayLike<number>} Numbers
 *
 * @typedef {object} Run  some records
 * @property {Buffer} buffer
 * @property {number} count
 * @property {Numbers} seqs
 * @property {Numbers} starts
 * @property {Numbers} ends
 * @property {number} [slot]  of the records, if there are slots
 * @property {import('@millrace/merged-log').Position} [beside]  where the other slots stand then
 *
 * @typedef {object} Range  The bounds are places, as `find` and `end` give them.
 * @property {any} [before]
 * @property {any} [from]
 * @property {any} [after]
 * @property {any} [upTo]
 * @property {boolean} [reverse]
 * @property {any} [where]
 * @property {number} [limit]
 * @property {AbortSignal} [signal]
 *
 * @typedef {object} OneFile  of a log
 * @property {string} path
 * @property {number} base  how much higher the seqs of the log are than its own
 * @property {import('@millrace/block-file').Storage | undefined} [storage]
 *
 * @typedef {OneFile & { name: string }} LogFile
 *
 * @typedef {object} Source  What the viewer needs of a log. It goes on after damage.
 * @property {string} filename
 * @property {boolean} isEstimable  whether looking at some records says how many there are
 * @property {() => OneLog[]} parts  the log itself, or those of the slots
 * @property {() => any} end  the place after the last record
 * @property {() => string | number} endText  the same for the page
 * @property {(text: string) => Promise<any>} find  the place that the page names. It throws if that names none
 * @property {(range: Range, onRun: (run: Run) => boolean | void) => Promise<{ lost: object }>} scan
 * @property {(key: string) => Promise<any>} get  the value of one record
 * @property {(run: Run) => number} shareAfter  how much of the log comes after the last record of a run, from 0 to 1
 * @property {(after: any, signal: AbortSignal) => AsyncIterable<News>} follow  waits for records
 *
 * @typedef {{ count: number, upTo: any, endText: string | number }} News  how many records came, and up to which place
 */

class OneLog {
  #log
  #listFiles
  #skip

  /**
   * @param {any} log  open for reading
   * @param {object} [options]
   * @param {number | null} [options.slot]  that the log has
   * @param {() => Promise<OneFile[]>} [options.listFiles]  of a log in a folder; by default there is one file
   */
  constructor (log, { slot = null, listFiles } = {}) {
    this.#log = log
    this.slot = slot
    this.filename = log.filename
    this.isEstimable = log.supports.onCorrupt
    this.#skip = log.supports.onCorrupt ? { onCorrupt: /** @type {const} */ ('skip') } : {}
    this.#listFiles = listFiles ?? (async () => [{ path: log.filename, base: 0 }])
  }

  parts () {
    return [this]
  }

  /** The seq of the last record. @returns {number} */
  end () {
    return this.#log.since.value
  }

  endText () {
    return this.end()
  }

  /** @param {string} text  of the page */
  async find (text) {
    const seq = Number(text)
    if (text !== '' && Number.isFinite(seq)) return seq
    throw new TypeError(`the viewer expected a number as a seq, got ${text}`)
  }

  /** What opening has found. @returns {{ damage: any[], isTailUnsynced: boolean }} */
  get recovery () {
    const { recovery } = this.#log
    const slot = this.slot === null ? {} : { slot: this.slot }
    return {
      damage: (recovery?.damage ?? []).map((/** @type {object} */ range) => ({ ...range, ...slot })),
      isTailUnsynced: Boolean(recovery?.uncopied ?? recovery?.unrestored)
    }
  }

  /** @returns {Promise<LogFile[]>} */
  async files () {
    const folder = this.slot === null ? '' : String(this.slot)
    const files = await this.#listFiles()
    return files.map((file) => ({ ...file, name: path.join(folder, path.basename(file.path)) }))
  }

  /** @type {Source['scan']} */
  scan ({ before, from, after, upTo, ...options }, onRun) {
    const bounds = Object.entries({ lt: before, gte: from, gt: after, lte: upTo })
    const given = Object.fromEntries(bounds.filter(([, seq]) => seq !== undefined))
    return this.#log.scan({ ...options, ...given, ...this.#skip }, onRun)
  }

  /** @param {string} key */
  async get (key) {
    return this.#log.get(await this.find(key))
  }

  /** @param {Run} run */
  shareAfter ({ seqs, count }) {
    return 1 - seqs[count - 1] / Math.max(1, this.end())
  }

  /**
   * @param {number} after
   * @param {AbortSignal} signal
   */
  async * follow (after, signal) {
    for (let seq = after; ;) {
      // It fails when the file was removed, replaced or cut off; the end of the log alone would say nothing.
      const next = this.#log.stream({ gt: seq, live: true, limit: 1, values: false, ...this.#skip, signal })
      for await (const found of next) if (typeof found === 'number') break
      let count = 0
      await this.scan({ after: seq, signal }, (run) => {
        count += run.count
        if (run.count > 0) seq = run.seqs[run.count - 1]
      })
      if (count > 0) yield { count, upTo: seq, endText: seq }
    }
  }
}

exports.OneLog = OneLog
