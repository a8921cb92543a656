'use strict'
// Which of many runs may have a key, in memory: to look into each of them takes half a microsecond.
//
// Each path that is asked for has a table. It has a column of bits for each run, and each hash has three rows: of a run
// that has the hash, the bits in all of them are set. So three rows tell of all runs at once which of them may have it.
// A table is filled in the background once it is asked for, and by those who ask, a little each time. A run that is not
// in it yet may have everything.

const { HASHES_AT_ONCE, Run } = require('./run')

/** With fewer runs each of them is looked into. */
const RUNS_MIN = 17
/** Bytes of all tables. */
const SIZE_MAX = 24 * 1024 * 1024
/** So many rows for each hash of a usual run, or more: then a run that has not the hash is hardly ever looked into. */
const ROWS_SHARE = 16
/** With fewer rows for each, most runs would be looked into. */
const ROWS_SHARE_MIN = 4
/** If a run has more hashes than this part of the rows, most of its bits would be set. */
const FULL_SHARE = 1 / ROWS_SHARE_MIN
const ROW_BITS_MIN = 8
/** The rows of a hash are side by side. A run has its hashes in order, so rows are filled in order, too. */
const NEAR_BITS = 8
/** Of the runs three quarters have no more hashes than a usual one. */
const USUAL = 3 / 4
/** Who asks adds so many hashes for each run that he has to look into: that takes about as long. */
const STEP = 1024
const COLUMNS = 32
const WORD_SIZE = 4
const HASH_BITS = 32
/** Odd numbers with well mixed bits: the first bits of a product are as good as those of another hash. */
const FACTORS = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d]
/** What is being added; no longer than a step. */
const HASHES = new Uint32Array(HASHES_AT_ONCE)

/**
 * @typedef {import('./cover').Cover} Cover
 * @typedef {import('./block').Hash} Hash
 * @typedef {import('./coverage').Segment} Segment
 */

/** Of one path. */
class Table {
  #slot
  #shift
  #width
  #bits
  /** A bit for each run that is in the table as a whole. */
  #filled
  /** Runs that are not, each with its column. @type {Array<[Run, number]>} */
  #left = []
  /** How many hashes of the last one of them are. */
  #at = 0

  /** @param {number} slot @param {number} rowBits @param {number} width  of a row, in words */
  constructor (slot, rowBits, width) {
    this.#slot = slot
    this.rowBits = rowBits
    this.#shift = HASH_BITS - rowBits
    this.#width = width
    this.#bits = new Uint32Array(width << rowBits)
    this.#filled = new Uint32Array(width)
  }

  get size () {
    return this.#bits.byteLength
  }

