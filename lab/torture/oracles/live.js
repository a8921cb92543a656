'use strict'
// Whether readers beside a writer ever see part of a commit, and under fsync always anything that is not on the disk
// yet: while writes and syncs are held back, everything that reads is asked again and again.

const { SimulatedDisk, faultyStorage } = require('@millrace/testkit')
const { Guard } = require('../guard')
const { readLog } = require('../read-log')
const { seededRandom } = require('../seeded')
const { Violation } = require('../violation')

const FILE = '/folder/log'
const MODES = ['always', 'interval', 'never']
const ROUNDS = 30
const STEPS = 10
// Of the commits; records of the first one are never split over pages.
const SHAPES = [
  { count: 300, size: 200 }, { count: 1, size: 200 }, { count: 12, size: 300 }, { count: 5, size: 9000 },
  { count: 1, size: 40_000 }, { count: 40, size: 2000 }
]
const STAMP_SIZE = 8
// Of the format: where the first record of a chunk is, and where it ends at the latest.
const CHUNK_HEADER_SIZE = 40
const LENGTH_SIZE = 4
const PAGE_SIZE = 16 * 1024

/**
 * @typedef {object} Written  a commit
 * @property {Buffer[]} records
 * @property {number[]} seqs  once it is known to be there
 */

/**
 * @param {import('./run-oracle').OracleOptions} options
 * @returns {Promise<import('./run-oracle').Verdict>}
 */
exports.examine = async ({ logModule, seed }) => {
  const { OffsetLog } = require(logModule)
  const guard = new Guard()
  const figures = { rounds: 0, looks: 0 }
  guard.install()
  try {
    for (let round = 0; round < ROUNDS; round++) {
      figures.rounds++
      const fsync = MODES[round % MODES.length]
      const watch = new Watch({ OffsetLog, fsync, random: seededRandom(seed, round), figures })
      await guard.run(() => watch.run())
    }
    return { failures: [], figures }
  } catch (err) {
    if (!(err instanceof Violation)) throw err
    return { failures: [{ kind: err.kind, message: err.message }], figures }
  } finally {
    guard.restore()
  }
}

class Watch {
  /** @param {{ OffsetLog: any, fsync: string, random: (limit: number) => number, figures: any }} context */
  constructor ({ OffsetLog, fsync, random, figures }) {
    this._random = random
    this._figures = figures
    this._fsync = fsync
    this._isAlways = fsync === 'always'
    this._disk = new SimulatedDisk()
    this._isOver = false
    const storage = faultyStorage(this._disk.storage, (call) => this._decide(call))
    this._log = OffsetLog(FILE, { storage, fsync, cache: random(2) * 2 ** 20 })
    /** @type {Written[]} */
    this._commits = []
    /** How many records the live stream has delivered. */
    this._liveCount = 0
    /** @type {Violation | null} */
    this._failure = null
    /** @type {{ changeCount: number, bytes: Buffer } | null} */
    this._medium = null
  }

  async run () {
    await this._log.ready()
    this._readAlong()
    const looking = this._lookAround().catch((err) => { this._failure ??= err })
    for (let step = 0; step < STEPS && !this._failure; step++) await this._write()
    const count = this._commits.reduce((sum, { records }) => sum + records.length, 0)
    for (let turn = 0; turn < 100 && this._liveCount < count; turn++) await new Promise(setImmediate)
    this._isOver = true
    await looking
    if (this._liveCount < count) this._fail('wrong answer', `a live stream has given ${this._liveCount} of ${count} records`)
    if (this._failure) throw this._failure
    await this._log.close()
  }

  /**
   * Writes are done in parts, and both writes and syncs take a while.
   * @param {{ name: string, length?: number }} call
   */
  _decide ({ name, length = 0 }) {
    if (this._isOver || !['write', 'sync'].includes(name)) return
    const after = turns(this._random(4))
    return name === 'write' && length > 600 ? { after, length: 1 + this._random(length) } : { after }
  }

  async _write () {
    /** @type {{ records: Buffer[], seqs: number[] }} */
    const commit = { records: [], seqs: [] }
    const number = this._commits.push(commit) - 1
    const { count, size } = SHAPES[this._random(SHAPES.length)]
    for (let index = 0; index < count; index++) commit.records.push(this._createRecord(number, index, size))
    const before = this._log.since.value
    const last = await this._log.append(commit.records)
    if (this._log.since.value !== last) this._fail('wrong answer', `append gives ${last}, since is ${this._log.since.value}`)
    commit.seqs = (await this._read({ gt: before }, 'a scan')).map(({ seq }) => seq)
  }

