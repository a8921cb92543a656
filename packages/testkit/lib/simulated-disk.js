'use strict'
// A disk in memory that loses power the way real ones do. It is a storage, for block-file, with a crash in it.
//
// What is written lies in a cache until it is synced. A crash keeps, of each sector of 512 bytes that was written since
// then, the old bytes, any of the versions written, or a mixture; of each file any of the sizes it had; of each folder
// the names as they were after any number of the changes since its own sync.

const path = require('node:path')
const { Inode } = require('./simulated-inode')

/**
 * @typedef {(err: (Error & { code?: string }) | null, result?: any) => void} Callback
 * @typedef {{ name: string, path: string, position?: number, length?: number }} Call
 * @typedef {Array<[file: string, inode: Inode | null]>} NameChange  what becomes of names, all at once
 */

/**
 * What may go wrong with one call.
 * @typedef {object} DiskFault
 * @property {string} [code]  fail with it, having changed nothing
 * @property {number} [length]  transfer at most this many bytes: a short read or write
 * @property {boolean} [losesPages]  of a sync: fail as Linux does. The cache goes on serving the new bytes as clean,
 *   the medium keeps the old ones, and the next sync succeeds and writes nothing
 */

class SimulatedDisk {
  /**
   * @param {object} [options]
   * @param {number} [options.capacity]  bytes of file content; above it writes take what fits, then fail with ENOSPC
   * @param {(call: Call) => DiskFault | void} [options.decide]  asked at every call, by the name of the function
   */
  constructor ({ capacity = Infinity, decide = () => {} } = {}) {
    this.capacity = capacity
    this.decide = decide
    /** How many calls were made. */
    this.callCount = 0
    /** @type {Map<string, Inode>} the names as everybody sees them */
    this._names = new Map()
    /** @type {Map<string, Inode>} the names that a crash cannot take back */
    this._durableNames = new Map()
    /** @type {Map<string, NameChange[]>} by folder: changes since its sync */
    this._nameChanges = new Map()
    this.storage = this._createStorage()
  }

  /** @returns {string[]}  the paths of all files */
  list () {
    return [...this._names.keys()].sort()
  }

  /**
   * @param {string} file
   * @returns {Buffer}  a copy of what a reader would see
   */
  read (file) {
    return Buffer.from(this._inode(file).cache)
  }

  /**
   * Puts a file on the medium, synced.
   * @param {string} file
   * @param {Uint8Array} bytes
   */
  put (file, bytes) {
    const inode = new Inode()
    inode.write(bytes, 0)
    inode.sync()
    this._names.set(file, inode)
    this._durableNames.set(file, inode)
  }

  /**
   * Changes the medium behind everybody's back: a flipped bit, a misdirected or a lost write. The cache of the file is
   * dropped with it.
   * @param {string} file
   * @param {(medium: Buffer, previous: Map<number, Buffer>) => void} change  in place; `previous` has, by its number,
   *   what each sector held before it was last synced
   */
  damage (file, change) {
    const inode = this._inode(file)
    change(inode.medium, inode.previous)
    inode.dropCache()
  }

  /** Forgets all caches, as an unmount does: bytes that a failed sync lost are gone for readers too. */
  dropCaches () {
    for (const inode of this._names.values()) inode.dropCache()
  }

  /**
   * Cuts the power.
   * @param {(count: number, what: string) => number} pick  chooses one of `count` outcomes, from 0: 0 keeps what is
   *   durable. Asked in the same order for the same history, so a list of answers replays a crash
   * @returns {SimulatedDisk}  what is found when the power is back; this disk stays as it is
   */
  crash (pick) {
    const after = new SimulatedDisk({ capacity: this.capacity })
    const names = new Map(this._durableNames)
    for (const [folder, changes] of this._nameChanges) {
      const kept = pick(changes.length + 1, `names of ${folder}`)
      for (const change of changes.slice(0, kept)) applyChange(names, change)
    }
    /** @type {Map<Inode, Inode>} */
    const survivors = new Map()
    for (const [file, inode] of names) {
      if (!survivors.has(inode)) survivors.set(inode, inode.crash((count, what) => pick(count, `${what} of ${file}`)))
      after._names.set(file, /** @type {Inode} */ (survivors.get(inode)))
    }
    after._durableNames = new Map(after._names)
    return after
  }

  /** @param {string} file */
  _inode (file) {
    const inode = this._names.get(file)
    if (!inode) throw new Error(`the simulated disk has no file ${file}`)
    return inode
  }

  _createStorage () {
    return {
      open: this._open.bind(this),
      rename: this._rename.bind(this),
      unlink: this._unlink.bind(this),
      syncFolder: this._syncFolder.bind(this)
    }
  }

  /**
   * Asks for a fault, and answers in a later turn, as a storage must.
   * @param {Call} call
   * @param {Callback} cb
   * @param {(fault: DiskFault) => any} run  gives the result, or throws
   */
  _answer (call, cb, run) {
    setImmediate(() => {
      let result
      try {
        result = this._perform(call, run)
      } catch (err) {
        return cb(/** @type {Error} */ (err))
      }
      cb(null, result)
    })
  }

