// @ts-nocheck
'use strict'
// A folder and a few actors in it who take a lock, work, and give it back, one step at a time, in the order that is
// asked for. Any of them can die between two steps.

const LOCK = '/folder/file.lock'
// Those who left what is there at the beginning.
const DEAD_PID = 1000
const PID = 1

/**
 * @typedef {object} Scenario
 * @property {number} actors
 * @property {number} [rounds]  how often each of them takes the lock
 * @property {number} [deaths]  how many of them may die
 * @property {boolean} [hasLinks]  true by default
 * @property {Record<string, string>} [files]  what is there at the beginning
 */

const NOT_KNOWN = { machine: null, boot: null, pidNamespace: null, timeNamespace: null, thread: null, started: null }
const FILE = { path: '/folder/file', device: null, inode: null }

/** @param {number} pid */
function recordOf (pid) {
  return { ...NOT_KNOWN, host: 'host', pid, file: FILE, since: '' }
}

/** A violated promise. */
class Violation extends Error {}

class Model {
  /**
   * @param {Scenario} scenario
   * @param {Function} take  as in lib/lock/acquire.js
   */
  constructor ({ actors, rounds = 1, deaths = 0, hasLinks = true, files = {} }, take) {
    this._take = take
    this._hasLinks = hasLinks
    /** @type {Map<string, { text: string }>} names, and what is linked to them */
    this._files = new Map(Object.entries(files).map(([path, text]) => [path, { text }]))
    this._deathsLeft = deaths
    this.deathCount = 0
    this.winCount = 0
    this.actors = Array.from({ length: actors }, (_, index) => new Actor(this, PID + index, rounds))
    for (const actor of this.actors) actor.begin()
  }

  /** @returns {Array<[kind: 'step' | 'die', index: number]>}  what may happen next */
  moves () {
    /** @type {Array<[kind: 'step' | 'die', index: number]>} */
    const moves = []
    for (const [index, actor] of this.actors.entries()) {
      if (!actor.isAlive) continue
      if (actor.pending) moves.push(['step', index])
      if (actor.hasBegun && this._deathsLeft > 0) moves.push(['die', index])
      // They are all alike: it is enough to let them begin in order.
      if (!actor.hasBegun) break
    }
    return moves
  }

  /** @param {[kind: 'step' | 'die', index: number]} move */
  async make ([kind, index]) {
    const actor = this.actors[index]
    if (kind === 'step') return actor.step()
    this._deathsLeft--
    this.deathCount++
    actor.die()
  }

  /** @returns {string}  the same for two histories that nobody can tell apart from now on */
  key () {
    const files = [...this._files].sort().map(([path, { text }]) => `${path}=${text}`)
    return [this._deathsLeft, this.winCount > 0, ...this.actors.map((actor) => actor.key()), ...files].join(' ')
  }

  /** One more actor, alone; it must get the lock whatever the others left. */
  async checkEnd () {
    if (this.deathCount === 0 && this.winCount === 0) throw new Violation('nobody got the lock')
    const late = new Actor(this, PID + this.actors.length, 1)
    this.actors.push(late)
    late.begin()
    while (late.pending) await late.step()
    if (late.winCount !== 1) throw new Violation(`the lock stays for ever: ${this.key()}`)
    if (this._files.has(LOCK)) throw new Violation('the lock is still there')
    return [...this._files.keys()]
  }

  /** @param {string} path */
  text (path) {
    return this._files.get(path)?.text
  }

  /** @param {number} pid */
  isAlive (pid) {
    return this.actors[pid - PID]?.isAlive ?? pid !== DEAD_PID
  }

  /** @param {Actor} winner */
  won (winner) {
    const other = this.actors.find((actor) => actor !== winner && actor.isAlive && actor.isWriter)
    if (other) throw new Violation(`two hold the lock: ${other.pid} and ${winner.pid}`)
    this.winCount++
  }

  /** @param {Actor} actor */
  take (actor) {
    return this._take(this._worldOf(actor), LOCK, recordOf(actor.pid))
  }

  /** @param {Actor} actor */
  _worldOf (actor) {
    const files = this._files
    const missing = (path) => files.has(path) ? null : 'ENOENT'
    const there = (path) => files.has(path) ? 'EEXIST' : null
    const ask = (name, ...phases) => actor.ask(name, phases)
    return {
      write: (path, text) => ask('write', () => answer(there(path), () => { files.set(path, { text }) })),
      link: (from, to) => {
        actor.forget(from)
        return ask('link', () => {
          const code = missing(from) ?? there(to) ?? (this._hasLinks ? null : 'EPERM')
          return answer(code, () => { files.set(to, files.get(from)) })
        })
      },
      copy: (from, to) => {
        const copy = { text: '' }
        const { text } = files.get(from) ?? copy
        return ask('copy', () => {
          const code = missing(from) ?? there(to)
          if (code) return answer(code)
          files.set(to, copy)
        }, () => {
          copy.text = text
          return answer(null)
        })
      },
      rename: (from, to) => ask('rename', () => answer(missing(from), () => {
        const file = files.get(from)
        // The system does nothing when both are names of the same file.
        if (file === files.get(to)) return
        files.delete(from)
        files.set(to, file)
      })),
      unlink: (path) => ask('unlink', () => answer(missing(path), () => { files.delete(path) })),
      read: (path) => ask('read', () => answer(null, () => files.get(path)?.text ?? null)),
      list: () => ask('list', () => answer(null, () => [...files.keys()])),
      checkLiveness: ({ pid }) => ask('checkLiveness', () => answer(null, () => this.isAlive(pid) ? 'alive' : 'dead')),
      wait: (count) => ask('wait', () => answer(null, () => count === 2)),
      createNonce: () => actor.createNonce()
    }
  }
}

