// @ts-nocheck
'use strict'
// Folders in memory, and a storage for each of a few processes that share them. A call that others may notice, or that
// may show what others did, is a step: the model says when it is taken. All other calls are answered at once.
//
// The record of a lock is one step here. lab/test/lock-model.test.js takes its own steps apart.

const path = require('node:path')
const { nextTick } = require('node:process')

const LOCK_FILE = 'writer'

/** A promise that was broken. */
class Violation extends Error {}

/** @type {Map<string, number>} texts, with a number for each: the same in every replay */
const numbers = new Map()

/** @param {string} text */
function number (text) {
  if (!numbers.has(text)) numbers.set(text, numbers.size + 1)
  return numbers.get(text)
}

/** @param {string} file  path or name */
function isOfLock (file) {
  return path.basename(file).startsWith(LOCK_FILE)
}

class Inode {
  /** @type {(name: string, node: Node, isOfLock: boolean) => void} the name is the same in every order of the steps */
  constructor (name, node, isOfLock) {
    this.name = name
    this.node = node
    this.isOfLock = isOfLock
    this.bytes = Buffer.alloc(0)
    this.size = 0
    this.linkCount = 1
    /** Stands for all that was ever written. */
    this.version = 0
    /** The process that has the kernel's lock. */
    this.holder = null
  }

  resize (size) {
    if (size > this.bytes.length) {
      const bytes = Buffer.alloc(Math.max(size, 2 * this.bytes.length))
      this.bytes.copy(bytes)
      this.bytes = bytes
    }
    if (size < this.size) this.bytes.fill(0, size, this.size)
    this.size = size
  }
}

class Node {
  /** @param {string} name */
  constructor (name) {
    this.name = name
    /** @type {Map<string, Inode>} */
    this.files = new Map()
    /** Of locks, by name. @type {Map<string, any>} */
    this.records = new Map()
  }
}

class World {
  constructor () {
    /** By path. @type {Map<string, Node>} */
    this.folders = new Map()
    /** @type {Array<any>} */
    this.processes = []
    this.moveCount = 0
    /** Whether the folder may be moved. */
    this.hasMoves = false
  }

  makeFolder (folder, process) {
    if (process.folders.has(folder)) return
    if (!this.folders.has(folder)) this.folders.set(folder, new Node(`${process.pid}.${process.count()}`))
  }

  /** Moves a folder away. What is open stays open. */
  move (from, to) {
    const node = this.folders.get(from)
    if (node === undefined || this.folders.has(to)) return
    this.folders.delete(from)
    this.folders.set(to, node)
    this.moveCount++
  }

  isAlive (pid) {
    return this.processes.some((process) => process.pid === pid && process.isAlive)
  }

  /** Only the holder of the folder's lock changes anything but the lock. */
  checkChange (process, node, name) {
    if (isOfLock(name)) return
    const other = this.processes.find((other) => other !== process && other.isAlive && other.writes === node)
    if (other) throw new Violation(`${process.pid} changes ${name}, and ${other.pid} has the log open`)
    const holds = process.hasKernelLocks
      ? [...process.handles].some((inode) => inode.isOfLock && inode.node === node && inode.holder?.pid === process.pid)
      : node.records.get(`${LOCK_FILE}.lock`)?.pid === process.pid
    if (!holds) throw new Violation(`${process.pid} changes ${name} without the lock`)
  }

  key () {
    const describe = ({ files, records }) => [
      ...[...files].sort().map(([name, { name: inode, version, holder }]) => {
        return `${name}=${inode},${version},${holder?.pid}`
      }),
      ...[...records].sort().map(([name, { nonce, intact }]) => `${name}=${nonce},${intact}`)
    ]
    return [...this.folders].sort().flatMap(([at, node]) => [at, node.name, ...describe(node)]).join(' ')
  }

  /** @param {any} process  as in processes.js */
  storageOf (process) {
    return createStorage(this, process)
  }
}

const fail = (code, message = code) => { throw Object.assign(new Error(message), { code }) }

