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
 * @typedef {{ name: string, path: string, position?: number, length?: number, buf?: Buffer, offset?: number }} Call
 *   the bytes of a write are in `buf`, at `offset`
 * @typedef {Array<[file: string, inode: Inode | null]>} NameChange  what becomes of names, all at once
 */

/**
 * What may go wrong with one call.
 * @typedef {object} DiskFault
 * @property {string} [code]  fail with it, having changed nothing
 * @property {number} [length]  transfer at most this many bytes: a short read or write
 * @property {boolean} [losesPages]  of a sync: fail as Linux does. The cache goes on serving the new bytes as clean,
 *   the medium keeps the old ones, and the next sync succeeds and writes nothing. Nor does it write what is written
 *   again in place where the file was new: on ext4 such blocks stay unwritten until the file is cut there
 */

/**
 * @typedef {object} DiskOptions
 * @property {number} [capacity]  bytes of file content; above it writes take what fits, then fail with ENOSPC
 * @property {(call: Call) => DiskFault | void} [decide]  asked at every call, by the name of the function
 * @property {(run: () => void) => void} [defer]  runs a call in a later turn; `setImmediate` by default
 * @property {((call: Call, index: number) => void) | null} [onChange]  told of every call that may change what a crash
 *   leaves, just before it does, with its number from 0. An `open` that makes a new file is a `create`
 */

/** Calls that may change what a crash leaves. */
const CHANGES = new Set(['write', 'truncate', 'sync', 'rename', 'unlink', 'syncFolder'])
/** @type {DiskFault} */
const NO_FAULT = Object.freeze({})

class SimulatedDisk {
  /** @param {DiskOptions} [options] */
  constructor ({ capacity = Infinity, decide = () => {}, defer = setImmediate, onChange = null } = {}) {
    this.capacity = capacity
    this.decide = decide
    this.defer = defer
    this.onChange = onChange
    /** How many calls were made. */
    this.callCount = 0
    /** How many of them may have changed what a crash leaves. */
    this.changeCount = 0
    /** @type {Map<string, Inode>} the names as everybody sees them */
    this._names = new Map()
    /** @type {Map<string, Inode>} the names that a crash cannot take back */
    this._durableNames = new Map()
    /** @type {Map<string, NameChange[]>} by folder: changes since its sync */
    this._nameChanges = new Map()
    this.storage = {
      open: this._open.bind(this),
      rename: this._rename.bind(this),
      unlink: this._unlink.bind(this),
      syncFolder: this._syncFolder.bind(this)
    }
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
    return this._inode(file).contents()
  }

  /**
   * Puts a file on the medium, synced.
   * @param {string} file
   * @param {Uint8Array} bytes
   */
  put (file, bytes) {
    const inode = new Inode()
    inode.write(Buffer.from(bytes), 0, bytes.length, 0)
    inode.sync()
    this._names.set(file, inode)
    this._durableNames.set(file, inode)
  }

  /**
   * Writes at once, and does not sync: as much of a write as was done when its process was killed.
   * @param {string} file
   * @param {Buffer} bytes
   * @param {number} position
   */
  write (file, bytes, position) {
    this._inode(file).write(bytes, 0, bytes.length, position)
  }

  /**
   * Changes the medium behind everybody's back: a flipped bit, a misdirected or a lost write. The cache of the file is
   * dropped with it.
   * @param {string} file
   * @param {(medium: Buffer, previous: Map<number, Buffer>) => void} change  in place; `previous` has, by its number,
   *   what each sector held before it was last synced
   */
  damage (file, change) {
    this._inode(file).damage(change)
  }

  /** Forgets all caches, as an unmount does: bytes that a failed sync lost are gone for readers too. */
  dropCaches () {
    for (const inode of this._names.values()) inode.dropCache()
  }

  /**
   * @param {DiskOptions} [options]  other than those of this disk
   * @returns {SimulatedDisk}  one with the same files, cached, unsynced and durable, that goes its own way from now on.
   *   What was opened on this disk stays with it
   */
  clone (options) {
    const copy = new SimulatedDisk({ capacity: this.capacity, defer: this.defer, ...options })
    const copyOf = onceEach((inode) => inode.clone())
    for (const [file, inode] of this._names) copy._names.set(file, copyOf(inode))
    for (const [file, inode] of this._durableNames) copy._durableNames.set(file, copyOf(inode))
    for (const [folder, changes] of this._nameChanges) {
      const copyChange = (/** @type {NameChange} */ change) => change.map(([file, inode]) => {
        return /** @type {NameChange[0]} */ ([file, inode && copyOf(inode)])
      })
      copy._nameChanges.set(folder, changes.map(copyChange))
    }
    return copy
  }

  /**
   * Cuts the power.
   * @param {(count: number, what: string) => number} pick  chooses one of `count` outcomes, from 0: 0 keeps what is
   *   durable. Asked in the same order for the same history, so a list of answers replays a crash
   * @returns {SimulatedDisk}  what is found when the power is back; this disk stays as it is
   */
  crash (pick) {
    const names = this._namesAfter((folder, changes) => pick(changes.length + 1, `names of ${folder}`))
    return this._survive(names, (inode, file) => inode.crash((count, what) => pick(count, `${what} of ${file}`)))
  }

