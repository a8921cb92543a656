'use strict'
// Writes what is left of a log into a new file beside it, each record with the seq that it had. The log may grow
// meanwhile: `copyTo` is called again for what was appended, and at last once nothing more is.

const { BlockFile } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { eachInOrder, trampoline } = require('@millrace/flow')
const { Repacker, SLOT_POSITIONS, encodeHead, encodeSlot } = require('@millrace/framing')

// Pages are gathered into writes of this size.
const WRITE_SIZE = 1024 * 1024

/**
 * @typedef {import('./checked-store').CheckedStore} CheckedStore
 * @typedef {(err: Error | null) => void} Done
 */

/** Records, and what was lost between them, on their way into new pages. */
class Repacking {
  /**
   * @param {CheckedStore} store
   * @param {(page: Buffer) => void} onPage
   */
  constructor ({ header: { salt, base }, path, epoch }, onPage) {
    this._repacker = new Repacker({ salt, base, path, epoch }, onPage)
    /** Unclean ends that were read. @type {Array<{ end: number, position: number }>} */
    this._losses = []
    this._lastPosition = -1
    /**
     * @param {number} end
     * @param {number} position
     */
    this.onLoss = (end, position) => {
      // What is read again is met again.
      if (position <= this._lastPosition) return
      this._lastPosition = position
      this._losses.push({ end, position })
    }
  }

  /** @param {import('./record-run').RecordRun} chunk */
  add ({ buffer, seqs, starts, ends, count }) {
    for (let index = 0; index < count; index++) {
      if (this._losses.length > 0) this._keepLosses(seqs[index])
      this._repacker.add(seqs[index], buffer, starts[index], ends[index])
    }
  }

  /** @param {number} logicalEnd */
  finish (logicalEnd) {
    this._keepLosses(Infinity)
    return this._repacker.finish(logicalEnd)
  }

  /** @param {number} seq */
  _keepLosses (seq) {
    for (let [loss] = this._losses; loss && loss.position < seq; [loss] = this._losses) {
      this._repacker.skipSeqs(loss.end, loss.position)
      this._losses.shift()
    }
  }
}

class Compactor {
  /**
   * @param {CheckedStore} store
   * @param {string} path  of the new file
   */
  constructor (store, path) {
    this._store = store
    this._path = path
    /** @type {ReturnType<typeof BlockFile> | null} */
    this._created = null
    this._repacking = new Repacking(store, (page) => this._take(page))
    /** Seqs below it are copied. */
    this._copiedEnd = 0
    /** @type {Buffer[]} */
    this._pages = []
    this._pagesSize = 0
  }

  /** How many bytes of the log are copied, as logical positions go. */
  get copiedEnd () {
    return this._copiedEnd
  }

  /** @param {Done} cb */
  begin (cb) {
    const { header, file: { storage } } = this._store
    this._created = BlockFile(this._path, { storage, cache: 0 })
    this._target.ready((err) => {
      if (err) return cb(err)
      if (this._target.size.value > 0) return cb(inTheWay(this._path))
      this._target.append(encodeHead({ ...header, hasGaps: true }), (err) => {
        // Before any record is copied: by its head it is known to be a leftover, when the power goes.
        if (err) cb(err)
        else this._target.sync(cb)
      })
    })
  }

  get _target () {
    return /** @type {ReturnType<typeof BlockFile>} */ (this._created)
  }

  /**
   * @param {number} logEnd  a logical position: the records before it are copied
   * @param {() => boolean} goesOn  asked now and then; false ends it early
   * @param {Done} cb
   */
  copyTo (logEnd, goesOn, cb) {
    const { onLoss } = this._repacking
    eachChunk(this._store, { from: this._copiedEnd, stop: logEnd, onLoss }, (chunk, next) => {
      this._repacking.add(chunk)
      this._copiedEnd = chunk.seqs[chunk.count - 1] + 1
      if (!goesOn()) cb(null)
      else if (this._pagesSize < WRITE_SIZE) next()
      else this._write((err) => err ? cb(err) : next())
    }, (err) => {
      if (!err) this._copiedEnd = logEnd
      cb(err)
    })
  }

  /**
   * Once all is copied and nothing is appended.
   * @param {Done} cb  the new file is whole, on stable storage, and closed
   */
  finish (cb) {
    const { tail: { end, shift }, reservation } = this._store
    let tail
    try {
      tail = this._repacking.finish(end + shift)
    } catch (err) {
      return cb(/** @type {Error} */ (err))
    }
    const { rules: { salt }, epoch, last } = this._store
    const { end: newEnd, shift: newShift, chainCrc } = tail
    const logicalEnd = newEnd + newShift
    const reservedEnd = reservation.reservedEndFor(logicalEnd, false)
    const slot = { sequence: 2, epoch, end: newEnd, logicalEnd, last, erasedCount: 0, chainCrc, reservedEnd }
    /** @type {Array<(done: Done) => void>} */
    const steps = [
      (done) => this._write(done),
      (done) => this._target.sync(done),
      (done) => this._target.write(encodeSlot(slot, salt), SLOT_POSITIONS[0], done),
      (done) => this._target.sync(done),
      (done) => this._target.close(done)
    ]
    eachInOrder(steps, (step, done) => step(done), cb)
  }

  /**
   * After a failure: the new file is of no use.
   * @param {() => void} cb
   */
  close (cb) {
    if (this._created) this._created.close(() => cb())
    else cb()
  }

  /** @param {Buffer} page */
  _take (page) {
    this._pages.push(Buffer.from(page))
    this._pagesSize += page.length
  }

  /** @param {Done} cb */
  _write (cb) {
    const bytes = Buffer.concat(this._pages, this._pagesSize)
    this._pages = []
    this._pagesSize = 0
    if (bytes.length === 0) return cb(null)
    this._target.append(bytes, (err) => cb(err))
  }
}

/**
 * @param {CheckedStore} store
 * @param {(err: Error | null, size?: number) => void} cb  what the file would be after a compaction, in bytes
 */
function measureCompacted (store, cb) {
  const repacking = new Repacking(store, () => {})
  const { tail: { end, shift } } = store
  eachChunk(store, { from: 0, stop: store.logEnd, onLoss: repacking.onLoss }, (chunk, next) => {
    repacking.add(chunk)
    next()
  }, (err) => {
    if (err) return cb(err)
    try {
      cb(null, repacking.finish(end + shift).end)
    } catch (err) {
      cb(/** @type {Error} */ (err))
    }
  })
}

/** @param {string} path */
function inTheWay (path) {
  return new LogError('EEXIST', `compact: ${path} is in the way, and not of this log; move it elsewhere`, { path })
}

/**
 * @param {CheckedStore} store
 * @param {{ from: number, stop: number, onLoss: (end: number, position: number) => void }} wanted
 * @param {(chunk: import('./record-run').RecordRun, next: () => void) => void} visit
 * @param {Done} cb
 */
function eachChunk (store, wanted, visit, cb) {
  const { stop: logEnd } = wanted
  // New checksums would bless what is damaged, and no record is too large to be kept.
  const range = /** @type {import('./read/open-reader').StoreRange} */ ({ ...wanted, reverse: false, isStrict: true })
  store.openReader(range, null, (err, reader) => {
    if (err || !reader) return cb(err)
    trampoline((next) => {
      reader.next(logEnd, (err, chunk) => {
        if (err || !chunk || chunk.count === 0) return cb(err)
        try {
          visit(chunk, next)
        } catch (err) {
          cb(/** @type {Error} */ (err))
        }
      })
    })
  })
}

exports.Compactor = Compactor
exports.measureCompacted = measureCompacted
