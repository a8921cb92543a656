'use strict'
// The log behind the viewer: pages of rows, one record as a tree, searches, the time line, what is appended, damage.
// Each answer is bounded, whatever the size of the log or of a record, and stops when its signal aborts.

const fs = require('node:fs')
const path = require('node:path')
const { setTimeout: wait } = require('node:timers/promises')
const { verify } = require('@millrace/repair')
const { summarize, outline, descend } = require('./outline')
const { estimate, toTimeline } = require('./timeline')
const { readTime } = require('./times')

const PAGE_COUNT_MAX = 200
// Records of many megabytes must not fill the memory: a page ends after so many bytes, but not before its first record.
const PAGE_SIZE_MAX = 4 * 1024 * 1024
const LINE_SIZE_MAX = 300
// What one search finds is bounded, too: whoever asks may read slowly.
const FOUND_COUNT_MAX = 1000
// Fewer would flicker, more often than this nobody can read.
const UPDATE_MS = 100
// So many records get their time read in a scan of all; the others are only counted.
const TIMED_COUNT_MAX = 4096
const RANGE_COUNT_MAX = 200

/**
 * @typedef {import('@millrace/offset-log').OffsetLog<any>} OffsetLog
 * @typedef {import('@millrace/offset-log').Codec<any>} Codec
 * @typedef {ArrayLike<number>} Numbers
 * @typedef {{ buffer: Buffer, count: number, seqs: Numbers, starts: Numbers, ends: Numbers }} Run  some records
 * @typedef {{ send: (answer: object) => Promise<void> | null, signal: AbortSignal }} Reply  `send` gives a promise if
 *   whoever reads is slow
 */

/**
 * @typedef {object} Row
 * @property {number} seq
 * @property {number} size  in bytes
 * @property {number | null} time  ms since 1970
 * @property {string} text  one line
 * @property {string} [error]  why the record does not decode; then `text` shows its bytes
 */

/** A file of the log. `base`: how much higher the seqs of the log are than its own. */
/** @typedef {{ path: string, base: number, storage?: import('@millrace/block-file').Storage | undefined }} LogFile */

class ViewedLog {
  #log
  #identity
  #listFiles
  #codec
  #skip
  #timePath
  /** The one that is under way. @type {{ listeners: Set<(answer: object) => void>, latest: object } | null} */
  #verification = null

  /**
   * @param {OffsetLog} log  open for reading
   * @param {object} options
   * @param {{ framing: string | null, codec: string | null }} options.identity  what the file says of itself
   * @param {Codec} options.codec  of the log
   * @param {string[]} [options.timePath]  the member that is a record's time; by default wherever a logger writes it
   * @param {(text: string) => { where: any, texts: string[] }} options.parseQuery
   * @param {() => Promise<LogFile[]>} [options.listFiles]  of a log in a folder; by default there is one file
   */
  constructor (log, { identity, codec, timePath, parseQuery, listFiles }) {
    /** @type {LogFile} */
    const only = { path: log.filename, base: 0 }
    this.#listFiles = listFiles ?? (async () => [only])
    this.#log = log
    this.#identity = identity
    this.#codec = codec
    this.#timePath = timePath ?? null
    this.#skip = log.supports.onCorrupt ? { onCorrupt: /** @type {const} */ ('skip') } : {}
    this.parseQuery = parseQuery
  }

  /** The seq of the last record: the log is open. */
  get #since () {
    return /** @type {number} */ (this.#log.since.value)
  }

  /** What is known without reading the log. */
  async info () {
    const { filename, since, recovery } = this.#log
    const { framing, codec } = this.#identity
    const { size, mtimeMs } = await this.#measure()
    return {
      path: filename,
      name: path.basename(filename),
      framing,
      codec,
      size,
      modified: mtimeMs,
      since: since.value,
      // Looking at some records of it says how many there are.
      isEstimable: this.#log.supports.onCorrupt,
      damage: recovery?.damage ?? [],
      isTailUnsynced: Boolean(recovery?.uncopied ?? recovery?.unrestored)
    }
  }

