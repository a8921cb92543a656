'use strict'
// The target of `pino.transport`: the destination in the worker thread that thread-stream makes.

const { nextTick } = require('node:process')
const { setTimeout } = require('node:timers')
const { parentPort } = require('node:worker_threads')
const { misuse, reasonOf } = require('@millrace/errors')
const { warnOnce } = require('@millrace/log-writer')
const { destination } = require('./lib/destination')

const RETRY_MS_MIN = 100
const RETRY_MS_MAX = 5000

/**
 * @typedef {import('./lib/destination').Destination<any>} Destination
 * @typedef {import('./lib/destination').DestinationOptions} Options
 * @typedef {Omit<Options, 'replace' | 'onReport' | 'standardError'>} PassedOptions
 * @typedef {object} FolderOption
 * @property {string} folder  the folder of the log, as a path
 * @typedef {PassedOptions & FolderOption} TransportOptions  `folder`, and those options of a destination that can be
 *   cloned
 */

/**
 * The target of `pino.transport`: a destination in a worker thread. Use it as a single target without a `level`.
 * Failures do not become `error` events, which would destroy the logger: the first one with each code is a warning of
 * the process, and the lines are kept and tried again. `flush` calls back once they are in the log.
 * @param {TransportOptions} options
 * @returns {Promise<Destination>}
 */
async function transport (options) {
  // pino and thread-stream add options of their own.
  const { folder, $context, pinoWillSendConfig, ...own } = /** @type {any} */ (options ?? {})
  if (typeof folder !== 'string') throw misuse(`transport: expected the option folder, a path, got ${reasonOf(folder)}`)
  const to = destination(folder, { ...own, onReport: warnOnce() })
  retryFlush(to)
  // In the next tick: thread-stream listens first, and misses no message.
  nextTick(() => parentPort?.on('message', (message) => {
    if (message?.code === 'PINO_CONFIG') to.emit('message', message)
  }))
  await to.ready()
  return to
}

/** Tries until the lines are in the log; they are kept meanwhile. @param {Destination} to */
function retryFlush (to) {
  const flush = to.flush.bind(to)
  // thread-stream waits for the callback only because the function declares it.
  to.flush = (/** @type {((err?: Error) => void) | null | undefined} */ cb) => {
    let retryMs = RETRY_MS_MIN
    const attempt = () => flush((err) => {
      if (!err || to.destroyed) return cb?.()
      setTimeout(attempt, retryMs)
      retryMs = Math.min(2 * retryMs, RETRY_MS_MAX)
    })
    attempt()
  }
}

module.exports = transport
