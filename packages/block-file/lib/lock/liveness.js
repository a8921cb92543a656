'use strict'
// What /proc and a holder's socket tell about the thread that took a lock; `checkHolder` in lock-file.js decides
// whether it is alive. Also identifies this thread and the file's mount, and gives the sign of life that other
// namespaces see.

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { files } = require('../whole-io')

/**
 * @typedef {Identity & { localFileSystem?: string | null }} Place  a thread, and the name of the file system under the
 *   log as seen from there; null if other machines may have mounted it
 * @typedef {'alive' | 'dead' | 'hidden' | 'foreign'} Liveness  hidden: the thread belongs to this kernel, but to
 *   another pid namespace. Foreign: it may run on another machine. In both cases this process cannot see it
 */

/** Fails if the system does not tell. @type {(holder: Place, self: Place) => Promise<Liveness>} */
async function checkLiveness (holder, self) {
  const place = locate(holder, self)
  if (place !== 'here') return place === 'earlier boot' ? 'dead' : place
  const { pid, thread } = holder
  if (thread === null || self.thread === null) return checkByPid(pid)
  const task = await readTask(pid, thread)
  if (task && !task.hasEnded) return isSame(holder, task.started, self) ? 'alive' : 'dead'
  // The thread has ended, or /proc hides it.
  const leader = await readTask(pid, pid)
  // /proc may hide other users' processes.
  if (!leader) return checkByPid(pid)
  // A worker thread ends only after its writes.
  if (!leader.hasEnded) return 'dead'
  // A thread of a killed process may still be in the middle of a write.
  for (const other of await listThreads(pid)) {
    const task = await readTask(pid, other)
    if (task && !task.hasEnded) return 'alive'
  }
  return 'dead'
}

/** @type {(holder: Place, self: Place) => 'here' | 'hidden' | 'earlier boot' | 'foreign'} */
function locate (holder, self) {
  if (holder.boot === null || self.boot === null) {
    // Other systems have neither boot ids nor namespaces. A Linux that hides them could be any machine.
    const isSameMachine = holder.host !== '' && holder.host === self.host && holder.machine === self.machine
    const isLinux = process.platform === 'linux' || holder.boot !== self.boot || holder.pidNamespace !== null
    return isSameMachine && !isLinux ? 'here' : 'foreign'
  }
  // The boot id identifies the kernel, whatever the host's name is.
  if (holder.boot === self.boot) {
    return holder.pidNamespace !== null && holder.pidNamespace === self.pidNamespace ? 'here' : 'hidden'
  }
  // Only one kernel at a time can mount such a file system, and now it is this one. So the holder's kernel is gone.
  return holder.localFileSystem && self.localFileSystem ? 'earlier boot' : 'foreign'
}

// If the number now belongs to another thread, that thread started later.
/** @type {(holder: Identity, started: string, self: Identity) => boolean} */
function isSame (holder, started, self) {
  if (holder.started === null || holder.timeNamespace !== self.timeNamespace) return true
  return holder.started === started
}

/** @type {(pid: number) => Liveness} */
function checkByPid (pid) {
  try {
    process.kill(pid, 0)
    return 'alive'
  } catch (/** @type {any} */ { code }) {
    // EPERM: the process exists and belongs to another user.
    return code === 'ESRCH' ? 'dead' : 'alive'
  }
}

// What Linux says about a thread, in /proc.

// PF_EXITING of the kernel's flags: the thread makes no more calls, though it may take a while to vanish. Whoever waits
// for a thread to end is told earlier than that.
const IS_EXITING = 4

/**
 * @typedef {object} Task
 * @property {string} started  in ticks since the boot, as seen from the reader's time namespace
 * @property {boolean} hasEnded  whether the thread does nothing more. It may still have its number, because it is just
 *   ending or because its parent has not yet asked how it ended
 */

/** @type {(pid: number, thread: number) => string} */
function statPath (pid, thread) {
  return `/proc/${pid}/task/${thread}/stat`
}

/** @type {(pid: number, thread: number) => Task | null} */
function readTaskSync (pid, thread) {
  try {
    return parseTask(fs.readFileSync(statPath(pid, thread), 'latin1'))
  } catch {
    return null
  }
}

/** Null if there is no such thread, or /proc hides it. @type {(pid: number, thread: number) => Promise<Task | null>} */
async function readTask (pid, thread) {
  const text = await files.readFile(statPath(pid, thread), 'latin1').catch(nullIfGone)
  return text === null ? null : parseTask(text)
}

/** Empty if there is no such process. @type {(pid: number) => Promise<number[]>} */
async function listThreads (pid) {
  const names = await files.readdir(`/proc/${pid}/task`).catch(nullIfGone)
  return (names ?? []).map(Number)
}

/** A thread that ends during the read gives ESRCH. @param {NodeJS.ErrnoException} err */
function nullIfGone (err) {
  if (err.code !== 'ENOENT' && err.code !== 'ESRCH') throw err
  return null
}

