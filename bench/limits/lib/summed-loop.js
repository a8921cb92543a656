'use strict'
// The least that a verified scan can be: the file read, a checksum of all of it, compared with nothing, and the way
// from one record to the next.

const fs = require('node:fs')
const { CONTINUED_OFFSET, PAYLOAD_SIZE_OFFSET } = require('@millrace/offset-log/lib/framing/checked/chunk-header')
const { crc32 } = require('@millrace/offset-log/lib/framing/checked/crc32')
const {
  CHUNK_HEADER_SIZE, CHUNK_SIZE_MIN, FRAME_TYPES, HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE
} = require('@millrace/offset-log/lib/framing/checked/layout')

// What the log reads at once.
const SPAN_SIZE = 256 * 1024

/**
 * @param {string} path  of a checked log
 * @returns {import('./shapes').Runner}
 */
function openSummedLoop (path) {
  const loop = new SummedLoop(fs.openSync(path, 'r'))
  return {
    sample () {
      const started = performance.now()
      loop.run()
      return performance.now() - started
    },
    finish () {
      fs.closeSync(loop.fd)
      const { bytes, records, delivered } = loop
      return { bytes, records, delivered }
    }
  }
}

class SummedLoop {
  /** @param {number} fd */
  constructor (fd) {
    this.fd = fd
    this._span = Buffer.allocUnsafeSlow(SPAN_SIZE)
    this._view = new DataView(this._span.buffer)
    this.bytes = 0
    this.records = 0
    /** Bytes of all records. */
    this.delivered = 0
  }

  run () {
    this.bytes = this.records = this.delivered = 0
    for (;;) {
      const size = fs.readSync(this.fd, this._span, 0, SPAN_SIZE, this.bytes)
      if (size === 0) return
      crc32(size === SPAN_SIZE ? this._span : this._span.subarray(0, size))
      for (let start = 0; start < size; start += PAGE_SIZE) {
        if (this.bytes + start >= HEAD_SIZE) this._walk(start, Math.min(size, start + PAGE_SIZE))
      }
      this.bytes += size
    }
  }

  /**
   * @param {number} pageStart  in the span
   * @param {number} pageEnd
   */
  _walk (pageStart, pageEnd) {
    const view = this._view
    let [records, delivered] = [0, 0]
    for (let start = pageStart; pageEnd - start >= CHUNK_SIZE_MIN;) {
      const end = start + CHUNK_HEADER_SIZE + view.getUint16(start + PAYLOAD_SIZE_OFFSET)
      let at = start + CHUNK_HEADER_SIZE + view.getUint16(start + CONTINUED_OFFSET)
      while (end - at >= LENGTH_SIZE) {
        const length = view.getInt32(at)
        if (length >>> 30 !== FRAME_TYPES.RECORD) break // padding
        records++
        delivered += length
        at += LENGTH_SIZE + length
      }
      start = end
    }
    this.records += records
    this.delivered += delivered
  }
}

exports.openSummedLoop = openSummedLoop
