'use strict'
// The builder of indexes, in a Worker of the application: it opens the log there, for reading, as the application makes
// it, and does what the owner of the index asks for. It decides nothing, and makes no files.

const path = require('node:path')
const { clearInterval, setInterval } = require('node:timers')
const { misuse, reasonOf } = require('@millrace/errors')
const { Block } = require('./block')
const { writeBlock, writeMergedFiles } = require('./build')
const { createKeys } = require('./extract')
const { fillBlock } = require('./fill')
const { Hasher } = require('./hash')
const { Pace } = require('./pace')
const { TAG, checkPort, findPlace } = require('./remote-builder')
const { DamagedRun } = require('./run-format')
const { writeContent } = require('./run-writer')

/** So many records are added to a block that has some: the owner adds them in one turn. */
const FILL_MAX = 16_384
/** A range is read in pieces of so many bytes: where all records were deleted, only that shows that it gets further. */
const PIECE_SIZE = 64 * 1024 * 1024
/** How often it says that it is still at work. */
const ALIVE_MS = 1000

/**
 * @typedef {import('./log-index').Host} Host
 * @typedef {import('./remote-builder').Port} Port
 * @typedef {import('./remote-builder').Range} Range
 * @typedef {import('./fill').Filling} Filling
 * @typedef {{ block: Block, keys: import('./extract').Keys, end: number }} Known  `end`: of what is read for it
 * @typedef {{ isOver: boolean, progress: number }} Job  `progress`: rises while it gets further
 *
 * @typedef {object} BuilderSource  what the log is handed as its option `index`
 * @property {(host: Host) => any} open
 *
 * @typedef {object} OpenLog  a log that is only read
 * @property {() => Promise<unknown>} [ready]
 * @property {() => Promise<unknown>} [refresh]
 * @property {() => Promise<unknown>} [close]
 */

/** Ends work that is not wanted any more: what is asked for next would wait for it. */
class JobPace extends Pace {
  #job

  /** @param {Job} job */
  constructor (job) {
    super()
    this.#job = job
  }

  /** @type {Pace['isDue']} */
  isDue (work) {
    this.#job.progress++
    return super.isDue(work)
  }

  async rest () {
    await super.rest()
    if (this.#job.isOver) throw new Error('it was abandoned')
  }
}

/** What is built for one index. */
class Build {
  #say
  /** @type {OpenLog | null} */
  #log = null
  /** @type {Host | null} */
  #host = null
  /** By the numbers that the owner gives them. @type {Map<number, Known>} */
  #blocks = new Map()
  #job = createJob()
  #turn = Promise.resolve()
  #hasEnded = false

  /** @param {(message: object, transferList?: ArrayBuffer[]) => void} say */
  constructor (say) {
    this.#say = say
  }

