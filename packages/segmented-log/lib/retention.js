'use strict'
// Drops the oldest segments: by the quota of the folder, by age, by count, or when asked. Holds keep what somebody
// still needs, up to a bound. All decisions are made from the names and sizes of the files, so what an earlier process
// left is counted too.

const path = require('node:path')
const { misuse } = require('@millrace/errors')
const { call, createObservable } = require('@millrace/flow')
const { checkHoldName, holdName } = require('./names')
const { ignoreMissing, list } = require('./opening')

/** What a segment may take beyond its size: headers of pages, and room that its writer reserves behind the end. */
const OVERHEAD = 1.01
const RESERVE_SIZE = 128 * 1024
const LANE_COUNT = 8
const TIMER_MS_MIN = 1000
const TIMER_MS_MAX = 3_600_000
/** Age is looked at so often in the time that records are kept. */
const LOOKS_PER_AGE = 10

/**
 * @typedef {import('./core').Core} Core
 * @typedef {import('./segments').Segment} Segment
 *
 * @typedef {object} Dropped
 * @property {number} count  how many segments
 * @property {number} size  of their files, in bytes
 * @property {number} first  the lowest seq that may still be read
 * @property {string[]} cutHolds  the names of the holds that needed them
 *
 * @typedef {object} Hold
 * @property {string} name
 * @property {number} seq  the records from this seq on are needed
 * @property {{ from: number, to: number } | null} cut  the seqs that were dropped all the same, `to` exclusive
 */

class Retention {
  #core
  /** One run at a time. @type {Promise<any>} */
  #turn = Promise.resolve()
  /** @type {NodeJS.Timeout | undefined} */
  #timer
  /** @type {import('@millrace/flow').Obz<Dropped>} */
  dropped = createObservable()
  /** Room that the upkeep needs for a file that it is making. */
  #reservedSize = 0

  /** @param {Core} core */
  constructor (core) {
    this.#core = core
  }

  start () {
    const { maxSize, maxAge, maxCount } = this.#core.options.limits
    if (Math.min(maxSize, maxAge, maxCount) === Infinity) return
    this.run().catch(() => {})
    if (maxAge === Infinity) return
    const ms = Math.min(TIMER_MS_MAX, Math.max(TIMER_MS_MIN, maxAge / LOOKS_PER_AGE))
    this.#timer = setInterval(() => this.run().catch(() => {}), ms)
    this.#timer.unref?.()
  }

