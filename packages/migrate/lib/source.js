'use strict'
// A log of any format, to be read and nothing else.

const { resolvePath } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { callbackOrPromise, Lifecycle } = require('@millrace/flow')
const { BlockCursor } = require('./block-cursor')
const { blockFormats, logFormats } = require('./formats')
const { LogCursor } = require('./log-cursor')
const { openFormat } = require('./open-format')
const { parseSourceOptions } = require('./options')
const { createRecordStream } = require('./record-stream')

/**
 * @typedef {import('./block-cursor').Cursor} Cursor
 * @typedef {import('./open-format').Opened} Opened
 */

/**
 * A method that takes a node callback last, or gives a promise when it gets none.
 * @typedef {{
 *   (): Promise<void>
 *   (cb: import('@millrace/errors').NodeCallback<void>): void
 * }} Method
 */

class Source {
  /**
   * @param {string} givenPath
   * @param {import('./options').SourceOptions} [options]
   */
  constructor (givenPath, options) {
    this._options = parseSourceOptions('openSource', givenPath, options)
    const path = resolvePath(givenPath, this._options.storage)
    this.filename = path
    /** @type {Method} runs when the file is open and its format is known, or with the reason why not */
    this.ready = this._ready.bind(this)
    /** @type {Method} */
    this.close = this._close.bind(this)
    /** @type {import('./options').Format | 'empty' | undefined} set once it is open */
    this.format = undefined
    /** @type {string | null | undefined} the name of the codec that a checked log was made with; set once it is open */
    this.codec = undefined
    /** @type {number | undefined} of the file, in bytes; set once it is open */
    this.size = undefined
    /** @type {Opened | null} */
    this._opened = null
    this._lifecycle = new Lifecycle((name) => new LogError('ERR_LOG_CLOSED', `${name}: ${path} is closed; open it again first`,
      { path }))
    openFormat(path, this._options, (err, opened) => {
      if (opened) {
        this._opened = opened
        this.format = opened.format
        this.codec = opened.codec
        this.size = opened.blocks.size.value
      }
      this._lifecycle.opened(err)
    })
  }

  /**
   * @param {import('@millrace/errors').NodeCallback<void>} [cb]
   * @returns {any}
   */
  _ready (cb) {
    return callbackOrPromise(cb, (cb) => this._lifecycle.run('ready', cb, (cb) => cb(null)), 'ready')
  }

  /** A pass over the undeleted records, in order: a pull-stream source of `{ seq, bytes }`, also async-iterable. */
  stream () {
    return createRecordStream((cb) => this._lifecycle.run('stream', cb, (cb) => cb(null, this.createCursor())))
  }

  /** @returns {Cursor}  before the first record. The source must be open */
  createCursor () {
    const { format, blocks, log, end } = /** @type {Opened} */ (this._opened)
    const skipsDamage = this._options.onCorrupt === 'skip'
    if (log) {
      const overhead = logFormats[/** @type {keyof logFormats} */ (format)]
      return new LogCursor({ log, end, skipsDamage, blocks, overhead })
    }
    const { blockSize } = this._options
    // An empty file is walked as any format would be.
    const walkBlock = blockFormats[/** @type {keyof blockFormats} */ (format)] ?? blockFormats['async-append-only-log']
    return new BlockCursor(blocks, { walkBlock, blockSize, size: end, skipsDamage })
  }

  /**
   * @param {import('@millrace/errors').NodeCallback<void>} [cb]
   * @returns {any}
   */
  _close (cb) {
    return callbackOrPromise(cb, (cb) => this._lifecycle.close((cb) => {
      if (this._opened === null) return cb(null)
      const { blocks, log } = this._opened
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

exports.openSource = openSource
