'use strict'
// Drops the oldest segments: by the quota of the folder, by age, by count, or when asked. Holds keep what somebody
// still needs, up to a bound. The option `keep` leaves the chosen records of a segment for longer: see keeping.js.
// Decisions are made from the names and sizes of the files, so what an earlier process left is counted too. A steady
// clock helps to say what is old.

const path = require('node:path')
const { isHeld } = require('@millrace/block-file')
const { misuse, reasonOf } = require('@millrace/errors')
const { ClockWatch, boundParts, countOld, createObservable, inLanes, isPlausible, oldUntil, promisesOf } = require('@millrace/flow')
const { sumsSizeOf } = require('@millrace/offset-log/composing')
const { formats } = require('./compressed/formats')
const { ignoreMissing, removeUnlessHeld, sizeOf } = require('./files')
const { isHopeless, keepChosen } = require('./keeping')
const { isKeptMark, keptName } = require('./names')
const { SUMS, list } = require('./opening')
const { canDropBusy } = require('./rewriting')

/** What a segment may take beyond its size: headers of pages, and room that its writer reserves after the end. */
const OVERHEAD = 1.01
const RESERVE_SIZE = 128 * 1024
const LANE_COUNT = 8
/** One run makes so many of the oldest segments ready to be dropped without waiting. */
const PROVEN_COUNT = 8
const TIMER_MS_MIN = 1000
const TIMER_MS_MAX = 3_600_000
/** Ends a copy when the log is closed. */
const STOPPED = new Error('the retention was stopped')
/** How often to try again to remove files that others have open. */
const HELD_MS = 1000
/** Age is looked at so often in the time that records are kept. */
const LOOKS_PER_AGE = 10

/**
 * @typedef {import('./core').Core} Core
 * @typedef {import('./segments').Segment} Segment
 * @typedef {import('@millrace/offset-log/composing').Source} Source
 *
 * @typedef {object} Dropped
 * @property {number} count  How many segments were dropped, or lost all but their chosen records.
 * @property {number} kept  How many of these segments still have chosen records.
 * @property {number} size  How much smaller the files are, in bytes.
 * @property {number} first  No record at this seq or above was dropped.
 * @property {string[]} cutHolds  The names of the holds that needed what went.
 */

/** What one run has dropped. */
class Round {
  /** Segments from here on must stay. */
  droppableBase = 0
  /** Of a file that was not removed because it belongs to another log. @type {Error | null} */
  foreign = null
  #count = 0
  #kept = 0
  #size = 0
  /** Where the last segment ended of which records went. */
  #end = 0

  /** @param {import('./names').Listing} listing */
  constructor (listing) {
    this.listing = listing
  }

  /** @type {(segment: Segment, size: number, isKept?: boolean) => void} `size`: how much smaller the files are */
  note ({ next }, size, isKept = false) {
    this.#count++
    if (isKept) this.#kept++
    this.#size += size
    this.#end = Math.max(this.#end, next?.base ?? 0)
  }

