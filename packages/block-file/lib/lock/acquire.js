'use strict'
// Takes a lock and gives it back: the steps, and why two never hold it. What the steps do to the world is handed in, so
// that a test can take them in every order.
//
// A lock is a file that exists, with a record of its holder in it. It is taken by giving a finished record the lock's
// name, which only one can do: `link` fails where there is such a name already. A record whose holder is dead is
// replaced, by `rename`, and that takes care: between reading it and replacing it another may have done the same. So
// only the holder of the *claim* on that very record may replace it, after having looked again. A claim is a lock like
// any other, named by the nonce of the record that it is about.
//
//   1. A record is removed by its holder, while that lives, and replaced by the holder of the claim on it, once that is
//      dead. Nobody else touches it.
//   2. Its nonce never comes again. So if the record under the claim is still the same, it stays so until the holder of
//      the claim replaces it; and of these there is one, which is this statement about the claim, one level down.
//   3. So each record follows the one before when the holder of that is dead or has given it back: never two.
//   4. Who fails has seen the record of a live one, in the lock or in a claim. Who holds a claim goes on until it has
//      the lock, or finds that another has taken it. So never none, unless those who would have won are killed.
//   5. Who has the lock may remove what others left beside it: claims on records that are gone guard nothing, and who
//      misses the record that it has written under a temporary name writes it again.
//
// A record appears whole or not at all. So one with nothing in it is one whose bytes the power took: nobody alive has
// it. Only where files cannot be linked, and are copied instead, may it be one that is just being made.
//
// test/lock-model.test.js takes these steps in every order, with deaths between any two of them.

// Where names come and go as often as this, something else is at work.
const ATTEMPT_COUNT_MAX = 1000
// A record of a lock that can never come again: each has a nonce of its own. Claims are named by them.
const NONCE = /^[0-9a-f]{16}$/
// Stands for that of a record that the power took with it.
const NONCE_OF_BLANK = '0'.repeat(16)
// What comes after the name of a lock: nonces, of claims and claims on claims; and `.new`, of what is written aside.
const LEFTOVER = /^(\.[0-9a-f]{16})+(\.new)?$/

/**
 * @typedef {object} FileIdentity
 * @property {string} path  with no symlink in it
 * @property {string | null} device  null, like the inode, while the file is not there or may be replaced
 * @property {string | null} inode
 */

/**
 * A record is one line of JSON, described in docs/format.md. What is missing was not known to the version that has
 * written it.
 * @typedef {import('./liveness').Identity & {
 *   file: FileIdentity, nonce: string, since: string, lock?: 'kernel' | 'file', localFileSystem?: string | null,
 *   socket?: string | null, isIntact?: boolean, mount?: string | null
 * }} LockRecord  `since` is when it was taken, for people to read. `lock` says what locks the file: the kernel, or
 *   this record. `localFileSystem`, `mount` and `socket` are from liveness.js. `isIntact` says that all is in the file,
 *   or in the page cache of the running kernel, that its holder has shown to anybody
 * @typedef {Omit<LockRecord, 'nonce'>} NewRecord
 */

/**
 * @typedef {object} World  what happens in it happens at once, or is seen by others half done where this is said
 * @property {(path: string, text: string) => Promise<void>} write  a new file, first without the text; EEXIST
 * @property {(from: string, to: string) => Promise<void>} link  EEXIST; other errors where that cannot be done
 * @property {(from: string, to: string) => Promise<void>} copy  to a new file, first without the text; EEXIST
 * @property {(from: string, to: string) => Promise<void>} rename  over what is there
 * @property {(path: string) => Promise<void>} unlink
 * @property {(path: string) => Promise<string | null>} read  null if there is none
 * @property {(path: string) => Promise<string[]>} list  the files of its folder
 * @property {(record: LockRecord) => Promise<import('./liveness').Liveness>} checkLiveness  fails if it cannot be told
 * @property {(count: number) => Promise<boolean>} wait  some ms, for the count-th time; whether that is enough
 * @property {boolean} [isKernelHeld]  the kernel's lock is held: what is no record holds nobody off
 * @property {string | null} [mark]  16 hex digits that nobody else has, if the kernel's lock is held, and that the next
 *   holder of this lock has again
 * @property {() => string} createNonce
 */

