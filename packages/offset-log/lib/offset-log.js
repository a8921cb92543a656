'use strict'
// OffsetLog: the Log contract over one file. It checks what callers ask for and hands it to the part that does it.

const createObz = require('obz')
const { BlockFile, Lifecycle } = require('@millrace/block-file')
const { LogError, misuse } = require('@millrace/errors')
const { Appender } = require('./appender')
const { closedError } = require('./closed-error')
const { deleteRecords } = require('./delete-records')
const { load } = require('./load')
const { parseOptions } = require('./options')
const { promised } = require('./promised')
const { parseRange } = require('./range')
const { readRecord } = require('./read-record')
const { deleted, tooLargeToAppend } = require('./record-errors')
const { scan } = require('./scan')
const { RecordStream, createSource } = require('./stream')

const METHODS = /** @type {const} */ (['ready', 'append', 'get', 'stream', 'scan', 'del', 'sync', 'stats', 'compact',
  'snapshot', 'close'])

/**
 * @typedef {import('./options').OffsetLogOptions} OffsetLogOptions
 * @typedef {import('./range').ReadOptions} ReadOptions
 */

/**
 * @template T
 * @typedef {import('./promised').Callback<T>} Callback
 */

class Log {
  /**
   * @param {string} path
   * @param {OffsetLogOptions} [options]
   */
  constructor (path, options) {
    const parsed = parseOptions(options)
    this.filename = path
    /** @type {import('obz').Obz<number>} undefined until loaded, -1 when empty, then the seq of the last record */
    this.since = createObz()
    /** What flumedb offers of the log, under the same names. */
    this.methods = { del: 'async' }
    /** What this log can do of what some logs cannot. */
    this.supports = { atomicBatch: false, compact: false, snapshot: false, durable: false, onCorrupt: false }
    /** @type {import('./recover').Recovery | null} what opening had to mend; set once loaded */
    this.recovery = null
    /** @type {import('./log-file').LogFile} */
    this._file = {
      blocks: BlockFile(path, parsed.blocks),
      framing: parsed.framing,
      codec: parsed.codec,
      maxRecordSize: parsed.maxRecordSize,
      end: 0,
      since: this.since,
      lifecycle: new Lifecycle((name) => closedError(name, path)),
      waitingStreams: new Set()
    }
    this._lifecycle = this._file.lifecycle
    this._appender = new Appender(this._file)
    this._isLoaded = false
    // flumedb takes methods off the log and calls them on their own.
    for (const name of METHODS) Object.assign(this, { [name]: this[name].bind(this) })
    load(this._file, parsed.blocks.storage, (err, recovery) => this._loaded(err, recovery ?? null))
  }

  /** Not a method, so it can only be refused by throwing. */
  get durable () {
    throw notSupported('durable', 'use sync')
  }

  /**
   * @param {Callback<void>} [cb]  runs when the log is loaded and recovered, or failed to
   * @returns {any}
   */
  ready (cb) {
    return promised(cb, (cb) => this._lifecycle.run('ready', cb, (cb) => cb(null)))
  }

  /**
   * @param {unknown} values  a value, or an array of them as one batch
   * @param {Callback<number>} [cb]  gets the seq of the last record, which `since` has reached
   * @returns {any}
   */
  append (values, cb) {
    return promised(cb, (cb) => {
      // Now, so that the caller may change the value afterwards, and so that a failure is this caller's alone.
      const records = this._encode(values)
      this._runWrite('append', cb, (cb) => {
        if (records instanceof Error) return cb(records)
        const err = this._checkRecords(records)
        if (err) return cb(err)
        if (records.length === 0) return cb(null, this.since.value)
        this._appender.append(records, cb)
      })
    })
  }

  /**
   * @param {number} seq
   * @param {Callback<any>} [cb]  gets the value; `flumelog:deleted` if it was deleted
   * @returns {any}
   */
  get (seq, cb) {
    return promised(cb, (cb) => this._lifecycle.run('get', cb, (cb) => {
      readRecord(this._file, seq, (err, found) => {
        if (err || !found) return cb(err)
        if (found.isDeleted) return cb(deleted(seq))
        let value
        try {
          value = this._file.codec.decode(found.data, 0, found.data.length, seq)
        } catch (err) {
          return cb(/** @type {Error} */ (err))
        }
        cb(null, value)
      })
    }))
  }

  /**
   * A pull-stream source that is also async-iterable.
   * @param {ReadOptions} [options]
   */
  stream (options = {}) {
    let range
    try {
      range = parseRange(options)
    } catch (err) {
      return failedSource(/** @type {Error} */ (err))
    }
    const stream = new RecordStream(this._file, range, options)
    this._lifecycle.run('stream', () => {}, (cb) => { stream.begin(); cb(null) })
    return createSource(stream, (cb) => this._lifecycle.run('stream', cb, (cb) => cb(null)))
  }

