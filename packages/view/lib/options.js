'use strict'
// The options of a view.

const { fileStorage, parseFileMode, patientStorage, resolvePath, withFileMode } = require('@millrace/block-file')
const { LogError, checkOptions, misuse, parseNumber, reasonOf } = require('@millrace/errors')
const { createJsonCodec } = require('@millrace/json-codec')
const { parseWhere } = require('@millrace/where')

const SAVE_MS = 5000
/** The hold of a view is called `view-<name>`, and a hold's name has at most 64 characters. */
const NAME = /^[\w-]{1,59}$/
const KNOWN = ['name', 'reduce', 'initial', 'where', 'version', 'codec', 'path', 'saveMs', 'mode', 'storage']

const json = createJsonCodec({ strict: true })
/** @type {StateCodec} */
const jsonStates = {
  encode (state) {
    const text = json.encode(state)
    const path = findChange(state, json.decode(Buffer.from(text)), 'state')
    if (path !== null) throw new TypeError(`JSON would change ${path}; use the option codec`)
    return text
  },
  decode: json.decode,
  buffer: true
}

/**
 * Where a value differs from its copy, which JSON made; null if it does not.
 * @type {(value: any, copy: any, path: string) => string | null}
 */
function findChange (value, copy, path) {
  if (Object.is(value, copy)) return null
  if (value === null || copy === null || typeof value !== 'object' || typeof copy !== 'object') return path
  if (Array.isArray(value) !== Array.isArray(copy) || !(Array.isArray(value) || isPlain(value))) return path
  const keys = Reflect.ownKeys(value)
  for (const key of keys) {
    const inner = `${path}[${typeof key === 'symbol' ? String(key) : JSON.stringify(key)}]`
    const found = Object.hasOwn(copy, key) ? findChange(value[key], copy[key], inner) : inner
    if (found !== null) return found
  }
  return keys.length === Reflect.ownKeys(copy).length ? null : path
}

/** @param {object} value */
function isPlain (value) {
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/**
 * What a view needs of a log.
 * @typedef {{ filename: string, since: any, ready: any, stream: any, scan: any, get: any, sync: any, stats: any
 *   }} ViewLog
 */

/**
 * @template [S=any]
 * @typedef {object} StateCodec
 * @property {(state: S) => Uint8Array | string} encode
 * @property {(bytes: any) => S} decode  gets a Buffer if `buffer` is true, else a string
 * @property {boolean | undefined} [buffer]
 */

/**
 * @template [S=any]
 * @template [T=any]
 * @typedef {object} ViewOptions
 * @property {string} name  1 to 59 letters, digits, `_` and `-`. Two views of one log need different names. Required.
 * @property {(state: S, value: T, seq: number) => S} reduce  Gives the state with one more record. It must not wait,
 *   and its result must depend on nothing but its arguments. It may change the state in place. Required.
 * @property {S} initial  The state before the first record. It is copied. Required.
 * @property {import('@millrace/where').Where | undefined} [where]  Only records that match this filter.
 * @property {number | string | undefined} [version]  Of `reduce`, `initial` and `where`: if it is not that of the saved
 *   state, the view is built again; 1 by default.
 * @property {StateCodec<S> | undefined} [codec]  How the state is saved. By default as strict JSON, which refuses what
 *   JSON would change, such as a Map or a Date.
 * @property {string | URL | undefined} [path]  The file of the state; `<log.filename>.<name>.view` by default. A file
 *   that no view has written stays as it is, and `get` fails with EEXIST.
 * @property {number | undefined} [saveMs]  How often the state is saved while it changes, in ms; 5,000 by default, and
 *   with Infinity only by `save` and `close`. A state that takes long to encode is saved less often.
 * @property {number | string | undefined} [mode]  The mode of that file when it is made, such as 0o640, less the umask;
 *   0o600 by default, and that of the log for `log.view`.
 * @property {import('@millrace/block-file').Storage | undefined} [storage]  Replaces the file system, for that file.
 */

/**
 * @param {any} log
 * @param {ViewOptions} options
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseOptions (log, options) {
  checkLog(log)
  checkOptions('createView', options, KNOWN)
  const { name, reduce, initial, where, version = 1, path, mode, storage = fileStorage } = options
  const codec = /** @type {StateCodec} */ (options.codec ?? jsonStates)
  checkName(name)
  checkReduce(reduce)
  checkRest({ version, codec, storage })
  const file = resolvePath(checkPath(path) ?? `${log.filename}.${name}.view`, storage)
  if (file === log.filename) throw misuse(`createView: path is that of the log, ${file}; give the state a file of its own`)
  return {
    name,
    reduce,
    initial: encodeInitial(codec, initial),
    // A copy.
    where: where === undefined ? undefined : parseWhere(where),
    version,
    codec,
    path: file,
    saveMs: parseNumber('createView: saveMs', options.saveMs, SAVE_MS, 0),
    storage: patientStorage(mode === undefined ? storage : withFileMode(storage, parseFileMode('createView', mode)))
  }
}

/** @param {unknown} name */
function checkName (name) {
  if (typeof name === 'string' && NAME.test(name)) return
  throw misuse(`createView: name must be 1 to 59 letters, digits, "_" and "-", got ${reasonOf(name)}`)
}

/** @param {any} options */
function checkRest ({ version, codec, storage }) {
  if (!Number.isFinite(version) && typeof version !== 'string') {
    throw misuse(`createView: version must be a number or a text, got ${reasonOf(version)}`)
  }
  if (typeof codec.encode !== 'function' || typeof codec.decode !== 'function') {
    throw misuse('createView: codec must be an object with the functions encode and decode')
  }
  if (typeof storage?.open !== 'function') throw misuse('createView: storage must have the function open')
}

/** @param {any} log */
function checkLog (log) {
  if (typeof log?.eachSlot === 'function') {
    throw new LogError('ERR_NOT_SUPPORTED', 'createView: the slots of a MergedLog have no order of seqs in common; make a ' +
      'view of each one\'s log: log.eachSlot((log) => createView(log, …))', { path: log.filename })
  }
  const calls = ['since', 'ready', 'stream', 'scan', 'get', 'sync', 'stats']
  if (calls.every((call) => typeof log?.[call] === 'function')) return
  const hint = log?.slot === undefined ? '' : '; that of a SlotLog is its property log, once it is ready'
  throw misuse(`createView: expected a log${hint}`)
}

/** @param {unknown} reduce */
function checkReduce (reduce) {
  if (typeof reduce !== 'function') throw misuse(`createView: reduce must be a function, got ${reasonOf(reduce)}`)
  if (reduce.constructor.name === 'AsyncFunction') {
    throw misuse('createView: reduce must not be an async function: a fold cannot wait; do what waits before you append')
  }
}

/** @type {(path: unknown) => string | URL | undefined} */
function checkPath (path) {
  if (path === undefined || path instanceof URL || (typeof path === 'string' && path !== '')) return path
  throw misuse(`createView: path must be a path or a file: URL, got ${reasonOf(path)}`)
}

/** So that each start has a copy of its own. @type {(codec: StateCodec, initial: unknown) => Buffer} */
function encodeInitial (codec, initial) {
  try {
    const bytes = Buffer.from(codec.encode(initial))
    // A codec of bytes may lack `buffer: true`.
    codec.decode(codec.buffer ? bytes : bytes.toString())
    return bytes
  } catch (err) {
    throw Object.assign(misuse('createView: initial cannot be encoded and decoded: ' +
      `${/** @type {Error} */ (err).message}; give an initial state, and a codec that can store it, with buffer: true if it decodes bytes`), { cause: err })
  }
}

exports.parseOptions = parseOptions
