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

exports.hasKernelLocks = hasKernelLocks
exports.lockDescriptor = lockDescriptor
exports.lockingFlags = lockingFlags
exports.outcomeOfOpening = outcomeOfOpening
