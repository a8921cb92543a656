'use strict'
// A disk in memory that loses power as real ones do. Its `storage` is one for block-file.
//
// Writes stay in a cache until they are synced. Of everything unsynced, a crash keeps
// - of a sector of 512 bytes: the old bytes, any version that was written, or a mixture;
// - of a file: any size that it had since its last sync;
// - of a folder: the names after any number of the changes since its last sync.

const path = require('node:path')
const { Inode } = require('./simulated-inode')

/**
 * @typedef {(err: (Error & { code?: string }) | null, result?: any) => void} Callback
 * @typedef {{ name: string, path: string, position?: number, length?: number, buf?: Buffer, offset?: number }} Call
 *   the bytes of a write are in `buf`, at `offset`
 * @typedef {Array<[file: string, inode: Inode | null]>} NameChange  of several names at once; null removes a name
 */

/**
 * A fault of one call.
 * @typedef {object} DiskFault
 * @property {string} [code]  fail with it, and change nothing
 * @property {number} [length]  transfer at most this many bytes: a short read or write
 * @property {boolean} [losesPages]  of a sync: fail as on Linux. The cache keeps the new bytes as clean, the medium
 *   keeps the old ones, and the next sync succeeds without writing them. If the blocks were new, rewriting them in
 *   place does not bring them to the medium either, as on ext4, until the file is cut before them
 */

/**
 * @typedef {object} DiskOptions
 * @property {number} [capacity]  bytes of file content; a write takes what fits, then writes fail with ENOSPC
 * @property {(call: Call) => DiskFault | void} [decide]  called at every call; `name` is the function's name
 * @property {(run: () => void) => void} [defer]  runs a call in a later turn; `setImmediate` by default
 * @property {((call: Call, index: number) => void) | null} [onChange]  called just before every call that may change
 *   the outcome of a crash; `index` counts them from 0. An `open` that makes a new file is a `create`
 */

/** Calls that may change the outcome of a crash. */
const CHANGES = new Set(['write', 'truncate', 'sync', 'rename', 'unlink', 'syncFolder'])
/** @type {DiskFault} */
const NO_FAULT = Object.freeze({})

/**
 * A disk in memory that loses power. `disk.storage` is the value for the option `storage` of a log. A power cut keeps
 * synced bytes. An unsynced sector of 512 bytes keeps its old bytes, any version that was written, or a mixture. A
 * file keeps any size that it had since its last sync. Of the changes to a folder since its last sync, the first n
 * survive; n may be any number.
 */
class SimulatedDisk {
  /** @param {DiskOptions} [options] */
  constructor ({ capacity = Infinity, decide = () => {}, defer = setImmediate, onChange = null } = {}) {
    this.capacity = capacity
    this.decide = decide
    this.defer = defer
    this.onChange = onChange
    this.callCount = 0
    /** How many calls may have changed the outcome of a crash. */
    this.changeCount = 0
    /** The names that readers see. @type {Map<string, Inode>} */
    this._names = new Map()
    /** The names that a crash keeps in any case. @type {Map<string, Inode>} */
    this._durableNames = new Map()
    /** By folder: the changes since its last sync. @type {Map<string, NameChange[]>} */
    this._nameChanges = new Map()
    this.storage = {
      open: this._open.bind(this),
      openSync: this._openSync.bind(this),
      rename: this._rename.bind(this),
      renameSync: this._renameSync.bind(this),
      unlink: this._unlink.bind(this),
      unlinkSync: this._unlinkSync.bind(this),
      syncFolder: this._syncFolder.bind(this),
      syncFolderSync: this._syncFolderSync.bind(this),
      listFolder: this._listFolder.bind(this)
    }
  }

  /**
   * Lists the files.
   * @returns {string[]}  the paths of all files
   */
  list () {
    return [...this._names.keys()].sort()
  }

  /** What a reader would see, as a copy. @type {(file: string) => Buffer} */
  read (file) {
    return this._inode(file).contents()
  }

