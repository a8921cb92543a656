'use strict'
// A few processes that open one log, or a file of it, one step at a time, in the order that is asked for. Any of them
// can die between two steps.

const { setImmediate } = require('node:timers')
const { jsonCodec } = require('@millrace/json-codec')
const { LOCK_FILE, Violation, World, number } = require('./world')

/**
 * Each is a list of what a process does: `open`, `append`, `roll`, `close`, `member` (opens one file of the log alone,
 * appends, closes), `move` (the folder, away), `forget` (that the folder ever had a lock).
 * @typedef {string[]} Script
 *
 * @typedef {object} Scenario
 * @property {Array<Script | { script: Script, at?: string, hasKernelLocks?: boolean }>} processes
 * @property {Script} [before]  what one process did before they begin; `die` ends it
 * @property {number} interruptions  how often one of them has to stop although it could go on
 * @property {number} [deaths]  how many of them may die
 * @property {boolean} [hasKernelLocks]  true by default
 * @property {number} [lockTimeout]  in ms; each wait takes a second
 */

const FOLDER = '/logs'
const MOVED = '/moved'
const START_MS = Date.UTC(2026, 0, 1)
/** Whoever waits for a lock looks again after so long, at most. */
const PAUSE_MS_MAX = 25
/** And so long it takes. */
const PAUSED_MS = 1000
/** After so many turns, a process that asks for nothing waits for ever. */
const TURN_COUNT_MAX = 2000
const OF_MOVED = ['ERR_FILE_MOVED', 'ERR_LOG_POISONED', 'ENOENT']

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** The process whose code runs now. @type {Process | null} */
let current = null

/** Clocks and timers are those of the process that runs. @returns {() => void}  undoes that */
function takeTime () {
  const { setTimeout } = globalThis
  const { now } = Date
  const { emitWarning } = process
  const { stackTraceLimit } = Error
  const setTimer = (/** @type {Function} */ run, /** @type {number} */ ms) => {
    // Other timers are for what may be done later, or not at all.
    if (ms <= PAUSE_MS_MAX) current?.ask('pause', () => { if (current) current.clockMs += PAUSED_MS }, () => run())
    return { ref () {}, unref () {} }
  }
  globalThis.setTimeout = /** @type {any} */ (setTimer)
  Date.now = () => START_MS + 1000 * (current?.pid ?? 0)
  performance.now = () => current?.clockMs ?? 0
  // Whose folder was moved says so.
  process.emitWarning = () => {}
  // Many calls fail as they should.
  Error.stackTraceLimit = 0
  return () => {
    Object.assign(globalThis, { setTimeout })
    Object.assign(process, { emitWarning })
    Object.assign(Error, { stackTraceLimit })
    Date.now = now
    delete (/** @type {any} */ (performance)).now
  }
}

class Model {
  /** @param {Scenario} scenario  @param {{ SegmentedLog: any, OffsetLog: any }} logs */
  constructor ({ processes, before = [], deaths = 0, hasKernelLocks = true, lockTimeout = 0 }, logs) {
    this.world = new World()
    this.deathsLeft = deaths
    /** What was appended, by folder. @type {Map<any, Set<string>>} */
    this.appended = new Map()
    this.logs = logs
    this.lockTimeout = lockTimeout
    this.hasKernelLocks = hasKernelLocks
    this.before = new Process(this, 1, { script: before })
    this.processes = processes.map((given, index) => {
      return new Process(this, 2 + index, Array.isArray(given) ? { script: given } : given)
    })
    this.late = new Process(this, 2 + processes.length, { script: [] })
    this.world.hasMoves = processes.some((given) => (Array.isArray(given) ? given : given.script).includes('move'))
    this.world.processes = [this.before, ...this.processes, this.late]
    /** The newest segment, when they begin. */
    this.memberPath = ''
  }

  async begin () {
    await this.before.runAlone()
    const names = [...this.world.folders.get(FOLDER)?.files.keys() ?? []].filter((name) => name.endsWith('.log'))
    this.memberPath = `${FOLDER}/${names.sort().at(-1)}`
    for (const process of this.processes) await process.begin()
  }