  /**
   * @param {(index: BuilderSource, path: string) => OpenLog | Promise<OpenLog>} openLog
   * @param {string} logPath
   */
  async open (openLog, logPath) {
    try {
      const log = this.#log = await openLog({ open: (host) => this.#takeHost(host) }, logPath)
      if (log === null || typeof log !== 'object') {
        throw misuse(`runBuilder: the function that opens the log must return it, or a promise of it, got ${reasonOf(log)}`)
      }
      await log.ready?.()
      if (this.#host === null) throw misuse('runBuilder: the log was not given the index as its option')
      const { folder, codec: { name, compile } } = this.#host
      const codec = { codec: name, compiles: Boolean(compile) }
      this.#say({ kind: 'opened', folder: path.resolve(folder), place: await findPlace(this.#host), ...codec })
    } catch (err) {
      this.#say({ kind: 'failed', why: `could not open the log: ${reasonOf(err)}` })
    }
    if (this.#hasEnded) await this.#close()
  }

  /** As an index of the log, it knows nothing. @param {Host} host */
  #takeHost (host) {
    this.#host = host
    const nothing = () => {}
    const empty = async () => {}
    return {
      parts: () => null,
      explain: (/** @type {unknown} */ where, /** @type {{ from?: number }} */ { from = 0 }) => {
        return { uses: [], candidates: null, runs: 0, scanned: { from, records: null }, why: 'the index is in another thread' }
      },
      count: () => null,
      appended: nothing,
      deleted: nothing,
      dropped: (/** @type {{ from: number, to: number }} */ range) => this.#forget(range),
      compacting: nothing,
      compacted: empty,
      replaced: async () => this.#blocks.clear(),
      ready: empty,
      status: () => ({ paths: [], isReady: false, runs: 0, records: 0, tail: 0, size: 0, failure: null }),
      drop: empty,
      close: empty
    }
  }

  /** What was read of a range may be of others. @param {{ from: number, to: number }} range */
  #forget ({ from, to }) {
    for (const [id, { block, end }] of this.#blocks) if (block.from < to && end > from) this.#blocks.delete(id)
  }

  /** @param {any} message  of the owner */
  take (message) {
    if (message.kind === 'forget') {
      this.#blocks.delete(message.block)
    } else if (message.kind === 'abandon') {
      this.#job.isOver = true
      this.#blocks.clear()
    } else if (message.kind === 'end') {
      this.#end()
    } else {
      const job = this.#job = createJob()
      this.#turn = this.#turn.then(() => this.#run(message, job))
    }
  }

  #end () {
    this.#hasEnded = true
    this.#job.isOver = true
    this.#blocks.clear()
    this.#turn = this.#turn.then(() => this.#close())
  }

  async #close () {
    const log = this.#log
    this.#log = null
    try {
      await log?.close?.()
    } catch {
      // Nobody waits for that, and what is thrown here would end the process.
    }
  }

  /** @param {any} message @param {Job} job */
  async #run (message, job) {
    const { id, kind } = message
    if (job.isOver) return
    const beat = setInterval(() => this.#say({ kind: 'alive', id, progress: job.progress }), ALIVE_MS).unref()
    try {
      /** @type {ArrayBuffer[]} */
      const moved = []
      const answer = kind === 'fill' ? await this.#fill(message, job, moved) : await this.#write(message, job)
      this.#say({ kind: 'done', id, answer }, moved)
    } catch (/** @type {any} */ err) {
      const { code } = err ?? {}
      const known = typeof code === 'string' && { code }
      this.#say({ kind: 'done', id, trouble: { message: reasonOf(err), ...known, isDamage: err instanceof DamagedRun } })
    } finally {
      clearInterval(beat)
    }
  }

