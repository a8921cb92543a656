'use strict'
// Finds where a legacy log really ends. A last write that was cut off leaves bytes that are no frame: they are copied
// beside the log and cut. What looks like damage is never cut, and a file without one whole frame is never touched.

const { LogError } = require('@millrace/errors')
const { trampoline } = require('@millrace/flow')
const { keepCutBytes } = require('../../keep-cut-bytes')
const { locateByWalking } = require('./locate')
const { HEAD_SIZE } = require('./offset-framing')

/**
 * @typedef {import('./offset-store').OffsetStore} OffsetStore
 * @typedef {import('../../log-file').Recovery} Recovery
 * @typedef {import('@millrace/block-file').SpanReader} SpanReader
 */

/**
 * @param {OffsetStore} store  gets its `end`
 * @param {import('@millrace/block-file/lib/storage').Storage | undefined} storage
 * @param {(err: Error | null, recovery?: Recovery | null) => void} cb
 */
function recover (store, storage, cb) {
  const { blocks } = store
  const fileSize = blocks.size.value
  findLastBoundary(store, fileSize, (err, end = 0) => {
    if (err) return cb(err)
    store.setEnd(end)
    if (end === fileSize) return cb(null, null)
    checkReachable(store, end, (err) => {
      if (err) return cb(...reportDamage(store, err, end))
      checkTorn(store, end, fileSize, (err) => {
        if (err) cb(...reportDamage(store, err, end))
        else if (blocks.flags === 'r') cb(null, report({ offset: end, size: fileSize - end }))
        else cutTail(store, end, fileSize, storage, cb)
      })
    })
  })
}

/**
 * @param {Partial<Recovery>} found
 * @returns {Recovery}
 */
function report (found) {
  return { offset: 0, size: 0, keptAt: null, damage: [], flaws: [], ...found }
}

/**
 * Nothing of a damaged log is cut: it can still be read, up to the damage.
 * @param {OffsetStore} store
 * @param {Error} err
 * @param {number} end
 * @returns {[Error | null, Recovery?]}
 */
function reportDamage (store, err, end) {
  if (!(err instanceof LogError) || err.code !== 'ERR_LOG_CORRUPT') return [err]
  const offset = err.offset ?? end
  store.damage = err
  return [null, report({ damage: [{ what: err.message, offset, size: store.blocks.size.value - offset }] })]
}

/**
 * @param {OffsetStore} store
 * @param {number} end
 * @param {number} fileSize
 * @param {import('@millrace/block-file/lib/storage').Storage | undefined} storage
 * @param {(err: Error | null, recovery?: Recovery) => void} cb
 */
function cutTail ({ blocks }, end, fileSize, storage, cb) {
  keepCutBytes(blocks, end, fileSize, storage, (err, keptAt = '') => {
    if (err) return cb(err)
    blocks.truncate(end, (err) => {
      if (err) return cb(err)
      blocks.sync((err) => err ? cb(err) : cb(null, report({ offset: end, size: fileSize - end, keptAt })))
    })
  })
}

/**
 * A record's own bytes may imitate whole frames, but no chain of imitations meets the true frames again: the true
 * boundaries are those that a walk from the start of the log comes to.
 * @param {OffsetStore} store
 * @param {number} end
 * @param {(err: Error | null) => void} cb  ERR_LOG_CORRUPT where the walk cannot go on before it comes there
 */
function checkReachable (store, end, cb) {
  locateByWalking(store, end, (err, position) => {
    if (err || position === end) return cb(err)
    cb(store.framing.contradiction(position ?? 0, end))
  })
}

/**
 * Searches back for a position where a whole frame ends, a span at a time.
 * @param {OffsetStore} store
 * @param {number} fileSize
 * @param {(err: Error | null, position?: number) => void} cb
 */
