'use strict'
// Keeps the new log while it is being made: `<to>.converting`, with a manifest beside it. It is renamed to `to` when it
// is whole.

const path = require('node:path')
const { BlockFile } = require('@millrace/block-file')
const { LogError, misuse } = require('@millrace/errors')
const { promisesOf } = require('@millrace/flow')
const { SUMS_SUFFIX } = require('@millrace/framing')
const { parseText } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { closing, exists, remove } = require('./files')
const { readLog } = require('./record-reader')

const MANIFEST_VERSION = 1
const MANIFEST_SIZE_MAX = 64 * 1024
/** How much of a file is read at once to find its last line, in bytes. */
const TAIL_SIZE = 64 * 1024
/** @typedef {import('@millrace/block-file').Storage} Storage */

/**
 * What is converted, and how. Written once, before the first record. The new log itself tells how far the conversion
 * has come.
 * @typedef {object} Manifest
 * @property {number} sourceSize  in bytes
 * @property {string} format
 * @property {number} blockSize
 * @property {string} onCorrupt
 * @property {string} framing  of the new log
 * @property {string} from  codec; empty if bytes are copied
 * @property {string} to
 */

class Target {
  #manifestPath
  #framing
  #storage
  /** @type {ReturnType<typeof OffsetLog> | null} while it is open */
  #log = null
  /** Whether there is a manifest that agrees with this conversion. */
  #hasManifest = false
  /** @type {boolean | null} null before it was opened */
  #isEmpty = null
  /** @type {import('@millrace/block-file').StorageLock | null} */
  #held = null

  /** @param {string} to @param {'checked' | 'lines'} framing @param {Storage} storage */
  constructor (to, framing, storage) {
    this.to = to
    this.#framing = framing
    this.path = `${to}.converting`
    this.#manifestPath = `${to}.converting.json`
    this.#storage = storage
  }

  /** Keeps other programs from making or writing this log until `unlock`. Throws ERR_LOG_LOCKED. */
  async lock () {
    const storage = this.#storage
    // A storage without locks cannot be reached from elsewhere.
    if (!storage.lock) return
    const path = storage.realPath ? await promisesOf(storage).realPath(this.to) : this.to
    this.#held = await promisesOf(storage).lock(path, { createFolder: true })
  }

  async unlock () {
    const held = this.#held
    this.#held = null
    if (held !== null) await promisesOf(held).release()
  }

