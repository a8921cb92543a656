'use strict'
// Keeps all slots together within one quota. Every process looks at the names and sizes of all segments, and marks the
// oldest ones that have to go. It drops its own. Those of another slot are left to the process that has it. If they are
// still there after a while, nobody has the slot, and whoever gets its lock drops them.

const path = require('node:path')
const { clearInterval, setInterval } = require('node:timers')
const { ClockWatch, boundParts, oldUntil } = require('@millrace/flow')
const { SegmentedLog, parseNames, setMaxSize, sizeOf } = require('@millrace/segmented-log')
const { listNames, listSlots, slotPath } = require('./slots')

const LOOK_MS = 2000
/** If a segment stays for so long although it is marked, its slot has no process that would drop it. */
const GRACE_MS = 2.5 * LOOK_MS
/** Segments that a slot may write until the next look has dropped what has to go. */
const GROWTH = 2
/** A log that keeps to a quota sets so much aside. Whoever is at it all the same marks what others have to drop. */
const ASIDE_SIZE = 256 * 1024
/** A slot can go on with this much and `GROWTH` segments, however much the others have. */
const OWN_SIZE_MIN = 512 * 1024

/**
 * @typedef {object} SlotSegment
 * @property {number} slot
 * @property {number} base
 * @property {number} createdMs  as in the name
 * @property {number} fromMs  no record is older, as far as clocks can be believed; -Infinity if that is unknown
 * @property {number} toMs  nor younger; Infinity if that is unknown
 * @property {number} size  of its files, in bytes
 * @property {SlotSegment | null} next  the one after it in the slot; null if it is the newest one
 *
 * @typedef {{ base: number, sinceMs: number }} Overdue
 */

class Quota {
  #folder
  #options
  #own
  /** Of other slots with marked segments: the oldest one, and since when it is that. @type {Map<number, Overdue>} */
  #overdue = new Map()
  /** Of files that are no longer written, by path. @type {Map<string, number>} */
  #sizes = new Map()
  /** @type {Promise<void> | null} */
  #looking = null
  #isClosed = false
  #clock = new ClockWatch()
  #timer
  #forget