  /** @returns {Array<[kind: 'step' | 'die', index: number]>}  what may happen next */
  moves () {
    /** @type {Array<[kind: 'step' | 'die', index: number]>} */
    const moves = []
    for (const [index, process] of this.processes.entries()) {
      if (!process.isAlive || process.isDone) continue
      moves.push(['step', index])
      if (process.hasBegun && this.deathsLeft > 0) moves.push(['die', index])
    }
    return moves
  }

  /** @param {[kind: 'step' | 'die', index: number]} move */
  async make ([kind, index]) {
    const process = this.processes[index]
    if (kind === 'step') return process.step()
    this.deathsLeft--
    process.die()
  }

  /** @returns {string}  the same for two histories that nobody can tell apart from now on */
  key () {
    return [this.deathsLeft, ...this.processes.map((process) => process.key()), this.world.key()].join(' ')
  }

  /** One more process, alone: it can open the log, wherever it is, and finds everything. */
  async checkEnd () {
    for (const [at, node] of this.world.folders) {
      const { late } = this
      late.at = at
      late.script = ['open', 'read', 'append', 'roll', 'close']
      await late.runAlone()
      if (!late.hasOpened) throw new Violation(`nobody can open ${at} any more: ${late.refusal}`)
      // It has read before it appended itself.
      const others = [...this.appended.get(node) ?? []].filter((text) => !text.startsWith(`${late.pid}.`))
      const missing = others.filter((text) => !late.found.includes(text))
      if (missing.length > 0) throw new Violation(`${at} lacks ${missing}`)
      if (node.records.size > 0) throw new Violation(`a lock is left: ${[...node.records.keys()]}`)
      const isHeld = [...node.files.values()].some(({ holder }) => holder !== null)
      if (isHeld) throw new Violation('the kernel has a lock still')
    }
  }
}

class Process {
  /** @type {Array<{ name: string, run: () => any, cb: Function }>} what it does next */
  pending = []
  isAlive = true
  isDone = false
  hasBegun = false
  hasOpened = false
  refusal = ''
  /** The folder whose log it has open for writing. */
  writes = null
  /** Whether it is opening, or has something open. */
  isEngaged = false
  hasSeenOthers = false
  history = 0
  clockMs = 0
  /** What the late one read. @type {string[]} */
  found = []
  /** By path: the folders that it has open. @type {Map<string, any>} */
  folders = new Map()
  /** The files on which it has the kernel's lock. @type {Set<any>} */
  handles = new Set()
  #count = 0
  #appendCount = 0
  /** @type {Error | null} */
  #violation = null

  /**
   * @param {Model} model
   * @param {number} pid
   * @param {{ script: Script, at?: string, hasKernelLocks?: boolean }} options
   */
  constructor (model, pid, { script, at = FOLDER, hasKernelLocks = model.hasKernelLocks }) {
    this.model = model
    this.pid = pid
    this.script = script
    this.at = at
    this.hasKernelLocks = hasKernelLocks
    this.storage = model.world.storageOf(this)
  }

  count () {
    return ++this.#count
  }

  /** @param {string} what */
  learn (what) {
    this.history = /** @type {number} */ (number(`${this.history} ${what}`))
  }

  /** @type {(name: string, run: () => any, cb: Function) => void} */
  ask (name, run, cb) {
    if (this.isAlive) this.pending.push({ name, run, cb })
  }

  /** @param {Error} err */
  violate (err) {
    this.#violation ??= err
  }

  async begin () {
    current = this
    this.isDone = false
    this.#live().catch((err) => this.violate(err)).then(() => { this.isDone = true })
    await this.#settle()
  }

  async runAlone () {
    await this.begin()
    while (this.isAlive && !this.isDone) await this.step()
  }

  async step () {
    this.hasBegun = true
    current = this
    const { name, run, cb } = /** @type {any} */ (this.pending.shift())
    this.answer(name, run, cb)
    await this.#settle()
  }

  /** @type {(name: string, run: () => any, cb: Function) => void} */
  answer (name, run, cb) {
    if (!this.isAlive) return
    let result
    try {
      result = run()
    } catch (/** @type {any} */ err) {
      if (err instanceof Violation) return this.violate(err)
      this.learn(`${name}: ${err.code ?? err}`)
      return cb(err)
    }
    this.learn(`${name}: ${describe(result)}`)
    cb(null, result)
  }