  /**
   * @param {ReadOptions} options  those of `stream`, except live
   * @param {(chunk: import('./chunk').Chunk) => unknown} onChunk  many records a call; false ends the scan
   * @param {Callback<void>} [cb]
   * @returns {any}
   */
  scan (options, onChunk, cb) {
    return promised(cb, (cb) => {
      this._lifecycle.run('scan', cb, (cb) => {
        if (typeof onChunk !== 'function') return cb(misuse(`scan: expected a function, got ${typeof onChunk}`))
        scan(this._file, parseRange(options), onChunk, cb)
      })
    })
  }

  /**
   * Erases records: their bytes are overwritten, `get` and streams no longer see them. `since` does not move.
   * @param {number | number[]} seqs
   * @param {Callback<void>} [cb]
   * @returns {any}
   */
  del (seqs, cb) {
    return promised(cb, (cb) => this._runWrite('del', cb, (cb) => deleteRecords(this._file, seqs, cb)))
  }

  /**
   * @param {Callback<void>} [cb]  runs when all that was appended before is on stable storage
   * @returns {any}
   */
  sync (cb) {
    return promised(cb, (cb) => this._runWrite('sync', cb, (cb) => {
      this._appender.whenIdle(() => this._file.blocks.sync(cb))
    }))
  }

  /**
   * @param {Callback<{ framing: string, size: number, since: number, blockSize: number, cache: object }>} [cb]
   * @returns {any}
   */
  stats (cb) {
    return promised(cb, (cb) => this._lifecycle.run('stats', cb, (cb) => {
      const { framing, end, blocks } = this._file
      const cache = blocks.cacheStats()
      cb(null, { framing: framing.name, size: end, since: this.since.value, blockSize: blocks.blockSize, cache })
    }))
  }

  /**
   * @param {Callback<void>} [cb]
   * @returns {any}
   */
  compact (cb) {
    return promised(cb, (cb) => cb(notSupported('compact', 'a framing like this one cannot give space back')))
  }

  /**
   * @param {string} path
   * @param {Callback<void>} [cb]
   * @returns {any}
   */
  snapshot (path, cb) {
    return promised(cb, (cb) => cb(notSupported('snapshot', 'close the log and copy the file')))
  }

  /**
   * Waits for what was asked before, syncs, ends live streams and closes the file. Calling it again waits for the same.
   * @param {Callback<void>} [cb]
   * @returns {any}
   */
  close (cb) {
    return promised(cb, (cb) => this._lifecycle.close((cb) => this._closeFile(cb), cb))
  }

  /** @param {(err: Error | null) => void} cb */
  _closeFile (cb) {
    const { blocks, waitingStreams } = this._file
    for (const stream of waitingStreams) stream.close()
    if (!this._isLoaded || blocks.flags === 'r') return blocks.close(cb)
    blocks.sync((err) => blocks.close((closeErr) => cb(err ?? closeErr)))
  }

  /**
   * @param {Error | null} err
   * @param {import('./recover').Recovery | null} recovery
   */
  _loaded (err, recovery) {
    this._isLoaded = !err
    this.recovery = recovery
    if (!err) return this._lifecycle.opened(null)
    // Nothing will be read from it: the file need not stay open until somebody closes the log.
    this._file.blocks.close(() => this._lifecycle.opened(err))
  }

  /**
   * @template T
   * @param {string} name
   * @param {Callback<T>} cb
   * @param {(cb: Callback<T>) => void} action  runs once the log is loaded, if it may be written
   */
  _runWrite (name, cb, action) {
    this._lifecycle.run(name, cb, (cb) => {
      if (this._file.blocks.flags === 'r+') return action(cb)
      const { filename: path } = this
      cb(new LogError('ERR_LOG_READ_ONLY', `${name}: ${path} was opened with flags "r"; open it with "r+"`, { path }))
    })
  }

  /**
   * @param {unknown} values
   * @returns {Buffer[] | Error}
   */
  _encode (values) {
    const { codec } = this._file
    try {
      return (Array.isArray(values) ? Array.from(values) : [values]).map((value) => codec.encode(value))
    } catch (err) {
      return /** @type {Error} */ (err)
    }
  }

  /**
   * @param {Buffer[]} records
   * @returns {LogError | null}
   */
  _checkRecords (records) {
    const { framing, maxRecordSize } = this._file
    for (const record of records) {
      if (record.length > maxRecordSize) return tooLargeToAppend('a record', record.length, maxRecordSize)
      const err = framing.checkRecord(record)
      if (err) return err
    }
    return null
  }
}

/**
 * @param {string} name
 * @param {string} advice
 */
function notSupported (name, advice) {
  return new LogError('ERR_NOT_SUPPORTED', `${name} is not supported by this log; ${advice}`)
}

/**
 * A source that fails at its first read.
 * @param {Error} err
 */
function failedSource (err) {
  const stream = { read: (/** @type {any} */ abort, /** @type {any} */ cb) => cb(abort || err) }
  return createSource(/** @type {any} */ (stream), (cb) => cb(null))
}

/**
 * Opens a log, or creates it; with or without `new`. Calls may be made at once: they wait until it is loaded.
 * @param {string} path
 * @param {OffsetLogOptions} [options]
 * @returns {Log}
 */
function OffsetLog (path, options) {
  return new Log(path, options)
}
OffsetLog.prototype = Log.prototype

exports.OffsetLog = OffsetLog
