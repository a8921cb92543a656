'use strict'
// The folder of the run files: which of them belong to the log as it is now, new ones, merged ones, and those that go.

const { listFiles, removeFiles } = require('@millrace/block-file')
const { GROWN_PART } = require('./block')
const { writeBlock, writeMergedFiles } = require('./build')
const { ColdPace } = require('./pace')
const { DamagedRun, MISSING, RUN_NAME, RUN_SIZE_MAX, UNFINISHED_NAME, UNREADABLE } = require('./run-format')
const { openRun } = require('./run')
const { RunFiles } = require('./run-files')
const { RunPages } = require('./run-pages')
const { isRunFile } = require('./run-list')
const { writeContent, writeRunFile } = require('./run-writer')

/** Of the distances of a run. */
const SPAN_MAX = 2 ** 32

/**
 * @typedef {import('./log-index').Host} Host
 * @typedef {import('./block').Block} Block
 * @typedef {import('./run').Run} Run
 * @typedef {import('./run-format').Footer} Footer
 */

class RunFolder {
  #host
  #paths
  #tuning
  #builder
  /** Whether the next merge is not the builder's. */
  #mergesHere = false
  #cache
  #files
  /** Of blocks that are written here. */
  #pace
  /** Names of files that can go. @type {Set<string>} */
  #discarded = new Set()
  /** Runs that are not closed yet. @type {Set<Promise<void>>} */
  #closing = new Set()

  /**
   * @param {Host} host
   * @param {readonly import('./paths').DeclaredPath[]} paths
   * @param {Required<import('./log-index').Tuning>} tuning
   * @param {import('./remote-builder').RemoteBuilder | null} builder
   */
  constructor (host, paths, tuning, builder) {
    this.#host = host
    this.#builder = builder
    this.#paths = JSON.stringify(paths.map(({ steps, each, range }) => [steps, each, range]))
    this.#tuning = tuning
    this.#pace = new ColdPace(tuning.pace)
    this.#cache = new RunPages(tuning.cachedPages)
    this.#files = new RunFiles(host.storage, host.folder, tuning.openRuns)
  }