  /**
   * @param {number} commit
   * @param {number} index
   * @param {number} sizeMax
   */
  _createRecord (commit, index, sizeMax) {
    const record = Buffer.alloc(STAMP_SIZE + this._random(sizeMax), 1 + this._random(255))
    record.writeUInt32BE(commit, 0)
    record.writeUInt32BE(index, 4)
    return record
  }

  _readAlong () {
    const read = this._log.stream({ live: true })
    const next = () => read(null, (/** @type {any} */ end, /** @type {any} */ item) => {
      if (end) return
      this._liveCount++
      if (item.seq > this._log.since.value) {
        this._fail('wrong answer', `a live stream gives ${item.seq} while since is ${this._log.since.value}`)
      }
      this._check(item, 'a live stream')
      next()
    })
    next()
  }

  async _lookAround () {
    while (!this._isOver && !this._failure) {
      this._figures.looks++
      await this._lookOnce()
      await new Promise(setImmediate)
    }
  }

  async _lookOnce () {
    const gt = this._settledSeq()
    const since = this._log.since.value
    const found = await this._scan({ gt }, 'a scan')
    const last = found.length > 0 ? found[found.length - 1].seq : gt
    if (since > last) this._fail('wrong answer', `since was ${since}, and the last record is at ${last}`)
    await this._scan({ gt, reverse: true }, 'a scan backwards')
    // Where the record is that is being written, if it is not at the end of a page.
    const { size } = await this._log.stats()
    const seq = size + CHUNK_HEADER_SIZE
    const value = await this._log.get(seq).catch(() => null)
    if (value) this._check({ seq, value }, 'get')
  }

  /** @returns {number}  the last one that is known to be there: what comes after it is looked at */
  _settledSeq () {
    return this._commits.findLast(({ seqs }) => seqs.length > 0)?.seqs.at(-1) ?? -1
  }

  /**
   * @param {{ gt: number, reverse?: boolean }} range
   * @param {string} what
   */
  async _scan (range, what) {
    const items = await this._read(range, what)
    const found = items.map(({ seq, buffer, start, end }) => ({ seq, value: buffer.subarray(start, end) }))
    if (range.reverse) found.reverse()
    for (const item of found) this._check(item, what)
    for (const [number, { records }] of this._commits.entries()) {
      const count = found.filter(({ value }) => value.readUInt32BE(0) === number).length
      if (count === 0 || count === records.length) continue
      this._fail('half a commit', `${what} sees ${count} of the ${records.length} records of commit ${number}`)
    }
    return found
  }

  /**
   * @param {{ gt: number, reverse?: boolean }} range
   * @param {string} what
   */
  async _read (range, what) {
    try {
      return await readLog(this._log, range)
    } catch (err) {
      this._fail('wrong answer', `${what} beside a writer fails: ${/** @type {Error} */ (err).stack}`)
      throw this._failure
    }
  }

  /**
   * @param {{ seq: number, value: Buffer }} item  that somebody could read
   * @param {string} what
   */
  _check ({ seq, value }, what) {
    const number = value.readUInt32BE(0)
    const index = value.readUInt32BE(4)
    const expected = this._commits[number]?.records[index]
    if (!expected?.equals(value)) return this._fail('wrong answer', `${what} gives a record at ${seq} that was not appended`)
    if (!this._isAlways) return
    // As much of it as lies on its first page.
    const dataStart = seq + LENGTH_SIZE
    const size = Math.min(value.length, PAGE_SIZE - dataStart % PAGE_SIZE)
    if (this._readMedium().subarray(dataStart, dataStart + size).equals(value.subarray(0, size))) return
    this._fail('shown too early', `${what} gives record ${index} of commit ${number}, which is not on the disk yet`)
  }

  _readMedium () {
    const { changeCount } = this._disk
    if (this._medium?.changeCount !== changeCount) {
      this._medium = { changeCount, bytes: this._disk.crash(() => 0).read(FILE) }
    }
    return this._medium.bytes
  }

  /**
   * @param {string} kind
   * @param {string} message
   */
  _fail (kind, message) {
    this._failure ??= new Violation(kind, `fsync ${this._fsync}: ${message}`)
  }
}

/** @param {number} count */
async function turns (count) {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate)
}
