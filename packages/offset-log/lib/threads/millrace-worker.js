'use strict'
// Runs in a worker thread. Opens the log as a reader, and answers requests, each with what a task makes of a partition.

const { setImmediate } = require('node:timers')
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
 * @property {number} end  where the log ended when the scan began
 * @property {boolean} skipsDamage
 *
 * @typedef {object} PartRead
 * @property {import('../range').Seam} seam
 * @property {{ count: number, size: number }} lost
 * @property {boolean} hasEnded  whether the task wants nothing behind the partition
 */

// Reads one partition.

const NO_SEAM = { begunAt: -1, hasMet: false, erasedCount: null }

/** @type {(file: LogFile, part: PartRequest, task: ReturnType<typeof createTask>) => Promise<PartRead>} */
async function scanPart (file, { from, stop, at, end, skipsDamage }, { codec, isWanted, onRecords }) {
  if (from >= stop) return { seam: NO_SEAM, lost: { count: 0, size: 0 }, hasEnded: false }
  // Records that were appended since the scan began are left out. If there are none, damage behind the end is reported.
  const last = file.end > end ? Math.min(stop, end) : stop
  const plain = { reverse: false, live: false, old: true, limit: Infinity, where: null, signal: null }
  const skipping = { skipsDamage, skipsRetained: false }
  const reader = new RangeReader(file, { ...plain, ...skipping, from, stop: last, at }, isWanted)
  await call(reader, 'open')
  const onRun = (/** @type {RecordRun} */ records) => records.count === 0 || onRecords(records) !== false
  const hasEnded = await toPromise((cb) => eachRun(reader, { end: file.end, codec, signal: null, onRun }, cb))
  return { seam: reader.describeSeam(Math.min(last, end), stop > end), lost: reader.lost, hasEnded }
}

// Loads the user's module, and makes a task and its codec.

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
  // The properties of a task may be getters, which may throw.
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
 * @param {string} what  the task did, if it throws
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
 * @typedef {object} Setting
 * @property {string} path
 * @property {boolean} verify
 * @property {number} maxRecordSize
 *
 * @typedef {object} Request
 * @property {number} requestId
 * @property {PartRequest} part
 * @property {string} version  of the file; if it has changed, the thread must look at the file again
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

/** The log, as this thread has opened it. */
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
   * @returns {Promise<LogFile>}  it shows at least the records that the scan covers
   */
  async open ({ version, part: { end }, id }) {
    if (version === this.#version) return this.#log._file
    // If the checks below fail, the next request must look again.
    this.#version = ''
    if (!await this.#follow(end)) await this.#openAnew()
    this.#check(id, end)
    this.#version = version
    return this.#log._file
  }

  /** Whether the open file reaches up to `end`. @type {(end: number) => Promise<boolean>} */
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
   * @throws {LogError}  if this is not the file of the scan
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

/** @type {(reader: Reader, request: Request) => Promise<Answer>} */
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
 * @param {import('node:worker_threads').MessagePort} port  not `parentPort`, which the task may use
 * @param {Setting} setting
 */
function serve (port, setting) {
  const reader = new Reader(setting)
  // Answers no request: it tells a thread that cannot start from one that a task has ended.
  port.postMessage({ requestId: 0 })
  port.on('message', (/** @type {Request} */ request) => {
    const { requestId } = request
    // The task may have left work for its next turn. If that throws, this scan must fail, not the next one.
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
  // The task must not find this port.
  delete workerData.port
  serve(port, setting)
}
