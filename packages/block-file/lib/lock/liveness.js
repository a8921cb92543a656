'use strict'
// Decides whether the thread that took a lock still runs; if that is unknown, assume that it does. What this
// thread says of itself, what the system tells of others, and the socket that shows a sign of life.

const crypto = require('node:crypto')
const fs = require('node:fs')
const net = require('node:net')
const os = require('node:os')
const path = require('node:path')
const { promisify } = require('node:util')

/**
 * @typedef {Identity & { localFileSystem?: string | null }} Place  where somebody runs, and what the log lies on as
 *   seen from there: the name of a file system that only one machine can have mounted, else null
 * @typedef {'alive' | 'dead' | 'hidden' | 'foreign'} Liveness  hidden: it runs, or ran, under this kernel, but in
 *   another pid namespace. Foreign: it may run on another machine. Of neither can processes be seen from here
 * @typedef {(err: Error | null, liveness?: Liveness) => void} LivenessCallback  an error: it cannot be told
 */

/**
 * @param {Place} holder
 * @param {Place} self  who asks
 * @param {LivenessCallback} cb
 */
function checkLiveness (holder, self, cb) {
  const place = locate(holder, self)
  if (place !== 'here') return cb(null, place === 'earlier boot' ? 'dead' : place)
  const { pid, thread } = holder
  if (thread === null || self.thread === null) return cb(null, checkByPid(pid))
  readTask(pid, thread, (err, task) => {
    if (err) return cb(err)
    if (!task || task.hasEnded) return checkByProcess(pid, cb)
    cb(null, isSame(holder, task.started, self) ? 'alive' : 'dead')
  })
}

/**
 * @param {Place} holder
 * @param {Place} self
 * @returns {'here' | 'hidden' | 'earlier boot' | 'foreign'}
 */
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
 * @param {Identity} holder
 * @param {string} started
 * @param {Identity} self
 */
function isSame (holder, started, self) {
  if (holder.started === null || holder.timeNamespace !== self.timeNamespace) return true
  return holder.started === started
}

/**
 * The thread is not there any more, or cannot be seen.
 * @param {number} pid
 * @param {LivenessCallback} cb
 */
function checkByProcess (pid, cb) {
  readTask(pid, pid, (err, leader) => {
    if (err) return cb(err)
    // Other users' processes may be hidden.
    if (!leader) return cb(null, checkByPid(pid))
    // A worker that has ended has waited for its writes.
    if (!leader.hasEnded) return cb(null, 'dead')
    // A process that was killed may have a thread that is still in the middle of a write.
    listThreads(pid, (err, threads = []) => err ? cb(err) : checkByThreads(pid, threads, cb))
  })
}

/**
 * @param {number} pid
 * @param {number[]} threads
 * @param {LivenessCallback} cb
 */
function checkByThreads (pid, [thread, ...others], cb) {
  if (thread === undefined) return cb(null, 'dead')
  readTask(pid, thread, (err, task) => {
    if (err) cb(err)
    else if (task && !task.hasEnded) cb(null, 'alive')
    else checkByThreads(pid, others, cb)
  })
}

/**
 * @param {number} pid
 * @returns {Liveness}
 */
function checkByPid (pid) {
  try {
    process.kill(pid, 0)
    return 'alive'
  } catch (err) {
    // EPERM: it is there, and another user's.
    return /** @type {NodeJS.ErrnoException} */ (err).code === 'ESRCH' ? 'dead' : 'alive'
  }
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
  if (identity === null) {
    const thread = findThread()
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
  }
  return identity
}

/**
 * Must run on the thread itself: one of the pool would find its own number.
 * @returns {number | null}
 */
function findThread () {
  const [, pid, thread] = /^(\d+)\/task\/(\d+)$/.exec(readLink('/proc/thread-self') ?? '') ?? []
  // A /proc of another pid namespace has other numbers, and is of no use here.
  return Number(pid) === process.pid ? Number(thread) : null
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

// A Unix socket beside a log shows that the holder of its lock lives, to those who cannot see its process: the kernel
// refuses connections once nobody listens any more. For where there is no lock of the kernel.

const open = promisify(fs.open)
const close = promisify(fs.close)
const unlink = promisify(fs.unlink)

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
  try {
    const server = await inFolderOf(filePath, (folder) => listen(addressOf(folder, name)))
    return {
      name,
      end: async () => {
        await new Promise((resolve) => server.close(resolve))
        await removeLifeSign(filePath, name)
      },
      endSync: () => fs.unlinkSync(path.join(path.dirname(filePath), name))
    }
  } catch {
    return null
  }
}