  /** @param {Run} run @param {number} column  that is empty */
  add (run, column) {
    if (run.footer.keys[this.#slot].count <= FULL_SHARE * 2 ** this.rowBits) this.#left.unshift([run, column])
  }

  /** @param {Run} run  that is gone @param {number} column */
  remove (run, column) {
    if (this.#left.at(-1)?.[0] === run) this.#at = 0
    this.#left = this.#left.filter(([other]) => other !== run)
    const keep = ~(1 << column % COLUMNS)
    for (let at = Math.floor(column / COLUMNS); at < this.#bits.length; at += this.#width) this.#bits[at] &= keep
    this.#filled[Math.floor(column / COLUMNS)] &= keep
  }

  /** @param {readonly Hash[]} hashes @returns {Uint32Array}  a bit for each run that may have one of them */
  find (hashes) {
    this.fill(STEP * this.#left.length)
    const [bits, width] = [this.#bits, this.#width]
    const found = this.#filled.map((word) => ~word)
    for (const { short } of hashes) {
      const [one, two, three] = FACTORS.map((factor) => this.#rowOf(short, factor))
      for (let at = 0; at < width; at++) found[at] |= bits[one + at] & bits[two + at] & bits[three + at]
    }
    return found
  }

  /** @type {(short: number, factor: number) => number} where it begins */
  #rowOf (short, factor) {
    const near = Math.imul(short, factor) >>> HASH_BITS - NEAR_BITS
    return ((short >>> this.#shift >>> NEAR_BITS << NEAR_BITS) + near) * this.#width
  }

  get isFull () {
    return this.#left.length === 0
  }

  /** @param {number} count  of hashes that are added, about */
  fill (count) {
    for (let left = count; left > 0 && this.#left.length > 0;) {
      const [run, column] = this.#left[this.#left.length - 1]
      const total = run.footer.keys[this.#slot].count
      left--
      try {
        if (this.#at < total) {
          const read = run.readHashes(this.#slot, this.#at, HASHES)
          for (let index = 0; index < read; index++) this.#add(HASHES[index], column)
          this.#at += read
          left -= read
        }
        if (this.#at < total) continue
        // Odd records may have everything.
        if (run.odd.length === 0) this.#filled[Math.floor(column / COLUMNS)] |= 1 << column % COLUMNS
      } catch {
        // Whoever looks into it is told. It stays one that may have everything.
      }
      this.#left.pop()
      this.#at = 0
    }
  }

  /** @type {(short: number, column: number) => void} */
  #add (short, column) {
    const [bits, offset, bit] = [this.#bits, Math.floor(column / COLUMNS), 1 << column % COLUMNS]
    for (const factor of FACTORS) bits[this.#rowOf(short, factor) + offset] |= bit
  }
}

class Sieve {
  #runsMin
  #onAsked
  /** Of the coverage. */
  #version = -1
  /** @type {Map<Run, number>} */
  #columnOf = new Map()
  /** In words. */
  #width = 0
  /** By path. Null: it needs too much memory. @type {Array<Table | null | undefined>} */
  #tables = []
  /** The column of each segment; -1 if it is no run. */
  columns = new Int32Array(0)
  /** Where each segment begins and ends, side by side: to ask each run itself takes longer. It counts for runs only. */
  borders = new Float64Array(0)

  /**
   * @param {number} [runsMin]
   * @param {() => void} [onAsked]  somebody asks for a path, and `fill` has work for it
   */
  constructor (runsMin = RUNS_MIN, onAsked = () => {}) {
    this.#runsMin = runsMin
    this.#onAsked = onAsked
  }

  /**
   * Adds hashes to a table that was asked for.
   * @param {number} count  about so many
   * @returns {boolean}  whether there was anything to add
   */
  fill (count) {
    const table = this.#tables.find((table) => table && !table.isFull)
    table?.fill(count)
    return Boolean(table)
  }

  /**
   * @param {Cover} cover
   * @param {{ segments: readonly Segment[], version: number }} coverage
   * @returns {Uint32Array | null}  a bit for each column whose run may have something for the cover; null if all may
   */
  find (cover, { segments, version }) {
    if (version !== this.#version) {
      this.#version = version
      this.#update(segments)
    }
    return this.#width === 0 ? null : this.#find(cover)
  }

  /** @param {Cover} cover @returns {Uint32Array | null} */
  #find (cover) {
    if (cover.kind === 'values') return null
    if (cover.kind === 'keys') {
      const table = (this.#tables[cover.slot] ??= this.#createTable(cover.slot))
      if (table === null) return null
      const found = table.find(cover.hashes)
      if (!table.isFull) this.#onAsked()
      return found
    }
    const parts = cover.parts.map((part) => this.#find(part))
    const known = parts.filter((part) => part !== null)
    if (known.length === 0 || (cover.kind === 'any' && known.length < parts.length)) return null
    return known.reduce((all, bits) => all.map((word, at) => cover.kind === 'any' ? word | bits[at] : word & bits[at]))
  }

  /** @param {readonly Segment[]} segments */
  #update (segments) {
    const runs = segments.filter((segment) => segment instanceof Run)
    const isTooMany = runs.length > this.#width * COLUMNS
    if (runs.length < this.#runsMin || isTooMany) this.#clear()
    if (runs.length < this.#runsMin) return
    this.#width = Math.max(this.#width, Math.ceil(runs.length / COLUMNS))
    this.#removeOthers(new Set(runs))
    this.#addNew(runs)
    this.columns = Int32Array.from(segments, (segment) => this.#columnOf.get(/** @type {Run} */ (segment)) ?? -1)
    this.borders = new Float64Array(2 * segments.length)
    segments.forEach(({ from, to }, index) => this.borders.set([from, to], 2 * index))
    // Its runs may have become much larger or fewer, or there is room for it now.
    this.#tables = this.#tables.map((table, slot) => {
      return table && Math.abs(table.rowBits - this.#rowBitsOf(slot)) <= 2 ? table : undefined
    })
  }

  #clear () {
    this.#columnOf.clear()
    this.#tables = []
    this.#width = 0
  }

  /** @param {Set<Run>} runs  that stay */
  #removeOthers (runs) {
    for (const [run, column] of this.#columnOf) {
      if (runs.has(run)) continue
      this.#columnOf.delete(run)
      for (const table of this.#tables) table?.remove(run, column)
    }
  }

  /** @param {readonly Run[]} runs */
  #addNew (runs) {
    const used = new Set(this.#columnOf.values())
    let column = 0
    for (const run of runs) {
      if (this.#columnOf.has(run)) continue
      while (used.has(column)) column++
      this.#columnOf.set(run, column)
      for (const table of this.#tables) table?.add(run, column)
      column++
    }
  }

  /** How many bits a row's number has. @param {number} slot */
  #rowBitsOf (slot) {
    const counts = Uint32Array.from(this.#columnOf.keys(), ({ footer }) => footer.keys[slot].count).sort()
    const rows = ROWS_SHARE * counts[Math.floor(USUAL * (counts.length - 1))]
    return Math.max(ROW_BITS_MIN, Math.ceil(Math.log2(Math.max(1, rows))))
  }

  /** @param {number} slot @returns {Table | null} */
  #createTable (slot) {
    const used = this.#tables.reduce((sum, table) => sum + (table?.size ?? 0), 0)
    let rowBits = this.#rowBitsOf(slot)
    const room = (SIZE_MAX - used) / WORD_SIZE / this.#width
    for (let share = ROWS_SHARE; share > ROWS_SHARE_MIN && 2 ** rowBits > room; share /= 2) rowBits--
    if (2 ** rowBits > room) return null
    const table = new Table(slot, rowBits, this.#width)
    for (const [run, column] of this.#columnOf) table.add(run, column)
    return table
  }
}

/** Passes adjacent runs that have nothing for a cover, for certain. */
class Passing {
  #sought
  /** Of the coverage. */
  #version = -1
  /** @type {Uint32Array | null} */
  #bits = null

  /** @param {Pick<import('./parts').Sought, 'coverage' | 'cover'>} sought */
  constructor (sought) {
    this.#sought = sought
  }

  /**
   * @param {number} seq  where a read is; in reverse, before what it has had
   * @param {boolean} [reverse]
   * @returns {number}  where it is then: the same seq if it is at something else
   */
  pass (seq, reverse = false) {
    const { coverage } = this.#sought
    if (this.#version !== coverage.version) {
      const cover = this.#sought.cover()
      this.#version = coverage.version
      this.#bits = cover && coverage.sieve.find(cover, coverage)
    }
    return this.#bits === null ? seq : passRuns(coverage, this.#bits, seq, reverse)
  }
}

/** @type {(coverage: import('./coverage').Coverage, bits: Uint32Array, seq: number, reverse: boolean) => number} */
function passRuns (coverage, bits, seq, reverse) {
  const { columns, borders } = coverage.sieve
  const step = reverse ? -1 : 1
  let at = seq
  for (let index = coverage.indexAfter(reverse ? seq - 1 : seq); index >= 0 && index < columns.length; index += step) {
    const column = columns[index]
    if (column < 0 || (bits[column >>> 5] >>> (column & COLUMNS - 1) & 1) === 1) break
    const from = borders[2 * index]
    const to = borders[2 * index + 1]
    const isThere = reverse ? from < at && to >= at : from <= at
    if (!isThere) break
    at = reverse ? from : to
  }
  return at
}

exports.Passing = Passing
exports.RUNS_MIN = RUNS_MIN
exports.Sieve = Sieve
