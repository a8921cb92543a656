'use strict'
// A process that appends to a log until it is killed. What was acknowledged goes to the parent through a pipe, at once:
// what the parent has read was acknowledged before the kill.
// Usage, by kill.js: node kill-child.js <JSON of ChildOptions>, with the pipe as file descriptor 3

const fs = require('node:fs')
const { shortWrites } = require('../../packages/offset-log/test/short-writes')
const { FRAMINGS } = require('./framings')
const { KINDS, formatMessage } = require('./kill-messages')
const { createCommits, randomFrom } = require('./kill-records')

const PIPE_FD = 3
// A child whose parent died must not stay.
const LIFE_MS_MAX = 60_000
const DELETE_COUNT_MAX = 40

/**
 * @typedef {object} ChildOptions
 * @property {string} logModule  the package to load
 * @property {string} path  of the log
 * @property {import('./framings').FramingName} framing
 * @property {string} fsync  mode of the log
 * @property {number} seed  of the commits' bytes
 * @property {number} childSeed  of what this child does
 * @property {boolean} isOpenOnly  open, and wait for the end
 * @property {number} firstCommit  the number of the first commit to append
 * @property {number[]} deletable  seqs of records that may be deleted
 * @property {number} appendCount  how many appends are under way at a time
 * @property {number} writeSizeMax  bytes that one call to the system may write; a kill is seldom in the middle of one
 * @property {number} closeAfterMs  when to close the log; 0 for never
 */

/**
 * @param {number} kind
 * @param {number} index
 * @param {number} seq
 */
function report (kind, index = 0, seq = 0) {
  const message = formatMessage({ kind, index, seq })
  let written = 0
  while (written < message.length) {
    try {
      written += fs.writeSync(PIPE_FD, message, written)
    } catch (err) {
      if (/** @type {any} */ (err).code !== 'EAGAIN') throw err
    }
  }
}

/** @param {ChildOptions} options */
function run (options) {
  const { OffsetLog } = require(options.logModule)
  setTimeout(() => fail(new Error('was not killed in time')), LIFE_MS_MAX)
  const load = options.isOpenOnly ? null : new Load(options)
  report(KINDS.OPENING)
  const { fileStorage } = require(require.resolve('@millrace/block-file', { paths: [options.logModule] }))
  const storage = shortWrites(fileStorage, options.writeSizeMax)
  const log = OffsetLog(options.path, { ...FRAMINGS[options.framing].options, fsync: options.fsync, storage })
  log.ready((/** @type {any} */ err) => {
    if (err) return fail(err)
    report(KINDS.OPENED, log.recovery?.size ?? 0, log.since.value)
    load?.begin(log)
  })
}

class Load {
  /** @param {ChildOptions} options */
  constructor ({ framing, fsync, seed, childSeed, firstCommit, deletable, appendCount, closeAfterMs }) {
    this._log = null
    this._isAlways = fsync === 'always'
    this._commitAt = createCommits(seed, framing)
    this._canDelete = FRAMINGS[framing].canDelete
    this._random = randomFrom(childSeed)
    this._nextCommit = firstCommit
    this._deletable = [...deletable]
    this._deleteCount = 0
    this._appendCount = appendCount
    this._closeAfterMs = closeAfterMs
    this._isClosing = false
  }

  /** @param {any} log */
  begin (log) {
    this._log = log
    for (let i = 0; i < this._appendCount; i++) this._appendNext()
    if (this._closeAfterMs > 0) setTimeout(() => this._close(), this._closeAfterMs)
  }

  _appendNext () {
    if (this._isClosing) return
    const number = this._nextCommit++
    const { records, isBatch } = this._commitAt(number)
    this._log.append(isBatch ? records : records[0], (/** @type {any} */ err, /** @type {any} */ seq) => {
      if (err) return fail(err)
      this._checkDurable(this._isAlways ? seq : -1)
      report(KINDS.APPENDED, number, seq)
      this._deletable.push(seq)
      if (this._random(20) === 0 && this._canDelete) this._delete()
      if (this._random(50) === 0 && !this._isClosing) this._sync()
      this._appendNext()
    })
  }

  _sync () {
    const covered = this._log.since.value
    this._log.sync((/** @type {any} */ err) => {
      if (err) return fail(err)
      this._checkDurable(covered)
    })
  }

  /** @param {number} seq  that must be on stable storage now */
  _checkDurable (seq) {
    const { durable, since } = this._log
    if (durable.value >= seq && durable.value <= since.value) return
    fail(new Error(`durable is ${durable.value}: at least ${seq}, at most ${since.value} would be right`))
  }

  _delete () {
    if (this._isClosing) return
    const count = 1 + this._random(this._random(4) === 0 ? DELETE_COUNT_MAX : 2)
    const seqs = Array.from({ length: Math.min(count, this._deletable.length) }, () => this._takeDeletable())
    const index = this._deleteCount++
    // Asked for is reported too: until it is acknowledged a delete may have happened or not.
    for (const seq of seqs) report(KINDS.DELETING, index, seq)
    this._log.del(seqs.length === 1 ? seqs[0] : seqs, (/** @type {any} */ err) => {
      if (err) return fail(err)
      report(KINDS.DELETED, index)
    })
  }

  _takeDeletable () {
    const index = this._random(this._deletable.length)
    const seq = this._deletable[index]
    this._deletable[index] = this._deletable[this._deletable.length - 1]
    this._deletable.pop()
    return seq
  }

  _close () {
    this._isClosing = true
    this._log.close((/** @type {any} */ err) => err ? fail(err) : report(KINDS.CLOSED))
  }
}

/** @param {Error} err */
function fail (err) {
  fs.writeSync(2, `${err.stack}\n`)
  process.exit(1)
}

run(JSON.parse(process.argv[2]))