  /**
   * Opens the runs that belong to the log.
   * @param {readonly Run[]} known  those that are open
   * @returns {Promise<Run[]>}  in the order of the log, without those that overlap with a larger one
   */
  async load (known) {
    const names = await this.#list()
    /** @type {Run[]} */
    const runs = []
    try {
      for (const name of names.filter((name) => RUN_NAME.test(name) && !this.#discarded.has(name))) {
        const run = known.find((run) => run.name === name) ?? await this.#tryOpen(name)
        if (run !== null) runs.push(run)
        // A follower may not have seen the records of it yet.
        else if (!this.#host.isReadOnly) this.#discarded.add(name)
      }
    } catch (err) {
      for (const run of runs) if (!known.includes(run)) await run.close()
      throw err
    }
    for (const name of names.filter((name) => UNFINISHED_NAME.test(name))) this.#discarded.add(name)
    // Of one index all have the same key.
    const key = runs[0]?.footer.key
    runs.sort((a, b) => a.from - b.from || b.to - a.to)
    /** @type {Run[]} */
    const chosen = []
    for (const run of runs) {
      const isNext = chosen.length === 0 || run.from >= chosen[chosen.length - 1].to
      if (isNext && run.footer.key === key) chosen.push(run)
    }
    this.discard(runs.filter((run) => !chosen.includes(run)))
    return chosen
  }

  #list () {
    return listFiles(this.#host.storage, this.#host.folder)
  }

  /** @param {string} name @returns {Promise<Run | null>}  null if it is not one of the log */
  async #tryOpen (name) {
    /** @type {Run | null} */
    let run = null
    try {
      run = await openRun(this.#files, name, this.#cache)
      if (await this.#whyNot(run) !== null) {
        await run.close()
        return null
      }
      // A number does not say which ones they are: if there are some, that is found out once a count asks for it.
      if (run.losses === 'unknown' && await this.#host.erasedCountAt(run.footer.last) === 0) run.losses = 'none'
      return run
    } catch (/** @type {any} */ err) {
      await run?.close()
      // The writer of the log may have merged it meanwhile.
      if (err instanceof DamagedRun || err instanceof SyntaxError || MISSING.includes(err.code)) return null
      // Its range is scanned, or indexed again: the others are still of use.
      if (UNREADABLE.includes(err.code)) return null
      throw err
    }
  }

  /**
   * Whether the log is the one that the run was made of, and still has what the run covers.
   * @param {Run} run
   * @returns {Promise<string | null>}  why it is not used; null if it can be
   */
  async #whyNot (run) {
    const { id, epoch, codec, paths, to, last, proof, erased } = run.footer
    const host = this.#host
    const own = host.identity()
    if (own.id === null || own.id.toString('hex') !== id || own.epoch !== epoch) return 'it is of another log, or of other times'
    if (host.codec.name !== codec) return `it is of a log whose codec is ${codec}`
    if (JSON.stringify(paths) !== this.#paths) return 'it is of other paths'
    if (to > host.end) return 'it goes on after the end of the log'
    const isSame = await host.lastOf(last) && await host.proof(last) === proof && await this.#isEmpty(last + 1, to)
    if (!isSame) return 'the log has other records there'
    // Of an older copy: the run lacks what was deleted after it.
    const hasAll = erased <= (await host.erasedCountAt(last) ?? Infinity) && await this.#areErased(run.erased())
    return hasAll ? null : 'the log has records that were deleted before'
  }

  /** @param {Iterable<number>} seqs */
  async #areErased (seqs) {
    for (const seq of seqs) if (!await this.#host.isErased(seq)) return false
    return true
  }

  /**
   * Finds out whether nothing in a run is deleted: then the deleted records of its range are those that it lacks.
   * @param {Run} run  whose footer says that it was so when the run was made
   */
  async isStillClean (run) {
    const now = await this.#host.findErased(run)
    const then = [...run.erased()]
    return now.length === then.length && now.every((seq, index) => seq === then[index])
  }

  /** Whether the log has no record in a range: one that went on from an older copy may have some. */
  async #isEmpty (/** @type {number} */ from, /** @type {number} */ to) {
    let isEmpty = true
    const found = () => (isEmpty = false)
    if (from < to) await this.#host.scanRaw({ from, to }, ({ count }) => count === 0 || found(), found)
    return isEmpty
  }

  /**
   * Says of each run file why it is not used.
   * @returns {Promise<Array<{ name: string, why: string | null }>>}  null if it can be
   */
  async inspect () {
    /** @type {Array<{ name: string, why: string | null }>} */
    const found = []
    for (const name of (await this.#list()).filter((name) => RUN_NAME.test(name))) {
      try {
        const run = await openRun(this.#files, name, new RunPages(1))
        found.push({ name, why: await this.#whyNot(run).finally(() => run.close()) })
      } catch (/** @type {any} */ err) {
        if (MISSING.includes(err.code)) continue
        if (UNREADABLE.includes(err.code)) {
          found.push({ name, why: `it cannot be read: ${err.message}` })
          continue
        }
        if (!(err instanceof DamagedRun) && !(err instanceof SyntaxError)) throw err
        found.push({ name, why: `it is damaged: ${err.message}` })
      }
    }
    return found
  }

  /**
   * Makes a run of a block.
   * @param {Block} block
   * @param {Buffer} key  of the hashes
   * @param {() => boolean} isCurrent
   * @returns {Promise<Run | null>}  null if it is not right any more, or the builder did not write it
   */
  write (block, key, isCurrent) {
    const last = block.seqs[block.count - 1]
    return this.#make(block, last, key, isCurrent, async (file, known) => {
      /** @type {number[]} */
      const erased = []
      for (const seq of await this.#host.findErased(block)) {
        // A deletion that is under way may have erased it since it was added. The run would lack it, and has it.
        if (block.has(seq)) block.noteLoss()
        else erased.push(seq)
      }
      if (this.#builder?.has(block)) {
        const footer = { ...known, ...await this.#describeErased(last, [block]) }
        return isCurrent() && await this.#builder.write(block, file, erased, footer)
      }
      await writeContent(this.#host.storage, file, this.#pace, async (writer) => {
        return { ...known, ...await writeBlock(writer, block, erased), ...await this.#describeErased(last, [block]) }
      })
      return true
    })
  }

  /** @type {(seq: number, parts: ReadonlyArray<Block | Run>) => Promise<Pick<Footer, 'erased' | 'isClean'>>} */
  async #describeErased (seq, parts) {
    const erased = await this.#host.erasedCountAt(seq) ?? -1
    // Looked at last: a deletion may have begun meanwhile. What a run says stays true of the deletions that it lists.
    return { erased, isClean: parts.every((part) => 'footer' in part ? part.footer.isClean : part.isClean) }
  }

  /**
   * Makes one run of several.
   * @param {readonly Run[]} runs  adjacent
   * @param {Buffer} key
   * @param {() => boolean} isCurrent
   * @param {(run: Run) => void} onDamaged
   * @returns {Promise<Run | null>}
   */
  async merge (runs, key, isCurrent, onDamaged) {
    const { storage, folder } = this.#host
    const { cachedPages } = this.#tuning
    const { to, footer: { last } } = runs[runs.length - 1]
    const names = runs.map(({ name }) => name)
    try {
      return await this.#make({ from: runs[0].from, to }, last, key, isCurrent, async (file, known) => {
        if (this.#builder?.isReady && !this.#mergesHere) {
          const footer = { ...known, ...await this.#describeErased(last, runs) }
          return isCurrent() && await this.#builder.merge(names, file, footer).catch((err) => {
            if (!isOfRuns(err)) throw err
            // What is damaged or missing for the builder, this thread must see.
            this.#mergesHere = true
            return false
          })
        }
        this.#mergesHere = false
        await writeContent(this.#host.storage, file, this.#tuning.pace, async (writer) => {
          const sections = await writeMergedFiles(writer, storage, folder, names, cachedPages)
          return { ...known, ...sections, ...await this.#describeErased(last, runs) }
        })
        return true
      })
    } catch (/** @type {any} */ err) {
      if (!isOfRuns(err)) throw err
      // Which one it is, is not known for certain. They are built again.
      for (const run of runs) onDamaged(run)
      return null
    }
  }

  /**
   * @param {{ from: number, to: number }} range
   * @param {number} last
   * @param {Buffer} key
   * @param {() => boolean} isCurrent
   * @param {(file: string, known: object) => Promise<boolean>} write  the content, with a footer that has what is
   *   known. False if it did not
   * @returns {Promise<Run | null>}
   */
  async #make ({ from, to }, last, key, isCurrent, write) {
    const { storage, folder, codec, findFile } = this.#host
    const { id, epoch } = this.#host.identity()
    const proof = await this.#host.proof(last)
    const known = {
      id: id?.toString('hex') ?? '',
      epoch,
      key: key.toString('hex'),
      codec: codec.name,
      paths: JSON.parse(this.#paths),
      from,
      to,
      last,
      proof
    }
    const isStillRight = async () => isCurrent() && await this.#host.proof(last) === proof
    const writeKnown = (/** @type {string} */ file) => write(file, known)
    const name = await writeRunFile(storage, folder, findFile(), { from, to }, writeKnown, isStillRight)
    return name === null ? null : await openRun(this.#files, name, this.#cache)
  }

  /**
   * Finds adjacent runs that become one: some of about one size; or what is left between two borders, once that is all.
   * @param {import('./coverage').Coverage} coverage
   * @param {(seq: number) => number} borderAfter
   * @returns {Run[] | null}
   */
  chooseRuns (coverage, borderAfter) {
    const { runs } = coverage
    for (let first = 0; first < runs.length;) {
      const border = borderAfter(runs[first].from)
      const next = runs.findIndex(({ from }) => from >= border)
      const group = runs.slice(first, next === -1 ? runs.length : next)
      first += group.length
      const isWhole = group.length > 1 && areAdjacent(group) && coverage.hasNothing(group[group.length - 1].to, border)
      const chosen = this.#chooseEqual(group) ?? (isWhole && canBeOne(group) ? group : null)
      if (chosen !== null) return chosen
    }
    return null
  }

  /** @param {readonly Run[]} runs @returns {Run[] | null} */
  #chooseEqual (runs) {
    const levels = runs.map((run) => this.#levelOf(run))
    // A small run before larger ones, as after damage, counts as one of them: no others of its size come after it.
    for (let index = runs.length - 2; index >= 0; index--) levels[index] = Math.max(levels[index], levels[index + 1])
    /** @type {Run[]} */
    let found = []
    for (const [index, run] of runs.entries()) {
      const isNext = index > 0 && levels[index - 1] === levels[index] && runs[index - 1].to === run.from
      found = isNext ? [...found, run] : [run]
      if (found.length === this.#tuning.fanOut && canBeOne(found)) return found
      if (found.length === this.#tuning.fanOut) found = found.slice(1)
    }
    return null
  }

  /** How often it was merged, by its size. @param {Run} run */
  #levelOf ({ records }) {
    const { recordsMax, fanOut } = this.#tuning
    let level = 0
    for (let size = GROWN_PART * recordsMax * fanOut; size <= records; size *= fanOut) level++
    return level
  }

  /** Closes runs; their files can go. @param {readonly Run[]} runs */
  discard (runs) {
    for (const run of runs) {
      this.#discarded.add(run.name)
      const closing = run.close().finally(() => this.#closing.delete(closing))
      this.#closing.add(closing)
    }
  }

  /**
   * Removes the files that can go. What cannot be removed, as while somebody has it open on Windows, is tried again the
   * next time.
   */
  async clean () {
    const names = new Set(this.#discarded)
    if (names.size > 0) await this.#remove((name) => names.has(name)).catch(() => {})
  }

  /** Removes all files; then none of their bytes can be found by name. @param {readonly Run[]} runs  that are open */
  async empty (runs) {
    this.discard(runs)
    await this.#remove(isRunFile)
  }

  /** @param {(name: string) => boolean} isGone */
  async #remove (isGone) {
    // A follower leaves all to the writer.
    if (this.#host.isReadOnly) return
    // Of what is discarded meanwhile, the files may be missing in the list.
    const names = [...this.#discarded].filter(isGone)
    await this.close()
    await removeFiles(this.#host.storage, this.#host.folder, isGone)
    for (const name of names) this.#discarded.delete(name)
  }

  /** Waits until what was discarded is closed. */
  async close () {
    await Promise.all(this.#closing)
  }
}

/** Whether a merge has failed because of a run. @param {any} err */
function isOfRuns (err) {
  return err instanceof DamagedRun || MISSING.includes(err.code)
}

/** @param {readonly Run[]} runs */
function areAdjacent (runs) {
  return runs.every((run, index) => index === 0 || run.from === runs[index - 1].to)
}

/** @param {readonly Run[]} runs */
function canBeOne (runs) {
  const size = runs.reduce((sum, { size }) => sum + size, 0)
  return size <= RUN_SIZE_MAX && runs[runs.length - 1].footer.last - runs[0].footer.base < SPAN_MAX
}

exports.RunFolder = RunFolder
