'use strict'
// The user's side of a thread: his module, what it makes, and the codec that he says the log has.

const { misuse } = require('@millrace/errors')
const { RecordCodec } = require('../codec')
const { taskFailed } = require('./task-failed')

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
  const { task, hasOnChunk, codec: given } = run('threw when it was made', path, () => {
    /** @type {Task} */
    const task = create(parameters)
    return { task, hasOnChunk: typeof task?.onChunk === 'function', codec: task?.codec }
  })
  if (!hasOnChunk) throw misuse(`scan: what ${path} makes must have a function onChunk`)
  const codec = new RecordCodec(given)
  if (where !== null && codec.name !== codecName) {
    throw misuse(`scan: the log has the codec ${codecName}, which a filter needs in every thread: what ${path} makes must ` +
      `have it as its codec, and has ${given ? codec.name : 'none'}`)
  }
  return {
    codec,
    isWanted: codec.compile(where),
    onChunk: (/** @type {import('../chunk').Chunk} */ chunk) => run('threw', path, () => task.onChunk(chunk)),
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

exports.createTask = createTask
