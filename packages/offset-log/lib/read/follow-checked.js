'use strict'
// Follows a checked log that another process writes: finds new commits, deletions in progress, and how far the log is
// durable. A commit counts only when its last chunk is whole.

const { LogError } = require('@millrace/errors')
const { trampoline } = require('@millrace/flow')
const {
  ChunkCursor, ENTRY, FRAME_LENGTH_MASK, FRAME_TYPES, HEAD_SIZE, LENGTH_SIZE, countErased, haveSameJournals, readHead,
  rememberErasures
} = require('@millrace/framing')
const { isWordsRecord } = require('../file-words')

/**
 * @typedef {import('../checked-store').CheckedStore} CheckedStore
 * @typedef {import('@millrace/framing').Tail} Tail
 * @typedef {import('../follower').News} News
 * @typedef {(err: Error | null, news?: News) => void} Done
 */

class TailFollower {
  /**
   * @param {CheckedStore} store
   * @param {Buffer} head  the bytes of the head when the log was opened
   */
  constructor (store, head) {
    this._store = store
    this._window = store.blocks.createSpanReader()
    this._cursor = new ChunkCursor(this._window, { ...store.rules, verify: true }, store.unfinished, HEAD_SIZE)
    /** The bytes of the head at the last look. */
    this._head = head
    /** How many records were deleted at the last look; null if unknown. */
    this._erasedCount = store.erasedCount
    this._durable = store.durableLast
    /** A slot whose end has not been found yet. @type {import('@millrace/framing').Slot | null} */
    this._pendingSlot = null
  }

  /**
   * Refresh the file's size first.
   * @param {Done} cb  the store shows what is in the file
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

  /** @type {(bytes: Buffer, before: Buffer) => void} */
  _readHead (bytes, before) {
    const store = this._store
    const head = readHead(bytes, store.path)
    // The head cannot be read while it is being written. The next look finds it whole.
    if (head instanceof LogError) return
    this._pendingSlot = head.slot
    // A deletion may have begun and ended since the last look: then only the count tells.
    const erasedCount = countErased(head) ?? this._erasedCount
    const isSame = haveSameJournals(before, bytes) && (this._erasedCount ?? erasedCount) === erasedCount
    this._erasedCount = erasedCount
    if (isSame) return
    // There is a new deletion, so any cached byte may be outdated.
    store.unfinished.clear()
    rememberErasures(store, head.journals)
    store.erasedCount = null
    store.forget()
  }

  /**
   * @param {(err: Error | null, tail?: Tail, last?: number) => void} cb  `last`: seq of the last new record, -1 if none
   */
  _walk (cb) {
    const { _cursor: cursor, _store: store } = this
    const { blocks, tail: before } = store
    const limit = blocks.size.value
    /** @type {Tail} */
    let tail = before
    let last = -1
    let lastSeen = -1
    /** What becomes known with the end of the commit. @type {Array<() => void>} */
    let notes = []
    const { words } = store
    const onWords = words && ((/** @type {Buffer} */ bytes, /** @type {number} */ seq) => {
      notes.push(() => words.learn(bytes, 0, bytes.length, seq))
    })
    cursor.resume(before)
    trampoline((next) => {
      const { shift } = cursor
      const status = cursor.enter(limit)
      if (status === ENTRY.NEEDS_BYTES) {
        return this._window.loadForward(cursor.at, cursor.need, limit, (err) => {
          if (err) cb(err)
          else next()
        })
      }
      // The chunk is not whole. It is being written, or its writer died. The next look may find it whole.
      if (status !== ENTRY.ENTERED) return cb(null, tail, last)
      lastSeen = Math.max(lastSeen, findLastRecord(cursor, onWords))
      const { header, chunkStart, chunkEnd } = cursor
      const { shift: shiftNow } = cursor
      if (header.isAfterLoss) notes.push(() => store.noteSkipped({ end: chunkStart, shift }, shiftNow))
      if (!header.commitContinues) {
        tail = { end: chunkEnd, shift: cursor.shift, chainCrc: header.chainCrc }
        last = lastSeen
        for (const note of notes) note()
        notes = []
      }
      next()
    })
  }

  /** @type {(tail: Tail, last: number) => void} */
  _settle (tail, last) {
    const store = this._store
    if (tail.end > store.tail.end) {
      // The page in which the log ended is longer now than in the cache.
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
 * Walks the frames of the entered chunk to its end.
 * @param {ChunkCursor} cursor
 * @param {((bytes: Buffer, seq: number) => void) | null} onWords  gets each words record; null without a dictionary
 * @returns {number}  seq of the last undeleted record that begins in the chunk, -1 if none
 */
function findLastRecord (cursor, onWords) {
  const { window: { view, start, buffer }, chunkEnd } = cursor
  let seq = -1
  while (chunkEnd - cursor.at >= LENGTH_SIZE) {
    const word = view.getUint32(cursor.at - start)
    const size = word & FRAME_LENGTH_MASK
    const type = word >>> 30
    if (type === FRAME_TYPES.PADDING) break
    const data = cursor.at + LENGTH_SIZE - start
    if (type === FRAME_TYPES.RECORD) {
      // Words records are never split.
      const mayHoldWords = onWords !== null && data + size <= chunkEnd - start
      if (!mayHoldWords || !isWordsRecord(buffer, data, data + size)) seq = cursor.position
      else onWords(Buffer.from(buffer.subarray(data, data + size)), cursor.position)
    }
    if (type === FRAME_TYPES.GAP) cursor.passGap(size)
    else cursor.at += LENGTH_SIZE + size
  }
  return seq
}

exports.TailFollower = TailFollower
