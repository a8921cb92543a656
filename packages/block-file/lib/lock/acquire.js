'use strict'
// Takes a lock and gives it back, and proves that two never hold it. The steps act on a `World` that is handed in, so
// that a test can take them in every order.
//
// A lock is a file that exists and contains a record of its holder. A contender takes it in these steps:
//
//   1. It writes its record under a temporary name.
//   2. It links that file to the lock's name. `link` fails if the name exists, so only one contender succeeds.
//   3. If the name exists, it reads the record there. If that record's holder is not dead, the contender gives up.
//   4. If the holder is dead, it takes the *claim* on the record: a lock like any other, taken by the same steps. The
//      record's nonce is part of the claim's name.
//   5. Under the claim it reads the record again. If the record is the same, it replaces the record with `rename`;
//      otherwise it starts over. Then it gives the claim back.
//
// There are never two holders:
//
//   a. A living holder removes its own record. The holder of the claim on a record replaces it once the record's holder
//      is dead. No other process touches it.
//   b. A nonce never comes again. So if the record in step 5 is the same, it stays until the holder of the claim
//      replaces it.
//   c. A claim has only one holder: that is this very proof, one level down.
//   d. So a record appears only if the holder of the record before it is dead or has given it back.
//
// One contender always gets the lock: a contender gives up only if it sees the record of a living holder, in the lock
// or in a claim. The holder of a claim continues until it has the lock or sees that another contender has it. So nobody
// gets the lock only if all contenders that would have won are killed.
//
// The holder may remove leftovers beside its lock. A claim on a record that is gone guards nothing, and a contender
// whose temporary file is gone writes it again.
//
// A record appears whole. So an empty record is what a power cut left, and nobody holds it. But if files cannot be
// linked, they are copied, and an empty record may be one that is being copied.
//
// lab/test/lock-model.test.js takes these steps in every order, with deaths between any two of them.

// If the record comes and goes this often, something else is at work.
const ATTEMPT_COUNT_MAX = 1000
// Every record has its own nonce. The name of a claim ends in the nonce of the record that it is for.
const NONCE = /^[0-9a-f]{16}$/
// Stands for the nonce of a record whose bytes a power cut took.
const NONCE_OF_BLANK = '0'.repeat(16)
// What follows the lock's name in the names of leftovers: the nonces of claims, and of claims on claims; then `.new`
// for a temporary file.
const LEFTOVER = /^(\.[0-9a-f]{16})+(\.new)?$/

/**
 * @typedef {object} FileIdentity
 * @property {string} path  with every symlink followed
 * @property {string | null} device  null, like `inode`, while the file is missing or may be replaced
 * @property {string | null} inode
 */

/**
 * A record is one line of JSON; docs/internals/lock.md describes the fields. A field is missing if the version that
 * wrote the record did not know it.
 * @typedef {import('./liveness').Identity & {
 *   file: FileIdentity, nonce: string, since: string, lock?: 'kernel' | 'file', localFileSystem?: string | null,
 *   socket?: string | null, isIntact?: boolean, mount?: string | null,
 *   content?: { device: string | null, inode: string | null }
 * }} LockRecord
 * @typedef {Omit<LockRecord, 'nonce'>} NewRecord
 */

/**
 * @typedef {object} World  the operations are atomic, except where others may see a new file without its text first
 * @property {(path: string, text: string) => Promise<void>} write  a new file, first without the text; EEXIST
 * @property {(from: string, to: string) => Promise<void>} link  EEXIST; other errors if files cannot be linked
 * @property {(from: string, to: string) => Promise<void>} copy  to a new file, first without the text; EEXIST
 * @property {(from: string, to: string) => Promise<void>} rename  replaces `to`
 * @property {(path: string) => Promise<void>} unlink
 * @property {(path: string) => Promise<string | null>} read  null if there is no file
 * @property {(path: string) => Promise<string[]>} list  the files of its folder
 * @property {(record: LockRecord) => Promise<import('./liveness').Liveness>} checkLiveness  fails if it is unknown
 * @property {(count: number) => Promise<boolean>} wait  waits some ms, for the `count`th time; true if that is enough
 * @property {boolean} [isKernelHeld]  whether the kernel's lock is held; an unreadable record then keeps nobody out
 * @property {string | null} [mark]  if the kernel's lock is held: 16 hex digits that only holders of this lock use
 * @property {() => string} createNonce
 */

/**
 * @typedef {object} Obstacle  the reason why the lock cannot be taken
 * @property {string} lockPath  of the lock, or of the claim
 * @property {LockRecord | null} record  the holder's; null if it cannot be read, and `cause` says why
 * @property {boolean} isUnseen  whether this process cannot see if the holder is alive
 * @property {Error | null} cause
 */

