'use strict'
// A source: a log of any format, opened for reading only; and a pass over it as a stream.

const { resolvePath } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { callbackOrPromise, Lifecycle, toCallback } = require('@millrace/flow')
const { BlockCursor, LogCursor, Losses, RecordReader } = require('./cursors')
const { blockFormats, logFormats } = require('./formats')
const { openFormat } = require('./open-format')
const { parseSourceOptions } = require('./options')

/**
 * @typedef {import('./cursors').Cursor} Cursor
 * @typedef {import('./open-format').Opened} Opened
 */

/**
 * A method that takes a node callback last, or gives a promise when it gets none.
 * @typedef {{
 *   (): Promise<void>
 *   (cb: import('@millrace/errors').NodeCallback<void>): void
 * }} Method
 */

/**
 * @typedef {Error | true | null} End
 * @typedef {{ seq: number, bytes: Buffer }} Item
 * @typedef {(end: End, item?: Item) => void} ReadCallback
 * @typedef {(abort: End, cb: ReadCallback) => void} PullSource
 * @typedef {Pick<Cursor, 'deleted' | 'lost' | 'torn'>} Met
 * @typedef {PullSource & AsyncIterable<Item> & Met} RecordStream
 */

class Source {
  #options
  #lifecycle
  /** @type {Opened | null} */
  #opened = null

  /**
   * @param {string} givenPath
   * @param {import('./options').SourceOptions} [options]
   */
  constructor (givenPath, options) {
    this.#options = parseSourceOptions('openSource', givenPath, options)
    const path = resolvePath(givenPath, this.#options.storage)
    this.filename = path
    /** @type {Method} runs when the file is open and its format is known, or with the reason why not */
    this.ready = this.#ready.bind(this)
    /** @type {Method} */
    this.close = this.#close.bind(this)
    /** @type {import('./options').Format | 'empty' | undefined} set once it is open */
    this.format = undefined
    /** @type {string | null | undefined} the name of the codec that a checked log was made with; set once it is open */
    this.codec = undefined
    /** @type {number | undefined} of the file, in bytes; set once it is open */
    this.size = undefined
    this.#lifecycle = new Lifecycle((name) => new LogError('ERR_LOG_CLOSED', `${name}: ${path} is closed; open it again first`,
      { path }))
    this.#open().then(() => this.#lifecycle.opened(null), (err) => this.#lifecycle.opened(err))
  }

  /** A pass over the undeleted records, in order: a pull-stream source of `{ seq, bytes }`, also async-iterable. */
  stream () {
    return createRecordStream((cb) => this.#lifecycle.run('stream', cb, (cb) => cb(null, this.createCursor())))
  }

  /** @returns {Cursor}  before the first record. The source must be open */
  createCursor () {
    const { format, blocks, log, end } = /** @type {Opened} */ (this.#opened)
    const { blockSize, onCorrupt } = this.#options
    const skipsDamage = onCorrupt === 'skip'
    if (log) {
      const overhead = logFormats[/** @type {import('./formats').LogFormat} */ (format)]
      return new LogCursor({ log, end, skipsDamage, blocks, overhead })
    }
    // An empty file is walked as any format would be.
    const walkBlock = blockFormats[/** @type {import('./formats').BlockFormat} */ (format)] ?? blockFormats['async-append-only-log']
    return new BlockCursor(blocks, { walkBlock, blockSize, size: end, skipsDamage })
  }

  async #open () {
    const opened = this.#opened = await openFormat(this.filename, this.#options)
    this.format = opened.format
    this.codec = opened.codec
    this.size = opened.blocks.size.value
  }

  /**
   * @param {import('@millrace/errors').NodeCallback<void>} [cb]
   * @returns {any}
   */
  #ready (cb) {
    return callbackOrPromise(cb, (cb) => this.#lifecycle.run('ready', cb, (cb) => cb(null)), 'ready')
  }

  /**
   * @param {import('@millrace/errors').NodeCallback<void>} [cb]
   * @returns {any}
   */
  #close (cb) {
    return callbackOrPromise(cb, (cb) => this.#lifecycle.close((cb) => {
      if (this.#opened === null) return cb(null)
      const { blocks, log } = this.#opened
      if (log) log.close((err) => blocks.close((closeErr) => cb(err ?? closeErr)))
      else blocks.close(cb)
    }, cb), 'close')
  }
}

/**
 * Opens a log of any format for reading; never writes to it. Calls may be made at once: they wait until it is open.
 * @param {string} path
 * @param {import('./options').SourceOptions} [options]
 * @returns {Source}
 */
function openSource (path, options) {
  return new Source(path, options)
}

/**
 * @param {(cb: (err: Error | null, cursor?: Cursor) => void) => void} open  runs at the first read
 * @returns {RecordStream}
 */
function createRecordStream (open) {
  /** @type {RecordReader | null} */
  let reader = null
  /** @type {End} */
  let ended = null

  /** @type {(end: Error | true, cb: ReadCallback) => void} */
  const finish = (end, cb) => {
    ended = end
    if (reader === null) cb(end)
    else toCallback(reader.cursor.close(), () => cb(end))
  }
  /** @type {(current: RecordReader, cb: ReadCallback) => void} */
  const deliver = (current, cb) => {
    if (!current.hasRecord) return finish(true, cb)
    const item = { seq: current.seq, bytes: current.bytes }
    current.advance()
    cb(null, item)
  }
  /** @type {(current: RecordReader, cb: ReadCallback) => void} */
  const read = (current, cb) => {
    // Most reads find a record at hand: no promise for them.
    if (current.hasRecord) return deliver(current, cb)
    toCallback(current.fill(), (err) => {
      if (ended) cb(ended)
      else if (err) finish(err, cb)
      else deliver(current, cb)
    })
  }
  /** @type {PullSource} */
  const source = (abort, cb) => {
    if (ended) return cb(ended)
    if (abort) return finish(abort, cb)
    if (reader !== null) return read(reader, cb)
    open((err, cursor) => {
      if (err || !cursor) return finish(err ?? true, cb)
      reader = new RecordReader(cursor)
      if (ended) finish(ended, cb)
      else read(reader, cb)
    })
  }
  Object.defineProperties(source, {
    deleted: { get: () => reader?.cursor.deleted ?? null },
    lost: { get: () => reader?.cursor.lost ?? new Losses() },
    torn: { get: () => reader?.cursor.torn ?? null }
  })
  return /** @type {any} */ (Object.assign(source, { [Symbol.asyncIterator]: () => iterate(source) }))
}

/**
 * @param {PullSource} source
 * @returns {AsyncGenerator<Item>}
 */
async function * iterate (source) {
  const read = (/** @type {End} */ abort) => new Promise((resolve, reject) => {
    source(abort, (end, item) => end instanceof Error ? reject(end) : resolve(item))
  })
  try {
    for (let item = await read(null); item !== undefined; item = await read(null)) yield item
  } finally {
    // Leaving the loop ends the pass. If the pass has failed, the loop has thrown that already.
    await read(true).catch(() => {})
  }
}

exports.openSource = openSource
