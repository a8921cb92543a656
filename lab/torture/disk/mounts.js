'use strict'
// Real ext4 on disks of ours: makes the file system, mounts it on a recorded disk or on the image of a crash, and takes
// it down again. Runs in a mount namespace of its own, so that nothing stays mounted when it ends.

const { execFile, spawn, spawnSync } = require('node:child_process')
const crypto = require('node:crypto')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { promisify } = require('node:util')

const RECORDED_DISK = path.join(__dirname, 'recorded-disk.js')
const PROGRAMS = ['mkfs.ext4', 'dumpe2fs', 'mount', 'umount', 'losetup', 'unshare', 'setpriv', 'dd', 'sync']
const APPEAR_MS_MAX = 20_000
const UNMOUNT_TRIES_MAX = 40
const WAIT_MS = 25
const MIB = 1024 * 1024

const run = promisify(execFile)

/**
 * @typedef {object} FileSystem
 * @property {'ordered' | 'writeback'} data  the mode of its journal
 * @property {boolean} isDelayed  blocks are allocated when they are written back, not when they are written
 * @property {number} blockSize  in bytes
 * @property {number} sizeMib
 */

/** @returns {string | null}  what keeps disks from being made here */
function whyNot () {
  if (process.platform !== 'linux') return 'it needs Linux'
  if (process.getuid?.() !== 0) return 'it needs root'
  for (const device of ['/dev/fuse', '/dev/loop-control']) if (!fs.existsSync(device)) return `there is no ${device}`
  const missing = PROGRAMS.find((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0)
  if (missing) return `there is no program ${missing}`
  const { status, stderr } = spawnSync('unshare', ['-m', 'true'], { encoding: 'utf8' })
  return status === 0 ? null : `a mount namespace cannot be made: ${stderr.trim()}`
}

/**
 * @param {string} image  to be made
 * @param {FileSystem} fileSystem
 * @param {number} seed  of what the disk has where nothing was written yet
 * @returns {Promise<Array<[start: number, end: number]>>}  bytes that hold the file system's own blocks
 */
async function makeFileSystem (image, { blockSize, sizeMib }, seed) {
  fs.writeFileSync(image, noise(sizeMib * MIB, seed))
  const journalMib = blockSize === 1024 ? 1 : 4
  await run('mkfs.ext4', ['-q', '-F', '-b', String(blockSize), '-I', '256', '-N', '256', '-m', '0', '-J', `size=${journalMib}`,
    '-E', 'nodiscard,lazy_itable_init=0,lazy_journal_init=0', image])
  const { stdout } = await run('dumpe2fs', [image])
  return usedRanges(stdout, blockSize, sizeMib * MIB)
}

/**
 * @param {string} dump  by dumpe2fs, of a file system without files
 * @param {number} blockSize
 * @param {number} end  of the disk, in bytes
 * @returns {Array<[start: number, end: number]>}
 */
function usedRanges (dump, blockSize, end) {
  const free = [...dump.matchAll(/^ {2}Free blocks: (.+)$/gm)].flatMap(([, list]) => list.split(', ').map((range) => {
    const [first, last = first] = range.split('-').map(Number)
    return [first * blockSize, (last + 1) * blockSize]
  }))
  /** @type {Array<[number, number]>} */
  const used = []
  let position = 0
  for (const [start, stop] of [...free, [end, end]]) {
    if (start > position) used.push([position, start])
    position = stop
  }
  return used
}

/**
 * @param {number} size
 * @param {number} seed
 */
function noise (size, seed) {
  const cipher = crypto.createCipheriv('aes-128-ctr', Buffer.alloc(16, `${seed}`), Buffer.alloc(16))
  return cipher.update(Buffer.alloc(size))
}

/** @param {FileSystem} fileSystem */
function mountOptions ({ data, isDelayed }) {
  return ['loop', `data=${data}`, isDelayed ? 'delalloc' : 'nodelalloc'].join()
}

class Mounts {
  /** @param {string} folder  of one's own */
  constructor (folder) {
    this._fuse = path.join(folder, 'fuse')
    /** Where the file system is mounted. */
    this.root = path.join(folder, 'mnt')
    this.record = path.join(folder, 'record')
    this.control = path.join(folder, 'control')
    fs.mkdirSync(this._fuse, { recursive: true })
    fs.mkdirSync(this.root, { recursive: true })
    /** @type {import('node:child_process').ChildProcess | null} */
    this._disk = null
  }

  /**
   * @param {string} image  what the disk has at first; it stays as it is
   * @param {FileSystem} fileSystem
   * @param {Array<[number, number]>} metadata
   */
  async mountRecorded (image, fileSystem, metadata) {
    const options = { folder: this._fuse, image, record: this.record, control: this.control, metadata }
    const args = ['--pdeathsig', 'KILL', process.execPath, RECORDED_DISK, JSON.stringify(options)]
    const disk = this._disk = spawn('setpriv', args, { stdio: ['ignore', 'inherit', 'inherit'] })
    const file = path.join(this._fuse, 'disk')
    for (let ms = 0; !await isThere(file); ms += WAIT_MS) {
      if (ms > APPEAR_MS_MAX || disk.exitCode !== null) throw new Error('the recorded disk does not appear')
      await wait(WAIT_MS)
    }
    await run('mount', ['-t', 'ext4', '-o', mountOptions(fileSystem), file, this.root])
  }

  /** @returns {Promise<void>}  the record is whole */
  async unmountRecorded () {
    const disk = /** @type {import('node:child_process').ChildProcess} */ (this._disk)
    const ended = once(disk, 'exit')
    await unmount(this.root)
    await unmount(this._fuse)
    await ended
    this._disk = null
  }

  /**
   * @param {string} image  of a crash, which will be changed
   * @param {FileSystem} fileSystem
   */
  async mountImage (image, fileSystem) {
    await run('mount', ['-t', 'ext4', '-o', mountOptions(fileSystem), image, this.root])
  }

  async unmountImage () {
    await unmount(this.root)
  }

  /** @param {string} file  whose clean pages leave the cache; or a folder with such files */
  async forgetPages (file) {
    if (fs.statSync(file).isDirectory()) {
      for (const name of fs.readdirSync(file)) await this.forgetPages(path.join(file, name))
      return
    }
    await run('dd', [`if=${file}`, 'iflag=nocache', 'count=0', 'status=none'])
  }
}

/** @param {string} target */
async function unmount (target) {
  for (let tries = 1; ; tries++) {
    try {
      await run('umount', [target])
      return
    } catch (err) {
      // A process that was killed may not be quite gone, nor a loop device.
      if (tries === UNMOUNT_TRIES_MAX || !/busy/.test(/** @type {Error} */ (err).message)) throw err
      await wait(WAIT_MS)
    }
  }
}

/**
 * Without a synchronous call: it would be this thread that the answer has to wait for.
 * @param {string} file
 */
function isThere (file) {
  return fs.promises.stat(file).then(() => true, () => false)
}

/** @param {number} ms */
function wait (ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

exports.Mounts = Mounts
exports.makeFileSystem = makeFileSystem
exports.whyNot = whyNot