/** @typedef {{ held: Held, obstacle?: undefined } | { held?: undefined, obstacle: Obstacle }} Taken */

/** This contender's own record: first under a temporary name, then under the lock's. */
class Held {
  #world
  #lockPath
  #record

  /** @param {World} world  @param {string} lockPath  @param {NewRecord} record */
  constructor (world, lockPath, record) {
    this.nonce = world.createNonce()
    this.#world = world
    this.#lockPath = lockPath
    this.#record = { ...record, nonce: this.nonce }
    // With a mark, the next holder uses the same name, and so overwrites what a power cut left.
    this.aside = `${lockPath}.${world.mark ?? this.nonce}.new`
    /** Whether the record was linked; if not, it was copied. */
    this.isLinked = false
    /** Whether it replaced the record of a dead holder. */
    this.hasReplaced = false
    /** The replaced record; null if it was empty. @type {LockRecord | null} */
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

  /** @param {string} lockPath  may be another path than at first: the lock's folder may have been renamed */
  async release (lockPath) {
    const text = await this.#world.read(lockPath)
    // If the record is not ours, somebody removed ours by hand, and another holder has the lock now.
    if (text !== null && nonceOf(this.#world, text) === this.nonce) await this.#world.unlink(lockPath)
  }
}

/** @type {(world: World, lockPath: string, record: NewRecord) => Promise<Taken>} */
async function acquire (world, lockPath, record) {
  const own = new Held(world, lockPath, record)
  try {
    return await acquireAs(own, world, lockPath, record)
  } catch (err) {
    // The step that failed may have happened all the same.
    await own.release(lockPath).catch(() => {})
    throw err
  } finally {
    // After a rename the file is gone. If it cannot be removed, nothing can be done.
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

// Gives the record the lock's name. ENOENT means that the temporary file is gone.
/** @type {(world: World, aside: string, lockPath: string) => Promise<'linked' | 'copied' | 'EEXIST' | 'ENOENT'>} */
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

// Reads the record that has the name. Returns its nonce if its holder is dead, and null if the record is gone.
/** @type {(own: Held, world: World, lockPath: string) => Promise<string | Taken | null>} */
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
      // A network file system may lose an answer and ask again: our own link then seems to exist already.
      if (record.nonce === own.nonce) return { held: own }
      const liveness = await world.checkLiveness(record).catch(() => 'unknown')
      if (liveness === 'dead') return record.nonce
      const isUnseen = liveness === 'foreign' || liveness === 'hidden'
      return { obstacle: { lockPath, record, isUnseen, cause: null } }
    }
    // The record may be in the middle of being copied.
    if (!await world.wait(count)) continue
    if (nonceOf(world, text) === NONCE_OF_BLANK) return NONCE_OF_BLANK
    return unknown(lockPath, new Error('what is in it is no record of a lock'))
  }
}

// Takes a lock, and removes what contenders left beside it that were killed.
/** @type {(world: World, lockPath: string, record: NewRecord) => Promise<Taken>} */
async function take (world, lockPath, record) {
  const taken = await acquire(world, lockPath, record)
  // Reading the folder takes time, so it is done only if a holder is known to have died.
  if (taken.held?.hasReplaced) {
    for (const path of await world.list(lockPath).catch(() => [])) {
      const isLeftover = path.startsWith(lockPath) && LEFTOVER.test(path.slice(lockPath.length))
      // A leftover that cannot be removed does no harm.
      if (isLeftover) await world.unlink(path).catch(() => {})
    }
  }
  return taken
}

/** @type {(lockPath: string, cause: Error) => Taken} */
function unknown (lockPath, cause) {
  return { obstacle: { lockPath, record: null, isUnseen: false, cause } }
}

/** @type {(world: World, text: string) => string | undefined} undefined if the text is no record */
function nonceOf ({ isKernelHeld }, text) {
  // Bytes that were not on the disk when the power went are missing or zero.
  if (/^\0*$/.test(text)) return NONCE_OF_BLANK
  return parseRecord(text)?.nonce ?? (isKernelHeld ? NONCE_OF_BLANK : undefined)
}

/** @type {(text: string) => LockRecord | null} null if the text is no record */
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

/** Zero or a negative number would address whole groups of processes. @param {unknown} value */
function isTaskNumber (value) {
  return Number.isSafeInteger(value) && /** @type {number} */ (value) > 0
}

exports.Held = Held
exports.parseRecord = parseRecord
exports.take = take
