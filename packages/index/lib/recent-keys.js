'use strict'
// The keys of what was appended last, for appends with a condition: may a record match that is after a seq, of those
// that can be read and of those that wait to be written? The blocks have only what was read again since, and each of
// them is searched from end to end. That takes too long for each append.
//
// Every append has a position, which counts up. Its seq is told once it is written. Per path a table has the newest
// position of each hash. When it has many, it forgets what runs have, for they are searched fast:
//
//     in the log:     all before `begin`: runs, and blocks │ the rest, also what waits to be written
//     here:                        positions before oldest │ from oldest on
//
// As the rest of the index it may name too much, never too little: an append that has failed, or whose record was
// deleted since, is a candidate all the same.

const { Block } = require('./block')
const { Covering } = require('./cover')
const { HashTable, NUMBER_MAX } = require('./hash-table')
const { Parts } = require('./parts')
const { Run } = require('./run')
const { findInBlock, findInRun } = require('./search')
const { Passing } = require('./sieve')

/** In blocks of the index: so many appends are kept, though the runs do not have them yet. */
const BLOCKS_MAX = 4
/** A part of what is kept, that runs may have: to look into each of them takes longer. */
const RUNS_SHARE = 1 / 4
/** How often in a block it looks what can be forgotten. */
const LOOKS = 4
/** In the tables, for each append that is kept. */
const HASHES_MAX = 2

/**
 * @typedef {import('./block').KeySink} KeySink
 * @typedef {import('./hash').Hasher} Hasher  named in the types of KeySink
 * @typedef {import('./cover').Cover} Cover
 * @typedef {import('./parts').Sought} Sought
 * @typedef {import('@millrace/where').Filter[]} Filters
 */

/** @implements {KeySink} */
class RecentKeys {
  #paths
  #host
  #indexer
  #seek
  /** These make the hashes in the tables, and those of filters. */
  #keys
  #covering
  /** By path; none while it is stopped. Their numbers are positions, counted from 1. @type {HashTable[]} */
  #tables = []
  /** The position of number 1. */
  #first = 0
  #oldest = 0
  /** The position of the next append. No position is given twice. */
  #next = 0
  /** What was appended before `#oldest` has lower seqs. Infinity until it is known. */
  #begin = Infinity
  /** The newest append with a record that is a candidate of every query; -1 if there is none. */
  #odd = -1
  /** By position, in a ring: the seq of the last record; Infinity until it is told. */
  #seqs = new Float64Array(0)
  #isPaused = false
  /** After so many appends it looks what can be forgotten. */
  #lookCount
  /** Since it last looked what can be forgotten: whether it was asked, what has come. */
  #isAsked = false
  #appendCount = 0
  #hashCount = 0
  /** Gets the keys of the record that is added, too. @type {import('./noted-keys').NotedKeys | null} */
  #noted = null
  // The memory that the last record is in: many share it.
  /** @type {Buffer} */
  #buffer = Buffer.alloc(0)
  /** @type {DataView} */
  #words = new DataView(this.#buffer.buffer)

  /**
   * @param {readonly import('./paths').DeclaredPath[]} paths
   * @param {{ readonly start: number, readonly end: number }} host
   * @param {Pick<import('./indexer').Indexer, 'coverage' | 'hasher' | 'keys' | 'noted'>} indexer
   * @param {(filters: Filters) => Sought} seek
   * @param {number} recordsMax  of a block
   */
  constructor (paths, host, indexer, seek, recordsMax) {
    this.#paths = paths
    this.#host = host
    this.#indexer = indexer
    this.#seek = seek
    this.#lookCount = Math.ceil(recordsMax / LOOKS)
    this.#keys = indexer.keys
    this.#covering = new Covering(paths, indexer.hasher)
  }

