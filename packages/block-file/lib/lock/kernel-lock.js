'use strict'
// The lock that the kernel holds on an open file: it goes with the descriptor, and so with the process, whatever its
// namespace and whatever path led to the file. Node.js has no call for it, but it can be had without native code.
//
// Linux: flock(2) belongs to the open file description, which a child shares that inherits the descriptor. So the
// program `flock` takes it for us and ends; the lock stays until our descriptor is closed. util-linux and BusyBox both
// have the program. BSD and macOS: `open` takes the lock, with O_EXLOCK. Windows has
// none of this kind: see openGuard in lock-file.js.

const { spawn } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { promisify } = require('node:util')

// As in <fcntl.h> of macOS and the BSDs; fs.constants does not name it.
const O_EXLOCK = 0x20
const HAS_EXLOCK = ['darwin', 'freebsd', 'openbsd', 'netbsd']
// Nothing that comes and goes: this system has no such program, or does not let this process start it.
const NO_PROGRAM = ['ENOENT', 'EACCES', 'EPERM', 'ENOEXEC', 'ENOTDIR', 'ERR_ACCESS_DENIED']
const BUSY_EXIT_CODE = 1

/**
 * @typedef {'held' | 'busy' | 'refused'} LockOutcome  busy: another open file description has it. Refused: the system
 *   or the file system has no such lock
 */

/**
 * What `open` needs in its flags to take the lock at once.
 * @returns {number}
 */
function lockingFlags () {
  return HAS_EXLOCK.includes(process.platform) ? O_EXLOCK | fs.constants.O_NONBLOCK : 0
}

/**
 * @param {NodeJS.ErrnoException} err  what opening with `lockingFlags` failed with
 * @returns {{ lockOutcome?: LockOutcome }}  nothing if it is about something else
 */
function outcomeOfOpening ({ code = '' }) {
  if (lockingFlags() === 0) return {}
  if (code === 'EAGAIN' || code === 'EWOULDBLOCK') return { lockOutcome: 'busy' }
  return ['ENOTSUP', 'EOPNOTSUPP', 'EINVAL'].includes(code) ? { lockOutcome: 'refused' } : {}
}

/**
 * @param {number} fd  open for writing; on systems whose `open` takes the lock, opened with `lockingFlags`
 * @returns {Promise<LockOutcome>}
 * @throws what keeps a process from being started for the moment: EAGAIN, ENOMEM, EMFILE
 */
async function lockDescriptor (fd) {
  if (lockingFlags() !== 0) return 'held'
  return process.platform === 'linux' ? flock(fd, '-x') : 'refused'
}

/**
 * Whether files that are yet to be made in a folder can be locked.
 * @param {string} folder
 * @returns {Promise<boolean>}
 */
async function hasKernelLocks (folder) {
  if (lockingFlags() !== 0) return true
  if (process.platform !== 'linux') return false
  const fd = await promisify(fs.open)(folder, fs.constants.O_RDONLY)
  try {
    return await flock(fd, '-s') !== 'refused'
  } finally {
    await promisify(fs.close)(fd)
  }
}

/**
 * @param {number} fd
 * @param {'-x' | '-s'} mode  exclusive or shared
 * @returns {Promise<LockOutcome>}
 */
function flock (fd, mode) {
  return new Promise((resolve, reject) => {
    const fail = (/** @type {NodeJS.ErrnoException} */ err) => {
      if (NO_PROGRAM.includes(err.code ?? '')) resolve('refused')
      else reject(err)
    }
    let child
    try {
      child = spawn('flock', ['-n', mode, '3'], { stdio: ['ignore', 'ignore', 'pipe', fd] })
    } catch (err) {
      return fail(/** @type {NodeJS.ErrnoException} */ (err))
    }
    let complaint = ''
    child.stderr?.on('data', (text) => { complaint += text })
    child.on('error', fail)
    child.on('close', (code, signal) => {
      if (code === 0) resolve('held')
      else if (signal) reject(new Error(`the program flock was ended by ${signal}; open the file again`))
      // BusyBox ends with 1 for every failure, but complains only of those that are none of another holder.
      else resolve(code === BUSY_EXIT_CODE && complaint === '' ? 'busy' : 'refused')
    })
  })
}

