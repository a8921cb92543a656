'use strict'
// The builder of an index, as its owner sees it: a Worker of the application that reads records, notes their keys and
// writes the content of runs. The owner decides everything: it asks for one job at a time, makes and removes the files,
// and believes no answer before it has proved that it is of the same records. If the builder fails, or says nothing,
// the owner builds the index by itself.

const { clearTimeout, setImmediate, setTimeout } = require('node:timers')
const path = require('node:path')
const { LogError, misuse, reasonOf } = require('@millrace/errors')
const { promisesOf } = require('@millrace/flow')
const { DamagedRun, MISSING } = require('./run-format')

/** What the messages have, among others of the application. */
const TAG = 'index'
/** A builder that works says so more often. */
const SILENCE_MS = 30_000
/** So often, once a second, it may say so without getting further: a call that takes long, as a sync, may succeed. */
const IDLE_BEATS_MAX = 120
/** After so many answers in a row that are of other records it is not asked any more. */
const DOUBTS_MAX = 8

/**
 * @typedef {import('./block').Block} Block
 * @typedef {import('./block').BlockPart} BlockPart
 * @typedef {import('./log-index').Host} Host
 * @typedef {{ from: number, to: number }} Range
 *
 * @typedef {object} Port  a Worker, or a MessagePort that leads to one
 * @property {(message: any, transferList?: any) => void} postMessage
 * @property {(event: any, listener: (value: any) => void) => unknown} on
 * @property {(event: any, listener: (value: any) => void) => unknown} off
 * @property {() => void} [unref]
 * @property {number} [threadId]  of a Worker; -1 once it has ended
 *
 * @typedef {object} Filled
 * @property {BlockPart} part
 * @property {number} to  up to where the log was read
 * @property {number} last  the seq of the last record
 * @property {number | null} proof  of this record
 *
 * @typedef {{ message: string, code?: string, isDamage?: boolean }} Trouble
 * @typedef {{ kind: string, resolve: (answer: any) => void, reject: (err: Error) => void }} Waiting
 */

let ownerCount = 0

/** Hears what one port says for all who use it: a listener of each would be taken for a leak once there are many. */
class Audience {
  /** @type {WeakMap<Port, Audience>} */
  static #audiences = new WeakMap()
  #port
  /** @type {Set<RemoteBuilder>} */
  #builders = new Set()
  /** @type {Array<[event: string, listener: (value: any) => void]>} */
  #listeners

