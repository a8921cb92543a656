'use strict'
// Follows a checked log that another process writes: what was committed behind the end that is known, which deletions
// are under way, what is on stable storage. Nothing of a commit counts before its last chunk is whole.

const { LogError } = require('@millrace/errors')
const { trampoline } = require('@millrace/flow')
const {
  ChunkCursor, ENTRY, FRAME_LENGTH_MASK, FRAME_TYPES, HEAD_SIZE, LENGTH_SIZE, haveSameJournals, readHead,
  rememberErasures
} = require('@millrace/framing')
const { RecordRun } = require('../record-run')

/**
 * @typedef {import('../checked-store').CheckedStore} CheckedStore
 * @typedef {import('@millrace/framing').Tail} Tail
 * @typedef {import('../follower').News} News
 * @typedef {(err: Error | null, news?: News) => void} Done
 */

class TailFollower {
  /**
   * @param {CheckedStore} store
   * @param {Buffer} head  the bytes that the log was opened by
   */
  constructor (store, head) {
    this._store = store
    this._window = store.blocks.createSpanReader()
    this._cursor = new ChunkCursor(this._window, { ...store.rules, verify: true }, store.unfinished, HEAD_SIZE)
    /** The head as it was read last. */
    this._head = head
    this._durable = store.durableLast
    /** @type {import('@millrace/framing').Slot | null} one that speaks of what was not yet found */
    this._pendingSlot = null
  }

  /**
   * The file's size must be known anew.
   * @param {Done} cb  what is there now is known to the store
   */
  follow (cb) {
    this._followHead((err) => {
      if (err) return cb(err)
      this._walk((err, tail, last = -1) => {
        if (err || !tail) return cb(err)
        this._settle(tail, last)
        cb(null, { since: this._store.file.writtenSince, durable: this._durable })
      })
    })
  }

  /** @param {(err: Error | null) => void} cb */
  _followHead (cb) {
    const bytes = Buffer.allocUnsafe(HEAD_SIZE)
    this._store.blocks.readInto(bytes, 0, (err) => {
      if (err) return cb(err)
      const before = this._head
      if (before.equals(bytes)) return cb(null)
      this._head = bytes
      this._readHead(bytes, before)
      cb(null)
    })
  }

  /**
   * @param {Buffer} bytes
   * @param {Buffer} before
   */
  _readHead (bytes, before) {
    const store = this._store
    const head = readHead(bytes, store.path)
    // A part that is being written cannot be read: the next look finds it whole.
    if (head instanceof LogError) return
    this._pendingSlot = head.slot
    if (haveSameJournals(before, bytes)) return
    // Something was deleted, or is being: all that was kept may be from before.
    store.unfinished.clear()
    rememberErasures(store, head.journals)
    store.erasedCount = null
    store.forget()
  }

  /**
   * @param {(err: Error | null, tail?: Tail, last?: number) => void} cb  `last` is the seq of the last record that is
   *   new, -1 if none is
   */
  _walk (cb) {
    const { _cursor: cursor, _store: store } = this
    const { blocks, tail: before } = store
    const limit = blocks.size.value
    /** @type {Tail} */
    let tail = before
    let last = -1
    let lastSeen = -1
    /** @type {Array<() => void>} */
    let skips = []
    cursor.resume(before)
    trampoline((next) => {
      const { shift } = cursor
      const status = cursor.enter(limit)
      if (status === ENTRY.NEEDS_BYTES) {
        return this._window.loadForward(cursor.at, cursor.need, limit, (err) => {
          cursor.noteLoaded(err)
          if (err) cb(err)
          else next()
        })
      }
      // What is not whole is being written, or was when its writer died: it may be whole the next time.
      if (status !== ENTRY.ENTERED) return cb(null, tail, last)
      lastSeen = Math.max(lastSeen, findLastRecord(cursor))
      const { header, chunkStart, chunkEnd } = cursor
      const { shift: shiftNow } = cursor
      if (header.isBehindLoss) skips.push(() => store.noteSkipped({ end: chunkStart, shift }, shiftNow))
      if (!header.commitContinues) {
        tail = { end: chunkEnd, shift: cursor.shift, chainCrc: header.chainCrc }
        last = lastSeen
        for (const note of skips) note()
        skips = []
      }
      next()
    })
  }

  /**
   * @param {Tail} tail
   * @param {number} last
   */
  _settle (tail, last) {
    const store = this._store
    if (tail.end > store.tail.end) {
      // The page that the log ended in has bytes now that the cached one has not.
      store.pages.drop(store.tail.end, tail.end)
      store.tail = tail
      store.setEnd(tail)
    }
    if (last !== -1) store.last = store.file.writtenSince = last
    const slot = this._pendingSlot
    if (!slot || slot.end > tail.end) return
    this._durable = Math.max(this._durable, slot.last)
    this._pendingSlot = null
  }
}

/**
 * Passes the frames of the chunk that was entered, and leaves the cursor behind it.
 * @param {ChunkCursor} cursor
 * @returns {number}  seq of the last record that begins in the chunk and is not deleted, -1 if none
 */
function findLastRecord (cursor) {
  const { view, window: { start }, chunkEnd } = cursor
  let seq = -1
  while (chunkEnd - cursor.at >= LENGTH_SIZE) {
    const word = view.getUint32(cursor.at - start)
    const size = word & FRAME_LENGTH_MASK
    const type = word >>> 30
    if (type === FRAME_TYPES.PADDING) break
    if (type === FRAME_TYPES.RECORD) seq = cursor.position
    if (type === FRAME_TYPES.GAP) cursor.passGap(size)
    else cursor.at += LENGTH_SIZE + size
  }
  return seq
}

// Follows a legacy log that another process writes: which whole frames there are behind the end that is known.

/**
 * @typedef {import('../offset-store').OffsetStore} OffsetStore
 */

/**
 * Nothing in the bytes marks a commit: a batch may be seen in parts.
 * @param {OffsetStore} store  gets the new end
 * @param {(err: Error | null, news?: News) => void} cb
 */
function followFrames (store, cb) {
  const { blocks, framing, file } = store
  const limit = blocks.size.value
  const window = blocks.createSpanReader()
  const chunk = new RecordRun()
  const walk = /** @type {import('@millrace/framing').Walk} */ ({
    position: store.end, need: framing.overhead, error: null, maxRecordSize: Infinity
  })
  let since = file.writtenSince
  trampoline((next) => {
    // What is not whole is being written, or was when its writer died: it may be whole the next time.
    if (walk.error !== null || walk.position >= limit) {
      store.setEnd(walk.position)
      file.writtenSince = since
      return cb(null, { since, durable: store.durableLast })
    }
    window.loadForward(walk.position, Math.max(walk.need, framing.overhead), limit, (err) => {
      if (err) return cb(err)
      chunk.clear()
      framing.walkForward(window, new DataView(window.buffer.buffer), walk, Infinity, limit, chunk)
      if (chunk.count > 0) since = chunk.seqs[chunk.count - 1]
      next()
    })
  })
}

exports.TailFollower = TailFollower
exports.followFrames = followFrames