  /** @returns {Promise<void>} once nothing is being dropped */
  async stop () {
    clearInterval(this.#timer)
    await this.#turn.catch(() => {})
  }

  /** Drops what the limits no longer allow. @returns {Promise<Dropped>} */
  run () {
    return this.inTurn(() => this.#run(false, 0))
  }

  /**
   * Drops so much that there is room for another file of this size, and keeps it until the next call.
   * @param {number} size  in bytes
   * @returns {Promise<boolean>}  whether there is room
   */
  async reserve (size) {
    this.#reservedSize = size
    const { limits: { maxSize } } = this.#core.options
    if (maxSize === Infinity || size === 0) return true
    return this.inTurn(async () => {
      await this.#run(false, 0)
      return await this.#measureFolder(false, await list(this.#core.folder, this.#core.options)) <= maxSize
    })
  }

  /** Drops so much that there is room for one more segment. It never fails: the quota is enforced again later. */
  async makeRoom () {
    if (this.#core.options.limits.maxSize === Infinity) return
    await this.inTurn(() => this.#run(true, 0)).catch(() => {})
  }

  /** @param {unknown} seq @returns {Promise<Dropped>} */
  async dropBefore (seq) {
    if (typeof seq !== 'number' || Number.isNaN(seq)) throw misuse(`dropBefore: expected a seq, got ${String(seq)}`)
    return this.inTurn(async () => {
      await call(this.#core.segments.last.log, 'sync')
      return this.#run(false, seq)
    })
  }

  /**
   * Runs an action while no other one drops or replaces files.
   * @template T
   * @param {() => Promise<T>} action
   * @returns {Promise<T>}
   */
  inTurn (action) {
    const result = this.#turn.catch(() => {}).then(action)
    this.#turn = result
    return result
  }

  /** @type {(makesRoom: boolean, before: number) => Promise<Dropped>} `makesRoom`: another segment will be made */
  async #run (makesRoom, before) {
    const { segments, options: { limits } } = this.#core
    const listing = await this.#removeLeftovers()
    const all = segments.list
    const needsSizes = limits.maxSize < Infinity || limits.maxHeldSize < Infinity
    if (needsSizes) await this.#measure(all)
    // The segment of the last durable record stays, and so does all behind it: `since` never falls, even if a power cut
    // takes what is not durable.
    const droppable = Math.max(0, all.findIndex(({ next }) => next === null || next.base > this.#core.durable.value))
    const heldFrom = listing.holds.reduce((least, { seq }) => Math.min(least, seq), Infinity)
    const held = heldFrom === Infinity ? all.length : all.indexOf(segments.find(heldFrom))
    const wanted = Math.max(this.#countOld(), all.length - limits.maxCount, this.#countBefore(before))
    const unheld = Math.min(wanted, Math.max(held, this.#countBeyondHeld(wanted, held)))
    const quota = limits.maxSize < Infinity ? await this.#countOverQuota(makesRoom, listing) : 0
    const count = Math.min(droppable, Math.max(unheld, quota))
    const cutHolds = listing.holds.filter(({ seq }) => count > 0 && seq < all[count].base).map(({ name }) => name)
    const size = all.slice(0, count).reduce((sum, { size }) => sum + (size ?? 0), 0)
    const dropped = { count, size, first: all[count].base, cutHolds }
    if (count > 0) await this.#drop(segments.dropFirst(count), listing)
    if (count > 0) this.dropped.set(dropped)
    return dropped
  }

  /** How many of the oldest segments have only records that are too old. */
  #countOld () {
    const { segments: { list }, options: { limits: { maxAge } } } = this.#core
    const limitMs = Date.now() - maxAge
    // A segment's last record is older than the segment behind it.
    const kept = list.findIndex(({ next }) => next === null || next.createdMs > limitMs)
    return kept
  }

  /** @param {number} seq */
  #countBefore (seq) {
    return this.#core.segments.list.findIndex(({ next }) => next === null || next.base > seq)
  }

  /** How many of the oldest go although a hold needs them: as many as are above the bound of what holds may keep. */
  #countBeyondHeld (/** @type {number} */ wanted, /** @type {number} */ held) {
    const { segments: { list }, options: { limits: { maxHeldSize } } } = this.#core
    let size = 0
    for (let index = wanted - 1; index >= held; index--) {
      size += list[index].size ?? 0
      if (size > maxHeldSize) return index + 1
    }
    return 0
  }

  /** @type {(makesRoom: boolean, listing: import('./names').Listing) => Promise<number>} */
  async #countOverQuota (makesRoom, listing) {
    const { segments: { list }, options: { limits: { maxSize } } } = this.#core
    let total = await this.#measureFolder(makesRoom, listing)
    let count = 0
    while (total > maxSize && count < list.length - 1) total -= list[count++].size ?? 0
    return count
  }

  /** @type {(makesRoom: boolean, listing: import('./names').Listing) => Promise<number>} in bytes */
  async #measureFolder (makesRoom, { beside: all, others }) {
    const { folder, segments: { list, last }, options: { segmentSize } } = this.#core
    // There is room for the file that is being made.
    const beside = all.filter(({ suffix }) => this.#reservedSize === 0 || !suffix.endsWith('.new'))
    const names = [...beside.map(({ name }) => name), ...others]
    const besideSizes = await this.#sizesOf(names.map((name) => path.join(folder, name)))
    const lastSize = /** @type {any} */ (last.file).store.end
    // The newest segment may still grow.
    const fullSize = segmentSize * OVERHEAD + RESERVE_SIZE
    let total = besideSizes.reduce((sum, size) => sum + size, 0)
    total += makesRoom ? lastSize + fullSize : Math.max(lastSize, fullSize)
    for (const { size, isActive } of list) if (!isActive) total += size ?? 0
    return total + this.#reservedSize
  }

  /** @param {Segment[]} all */
  async #measure (all) {
    const unknown = all.filter(({ size, isActive }) => size === null && !isActive)
    const sizes = await this.#sizesOf(unknown.map(({ filePath }) => filePath))
    unknown.forEach((segment, index) => { segment.size = sizes[index] })
  }

  /** Of files in bytes; 0 for one that is gone. @type {(paths: string[]) => Promise<number[]>} */
  async #sizesOf (paths) {
    const { storage } = this.#core.options
    const sizes = new Array(paths.length).fill(0)
    let index = 0
    const runLane = async () => {
      while (index < paths.length) {
        const own = index++
        const handle = await call(storage, 'open', paths[own], { flags: 'r', createFolder: false }).catch(ignoreMissing)
        if (!handle) continue
        sizes[own] = await call(handle, 'size').finally(() => call(handle, 'close'))
      }
    }
    await Promise.all(Array.from({ length: LANE_COUNT }, runLane))
    return sizes
  }

  /**
   * Removes the files of segments that were dropped, but not removed. Returns what is in the folder otherwise.
   * @returns {Promise<import('./names').Listing>}
   */
  async #removeLeftovers () {
    const { folder, options, segments } = this.#core
    const listing = await list(folder, options)
    const isLeft = ({ name = '' }) => Number(name.slice(0, 16)) < segments.first.base
    const segmentsLeft = listing.segments.filter(isLeft).map(({ name, format }) => name + (format?.suffix ?? ''))
    const left = [...listing.beside.filter(isLeft).map(({ name }) => name), ...segmentsLeft]
    for (const name of left) await call(options.storage, 'unlink', path.join(folder, name)).catch(ignoreMissing)
    if (left.length > 0) await call(options.storage, 'syncFolder', folder)
    listing.beside = listing.beside.filter((file) => !isLeft(file))
    return listing
  }

  /**
   * Removes segments, the oldest first, each durably before the next one: after a crash no segment is missing between
   * two others.
   * @type {(dropped: Segment[], listing: import('./names').Listing) => Promise<void>}
   */
  async #drop (dropped, { beside }) {
    const { folder, options: { storage }, segments } = this.#core
    for (const segment of dropped) {
      if (segment.pinCount === 0) await segments.close(segment).catch(() => {})
      const files = beside.filter(({ of }) => of === segment.name).map(({ name }) => name)
      for (const name of [...files, segment.fileName]) await call(storage, 'unlink', path.join(folder, name)).catch(ignoreMissing)
      await call(storage, 'syncFolder', folder)
    }
  }

  /** @returns {Promise<Hold[]>} */
  async holds () {
    const { folder, options, segments: { first } } = this.#core
    const { holds } = await list(folder, options)
    return holds.map(({ name, seq }) => ({ name, seq, cut: seq < first.base ? { from: seq, to: first.base } : null }))
  }

  /**
   * The hold is the name of an empty file, so it is stored with one rename.
   * @type {(name: unknown, seq: unknown) => Promise<void>}
   */
  async hold (name, seq) {
    checkHoldName('hold', name)
    if (!Number.isSafeInteger(seq)) throw misuse(`hold: expected the seq of the first record that is needed, got ${String(seq)}`)
    // Whoever has seen nothing yet needs what is kept.
    const needed = Number(seq) > 0 ? Number(seq) : this.#core.segments.first.base
    return this.inTurn(async () => {
      const { storage } = this.#core.options
      const [before, ...others] = await this.#holdFiles(name)
      const file = path.join(this.#core.folder, holdName(name, needed))
      if (before === undefined) await call(await call(storage, 'open', file, { flags: 'r+', createFolder: false }), 'close')
      else if (before !== file) await call(storage, 'rename', before, file)
      for (const other of others) if (other !== file) await call(storage, 'unlink', other)
      await call(storage, 'syncFolder', this.#core.folder)
    })
  }

  /** @param {unknown} name */
  async release (name) {
    checkHoldName('release', name)
    return this.inTurn(async () => {
      const { folder, options: { storage } } = this.#core
      const files = await this.#holdFiles(name)
      for (const file of files) await call(storage, 'unlink', file).catch(ignoreMissing)
      if (files.length > 0) await call(storage, 'syncFolder', folder)
    })
  }

  /** The files of a hold: at most one, unless somebody made more. @param {string} name @returns {Promise<string[]>} */
  async #holdFiles (name) {
    const { folder, options } = this.#core
    const { holds } = await list(folder, options)
    return holds.filter((hold) => hold.name === name).map(({ file }) => path.join(folder, file))
  }
}

exports.Retention = Retention