// Parses the format of proc(5): pid, name in parentheses, state, ... Field 9 has the flags, field 22 the start time.
// The name may contain spaces and parentheses.
/** @type {(text: string) => Task} */
function parseTask (text) {
  const [state, ...others] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const hasEnded = ['Z', 'X', 'x'].includes(state) || (Number(others[5]) & IS_EXITING) !== 0
  return { started: others[18] ?? '', hasEnded }
}

// Identifies this thread, so that others can tell whether it is alive.

/**
 * Unknown fields are null. Outside Linux only `host` and `pid` are known.
 * @typedef {object} Identity
 * @property {string} host
 * @property {string | null} machine  a hash of the machine's id; the id itself is private
 * @property {string | null} boot  the id of the running kernel, different after each restart of the machine
 * @property {string | null} pidNamespace  the numbers belong to it
 * @property {string | null} timeNamespace  start times are comparable within it
 * @property {number} pid
 * @property {number | null} thread  the kernel's number of this thread; the main thread's is `pid`
 * @property {string | null} started  the start time of this thread, in ticks since the boot
 */

/** @type {Identity | null} cached for good: each worker thread loads its own copy of this module */
let identity = null

/** @returns {Identity} */
function thisThread () {
  if (identity !== null) return identity
  // A synchronous read: a thread of the pool would find its own number.
  const [, pid, number] = /^(\d+)\/task\/(\d+)$/.exec(readLink('/proc/thread-self') ?? '') ?? []
  // A /proc that belongs to another pid namespace has other numbers.
  const thread = Number(pid) === process.pid ? Number(number) : null
  identity = {
    host: nameOfHost(),
    machine: findMachine(),
    boot: readLine('/proc/sys/kernel/random/boot_id'),
    pidNamespace: readLink('/proc/self/ns/pid'),
    timeNamespace: readLink('/proc/self/ns/time'),
    pid: process.pid,
    thread,
    started: thread === null ? null : readTaskSync(process.pid, thread)?.started ?? null
  }
  return identity
}

/** Empty if this process may not know. */
function nameOfHost () {
  try {
    return os.hostname()
  } catch {
    return ''
  }
}

/** @returns {string | null} */
function findMachine () {
  const id = readLine('/etc/machine-id') ?? readLine('/var/lib/dbus/machine-id') ?? ''
  if (!/^[0-9a-f]{32}$/.test(id)) return null
  return require('node:crypto').createHash('sha256').update(`millrace lock ${id}`).digest('hex').slice(0, 32)
}

/** @param {string} path */
function readLine (path) {
  try {
    return fs.readFileSync(path, 'latin1').trim() || null
  } catch {
    return null
  }
}

/** @param {string} path */
function readLink (path) {
  try {
    return fs.readlinkSync(path)
  } catch {
    return null
  }
}

// The file system that a file lies on: whether only one kernel can mount it, and which mount of it this is.

// The magic numbers of statfs(2) on Linux and macOS. File systems that other machines may have mounted too, or that a
// program serves, must not be here: NFS, CIFS, 9p, virtiofs, other FUSE, cluster file systems.
const LOCAL = new Map([
  [0xef53, 'ext4'], [0x58465342, 'xfs'], [0x9123683e, 'btrfs'], [0xf2f52010, 'f2fs'], [0x2fc12fc1, 'zfs'],
  [0xca451a4e, 'bcachefs'], [0x01021994, 'tmpfs'], [0x858458f6, 'ramfs'], [0x794c7630, 'overlay'], [0x3153464a, 'jfs'],
  [0x3434, 'nilfs2'], [0x4d44, 'vfat'], [0x2011bab0, 'exfat'], [0x7366746e, 'ntfs3'], [0x1a, 'apfs'],
  [0x11, 'hfs']
])
const IN_MEMORY = ['tmpfs', 'ramfs']
// Their mounts each have a folder in sysfs, named after the device.
const IN_SYSFS = ['ext4', 'xfs', 'f2fs']

const UNCOUNTED = '-'

// The name of the file system under an existing file; null if others may mount it.
/** @type {(filePath: string) => Promise<string | null>} */
async function nameOfLocal (filePath) {
  try {
    const { type } = await fs.promises.statfs(filePath)
    return LOCAL.get(type) ?? null
  } catch {
    return null
  }
}