  /** @param {Port} port */
  constructor (port) {
    this.#port = port
    /** @type {(tell: (builder: RemoteBuilder, value: any) => void) => (value: any) => void} */
    const toEach = (tell) => (value) => { for (const builder of this.#builders) tell(builder, value) }
    this.#listeners = [
      ['message', toEach((builder, message) => builder.hear(message))],
      ['messageerror', toEach((builder, err) => builder.fail('sent what cannot be read', err))],
      ['error', toEach((builder, err) => builder.fail('has failed', err))],
      ['exit', toEach((builder, code) => builder.fail(`has ended, with the code ${code}`))],
      ['close', toEach((builder) => builder.fail('has closed its port'))]
    ]
  }

  /** @param {Port} port */
  static of (port) {
    const known = this.#audiences.get(port) ?? new Audience(port)
    this.#audiences.set(port, known)
    return known
  }

  /** @param {RemoteBuilder} builder */
  join (builder) {
    if (this.#builders.size === 0) for (const [event, listener] of this.#listeners) this.#port.on(event, listener)
    this.#builders.add(builder)
  }

  /** @param {RemoteBuilder} builder */
  leave (builder) {
    if (!this.#builders.delete(builder) || this.#builders.size > 0) return
    for (const [event, listener] of this.#listeners) this.#port.off(event, listener)
  }
}

class RemoteBuilder {
  #port
  #host
  #tuning
  /** Several may use one port. */
  #owner = ++ownerCount
  #isOpen = false
  #isClosed = false
  /** Those that the builder has, too, as they are here. @type {Map<Block, number>} */
  #blocks = new Map()
  #blockCount = 0
  #jobId = 0
  /** @type {Waiting | null} */
  #job = null
  /** @type {NodeJS.Timeout | undefined} */
  #timer
  /** How far its job was when it spoke last, and how often it has said the same. */
  #progress = 0
  #idleBeats = 0
  #doubts = 0
  /** Why it is not asked any more. @type {LogError | null} */
  failure = null

  /**
   * @param {Port} port
   * @param {Host} host
   * @param {{ recordsMax: number, hashBits: number, cachedPages: number, silenceMs: number,
   *   idleBeatsMax: number }} tuning
   */
  constructor (port, host, { recordsMax, hashBits, cachedPages, silenceMs, idleBeatsMax }) {
    this.#port = port
    this.#host = host
    this.#tuning = { recordsMax, hashBits, cachedPages, silenceMs, idleBeatsMax }
  }

  /** Asks the builder to open the log, which is open here. */
  open () {
    if (this.#isClosed) return
    if (this.#port.threadId === -1) return this.fail('had ended before the log was opened')
    Audience.of(this.#port).join(this)
    // It must not keep the process running.
    this.#port.unref?.()
    this.#askToOpen()
  }

  #askToOpen () {
    this.#tell('open', { path: this.#host.path })
  }

  /** Whether it can be asked. Without a proof of what it has read, nobody could believe it. */
  get isReady () {
    return this.#isOpen && this.failure === null && !this.#isClosed && this.#host.identity().id !== null
  }

  /** Whether a block is there as it is here. @param {Block} block */
  has (block) {
    return this.isReady && this.#blocks.has(block)
  }

  /**
   * Lets it note the keys of a range.
   * @param {Block} block  which it has, or that is empty
   * @param {Range} range
   * @param {{ key: Buffer, paths: readonly import('./paths').DeclaredPath[] }} how
   * @returns {Promise<Filled | null>}  null if it could not
   */
  async fill (block, { from, to }, { key, paths }) {
    if (!this.isReady || (block.count > 0 && !this.#blocks.has(block))) return null
    const id = this.#blocks.get(block) ?? ++this.#blockCount
    this.#blocks.set(block, id)
    const { recordsMax, hashBits } = this.#tuning
    const make = block.count > 0 ? null : { from: block.from, recordsMax, hashBits, key, paths }
    return await this.#ask('fill', { block: id, records: block.count, from, to, make }).catch((err) => {
      this.doubt(err)
      return null
    })
  }

  /** What it gave is right. */
  believe () {
    this.#doubts = 0
  }

  /** What it gave is not right, as while it has not seen that the log was compacted. @param {Error} [cause] */
  doubt (cause) {
    if (++this.#doubts >= DOUBTS_MAX) this.fail('does not read the same records', cause)
  }

  /** A block is filled, or written, by others. @param {Block} block */
  forget (block) {
    const id = this.#blocks.get(block)
    if (id === undefined) return
    this.#blocks.delete(block)
    this.#tell('forget', { block: id })
  }

  /**
   * Lets it write the content of a run.
   * @type {(block: Block, file: string, erased: readonly number[], footer: object) => Promise<boolean>} false if it did
   *   not: the file must be removed
   */
  async write (block, file, erased, footer) {
    const of = { block: this.#blocks.get(block), records: block.count, erased }
    if (await this.#ask('write', { ...of, name: path.basename(file), footer })) return true
    this.forget(block)
    return false
  }

  /**
   * Lets it write the content of a run that is made of others.
   * @type {(names: readonly string[], file: string, footer: object) => Promise<boolean>} as `write`
   */
  async merge (names, file, footer) {
    const { cachedPages } = this.#tuning
    return await this.#ask('merge', { names, cachedPages, name: path.basename(file), footer }) === true
  }

  /** Waits for nothing that is under way: it counts no more. */
  abandon () {
    this.#blocks.clear()
    if (this.#isOpen) this.#tell('abandon')
    this.#settle((job) => job.resolve(null))
  }

  close () {
    if (this.#isClosed) return
    this.abandon()
    this.#isClosed = true
    Audience.of(this.#port).leave(this)
    this.#tell('end')
  }

  /** @param {string} kind @param {object} [more] */
  #tell (kind, more) {
    this.#port.postMessage({ millrace: TAG, owner: this.#owner, kind, ...more })
  }

  /**
   * @param {string} kind
   * @param {object} what
   * @returns {Promise<any>}  null if it was abandoned, or has failed
   */
  async #ask (kind, what) {
    if (!this.isReady) return null
    return await new Promise((resolve, reject) => {
      this.#job = { kind, resolve, reject }
      this.#progress = -1
      this.#idleBeats = 0
      this.#watch()
      this.#tell(kind, { id: ++this.#jobId, ...what })
    })
  }

  /** Begins to wait for its next word. */
  #watch () {
    clearTimeout(this.#timer)
    const { silenceMs } = this.#tuning
    const fail = () => this.fail(`has said nothing for ${silenceMs} ms`)
    // If this thread was busy, or the whole process was stopped for a while, what the builder says then comes first.
    const wait = (/** @type {() => void} */ then) => { this.#timer = setTimeout(then, silenceMs / 2).unref() }
    wait(() => wait(() => {
      const timer = this.#timer
      setImmediate(() => { if (timer === this.#timer) fail() })
    }))
  }

  /** @param {(job: Waiting) => void} settle */
  #settle (settle) {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const job = this.#job
    this.#job = null
    if (job !== null) settle(job)
  }

  /** @param {any} message */
  hear (message) {
    if (message?.millrace !== TAG) return
    // It listens from now on; what was sent before may be lost.
    if (message.kind === 'hello') return this.#isOpen || this.failure !== null ? undefined : this.#askToOpen()
    if (message.owner !== this.#owner) return
    if (message.kind === 'opened') return this.#onOpened(message)
    if (message.kind === 'failed') return this.fail(message.why)
    if (message.id !== this.#jobId || this.#job === null) return
    if (message.kind === 'alive') return this.#onAlive(message.progress)
    if (message.trouble) this.#onTrouble(message.trouble, this.#job)
    else this.#settle((job) => job.resolve(message.answer))
  }

  /**
   * Its thread may be alive while the job waits for what never comes. Its words are counted, and not the time: the
   * whole process may be stopped.
   * @param {number} progress
   */
  #onAlive (progress) {
    if (progress !== this.#progress) this.#idleBeats = 0
    else if (++this.#idleBeats >= this.#tuning.idleBeatsMax) {
      return this.fail(`is alive, but has got no further for ${this.#idleBeats} s`)
    }
    this.#progress = progress
    this.#watch()
  }

  /** @param {{ folder: string, place: string, codec: string, compiles: boolean }} what  it has opened */
  async #onOpened ({ folder, place, codec, compiles }) {
    const own = this.#host
    if (folder !== path.resolve(own.folder) && place !== await findPlace(own)) {
      return this.fail(`has opened another log, whose index is in ${folder}. Open the same log there`)
    }
    if (codec !== own.codec.name) return this.fail(`has opened the log with the codec ${codec}, not ${own.codec.name}`)
    // One that only has the name of a codec of this suite may decode otherwise.
    if (compiles !== Boolean(own.codec.compile)) return this.fail(`has opened the log with another codec of the name ${codec}`)
    // It may have failed while it was looked at.
    this.#isOpen = this.failure === null && !this.#isClosed
  }

  /** @type {(trouble: Trouble, job: Waiting) => void} */
  #onTrouble ({ message, code, isDamage }, { kind }) {
    const err = isDamage ? new DamagedRun(message) : Object.assign(new Error(message), code !== undefined && { code })
    // As on a full disk, where this thread would fail, too. But the file of a block is there.
    const isOfDisk = code !== undefined && !code.startsWith('ERR_') && !(kind === 'write' && MISSING.includes(code))
    if (isDamage || isOfDisk || kind === 'fill') this.#settle((job) => job.reject(err))
    else this.fail('has failed', err)
  }

  /** @type {(why: string, cause?: Error) => void} */
  fail (why, cause) {
    if (this.failure !== null || this.#isClosed) return
    const reason = cause === undefined ? '' : `: ${reasonOf(cause)}`
    this.failure = new LogError('ERR_INDEX_BUILDER', `The builder of the index in ${this.#host.folder} ${why}${reason}. ` +
      'The thread that writes the log builds the index now; to use a builder again, open the log with a new one', { cause })
    this.#isOpen = false
    this.abandon()
    this.#tell('end')
  }
}

/** @param {string} call @param {any} port  throws ERR_INVALID_ARGUMENT */
function checkPort (call, port) {
  const isObject = port !== null && typeof port === 'object'
  if (isObject && ['postMessage', 'on', 'off'].every((name) => typeof port[name] === 'function')) return
  const got = isObject ? 'an object without postMessage, on and off' : reasonOf(port)
  throw misuse(`${call} must be a Worker or a MessagePort of node:worker_threads, got ${got}`)
}

/**
 * Where an index is, whatever symlinks lead there.
 * @type {(host: Pick<Host, 'folder' | 'storage'>) => Promise<string>}
 */
async function findPlace ({ folder, storage }) {
  const found = storage?.realPath && await promisesOf(storage).realPath(folder).catch(() => null)
  return found ?? path.resolve(folder)
}

exports.IDLE_BEATS_MAX = IDLE_BEATS_MAX
exports.SILENCE_MS = SILENCE_MS
exports.TAG = TAG
exports.RemoteBuilder = RemoteBuilder
exports.checkPort = checkPort
exports.findPlace = findPlace
