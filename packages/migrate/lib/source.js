'use strict'
// Detects the format of a log from its bytes, opens it for reading only, and streams its records.

const { BlockFile, resolvePath } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { Lifecycle, callbackOrPromise, promisesOf, toCallback } = require('@millrace/flow')
const { OffsetLog } = require('@millrace/offset-log')
const { exists } = require('./files')
const { blockFormats, logFormats } = require('./formats')
const { parseSourceOptions } = require('./options')
const { Losses, readBlocks, readLog } = require('./record-reader')

// Blocks are read past the cache; it serves the counting of frames.
const CACHE_SIZE = 256 * 1024
// Few enough to be quick, and enough that neither chance nor one damaged block decides.
const PROBED_BLOCKS_MAX = 16
const SOUND_PER_DAMAGED = 4

/**
 * @typedef {ReturnType<typeof import('./options').parseSourceOptions>} Options
 * @typedef {ReturnType<typeof BlockFile>} BlockFileHandle
 * @typedef {import('./formats').BlockFormat} BlockFormat
 * @typedef {import('./formats').LogFormat} LogFormat
 * @typedef {ReturnType<import('./formats').WalkBlock>} BlockWalk
 */

/**
 * @typedef {object} Chosen
 * @property {import('./formats').Format | 'empty'} format
 * @property {string | null} codec  the name of the codec that the log was made with; null if the log stores none
 * @property {ReturnType<typeof OffsetLog> | null} log  of the formats that offset-log reads
 * @property {number} end  where the records end: in the file, or in the seqs of a log
 * @typedef {Chosen & { blocks: BlockFileHandle }} Opened
 */

/** @typedef {import('./record-reader').RecordReader} RecordReader */

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
 * @typedef {Pick<import('./record-reader').Met, 'deleted' | 'lost' | 'torn'>} Met
 * @typedef {PullSource & AsyncIterable<Item> & Met} RecordStream
 */

class Source {
  #options
  #lifecycle
  /** @type {Opened | null} */
  #opened = null

  /** @param {string | URL} givenPath @param {import('./options').SourceOptions} [options] */
  constructor (givenPath, options) {
    this.#options = parseSourceOptions('openSource', givenPath, options)
    const path = resolvePath(givenPath, this.#options.storage)
    this.filename = path
    /** @type {Method} calls back when the file is open and its format is known, or with the reason why not */
    this.ready = this.#ready.bind(this)
    /** @type {Method} */
    this.close = this.#close.bind(this)
    /** @type {import('./options').Format | 'empty' | undefined} set once it is open */
    this.format = undefined
    /** @type {string | null | undefined} the codec that a checked log was made with; set once it is open */
    this.codec = undefined
    /** @type {number | undefined} of the file, in bytes; set once it is open */
    this.size = undefined
    this.#lifecycle = new Lifecycle((name) => new LogError('ERR_LOG_CLOSED', `${name}: ${path} is closed; open it again first`,
      { path }))
    toCallback(this.#open(), (err) => this.#lifecycle.opened(err))
  }