function createStorage (world, process) {
  const leadsTo = (folder) => process.folders.get(folder) ?? world.folders.get(folder)
  const nodeAt = (folder) => leadsTo(folder) ?? fail('ENOENT', `ENOENT: ${folder}`)
  const place = (file) => ({ node: nodeAt(path.dirname(file)), name: path.basename(file) })
  const find = (file) => {
    const { node, name } = place(file)
    return node.files.get(name) ?? fail('ENOENT', `ENOENT: ${file}`)
  }
  const isAt = (inode) => (file) => leadsTo(path.dirname(file))?.files.get(path.basename(file)) === inode
  const step = (name, run, isStep = () => true) => (...args) => {
    const cb = args.pop()
    const what = `${name} ${args.filter((arg) => typeof arg === 'string').join(' ')}`
    if (isStep(...args)) process.ask(what, () => run(...args), cb)
    else nextTick(() => process.answer(what, () => run(...args), cb))
  }
  const open = (file, { flags, createFolder, mustExist = false }) => {
    const isMade = flags === 'r+' && !mustExist
    if (isMade && createFolder) world.makeFolder(path.dirname(file), process)
    const { node, name } = place(file)
    if (!node.files.has(name)) {
      if (!isMade) fail('ENOENT', `ENOENT: ${file}`)
      world.checkChange(process, node, name)
      node.files.set(name, new Inode(`${process.pid}.${process.count()}`, node, isOfLock(name)))
    }
    return createHandle({ world, process, node, name, inode: node.files.get(name), isAt, step })
  }
  return {
    // Only the holder of the lock makes segments.
    open: step('open', open, (file, { flags, mustExist }) => isOfLock(file) || (flags === 'r+' && !mustExist)),
    rename: step('rename', (from, to) => {
      const inode = find(from)
      const { node, name } = place(to)
      world.checkChange(process, node, name)
      const replaced = node.files.get(name)
      if (replaced) replaced.linkCount = 0
      node.files.delete(path.basename(from))
      node.files.set(name, inode)
    }),
    unlink: step('unlink', (file) => {
      const inode = find(file)
      const { node, name } = place(file)
      world.checkChange(process, node, name)
      inode.linkCount = 0
      node.files.delete(name)
    }),
    syncFolder: (file, cb) => nextTick(cb, null),
    listFolder: step('listFolder', (folder) => {
      const { files, records } = nodeAt(folder)
      return [...files.keys(), ...records.keys()].sort()
    }),
    makeFolderSync: (file) => { if (process.isAlive) world.makeFolder(path.dirname(file), process) },
    openFolder: step('openFolder', (folder) => {
      const node = nodeAt(folder)
      const reach = `/open/${process.count()}`
      process.folders.set(reach, node)
      const isAtSync = (folder) => leadsTo(folder) === node
      const isAt = step('isAt', isAtSync, () => world.hasMoves)
      return { node, reach, isAt, isAtSync, close: (cb) => nextTick(cb, null) }
    }),
    hasKernelLocks: (file, options, cb) => nextTick(cb, null, process.hasKernelLocks),
    findHolder: step('findHolder', (file) => {
      const record = world.folders.get(path.dirname(file))?.records.get(`${path.basename(file)}.lock`)
      const error = Object.assign(new Error('locked'), { code: 'ERR_LOG_LOCKED' })
      if (record?.kind !== 'kernel') return { state: 'nameless', error }
      return { state: world.isAlive(record.pid) ? 'alive' : 'dying', error }
    }),
    lock: step('lock', (file, request) => takeRecord({ world, process, step }, file, request, nodeAt))
  }
}

function createHandle ({ world, process, node, name, inode, isAt, step }) {
  const ifAlive = (run) => { if (process.isAlive) run() }
  const read = (buf, offset, length, position) => {
    process.learn(`read ${inode.version}`)
    const count = Math.max(0, Math.min(length, inode.size - position))
    inode.bytes.copy(buf, offset, position, position + count)
    return count
  }
  const change = (run, cb) => ifAlive(() => {
    try {
      world.checkChange(process, node, name)
    } catch (err) {
      return process.violate(err)
    }
    inode.version = number(`${inode.version} by ${process.pid} ${process.history}`)
    nextTick(() => ifAlive(() => cb(null, run())))
  })
  const close = (cb) => {
    if (inode.holder !== handle) return nextTick(() => ifAlive(() => cb(null)))
    process.ask('unlock', () => { inode.holder = null }, cb)
  }
  const handle = {
    pid: process.pid,
    inode: inode.name,
    read: (buf, offset, length, position, cb) => {
      nextTick(() => ifAlive(() => cb(null, read(buf, offset, length, position))))
    },
    readSync: read,
    write: (buf, offset, length, position, cb) => change(() => {
      inode.resize(Math.max(inode.size, position + length))
      buf.copy(inode.bytes, position, offset, offset + length)
      return length
    }, cb),
    truncate: (size, cb) => change(() => inode.resize(size), cb),
    sync: (cb) => nextTick(() => ifAlive(() => cb(null))),
    size: (cb) => nextTick(() => ifAlive(() => cb(null, inode.size))),
    stat: (cb) => nextTick(() => ifAlive(() => cb(null, {
      size: inode.size,
      modifiedNs: BigInt(inode.version),
      changedNs: BigInt(inode.version),
      device: 1n,
      inode: BigInt(number(`inode ${inode.name}`)),
      nameCount: BigInt(inode.linkCount)
    }))),
    tryLock: step('tryLock', () => {
      if (!process.hasKernelLocks) return 'refused'
      if (inode.holder !== null) return 'busy'
      inode.holder = handle
      process.handles.add(inode)
      return 'held'
    }),
    isAt: step('isAt', isAt(inode), () => world.hasMoves || isOfLock(name)),
    isAtSync: isAt(inode),
    close
  }
  return handle
}

/** As lock/lock-file.js of block-file, in one step. */
function takeRecord ({ world, process, step }, file, request, nodeAt) {
  const { isKernelHeld = false, inode = null, at = file, folder } = request
  const node = folder?.node ?? nodeAt(path.dirname(at))
  const name = `${path.basename(file)}.lock`
  const before = node.records.get(name)
  const kind = isKernelHeld ? 'kernel' : 'file'
  const hadThisLock = isKernelHeld && before?.kind === 'kernel' && before.inode === inode
  if (before && world.isAlive(before.pid) && !hadThisLock) fail('ERR_LOG_LOCKED', `${before.pid} has the lock`)
  const record = { kind, pid: process.pid, inode, nonce: `${process.pid}.${process.count()}`, intact: null }
  node.records.set(name, record)
  const done = (cb) => nextTick(cb, null)
  const { nonce } = record
  const common = { kind, nonce, deadNonce: before?.nonce ?? null, blindSpot: null, noteFile: done, forgetFile: done }
  const noteOf = (file) => ({
    findPast: (cb) => nextTick(cb, null, before?.intact === file ? 'intact' : 'unknown'),
    markIntact: (isIntact, cb) => {
      record.intact = isIntact ? file : null
      nextTick(cb, null)
    }
  })
  return {
    ...common,
    ...noteOf(name),
    cover: (file, cb) => {
      nextTick(cb, null, { ...common, ...noteOf(path.basename(file)), isOfFolder: true, release: done })
    },
    release: step('release', () => { if (node.records.get(name) === record) node.records.delete(name) })
  }
}

exports.LOCK_FILE = LOCK_FILE
exports.Violation = Violation
exports.World = World
exports.number = number