  /**
   * @param {string} folder
   * @param {ReturnType<typeof import('./options').parseSlotOptions>} options
   * @param {{ slot: number, log: any }} own  the slot that this process has, and its log
   */
  constructor (folder, options, own) {
    this.#folder = folder
    this.#options = options
    this.#own = own
    this.#timer = setInterval(() => this.#look(), LOOK_MS)
    this.#timer.unref()
    let seenSeq = own.log.since.value
    this.#forget = own.log.since((/** @type {number} */ seq) => {
      // Half a segment is what may be written until the next look begins.
      if (seq - seenSeq < options.segmentSize / 2) return
      seenSeq = seq
      this.#look()
    })
    this.#look()
  }

  async close () {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#forget()
    await this.#looking
  }

  #look () {
    if (this.#isClosed) return
    // What fails now is tried again at the next look.
    this.#looking ??= this.#enforce().catch(() => {}).finally(() => { this.#looking = null })
  }

  async #enforce () {
    const { maxSize, segmentSize } = this.#options
    const segments = await this.#measure()
    const total = segments.reduce((sum, { size }) => sum + size, 0)
    this.#boundOwn(segments)
    const marked = this.#mark(segments, total)
    const own = marked.filter(({ slot }) => slot === this.#own.slot)
    // If others are slow to drop theirs, the disk is bounded all the same.
    let left = own.reduce((left, { size }) => left - size, total)
    for (const segment of segments) {
      if (left <= maxSize - GROWTH * segmentSize) break
      if (segment.slot !== this.#own.slot || segment.next === null || own.includes(segment)) continue
      own.push(segment)
      left -= segment.size
    }
    const bases = own.map(({ next }) => /** @type {SlotSegment} */ (next).base)
    if (own.length > 0) await this.#own.log.dropBefore(Math.max(...bases))
    await this.#dropForeign(marked)
  }

  /**
   * Until the next look, the own slot may fill what the others leave, at most. So it keeps within the quota even if
   * its process leaves no time for a look.
   * @param {SlotSegment[]} segments
   */
  #boundOwn (segments) {
    const { maxSize, segmentSize } = this.#options
    if (maxSize === Infinity) return
    const others = segments.reduce((sum, { slot, size }) => slot === this.#own.slot ? sum : sum + size, 0)
    const least = OWN_SIZE_MIN + GROWTH * segmentSize
    setMaxSize(this.#own.log, Math.min(maxSize, Math.max(least, maxSize - others)))
  }

  /**
   * All segments of all slots, the oldest first.
   * @returns {Promise<SlotSegment[]>}
   */
  async #measure () {
    const { storage } = this.#options
    const slots = await listSlots(this.#folder, storage)
    const before = this.#sizes
    this.#sizes = new Map()
    const lists = await Promise.all(slots.map((slot) => this.#measureSlot(slot, before)))
    const nowMs = Date.now()
    for (const list of lists) {
      // Segments go in the order of their slot, whatever the clock did.
      const { from, to } = boundParts(list.map(({ createdMs }) => createdMs), nowMs)
      list.forEach((segment, index) => { Object.assign(segment, { fromMs: from[index], toMs: to[index] }) })
    }
    // What began at an unknown time counts as begun when the next one was.
    const orderOf = (/** @type {SlotSegment} */ { fromMs, toMs }) => fromMs > -Infinity ? fromMs : Math.min(toMs, nowMs)
    return lists.flat().sort((a, b) => orderOf(a) - orderOf(b))
  }

  /** @type {(slot: number, knownSizes: Map<string, number>) => Promise<SlotSegment[]>} */
  async #measureSlot (slot, knownSizes) {
    const { storage } = this.#options
    const folder = slotPath(this.#folder, slot)
    const { segments, beside } = parseNames(await listNames(folder, storage))
    /** @type {SlotSegment | null} */
    let next = null
    /** @type {SlotSegment[]} */
    const measured = []
    for (const { name, file, base, createdMs } of segments.reverse()) {
      const files = [file, ...beside.flatMap(({ of, name: other }) => of === name ? other : [])]
      let size = 0
      for (const file of files.map((file) => path.join(folder, file))) {
        // It may be gone.
        const fileSize = knownSizes.get(file) ?? await sizeOf(storage, file).catch(() => 0)
        if (next !== null) this.#sizes.set(file, fileSize)
        size += fileSize
      }
      next = { slot, base, createdMs, fromMs: -Infinity, toMs: Infinity, size, next }
      measured.unshift(next)
    }
    return measured
  }

  /**
   * The segments that have to go, because of the quota or of their age.
   * @type {(segments: SlotSegment[], total: number) => SlotSegment[]}
   */
  #mark (segments, total) {
    const { maxSize, segmentSize, segmented: { maxAge = Infinity } } = this.#options
    const slotCount = new Set(segments.map(({ slot }) => slot)).size
    let excess = total + slotCount * GROWTH * segmentSize + ASIDE_SIZE - maxSize
    const nowMs = Date.now()
    const from = segments.map(({ fromMs }) => fromMs).sort((a, b) => a - b)
    const oldMs = oldUntil({ from }, nowMs, maxAge, this.#clock.lived(nowMs, maxAge))
    return segments.filter(({ next, size, toMs }) => {
      if (next === null || !(excess > 0 || toMs <= oldMs)) return false
      excess -= size
      return true
    })
  }

  /** @param {SlotSegment[]} marked */
  async #dropForeign (marked) {
    const nowMs = performance.now()
    const before = this.#overdue
    this.#overdue = new Map()
    const slots = new Set(marked.map(({ slot }) => slot))
    slots.delete(this.#own.slot)
    for (const slot of slots) {
      const segments = marked.filter((segment) => segment.slot === slot)
      const [{ base }] = segments
      const known = before.get(slot)
      const overdue = known !== undefined && known.base === base ? known : { base, sinceMs: nowMs }
      this.#overdue.set(slot, overdue)
      if (nowMs - overdue.sinceMs < GRACE_MS) continue
      const last = segments[segments.length - 1]
      const kept = /** @type {SlotSegment} */ (last.next).base
      // Nobody has the slot, so the next ones need no grace.
      if (await this.#dropInFreeSlot(slot, kept)) overdue.base = kept
      else this.#overdue.delete(slot)
    }
  }

  /** @type {(slot: number, base: number) => Promise<boolean>} false if a process has the slot */
  async #dropInFreeSlot (slot, base) {
    const { signal, ...options } = this.#options.segmented
    const log = SegmentedLog(slotPath(this.#folder, slot), { ...options, mustExist: true })
    try {
      await log.ready()
      await log.dropBefore(base)
      return true
    } catch {
      return false
    } finally {
      await log.close().catch(() => {})
    }
  }
}

exports.Quota = Quota
