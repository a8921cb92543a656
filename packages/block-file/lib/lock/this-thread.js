'use strict'
// Who this thread is, so that others can tell whether it still runs.

const crypto = require('node:crypto')
const fs = require('node:fs')
const os = require('node:os')
const { readTaskSync } = require('./task')

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

exports.thisThread = thisThread
