'use strict'
// Turns concurrent appends into few writes: while one is under way the next ones gather, and go out together.

const { setIsolated } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { tooLargeToAppend } = require('./record-errors')

// Beyond this a larger write is no faster, and the callers at its front would wait for those at its end.
const WRITE_SIZE_MAX = 1024 * 1024
// A batch is one write, from one buffer.
const BATCH_SIZE_MAX = 2 ** 31

/**
 * @typedef {import('./log-file').LogFile} LogFile
 * @typedef {(err: Error | null, seq?: number) => void} Done
 * @typedef {{ records: Buffer[], size: number, done: Done }} Append  `size` with the frames around the records
 */

class Appender {
  /** @param {LogFile} file */
  constructor (file) {
    this._file = file
    /** @type {Append[]} */
    this._waiting = []
    this._isBusy = false
    /** @type {Array<() => void>} */
    this._onIdle = []
  }

  /**
   * @param {Buffer[]} records  at least one; they must not change until `done` runs
   * @param {Done} done  gets the seq of the last record
   */
  append (records, done) {
    const { framing } = this._file
    const size = records.reduce((total, { length }) => total + length + framing.overhead, 0)
    if (size > BATCH_SIZE_MAX) return done(tooLargeToAppend('a batch', size, BATCH_SIZE_MAX))
    this._waiting.push({ records, size, done })
    if (this._isBusy) return
    this._isBusy = true
    // Calls of the same turn are taken together.
    process.nextTick(() => this._writeNext())
  }

  /** @param {() => void} cb  runs once nothing is waiting or being written */
  whenIdle (cb) {
    if (this._isBusy) this._onIdle.push(cb)
    else cb()
  }

  _writeNext () {
    const group = this._takeGroup()
    if (group.length === 0) {
      this._isBusy = false
      for (const cb of this._onIdle.splice(0)) cb()
      return
    }
    const { blocks, since } = this._file
    const { bytes, seqs } = this._frame(group)
    blocks.append(bytes, (err) => {
      if (!err) {
        this._file.end += bytes.length
        setIsolated(since, seqs[seqs.length - 1])
        // Not from here: what a reader does with the record must not hold up its writer.
        for (const stream of this._file.waitingStreams) process.nextTick(() => stream.wake())
      }
      group.forEach(({ done }, index) => callLater(done, err, seqs[index]))
      process.nextTick(() => this._writeNext())
    })
  }

  /** What goes into the next write. An append that does not fit into the file any more fails here, alone. */
  _takeGroup () {
    const { framing, end, blocks } = this._file
    const group = []
    let size = 0
    let taken = 0
    for (const append of this._waiting) {
      if (size > 0 && size + append.size > WRITE_SIZE_MAX) break
      taken++
      if (end + size + append.size > framing.fileSizeMax) {
        callLater(append.done, new LogError('ERR_LOG_FULL', `append: ${blocks.path} has ${end + size} bytes and cannot ` +
          `grow by ${append.size} in ${framing.name}; copy it into a log with a wider framing`, { path: blocks.path }))
        continue
      }
      group.push(append)
      size += append.size
    }
    this._waiting = this._waiting.slice(taken)
    return group
  }

  /** @param {Append[]} group */
  _frame (group) {
    const { framing, end } = this._file
    const bytes = Buffer.allocUnsafe(group.reduce((total, { size }) => total + size, 0))
    let offset = 0
    const seqs = group.map(({ records, size }) => {
      const seq = framing.writeFrames(records, end + offset, bytes, offset)
      offset += size
      return seq
    })
    return { bytes, seqs }
  }
}

/**
 * One caller's callback that throws must not keep the others from theirs.
 * @param {Done} done
 * @param {Error | null} err
 * @param {number} [seq]
 */
function callLater (done, err, seq) {
  if (err) process.nextTick(done, err)
  else process.nextTick(done, null, seq)
}

exports.Appender = Appender