// Identifies the mount that a file lies on; null if that is unknown. Two equal answers under one boot prove that the
// file system stayed mounted in between: if a disk went away and came back, the second answer differs. If
// `countsFailures`, they also prove that the kernel failed to write none of its data.
/** @type {(filePath: string, device: bigint) => Promise<string | null>} `device` is the file's, from `stat` */
async function identifyMount (filePath, device) {
  const name = await nameOfLocal(filePath)
  if (name === null) return null
  // A file in memory does not outlive its mount.
  if (IN_MEMORY.includes(name)) return name
  if (!IN_SYSFS.includes(name)) return null
  // Like gnu_dev_major(3) and gnu_dev_minor(3).
  const major = ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn)
  const minor = (device & 0xffn) | ((device >> 12n) & ~0xffn)
  try {
    const disk = path.basename(await fs.promises.readlink(`/sys/dev/block/${major}:${minor}`))
    const folder = `/sys/fs/${name}/${disk}`
    // The kernel makes this folder at every mount, and no two folders of sysfs have the same inode.
    const { ino } = fs.statSync(folder, { bigint: true })
    // ext4 counts a warning for each block of data that it failed to write. The others count nothing.
    const warnings = await fs.promises.readFile(path.join(folder, 'warning_count'), 'latin1').catch(() => UNCOUNTED)
    return [name, disk, ino, warnings.trim()].join(' ')
  } catch {
    return null
  }
}

/** Whether the mount's identity changes when a write of data fails. @param {string} mount  from `identifyMount` */
function countsFailures (mount) {
  return !mount.endsWith(` ${UNCOUNTED}`)
}

// A Unix socket beside a log shows that the holder of its lock is alive to processes that cannot see the holder: the
// kernel refuses connections once nobody listens. Only used if the kernel has no lock for files.

// A log's name may be too long for the address of a socket, so it is no part of the socket's name.
const NAME = /^\.millrace-[0-9a-f]{16}\.sock$/

/**
 * @typedef {object} LifeSign
 * @property {string} name  of the socket, in the log's folder
 * @property {() => Promise<void>} end
 * @property {() => void} endSync  for an `exit` handler
 */

// Starts to listen. Null if the system has no such sockets. `nonce` is 16 hex digits.
/** @type {(filePath: string, nonce: string) => Promise<LifeSign | null>} */
async function giveLifeSign (filePath, nonce) {
  if (process.platform !== 'linux') return null
  const name = `.millrace-${nonce}.sock`
  // Loaded late, here and below: most locks need no socket.
  const server = require('node:net').createServer((socket) => socket.destroy())
  try {
    await withAddress(filePath, name, (address) => new Promise((resolve, reject) => {
      server.once('error', reject)
      // If it were not exclusive, the workers of a cluster would share it, and the primary would keep listening.
      server.listen({ path: address, exclusive: true }, () => resolve(server.unref()))
    }))
  } catch {
    return null
  }
  return {
    name,
    end: async () => {
      await new Promise((resolve) => server.close(resolve))
      await removeLifeSign(filePath, name)
    },
    endSync: () => fs.unlinkSync(path.join(path.dirname(filePath), name))
  }
}

// Asks the holder of the record that names this socket. The holder must belong to the running kernel.
/** @type {(filePath: string, name: string | null | undefined) => Promise<'alive' | 'dead' | 'unknown'>} */
async function askForLifeSign (filePath, name) {
  if (process.platform !== 'linux' || typeof name !== 'string' || !NAME.test(name)) return 'unknown'
  return withAddress(filePath, name, (address) => new Promise((resolve) => {
    const socket = require('node:net').connect({ path: address })
    socket.once('connect', () => {
      socket.destroy()
      resolve('alive')
    })
    // EAGAIN: too many connections at once. EACCES: another user's socket. ENOENT: the socket was removed.
    socket.once('error', (/** @type {NodeJS.ErrnoException} */ { code }) => {
      resolve(code === 'ECONNREFUSED' ? 'dead' : 'unknown')
    })
  })).catch(() => 'unknown')
}

// Node.js silently cuts off an address of more than 107 bytes, so the address begins with a descriptor instead of the
// folder's path. The descriptor is closed again. Otherwise Node.js would remove the socket through it when the process
// exits; but a missing socket proves nothing, and one that refuses connections proves that the holder is dead.
/** @type {(filePath: string, name: string, run: (address: string) => Promise<any>) => Promise<any>} */
async function withAddress (filePath, name, run) {
  const folder = await fs.promises.open(path.dirname(filePath), fs.constants.O_RDONLY)
  try {
    return await run(`/proc/self/fd/${folder.fd}/${name}`)
  } finally {
    await folder.close()
  }
}

/** Removes the socket of a dead holder. @type {(filePath: string, name: string | null | undefined) => Promise<void>} */
async function removeLifeSign (filePath, name) {
  if (typeof name !== 'string' || !NAME.test(name)) return
  await fs.promises.unlink(path.join(path.dirname(filePath), name)).catch(() => {})
}

exports.checkLiveness = checkLiveness
exports.thisThread = thisThread
exports.countsFailures = countsFailures
exports.identifyMount = identifyMount
exports.nameOfLocal = nameOfLocal
exports.askForLifeSign = askForLifeSign
exports.giveLifeSign = giveLifeSign
exports.removeLifeSign = removeLifeSign
exports.readTaskSync = readTaskSync
exports.parseTask = parseTask