  /**
   * @param {Call} call
   * @param {(fault: DiskFault) => any} run
   */
  _perform (call, run) {
    this.callCount++
    const fault = this.decide(call) ?? {}
    if (fault.code) throw diskError(fault.code, call.name, call.path)
    return run(fault)
  }

  /**
   * @param {string} file
   * @param {{ flags: string }} options
   * @param {Callback} cb
   */
  _open (file, { flags }, cb) {
    this._answer({ name: 'open', path: file }, cb, () => {
      if (!this._names.has(file)) {
        if (flags === 'r') throw diskError('ENOENT', 'open', file)
        this._changeNames(path.dirname(file), [[file, new Inode()]])
      }
      return this._createHandle(file, this._inode(file))
    })
  }

  /**
   * @param {string} from
   * @param {string} to  in the same folder
   * @param {Callback} cb
   */
  _rename (from, to, cb) {
    this._answer({ name: 'rename', path: from }, cb, () => {
      const inode = this._names.get(from)
      if (!inode) throw diskError('ENOENT', 'rename', from)
      this._changeNames(path.dirname(to), [[from, null], [to, inode]])
    })
  }

  /**
   * @param {string} file
   * @param {Callback} cb
   */
  _unlink (file, cb) {
    this._answer({ name: 'unlink', path: file }, cb, () => {
      if (!this._names.has(file)) throw diskError('ENOENT', 'unlink', file)
      this._changeNames(path.dirname(file), [[file, null]])
    })
  }

  /**
   * @param {string} folder
   * @param {Callback} cb
   */
  _syncFolder (folder, cb) {
    this._answer({ name: 'syncFolder', path: folder }, cb, () => {
      for (const change of this._nameChanges.get(folder) ?? []) applyChange(this._durableNames, change)
      this._nameChanges.delete(folder)
    })
  }

  /**
   * @param {string} folder
   * @param {NameChange} change
   */
  _changeNames (folder, change) {
    applyChange(this._names, change)
    this._nameChanges.set(folder, [...this._nameChanges.get(folder) ?? [], change])
  }

  /**
   * @param {string} file
   * @param {Inode} inode
   */
  _createHandle (file, inode) {
    const call = (/** @type {string} */ name, position = 0, length = 0) => ({ name, path: file, position, length })
    const readFrom = (/** @type {any[]} */ ...[buf, offset, length, position]) => (/** @type {DiskFault} */ fault) => {
      return inode.cache.copy(buf, offset, position, position + Math.min(length, fault.length ?? length))
    }
    return {
      read: (/** @type {any[]} */ ...[buf, offset, length, position, cb]) => {
        this._answer(call('read', position, length), cb, readFrom(buf, offset, length, position))
      },
      readSync: (/** @type {any[]} */ ...[buf, offset, length, position]) => {
        return this._perform(call('readSync', position, length), readFrom(buf, offset, length, position))
      },
      write: (/** @type {any[]} */ ...[buf, offset, length, position, cb]) => {
        this._answer(call('write', position, length), cb, (fault) => {
          const room = this._roomFor(inode, position, Math.min(length, fault.length ?? length), file)
          inode.write(buf.subarray(offset, offset + room), position)
          return room
        })
      },
      truncate: (/** @type {number} */ size, /** @type {Callback} */ cb) => {
        this._answer(call('truncate', size), cb, () => inode.truncate(size))
      },
      sync: (/** @type {Callback} */ cb) => this._answer(call('sync'), cb, (fault) => {
        if (!fault.losesPages) return inode.sync()
        inode.loseUnsynced()
        throw diskError('EIO', 'fsync', file)
      }),
      size: (/** @type {Callback} */ cb) => this._answer(call('size'), cb, () => inode.cache.length),
      close: (/** @type {Callback} */ cb) => this._answer(call('close'), cb, () => {})
    }
  }

  /**
   * @param {Inode} inode
   * @param {number} position
   * @param {number} length
   * @param {string} file
   * @returns {number}  how many of the bytes fit
   */
  _roomFor (inode, position, length, file) {
    const used = [...new Set(this._names.values())].reduce((total, { cache }) => total + cache.length, 0)
    const room = Math.max(0, this.capacity - used + inode.cache.length - position)
    if (room === 0 && length > 0) throw diskError('ENOSPC', 'write', file)
    return Math.min(length, room)
  }
}

/**
 * @param {Map<string, Inode>} names
 * @param {NameChange} change
 */
function applyChange (names, change) {
  for (const [file, inode] of change) {
    if (inode) names.set(file, inode)
    else names.delete(file)
  }
}

/**
 * @param {string} code
 * @param {string} call
 * @param {string} file
 */
function diskError (code, call, file) {
  return Object.assign(new Error(`${code}: ${call} '${file}'`), { code, syscall: call, path: file })
}

exports.SimulatedDisk = SimulatedDisk