function findLastBoundary (store, fileSize, cb) {
  const { framing } = store
  const window = store.blocks.createSpanReader()
  let candidate = fileSize
  trampoline((next) => {
    if (candidate < framing.overhead) return cb(noBoundary(store))
    const isHeld = candidate <= window.end && candidate - window.start >= framing.trailerSize
    const load = isHeld ? callAtOnce : window.loadBackward.bind(window, candidate, framing.trailerSize, 0)
    load((err) => {
      if (err) return cb(err)
      candidate = searchWindow(framing, window, candidate)
      if (candidate - window.start < framing.trailerSize) return next()
      confirmFrame(store, candidate, (err, isOne) => {
        if (err || isOne) return cb(err, candidate)
        candidate--
        next()
      })
    })
  })
}

/** @param {(err: null) => void} cb */
function callAtOnce (cb) {
  cb(null)
}

/**
 * @param {OffsetStore['framing']} framing
 * @param {SpanReader} window
 * @param {number} candidate  where to begin
 * @returns {number}  the last position at or before it that an `end` field names, or one too near the window's start
 */
function searchWindow (framing, window, candidate) {
  const view = new DataView(window.buffer.buffer)
  while (candidate - window.start >= framing.trailerSize) {
    if (framing.isEndAt(view, candidate - window.start, candidate)) break
    candidate--
  }
  return candidate
}

/**
 * Whether a frame whose two sizes agree ends here, and, inside the file, whether another ends where it begins. Reads no
 * more than these fields: in a hostile file every few bytes may be an end.
 * @param {OffsetStore} store
 * @param {number} end
 * @param {(err: Error | null, isOne?: boolean) => void} cb
 */
function confirmFrame ({ blocks, framing }, end, cb) {
  readSize(blocks, end - framing.trailerSize, (err, size = 0) => {
    if (err) return cb(err)
    const start = end - size - framing.overhead
    if (start < 0) return cb(null, false)
    readSize(blocks, start, (err, headSize) => {
      if (err || headSize !== size) return cb(err, false)
      if (start === 0 || end === blocks.size.value) return cb(null, true)
      if (start < framing.overhead) return cb(null, false)
      const before = Buffer.allocUnsafe(framing.endSize)
      blocks.readInto(before, start - framing.endSize, (err) => cb(err, framing.isEndIn(before, start)))
    })
  })
}

/**
 * @param {OffsetStore['blocks']} blocks
 * @param {number} position
 * @param {(err: Error | null, size?: number) => void} cb
 */
function readSize (blocks, position, cb) {
  const bytes = Buffer.allocUnsafe(HEAD_SIZE)
  blocks.readInto(bytes, position, (err) => cb(err, bytes.readUInt32BE(0)))
}

/**
 * A write that was cut off cannot have left both ends of its frame: if two of the three fields say that the rest of
 * the file is one frame, it was whole once, and the third field is damaged.
 * @param {OffsetStore} store
 * @param {number} end
 * @param {number} fileSize
 * @param {(err: Error | null) => void} cb
 */
function checkTorn ({ blocks, framing }, end, fileSize, cb) {
  const size = fileSize - end - framing.overhead
  if (size < 0) return cb(null)
  blocks.readUInt32BE(end, (err, headSize) => {
    if (err) return cb(err)
    blocks.read(fileSize - framing.trailerSize, fileSize, (err, trailer) => {
      if (err || !trailer) return cb(err)
      const agreeing = Number(headSize === size) + Number(trailer.readUInt32BE(0) === size) +
        Number(framing.isEndIn(trailer, fileSize))
      if (agreeing < 2) return cb(null)
      cb(new LogError('ERR_LOG_CORRUPT', `open: the last record of ${blocks.path}, at ${end}, is whole but its sizes ` +
        'and its end do not agree; nothing was cut. Keep a copy, and open it with flags "r" to read the records before',
      { offset: end, path: blocks.path }))
    })
  })
}

/** @param {OffsetStore} store */
function noBoundary ({ blocks }) {
  return new LogError('ERR_LOG_CORRUPT', `open: no whole record ends anywhere in ${blocks.path}, though one did just ` +
    'now; something else is changing the file', { offset: 0, path: blocks.path })
}

exports.recover = recover
