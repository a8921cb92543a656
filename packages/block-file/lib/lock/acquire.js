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

const { encodeRecord, isBlank, NONCE_OF_BLANK, parseRecord } = require('./record')

// Where names come and go as often as this, something else is at work.
const ATTEMPT_COUNT_MAX = 1000

/**
 * @typedef {import('./record').LockRecord} LockRecord
 * @typedef {(err: NodeJS.ErrnoException | null) => void} Done
 */

/**
 * @typedef {object} World  what happens in it happens at once, or is seen by others half done where this is said
 * @property {(path: string, text: string, cb: Done) => void} write  a new file, first without the text; EEXIST
 * @property {(from: string, to: string, cb: Done) => void} link  EEXIST; other errors where that cannot be done
 * @property {(from: string, to: string, cb: Done) => void} copy  to a new file, first without the text; EEXIST
 * @property {(from: string, to: string, cb: Done) => void} rename  over what is there
 * @property {(path: string, cb: Done) => void} unlink
 * @property {(path: string, cb: (err: NodeJS.ErrnoException | null, text?: string) => void) => void} read
 * @property {(path: string, cb: (err: Error | null, paths?: string[]) => void) => void} list  the files of its folder
 * @property {(record: LockRecord, cb: import('./liveness').LivenessCallback) => void} checkLiveness
 * @property {(count: number, cb: (isEnough: boolean) => void) => void} wait  some ms, for the count-th time
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

/**
 * @typedef {object} Held
 * @property {string} nonce  of its record
 * @property {boolean} isLinked  links work here
 * @property {boolean} hasReplaced  it was the lock of a dead one
 * @property {LockRecord | null} replaced  of the dead one whose lock it was; null if there was none, or nothing in it
 * @property {(changes: Partial<LockRecord>, cb: Done) => void} update
 * @property {(lockPath: string, cb: Done) => void} release  gives it back; the lock may have come to another path
 */

/** @typedef {(err: Error | null, held?: Held, obstacle?: Obstacle) => void} Acquired  one of the three */

class Acquisition {
  /**
   * @param {World} world
   * @param {string} lockPath
   * @param {Omit<LockRecord, 'nonce'>} record
   * @param {Acquired} cb
   */
  constructor (world, lockPath, record, cb) {
    this._world = world
    this._lockPath = lockPath
    this._record = { ...record, nonce: world.createNonce() }
    // What a power cut leaves of a record that is not yet the lock's has a name that the next one meets, if it can be.
    this._temporaryPath = `${lockPath}.${world.mark ?? this._record.nonce}.new`
    this._attemptCount = 0
    this._cb = cb
  }

  writeTemporary () {
    this._write((err) => err ? this._fail(err) : this._link())
  }

  /** @param {Done} cb */
  _write (cb) {
    const { _world: world, _temporaryPath: temporary } = this
    const text = encodeRecord(this._record)
    world.write(temporary, text, (err) => {
      if (err?.code !== 'EEXIST' || !world.mark) return cb(err)
      world.unlink(temporary, (err) => err ? cb(err) : world.write(temporary, text, cb))
    })
  }

  _link () {
    const { _world: world, _temporaryPath: temporary, _lockPath: lockPath } = this
    if (this._attemptCount++ === ATTEMPT_COUNT_MAX) return this._meetUnknown(new Error('it comes and goes'))
    world.link(temporary, lockPath, (err) => {
      if (!err) return this._succeed(true)
      if (err.code === 'EEXIST') return this._look(1)
      if (err.code === 'ENOENT') return this.writeTemporary()
      world.copy(temporary, lockPath, (err) => {
        if (!err) this._succeed(false)
        else if (err.code === 'EEXIST') this._look(1)
        else if (err.code === 'ENOENT') this.writeTemporary()
        else this._fail(err)
      })
    })
  }

  /** @param {number} count  how many times it was looked at, this time included */
  _look (count) {
    this._world.read(this._lockPath, (err, text = '') => {
      if (err?.code === 'ENOENT') return this._link()
      if (err) return this._meetUnknown(err)
      const record = parseRecord(text)
      if (record) return this._check(record)
      // It may be one that is being copied.
      this._world.wait(count, (isEnough) => {
        if (!isEnough) this._look(count + 1)
        else if (this._nonceOf(text) === NONCE_OF_BLANK) this._claim(NONCE_OF_BLANK)
        else this._meetUnknown(new Error('what is in it is no record of a lock'))
      })
    })
  }

  /** @param {LockRecord} record */
  _check (record) {
    // A network may lose the answer and ask again: then the link that could not be made is our own.
    if (record.nonce === this._record.nonce) return this._succeed(false)
    this._world.checkLiveness(record, (err, liveness) => {
      if (!err && liveness === 'dead') this._claim(record.nonce)
      else this._meet({ record, isForeign: liveness === 'foreign' || liveness === 'hidden', cause: null })
    })
  }

