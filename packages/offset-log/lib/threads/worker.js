'use strict'
// What runs in a worker thread: it opens the log for itself, and answers one request after the other with what a task
// makes of a part of it.

const { isMainThread, workerData } = require('node:worker_threads')
const { LogError, misuse } = require('@millrace/errors')
const { call, toPromise } = require('@millrace/flow')
const { RecordCodec } = require('../codec')
const { OffsetLog } = require('../offset-log')
const { RangeReader } = require('../range')
const { eachRun } = require('../scan')
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
 * @param {ReturnType<typeof createTask>} task
 * @returns {Promise<PartRead>}
 */
async function scanPart (file, { from, stop, at, end, skipsDamage }, { codec, isWanted, onRecords }) {
  if (from >= stop) return { seam: NO_SEAM, lost: { count: 0, size: 0 }, hasEnded: false }
  // What was appended since is not for this scan. Behind the end of what was there may be damage to tell of.
  const last = file.end > end ? Math.min(stop, end) : stop
  const plain = { reverse: false, live: false, old: true, limit: Infinity, where: null }
  const reader = new RangeReader(file, { ...plain, from, stop: last, at, skipsDamage }, isWanted)
  await call(reader, 'open')
  const onRun = (/** @type {RecordRun} */ records) => records.count === 0 || onRecords(records) !== false
  const hasEnded = await toPromise((cb) => eachRun(reader, { end: file.end, codec, signal: null, onRun }, cb))
  return { seam: reader.describeSeam(Math.min(last, end), stop > end), lost: reader.lost, hasEnded }
}

// The user's side of a thread: his module, what it makes, and the codec that he says the log has.

/**
 * @typedef {import('../contract').Task} Task
 * @typedef {import('../record-run').RecordRun} RecordRun
 */

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
    onRecords: (/** @type {RecordRun} */ records) => run('threw', path, () => task.onRecords(records)),
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

/** The log, as this thread has it. */
class Reader {
  #setting
  /** @type {any} */
  #log = null
  #version = ''

  /** @param {Setting} setting */
  constructor (setting) {
    this.#setting = setting
  }

  /**
   * @param {Request} request
   * @returns {Promise<LogFile>}  shows at least what the scan is to see
   */
  async open ({ version, part: { end }, id }) {
    if (version === this.#version) return this.#log._file
    // Until it is known that all is well, it is looked at again for each part.
    this.#version = ''
    if (!await this.#follow(end)) await this.#openAnew()
    this.#check(id, end)
    this.#version = version
    return this.#log._file
  }

  /**
   * @param {number} end
   * @returns {Promise<boolean>}  whether the file that is open has so much
   */
  async #follow (end) {
    const follower = this.#log?._file.follower
    if (!follower) return false
    return call(follower, 'refresh').then(() => this.#log._file.end >= end, () => false)
  }

  async #openAnew () {
    const { path, verify, maxRecordSize } = this.#setting
    await this.#log?.close().catch(() => {})
    this.#log = OffsetLog(path, { flags: 'r', cache: 0, verify, maxRecordSize })
    await this.#log.ready()
  }

  /**
   * @param {Uint8Array | null} id
   * @param {number} end
   * @throws {LogError}  why it is not the file that the scan is of
   */
  #check (id, end) {
    /** @type {LogFile} */
    const { store, end: found, blocks: { path } } = this.#log._file
    const isSame = 'header' in store ? id !== null && store.header.id.equals(id) : id === null
    if (isSame && found >= end) return
    throw new LogError('ERR_LOG_CORRUPT', `${path} was removed, cut or replaced by another file: a thread that has opened ` +
      `it finds ${isSame ? `${found} of ${end} bytes` : 'another log'} there. Open the log again`, { path })
  }
}

/**
 * @param {Reader} reader
 * @param {Request} request
 * @returns {Promise<Answer>}
 */
async function answer (reader, request) {
  try {
    const file = await reader.open(request)
    const task = createTask(request.task, request.parameters, request)
    const read = await scanPart(file, request.part, task)
    return { read, result: task.end() }
  } catch (err) {
    return { error: packError(err) }
  }
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
    answer(reader, request).then((answer) => setImmediate(() => {
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
