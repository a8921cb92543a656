'use strict'
// What the index of one log knows, and each step that adds to it: it takes the runs of the folder, notes the keys of
// records in blocks, makes runs of blocks, and one run of several. LogIndex says when; one step at a time.

const { Block } = require('./block')
const { Coverage } = require('./coverage')
const { createKeys } = require('./extract')
const { fillBlock } = require('./fill')
const { Hasher, createKey } = require('./hash')
const { NotedKeys } = require('./noted-keys')
const { Run } = require('./run')
const { DamagedRun, UnreadRun } = require('./run-format')

/** Of hashes that the sieve gets. */
const SIFT_STEP = 4096
const HASH_WORK = 10

/** How many times the records of a block are in memory: if they cannot be written, the rest of the log is scanned. */
const UNWRITTEN_MAX = 2

/** Ranges with losses; more become one. */
const LOSSES_MAX = 1024

/** @typedef {{ from: number, to: number }} Bounds */

class Indexer {
  #paths
  #host
  #tuning
  #folder
  #builder
  #mayWork
  /** Only the indexer changes it. */
  coverage
  /** Of the keys in the coverage. Runs bring theirs. */
  hasher
  keys
  /** Of appends, for the next block; null if a builder reads them. @type {NotedKeys | null} */
  noted
  /** Counts what made everything before it worthless: a compaction, a drop, the end. */
  #generation = 0
  /** Counts deletions and drops. */
  #lossCount = 0
  /** What is dropped during a load. @type {Bounds[] | null} */
  #dropped = null
  /** Of the last block, if it was full: the next one is probably like it. @type {Block['counts'] | undefined} */
  #likely = undefined
  /** What was deleted of what is not known yet: the builder may have read it. @type {Bounds[]} */
  #losses = []
  /** The block that a scan is filling, and up to where. @type {{ block: Block, to: number } | null} */
  #filling = null

  /**
   * @param {readonly import('./paths').DeclaredPath[]} paths
   * @param {import('./log-index').Host} host
   * @param {import('./run-folder').RunFolder} folder
   * @param {Required<import('./log-index').Tuning>} tuning
   * @param {() => boolean} mayWork  if not, a step that is under way ends, and its result is not used
   * @param {() => void} onAsked  `sift` has work
   * @param {import('./remote-builder').RemoteBuilder | null} builder
   */
  constructor (paths, host, folder, tuning, mayWork, onAsked, builder) {
    this.#builder = builder
    this.#paths = paths
    this.#host = host
    this.#folder = folder
    this.#tuning = tuning
    this.#mayWork = mayWork
    this.coverage = new Coverage(tuning.sieveRunsMin, onAsked)
    this.noted = builder === null ? new NotedKeys(paths, tuning.recordsMax) : null
    this.hasher = this.#createHasher(createKey())
    this.keys = createKeys(host.codec, paths, this.hasher)
  }

  /** @param {Buffer} key */
  #createHasher (key) {
    return new Hasher(key, this.#tuning.hashBits)
  }