  /** @param {number} first @returns {Dropped} */
  describe (first) {
    const cutHolds = this.listing.holds.filter(({ seq }) => seq < this.#end).map(({ name }) => name)
    return { count: this.#count, kept: this.#kept, size: this.#size, first, cutHolds }
  }
}

class Retention {
  #core
  /** @type {NodeJS.Timeout | undefined} */
  #timer
  /** @type {NodeJS.Timeout | undefined} */
  #heldTimer
  /** @type {import('@millrace/flow').Obz<Dropped>} */
  dropped = createObservable()
  /** Room that the upkeep needs for a file that it is making. */
  #reservedSize = 0
  /** Of the files that are no segments, at the last look, in bytes; null before. @type {number | null} */
  #besideSize = null
  /** The base of the newest segment, then. */
  #measuredBase = -1
  /** Up to this size the newest segment may grow with the files that are there. */
  #allowed = { segment: /** @type {Segment | null} */ (null), size: 0 }
  /** Segments that were dropped without waiting, and were not told of yet. @type {Segment[]} */
  #droppedNow = []
  #clock = new ClockWatch()
  #isStopped = false
  #hasWarned = false

  /** @param {Core} core */
  constructor (core) {
    this.#core = core
  }

  /** @returns {Promise<void>} once it is known what the quota has room for */
  async start () {
    const { limits: { maxSize, maxAge, maxCount }, keep } = this.#core.options
    const age = Math.min(maxAge, keep?.maxAge ?? Infinity)
    if (Math.min(maxSize, age, maxCount, keep?.maxSize ?? Infinity) === Infinity) return
    const first = this.run().catch(() => {})
    if (maxSize < Infinity) await first
    if (age === Infinity || this.#isStopped) return
    const ms = Math.min(TIMER_MS_MAX, Math.max(TIMER_MS_MIN, age / LOOKS_PER_AGE))
    this.#timer = setInterval(() => this.run().catch(() => {}), ms)
    this.#timer.unref?.()
  }

  /** @returns {Promise<void>} once nothing is being dropped */
  async stop () {
    clearInterval(this.#timer)
    clearTimeout(this.#heldTimer)
    this.#isStopped = true
    await this.#core.turns.settled()
  }

  /** Drops what the limits no longer allow. @returns {Promise<Dropped>} */
  run () {
    return this.#core.turns.run(() => this.#run(false, 0))
  }

  /**
   * Drops so much that there is room for another file of this size, and keeps it until the next call.
   * @param {number} size  in bytes
   * @returns {Promise<boolean>}  whether there is room
   */
  async reserve (size) {
    this.#reservedSize = size
    this.#allowed.segment = null
    const { limits: { maxSize } } = this.#core.options
    if (maxSize === Infinity || size === 0) return true
    return this.#core.turns.run(async () => {
      await this.#run(false, 0)
      return await this.#measureFolder(false, await list(this.#core.folder, this.#core.options)) <= maxSize
    })
  }

  /** @param {number} maxSize  of a log that has a quota */
  setMaxSize (maxSize) {
    this.#core.options.limits.maxSize = maxSize
    this.#allowed.segment = null
  }

  /** Drops so much that there is room for one more segment. It never fails: the quota is enforced again later. */
  async makeRoom () {
    if (this.#core.options.limits.maxSize === Infinity) return
    await this.#core.turns.run(() => this.#run(true, 0)).catch(() => {})
  }

  /**
   * Whether the newest segment may become so large, beside the next one that is being made. If the quota needs room,
   * the oldest segments are dropped before this returns. With `keep` none is: copying chosen records takes waiting.
   * @type {(size: number, isRolling: boolean) => boolean} `size` in bytes
   */
  fitsNow (size, isRolling) {
    const { segments: { last }, options: { limits: { maxSize } } } = this.#core
    if (maxSize === Infinity || (!isRolling && size <= this.#fullSize)) return true
    const allowed = this.#allowed
    if (allowed.segment === last && size <= allowed.size) return true
    while (this.#areSizesKnown) {
      allowed.segment = last
      allowed.size = this.#findAllowedSize()
      if (size <= allowed.size) return true
      if (!this.#dropFirstNow()) return false
    }
    // Nothing is dropped for a size that somebody has still to look up.
    return false
  }

  get #areSizesKnown () {
    const { segments: { list } } = this.#core
    return this.#besideSize !== null && !list.some(({ size, isActive }) => size === null && !isActive)
  }

  #findAllowedSize () {
    const { segments: { list }, options: { keep, limits: { maxSize } } } = this.#core
    const nextSize = this.#fullSize * (keep === null ? 1 : 2)
    const besideSize = Number(this.#besideSize) + this.#newBesideSize
    return maxSize - totalSize(list) - besideSize - this.#reservedSize - nextSize - RESERVE_SIZE
  }

  get #hasSums () {
    return this.#core.options.active.framing === 'lines'
  }

  /** Of the files beside the segments that have begun since the last look, in bytes. */
  get #newBesideSize () {
    if (!this.#hasSums) return 0
    const { segments: { list }, options: { segmentSize } } = this.#core
    const begun = list.filter(({ base }) => base > this.#measuredBase)
    return begun.reduce((sum, { size }) => sum + sumsSizeOf(size ?? segmentSize), 0)
  }

  /** @returns {boolean} false if the oldest segment must stay, or cannot be removed without waiting */
  #dropFirstNow () {
    const { folder, segments, options: { keep, storage } } = this.#core
    const { first } = segments
    const isReplaced = first.barrier !== null && !canDropBusy(storage)
    const isBusy = isReplaced || first.keptUntilMs !== null || keep !== null
    if (!first.isOwn || isBusy || !storage.unlinkSync || !storage.syncFolderSync) return false
    if (!this.#isDroppableNow(first)) return false
    for (const name of this.#filesOf(first)) {
      try {
        storage.unlinkSync(name)
      } catch (/** @type {any} */ err) {
        if (segments.opened.failure !== null) throw segments.opened.failure
        // Retention may be removing it now. Some systems do not remove what is open.
        if (err.code !== 'ENOENT') return false
      }
    }
    segments.drop([first])
    if (this.#droppedNow.push(first) === 1) this.run().catch(() => {})
    segments.opened.closeDropped([first]).catch(() => {})
    storage.syncFolderSync(folder)
    return true
  }

  /** @param {Segment} segment */
  #filesOf ({ path, filePath, barrier }) {
    // While its file is being replaced, it has two.
    const both = ['', ...formats.map(({ suffix }) => suffix)].map((suffix) => path + suffix)
    const files = barrier === null ? [filePath] : both
    return this.#hasSums ? [...files, `${path}.${SUMS}`] : files
  }

  /** The segment of the last durable record stays. @param {Segment} segment */
  #isDroppableNow ({ next }) {
    const { segments: { last }, durable } = this.#core
    if (next === null) return false
    if (Number(durable.value) < next.base) last.log.flushSync({ sync: true })
    return Number(durable.value) >= next.base
  }

  /** Of a segment that is full, in bytes. */
  get #fullSize () {
    return this.#core.options.segmentSize * OVERHEAD + RESERVE_SIZE
  }

  /** Segments may be dropped without waiting later, so it is known before whose they are. */
  async #proveOldest () {
    for (const segment of this.#core.segments.list.slice(0, PROVEN_COUNT)) {
      if (segment.isOwn || segment.isActive) continue
      segment.isOwn = await this.#core.findForeign(segment.fileName) === null
    }
  }

  /** @param {unknown} seq @returns {Promise<Dropped>} */
  async dropBefore (seq) {
    if (typeof seq !== 'number' || Number.isNaN(seq)) throw misuse(`dropBefore: expected a seq, got ${reasonOf(seq)}`)
    return this.#core.turns.run(async () => {
      await this.#core.segments.last.log.sync()
      return this.#run(false, seq)
    })
  }

  /** @type {(makesRoom: boolean, before: number) => Promise<Dropped>} `makesRoom`: another segment will be made */
  async #run (makesRoom, before) {
    const { segments, options: { limits, keep } } = this.#core
    const { listing, foreign } = await this.#removeLeftovers()
    const all = segments.list
    const needsSizes = Math.min(limits.maxSize, limits.maxHeldSize, keep?.maxSize ?? Infinity) < Infinity
    if (needsSizes) await this.#measure(all)
    const round = new Round(listing)
    round.foreign = foreign
    for (const segment of this.#droppedNow.splice(0)) round.note(segment, segment.size ?? 0)
    // The segment of the last durable record stays, and so does all after it: `since` never falls, even if a power cut
    // takes what is not durable.
    round.droppableBase = all.find(({ next }) => next === null || next.base > this.#core.durable.value)?.base ?? 0
    const heldFrom = listing.holds.reduce((least, { seq }) => Math.min(least, seq), Infinity)
    const held = heldFrom === Infinity ? all.length : all.indexOf(segments.find(heldFrom))
    const aged = this.#countAged()
    const old = Math.max(aged.old, all.length - limits.maxCount)
    // With `keep`, what is old is not dropped as a whole.
    const gone = Math.max(this.#countBefore(before), keep === null ? old : aged.oldKept)
    const unheld = Math.max(held, this.#countBeyondHeld(Math.max(gone, old), held))
    const unheldBase = all[Math.min(unheld, all.length - 1)].base
    await this.#drop(all.slice(0, Math.min(gone, unheld)), round)
    if (keep !== null) {
      await this.#keepOf(all.slice(0, Math.min(old, unheld)), round)
      await this.#boundKept(unheldBase, round)
    }
    if (limits.maxSize < Infinity) {
      await this.#enforceQuota(makesRoom || keep !== null, round)
      await this.#proveOldest()
    }
    const dropped = round.describe(segments.wholeFrom)
    if (dropped.count > 0) this.dropped.set(dropped)
    if (round.foreign === null) return dropped
    this.#warn(round.foreign.message)
    throw round.foreign
  }

  /**
   * Leaves only the chosen records of segments, the oldest first.
   * @type {(old: Segment[], round: Round) => Promise<void>}
   */
  async #keepOf (old, round) {
    for (const segment of old) {
      if (segment.isDropped || segment.keptUntilMs !== null) continue
      if (segment.base >= round.droppableBase || !await this.#keep(segment, round, false)) return
    }
  }

  /** @type {(segment: Segment, round: Round, isUrgent: boolean) => Promise<boolean>} false if it must be tried again */
  async #keep (segment, round, isUrgent) {
    const before = segment.size ?? 0
    let isLeft = false
    try {
      isLeft = await keepChosen(this.#core, segment, () => { if (this.#isStopped) throw STOPPED })
    } catch (err) {
      if (err === STOPPED) throw err
      // A file that a reader has open can be neither replaced nor removed on some systems.
      const isLost = (isUrgent && !isHeld(this.#core.options.storage, err)) || isHopeless(err)
      this.#warn(`the chosen records of ${segment.path} could not be copied (${reasonOf(err)}); ` +
        (isLost ? 'they are dropped with it' : 'it stays for now'))
      if (!isLost) return false
    }
    if (isLeft) round.note(segment, before - (segment.size ?? 0), true)
    else await this.#drop([segment], round)
    return true
  }

  /**
   * Drops kept segments, the oldest first, while they are larger than they may be.
   * @type {(unheldBase: number, round: Round) => Promise<void>}
   */
  async #boundKept (unheldBase, round) {
    const { segments, options: { keep } } = this.#core
    const kept = segments.list.filter(({ keptUntilMs }) => keptUntilMs !== null)
    let left = totalSize(kept) - (keep?.maxSize ?? Infinity)
    const tooMany = kept.filter(({ base, size }) => {
      const isOver = left > 0 && base < unheldBase
      if (isOver) left -= size ?? 0
      return isOver
    })
    await this.#drop(tooMany, round)
  }

  /**
   * Drops the oldest until the folder fits. With `keep`, chosen records go last.
   * @type {(makesRoom: boolean, round: Round) => Promise<void>}
   */
  async #enforceQuota (makesRoom, round) {
    const { segments, options: { keep, limits: { maxSize } } } = this.#core
    const excess = await this.#measureFolder(makesRoom, round.listing) - maxSize
    const goal = totalSize(segments.list) - excess
    const canDrop = (/** @type {Segment} */ { base }) => base < round.droppableBase
    while (totalSize(segments.list) > goal) {
      const whole = segments.find(segments.wholeFrom)
      if (keep !== null && canDrop(whole)) {
        if (!await this.#keep(whole, round, true)) return
        await this.#boundKept(Infinity, round)
      } else if (!canDrop(segments.first) || !await this.#drop([segments.first], round)) return
    }
  }

  /**
   * How many of the oldest segments have only records that are too old; and how many have only chosen records, of which
   * even these are too old.
   */
  #countAged () {
    const { segments: { list }, options: { keep, limits: { maxAge } } } = this.#core
    const keptAge = keep?.maxAge ?? Infinity
    if (Math.min(maxAge, keptAge) === Infinity) return { old: 0, oldKept: 0 }
    const nowMs = Date.now()
    const livedMs = this.#clock.lived(nowMs, Math.min(maxAge, keptAge))
    const ranMs = list.map(({ begunAtMs }) => performance.now() - begunAtMs)
    const bounds = boundParts(list.map(({ createdMs }) => createdMs), nowMs, livedMs, ranMs)
    const { from, to, sureMs } = bounds
    const oldKeptMs = oldUntil(bounds, nowMs, keptAge, livedMs)
    return {
      old: countOld(bounds, oldUntil(bounds, nowMs, maxAge, livedMs), maxAge),
      oldKept: list.findIndex(({ keptUntilMs }, index) => {
        if (keptUntilMs === null) return true
        const isBorneOut = isPlausible(keptUntilMs, nowMs) && keptUntilMs >= from[index] && keptUntilMs <= to[index]
        return !((isBorneOut ? keptUntilMs : to[index]) <= oldKeptMs && sureMs[index] >= keptAge)
      })
    }
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

  /** @type {(makesRoom: boolean, listing: import('./names').Listing) => Promise<number>} in bytes */
  async #measureFolder (makesRoom, { segments: listed, beside: all, others }) {
    const { folder, segments, options: { keep } } = this.#core
    this.#measuredBase = listed.at(-1)?.base ?? -1
    // There is room for the file that is being made.
    const beside = all.filter(({ suffix }) => this.#reservedSize === 0 || !suffix.endsWith('.new'))
    const names = [...beside.map(({ name }) => name), ...others]
    let besideSize = 0
    await inLanes(names, LANE_COUNT, async (name) => {
      const size = await this.#sizeOf(path.join(folder, name))
      besideSize += size
    })
    // Another segment may have begun meanwhile, and the one before may be closed.
    const { list, last } = segments
    const lastSize = /** @type {Source} */ (last.source).size
    // The newest segment may still grow.
    const fullSize = this.#fullSize
    let total = this.#besideSize = besideSize
    this.#allowed.segment = null
    total += makesRoom ? lastSize + fullSize : Math.max(lastSize, fullSize)
    // Chosen records are copied before their segment is dropped.
    if (keep !== null) total += fullSize
    return total + totalSize(list) + this.#reservedSize
  }

  /** @param {Segment[]} all */
  async #measure (all) {
    const unknown = all.filter(({ size, isActive }) => size === null && !isActive)
    await inLanes(unknown, LANE_COUNT, async (segment) => { segment.size = await this.#sizeOf(segment.filePath) })
  }

  /** In bytes; 0 if it is gone. @param {string} file */
  async #sizeOf (file) {
    return await sizeOf(this.#core.options.storage, file).catch(ignoreMissing) ?? 0
  }

  /**
   * Removes the files of segments that were dropped, but not removed. Returns what is in the folder otherwise.
   * @returns {Promise<{ listing: import('./names').Listing, foreign: Error | null }>}
   */
  async #removeLeftovers () {
    const { folder, options, segments } = this.#core
    const listing = await list(folder, options)
    const { kept, segments: { length } } = listing
    const known = kept.size > 0 || length > segments.count ? new Set(segments.list.map(({ base }) => base)) : null
    const baseOf = (/** @type {string} */ name) => Number(name.slice(0, 16))
    const isLeft = ({ name = '' }) => baseOf(name) < segments.first.base ||
      (known !== null && baseOf(name) < segments.last.base && !known.has(baseOf(name)))
    const segmentsLeft = listing.segments.filter(isLeft).map(({ file }) => file)
    const left = listing.beside.filter(isLeft).map(({ name }) => name)
    let foreign = null
    for (const name of segmentsLeft) {
      const found = await this.#core.findForeign(name)
      foreign ??= found
      if (found === null) left.push(name)
    }
    await this.#remove(left)
    listing.beside = listing.beside.filter((file) => !isLeft(file))
    return { listing, foreign }
  }

  /**
   * Removes segments, the oldest first, each durably before the next one: after a crash no segment is missing between
   * two others.
   * @type {(old: Segment[], round: Round) => Promise<boolean>} what must stay is left out; false if nothing was dropped
   */
  async #drop (old, round) {
    const { options: { place }, segments } = this.#core
    const dropped = []
    for (const segment of old) {
      if (segment.base >= round.droppableBase) continue
      const foreign = await this.#core.findForeign(segment.fileName)
      round.foreign ??= foreign
      if (foreign === null) dropped.push(segment)
    }
    if (dropped.length === 0) return false
    // Nothing is dropped from the list that cannot be removed.
    await place.prove()
    // An append may have dropped some meanwhile.
    for (const segment of dropped) if (!segment.isDropped) round.note(segment, segment.size ?? 0)
    segments.drop(dropped)
    for (const segment of dropped) if (!await this.#removeSegment(segment, round)) break
    return true
  }

  /** @type {(segment: Segment, round: Round) => Promise<boolean>} false if others have it open: tried again later */
  async #removeSegment (segment, round) {
    const { options: { storage }, segments } = this.#core
    const { name, fileName, keptUntilMs } = segment
    const beside = round.listing.beside.filter(({ of, suffix }) => of === name && !isKeptMark(suffix))
    const remove = () => this.#remove([...beside.map(({ name }) => name), fileName])
    await segments.opened.closeDropped([segment])
    // Where no open file can be removed, the reads that are under way come first.
    const isWaiting = storage.replacesOpenFiles === false
    if (!await (isWaiting ? segments.opened.exclusively(segment, remove) : remove())) return false
    // Without its mark, what is left of a segment would pass for all of it.
    if (keptUntilMs !== null) await this.#remove([keptName(name, keptUntilMs)])
    return true
  }

  /**
   * Durably removes files, in this order. What others have open may stay, on some systems, and so does all after it:
   * then this is tried again later.
   * @type {(names: string[]) => Promise<boolean>} whether all are gone
   */
  async #remove (names) {
    const { folder, options: { storage } } = this.#core
    for (const name of names) {
      if (await removeUnlessHeld(storage, path.join(folder, name))) continue
      clearTimeout(this.#heldTimer)
      this.#heldTimer = setTimeout(() => this.run().catch(() => {}), HELD_MS)
      this.#heldTimer.unref?.()
      return false
    }
    if (names.length > 0) await promisesOf(storage).syncFolder(folder)
    return true
  }

  /** @param {string} message */
  #warn (message) {
    if (this.#hasWarned) return
    this.#hasWarned = true
    process.emitWarning(message, 'SegmentedLogWarning')
  }
}

/** Of the files of sealed segments, in bytes. @param {Segment[]} segments */
function totalSize (segments) {
  return segments.reduce((sum, { size, isActive }) => isActive ? sum : sum + (size ?? 0), 0)
}

exports.Retention = Retention
