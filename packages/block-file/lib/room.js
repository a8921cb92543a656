'use strict'
// Room for one more open file. A process may have few open, and many are open only for later: those are closed for what
// is needed now, whichever log of the process has them.

const { performance } = require('node:perf_hooks')
const { clearTimeout, setTimeout } = require('node:timers')
const { callbackify } = require('node:util')
const { promisesOf } = require('@millrace/flow')
const { withCalls } = require('./replaced-calls')

/** Too many files are open, in the process or in the system. */
const TOO_MANY = ['EMFILE', 'ENFILE']
/** A call that waits may be what keeps files open, so it does not wait without an end. */
const PATIENCE_MS = 1000
/** Files that nobody here knows of are closed, too. */
const LOOK_MS = 50
/** Calls that open a file or a folder. */
const OPENING = /** @type {const} */ (['open', 'openFolder', 'listFolder', 'syncFolder', 'lock', 'hasKernelLocks'])
const OPENING_NOW = /** @type {const} */ (['openSync', 'syncFolderSync'])

/**
 * @typedef {import('./storage').Storage} Storage
 *
 * @typedef {object} Keeper  of files that stay open for later
 * @property {() => Promise<unknown> | null} closeSome  Closes half of the files that nobody uses; from then on fewer
 *   stay open. Null if there are none.
 * @property {() => boolean} closeSomeNow  The same before it returns. False if it has closed none.
 * @property {() => boolean} isInUse  Whether it has files that are used now, and may be closed soon.
 */

/** What all logs of the process share. */
class Room {
  /** @type {Set<Keeper>} */
  #keepers = new Set()
  /** Those who wait for the next close. @type {Set<() => void>} */
  #waiting = new Set()

  /** @param {Keeper} keeper  that has open files now */
  join (keeper) {
    this.#keepers.add(keeper)
  }

  /** @param {Keeper} keeper  that has none any more */
  leave (keeper) {
    this.#keepers.delete(keeper)
  }

  /** A keeper has closed a file, or may close one now that it could not before. */
  noteClosable () {
    for (const tell of this.#waiting) tell()
  }

  /**
   * Closes files that nobody uses, or waits until one is closed.
   * @param {number} untilMs  by the steady clock
   * @returns {Promise<boolean>}  whether it may help
   */
  async make (untilMs) {
    const leftMs = untilMs - performance.now()
    if (leftMs <= 0) return false
    const keepers = [...this.#keepers]
    const closings = keepers.map((keeper) => keeper.closeSome()).filter((closing) => closing !== null)
    if (closings.length > 0) await Promise.allSettled(closings)
    else if (keepers.some((keeper) => keeper.isInUse())) await this.#nextClose(Math.min(leftMs, LOOK_MS))
    else return false
    return true
  }

  /** @param {number} ms  at most */
  async #nextClose (ms) {
    await new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
      const tell = () => {
        clearTimeout(timer)
        this.#waiting.delete(tell)
        resolve()
      }
      const timer = setTimeout(tell, ms)
      this.#waiting.add(tell)
    })
  }

  /** Closes files before it returns. @returns {boolean}  whether it has */
  makeNow () {
    return [...this.#keepers].map((keeper) => keeper.closeSomeNow()).includes(true)
  }
}

/** Of this process: closes files that its logs keep open for later. */
const room = new Room()

/** Storages that make room. @type {WeakSet<Storage>} */
const roomy = new WeakSet()

/**
 * A storage that, if too many files are open, makes room and goes on. A call that may not wait fails if nothing can be
 * closed at once; its next try finds the room.
 * @param {Storage} storage
 * @returns {Storage}
 */
function withRoom (storage) {
  if (roomy.has(storage)) return storage
  /** @type {any} */
  const calls = {}
  // What is no storage is refused below.
  for (const name of OPENING) {
    if (storage?.[name]) calls[name] = callbackify((/** @type {any[]} */ ...args) => patiently(storage, name, args))
  }
  for (const name of OPENING_NOW) {
    if (storage?.[name]) calls[name] = (/** @type {any[]} */ ...args) => atOnce(storage, name, args)
  }
  const made = withCalls(storage, calls)
  roomy.add(made)
  return made
}

/** @type {(storage: any, name: string, args: any[]) => Promise<any>} */
async function patiently (storage, name, args) {
  const untilMs = performance.now() + PATIENCE_MS
  while (true) {
    try {
      return await /** @type {any} */ (promisesOf(storage))[name](...args)
    } catch (/** @type {any} */ err) {
      if (!TOO_MANY.includes(err?.code) || !await room.make(untilMs)) throw err
    }
  }
}

/** @type {(storage: any, name: string, args: any[]) => any} */
function atOnce (storage, name, args) {
  while (true) {
    try {
      return storage[name](...args)
    } catch (/** @type {any} */ err) {
      if (!TOO_MANY.includes(err?.code)) throw err
      if (room.makeNow()) continue
      room.make(performance.now() + PATIENCE_MS).catch(() => {})
      throw err
    }
  }
}

exports.room = room
exports.withRoom = withRoom