  /**
   * @type {(asked: any, job: Job, moved: ArrayBuffer[]) => Promise<import('./remote-builder').Filled | null>} null if
   *   it does not see what the owner sees
   */
  async #fill ({ block: id, records, from, to, make }, job, moved) {
    const host = /** @type {Host} */ (this.#host)
    if (make !== null || host.end < to) await this.#log?.refresh?.()
    job.progress++
    if (make !== null) this.#blocks.set(id, createBlock(host, make))
    const known = this.#blocks.get(id)
    if (known === undefined || known.block.count !== records || host.end < to) return null
    const { block, keys } = known
    known.end = to
    const { mark } = block
    let isCut = false
    const isOver = () => job.isOver || (isCut ||= records > 0 && block.count - records >= FILL_MAX)
    const damage = await fillByPieces(host, { from, to }, { block, keys, pace: new JobPace(job), isOver }, job)
    // What is damage, the owner finds out.
    if (block.count === records || damage !== null || job.isOver) return null
    const last = block.seqs[block.count - 1]
    const proof = await host.proof(last)
    // The records may be those of the log before a compaction, or before they were dropped.
    if (this.#blocks.get(id) !== known || job.isOver) return null
    const part = block.copySince(mark)
    moved.push(...buffersOf(part))
    return { part, to: isCut ? block.to : to, last, proof }
  }

  /**
   * Writes the content of a run.
   * @param {any} asked
   * @param {Job} job
   * @returns {Promise<boolean>}  false if it has forgotten the block, as when records of it were dropped
   */
  async #write ({ kind, name, footer, block: id, records, erased, names, cachedPages }, job) {
    const { folder, storage } = /** @type {Host} */ (this.#host)
    const block = this.#blocks.get(id)?.block
    if (kind === 'write' && block?.count !== records) return false
    await writeContent(storage, path.join(folder, name), new JobPace(job), async (writer) => {
      const sections = block === undefined
        ? await writeMergedFiles(writer, storage, folder, names, cachedPages)
        : await writeBlock(writer, block, erased)
      return { ...footer, ...sections }
    })
    return true
  }
}

/** @type {(host: Host, range: Range, filling: Filling, job: Job) => ReturnType<typeof fillBlock>} as `fillBlock` */
async function fillByPieces (host, { from, to }, filling, job) {
  const { block, isOver } = filling
  for (let at = from; at < to && !block.isSealed && !isOver(); at += PIECE_SIZE) {
    try {
      const damage = await fillBlock(host, { from: at, to: Math.min(to, at + PIECE_SIZE) }, filling)
      if (damage !== null) return damage
    } catch (/** @type {any} */ err) {
      // A read may not begin amid what a power cut took, but goes past it.
      if (err.code !== 'ERR_LOG_SEQ_LOST' || at === from) throw err
      return await fillBlock(host, { from: block.count > 0 ? block.seqs[block.count - 1] + 1 : from, to }, filling)
    }
    job.progress++
  }
  return null
}

/** @returns {Job} */
function createJob () {
  return { isOver: false, progress: 0 }
}

/** @type {(host: Host, make: any) => Known} */
function createBlock (host, { from, recordsMax, hashBits, key, paths }) {
  const hasher = new Hasher(Buffer.from(key), hashBits)
  return { block: new Block(paths, from, recordsMax), keys: createKeys(host.codec, paths, hasher), end: from }
}

/** @param {import('./block').BlockPart} part */
function buffersOf ({ seqs, keys, numbers, times }) {
  const columns = [...keys, ...numbers, ...times].flatMap((column) => column === null ? [] : Object.values(column))
  return [seqs, ...columns].map(({ buffer }) => /** @type {ArrayBuffer} */ (buffer))
}

/**
 * Builds indexes for another thread, for as long as the port is open: that of `createIndex(paths, { builder })`.
 * @param {Port | null} port  `parentPort` in a Worker, which is null elsewhere; or the other end of the MessagePort
 *   that is the builder there
 * @param {(index: BuilderSource, path: string) => OpenLog | Promise<OpenLog>} openLog  Opens the same log, with the
 *   same codec, `flags: 'r'` and this index. `path` is that of the log, of its file or its folder: one Worker may build
 *   the indexes of several. It is called once the log is open there; the log is closed when the index is.
 * @returns {void}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function runBuilder (port, openLog) {
  checkPort('runBuilder: port', port)
  const own = /** @type {Port} */ (port)
  if (typeof openLog !== 'function') {
    throw misuse(`runBuilder: expected a function that opens the log, got ${reasonOf(openLog)}`)
  }
  /** By owner. @type {Map<number, Build>} */
  const builds = new Map()
  own.on('message', (message) => {
    if (message?.millrace !== TAG || message.owner === undefined) return
    const { owner, kind } = message
    const known = builds.get(owner)
    if (kind === 'end') builds.delete(owner)
    if (known !== undefined) return known.take(message)
    if (kind !== 'open') return
    const build = new Build((said, moved) => own.postMessage({ millrace: TAG, owner, ...said }, moved))
    builds.set(owner, build)
    build.open(openLog, message.path)
  })
  own.postMessage({ millrace: TAG, kind: 'hello' })
}

exports.runBuilder = runBuilder
