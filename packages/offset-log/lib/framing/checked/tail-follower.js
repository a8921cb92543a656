'use strict'
// Follows a checked log that another process writes: what was committed behind the end that is known, which deletions
// are under way, what is on stable storage. Nothing of a commit counts before its last chunk is whole.

const { LogError } = require('@millrace/errors')
const { trampoline } = require('@millrace/flow')
const { ChunkCursor, ENTRY } = require('./chunk-cursor')
const { readHead } = require('./head')
const { FRAME_LENGTH_MASK, FRAME_TYPES, HEAD_SIZE, JOURNAL_POSITIONS, JOURNAL_SIZE, LENGTH_SIZE } = require('./layout')
const { rememberErasures } = require('./eraser')

/**
 * @typedef {import('./checked-store').CheckedStore} CheckedStore
 * @typedef {import('./pack-commit').Tail} Tail
 * @typedef {import('../../follower').News} News
 * @typedef {(err: Error | null, news?: News) => void} Done
 */

class TailFollower {
  /**
   * @param {CheckedStore} store
   * @param {Buffer} head  the bytes that the log was opened by
   */
  constructor (store, head) {
    this._store = store
    this._cursor = new ChunkCursor(store.blocks, { ...store.rules, verify: true }, store.unfinished, HEAD_SIZE)
    /** The head as it was read last. */
    this._head = head
    this._durable = store.durableLast
    /** @type {import('./head').Slot | null} one that speaks of what was not yet found */
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
    let jumps = []
    cursor.resume(before)
    trampoline((next) => {
      const { shift } = cursor
      const status = cursor.enter(limit)
      if (status === ENTRY.NEEDS_BYTES) return cursor.load(limit, (err) => err ? cb(err) : next())
      // What is not whole is being written, or was when its writer died: it may be whole the next time.
      if (status !== ENTRY.ENTERED) return cb(null, tail, last)
      lastSeen = Math.max(lastSeen, findLastRecord(cursor))
      const { header, chunkStart, chunkEnd } = cursor
      const { shift: shiftNow } = cursor
      if (header.isBehindLoss) jumps.push(() => store.noteJump({ end: chunkStart, shift }, shiftNow))
      if (!header.commitContinues) {
        tail = { end: chunkEnd, shift: cursor.shift, identity: header.identity }
        last = lastSeen
        for (const note of jumps) note()
        jumps = []
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

/**
 * @param {Buffer} a  a head
 * @param {Buffer} b  another one
 */
function haveSameJournals (a, b) {
  const [start] = JOURNAL_POSITIONS
  const end = JOURNAL_POSITIONS[JOURNAL_POSITIONS.length - 1] + JOURNAL_SIZE
  return a.compare(b, start, end, start, end) === 0
}

exports.TailFollower = TailFollower
