'use strict'
// Opens a file of an offset framing as a log: finds the end, cuts a torn one, finds the last record.

const { LogError } = require('@millrace/errors')
const { promisesOf, toPromise } = require('@millrace/flow')
const { FRAME_HEAD_SIZE } = require('@millrace/framing')
const { OffsetStore } = require('../offset-store')
const { OffsetReader, locateByWalking } = require('../read/offset-reader')
const { cutEnd } = require('./tail-copy')

/**
 * @typedef {import('../load').LogFile} LogFile
 * @typedef {import('../load').Recovery} Recovery
 */

/**
 * @param {LogFile} file
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
    const chunk = await promisesOf(chunks).next(end)
    return chunk.count > 0 ? chunk.seqs[0] : -1
  } catch (err) {
    const { code, offset } = /** @type {LogError} */ (err)
    // A record that is too large to be read is still the last one.
    if (code === 'ERR_RECORD_TOO_LARGE' && offset !== undefined) return offset
    // Damage lies before deleted records, so the last undeleted record is unknown. Take the last one.
    if (code !== 'ERR_LOG_CORRUPT') throw err
    return end - framing.overhead - await promisesOf(blocks).readUInt32BE(end - framing.trailerSize)
  }
}

// Finds where the log ends. A torn write leaves bytes after the last whole frame: they are copied to a file beside the
// log and cut. Damage is never cut, and a file without a whole frame is never changed.

/** @typedef {import('@millrace/block-file').SpanReader} SpanReader */

/**
 * @param {OffsetStore} store
 * @param {number} end  of the last whole frame; the file is longer
 * @param {import('@millrace/block-file').Storage | undefined} storage
 * @returns {Promise<Recovery>}
 * @throws errors of the file system; damage is reported in the recovery
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
    // A damaged log is not cut. It can be read up to the damage.
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
 * Bytes inside a record may imitate frames, but no chain of imitations ends at a true boundary. So the true boundaries
 * are those that a walk from the start of the log reaches.
 * @param {OffsetStore} store
 * @param {number} end
 * @throws ERR_LOG_CORRUPT if the walk stops before `end`
 */
async function checkReachable (store, end) {
  const position = await toPromise((cb) => locateByWalking(store, end, cb))
  if (position !== end) throw store.framing.contradiction(position, end)
}

/**
 * Searches backwards for a position where a whole frame ends, one span at a time.
 * @type {(store: OffsetStore, fileSize: number) => Promise<number>}
 */
async function findLastBoundary (store, fileSize) {
  const { framing } = store
  const window = store.blocks.createSpanReader()
  let candidate = fileSize
  while (candidate >= framing.overhead) {
    const isHeld = candidate <= window.end && candidate - window.start >= framing.trailerSize
    if (!isHeld) await promisesOf(window).loadBackward(candidate, framing.trailerSize, 0)
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
 * @param {number} candidate  where the search begins
 * @returns {number}  the last position, not above `candidate`, that follows an `end` field with its own value; or a
 *   position too near the window's start for a trailer
 */
function searchWindow (framing, window, candidate) {
  const { view } = window
  while (candidate - window.start >= framing.trailerSize) {
    if (framing.isEndAt(view, candidate - window.start, candidate)) break
    candidate--
  }
  return candidate
}

/**
 * Whether a frame with two equal sizes ends at `end`. Inside the file, another frame must also end where it begins.
 * Reads only these fields, because in a hostile file every few bytes may look like an end.
 * @type {(store: OffsetStore, end: number) => Promise<boolean>}
 */
async function confirmFrame ({ blocks, framing }, end) {
  const size = await readSize(blocks, end - framing.trailerSize)
  const start = end - size - framing.overhead
  if (start < 0 || await readSize(blocks, start) !== size) return false
  if (start === 0 || end === blocks.size.value) return true
  if (start < framing.overhead) return false
  const before = Buffer.allocUnsafe(framing.endSize)
  await promisesOf(blocks).readInto(before, start - framing.endSize)
  return framing.isEndIn(before, start)
}

/** @type {(blocks: OffsetStore['blocks'], position: number) => Promise<number>} */
async function readSize (blocks, position) {
  const bytes = Buffer.allocUnsafe(FRAME_HEAD_SIZE)
  await promisesOf(blocks).readInto(bytes, position)
  return bytes.readUInt32BE(0)
}

/**
 * A torn write cannot leave both ends of its frame. If two of the three fields say that the rest of the file is one
 * frame, the frame was once whole, and the third field is damaged.
 * @param {OffsetStore} store
 * @param {number} end
 * @param {number} fileSize
 * @throws ERR_LOG_CORRUPT
 */
async function checkTorn ({ blocks, framing }, end, fileSize) {
  const size = fileSize - end - framing.overhead
  if (size < 0) return
  const headSize = await promisesOf(blocks).readUInt32BE(end)
  const trailer = await promisesOf(blocks).read(fileSize - framing.trailerSize, fileSize)
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