  /** All files together. */
  async #measure () {
    let [size, mtimeMs] = [0, 0]
    for (const { path: file } of await this.#listFiles()) {
      const found = await fs.promises.stat(file).catch(ignoreGone)
      size += found?.size ?? 0
      mtimeMs = Math.max(mtimeMs, found?.mtimeMs ?? 0)
    }
    return { size, mtimeMs }
  }

  /**
   * A page of the list, newest first.
   * @param {{ before?: number, from?: number, count?: number }} bounds  `before` a seq, or from a seq on; without
   *   either the newest records
   * @param {AbortSignal} signal
   */
  async page ({ before, from, count = 50 }, signal) {
    const limit = Math.min(count, PAGE_COUNT_MAX)
    const older = { reverse: true, ...(before === undefined ? {} : { lt: before }) }
    const range = from === undefined ? older : { gte: from }
    const { rows, lost, isCut } = await this.#collect({ ...range, ...this.#skip, signal }, limit)
    if (from !== undefined) rows.reverse()
    return { rows, lost, isLast: !isCut && rows.length < limit }
  }

  /**
   * One record as a tree, or a part of it.
   * @param {{ seq: number, path: Array<string | number>, from: number }} wanted
   */
  async record ({ seq, path, from }) {
    try {
      const { found, value } = descend(await this.#log.get(seq), path)
      return found ? { seq, tree: outline(value, from) } : { seq, error: 'there is no such member' }
    } catch (/** @type {any} */ err) {
      return { seq, error: err.message, code: err.code }
    }
  }

  /**
   * Searches from the newest record on, and sends what it finds as it finds it.
   * @param {{ query: string, before?: number, count?: number }} wanted
   * @param {Reply} reply
   */
  async search ({ query, before, count: wanted = 100 }, { send, signal }) {
    const count = Math.min(wanted, FOUND_COUNT_MAX)
    const { filter, passes } = this.#toFilter(query)
    const range = { reverse: true, ...(before === undefined ? {} : { lt: before }), ...filter }
    let [found, sentMs] = [0, -Infinity]
    let seq = this.#since
    await this.#log.scan({ ...range, ...this.#skip, signal }, (/** @type {Run} */ run) => {
      for (let index = 0; index < run.count && found < count; index++) {
        if (!passes(run, index)) continue
        found++
        send({ row: this.#toRow(run, index) })
      }
      if (run.count > 0) seq = run.seqs[run.count - 1]
      if (performance.now() - sentMs >= UPDATE_MS) {
        sentMs = performance.now()
        send({ seq })
      }
      return found < count
    })
    send({ isDone: true, isLast: found < count })
  }

  /**
   * Tells what is appended, ten times a second at most: how many records, up to which seq, and which ones pass.
   * @param {{ after: number, query?: string }} wanted
   * @param {Reply} reply
   */
  async tail ({ after, query = '' }, { send, signal }) {
    const { filter, passes } = this.#toFilter(query)
    let seq = after
    while (!signal.aborted) {
      // It fails when the file was removed, replaced or cut off; `since` alone would say nothing.
      const next = this.#log.stream({ gt: seq, live: true, limit: 1, values: false, ...this.#skip, signal })
      for await (const found of next) if (typeof found === 'number') break
      const { count, last } = await this.#countAfter(seq, signal)
      if (count > 0) {
        const range = { gt: seq, lte: last, reverse: true, ...filter, ...this.#skip, signal }
        const { rows, isCut } = await this.#collect(range, PAGE_COUNT_MAX, passes)
        seq = last
        await send({ rows, isCut: isCut || rows.length === PAGE_COUNT_MAX, since: seq, count })
      }
      await wait(UPDATE_MS, undefined, { signal })
    }
  }

  /** @param {number} seq  @param {AbortSignal} signal */
  async #countAfter (seq, signal) {
    let [count, last] = [0, seq]
    await this.#log.scan({ gt: seq, ...this.#skip, signal }, (/** @type {Run} */ run) => {
      count += run.count
      if (run.count > 0) last = run.seqs[run.count - 1]
    })
    return { count, last }
  }

  /** @param {string} query */
  #toFilter (query) {
    const { where, texts } = this.parseQuery(query)
    const needles = texts.map((text) => Buffer.from(text))
    const passes = (/** @type {Run} */ { buffer, starts, ends }, /** @type {number} */ index) => {
      const bytes = buffer.subarray(starts[index], ends[index])
      return needles.every((needle) => bytes.includes(needle))
    }
    return { filter: where ? { where } : {}, passes }
  }

  /** @param {Reply} reply */
  async timeline ({ send, signal }) {
    const since = this.#since
    if (since === -1) return
    // Seqs inside a legacy log can only be found by walking it from its start, which counts it as well.
    if (!this.#log.supports.onCorrupt) return this.count({ send, signal })
    const probe = async (/** @type {number} */ seq) => {
      const { rows: [row] } = await this.#collect({ gte: seq, ...this.#skip, signal }, 1)
      return row ?? null
    }
    await estimate(probe, since, (timeline) => send({ timeline }), signal)
  }

  /**
   * Counts the records, and reads the time of a few thousand of them.
   * @param {Reply} reply
   */
  async count ({ send, signal }) {
    const since = this.#since
    /** @type {import('./timeline').Sample[]} */
    let samples = []
    let [stride, count, sentMs] = [1, 0, performance.now()]
    await this.#log.scan({ ...this.#skip, lte: since, signal }, (/** @type {Run} */ run) => {
      for (let index = 0; index < run.count; index++) {
        if (count++ % stride !== 0) continue
        const time = readTime(this.#decode(run, index).value, this.#timePath)
        samples.push({ seq: run.seqs[index], time, count: stride })
        if (samples.length < TIMED_COUNT_MAX) continue
        // Every second one is enough from now on.
        stride *= 2
        samples = samples.filter((_, index) => index % 2 === 0).map((sample) => ({ ...sample, count: stride }))
      }
      if (performance.now() - sentMs < UPDATE_MS) return
      sentMs = performance.now()
      send({ count, done: run.seqs[run.count - 1] / Math.max(1, since) })
    })
    if (samples.length > 0) {
      samples[samples.length - 1].count = count - (samples.length - 1) * stride
      send({ timeline: toTimeline(samples, true) })
    }
    send({ count, done: 1 })
  }

  /**
   * Verifies the log, and tells how far it is, what is damaged, and the result. All who ask meanwhile get the same.
   * @param {Reply} reply
   */
  async verify ({ send, signal }) {
    const job = (this.#verification ??= this.#startVerification())
    await new Promise((resolve) => {
      const listener = (/** @type {any} */ answer) => {
        send(answer)
        if (answer.report || answer.error) resolve(null)
      }
      job.listeners.add(listener)
      signal.addEventListener('abort', () => {
        job.listeners.delete(listener)
        resolve(null)
      }, { once: true })
      listener(job.latest)
    })
  }

  #startVerification () {
    const job = { listeners: new Set(), latest: /** @type {object} */ ({ done: 0 }) }
    const tell = (/** @type {object} */ answer) => {
      job.latest = answer
      for (const listener of job.listeners) listener(answer)
    }
    let sentMs = -Infinity
    this.#verifyFiles({
      onDamage: (range) => { for (const listener of job.listeners) listener({ damage: range }) },
      onProgress: (done) => {
        if (performance.now() - sentMs < UPDATE_MS) return
        sentMs = performance.now()
        tell({ done })
      }
    }).then((report) => tell({ report }), (err) => tell({ error: err.message })).finally(() => {
      this.#verification = null
    })
    return job
  }

  /**
   * One after the other.
   * @param {{ onDamage: (range: object) => void, onProgress: (done: number) => void }} how  `done`: from 0 to 1
   * @returns {Promise<object>}  the parts of a report that the page shows
   */
  async #verifyFiles ({ onDamage, onProgress }) {
    const files = await this.#listFiles()
    /** @type {object[]} */
    const damage = []
    const all = { isSound: true, records: 0, mendable: 0, damage, damageCount: 0, damageSize: 0 }
    for (const [index, { path: file, base, storage }] of files.entries()) {
      const place = (/** @type {import('@millrace/framing/survey').DamagedRange} */ { seqs, ...range }) => {
        const raised = seqs && { from: seqs.from + base, to: seqs.to + base }
        return { ...range, seqs: raised, ...(files.length > 1 && { file: path.basename(file) }) }
      }
      const report = await verify(file, {
        storage,
        rangesMax: RANGE_COUNT_MAX,
        onDamage: (range) => onDamage(place(range)),
        onProgress: ({ position, size }) => onProgress((index + position / Math.max(1, size)) / files.length)
      }).catch(ignoreGone)
      if (!report) continue
      all.isSound &&= report.isSound
      all.records += report.records
      all.mendable += report.mendable
      all.damageCount += report.damageCount
      all.damageSize += report.damageSize
      damage.push(...report.damage.slice(0, RANGE_COUNT_MAX - damage.length).map(place))
    }
    return all
  }

  /**
   * @param {object} options  of the scan
   * @param {number} limit
   * @param {(run: Run, index: number) => boolean} [passes]  by default every record
   */
  async #collect (options, limit, passes) {
    /** @type {Row[]} */
    const rows = []
    let [size, isCut] = [0, false]
    const { lost } = await this.#log.scan({ ...options, ...(passes ? {} : { limit }) }, (/** @type {Run} */ run) => {
      for (let index = 0; index < run.count; index++) {
        if (passes && !passes(run, index)) continue
        if (rows.length === limit) return false
        size += run.ends[index] - run.starts[index]
        isCut = size > PAGE_SIZE_MAX && rows.length > 0
        if (isCut) return false
        rows.push(this.#toRow(run, index))
      }
    })
    return { rows, lost, isCut }
  }

  /**
   * @param {Run} run
   * @param {number} index
   * @returns {Row}
   */
  #toRow (run, index) {
    const { value, error } = this.#decode(run, index)
    const row = {
      seq: run.seqs[index],
      size: run.ends[index] - run.starts[index],
      time: readTime(value, this.#timePath),
      text: summarize(value, LINE_SIZE_MAX)
    }
    return error === null ? row : { ...row, error }
  }

  /**
   * @param {Run} run
   * @param {number} index
   * @returns {{ value: unknown, error: string | null }}  the record's bytes if it does not decode
   */
  #decode ({ buffer, starts, ends }, index) {
    const codec = this.#codec
    const [start, end] = [starts[index], ends[index]]
    try {
      if (codec.decodeRange) return { value: codec.decodeRange(buffer, start, end), error: null }
      const bytes = codec.buffer ? Buffer.from(buffer.subarray(start, end)) : buffer.toString('utf8', start, end)
      return { value: codec.decode(bytes), error: null }
    } catch (/** @type {any} */ err) {
      return { value: buffer.subarray(start, end), error: String(err?.message ?? err) }
    }
  }
}

/** A segment was dropped, or compressed, meanwhile. @param {NodeJS.ErrnoException} err @returns {undefined} */
function ignoreGone (err) {
  if (err.code !== 'ENOENT') throw err
}

exports.ViewedLog = ViewedLog
