'use strict'
// A file that is being made: bytes are appended, what was appended can be changed or cut off again, all in the order in
// which it was asked for. Nothing is written before `drain`, so that whoever goes through a log need not wait at each.

const { trampoline } = require('@millrace/flow')
const { guard } = require('./guard')

const BUFFER_SIZE = 1024 * 1024
const PADDING = Buffer.alloc(64)

/**
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 * @typedef {(err: Error | null) => void} Done
 */

class Output {
  /** @param {BlockFile} blocks  open and empty */
  constructor (blocks) {
    this._blocks = blocks
    /** Where the next byte goes. */
    this.end = 0
    /** @type {Array<(cb: Done) => void>} what is to be done, in order */
    this._work = []
    /** @type {Buffer | null} what was appended last */
    this._buffer = null
    this._used = 0
    /** @type {Buffer | null} one that was written */
    this._spare = null
  }

  /** Whether there is enough to be done. */
  get isFull () {
    return this._work.length > 0
  }

  /** @param {Buffer} bytes  copied */
  append (bytes) {
    this.end += bytes.length
    for (let done = 0; done < bytes.length;) {
      const buffer = this._takeBuffer()
      const count = bytes.copy(buffer, this._used, done)
      done += count
      this._used += count
      if (this._used === BUFFER_SIZE) this._seal()
    }
  }

  /** @param {number} end  where the next byte goes; there are zeros up to there */
  zerosTo (end) {
    let size = end - this.end
    if (size < PADDING.length) return this.append(PADDING.subarray(0, size))
    this.fill(size, () => {
      const bytes = Buffer.alloc(Math.min(size, BUFFER_SIZE))
      size -= bytes.length
      return bytes
    })
  }

  /**
   * Appends what is made when it is written.
   * @param {number} size
   * @param {() => Buffer} make  the next part, until there are so many bytes
   */
  fill (size, make) {
    this.end += size
    this._push((cb) => {
      trampoline((next) => {
        if (size === 0) return cb(null)
        guard(cb, () => {
          const bytes = make()
          size -= bytes.length
          this._blocks.append(bytes, (err) => err ? cb(err) : next())
        })
      })
    })
  }

  /**
   * Appends bytes of another file.
   * @param {BlockFile} source
   * @param {number} start
   * @param {number} end
   */
  copy (source, start, end) {
    this.end += end - start
    this._push((cb) => {
      trampoline((next) => {
        if (start === end) return cb(null)
        const bytes = Buffer.allocUnsafe(Math.min(BUFFER_SIZE, end - start))
        source.readInto(bytes, start, (err) => {
          if (err) return cb(err)
          start += bytes.length
          this._blocks.append(bytes, (err) => err ? cb(err) : next())
        })
      })
    })
  }

  /**
   * Changes what was appended before.
   * @param {number} start
   * @param {(head: Buffer) => number} measure  how many bytes there are to change, from the first `headSize`
   * @param {number} headSize
   * @param {(bytes: Buffer) => void} edit  in place
   */
  change (start, headSize, measure, edit) {
    this._push((cb) => {
      const head = Buffer.alloc(headSize)
      this._blocks.readInto(head, start, (err) => {
        if (err) return cb(err)
        const bytes = Buffer.alloc(measure(head))
        this._blocks.readInto(bytes, start, (err) => {
          if (err) return cb(err)
          guard(cb, () => {
            edit(bytes)
            this._blocks.write(bytes, start, cb)
          })
        })
      })
    })
  }

  /**
   * @param {number} start
   * @param {Buffer} bytes  in place of those that were appended
   */
  put (start, bytes) {
    this._push((cb) => this._blocks.write(bytes, start, cb))
  }

  /** @param {number} size  what was appended behind it is gone */
  cut (size) {
    if (size === this.end) return
    this.end = size
    this._push((cb) => this._blocks.truncate(size, cb))
  }

  /** @param {Done} cb  what made it full is done */
  drain (cb) {
    trampoline((next) => {
      const work = this._work.shift()
      if (work === undefined) return cb(null)
      work((err) => err ? cb(err) : next())
    })
  }

  /** @param {Done} cb  all is done */
  flush (cb) {
    this._seal()
    this.drain(cb)
  }

  /** @param {Done} cb  all is on stable storage, and the file closed */
  close (cb) {
    this.flush((err) => {
      if (err) return cb(err)
      this._blocks.sync((err) => err ? cb(err) : this._blocks.close(cb))
    })
  }

  /** @param {Done} cb  whatever is there is of no use */
  abandon (cb) {
    this._work = []
    this._blocks.close(cb)
  }

  _takeBuffer () {
    this._buffer ??= this._spare ?? Buffer.allocUnsafeSlow(BUFFER_SIZE)
    if (this._buffer === this._spare) this._spare = null
    return this._buffer
  }

  /** @param {(cb: Done) => void} work */
  _push (work) {
    this._seal()
    this._work.push(work)
  }

  _seal () {
    const { _buffer: buffer, _used: used } = this
    if (buffer === null || used === 0) return
    this._buffer = null
    this._used = 0
    this._work.push((cb) => this._blocks.append(buffer.subarray(0, used), (err) => {
      this._spare = buffer
      cb(err)
    }))
  }
}

exports.Output = Output