  /** Of a file, in bytes. @type {(file: string) => number} */
  size (file) {
    return this._inode(file).cacheSize
  }

  /** Creates a durable file. @type {(file: string, bytes: Uint8Array) => void} */
  put (file, bytes) {
    const inode = new Inode()
    inode.write(Buffer.from(bytes), 0, bytes.length, 0)
    inode.sync()
    this._names.set(file, inode)
    this._durableNames.set(file, inode)
  }

  /**
   * Writes at once, without a sync: the part of a write that was done when the process was killed.
   * @param {string} file
   * @param {Buffer} bytes
   * @param {number} position
   */
  write (file, bytes, position) {
    this._inode(file).write(bytes, 0, bytes.length, position)
  }

  /**
   * Damages the medium: a flipped bit, a misdirected or a lost write. The file's cache is dropped too.
   * @param {string} file
   * @param {(medium: Buffer, previous: Map<number, Buffer>) => void} change  in place; `previous` maps a sector's index
   *   to its bytes before its last sync
   */
  damage (file, change) {
    this._inode(file).damage(change)
  }

  /** Drops all caches, as an unmount does. Bytes that a failed sync lost are then gone for readers too. */
  dropCaches () {
    for (const inode of this._names.values()) inode.dropCache()
  }

  /**
   * Copies the disk.
   * @param {DiskOptions} [options]  that differ from this disk's
   * @returns {SimulatedDisk}  an independent copy with the same cached, unsynced and durable bytes. Open handles stay
   *   with this disk
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
   * Cuts the power. This disk does not change.
   * @param {(count: number, what: string) => number} pick  chooses one of `count` outcomes; 0 keeps what is durable.
   *   The same history gives the same questions, so a list of answers replays a crash
   * @returns {SimulatedDisk}  the disk after the power cut
   */
  crash (pick) {
    const names = this._namesAfter((folder, changes) => pick(changes.length + 1, `names of ${folder}`))
    return this._survive(names, (inode, file) => inode.crash((count, what) => pick(count, `${what} of ${file}`)))
  }

  /**
   * @param {(folder: string, changes: NameChange[]) => number} pick  how many of the changes are kept
   * @returns {Map<string, Inode>}
   */
  _namesAfter (pick) {
    const names = new Map(this._durableNames)
    for (const [folder, changes] of this._nameChanges) {
      for (const change of changes.slice(0, pick(folder, changes))) applyChange(names, change)
    }
    return names
  }

  /** @type {(names: Map<string, Inode>, survive: (inode: Inode, file: string) => Inode) => SimulatedDisk} */
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
   * Calls back in a later turn, as a storage must.
   * @param {Call} call
   * @param {Callback} cb
   * @param {(fault: DiskFault) => any} run  returns the result, or throws
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

  /** @type {(call: Call, run: (fault: DiskFault) => any) => any} */
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

  /** @type {(file: string, options: { flags: string, mustExist?: boolean | undefined }, cb: Callback) => void} */
  _open (file, options, cb) {
    this._answer({ name: 'open', path: file }, cb, () => this._openFile(file, options))
  }

  /** @type {(file: string, options: { flags: string, mustExist?: boolean | undefined }) => any} */
  _openSync (file, options) {
    return this._perform({ name: 'open', path: file }, () => this._openFile(file, options))
  }

  /** @type {(file: string, options: { flags: string, mustExist?: boolean | undefined }) => Record<string, any>} */
  _openFile (file, { flags, mustExist }) {
    if (!this._names.has(file)) {
      if (flags === 'r' || mustExist) throw diskError('ENOENT', 'open', file)
      this._announce({ name: 'create', path: file })
      this._changeNames(path.dirname(file), [[file, new Inode()]])
    }
    return this._createHandle(file, this._inode(file))
  }

  /** Both names must be in one folder. @type {(from: string, to: string, cb: Callback) => void} */
  _rename (from, to, cb) {
    this._answer({ name: 'rename', path: from }, cb, () => this._changeName(from, to))
  }