/**
 * The descriptor is closed again, for what is left of a server would be removed through it when the process ends by
 * itself: but a socket that is gone proves nothing, one that refuses does.
 * @template T
 * @param {string} filePath
 * @param {(folder: number) => Promise<T>} run
 * @returns {Promise<T>}
 */
async function inFolderOf (filePath, run) {
  const folder = await open(path.dirname(filePath), fs.constants.O_RDONLY)
  try {
    return await run(folder)
  } finally {
    await close(folder)
  }
}

/**
 * Node.js cuts off an address of more than 107 bytes and says nothing, so it must not begin with the folder's path.
 * @param {number} folder  descriptor
 * @param {string} name
 */
function addressOf (folder, name) {
  return `/proc/self/fd/${folder}/${name}`
}

/**
 * @param {string} address
 * @returns {Promise<net.Server>}
 */
function listen (address) {
  return new Promise((resolve, reject) => {
    const server = net.createServer((socket) => socket.destroy())
    server.once('error', reject)
    // Workers of a cluster would share one that is not exclusive, and the primary would go on listening.
    server.listen({ path: address, exclusive: true }, () => {
      server.unref()
      resolve(server)
    })
  })
}

/**
 * @param {string} filePath  of the log
 * @param {string | null | undefined} name  that its record gives
 * @returns {Promise<'alive' | 'dead' | 'unknown'>}  of a holder under the running kernel
 */
async function askForLifeSign (filePath, name) {
  if (process.platform !== 'linux' || typeof name !== 'string' || !NAME.test(name)) return 'unknown'
  return inFolderOf(filePath, (folder) => connect(addressOf(folder, name))).catch(() => 'unknown')
}

/**
 * @param {string} address
 * @returns {Promise<'alive' | 'dead' | 'unknown'>}
 */
function connect (address) {
  return new Promise((resolve) => {
    const socket = net.connect({ path: address })
    socket.once('connect', () => {
      socket.destroy()
      resolve('alive')
    })
    // EAGAIN: too many ask at once. EACCES: not our user's. ENOENT: it was removed, by whomever.
    socket.once('error', (/** @type {NodeJS.ErrnoException} */ { code }) => {
      resolve(code === 'ECONNREFUSED' ? 'dead' : 'unknown')
    })
  })
}

/**
 * Removes what a dead holder has left.
 * @param {string} filePath  of the log
 * @param {string | null | undefined} name
 */
async function removeLifeSign (filePath, name) {
  if (typeof name !== 'string' || !NAME.test(name)) return
  await unlink(path.join(path.dirname(filePath), name)).catch(() => {})
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

/**
 * @param {number} pid
 * @param {number} thread
 */
function statPath (pid, thread) {
  return `/proc/${pid}/task/${thread}/stat`
}

/**
 * @param {number} pid
 * @param {number} thread
 * @returns {Task | null}
 */
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
 * @param {(err: Error | null, task?: Task | null) => void} cb  null if there is none, or none that can be seen
 */
function readTask (pid, thread, cb) {
  fs.readFile(statPath(pid, thread), 'latin1', (err, text) => {
    if (!err) return cb(null, parseTask(text))
    if (isGone(err)) cb(null, null)
    else cb(err)
  })
}

/**
 * @param {number} pid
 * @param {(err: Error | null, threads?: number[]) => void} cb  none if there is no such process
 */
function listThreads (pid, cb) {
  fs.readdir(`/proc/${pid}/task`, (err, names) => {
    if (!err) return cb(null, names.map(Number))
    if (isGone(err)) cb(null, [])
    else cb(err)
  })
}

/**
 * A thread that ends while it is looked at gives the second of these.
 * @param {NodeJS.ErrnoException} err
 */
function isGone ({ code = '' }) {
  return ['ENOENT', 'ESRCH'].includes(code)
}

/**
 * proc(5): pid, the name in parentheses, the state, ...; the 9th are flags, the 22nd is the start. A name may have
 * spaces and parentheses.
 * @param {string} text
 * @returns {Task}
 */
function parseTask (text) {
  const [state, ...others] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const hasEnded = ['Z', 'X', 'x'].includes(state) || (Number(others[5]) & IS_EXITING) !== 0
  return { started: others[18] ?? '', hasEnded }
}

exports.checkLiveness = checkLiveness
exports.thisThread = thisThread
exports.askForLifeSign = askForLifeSign
exports.giveLifeSign = giveLifeSign
exports.removeLifeSign = removeLifeSign
exports.readTaskSync = readTaskSync
exports.parseTask = parseTask
