'use strict'
// A disk that writes down what the kernel asks of it: one file, served by FUSE, for a loop device to lie on. Each write
// and each flush goes into the record with the time it came, so that any crash can be made of it afterwards. While the
// control file is there, writes or flushes fail.
// Usage, by mounts.js: node recorded-disk.js <JSON of DiskOptions>

const { spawn } = require('node:child_process')
const fs = require('node:fs')
const { ENTRY_SIZE, KINDS, encodeEntry, now } = require('./record')

const DISK_NAME = 'disk'
const REQUEST_SIZE_MAX = 256 * 1024
const WRITE_SIZE_MAX = 128 * 1024
const HEADER_SIZE = 40
const WAIT_MS = 5
const MOUNT_MS_MAX = 10_000
const ROOT_NODE = 1n
const DISK_NODE = 2n
const VALID_S = 3600n
// As in <linux/fuse.h>.
const OP = {
  LOOKUP: 1,
  FORGET: 2,
  GETATTR: 3,
  SETATTR: 4,
  OPEN: 14,
  READ: 15,
  WRITE: 16,
  STATFS: 17,
  RELEASE: 18,
  FSYNC: 20,
  FLUSH: 25,
  INIT: 26,
  OPENDIR: 27,
  RELEASEDIR: 29,
  ACCESS: 34,
  INTERRUPT: 36,
  DESTROY: 38,
  BATCH_FORGET: 42
}
const UNANSWERED = [OP.FORGET, OP.BATCH_FORGET, OP.INTERRUPT]
const HARMLESS = [OP.RELEASE, OP.FLUSH, OP.RELEASEDIR, OP.ACCESS]
const ASYNC_READ = 1
const BIG_WRITES = 1 << 5
const MAX_PAGES = 1 << 22
const EIO = 5
const ENOENT = 2
const ENOSYS = 38

/**
 * @typedef {object} DiskOptions
 * @property {string} folder  to mount at; the disk is the file `disk` in it
 * @property {string} image  what the disk has at first
 * @property {string} record  the file to be written
 * @property {string} control  while this file is there it says what fails: `data`, `any` or `sync`
 * @property {Array<[start: number, end: number]>} metadata  bytes of the disk that do not fail with `data`
 */

class RecordedDisk {
  /** @param {DiskOptions} options */
  constructor ({ folder, image, record, control, metadata }) {
    this._folder = folder
    this._control = control
    this._metadata = metadata
    this._bytes = fs.readFileSync(image)
    this._record = fs.openSync(record, 'w')
    this._fuse = fs.openSync('/dev/fuse', 'r+')
  }

