'use strict'
// What runs in a worker thread: it opens the log for itself, and answers one request after the other with what a task
// makes of a part of it.

const { isMainThread, workerData } = require('node:worker_threads')
const { LogError, misuse } = require('@millrace/errors')
const { trampoline } = require('@millrace/flow')
const { RecordCodec } = require('../codec')
const { OffsetLog } = require('../offset-log')
const { RangeReader } = require('../range')
const { packError, taskFailed } = require('./carry-error')

/**
 * @typedef {object} PartRequest
 * @property {number} from
 * @property {number} stop
 * @property {number} [at]
 * @property {number} end  how far the log reached when the scan began
 * @property {boolean} skipsDamage
 *
 * @typedef {object} PartRead
 * @property {import('../range').Seam} seam
 * @property {{ count: number, size: number }} lost
 * @property {boolean} hasEnded  whether nothing behind the part is wanted
 */

// One part of a scan.

const NO_SEAM = { begunAt: -1, hasMet: false, erasedCount: null }

/**
 * @param {import('../load').LogFile} file
 * @param {PartRequest} part
 * @param {object} work
 * @param {import('../codec').RecordCodec} work.codec
 * @param {import('../codec').RecordFilter | null} work.isWanted
 * @param {(records: import('../record-run').RecordRun) => unknown} work.onRecords  throws only what is to end the part
 * @param {(err: Error | null, read?: PartRead) => void} cb
 */
function scanPart (file, { from, stop, at, end, skipsDamage }, { codec, isWanted, onRecords }, cb) {
  if (from >= stop) return cb(null, { seam: NO_SEAM, lost: { count: 0, size: 0 }, hasEnded: false })
  // What was appended since is not for this scan. Behind the end of what was there may be damage to tell of.
  const last = file.end > end ? Math.min(stop, end) : stop
  const plain = { reverse: false, live: false, old: true, limit: Infinity, where: null }
  const range = { ...plain, from, stop: last, at, skipsDamage }
  new RangeReader(file, range, isWanted).open((err, reader) => {
    if (err || !reader) return cb(err)
    const logEnd = file.end
    const finish = (/** @type {boolean} */ hasEnded) => {
      cb(null, { seam: reader.describeSeam(Math.min(last, end), stop > end), lost: reader.lost, hasEnded })
    }
    trampoline((next) => {
      reader.next(logEnd, (err, records) => {
        if (err || !records) return cb(err)
        if (records.count === 0) return finish(false)
        const filterErr = reader.applyFilter(records, codec)
        if (filterErr) return cb(filterErr)
        let goOn
        try {
          goOn = records.count === 0 || onRecords(records) !== false
        } catch (err) {
          return cb(/** @type {Error} */ (err))
        }
        if (goOn) next()
        else finish(true)
      })
    })
  })
}

// The user's side of a thread: his module, what it makes, and the codec that he says the log has.

/** @typedef {import('../contract').Task} Task */

/**
 * @param {string} path
 * @returns {(parameters: unknown) => Task}
 * @throws ERR_SCAN_TASK, ERR_INVALID_ARGUMENT
 */
function loadTask (path) {
  let exported
  try {
    exported = require(path)
  } catch (err) {
    throw taskFailed('cannot be loaded', path, err)
  }
  const create = typeof exported === 'function' ? exported : exported?.default
  if (typeof create === 'function') return create
  throw misuse(`scan: the module ${path} must export a function that makes a task, not ${typeof exported}`)
}

/**
 * @param {string} path  of the module
 * @param {unknown} parameters
 * @param {{ where: import('../range').Range['where'], codecName: string }} filter
 */
function createTask (path, parameters, { where, codecName }) {
  const create = loadTask(path)
  // What it is made of may be getters.
  const { task, hasOnRecords, codec: given } = run('threw when it was made', path, () => {
    /** @type {Task} */
    const task = create(parameters)
    return { task, hasOnRecords: typeof task?.onRecords === 'function', codec: task?.codec }
  })
  if (!hasOnRecords) throw misuse(`scan: the task that ${path} makes must have a function onRecords`)
  const codec = new RecordCodec(given)
  if (where !== null && codec.name !== codecName) {
    throw misuse(`scan: a filter needs the log's codec, ${codecName}, in every thread: the task that ${path} makes must ` +
      `have it as its codec, but has ${given ? codec.name : 'none'}`)
  }
  return {
    codec,
    isWanted: codec.compile(where),
    onRecords: (/** @type {import('../record-run').RecordRun} */ records) => run('threw', path, () => task.onRecords(records)),
    end: () => run('threw at its end', path, () => task.end?.())
  }
}

/**
 * @template T
 * @param {string} what  it does if it throws
 * @param {string} path
 * @param {() => T} call
 * @returns {T}
 */
function run (what, path, call) {
  try {
    return call()
  } catch (err) {
    throw taskFailed(what, path, err)
  }
}

/**
 * @typedef {object} Setting  what a thread is for
 * @property {string} path
 * @property {boolean} verify
 * @property {number} maxRecordSize
 *
 * @typedef {object} Request
 * @property {number} requestId
 * @property {PartRequest} part
 * @property {string} version  of the file: if it is another one than the last time, what is known of it is old
 * @property {Uint8Array | null} id  of the log
 * @property {string} task
 * @property {unknown} parameters
 * @property {import('../range').Range['where']} where
 * @property {string} codecName
 *
 * @typedef {object} Answer
 * @property {PartRead} [read]
 * @property {unknown} [result]  of the task
 * @property {import('./carry-error').Carried} [error]
 *
 * @typedef {import('../load').LogFile} LogFile
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
