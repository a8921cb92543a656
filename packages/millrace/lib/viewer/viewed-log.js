'use strict'
// The log behind the viewer: pages of rows, one record as a tree, searches, the time line, what is appended, damage.
// Each answer is bounded, whatever the size of the log or of a record, and stops when its signal aborts.

const fs = require('node:fs')
const path = require('node:path')
const { setTimeout: wait } = require('node:timers/promises')
const { verify } = require('@millrace/repair')
const { outline, descend } = require('./outline')
const { parseQuery } = require('./query')
const { estimate, toTimeline } = require('./timeline')

const PAGE_COUNT_MAX = 200
// Records of many megabytes must not fill the memory: a page ends after so many bytes, but not before its first record.
const PAGE_SIZE_MAX = 4 * 1024 * 1024
// What one search finds is bounded, too: whoever asks may read slowly.
const FOUND_COUNT_MAX = 1000
// Fewer would flicker, more often than this nobody can read.
const UPDATE_MS = 100
// So many records get their time read in a scan of all; the others are only counted.
const TIMED_COUNT_MAX = 4096
const RANGE_COUNT_MAX = 200

/**
 * @typedef {import('./one-log').Run} Run
 * @typedef {import('./one-log').Range} Range
 * @typedef {import('./records').Row} Row
 * @typedef {{ send: (answer: object) => Promise<void> | null, signal: AbortSignal }} Reply  `send` gives a promise if
 *   whoever reads is slow
 */

class ViewedLog {
  #source
  #identity
  #records
  /** The one that is under way. @type {{ listeners: Set<(answer: object) => void>, latest: object } | null} */
  #verification = null

  /**
   * @param {import('./one-log').Source} source  of an open log
   * @param {object} options
   * @param {{ framing: string | null, codec: string | null, paths?: string[] }} options.identity  what the file says of
   *   itself; `paths`: those of its index
   * @param {import('./records').Records} options.records
   */
  constructor (source, { identity, records }) {
    this.#source = source
    this.#identity = identity
    this.#records = records
  }

  /** What is known without reading the log. */
  async info () {
    const { filename, isEstimable } = this.#source
    const { framing, codec, paths = [] } = this.#identity
    const { size, mtimeMs } = await this.#measure()
    const parts = this.#source.parts()
    return {
      path: filename,
      name: path.basename(filename),
      framing,
      codec,
      ...(paths.length > 0 && { index: paths }),
      size,
      modified: mtimeMs,
      end: this.#source.endText(),
      ...(parts.some(({ slot }) => slot !== null) && { slotCount: parts.length }),
      // Looking at some records of it says how many there are.
      isEstimable,
      damage: parts.flatMap(({ recovery }) => recovery.damage),
      isTailUnsynced: parts.some(({ recovery }) => recovery.isTailUnsynced)
    }
  }