  serve () {
    // It waits for answers of ours, so it must not be waited for.
    const options = 'fd=3,rootmode=40000,user_id=0,group_id=0,allow_other'
    spawn('mount', ['-i', '-t', 'fuse', '-o', options, 'torture', this._folder], { stdio: ['ignore', 'ignore', 'inherit', this._fuse] })
    const request = Buffer.alloc(REQUEST_SIZE_MAX)
    const giveUpAt = Date.now() + MOUNT_MS_MAX
    for (let isMounted = false; ;) {
      let size
      try {
        size = fs.readSync(this._fuse, request)
        isMounted = true
      } catch (err) {
        const { code = '' } = /** @type {NodeJS.ErrnoException} */ (err)
        if (code === 'ENODEV') return
        if (code === 'EPERM' && !isMounted && Date.now() < giveUpAt) {
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAIT_MS)
          continue
        }
        if (['EINTR', 'ENOENT', 'EAGAIN'].includes(code)) continue
        throw err
      }
      this._answer(request.subarray(0, size))
    }
  }

  /** @param {Buffer} request */
  _answer (request) {
    const op = request.readUInt32LE(4)
    if (UNANSWERED.includes(op)) return
    const result = this._perform(op, request.readBigUInt64LE(16), request.subarray(HEADER_SIZE))
    const body = typeof result === 'number' ? Buffer.alloc(0) : result
    const head = Buffer.alloc(16)
    head.writeUInt32LE(16 + body.length, 0)
    head.writeInt32LE(typeof result === 'number' ? -result : 0, 4)
    request.copy(head, 8, 8, 16)
    try {
      fs.writeSync(this._fuse, Buffer.concat([head, body]))
    } catch (err) {
      // Whoever asked has been killed.
      if (/** @type {NodeJS.ErrnoException} */ (err).code !== 'ENOENT') throw err
    }
  }

  /**
   * @param {number} op
   * @param {bigint} node
   * @param {Buffer} body
   * @returns {Buffer | number}  the answer, or an error number
   */
  _perform (op, node, body) {
    if (HARMLESS.includes(op)) return Buffer.alloc(0)
    switch (op) {
      case OP.INIT: return this._init()
      case OP.LOOKUP: return body.toString('latin1').replace(/\0.*$/s, '') === DISK_NAME ? this._entry() : ENOENT
      case OP.GETATTR: case OP.SETATTR: return Buffer.concat([longs(VALID_S, 0n), this._attributes(node)])
      case OP.OPEN: case OP.OPENDIR: return longs(0n, 0n)
      case OP.READ: return this._read(body)
      case OP.WRITE: return this._write(body)
      case OP.FSYNC: return this._flush()
      case OP.STATFS: return Buffer.alloc(80)
      case OP.DESTROY: return Buffer.alloc(0)
      default: return ENOSYS
    }
  }

  _init () {
    const answer = Buffer.alloc(64)
    answer.writeUInt32LE(7, 0)
    answer.writeUInt32LE(31, 4)
    answer.writeUInt32LE(WRITE_SIZE_MAX, 8)
    answer.writeUInt32LE(ASYNC_READ | BIG_WRITES | MAX_PAGES, 12)
    answer.writeUInt16LE(12, 16)
    answer.writeUInt16LE(9, 18)
    answer.writeUInt32LE(WRITE_SIZE_MAX, 20)
    answer.writeUInt32LE(1, 24)
    answer.writeUInt16LE(WRITE_SIZE_MAX / 4096, 28)
    return answer
  }

  _entry () {
    return Buffer.concat([longs(DISK_NODE, 0n, VALID_S, VALID_S, 0n), this._attributes(DISK_NODE)])
  }

  /** @param {bigint} node */
  _attributes (node) {
    const isFolder = node === ROOT_NODE
    const size = isFolder ? 0 : this._bytes.length
    const rest = Buffer.alloc(40)
    rest.writeUInt32LE(isFolder ? 0o40755 : 0o100600, 12)
    rest.writeUInt32LE(1, 16)
    rest.writeUInt32LE(4096, 32)
    return Buffer.concat([longs(node, BigInt(size), BigInt(size / 512), 0n, 0n, 0n), rest])
  }

  /** @param {Buffer} body */
  _read (body) {
    const offset = Number(body.readBigUInt64LE(8))
    return Buffer.from(this._bytes.subarray(offset, offset + body.readUInt32LE(16)))
  }

  /** @param {Buffer} body */
  _write (body) {
    const offset = Number(body.readBigUInt64LE(8))
    const size = body.readUInt32LE(16)
    const bytes = body.subarray(40, 40 + size)
    const fault = this._fault()
    const isMetadata = this._metadata.some(([start, end]) => offset < end && start < offset + size)
    if (fault === 'any' || (fault === 'data' && !isMetadata)) {
      this._note(KINDS.FAILED, offset, 0)
      return EIO
    }
    bytes.copy(this._bytes, offset)
    this._note(KINDS.WRITE, offset, size, bytes)
    const answer = Buffer.alloc(8)
    answer.writeUInt32LE(size)
    return answer
  }

  _flush () {
    if (this._fault() === 'sync') {
      this._note(KINDS.FAILED, 0, 0)
      return EIO
    }
    this._note(KINDS.FLUSH, 0, 0)
    return Buffer.alloc(0)
  }

  _fault () {
    if (!fs.existsSync(this._control)) return ''
    return fs.readFileSync(this._control, 'latin1')
  }

  /**
   * @param {number} kind
   * @param {number} offset
   * @param {number} size
   * @param {Buffer} [bytes]
   */
  _note (kind, offset, size, bytes = Buffer.alloc(0)) {
    const entry = Buffer.alloc(ENTRY_SIZE + bytes.length)
    encodeEntry(entry, { kind, at: now(), offset, size })
    bytes.copy(entry, ENTRY_SIZE)
    fs.writeSync(this._record, entry)
  }
}

/** @param {...bigint} values */
function longs (...values) {
  const bytes = Buffer.alloc(8 * values.length)
  values.forEach((value, index) => bytes.writeBigUInt64LE(value, 8 * index))
  return bytes
}

new RecordedDisk(JSON.parse(process.argv[2])).serve()