  /**
   * @param {(folder: string, changes: NameChange[]) => number} pick  how many of the changes of names are kept
   * @returns {Map<string, Inode>}
   */
  _namesAfter (pick) {
    const names = new Map(this._durableNames)
    for (const [folder, changes] of this._nameChanges) {
      for (const change of changes.slice(0, pick(folder, changes))) applyChange(names, change)
    }
    return names
  }

  /**
   * @param {Map<string, Inode>} names
   * @param {(inode: Inode, file: string) => Inode} survive  what became of each
   * @returns {SimulatedDisk}
   */
  _survive (names, survive) {
    const after = new SimulatedDisk({ capacity: this.capacity, defer: this.defer })
    const survivorOf = onceEach(survive)
    for (const [file, inode] of names) after._names.set(file, survivorOf(inode, file))
    after._durableNames = new Map(after._names)
    return after
  }

  /** @param {string} file */
  _inode (file) {
    const inode = this._names.get(file)
    if (!inode) throw new Error(`the simulated disk has no file ${file}`)
    return inode
  }

  /**
   * Answers in a later turn, as a storage must.
   * @param {Call} call
   * @param {Callback} cb
   * @param {(fault: DiskFault) => any} run  gives the result, or throws
   */
  _answer (call, cb, run) {
    this.defer(() => {
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
    const fault = this.decide(call) ?? NO_FAULT
    if (fault.code) throw diskError(fault.code, call.name, call.path)
    if (CHANGES.has(call.name)) this._announce(call)
    return run(fault)
  }

  /** @param {Call} call */
  _announce (call) {
    const index = this.changeCount++
    if (this.onChange) this.onChange(call, index)
  }

  /**
   * @param {string} file
   * @param {{ flags: string, mustExist?: boolean }} options
   * @param {Callback} cb
   */
  _open (file, { flags, mustExist }, cb) {
    this._answer({ name: 'open', path: file }, cb, () => {
      if (!this._names.has(file)) {
        if (flags === 'r' || mustExist) throw diskError('ENOENT', 'open', file)
        this._announce({ name: 'create', path: file })
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
    /** @type {Record<string, (fault: DiskFault, ...args: any[]) => any>} */
    const runs = {
      read: ({ length: most = Infinity }, buf, offset, length, position) => {
        return inode.read(buf, offset, Math.min(length, most), position)
      },
      write: ({ length: most = Infinity }, buf, offset, length, position) => {
        const room = this._roomFor(inode, position, Math.min(length, most), file)
        inode.write(buf, offset, room, position)
        return room
      },
      sync: ({ losesPages }) => {
        if (!losesPages) return inode.sync()
        inode.loseUnsynced()
        throw diskError('EIO', 'fsync', file)
      },
      truncate: (fault, size) => inode.truncate(size),
      size: () => inode.cacheSize,
      close: () => {}
    }
    const describe = (/** @type {string} */ name, /** @type {any[]} */ [first, offset, length = 0, position = 0]) => {
      const call = { name, path: this._nameOf(inode, file), position: name === 'truncate' ? first : position, length }
      return name === 'write' ? { ...call, buf: first, offset } : call
    }
    /** @type {Record<string, (...args: any[]) => any>} */
    const handle = {}
    for (const [name, run] of Object.entries(runs)) {
      handle[name] = (...args) => {
        const cb = args.pop()
        this._answer(describe(name, args), cb, (fault) => run(fault, ...args))
      }
    }
    for (const [name, asked] of [['read', 'readSync'], ['write', 'write'], ['sync', 'sync']]) {
      handle[`${name}Sync`] = (...args) => this._perform(describe(asked, args), (fault) => runs[name](fault, ...args))
    }
    return handle
  }

  /**
   * @param {Inode} inode
   * @param {string} file  its name when it was opened
   * @returns {string}  its name now; the last one it had, if it has none
   */
  _nameOf (inode, file) {
    if (this._names.get(file) === inode) return file
    for (const [name, other] of this._names) if (other === inode) return name
    return file
  }

  /**
   * @param {Inode} inode
   * @param {number} position
   * @param {number} length
   * @param {string} file
   * @returns {number}  how many of the bytes fit
   */
  _roomFor (inode, position, length, file) {
    if (this.capacity === Infinity) return length
    const used = [...new Set(this._names.values())].reduce((total, { cacheSize }) => total + cacheSize, 0)
    const room = Math.max(0, this.capacity - used + inode.cacheSize - position)
    if (room === 0 && length > 0) throw diskError('ENOSPC', 'write', file)
    return Math.min(length, room)
  }
}

/**
 * A file may have several names.
 * @param {(inode: Inode, file: string) => Inode} make
 * @returns {(inode: Inode, file?: string) => Inode}  what it made of that inode the first time
 */
function onceEach (make) {
  /** @type {Map<Inode, Inode>} */
  const made = new Map()
  return (inode, file = '') => {
    const one = made.get(inode) ?? make(inode, file)
    made.set(inode, one)
    return one
  }
}

/** @param {Map<string, Inode>} names @param {NameChange} change */
function applyChange (names, change) {
  for (const [file, inode] of change) {
    if (inode) names.set(file, inode)
    else names.delete(file)
  }
}

/** @param {string} code @param {string} call @param {string} file */
function diskError (code, call, file) {
  // Files that do not exist are looked for all the time, and a stack is what costs in an error.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  const err = new Error(`${code}: ${call} '${file}'`)
  Error.stackTraceLimit = stackTraceLimit
  return Object.assign(err, { code, syscall: call, path: file })
}

exports.SimulatedDisk = SimulatedDisk