  // Whether `to` was made by a conversion that ended before it removed its manifest. Throws EEXIST if `to` is there for
  // another reason.
  /** @type {(resume: boolean) => Promise<boolean>} */
  async findPublished (resume) {
    if (!await exists(this.#storage, this.to)) {
      const sums = this.to + SUMS_SUFFIX
      // It would describe the new log, but is of another file.
      if (this.#framing === 'lines' && await exists(this.#storage, sums)) throw this.existsError(undefined, sums)
      return false
    }
    const isOurs = resume && await exists(this.#storage, this.#manifestPath) && !await exists(this.#storage, this.path)
    if (!isOurs) throw this.existsError()
    return true
  }

  /** Removes what an interrupted conversion left. */
  async removeLeftovers () {
    await remove(this.#storage, this.path)
    await remove(this.#storage, this.path + SUMS_SUFFIX)
    await this.removeManifest()
  }

  /** @type {(cause?: unknown, path?: string) => LogError} */
  existsError (cause, path = this.to) {
    return new LogError('EEXIST', `convert: ${path} already exists; nothing was written. Give a path that does not exist`,
      { cause, path })
  }

  // Writes the manifest as a whole and syncs it. An existing manifest must say the same: otherwise it throws
  // ERR_SOURCE_CHANGED, or ERR_INVALID_ARGUMENT if other options were given.
  /** @type {(manifest: Manifest) => Promise<void>} */
  async agreeOnManifest (manifest) {
    const initial = () => Buffer.from(JSON.stringify({ version: MANIFEST_VERSION, ...manifest }, null, 2) + '\n')
    const file = BlockFile(this.#manifestPath, { createFolder: true, cache: 0, initial, storage: this.#storage })
    await promisesOf(file).ready()
    const bytes = await closing(file, () => promisesOf(file).read(0, Math.min(file.size.value, MANIFEST_SIZE_MAX)))
    checkManifest(this.#manifestPath, bytes, manifest)
    this.#hasManifest = true
  }

  // Opens the unfinished log, with what an interrupted conversion left in it. The codec takes and gives bytes.
  /** @type {(codec: import('./options').Codec) => Promise<void>} */
  async open (codec) {
    if (this.#framing === 'lines') await this.#cutLastLine()
    const log = OffsetLog(this.path, { codec, framing: this.#framing, storage: this.#storage })
    await log.ready().catch((err) => { throw err.code === 'ERR_CODEC_MISMATCH' ? this.#notOurs(err) : err })
    this.#log = log
    this.#isEmpty = log.since.value === -1
    const { damage = [], keptAt = null } = log.recovery ?? {}
    if (damage.length > 0) throw this.#damaged(damage[0].what, damage[0].offset)
    // Half a commit of an earlier run: the source has all of it.
    if (keptAt !== null) await remove(this.#storage, keptAt)
    const { framing } = await log.stats()
    if (framing === this.#framing) return
    throw misuse(`convert: ${this.path} is not the unfinished log of a conversion, but a log of ${framing}; move it away`)
  }

  /** A last line without a line break was cut off when it was written. To the log it may look like a whole record. */
  async #cutLastLine () {
    const file = BlockFile(this.path, { createFolder: true, cache: 0, storage: this.#storage })
    await promisesOf(file).ready()
    await closing(file, async () => {
      let end = file.size.value
      for (let isFound = false; end > 0 && !isFound;) {
        const start = Math.max(0, end - TAIL_SIZE)
        const index = (await promisesOf(file).read(start, end)).lastIndexOf('\n')
        isFound = index !== -1
        end = start + index + 1
      }
      if (end < file.size.value) await promisesOf(file).truncate(end)
    })
  }

  /** @type {(what: string, offset: number | undefined, cause?: Error) => LogError} */
  #damaged (what, offset, cause) {
    return new LogError('ERR_LOG_CORRUPT', `convert: the unfinished ${this.path} is damaged: ${what}; begin anew with resume: false`,
      { cause, offset, path: this.path })
  }

  /** If reading the unfinished log has met damage: the error that says so. @param {any} err */
  damagedError (err) {
    const isOurs = err?.code === 'ERR_LOG_CORRUPT' && err.path === this.path
    return isOurs ? this.#damaged(err.message, err.offset, err) : null
  }

  /** @param {Error} cause */
  #notOurs (cause) {
    return new LogError('ERR_SOURCE_CHANGED', `convert: ${this.path} is not the unfinished log of this conversion: it has records of ` +
      'another codec; begin anew with resume: false', { cause, path: this.path })
  }

  /** @returns {import('./record-reader').RecordReader}  over what is in it now */
  createReader () {
    return readLog({ log: this.#openLog, end: 0 })
  }

  /**
   * After a crash, all of the records are there or none; in a log of lines perhaps the first ones.
   * @type {(records: Buffer[]) => Promise<void>}
   */
  async append (records) {
    this.#isEmpty = false
    await this.#openLog.append(records)
  }

  /** Afterwards everything in it is on stable storage. */
  async close () {
    const log = this.#log
    this.#log = null
    if (log !== null) await log.close()
  }

  /** Closes it. If a later run could use nothing of it, removes it and its manifest. */
  async abandon () {
    await this.close()
    if (!this.#hasManifest || this.#isEmpty === false) return
    if (this.#isEmpty) await this.removeLeftovers()
    else if (!await exists(this.#storage, this.path)) await this.removeManifest()
  }

  /** Afterwards `to` is there as a whole, and the manifest is not. */
  async publish () {
    if (await exists(this.#storage, this.to)) throw this.existsError()
    // The log makes another one under its name.
    await remove(this.#storage, this.path + SUMS_SUFFIX)
    await promisesOf(this.#storage).rename(this.path, this.to)
    await promisesOf(this.#storage).syncFolder(path.dirname(this.to))
    await this.removeManifest()
  }

  async removeManifest () {
    await remove(this.#storage, this.#manifestPath)
  }

  get #openLog () {
    return /** @type {ReturnType<typeof OffsetLog>} */ (this.#log)
  }
}

// `bytes`: of the existing manifest; `manifest`: of this conversion.
/** @type {(path: string, bytes: Buffer, manifest: Manifest) => void} */
function checkManifest (path, bytes, manifest) {
  const found = parseManifest(bytes)
  if (found?.version !== MANIFEST_VERSION) {
    throw misuse(`convert: ${path} is not the manifest of a conversion that this version can continue; remove it, or pass resume: false`)
  }
  if (found.sourceSize !== manifest.sourceSize) {
    throw new LogError('ERR_SOURCE_CHANGED', `convert: the source had ${found.sourceSize} bytes when the conversion began, and has ` +
      `${manifest.sourceSize} now; begin anew with resume: false (see ${path})`, { path })
  }
  for (const [name, value] of Object.entries(manifest)) {
    if (found[name] === value) continue
    throw misuse(`convert: the conversion was begun with ${name} ${JSON.stringify(found[name])}, not ` +
      `${JSON.stringify(value)}; use the same ${name}, or begin anew with resume: false (see ${path})`)
  }
}

/** @param {Buffer} bytes */
function parseManifest (bytes) {
  try {
    return parseText(bytes.toString())
  } catch {
    return null
  }
}

exports.Target = Target