/**
 * @param {string | null} code  of a failure
 * @param {() => any} [run]
 * @returns {{ told: string, error?: Error, result?: any }}  what the actor learns
 */
function answer (code, run = () => {}) {
  if (code) return { told: code, error: Object.assign(new Error(code), { code }) }
  const result = run()
  return { told: String(result), result }
}

/** All that follows from what was answered has run, up to where it asks again. */
function settle () {
  return new Promise((resolve) => process.nextTick(resolve))
}

/** @type {Map<string, number>} what an actor may know, with a number for each */
const histories = new Map()

/** @param {string} history */
function number (history) {
  if (!histories.has(history)) histories.set(history, histories.size + 1)
  return histories.get(history)
}

class Actor {
  /**
   * @param {Model} model
   * @param {number} pid
   * @param {number} rounds
   */
  constructor (model, pid, rounds) {
    this._model = model
    this.pid = pid
    this._roundsLeft = rounds
    this._nonceCount = 0
    this._history = 0
    /** @type {string[]} the names of the records that are written aside, claims last */
    this._asides = []
    this.hasBegun = false
    this.isAlive = true
    this.isWriter = false
    this.winCount = 0
    /** @type {{ name: string, phases: Function[], resolve: Function, reject: Function } | null} what it does next */
    this.pending = null
    /** @type {Violation | null} */
    this._violation = null
  }

  begin () {
    this._live().catch((err) => { this._violation = err })
  }

  async _live () {
    while (this._roundsLeft-- > 0) {
      const { held, obstacle } = await this._model.take(this).catch((err) => {
        throw new Violation(`failed: ${err.message}`)
      })
      if (held) await this._work(held)
      else if (obstacle.record === null && this._model._hasLinks) {
        throw new Violation(`an obstacle that is none: ${JSON.stringify(obstacle)}`)
      }
    }
  }

  /**
   * @param {string} name
   * @param {Function[]} phases
   */
  ask (name, phases) {
    return new Promise((resolve, reject) => { this.pending = { name, phases: [...phases], resolve, reject } })
  }

  async step () {
    this.hasBegun = true
    const { name, phases, resolve, reject } = this.pending
    const answer = phases.shift()()
    this._history = number(`${this._history} ${name} ${answer?.told ?? 'half'}`)
    if (!answer) return
    this.pending = null
    if (answer.error) reject(answer.error)
    else resolve(answer.result)
    await settle()
    if (this._violation) throw this._violation
  }

  /**
   * Who is about to link only remembers for which locks it does so, one in the other, and what it calls itself there.
   * @param {string} aside
   */
  forget (aside) {
    const depth = aside.split('.').length
    this._asides = [...this._asides.filter((other) => other.split('.').length < depth), aside]
    this._history = number(`links ${this._asides} ${this._nonceCount} ${this._roundsLeft}`)
  }

  die () {
    this.isAlive = false
    this.isWriter = false
    this.pending = null
  }

  key () {
    if (!this.isAlive) return 'dead'
    return this.pending ? this._history : 'done'
  }

  createNonce () {
    return `${this.pid}${String(++this._nonceCount).padStart(3, '0')}`.padStart(16, 'a')
  }

  async _work (held) {
    this._model.won(this)
    this.winCount++
    this.isWriter = true
    this._history = number(`won ${this._nonceCount} ${this._asides[0]} ${this._roundsLeft} ${JSON.stringify(held)}`)
    await held.update({ since: 'later' }).catch((err) => { throw new Violation(`update failed: ${err.message}`) })
    await this.ask('work', [() => answer(null)])
    const { pid } = JSON.parse(this._model.text(LOCK) || '{}')
    if (pid !== this.pid) throw new Violation(`the lock of ${this.pid} is ${pid ? `that of ${pid}` : 'gone'}`)
    this.isWriter = false
    await held.release(LOCK).catch((err) => { throw new Violation(`release failed: ${err.message}`) })
  }
}

exports.DEAD_PID = DEAD_PID
exports.LOCK = LOCK
exports.Model = Model
exports.Violation = Violation
exports.recordOf = recordOf