  /** All files together. */
  async #measure () {
    let [size, mtimeMs] = [0, 0]
    for (const { path: file } of await this.#files()) {
      const found = await fs.promises.stat(file).catch(ignoreGone)
      size += found?.size ?? 0
      mtimeMs = Math.max(mtimeMs, found?.mtimeMs ?? 0)
    }
    return { size, mtimeMs }
  }

  /** Of all parts, one part after the other. */
  async #files () {
    const files = await Promise.all(this.#source.parts().map(async (part) => {
      return (await part.files()).map((file) => ({ ...file, slot: part.slot }))
    }))
    return files.flat()
  }

  /**
   * A page of the list, newest first.
   * @param {{ before?: string, from?: string, after?: string, count?: number }} bounds  places: before one, from one
   *   on, or after one; without any the newest records
   * @param {AbortSignal} signal
   */
  async page ({ count = 50, ...bounds }, signal) {
    const limit = Math.min(count, PAGE_COUNT_MAX)
    const range = await this.#toRange(bounds)
    const { rows, lost, isCut } = await this.#collect({ ...range, signal }, limit)
    if (!range.reverse) rows.reverse()
    return { rows, lost, isLast: !isCut && rows.length < limit }
  }

  /**
   * @param {{ before?: string | undefined, from?: string | undefined, after?: string | undefined }} bounds
   * @returns {Promise<Range>}
   */
  async #toRange (bounds) {
    const given = Object.entries(bounds).filter(([, text]) => text !== undefined)
    const places = await Promise.all(given.map(async ([name, text]) => [name, await this.#source.find(text)]))
    return { reverse: bounds.from === undefined && bounds.after === undefined, ...Object.fromEntries(places) }
  }

  /**
   * One record as a tree, or a part of it.
   * @param {{ seq: string, path: Array<string | number>, from: number }} wanted
   */
  async record ({ seq, path, from }) {
    try {
      const { found, value } = descend(await this.#source.get(seq), path)
      return found ? { seq, tree: outline(value, from) } : { seq, error: 'there is no such member' }
    } catch (/** @type {any} */ err) {
      return { seq, error: err.message, code: err.code }
    }
  }

  /**
   * Searches from the newest record on, and sends what it finds as it finds it.
   * @param {{ query: string, before?: string, count?: number }} wanted  `before` a place
   * @param {Reply} reply
   */
  async search ({ query, before, count: wanted = 100 }, { send, signal }) {
    const count = Math.min(wanted, FOUND_COUNT_MAX)
    const { filter, passes } = this.#toFilter(query)
    let [found, done, sentMs] = [0, 0, -Infinity]
    await this.#source.scan({ ...await this.#toRange({ before }), ...filter, signal }, (run) => {
      for (let index = 0; index < run.count && found < count; index++) {
        if (!passes(run, index)) continue
        found++
        send({ row: this.#records.toRow(run, index) })
      }
      if (run.count > 0) done = this.#source.shareAfter(run)
      if (performance.now() - sentMs >= UPDATE_MS) {
        sentMs = performance.now()
        send({ done })
      }
      return found < count
    })
    send({ isDone: true, isLast: found < count })
  }

  /**
   * Tells what is appended, ten times a second at most: how many records, up to which place, and which ones pass.
   * @param {{ after: string, query?: string }} wanted  `after` a place
   * @param {Reply} reply
   */
  async tail ({ after: text, query = '' }, { send, signal }) {
    const { filter, passes } = this.#toFilter(query)
    let after = await this.#source.find(text)
    for await (const { count, upTo, endText } of this.#source.follow(after, signal)) {
      const range = { after, upTo, reverse: true, ...filter, signal }
      const { rows, isCut } = await this.#collect(range, PAGE_COUNT_MAX, passes)
      after = upTo
      await send({ rows, isCut: isCut || rows.length === PAGE_COUNT_MAX, end: endText, count })
      await wait(UPDATE_MS, undefined, { signal })
    }
  }

  /** @param {string} query */
  #toFilter (query) {
    const { where, texts } = parseQuery(query)
    const needles = texts.map((text) => Buffer.from(text))
    const passes = (/** @type {Run} */ { buffer, starts, ends }, /** @type {number} */ index) => {
      const bytes = buffer.subarray(starts[index], ends[index])
      return needles.every((needle) => bytes.includes(needle))
    }
    return { filter: where ? { where } : {}, passes }
  }

  /** The parts that have records. */
  #fullParts () {
    return this.#source.parts().filter((part) => part.end() !== -1)
  }

  /** @param {Reply} reply */
  async timeline ({ send, signal }) {
    // Seqs inside a legacy log can only be found by walking it from its start, which counts it as well.
    if (!this.#source.isEstimable) return this.count({ send, signal })
    const parts = this.#fullParts().map((part) => ({
      slot: part.slot,
      since: part.end(),
      probe: async (/** @type {number} */ seq) => {
        const { rows: [row] } = await this.#collect({ from: seq, signal }, 1, undefined, part)
        return row === undefined ? null : { ...row, seq: Number(row.seq) }
      }
    }))
    await estimate(parts, (timeline) => send({ timeline }), signal)
  }

  /**
   * Counts the records, and reads the time of a few thousand of them.
   * @param {Reply} reply
   */
  async count ({ send, signal }) {
    /** @type {Array<import('./timeline').Track & { count: number }>} */
    let tracks = []
    let [stride, count, timedCount, sentMs] = [1, 0, 0, performance.now()]
    const parts = this.#fullParts()
    for (const [index, part] of parts.entries()) {
      const since = part.end()
      tracks.push({ slot: part.slot, samples: [], count: 0 })
      await part.scan({ upTo: since, signal }, (run) => {
        for (let index = 0; index < run.count; index++) {
          count++
          const track = tracks[tracks.length - 1]
          if (track.count++ % stride !== 0) continue
          track.samples.push({ seq: run.seqs[index], time: this.#records.timeIn(run, index), count: stride })
          if (++timedCount < TIMED_COUNT_MAX) continue
          // Every second one is enough from now on.
          stride *= 2
          tracks = tracks.map(({ samples, ...track }) => ({ ...track, samples: everySecond(samples, stride) }))
          timedCount = tracks.reduce((sum, { samples }) => sum + samples.length, 0)
        }
        if (performance.now() - sentMs < UPDATE_MS) return
        sentMs = performance.now()
        send({ count, done: (index + run.seqs[run.count - 1] / Math.max(1, since)) / parts.length })
      })
    }
    const full = tracks.filter(({ samples }) => samples.length > 0)
    for (const { samples, count } of full) samples[samples.length - 1].count = count - (samples.length - 1) * stride
    if (full.length > 0) send({ timeline: toTimeline(full, true) })
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
    const files = await this.#files()
    /** @type {object[]} */
    const damage = []
    const all = { isSound: true, records: 0, mendable: 0, damage, damageCount: 0, damageSize: 0 }
    for (const [index, { path: file, name, base, storage, slot }] of files.entries()) {
      const place = (/** @type {import('@millrace/framing/survey').DamagedRange} */ { seqs, ...range }) => {
        const raised = seqs && { from: seqs.from + base, to: seqs.to + base }
        return { ...range, seqs: raised, ...(files.length > 1 && { file: name }), ...(slot !== null && { slot }) }
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
   * @param {Range} range
   * @param {number} limit
   * @param {(run: Run, index: number) => boolean} [passes]  by default every record
   * @param {Pick<import('./one-log').Source, 'scan'>} [source]  by default the whole log
   */
  async #collect (range, limit, passes, source = this.#source) {
    /** @type {Row[]} */
    const rows = []
    let [size, isCut] = [0, false]
    const { lost } = await source.scan({ ...range, ...(passes ? {} : { limit }) }, (run) => {
      for (let index = 0; index < run.count; index++) {
        if (passes && !passes(run, index)) continue
        if (rows.length === limit) return false
        size += run.ends[index] - run.starts[index]
        isCut = size > PAGE_SIZE_MAX && rows.length > 0
        if (isCut) return false
        rows.push(this.#records.toRow(run, index))
      }
    })
    return { rows, lost, isCut }
  }
}

/** @type {<T extends { count: number }>(samples: T[], count: number) => T[]} */
function everySecond (samples, count) {
  return samples.filter((_, index) => index % 2 === 0).map((sample) => ({ ...sample, count }))
}

/** A segment was dropped, or compressed, meanwhile. @param {NodeJS.ErrnoException} err @returns {undefined} */
function ignoreGone (err) {
  if (err.code !== 'ENOENT') throw err
}

exports.ViewedLog = ViewedLog
