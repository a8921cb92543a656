'use strict'
// `open`: a log with good defaults, in one file or a folder. It knows codecs by their names, and refuses options that
// do not exist.

const fs = require('node:fs')
const { binaryCodec } = require('@millrace/binary-codec')
const { checkOptions, misuse, reasonOf } = require('@millrace/errors')
const { callbackOrPromise, toCallback } = require('@millrace/flow')
const { createJsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')

/** @type {Readonly<{ json: ReturnType<typeof createJsonCodec>, binary: typeof binaryCodec, bytes: undefined }>} */
const codecs = Object.freeze({ json: createJsonCodec({ strict: true }), binary: binaryCodec, bytes: undefined })

/** What only segments have: a log that is made with one of them is a folder. */
const OF_SEGMENTS = ['segmentSize', 'segmentAge', 'segmentDay', 'time', 'compress', 'openSegments', 'maxSize', 'maxAge',
  'maxCount', 'maxHeldSize', 'keep']

/** @typedef {keyof typeof codecs} CodecName */
/** @typedef {import('@millrace/index').AskedPath | import('@millrace/index').PathOptions} IndexedPath */
/** @typedef {import('@millrace/index').Index} Index */

/**
 * @template [T=any]
 * @typedef {import('@millrace/offset-log').Codec<T>} Codec
 */

/**
 * @template [T=any]
 * @typedef {object} OwnOpenOptions
 * @property {CodecName | Codec<T>} [codec]  How values become bytes, `'json'` by default: `'json'`, `'binary'`,
 *   `'bytes'` or a codec of your own. `'json'` refuses values that JSON would store as `{}` or null without a word, as
 *   it does with a Map or NaN: the append fails with ERR_CODEC_ENCODE. `jsonCodec` stores them.
 * @property {ReadonlyArray<IndexedPath> | Index} [index]  The fields by which records are looked up, as in
 *   `['type', { path: 'tags', each: true }, { path: 'price', range: true }]`: reads with a `where` that asks for one of
 *   them read only its records. Loads `@millrace/index`. The index is a folder beside the log; it may be removed.
 * @property {boolean} [strict]  True refuses options of `stream`, `scan` and `get` that do not exist, such as `limt`;
 *   true by default.
 */

/**
 * The options of OffsetLog, but `codec` also by its name, `index` also by its paths, and `strict` by default.
 * @template [T=any]
 * @typedef {Omit<import('@millrace/offset-log').OffsetLogOptions<T>, 'codec' | 'index' | 'strict'> & OwnOpenOptions<T>
 *   } OpenOptions
 */

/**
 * @template [T=any]
 * @typedef {object} Views
 * @property {<S>(options: import('@millrace/view').ViewOptions<S, T>) => import('@millrace/view').View<S>} view
 *   Opens a view of the log: a value that is folded from its records, kept up to date, and saved. `close` of the log
 *   closes it first.
 */

/** @template [T=any] @typedef {import('@millrace/offset-log').OffsetLog<T> & Views<T>} OpenedLog */

/**
 * @template [T=any]
 * @typedef {import('@millrace/segmented-log').SegmentedLogOptions<T>} SegmentedLogOptions
 */

/**
 * The options of SegmentedLog, in the same way.
 * @template [T=any]
 * @typedef {Omit<SegmentedLogOptions<T>, 'codec' | 'index' | 'strict'> & OwnOpenOptions<T>} OpenFolderOptions
 */

/**
 * @template [T=any]
 * @typedef {ReturnType<typeof import('@millrace/segmented-log').SegmentedLog<T>> & Views<T>} OpenedFolder
 */

/**
 * Opens a log, or creates it, and returns it at once: calls wait until it is loaded. New logs are checked logs of JSON,
 * in one file; a file whose name ends in `.jsonl` or `.ndjson` becomes a text file of JSON, a line a record. A folder
 * of segments is opened with SegmentedLog, and made if an option asks for what only SegmentedLog has, such as `maxSize`
 * or `segmentDay`. It throws only if an option is wrong.
 * @template [T=any]
 * @overload
 * @param {string | URL} path
 * @param {OpenOptions<T>} [options]
 * @returns {OpenedLog<T>}
 */
/**
 * @template [T=any]
 * @overload
 * @param {string | URL} path
 * @param {OpenFolderOptions<T>} options
 * @returns {OpenedFolder<T>}
 */
/**
 * @param {string | URL} path
 * @param {any} [options]
 * @returns {any}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function open (path, options = {}) {
  checkOptions('open', options)
  const { codec = 'json', index: paths, ...others } = options
  const chosen = typeof codec === 'string' ? codecOf(codec) : codec
  const index = toIndex(paths)
  const known = { strict: true, ...others, codec: chosen, ...(index !== undefined && { index }) }
  const makesFolder = OF_SEGMENTS.some((name) => options[name] !== undefined)
  const isFolder = makesFolder || (others.storage === undefined && isExistingFolder(path))
  if (!isFolder) {
    if (chosen?.name === binaryCodec.name && others.framing === undefined) refuseText(path, options)
    return withViews(OffsetLog(path, { framing: framingOf(path), ...known }), options)
  }
  const { SegmentedLog } = require('@millrace/segmented-log')
  // A folder of other things is no place for segments that nobody has asked for.
  return withViews(SegmentedLog(path, makesFolder ? known : { mustExist: true, ...known }), options)
}

/**
 * A new text file takes some values of the binary codec, and refuses others: those whose bytes are not a line.
 * @param {string | URL} path
 * @param {OpenOptions} options
 */
function refuseText (path, { storage }) {
  if (framingOf(path) !== 'lines' || storage !== undefined || fs.existsSync(path)) return
  throw misuse(`open: ${path} would be a text file, by its name, and records of the codec binary are no text; give another ` +
    'name or the codec json, or say framing: "checked"')
}

/** @param {any} index  the option @returns {Index | undefined} */
function toIndex (index) {
  if (Array.isArray(index)) return require('@millrace/index').createIndex(index)
  if (index === undefined || typeof index?.open === 'function') return index
  const got = index !== null && typeof index === 'object' ? 'an object' : reasonOf(index)
  throw misuse('open: index must be a list of paths, such as [\'type\', { path: \'price\', range: true }], or what createIndex ' +
    `returns; got ${got}`)
}

/** @param {string | URL} path */
function isExistingFolder (path) {
  try {
    return fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
  } catch {
    // Whatever it is, opening says what is wrong.
    return false
  }
}

/**
 * Views are closed with their log, and their files are made as its own are.
 * @param {any} log
 * @param {Pick<OpenOptions, 'mode' | 'storage'>} options  of the log
 */
function withViews (log, { mode, storage }) {
  const { close } = log
  /** @type {Array<import('@millrace/view').View>} */
  const views = []
  const closeAll = async () => {
    // A state that cannot be saved is folded again; a warning has said so.
    for (const view of views) await view.close().catch(() => {})
    await close()
  }
  return Object.assign(log, {
    view: (/** @type {any} */ options) => {
      const view = require('@millrace/view').createView(log, { mode, storage, ...options })
      if (views.push(view) === 1) log.close = withCallback(closeAll)
      return view
    }
  })
}

/** @param {() => Promise<void>} call */
function withCallback (call) {
  return (/** @type {any} */ cb) => callbackOrPromise(cb, (cb) => toCallback(call(), cb), 'close')
}

/** The framing that a new file of this name gets. @type {(path: string | URL) => 'lines' | 'checked'} */
function framingOf (path) {
  return /\.(jsonl|ndjson)$/i.test(path instanceof URL || typeof path === 'string' ? `${path}` : '') ? 'lines' : 'checked'
}

/**
 * @param {string} name
 * @returns {Codec | undefined}  undefined is bytes as they are
 */
function codecOf (name) {
  if (Object.hasOwn(codecs, name)) return codecs[/** @type {CodecName} */ (name)]
  throw misuse(`open: there is no codec ${name}; there are ${Object.keys(codecs).join(', ')}, or give a codec of your own`)
}

exports.codecs = codecs
exports.framingOf = framingOf
exports.open = open