  /** Until it asks for the next step. */
  async #settle () {
    for (let count = 0; this.pending.length === 0 && !this.isDone && this.isAlive; count++) {
      if (this.#violation) throw this.#violation
      if (count === TURN_COUNT_MAX) throw new Violation(`${this.pid} waits for ever`)
      await turn()
    }
    // It may ask for two steps at once.
    await turn()
    if (this.#violation) throw this.#violation
  }

  die () {
    this.isAlive = false
    this.isEngaged = false
    this.writes = null
    this.pending = []
    for (const inode of this.handles) if (inode.holder?.pid === this.pid) inode.holder = null
  }

  key () {
    if (!this.isAlive) return 'dead'
    return this.isDone ? 'done' : `${this.history}:${this.hasSeenOthers}`
  }

  async #live () {
    for (const name of this.script) {
      if (name === 'die') return this.die()
      await new Promise((resolve) => this.ask(`begin ${name}`, () => {}, resolve))
      if (await /** @type {any} */ (this)[name]() === false) return
    }
  }

  #options () {
    const { model: { lockTimeout }, storage } = this
    return { codec: jsonCodec, storage, lockTimeout, fsync: 'always', cache: 0 }
  }

  open () {
    return this.#openLog(() => new this.model.logs.SegmentedLog(this.at, this.#options()))
  }

  async member () {
    const open = () => new this.model.logs.OffsetLog(this.model.memberPath, { ...this.#options(), mustExist: true })
    if (await this.#openLog(open) === false) return false
    await this.append()
    await this.close()
  }

  /** @type {(open: () => any) => Promise<boolean>} */
  async #openLog (open) {
    const others = this.model.world.processes.filter((other) => other !== this && other.isAlive && other.isEngaged)
    this.isEngaged = true
    this.hasSeenOthers = others.length > 0
    for (const other of others) other.hasSeenOthers = true
    try {
      this.log = open()
      await this.log.ready()
    } catch (/** @type {any} */ err) {
      this.isEngaged = false
      this.#checkRefusal(err)
      return false
    }
    this.hasOpened = true
    const node = [...this.folders.values()].at(-1)
    const other = this.model.world.processes.find((other) => other !== this && other.isAlive && other.writes === node)
    if (other) throw new Violation(`two have the log open: ${other.pid} and ${this.pid}`)
    this.writes = node
    return true
  }

  /** @param {any} err  of opening */
  #checkRefusal (err) {
    this.refusal = err.message
    const isExpected = err.code === 'ERR_LOG_LOCKED' ? this.hasSeenOthers : this.#isOfMove(err)
    if (!isExpected) throw new Violation(`${this.pid} is refused: ${err.code}: ${err.message}`)
  }

  /** @param {any} err */
  #isOfMove ({ code }) {
    return this.model.world.moveCount > 0 && OF_MOVED.includes(code)
  }

  async append () {
    const text = `${this.pid}.${++this.#appendCount}`
    await this.#try(async () => {
      await this.log.append(text)
      const { appended } = this.model
      appended.set(this.writes, (appended.get(this.writes) ?? new Set()).add(text))
    })
  }

  async roll () {
    await this.#try(() => this.log.roll())
  }

  async read () {
    this.found = []
    for await (const text of this.log.stream({ seqs: false })) this.found.push(text)
  }

  async close () {
    this.writes = null
    await this.#try(() => this.log.close())
    this.isEngaged = false
  }

  /** @param {() => Promise<any>} action */
  async #try (action) {
    try {
      await action()
    } catch (/** @type {any} */ err) {
      if (!this.#isOfMove(err)) throw new Violation(`${this.pid} fails: ${err.code}: ${err.message}`)
    }
  }

  /** As if an earlier version had written the log. */
  async forget () {
    this.model.world.folders.get(FOLDER)?.files.delete(LOCK_FILE)
  }

  async move () {
    this.model.world.move(FOLDER, MOVED)
  }
}

/** What a process learns from an answer. @param {any} result */
function describe (result) {
  if (result === null || typeof result !== 'object') return String(result)
  if (Array.isArray(result)) return result.join()
  return JSON.stringify(result, (name, value) => typeof value === 'bigint' ? String(value) : value)
}

exports.Model = Model
exports.Violation = Violation
exports.takeTime = takeTime
