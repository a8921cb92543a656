'use strict'
// From an open file to a log of a legacy framing: recover its end, find its last record.

const { LogError } = require('@millrace/errors')
const { call, toPromise } = require('@millrace/flow')
const { FRAME_HEAD_SIZE } = require('@millrace/framing')
const { OffsetStore } = require('../offset-store')
const { OffsetReader, locateByWalking } = require('../read/offset-reader')
const { cutEnd } = require('./tail-copy')

/**
 * @typedef {import('../load').LogFile} LogFile
 * @typedef {import('../load').Recovery} Recovery
 */

/**
 * @param {LogFile} file  gets its `end`
 * @param {import('@millrace/framing').OffsetFraming} framing
 * @returns {Promise<{ store: OffsetStore, recovery: Recovery | null }>}
 */
async function openOffset (file, framing) {
  const store = new OffsetStore(file, framing)
  const fileSize = file.blocks.size.value
  if (fileSize === 0) return { store, recovery: null }
  const end = await findLastBoundary(store, fileSize)
  store.setEnd(end)
  const recovery = end === fileSize ? null : await recover(store, end, file.storage)
  store.last = await findLastRecord(store)
  return { store, recovery }
}

/**
 * @param {OffsetStore} store
 * @returns {Promise<number>}  the seq of the last record that is not deleted, -1 if none
 */
async function findLastRecord (store) {
  const { blocks, framing, end } = store
  const chunks = new OffsetReader(store, { from: 0, stop: Infinity, reverse: true }, end)
  try {
    const chunk = await call(chunks, 'next', end)
    return chunk.count > 0 ? chunk.seqs[0] : -1
  } catch (err) {
    const { code, offset } = /** @type {LogError} */ (err)
    // One that is too large to be looked at is there all the same.
    if (code === 'ERR_RECORD_TOO_LARGE' && offset !== undefined) return offset
    // Before deleted records there is damage: what the last one is that is not deleted cannot be known.
    if (code !== 'ERR_LOG_CORRUPT') throw err
    return end - framing.overhead - await call(blocks, 'readUInt32BE', end - framing.trailerSize)
  }
}

// Finds where a legacy log really ends. A last write that was cut off leaves bytes that are no frame: they are copied
// beside the log and cut. What looks like damage is never cut, and a file without one whole frame is never touched.

/** @typedef {import('@millrace/block-file').SpanReader} SpanReader */

/**
 * @param {OffsetStore} store
 * @param {number} end  of its last whole frame, before that of the file
 * @param {import('@millrace/block-file').Storage | undefined} storage
 * @returns {Promise<Recovery>}
 * @throws what is no damage
 */
async function recover (store, end, storage) {
  const { blocks } = store
  const fileSize = blocks.size.value
  /** @type {Recovery} */
  const recovery = { offset: 0, size: 0, keptAt: null, damage: [], flaws: [] }
  try {
    await checkReachable(store, end)
    await checkTorn(store, end, fileSize)
  } catch (err) {
    if (!(err instanceof LogError) || err.code !== 'ERR_LOG_CORRUPT') throw err
    // Nothing of a damaged log is cut: it can still be read, up to the damage.
    const offset = err.offset ?? end
    store.damage = err
    recovery.damage.push({ what: err.message, offset, size: fileSize - offset })
    return recovery
  }
  recovery.offset = end
  recovery.size = fileSize - end
  if (blocks.flags !== 'r') recovery.keptAt = await cutEnd(blocks, end, fileSize, storage)
  return recovery
}

/**
 * A record's own bytes may imitate whole frames, but no chain of imitations meets the true frames again: the true
 * boundaries are those that a walk from the start of the log comes to.
 * @param {OffsetStore} store
 * @param {number} end
 * @throws ERR_LOG_CORRUPT where the walk cannot go on before it comes there
 */
async function checkReachable (store, end) {
  const position = await toPromise((cb) => locateByWalking(store, end, cb))
  if (position !== end) throw store.framing.contradiction(position, end)
}

/**
 * Searches back for a position where a whole frame ends, a span at a time.
 * @param {OffsetStore} store
 * @param {number} fileSize
 * @returns {Promise<number>}
 */
async function findLastBoundary (store, fileSize) {
  const { framing } = store
  const window = store.blocks.createSpanReader()
  let candidate = fileSize
  while (candidate >= framing.overhead) {
    const isHeld = candidate <= window.end && candidate - window.start >= framing.trailerSize
    if (!isHeld) await call(window, 'loadBackward', candidate, framing.trailerSize, 0)
    candidate = searchWindow(framing, window, candidate)
    if (candidate - window.start < framing.trailerSize) continue
    if (await confirmFrame(store, candidate)) return candidate
    candidate--
  }
  throw noBoundary(store)
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
 */
async function confirmFrame ({ blocks, framing }, end) {
  const size = await readSize(blocks, end - framing.trailerSize)
  const start = end - size - framing.overhead
  if (start < 0 || await readSize(blocks, start) !== size) return false
  if (start === 0 || end === blocks.size.value) return true
  if (start < framing.overhead) return false
  const before = Buffer.allocUnsafe(framing.endSize)
  await call(blocks, 'readInto', before, start - framing.endSize)
  return framing.isEndIn(before, start)
}

/**
 * @param {OffsetStore['blocks']} blocks
 * @param {number} position
 * @returns {Promise<number>}
 */
async function readSize (blocks, position) {
  const bytes = Buffer.allocUnsafe(FRAME_HEAD_SIZE)
  await call(blocks, 'readInto', bytes, position)
  return bytes.readUInt32BE(0)
}

/**
 * A write that was cut off cannot have left both ends of its frame: if two of the three fields say that the rest of
 * the file is one frame, it was whole once, and the third field is damaged.
 * @param {OffsetStore} store
 * @param {number} end
 * @param {number} fileSize
 * @throws ERR_LOG_CORRUPT
 */
async function checkTorn ({ blocks, framing }, end, fileSize) {
  const size = fileSize - end - framing.overhead
  if (size < 0) return
  const headSize = await call(blocks, 'readUInt32BE', end)
  const trailer = await call(blocks, 'read', fileSize - framing.trailerSize, fileSize)
  const agreeing = Number(headSize === size) + Number(trailer.readUInt32BE(0) === size) +
    Number(framing.isEndIn(trailer, fileSize))
  if (agreeing < 2) return
  throw new LogError('ERR_LOG_CORRUPT', `open: the last record of ${blocks.path}, at ${end}, is whole but its sizes ` +
    'and its end do not agree; nothing was cut. Keep a copy, and open it with flags "r" to read the earlier records',
  { offset: end, path: blocks.path })
}

/** @param {OffsetStore} store */
function noBoundary ({ blocks }) {
  return new LogError('ERR_LOG_CORRUPT', `open: no whole record ends anywhere in ${blocks.path} any more: ` +
    'another program is changing the file', { offset: 0, path: blocks.path })
}

exports.openOffset = openOffset
