'use strict'
// Sound logs to start from: as writers left them, at every moment of a session, and made by hand from
// docs/internals/format.md.

const { crc32 } = require('node:zlib')
const { LogBuilder, buildRandomLog } = require('../../../packages/framing/test/checked-builder')
const { MemoryStorage } = require('../memory-storage')
const { makeNoise } = require('../mutate-bytes')
const { END_SIZES } = require('./offset-image')

const FILE = '/log'
const FSYNC_MODES = ['always', 'interval', 'never']

/**
 * @typedef {(limit: number) => number} Random
 * @typedef {[seq: number, size: number, crc: number]} Known  a record that may be read
 */

/**
 * @typedef {object} Base
 * @property {string} framing
 * @property {Buffer} bytes
 * @property {Known[]} known  all that was ever appended to it
 */

/**
 * @param {Random} random
 * @returns {Base}
 */
function buildByHand (random) {
  const builder = random(6) === 0 ? buildRandomLog(random, { steps: 1 + random(6) }) : buildSmall(random)
  const known = builder.frames.filter(({ isErased }) => !isErased).map(({ seq, data }) => describe(seq, data))
  return { framing: 'checked', bytes: builder.build(), known }
}

/**
 * All that the format allows, but no pages to fill: what is read a few times in millions of cases must be small.
 * @param {Random} random
 * @returns {LogBuilder}
 */
function buildSmall (random) {
  const hasGaps = random(2) === 0
  const builder = new LogBuilder({ salt: random(2 ** 32), hasGaps, base: 32768 + (random(2) ? random(2 ** 31) : 0) })
  for (let chunks = 1 + random(6); chunks > 0; chunks--) {
    if (hasGaps && random(3) === 0) builder.jump(random(random(4) === 0 ? 2 ** 32 : 1000))
    builder.open()
    for (let frames = random(5); frames > 0; frames--) {
      if (hasGaps && random(4) === 0) builder.gap(random(random(3) === 0 ? 2 ** 30 : 500))
      else builder.record(makeNoise(random, random(80)), { isErased: random(5) === 0 })
    }
    builder.close({ commitContinues: chunks > 1 && random(3) === 0 })
  }
  return builder
}

/**
 * A session of a writer, and what its file was at some moments.
 * @param {Random} random
 * @param {any} library
 * @param {string} framing
 * @returns {Promise<Base[]>}
 */
async function recordSession (random, library, framing) {
  const session = new Session(random, library.load('offset-log').OffsetLog, framing)
  await session.run()
  return session.bases
}

class Session {
  /**
   * @param {Random} random
   * @param {any} OffsetLog
   * @param {string} framing
   */
  constructor (random, OffsetLog, framing) {
    this._random = random
    this._OffsetLog = OffsetLog
    this._framing = framing
    this._fsync = FSYNC_MODES[random(FSYNC_MODES.length)]
    /** Shared by all bases: what is appended later is not in earlier ones, and does no harm there. @type {Known[]} */
    this._known = []
    /** @type {Base[]} */
    this.bases = []
    this._storage = this._createStorage()
    this._log = this._open()
  }

  async run () {
    for (let steps = 2 + this._random(8); steps > 0; steps--) await this._step()
    await this._log.close()
    this._keep()
    // An empty file is no log.
    this.bases = this.bases.filter(({ bytes }) => bytes.length > 0)
  }

  _createStorage () {
    // Now and then, since each is a copy.
    return new MemoryStorage({ onWritten: () => { if (this._random(4) === 0) this._keep() } })
  }

  _open () {
    const { _framing: framing, _fsync: fsync, _storage: storage } = this
    return this._OffsetLog(FILE, { framing, fsync, storage, cache: 65536 })
  }

  _keep () {
    // A checked log is made aside.
    if (!this._storage.list().includes(FILE)) return
    this.bases.push({ framing: this._framing, bytes: this._storage.read(FILE), known: this._known })
  }

  async _step () {
    switch (this._random(9)) {
      case 0: return this._log.sync()
      case 1: case 2: return this._delete()
      case 3: await this._log.close(); this._log = this._open(); return
      case 4: return this._crash()
      default: return this._append()
    }
  }

  async _append () {
    await this._log.append(Array.from({ length: 1 + this._random(3) }, () => makeRecord(this._random, this._framing)))
    try {
      await this._noteRecords()
    } catch (err) {
      // A crash may have taken what was on stable storage, and a deletion in it: that shows when all is read.
      if (/** @type {any} */ (err).code !== 'ERR_LOG_CORRUPT') throw err
      await this._log.close()
      this._beginAnew()
    }
  }

  async _noteRecords () {
    for await (const { seq, value } of this._log.stream()) {
      const [, size, crc] = describe(seq, value)
      const isNew = !this._known.some((known) => known[0] === seq && known[1] === size && known[2] === crc)
      if (isNew) this._known.push([seq, size, crc])
    }
  }

  async _delete () {
    await this._log.ready()
    if (this._known.length === 0) return
    const [seq] = this._known[this._random(this._known.length)]
    // It may be gone since a crash.
    await this._log.del(seq).catch(() => {})
  }

  /** The writer is gone, and perhaps a part of what it wrote last. */
  async _crash () {
    await this._log.ready()
    const bytes = this._storage.read(FILE)
    const cut = this._random(3) === 0 ? this._random(60) : 0
    const mayCut = bytes.length - cut > (this._framing === 'checked' ? 32768 : 64)
    this._storage = this._createStorage()
    this._storage.put(FILE, mayCut ? Buffer.from(bytes.subarray(0, bytes.length - cut)) : bytes)
    this._log = this._open()
    const isOpen = await this._log.ready().then(() => true, () => false)
    if (!isOpen || this._log.recovery?.damage.length) this._beginAnew()
  }

  /** What is damaged takes nothing more: it goes on with a new one. */
  _beginAnew () {
    this._storage = this._createStorage()
    this._log = this._open()
  }
}

/**
 * @param {Random} random
 * @param {string} framing
 */
function makeRecord (random, framing) {
  const size = random(60) === 0 ? random(20000) : random(100)
  const bytes = makeNoise(random, size)
  if (framing in END_SIZES) return Buffer.concat([Buffer.from([1 + random(255)]), bytes])
  return random(6) === 0 ? bytes.fill(0) : bytes
}

/**
 * @param {number} seq
 * @param {Buffer} data
 * @returns {Known}
 */
function describe (seq, data) {
  return [seq, data.length, crc32(data)]
}

exports.buildByHand = buildByHand
exports.describe = describe
exports.recordSession = recordSession
