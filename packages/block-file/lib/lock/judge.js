'use strict'
// Decides whether the thread that took a lock still runs. If that is unknown, assume that it does.

const { listThreads, readTask } = require('./task')

/**
 * @typedef {import('./this-thread').Identity} Identity
 * @typedef {Identity & { localFileSystem?: string | null }} Place  where somebody runs, and what the log lies on as
 *   seen from there: the name of a file system that only one machine can have mounted, else null
 * @typedef {'alive' | 'dead' | 'hidden' | 'foreign'} Verdict  hidden: it runs, or ran, under this kernel, but in
 *   another pid namespace. Foreign: it may run on another machine. Of neither can processes be seen from here
 * @typedef {(err: Error | null, verdict?: Verdict) => void} Judged  an error: it cannot be told
 */

/**
 * @param {Place} holder
 * @param {Place} self  who asks
 * @param {Judged} cb
 */
function judge (holder, self, cb) {
  const place = locate(holder, self)
  if (place !== 'here') return cb(null, place === 'earlier boot' ? 'dead' : place)
  const { pid, thread } = holder
  if (thread === null || self.thread === null) return cb(null, judgeByPid(pid))
  readTask(pid, thread, (err, task) => {
    if (err) return cb(err)
    if (!task || task.hasEnded) return judgeByProcess(pid, cb)
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
 * @param {Judged} cb
 */
function judgeByProcess (pid, cb) {
  readTask(pid, pid, (err, leader) => {
    if (err) return cb(err)
    // Other users' processes may be hidden.
    if (!leader) return cb(null, judgeByPid(pid))
    // A worker that has ended has waited for its writes.
    if (!leader.hasEnded) return cb(null, 'dead')
    // A process that was killed may have a thread that is still in the middle of a write.
    listThreads(pid, (err, threads = []) => err ? cb(err) : judgeByThreads(pid, threads, cb))
  })
}

/**
 * @param {number} pid
 * @param {number[]} threads
 * @param {Judged} cb
 */
function judgeByThreads (pid, [thread, ...others], cb) {
  if (thread === undefined) return cb(null, 'dead')
  readTask(pid, thread, (err, task) => {
    if (err) cb(err)
    else if (task && !task.hasEnded) cb(null, 'alive')
    else judgeByThreads(pid, others, cb)
  })
}

/**
 * @param {number} pid
 * @returns {Verdict}
 */
function judgeByPid (pid) {
  try {
    process.kill(pid, 0)
    return 'alive'
  } catch (err) {
    // EPERM: it is there, and another user's.
    return /** @type {NodeJS.ErrnoException} */ (err).code === 'ESRCH' ? 'dead' : 'alive'
  }
}

exports.judge = judge