  /** Takes the runs that are in the folder, and lets go of those that are not. */
  async load () {
    const generation = this.#generation
    const lossCount = this.#lossCount
    /** @type {Bounds[]} */
    const dropped = this.#dropped = []
    const found = await this.#folder.load(this.coverage.runs).finally(() => { this.#dropped = null })
    if (generation !== this.#generation) {
      for (const run of found) await run.close()
      return
    }
    // A run may have been found right just before its records were dropped, or was removed meanwhile.
    const gone = found.filter((run) => !run.isOpen || dropped.some((range) => overlap(run, range)))
    this.#folder.discard(gone)
    const runs = found.filter((run) => !gone.includes(run))
    const [first] = runs
    const isOtherKey = first !== undefined && !Buffer.from(first.footer.key, 'hex').equals(this.hasher.key)
    if (isOtherKey) {
      this.noted?.clear()
      this.hasher = this.#createHasher(Buffer.from(first.footer.key, 'hex'))
      this.keys = createKeys(this.#host.codec, this.#paths, this.hasher)
    }
    const kept = this.coverage.segments.filter((segment) => {
      if (segment instanceof Run) return runs.includes(segment)
      return !isOtherKey && runs.every(({ from, to }) => to <= segment.from || from >= segment.to)
    })
    this.remove(this.coverage.segments.filter((segment) => !kept.includes(segment)))
    for (const run of runs) {
      if (kept.includes(run)) continue
      // Nobody has told a run that was being opened what it has lost.
      if (run.isClean && lossCount !== this.#lossCount) run.losses = 'unknown'
      this.coverage.add(run)
    }
  }

  /**
   * Fills what tells which runs may have a key, as far as somebody has asked.
   * @param {() => boolean} mayGoOn
   */
  async sift (mayGoOn) {
    const { pace } = this.#tuning
    while (mayGoOn() && this.coverage.sieve.fill(SIFT_STEP)) if (pace.isDue(SIFT_STEP * HASH_WORK)) await pace.rest()
  }

  /** Records are deleted. @param {readonly number[]} seqs */
  noteDeleted (seqs) {
    this.#lossCount++
    this.noted?.clear()
    for (const seq of seqs) {
      const { segment } = this.coverage.at(seq)
      if (segment !== null && 'noteLoss' in segment) segment.noteLoss()
      else this.#noteLoss({ from: seq, to: seq + 1 })
      const filling = this.#filling
      if (filling !== null && seq >= filling.block.from && seq < filling.to) filling.block.noteLoss()
    }
  }

  /** Records are dropped. @param {Bounds} range  of whole files */
  noteDropped (range) {
    this.#lossCount++
    this.noted?.clear()
    this.#noteLoss(range)
    this.#dropped?.push(range)
    const gone = this.coverage.segments.filter((segment) => overlap(segment, range))
    const filling = this.#filling
    // A block that a scan has just begun has no range yet.
    if (filling !== null && overlap({ from: filling.block.from, to: filling.to }, range)) gone.push(filling.block)
    this.remove(gone)
  }

  /** Waits for no other thread any more. */
  abandon () {
    this.#builder?.abandon()
  }

  /** Forgets everything, before the call returns. @returns {Run[]}  that were open */
  reset () {
    this.#generation++
    this.noted?.clear()
    this.#filling = null
    this.#losses = []
    this.#builder?.abandon()
    return this.coverage.clear().filter((segment) => segment instanceof Run)
  }

  /** @param {readonly import('./coverage').Segment[]} segments  that are known no more */
  remove (segments) {
    if (segments.length === 0) return
    this.coverage.remove(segments)
    for (const segment of segments) if (segment instanceof Block) this.#builder?.forget(segment)
    this.#folder.discard(segments.filter((segment) => segment instanceof Run))
  }

  /** What lies before the log's first record is of no use any more. */
  removeDropped () {
    const { start } = this.#host
    this.remove(this.coverage.segments.filter(({ from, to }) => to <= start && from < start))
  }

  /** The first block that waits to become a run. */
  get unwritten () {
    return this.coverage.blocks.find(isUnwritten)
  }

  /** The last records become a run, too, however few they are. */
  seal () {
    for (const block of this.coverage.blocks) if (block.count > 0) block.isSealed = true
  }

  /**
   * What the index does not know yet, and has room for.
   * @param {number} [end]  of what is looked at
   * @returns {{ from: number, to: number } | null}
   */
  nextGap (end = this.#host.end) {
    if (this.#host.isReadOnly && !this.#tuning.keepsUp) return null
    const gap = this.coverage.firstGap(this.#host.start, Math.min(end, this.#host.end))
    if (gap === null) return null
    // A follower writes no runs.
    const unwritten = this.coverage.blocks.filter(isUnwritten).reduce((sum, { count }) => sum + count, 0)
    return unwritten >= UNWRITTEN_MAX * this.#tuning.recordsMax ? null : gap
  }

  /** Notes the keys of the first part of a gap. @type {(gap: Bounds) => Promise<void>} */
  async fill ({ from, to: end }) {
    const to = Math.min(end, this.#borderAfter(from))
    const generation = this.#generation
    const before = this.coverage.endingAt(from)
    const isOpen = before instanceof Block && !before.isSealed
    const likely = this.#builder?.isReady ? undefined : this.#likely
    const block = isOpen ? before : new Block(this.#paths, from, this.#tuning.recordsMax, likely)
    if (!isOpen) this.coverage.add(block)
    const taken = this.noted?.take(block, { from, to }, this.#host.since ?? NaN) ?? from
    if (taken > from) return this.#endFill(block, null, taken)
    const keys = this.keys
    const isOver = () => !this.#isCurrent(generation) || keys !== this.keys
    this.#filling = { block, to }
    /** @type {{ to: number, damage: Bounds | null }} */
    let reached
    try {
      reached = await this.#fillThere(block, { from, to }, isOver) ?? await this.#fillHere(block, { from, to }, isOver)
    } finally {
      this.#filling = null
    }
    this.#likely = block.isFull ? block.counts : undefined
    if (!isOver()) this.#endFill(block, reached.damage, reached.to)
  }

  /** @type {(block: Block, range: Bounds, isOver: () => boolean) => Promise<{ to: number, damage: Bounds | null }>} */
  async #fillHere (block, range, isOver) {
    const { count } = block
    const damage = await fillBlock(this.#host, range, { block, keys: this.keys, pace: this.#tuning.pace, isOver })
    // What has no records, as between the last one of a segment and the next segment, leaves it as the builder has it.
    if (block.count > count) this.#builder?.forget(block)
    return { to: range.to, damage }
  }

  /**
   * In the thread of the builder.
   * @type {(block: Block, range: Bounds, isOver: () => boolean) =>
   *   Promise<{ to: number, damage: Bounds | null } | null>} null if it could not, or nobody can tell if it is right
   */
  async #fillThere (block, range, isOver) {
    const builder = this.#builder
    if (builder === null) return null
    // What was removed meanwhile is not filled.
    const isGone = () => isOver() || !this.coverage.segments.includes(block)
    const nothing = { to: range.from, damage: null }
    const filled = await builder.fill(block, range, { key: this.hasher.key, paths: this.#paths })
    if (isGone()) return nothing
    if (filled === null) return null
    const { part, last, proof, to } = filled
    const own = await this.#host.proof(last)
    if (isGone()) return nothing
    if (own !== proof) builder.doubt()
    // Of lines it may not be known yet.
    if (own !== proof || own === null) return null
    builder.believe()
    block.take(part)
    // It may have read what was there before a deletion.
    if (this.#takeLosses(block.isSealed ? block.to : to).some((lost) => lost.to > range.from)) block.noteLoss()
    return { to, damage: null }
  }

  /** Ranges before an end that have lost records while nothing was known of them. @param {number} end */
  #takeLosses (end) {
    const taken = this.#losses.filter(({ from }) => from < end)
    this.#losses = this.#losses.filter(({ to }) => to > end)
    return taken
  }

  /** @param {Bounds} range */
  #noteLoss (range) {
    if (this.#builder === null) return
    this.#losses.push(range)
    if (this.#losses.length <= LOSSES_MAX) return
    const [from, to] = [this.#losses.map(({ from }) => from), this.#losses.map(({ to }) => to)]
    this.#losses = [{ from: Math.min(...from), to: Math.max(...to) }]
  }

  /** @param {number} seq */
  #borderAfter (seq) {
    return this.#host.nextBorder?.(seq) ?? Infinity
  }

  /**
   * @param {Block} block
   * @param {{ from: number, to: number } | null} damage  that ended the scan
   * @param {number} to
   */
  #endFill (block, damage, to) {
    // A run of the writer may have taken its place.
    if (!this.coverage.segments.includes(block)) return
    if (damage !== null) {
      // It is looked at again when the log is opened the next time.
      block.isSealed = true
      block.to = Math.max(block.to, Math.min(damage.from, to))
      const end = Math.min(Math.max(damage.to, block.to + 1), to)
      if (block.to < end) this.coverage.add({ from: block.to, to: end, isDamage: true })
      return
    }
    if (block.isSealed) return
    block.to = to
    // Nothing is ever added to what lies before a border or another segment.
    const isAtBorder = to === this.#borderAfter(block.from) || this.coverage.at(to).segment !== null
    if (isAtBorder || block.isGrown) block.isSealed = true
  }

  /**
   * Makes a run of a block. Its records need not be on stable storage: if a power cut takes some, the run is not used
   * any more (`whyNot` of the folder).
   * @param {Block} block
   */
  async write (block) {
    const generation = this.#generation
    const run = await this.#folder.write(block, this.hasher.key, () => this.#isCurrent(generation))
    if (run === null) return
    if (!this.#isCurrent(generation) || !this.coverage.segments.includes(block)) {
      this.#folder.discard([run])
      return
    }
    if (block.isClean) run.losses = 'none'
    this.#builder?.forget(block)
    this.coverage.replace([block], run)
  }

  /** Makes one run of some. @returns {Promise<boolean>}  false if none are to be merged */
  async merge () {
    const generation = this.#generation
    const { coverage } = this
    const runs = this.#folder.chooseRuns(coverage, (seq) => this.#borderAfter(seq))
    if (runs === null) return false
    const isCurrent = () => this.#isCurrent(generation) && runs.every((run) => this.coverage.segments.includes(run))
    const merged = await this.#folder.merge(runs, this.hasher.key, isCurrent, (run) => this.remove([run]))
    if (merged === null) return true
    if (!isCurrent()) {
      this.#folder.discard([merged])
      return true
    }
    if (runs.every(({ isClean }) => isClean)) merged.losses = 'none'
    this.coverage.replace(runs, merged)
    this.#folder.discard(runs)
    return true
  }

  /** A count would be quicker if nothing in the run was deleted. @param {Run} run @returns {boolean} */
  doubt (run) {
    if (run.losses !== 'unknown') return false
    run.losses = 'asked'
    return true
  }

  /** Finds out whether something in a run is deleted. @returns {Promise<boolean>}  false if no count has asked */
  async settleDoubt () {
    const generation = this.#generation
    const lossCount = this.#lossCount
    const run = this.coverage.runs.find(({ losses }) => losses === 'asked')
    if (run === undefined) return false
    run.losses = 'some'
    const isClean = await this.#folder.isStillClean(run).catch((err) => {
      if (err instanceof DamagedRun) this.remove([run])
      else if (!(err instanceof UnreadRun)) throw err
      return false
    })
    // What is deleted meanwhile may be in it.
    if (isClean && this.#isCurrent(generation) && lossCount === this.#lossCount) run.losses = 'none'
    return true
  }

  /** @param {number} generation */
  #isCurrent (generation) {
    return generation === this.#generation && this.#mayWork()
  }
}

/** @type {(one: Bounds, other: Bounds) => boolean} */
function overlap (one, other) {
  return one.from < other.to && one.to > other.from
}

/** Whether it waits to become a run. @param {Block} block */
function isUnwritten ({ isSealed, count }) {
  return isSealed && count > 0
}

exports.Indexer = Indexer
