'use strict'
// What runs in a worker thread: it opens the log for itself, and answers one request after the other with what a task
// makes of a part of it.

const { isMainThread, workerData } = require('node:worker_threads')
const { LogError } = require('@millrace/errors')
const { OffsetLog } = require('../offset-log')
const { packError } = require('./carry-error')
const { scanPart } = require('./scan-part')
const { createTask } = require('./task')
const { taskFailed } = require('./task-failed')

/**
 * @typedef {object} Setting  what a thread is for
 * @property {string} path
 * @property {boolean} verify
 * @property {number} maxRecordSize
 *
 * @typedef {object} Request
 * @property {number} requestId
 * @property {import('./scan-part').PartRequest} part
 * @property {string} version  of the file: if it is another one than the last time, what is known of it is old
 * @property {Uint8Array | null} id  of the log
 * @property {string} task
 * @property {unknown} parameters
 * @property {import('../range').Range['where']} where
 * @property {string} codecName
 *
 * @typedef {object} Answer
 * @property {import('./scan-part').PartRead} [read]
 * @property {unknown} [result]  of the task
 * @property {import('./carry-error').Carried} [error]
 *
 * @typedef {import('../log-file').LogFile} LogFile
 */

class Reader {
  /** @param {Setting} setting */
  constructor (setting) {
    this._setting = setting
    /** @type {any} */
    this._log = null
    this._version = ''
  }

  /**
   * @param {Request} request
   * @param {(err: Error | null, file?: LogFile) => void} cb  the file shows at least what the scan is to see
   */
  open ({ version, part, id }, cb) {
    const isNew = version !== this._version
    if (!isNew) return cb(null, this._log._file)
    const check = () => {
      const err = this._check(id, part.end)
      if (err) return cb(err)
      this._version = version
      cb(null, this._log._file)
    }
    // Until it is known that all is well, it is looked at again for each part.
    this._version = ''
    this._follow(part.end, (isThere) => {
      if (isThere) check()
      else this._openAnew((err) => err ? cb(err) : check())
    })
  }

  /**
   * @param {number} end
   * @param {(isThere: boolean) => void} then
   */
  _follow (end, then) {
    const follower = this._log?._file.follower
    if (!follower) return then(false)
    follower.refresh((/** @type {Error | null} */ err) => then(!err && this._log._file.end >= end))
  }

  /** @param {(err: Error | null) => void} cb */
  _openAnew (cb) {
    const before = this._log
    const { path, verify, maxRecordSize } = this._setting
    const open = () => {
      this._log = OffsetLog(path, { flags: 'r', cache: 0, verify, maxRecordSize })
      this._log.ready(cb)
    }
    if (before) before.close(open)
    else open()
  }

  /**
   * @param {Uint8Array | null} id
   * @param {number} end
   * @returns {LogError | null}  why it is not the file that the scan is of
   */
  _check (id, end) {
    /** @type {LogFile} */
    const { store, end: found, blocks: { path } } = this._log._file
    const isSame = 'header' in store ? id !== null && store.header.id.equals(id) : id === null
    if (isSame && found >= end) return null
    return new LogError('ERR_LOG_CORRUPT', `${path} was removed, cut or replaced by another file: a thread that has opened ` +
      `it finds ${isSame ? `${found} of ${end} bytes` : 'another log'} there. Open the log again`, { path })
  }
}

/**
 * @param {Reader} reader
 * @param {Request} request
 * @param {(answer: Answer) => void} cb
 */
function answer (reader, request, cb) {
  const fail = (/** @type {unknown} */ err) => cb({ error: packError(err) })
  reader.open(request, (err, file) => {
    if (err || !file) return fail(err)
    let task
    try {
      task = createTask(request.task, request.parameters, request)
    } catch (err) {
      return fail(err)
    }
    const { end } = task
    scanPart(file, request.part, task, (err, read) => {
      if (err || !read) return fail(err)
      let result
      try {
        result = end()
      } catch (err) {
        return fail(err)
      }
      cb({ read, result })
    })
  })
}

/**
 * @param {import('node:worker_threads').MessagePort} port  `parentPort` belongs to the task too
 * @param {Setting} setting
 */
function serve (port, setting) {
  const reader = new Reader(setting)
  port.on('message', (/** @type {Request} */ request) => {
    const { requestId } = request
    // What the task has left for its next turn, and that throws, is to fail this scan rather than the next one.
    answer(reader, request, (answer) => setImmediate(() => {
      try {
        port.postMessage({ requestId, ...answer })
      } catch (err) {
        const failure = taskFailed('has a result that cannot be cloned', request.task, err)
        port.postMessage({ requestId, error: packError(failure) })
      }
    }))
  })
}

if (!isMainThread) {
  const { port, setting } = workerData
  // Nor is the task to find this one.
  delete workerData.port
  serve(port, setting)
}