/**
 * What stands in the way.
 * @typedef {object} Obstacle
 * @property {string} lockPath  of the lock, or of the claim
 * @property {LockRecord | null} record  of its holder; null if it cannot be read, and then `cause` says why
 * @property {boolean} isForeign  whether the holder lives cannot be seen from here
 * @property {Error | null} cause
 */

/** @typedef {{ held: Held, obstacle?: undefined } | { held?: undefined, obstacle: Obstacle }} Taken */

/** Our own record: written aside, then the lock's. */
class Held {
  #world
  #lockPath
  #record

  /**
   * @param {World} world
   * @param {string} lockPath
   * @param {NewRecord} record
   */
  constructor (world, lockPath, record) {
    this.nonce = world.createNonce()
    this.#world = world
    this.#lockPath = lockPath
    this.#record = { ...record, nonce: this.nonce }
    // What a power cut leaves of a record that is not yet the lock's has a name that the next one meets, if it can be.
    this.aside = `${lockPath}.${world.mark ?? this.nonce}.new`
    /** Links work here. */
    this.isLinked = false
    /** It was the lock of a dead one. */
    this.hasReplaced = false
    /** Of that one; null if there was nothing in it. @type {LockRecord | null} */
    this.replaced = null
  }

  async writeAside () {
    const text = `${JSON.stringify(this.#record)}\n`
    try {
      await this.#world.write(this.aside, text)
    } catch (/** @type {any} */ err) {
      if (err.code !== 'EEXIST' || !this.#world.mark) throw err
      await this.#world.unlink(this.aside)
      await this.#world.write(this.aside, text)
    }
  }

  /** @param {Partial<LockRecord>} changes */
  async update (changes) {
    Object.assign(this.#record, changes)
    try {
      await this.writeAside()
    } catch (err) {
      await this.#world.unlink(this.aside).catch(() => {})
      throw err
    }
    await this.#world.rename(this.aside, this.#lockPath)
  }

  /** @param {string} lockPath  the lock may have come to another path */
  async release (lockPath) {
    const text = await this.#world.read(lockPath)
    // If it is not ours, somebody has removed ours by hand, and another holds it now.
    if (text !== null && nonceOf(this.#world, text) === this.nonce) await this.#world.unlink(lockPath)
  }
}

/** @type {(world: World, lockPath: string, record: NewRecord) => Promise<Taken>} */
async function acquire (world, lockPath, record) {
  const own = new Held(world, lockPath, record)
  try {
    return await acquireAs(own, world, lockPath, record)
  } catch (err) {
    // Whatever has failed may have been done all the same.
    await own.release(lockPath).catch(() => {})
    throw err
  } finally {
    // There is nothing there after a rename, and nothing to do about it if it cannot be removed.
    await world.unlink(own.aside).catch(() => {})
  }
}

/** @type {(own: Held, world: World, lockPath: string, record: NewRecord) => Promise<Taken>} */
async function acquireAs (own, world, lockPath, record) {
  let isAside = false
  for (let count = 0; count < ATTEMPT_COUNT_MAX; count++) {
    if (!isAside) await own.writeAside()
    const outcome = await giveName(world, own.aside, lockPath)
    isAside = outcome !== 'ENOENT'
    own.isLinked = outcome === 'linked'
    if (outcome === 'linked' || outcome === 'copied') return { held: own }
    if (!isAside) continue
    const found = await look(own, world, lockPath)
    if (found === null) continue
    if (typeof found !== 'string') return found
    const nonce = found
    const claimPath = `${lockPath}.${nonce}`
    const { held: claim, obstacle } = await acquire(world, claimPath, record)
    if (!claim) return { obstacle }
    try {
      const text = await world.read(lockPath)
      if (text === null || nonceOf(world, text) !== nonce) continue
      if (nonce === NONCE_OF_BLANK && !claim.isLinked) return unknown(lockPath, new Error('it is empty'))
      await world.rename(own.aside, lockPath)
      return { held: Object.assign(own, { isLinked: claim.isLinked, hasReplaced: true, replaced: parseRecord(text) }) }
    } catch (/** @type {any} */ err) {
      if (err.code !== 'ENOENT') throw err
      isAside = false
    } finally {
      await claim.release(claimPath).catch(() => {})
    }
  }
  return unknown(lockPath, new Error('it comes and goes'))
}

/**
 * @param {World} world
 * @param {string} aside
 * @param {string} lockPath
 * @returns {Promise<'linked' | 'copied' | 'EEXIST' | 'ENOENT'>}  ENOENT: what was written aside is gone
 */
async function giveName (world, aside, lockPath) {
  try {
    await world.link(aside, lockPath)
    return 'linked'
  } catch (/** @type {any} */ { code }) {
    if (code === 'EEXIST' || code === 'ENOENT') return code
  }
  try {
    await world.copy(aside, lockPath)
    return 'copied'
  } catch (/** @type {any} */ err) {
    if (err.code === 'EEXIST' || err.code === 'ENOENT') return err.code
    throw err
  }
}

/**
 * @param {Held} own
 * @param {World} world
 * @param {string} lockPath
 * @returns {Promise<string | Taken | null>}  the nonce of a record whose holder is dead; null if there is none any more
 */
async function look (own, world, lockPath) {
  for (let count = 1; ; count++) {
    let text
    try {
      text = await world.read(lockPath)
    } catch (err) {
      return unknown(lockPath, /** @type {Error} */ (err))
    }
    if (text === null) return null
    const record = parseRecord(text)
    if (record) {
      // A network may lose the answer and ask again: then the link that could not be made is our own.
      if (record.nonce === own.nonce) return { held: own }
      const liveness = await world.checkLiveness(record).catch(() => 'unknown')
      if (liveness === 'dead') return record.nonce
      const isForeign = liveness === 'foreign' || liveness === 'hidden'
      return { obstacle: { lockPath, record, isForeign, cause: null } }
    }
    // It may be one that is being copied.
    if (!await world.wait(count)) continue
    if (nonceOf(world, text) === NONCE_OF_BLANK) return NONCE_OF_BLANK
    return unknown(lockPath, new Error('what is in it is no record of a lock'))
  }
}

/**
 * Takes a lock, and removes what others left beside it who were killed while they did the same.
 * @type {(world: World, lockPath: string, record: NewRecord) => Promise<Taken>}
 */
async function take (world, lockPath, record) {
  const taken = await acquire(world, lockPath, record)
  // To look through the folder each time would take too long: only where somebody is known to have been killed.
  if (taken.held?.hasReplaced) {
    for (const path of await world.list(lockPath).catch(() => [])) {
      const isLeftover = path.startsWith(lockPath) && LEFTOVER.test(path.slice(lockPath.length))
      // Whether or not it can be removed: it does no harm.
      if (isLeftover) await world.unlink(path).catch(() => {})
    }
  }
  return taken
}

/** @type {(lockPath: string, cause: Error) => Taken} */
function unknown (lockPath, cause) {
  return { obstacle: { lockPath, record: null, isForeign: false, cause } }
}

/** @type {(world: World, text: string) => string | undefined} of what is in a lock */
function nonceOf ({ isKernelHeld }, text) {
  // Bytes that were not yet on the disk when the power went are missing, or are zeros.
  if (/^\0*$/.test(text)) return NONCE_OF_BLANK
  return parseRecord(text)?.nonce ?? (isKernelHeld ? NONCE_OF_BLANK : undefined)
}

/** @type {(text: string) => LockRecord | null} null if it is none */
function parseRecord (text) {
  try {
    const record = JSON.parse(text)
    return isRecord(record) ? record : null
  } catch {
    return null
  }
}

/** @param {any} record */
function isRecord (record) {
  if (record === null || typeof record !== 'object' || record.file === null || typeof record.file !== 'object') return false
  const { host, machine, boot, pidNamespace, timeNamespace, pid, thread, started, file, nonce, since } = record
  const { lock = 'file', localFileSystem = null, socket = null, mount = null } = record
  const texts = [host, file.path, nonce, since]
  const { device, inode } = file
  const known = [machine, boot, pidNamespace, timeNamespace, started, device, inode, localFileSystem, socket, mount]
    .filter((value) => value !== null)
  return [...texts, ...known].every((value) => typeof value === 'string') &&
    ['kernel', 'file'].includes(lock) && isTaskNumber(pid) && (thread === null || isTaskNumber(thread)) &&
    NONCE.test(nonce) && nonce !== NONCE_OF_BLANK
}

/** Zero and negative numbers would mean whole groups of processes. @param {unknown} value */
function isTaskNumber (value) {
  return Number.isSafeInteger(value) && /** @type {number} */ (value) > 0
}

exports.Held = Held
exports.parseRecord = parseRecord
exports.take = take