  /** Passes over the undeleted records, in order: a pull-stream source of `{ seq, bytes }`, also async-iterable. */
  stream () {
    return createRecordStream((cb) => this.#lifecycle.run('stream', cb, (cb) => cb(null, this.createReader())))
  }

  /**
   * Makes a reader of all records, for the conversion.
   * @returns {RecordReader}  before the first record; the source must be open
   */
  createReader () {
    const { format, blocks, log, end } = /** @type {Opened} */ (this.#opened)
    const { blockSize, onCorrupt } = this.#options
    const skipsDamage = onCorrupt === 'skip'
    if (log) return readLog({ log, end, skipsDamage, blocks, overhead: logFormats[/** @type {LogFormat} */ (format)] })
    // An empty file may be walked as any format.
    const walkBlock = blockFormats[/** @type {BlockFormat} */ (format)] ?? blockFormats['async-append-only-log']
    return readBlocks(blocks, { walkBlock, blockSize, size: end, skipsDamage })
  }

  async #open () {
    const opened = this.#opened = await openFormat(this.filename, this.#options)
    this.format = opened.format
    this.codec = opened.codec
    this.size = opened.blocks.size.value
  }

  /** @type {(cb?: import('@millrace/errors').NodeCallback<void>) => any} */
  #ready (cb) {
    return callbackOrPromise(cb, (cb) => this.#lifecycle.run('ready', cb, (cb) => cb(null)), 'ready')
  }

  /** @type {(cb?: import('@millrace/errors').NodeCallback<void>) => any} */
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
 * Opens a log of any format for reading, and never writes to it. Calls wait until it is open.
 * @type {(path: string | URL, options?: import('./options').SourceOptions) => Source}
 */
function openSource (path, options) {
  return new Source(path, options)
}

// `open` runs at the first read.
/** @type {(open: (cb: (err: Error | null, reader?: RecordReader) => void) => void) => RecordStream} */
function createRecordStream (open) {
  /** @type {RecordReader | null} */
  let reader = null
  /** @type {End} */
  let ended = null

  /** @type {(end: Error | true, cb: ReadCallback) => void} */
  const finish = (end, cb) => {
    ended = end
    if (reader === null) cb(end)
    else toCallback(reader.close(), () => cb(end))
  }
  /** @type {(from: RecordReader, cb: ReadCallback) => void} */
  const deliver = (from, cb) => {
    if (!from.hasRecord) return finish(true, cb)
    const item = { seq: from.seq, bytes: from.bytes }
    from.advance()
    cb(null, item)
  }
  /** @type {(from: RecordReader, cb: ReadCallback) => void} */
  const read = (from, cb) => {
    // Most reads find a record at hand: they need no promise.
    if (from.hasRecord) return deliver(from, cb)
    toCallback(from.fill(), (err) => {
      if (ended) cb(ended)
      else if (err) finish(err, cb)
      else deliver(from, cb)
    })
  }
  /** @type {PullSource} */
  const source = (abort, cb) => {
    if (ended) return cb(ended)
    if (abort) return finish(abort, cb)
    if (reader !== null) return read(reader, cb)
    open((err, opened) => {
      if (err || !opened) return finish(err ?? true, cb)
      if (ended) return cb(ended)
      reader = opened
      read(reader, cb)
    })
  }
  Object.defineProperties(source, {
    deleted: { get: () => reader?.met.deleted ?? null },
    lost: { get: () => reader?.met.lost ?? new Losses() },
    torn: { get: () => reader?.met.torn ?? null }
  })
  return /** @type {any} */ (Object.assign(source, { [Symbol.asyncIterator]: () => iterate(source) }))
}

/** @type {(source: PullSource) => AsyncGenerator<Item>} */
async function * iterate (source) {
  const read = (/** @type {End} */ abort) => new Promise((resolve, reject) => {
    source(abort, (end, item) => end instanceof Error ? reject(end) : resolve(item))
  })
  try {
    for (let item = await read(null); item !== undefined; item = await read(null)) yield item
  } finally {
    // Leaving the loop ends the pass. If the pass failed, the loop has thrown that already.
    await read(true).catch(() => {})
  }
}

// Throws ERR_LOG_UNKNOWN_FORMAT, ERR_LOG_AMBIGUOUS_FORMAT, and what opening a file or a log throws. Nothing is left
// open then.
/** @type {(path: string, options: Options) => Promise<Opened>} */
async function openFormat (path, options) {
  const blocks = BlockFile(path, { flags: 'r', cache: CACHE_SIZE, storage: options.storage })
  try {
    await promisesOf(blocks).ready()
    return { ...await chooseFormat(blocks, path, options), blocks }
  } catch (err) {
    await promisesOf(blocks).close().catch(() => {})
    throw err
  }
}

/** @type {(blocks: BlockFileHandle, path: string, options: Options) => Promise<Chosen>} */
// eslint-disable-next-line complexity -- one decision, told in one place
async function chooseFormat (blocks, path, options) {
  const { format, blockSize, storage } = options
  const size = blocks.size.value
  // An empty file may be of any format.
  if (size === 0) return { format: format ?? 'empty', codec: null, log: null, end: 0 }
  if (format !== undefined && format in blockFormats) return chooseBlocks(path, format, size, storage)
  const { opened, reason } = await openLog(path, format, storage)
  try {
    if (format !== undefined && opened?.format !== format) throw anotherFormat(path, format, opened, reason)
    const names = format === undefined ? await detectBlocks(blocks, blockSize) : []
    const candidates = opened ? [opened.format, ...names] : names
    if (candidates.length > 1) throw ambiguousFormat(path, candidates)
    if (opened) return opened
    if (names.length === 1) return await chooseBlocks(path, names[0], size, storage)
    throw unknownFormat(path, reason)
  } catch (err) {
    await opened?.log?.close().catch(() => {})
    throw err
  }
}

/**
 * @type {(path: string, format: import('./formats').Format, size: number, storage: Options['storage']) =>
 *   Promise<Chosen>}
 */
async function chooseBlocks (path, format, size, storage) {
  const statePath = `${path}.compaction`
  // During a compaction by async-append-only-log some records are in the file twice, and only a file beside it tells
  // which.
  if (format === 'async-append-only-log' && await exists(storage, statePath)) {
    throw new LogError('ERR_NOT_SUPPORTED', `${path} was being compacted when its process ended: ${statePath} exists, and ` +
      'some records may be in the log twice. Open it once with async-append-only-log, which finishes the compaction', { path })
  }
  return { format, codec: null, log: null, end: size }
}

// If it is no log of these formats, `reason` says why.
/**
 * @type {(path: string, format: Options['format'], storage: Options['storage']) =>
 *   Promise<{ opened: Chosen | null, reason?: Error }>}
 */
async function openLog (path, format, storage) {
  // Any text may be lines, but only JSON shows it.
  const log = OffsetLog(path, { flags: 'r', framing: format === 'lines' ? format : 'checked', storage })
  try {
    await log.ready()
  } catch (/** @type {any} */ err) {
    // If opening fails, the log closes its file itself.
    if (err.code === 'ERR_LOG_UNKNOWN_FORMAT') return { opened: null, reason: err }
    throw err
  }
  try {
    const { framing, codec, size } = await log.stats()
    return { opened: { format: /** @type {LogFormat} */ (framing), codec, log, end: size } }
  } catch (err) {
    await log.close().catch(() => {})
    throw err
  }
}

// Walks the first blocks in the way of each block format, and returns the formats that fit.
/** @type {(blocks: BlockFileHandle, blockSize: number) => Promise<BlockFormat[]>} */
async function detectBlocks (blocks, blockSize) {
  const fileSize = blocks.size.value
  const stop = Math.min(fileSize, PROBED_BLOCKS_MAX * blockSize)
  /** @type {Record<BlockFormat, BlockWalk[]>} */
  const walks = { 'flumelog-aligned-offset': [], 'async-append-only-log': [] }
  const names = /** @type {BlockFormat[]} */ (Object.keys(blockFormats))
  for (let position = 0; position < stop; position += blockSize) {
    const block = Buffer.allocUnsafe(Math.min(blockSize, fileSize - position))
    await promisesOf(blocks).readInto(block, position)
    for (const name of names) walks[name].push(blockFormats[name](block, blockSize))
  }
  return names.filter((name) => fits[name](walks[name], fileSize, blockSize))
}

/** @type {Record<BlockFormat, (walks: BlockWalk[], fileSize: number, blockSize: number) => boolean>} */
const fits = {
  // Two sizes that agree are good evidence. But a single frame must also end where the file or the block does.
  'flumelog-aligned-offset': (walks) => {
    const isCutOff = walks.some(({ torn }) => torn !== null)
    const frameCount = walks.reduce((sum, walk) => sum + walk.frameCount, 0)
    return isMostlySound(walks) && frameCount >= (isCutOff ? 2 : 1)
  },
  // In a file with many zeros, a chain of sizes that ends in zeros may be chance. Files of whole blocks are rare, and
  // so is a second such chain.
  'async-append-only-log': (walks, fileSize, blockSize) => {
    const whole = walks.filter(({ torn }) => torn === null)
    const soundCount = whole.filter(isSound).length
    return isMostlySound(whole) && soundCount >= (fileSize % blockSize === 0 ? 1 : 2)
  }
}

/** @param {BlockWalk[]} walks */
function isMostlySound (walks) {
  const damagedCount = walks.filter(({ flaw }) => flaw !== null).length
  return walks.filter(isSound).length >= SOUND_PER_DAMAGED * damagedCount
}

/** @param {BlockWalk} walk */
function isSound ({ flaw, frameCount }) {
  return flaw === null && frameCount > 0
}

/** @type {(path: string, wanted: string, found: Chosen | null, cause: Error | undefined) => LogError} */
function anotherFormat (path, wanted, found, cause) {
  return new LogError('ERR_LOG_UNKNOWN_FORMAT', `${path} is ${found ? `a log of ${found.format}` : 'no known log'}, not one of ` +
    `${wanted}; leave format out, or give the right one`, { cause, offset: 0, path })
}

/** @param {string} path @param {Error | undefined} cause */
function unknownFormat (path, cause) {
  const others = Object.keys(blockFormats).join(' or ')
  return new LogError('ERR_LOG_UNKNOWN_FORMAT', `${path} does not begin like a log of ${Object.keys(logFormats).join(', ')}, ` +
    `${others}. Check the path. If it is damaged, or shorter than a block, give its format; for ${others} also give ` +
    'blockSize if it is not 64 KiB', { cause, offset: 0, path })
}

/** @param {string} path @param {string[]} candidates */
function ambiguousFormat (path, candidates) {
  return new LogError('ERR_LOG_AMBIGUOUS_FORMAT', `${path} may be a log of ${candidates.join(' or of ')}; say which one with ` +
    'the option format', { offset: 0, path })
}

exports.openSource = openSource
