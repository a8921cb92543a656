'use strict'
// Decides whether the thread that took a lock still runs; if that is unknown, assume that it does. What this thread
// says of itself and of where it runs, what the system tells of others, and the socket that shows a sign of life.

const crypto = require('node:crypto')
const fs = require('node:fs')
const net = require('node:net')
const os = require('node:os')
const path = require('node:path')
const { call } = require('@millrace/flow')

/**
 * @typedef {Identity & { localFileSystem?: string | null }} Place  where somebody runs, and what the log lies on as
 *   seen from there: the name of a file system that only one machine can have mounted, else null
 * @typedef {'alive' | 'dead' | 'hidden' | 'foreign'} Liveness  hidden: it runs, or ran, under this kernel, but in
 *   another pid namespace. Foreign: it may run on another machine. Of neither can processes be seen from here
 */

/**
 * @param {Place} holder
 * @param {Place} self  who asks
 * @returns {Promise<Liveness>}
 * @throws if it cannot be told
 */
async function checkLiveness (holder, self) {
  const place = locate(holder, self)
  if (place !== 'here') return place === 'earlier boot' ? 'dead' : place
  const { pid, thread } = holder
  if (thread === null || self.thread === null) return checkByPid(pid)
  const task = await readTask(pid, thread)
  if (task && !task.hasEnded) return isSame(holder, task.started, self) ? 'alive' : 'dead'
  // The thread is not there any more, or cannot be seen.
  const leader = await readTask(pid, pid)
  // Other users' processes may be hidden.
  if (!leader) return checkByPid(pid)
  // A worker that has ended has waited for its writes.
  if (!leader.hasEnded) return 'dead'
  // A process that was killed may have a thread that is still in the middle of a write.
  for (const other of await listThreads(pid)) {
    const task = await readTask(pid, other)
    if (task && !task.hasEnded) return 'alive'
  }
  return 'dead'
}

/** @type {(holder: Place, self: Place) => 'here' | 'hidden' | 'earlier boot' | 'foreign'} */
function locate (holder, self) {
  if (holder.boot === null || self.boot === null) {
    // Other systems have neither boot ids nor namespaces. A Linux that hides them could be any.
    const isSameMachine = holder.host === self.host && holder.machine === self.machine
    const isLinux = process.platform === 'linux' || holder.boot !== self.boot || holder.pidNamespace !== null
    return isSameMachine && !isLinux ? 'here' : 'foreign'
  }
  // A kernel is the same under whatever name.
  if (holder.boot === self.boot) {
    return holder.pidNamespace !== null && holder.pidNamespace === self.pidNamespace ? 'here' : 'hidden'
  }
  // Only one kernel at a time has such a file system mounted, and now it is ours.
  return holder.localFileSystem && self.localFileSystem ? 'earlier boot' : 'foreign'
}

/**
 * A number may have gone to another thread meanwhile: that one was started later.
 * @type {(holder: Identity, started: string, self: Identity) => boolean}
 */
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
    // EPERM: it is there, and another user's.
    return code === 'ESRCH' ? 'dead' : 'alive'
  }
}

// What Linux tells of one thread in /proc.

// PF_EXITING of the kernel's flags: it makes no more calls, though it may yet have to run for a while to be gone. Who
// waits for a thread is told before that.
const IS_EXITING = 4

/**
 * @typedef {object} Task
 * @property {string} started  in ticks since the boot, as seen from the reader's time namespace
 * @property {boolean} hasEnded  it does nothing more, though it may still have its number: its parent has not yet asked
 *   how it ended, or it is on its way out
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

/**
 * @param {number} pid
 * @param {number} thread
 * @returns {Promise<Task | null>}  null if there is none, or none that can be seen
 */
async function readTask (pid, thread) {
  const text = await call(fs, 'readFile', statPath(pid, thread), 'latin1').catch(nullIfGone)
  return text === null ? null : parseTask(text)
}

/** @type {(pid: number) => Promise<number[]>} none if there is no such process */
async function listThreads (pid) {
  const names = await call(fs, 'readdir', `/proc/${pid}/task`).catch(nullIfGone)
  return (names ?? []).map(Number)
}

/** A thread that ends while it is looked at gives ESRCH. @param {NodeJS.ErrnoException} err */
function nullIfGone (err) {
  if (err.code !== 'ENOENT' && err.code !== 'ESRCH') throw err
  return null
}

/**
 * proc(5): pid, the name in parentheses, the state, ...; the 9th are flags, the 22nd is the start. A name may have
 * spaces and parentheses.
 * @type {(text: string) => Task}
 */
function parseTask (text) {
  const [state, ...others] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const hasEnded = ['Z', 'X', 'x'].includes(state) || (Number(others[5]) & IS_EXITING) !== 0
  return { started: others[18] ?? '', hasEnded }
}

// Who this thread is, so that others can tell whether it still runs.

/**
 * What is null is not known: outside Linux all but the host and the process.
 * @typedef {object} Identity
 * @property {string} host
 * @property {string | null} machine  a hash of the machine's id, which itself is nobody's business
 * @property {string | null} boot  the id of the running kernel, another one after every start of the machine
 * @property {string | null} pidNamespace  in which processes have these numbers
 * @property {string | null} timeNamespace  in which start times are comparable
 * @property {number} pid
 * @property {number | null} thread  the kernel's number of this thread; that of the main thread is `pid`
 * @property {string | null} started  when this thread was started, in ticks since the boot
 */