  /** @type {(from: string, to: string) => void} */
  _renameSync (from, to) {
    this._perform({ name: 'rename', path: from }, () => this._changeName(from, to))
  }

  /** @type {(from: string, to: string) => void} */
  _changeName (from, to) {
    const inode = this._names.get(from)
    if (!inode) throw diskError('ENOENT', 'rename', from)
    this._changeNames(path.dirname(to), [[from, null], [to, inode]])
  }

  /** @type {(file: string, cb: Callback) => void} */
  _unlink (file, cb) {
    this._answer({ name: 'unlink', path: file }, cb, () => this._removeName(file))
  }

  /** @param {string} file */
  _unlinkSync (file) {
    this._perform({ name: 'unlink', path: file }, () => this._removeName(file))
  }

  /** @param {string} file */
  _removeName (file) {
    if (!this._names.has(file)) throw diskError('ENOENT', 'unlink', file)
    this._changeNames(path.dirname(file), [[file, null]])
  }

  /** @type {(folder: string, cb: Callback) => void} */
  _syncFolder (folder, cb) {
    this._answer({ name: 'syncFolder', path: folder }, cb, () => this._keepNames(folder))
  }

  /** @param {string} folder */
  _syncFolderSync (folder) {
    this._perform({ name: 'syncFolder', path: folder }, () => this._keepNames(folder))
  }

  /** @param {string} folder */
  _keepNames (folder) {
    for (const change of this._nameChanges.get(folder) ?? []) applyChange(this._durableNames, change)
    this._nameChanges.delete(folder)
  }

  /** @type {(folder: string, cb: Callback) => void} */
  _listFolder (folder, cb) {
    this._answer({ name: 'listFolder', path: folder }, cb, () => {
      const inside = this.list().filter((file) => file.startsWith(`${folder}/`))
      return [...new Set(inside.map((file) => file.slice(folder.length + 1).split('/')[0]))]
    })
  }

  /** @type {(folder: string, change: NameChange) => void} */
  _changeNames (folder, change) {
    applyChange(this._names, change)
    this._nameChanges.set(folder, [...this._nameChanges.get(folder) ?? [], change])
  }

  /** @type {(file: string, inode: Inode) => Record<string, (...args: any[]) => any>} */
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
    for (const [name, asked] of [['read', 'readSync'], ['write', 'write'], ['sync', 'sync'], ['truncate', 'truncate']]) {
      handle[`${name}Sync`] = (...args) => this._perform(describe(asked, args), (fault) => runs[name](fault, ...args))
    }
    return handle
  }

  /**
   * @param {Inode} inode
   * @param {string} file  its name when it was opened
   * @returns {string}  its name now, or the name when it was opened
   */
  _nameOf (inode, file) {
    if (this._names.get(file) === inode) return file
    for (const [name, other] of this._names) if (other === inode) return name
    return file
  }

  /** How many of the bytes fit. @type {(inode: Inode, position: number, length: number, file: string) => number} */
  _roomFor (inode, position, length, file) {
    if (this.capacity === Infinity) return length
    const used = [...new Set(this._names.values())].reduce((total, { cacheSize }) => total + cacheSize, 0)
    const room = Math.max(0, this.capacity - used + inode.cacheSize - position)
    if (room === 0 && length > 0) throw diskError('ENOSPC', 'write', file)
    return Math.min(length, room)
  }
}

/**
 * Makes one value for each inode, even if several names lead to it.
 * @param {(inode: Inode, file: string) => Inode} make
 * @returns {(inode: Inode, file?: string) => Inode}
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
  // Tests look for missing files all the time, and an error's stack is expensive.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  const err = new Error(`${code}: ${call} '${file}'`)
  Error.stackTraceLimit = stackTraceLimit
  return Object.assign(err, { code, syscall: call, path: file })
}

exports.SimulatedDisk = SimulatedDisk