  /** Whether it notes what is appended. It stops if nobody asks for long, and at each compaction. */
  get isActive () {
    if (this.#indexer.keys !== this.#keys) this.stop(this.#isPaused)
    return this.#tables.length > 0
  }

  /**
   * From now on it notes what is appended.
   * @returns {number}  a position: it must be settled with a seq above those of all earlier appends, once these are
   *   written or have failed; -1 if it may not begin now
   */
  begin () {
    if (this.#isPaused) return -1
    this.#keys = this.#indexer.keys
    this.#covering = new Covering(this.#paths, this.#indexer.hasher)
    this.#tables = this.#paths.map(() => new HashTable())
    this.#first = this.#oldest = this.#next
    this.#begin = Infinity
    this.#odd = -1
    this.#seqs = new Float64Array(this.#lookCount)
    this.#isAsked = true
    this.#appendCount = this.#hashCount = 0
    return this.note([])
  }

  /** Forgets everything. @param {boolean} [isPaused]  whether it must not begin until `stop(false)` */
  stop (isPaused = false) {
    this.#tables = []
    this.#seqs = new Float64Array(0)
    this.#isPaused = isPaused
    this.#indexer.noted?.clear()
    this.#share(Buffer.alloc(0).buffer)
  }

  /**
   * Called for each append, in the turn of the event loop in which it joins the queue.
   * @param {Buffer | readonly Buffer[]} records
   * @returns {number}  its position; -1 if it is stopped
   */
  note (records) {
    if (this.#appendCount >= this.#lookCount || this.#hashCount >= this.#hashesMax / LOOKS) this.#look()
    if (!this.isActive) return -1
    const position = this.#next++
    this.#appendCount++
    if (position - this.#oldest >= this.#seqs.length) this.#growSeqs()
    this.#seqs[position % this.#seqs.length] = Infinity
    if (!Array.isArray(records)) this.#addAlone(position, /** @type {Buffer} */ (records))
    else if (records.length === 1) this.#addAlone(position, records[0])
    else for (const record of records) this.#add(record)
    return position
  }

  /**
   * Of several records only the last one's seq is told, so a block takes the keys of single ones.
   * @type {(position: number, record: Buffer) => void}
   */
  #addAlone (position, record) {
    const { noted } = this.#indexer
    noted?.begin(position)
    this.#noted = noted
    this.#add(record)
    this.#noted = null
  }

  #growSeqs () {
    const before = this.#seqs
    this.#seqs = new Float64Array(2 * before.length)
    for (let position = this.#oldest; position < this.#next - 1; position++) {
      this.#seqs[position % this.#seqs.length] = before[position % before.length]
    }
  }

  /** @param {Buffer} record */
  #add (record) {
    const { buffer, byteOffset, length } = record
    if (this.#words.buffer !== buffer) this.#share(buffer)
    try {
      this.#keys.add(this.#buffer, this.#words, byteOffset, byteOffset + length, this, record)
    } catch {
      // The append must not fail for that. The filter itself decides.
      this.addOdd()
    }
  }

  /** @param {ArrayBufferLike} memory */
  #share (memory) {
    this.#buffer = Buffer.from(memory)
    this.#words = new DataView(memory)
  }

  // Keys of the record that is added.

  /** @type {KeySink['addKey']} */
  addKey (slots, hasher) {
    for (let index = 0; index < slots.length; index++) this.#set(slots[index], hasher)
    this.#noted?.addKey(slots, hasher)
  }

  /** @type {KeySink['addNumber']} */
  addNumber (slots, value, hasher) {
    // Numbers of a path with ranges are no keys: a filter by them is not answered here.
    for (const slot of slots) if (!this.#paths[slot].range) this.#set(slot, hasher)
    this.#noted?.addNumber(slots, value, hasher)
  }

  /** @type {KeySink['addTime']} */
  addTime (slots, ms) {
    this.#noted?.addTime(slots, ms)
  }

  addOdd () {
    this.#noteOdd()
    this.#noted?.addOdd()
  }

  #noteOdd () {
    this.#odd = this.#next - 1
  }

  /** @type {(slot: number, hash: import('./hash-table').LongHash) => void} */
  #set (slot, hash) {
    // One append may have more than all others.
    if (this.#hashCount >= this.#hashesMax) return this.#noteOdd()
    const table = this.#tables[slot]
    if (!table.set(hash, this.#next - this.#first)) return
    this.#hashCount++
    if (table.isFull) table.prune(this.#oldest - this.#first + 1)
  }

  // What is forgotten.

  get #appendsMax () {
    return BLOCKS_MAX * LOOKS * this.#lookCount
  }

  get #hashesMax () {
    return HASHES_MAX * this.#appendsMax
  }

  #look () {
    const isUsed = this.#isAsked && this.#next - this.#first < NUMBER_MAX - this.#lookCount
    this.#appendCount = this.#hashCount = 0
    this.#isAsked = false
    if (!isUsed) return this.stop()
    const isMuch = this.#next - this.#oldest > RUNS_SHARE * this.#appendsMax
    if (isMuch || this.#countHashes() > RUNS_SHARE * this.#hashesMax) this.#forgetRuns()
    if (this.#next - this.#oldest > this.#appendsMax - this.#lookCount) this.#forgetHalf()
    if (this.#countHashes() <= this.#hashesMax) return
    this.#prune()
    if (this.#countHashes() <= this.#hashesMax) return
    this.#forgetHalf()
    this.#prune()
    if (this.#countHashes() > this.#hashesMax) this.stop()
  }

  #countHashes () {
    return this.#tables.reduce((sum, { count }) => sum + count, 0)
  }

  #prune () {
    for (const table of this.#tables) table.prune(this.#oldest - this.#first + 1)
  }

  /** Forgets what is in runs. */
  #forgetRuns () {
    const { segments } = this.#indexer.coverage
    let end = this.#host.start
    for (const segment of segments) {
      if (segment.to <= end) continue
      if (segment.from > end || !(segment instanceof Run)) break
      end = segment.to
    }
    let last = this.#oldest - 1
    for (let position = this.#oldest; position < this.#next; position++) {
      const seq = this.#seqOf(position)
      // Appends are written in order: one without a seq that has others after it has failed.
      if (seq === Infinity) continue
      if (seq >= end) break
      last = position
    }
    if (last < this.#oldest) return
    this.#oldest = last + 1
    this.#begin = end
  }

  #forgetHalf () {
    this.#oldest += this.#next - this.#oldest >> 1
    this.#begin = Infinity
    for (let position = this.#oldest; position < this.#next && this.#begin === Infinity; position++) {
      this.#begin = this.#seqOf(position)
    }
  }

  /** An append was written. @type {(position: number, seq: number) => void} `seq`: of its last record */
  settle (position, seq) {
    this.#indexer.noted?.settle(position, seq)
    if (position < this.#oldest || this.#tables.length === 0) return
    this.#seqs[position % this.#seqs.length] = seq
    if (this.#begin === Infinity) this.#begin = seq
  }

  /** @param {number} position  not before the oldest */
  #seqOf (position) {
    return this.#seqs[position % this.#seqs.length]
  }

  // Answers.

  /**
   * Whether no record after a seq matches, for certain: of those that can be read and those that wait to be written.
   * @type {(filters: Filters, since: number) => boolean} false if it does not know
   */
  rulesOut (filters, since) {
    this.#isAsked = true
    if (!this.isActive || this.#begin > this.#host.end) return false
    const newest = Math.max(this.#odd, this.#newestFor(filters))
    if (newest >= this.#oldest && (newest === Infinity || this.#seqOf(newest) > since)) return false
    if (since + 1 >= this.#begin) return true
    const cover = /** @type {Cover} */ (this.#covering.find(filters))
    try {
      return this.#isNothingBetween(filters, cover, since)
    } catch {
      // A file that cannot be read: whoever reads the log is told.
      return false
    }
  }

  /**
   * The newest append that may match; a lower position if none may, and Infinity if that is not known.
   * @type {(filters: Filters) => number}
   */
  #newestFor (filters) {
    const slot = this.#covering.hashEquality(filters)
    if (slot !== -1) return this.#first + this.#tables[slot].get(this.#indexer.hasher) - 1
    const cover = this.#covering.find(filters)
    return cover === null ? Infinity : this.#newestOf(cover)
  }

  /** @type {(cover: Cover) => number} */
  #newestOf (cover) {
    if (cover.kind === 'keys') {
      let newest = 0
      for (const hash of cover.hashes) newest = Math.max(newest, this.#tables[cover.slot].get(hash))
      return this.#first + newest - 1
    }
    if (cover.kind === 'values') return Infinity
    const found = cover.parts.map((part) => this.#newestOf(part))
    // What has all of them is not after the newest of any one.
    return cover.kind === 'any' ? Math.max(...found) : Math.min(...found)
  }

  /**
   * Whether runs and blocks have no candidate after a seq and before `#begin`.
   * @type {(filters: Filters, cover: Cover, since: number) => boolean}
   */
  #isNothingBetween (filters, cover, since) {
    const { coverage } = this.#indexer
    const { start } = this.#host
    const end = this.#begin
    // A read that begins where records were lost fails. After a record that is there none were lost.
    if (since >= start && !hasRecord(coverage.at(since).segment, since)) return false
    const passing = new Passing({ coverage, cover: () => cover })
    let from = passing.pass(Math.max(start, since + 1))
    while (from < end) {
      const { segment, to } = coverage.at(from)
      if (segment === null || !hasNothing(segment, cover)) break
      from = passing.pass(to)
    }
    return from >= end || new Parts(this.#seek(filters), { from, to: end, reverse: false }).next().done
  }
}

/** @type {(segment: import('./coverage').Segment, cover: Cover) => boolean} */
function hasNothing (segment, cover) {
  if (segment instanceof Run) return segment.odd.length === 0 && findInRun(segment, cover).count === 0
  return segment instanceof Block && segment.odd.length === 0 && findInBlock(segment, cover)?.length === 0
}

/** @type {(segment: import('./coverage').Segment | null, seq: number) => boolean} */
function hasRecord (segment, seq) {
  if (segment === null || 'isDamage' in segment) return false
  const ordinal = segment.ordinalFrom(seq)
  if (segment instanceof Block) return segment.seqs[ordinal] === seq && ordinal < segment.count
  return ordinal < segment.records && segment.seqOf(ordinal) === seq
}

exports.RecentKeys = RecentKeys