  /** @param {string} nonce  of a record whose holder is dead */
  _claim (nonce) {
    acquire(this._world, `${this._lockPath}.${nonce}`, this._record, (err, claim, obstacle) => {
      if (err) this._fail(err)
      else if (claim) this._replace(nonce, claim)
      else this._end(null, undefined, obstacle)
    })
  }

  /**
   * @param {string} nonce
   * @param {Held} claim  on the record with that nonce
   */
  _replace (nonce, claim) {
    const { _world: world, _lockPath: lockPath } = this
    const release = (/** @type {() => void} */ cb) => claim.release(`${lockPath}.${nonce}`, cb)
    world.read(lockPath, (err, text = '') => {
      if (err && err.code !== 'ENOENT') return release(() => this._fail(err))
      const isSame = !err && this._nonceOf(text) === nonce
      if (!isSame) return release(() => this._link())
      if (nonce === NONCE_OF_BLANK && !claim.isLinked) {
        return release(() => this._meetUnknown(new Error('it is empty')))
      }
      world.rename(this._temporaryPath, lockPath, (err) => release(() => {
        if (!err) this._succeed(claim.isLinked, true, parseRecord(text))
        else if (err.code === 'ENOENT') this.writeTemporary()
        else this._fail(err)
      }))
    })
  }

  /**
   * @param {boolean} isLinked
   * @param {boolean} [hasReplaced]
   * @param {LockRecord | null} [replaced]
   */
  _succeed (isLinked, hasReplaced = false, replaced = null) {
    const { _record: { nonce }, _update: update, _release: release } = this
    this._end(null, { nonce, isLinked, hasReplaced, replaced, update: update.bind(this), release: release.bind(this) })
  }

  /** @param {Error} cause */
  _meetUnknown (cause) {
    this._meet({ record: null, isForeign: false, cause })
  }

  /** @param {Omit<Obstacle, 'lockPath'>} found */
  _meet (found) {
    this._end(null, undefined, { lockPath: this._lockPath, ...found })
  }

  /** @param {Error} err */
  _fail (err) {
    // Whatever has failed may have been done all the same.
    this._release(this._lockPath, () => this._end(err))
  }

  /**
   * @param {Error | null} err
   * @param {Held} [held]
   * @param {Obstacle} [obstacle]
   */
  _end (err, held, obstacle) {
    // There is nothing there after a rename, and nothing to do about it if it cannot be removed.
    this._world.unlink(this._temporaryPath, () => this._cb(err, held, obstacle))
  }

  /**
   * @param {Partial<LockRecord>} changes
   * @param {Done} cb
   */
  _update (changes, cb) {
    const { _world: world, _temporaryPath: temporary } = this
    Object.assign(this._record, changes)
    this._write((err) => {
      if (err) return world.unlink(temporary, () => cb(err))
      world.rename(temporary, this._lockPath, cb)
    })
  }

  /**
   * @param {string} lockPath
   * @param {Done} cb
   */
  _release (lockPath, cb) {
    this._world.read(lockPath, (err, text = '') => {
      if (err?.code === 'ENOENT') return cb(null)
      if (err) return cb(err)
      // Somebody has removed it by hand, and another holds it now.
      if (this._nonceOf(text) !== this._record.nonce) return cb(null)
      this._world.unlink(lockPath, cb)
    })
  }

  /** @param {string} text  of a lock */
  _nonceOf (text) {
    if (isBlank(text)) return NONCE_OF_BLANK
    return parseRecord(text)?.nonce ?? (this._world.isKernelHeld ? NONCE_OF_BLANK : undefined)
  }
}

/**
 * @param {World} world
 * @param {string} lockPath
 * @param {Omit<LockRecord, 'nonce'>} record
 * @param {Acquired} cb
 */
function acquire (world, lockPath, record, cb) {
  new Acquisition(world, lockPath, record, cb).writeTemporary()
}

// Takes a lock, and removes what others left beside it who were killed while they did the same.

// What comes after the name of a lock: nonces, of claims and claims on claims; and `.new`, of what is written aside.
const LEFTOVER = /^(\.[0-9a-f]{16})+(\.new)?$/

/**
 * @param {World} world
 * @param {string} lockPath
 * @param {Omit<import('./record').LockRecord, 'nonce'>} record
 * @param {Acquired} cb
 */
function take (world, lockPath, record, cb) {
  acquire(world, lockPath, record, (err, held, obstacle) => {
    // To look through the folder each time would take too long: only where somebody is known to have been killed.
    if (!held?.hasReplaced) return cb(err, held, obstacle)
    world.list(lockPath, (_, paths = []) => {
      const leftovers = paths.filter((path) => path.startsWith(lockPath) && LEFTOVER.test(path.slice(lockPath.length)))
      removeAll(world, leftovers, () => cb(null, held))
    })
  })
}

/**
 * @param {World} world
 * @param {string[]} paths
 * @param {() => void} cb  whether or not they could be removed: they do no harm
 */
function removeAll (world, [path, ...others], cb) {
  if (path === undefined) return cb()
  world.unlink(path, () => removeAll(world, others, cb))
}

exports.acquire = acquire
exports.take = take