// What the system tells about the file system that a file lies on: whether only one kernel can have it mounted, and
// which mount of it this is.

const statfs = promisify(fs.statfs)
const readlink = promisify(fs.readlink)
const readFile = promisify(fs.readFile)

// The magic numbers of statfs(2), on Linux and on macOS. Not here: whatever other machines may have mounted too, or is
// served by a program (NFS, CIFS, 9p, virtiofs and all else by FUSE, cluster file systems).
const LOCAL = new Map([
  [0xef53, 'ext4'], [0x58465342, 'xfs'], [0x9123683e, 'btrfs'], [0xf2f52010, 'f2fs'], [0x2fc12fc1, 'zfs'],
  [0xca451a4e, 'bcachefs'], [0x01021994, 'tmpfs'], [0x858458f6, 'ramfs'], [0x794c7630, 'overlay'], [0x3153464a, 'jfs'],
  [0x3434, 'nilfs2'], [0x4d44, 'vfat'], [0x2011bab0, 'exfat'], [0x7366746e, 'ntfs3'], [0x1a, 'apfs'],
  [0x11, 'hfs']
])
const IN_MEMORY = ['tmpfs', 'ramfs']
// Those of which sysfs has a folder for each mount, by the name of the device.
const IN_SYSFS = ['ext4', 'xfs', 'f2fs']

/**
 * @param {string} filePath  of something that is there
 * @returns {Promise<string | null>}  the name of the file system, if no other machine can have it mounted; else null
 */
async function nameOfLocal (filePath) {
  try {
    const { type } = await statfs(filePath)
    return LOCAL.get(type) ?? null
  } catch {
    return null
  }
}

/**
 * Two equal answers under one boot prove that the file system was mounted all the time between, and that the kernel
 * has failed to write none of its data: a disk that goes away and comes back, or a writeback error in the background,
 * gives another answer.
 * @param {string} filePath
 * @param {bigint} device  of the file, as `stat` says
 * @returns {Promise<string | null>}  null if it cannot be told
 */
async function identifyMount (filePath, device) {
  const name = await nameOfLocal(filePath)
  if (name === null) return null
  // A file in memory would not be there any more.
  if (IN_MEMORY.includes(name)) return name
  if (!IN_SYSFS.includes(name)) return null
  try {
    const disk = path.basename(await readlink(`/sys/dev/block/${majorOf(device)}:${minorOf(device)}`))
    const folder = `/sys/fs/${name}/${disk}`
    // The kernel gives every folder of sysfs a number of its own, and makes this one when the file system is mounted.
    const { ino } = fs.statSync(folder, { bigint: true })
    return [name, disk, ino, await countWarnings(folder)].join(' ')
  } catch {
    return null
  }
}

/**
 * ext4 counts a warning for each failure to write data. The others count nothing.
 * @param {string} folder
 */
async function countWarnings (folder) {
  try {
    return (await readFile(path.join(folder, 'warning_count'), 'latin1')).trim()
  } catch {
    return '-'
  }
}

/**
 * As gnu_dev_major(3) takes it from the number.
 * @param {bigint} device
 */
function majorOf (device) {
  return ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn)
}

/** @param {bigint} device */
function minorOf (device) {
  return (device & 0xffn) | ((device >> 12n) & ~0xffn)
}

exports.hasKernelLocks = hasKernelLocks
exports.lockDescriptor = lockDescriptor
exports.lockingFlags = lockingFlags
exports.outcomeOfOpening = outcomeOfOpening
exports.identifyMount = identifyMount
exports.nameOfLocal = nameOfLocal