/** @type {Identity | null} a worker loads its own copy of this module, so this is the same for ever */
let identity = null

/** @returns {Identity} */
function thisThread () {
  if (identity !== null) return identity
  // Read on the thread itself: one of the pool would find its own number.
  const [, pid, number] = /^(\d+)\/task\/(\d+)$/.exec(readLink('/proc/thread-self') ?? '') ?? []
  // A /proc of another pid namespace has other numbers, and is of no use here.
  const thread = Number(pid) === process.pid ? Number(number) : null
  identity = {
    host: os.hostname(),
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

/** @returns {string | null} */
function findMachine () {
  const id = readLine('/etc/machine-id') ?? readLine('/var/lib/dbus/machine-id') ?? ''
  if (!/^[0-9a-f]{32}$/.test(id)) return null
  return crypto.createHash('sha256').update(`millrace lock ${id}`).digest('hex').slice(0, 32)
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

// What the system tells about the file system that a file lies on: whether only one kernel can have it mounted, and
// which mount of it this is.

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
    const { type } = await fs.promises.statfs(filePath)
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
  // As gnu_dev_major(3) and gnu_dev_minor(3) take them from the number.
  const major = ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn)
  const minor = (device & 0xffn) | ((device >> 12n) & ~0xffn)
  try {
    const disk = path.basename(await fs.promises.readlink(`/sys/dev/block/${major}:${minor}`))
    const folder = `/sys/fs/${name}/${disk}`
    // The kernel gives every folder of sysfs a number of its own, and makes this one when the file system is mounted.
    const { ino } = fs.statSync(folder, { bigint: true })
    // ext4 counts a warning for each failure to write data. The others count nothing.
    const warnings = await fs.promises.readFile(path.join(folder, 'warning_count'), 'latin1').catch(() => '-')
    return [name, disk, ino, warnings.trim()].join(' ')
  } catch {
    return null
  }
}

// A Unix socket beside a log shows that the holder of its lock lives, to those who cannot see its process: the kernel
// refuses connections once nobody listens any more. For where there is no lock of the kernel.

// The name of a log may be too long for the address of a socket, so it is no part of it.
const NAME = /^\.millrace-[0-9a-f]{16}\.sock$/

/**
 * @typedef {object} LifeSign
 * @property {string} name  of the socket, in the log's folder
 * @property {() => Promise<void>} end
 * @property {() => void} endSync  as the process ends
 */

/**
 * @param {string} filePath  of the log
 * @param {string} nonce  16 hex digits
 * @returns {Promise<LifeSign | null>}  null where there can be none
 */
async function giveLifeSign (filePath, nonce) {
  if (process.platform !== 'linux') return null
  const name = `.millrace-${nonce}.sock`
  const server = net.createServer((socket) => socket.destroy())
  try {
    await withAddress(filePath, name, (address) => new Promise((resolve, reject) => {
      server.once('error', reject)
      // Workers of a cluster would share one that is not exclusive, and the primary would go on listening.
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

/**
 * @param {string} filePath  of the log
 * @param {string | null | undefined} name  that its record gives
 * @returns {Promise<'alive' | 'dead' | 'unknown'>}  of a holder under the running kernel
 */
async function askForLifeSign (filePath, name) {
  if (process.platform !== 'linux' || typeof name !== 'string' || !NAME.test(name)) return 'unknown'
  return withAddress(filePath, name, (address) => new Promise((resolve) => {
    const socket = net.connect({ path: address })
    socket.once('connect', () => {
      socket.destroy()
      resolve('alive')
    })
    // EAGAIN: too many ask at once. EACCES: not our user's. ENOENT: it was removed, by whomever.
    socket.once('error', (/** @type {NodeJS.ErrnoException} */ { code }) => {
      resolve(code === 'ECONNREFUSED' ? 'dead' : 'unknown')
    })
  })).catch(() => 'unknown')
}

/**
 * Node.js cuts off an address of more than 107 bytes and says nothing, so it must not begin with the folder's path but
 * with a descriptor. That is closed again, for what is left of a server would be removed through it when the process
 * ends by itself: but a socket that is gone proves nothing, one that refuses does.
 * @param {string} filePath  of the log
 * @param {string} name  of the socket
 * @param {(address: string) => Promise<any>} run
 */
async function withAddress (filePath, name, run) {
  const folder = await fs.promises.open(path.dirname(filePath), fs.constants.O_RDONLY)
  try {
    return await run(`/proc/self/fd/${folder.fd}/${name}`)
  } finally {
    await folder.close()
  }
}

/**
 * Removes what a dead holder has left.
 * @param {string} filePath  of the log
 * @param {string | null | undefined} name
 */
async function removeLifeSign (filePath, name) {
  if (typeof name !== 'string' || !NAME.test(name)) return
  await fs.promises.unlink(path.join(path.dirname(filePath), name)).catch(() => {})
}

exports.checkLiveness = checkLiveness
exports.thisThread = thisThread
exports.identifyMount = identifyMount
exports.nameOfLocal = nameOfLocal
exports.askForLifeSign = askForLifeSign
exports.giveLifeSign = giveLifeSign
exports.removeLifeSign = removeLifeSign
exports.readTaskSync = readTaskSync
exports.parseTask = parseTask
