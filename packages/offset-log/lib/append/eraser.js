'use strict'
// Deletes records in place: zeros replace the record, and its chunks get new checksums. A durable journal comes first,
// so if a crash interrupts the writes, the next open finishes them. See docs/internals/format.md.

const { nextTick } = require('node:process')
const { promisesOf, toPromise } = require('@millrace/flow')
const {
  CHUNK_FLAGS, CHUNK_HEADER_SIZE, ChunkHeader, FRAME_TYPES, JOURNAL_POSITIONS, LENGTH_SIZE, PAGE_SIZE, PATCH_COUNT_MAX,
  applyEntry, checkPage, encodeJournal, fitsJournal, readChunkHeader, readNext, writeChunkHeader
} = require('@millrace/framing')
const { notFound } = require('../errors')
const { isWordsRecord } = require('../file-words')
const { findRecord } = require('../read/checked-record')

/**
 * @typedef {import('../checked-store').CheckedStore} CheckedStore
 * @typedef {import('@millrace/framing').Entry} Entry
 * @typedef {import('@millrace/framing').Frame} Frame
 * @typedef {import('@millrace/framing').Page} Page
 * @typedef {import('@millrace/framing').Patch} Patch
 * @typedef {(err: Error | null) => void} Done
 * @typedef {{ seqs: number[], cb: Done }} Call
 * @typedef {{ chunkStart: number, patch: Patch }} Piece  of an erased record
 * @typedef {{ entry: Entry, image: Buffer }} Change  of one chunk: its entry in the journal, and its new bytes
 */

class Eraser {
  #store
  /** @type {Call[]} */
  #waiting = []
  #isBusy = false

  /** The round of the last journal that was written. */
  #round

  /** @param {CheckedStore} store  @param {number} round  of the last journal in the head; 0 if there is none */
  constructor (store, round) {
    this.#store = store
    this.#round = round
  }

  get isIdle () {
    return !this.#isBusy
  }

  /**
   * Calls made during a deletion are done together after it.
   * @param {number[]} seqs  if empty, the call only waits for the calls before it
   * @param {Done} cb
   */
  erase (seqs, cb) {
    this.#waiting.push({ seqs, cb })
    if (!this.#isBusy) this.#run()
  }

  async #run () {
    this.#isBusy = true
    for (let calls = this.#waiting.splice(0); calls.length > 0; calls = this.#waiting.splice(0)) {
      /** @type {Map<number, Frame>} */
      const found = new Map()
      /** @type {Call[]} */
      const good = []
      for (const call of calls) {
        try {
          // All seqs of a call are looked up before any byte is written, so a call with a wrong seq deletes nothing.
          for (const [seq, frame] of await findFrames(this.#store, call.seqs)) found.set(seq, frame)
          good.push(call)
        } catch (err) {
          nextTick(call.cb, err)
        }
      }
      const err = await this.#eraseAll(found).then(() => null, (err) => err)
      for (const { cb } of good) nextTick(cb, err)
    }
    this.#isBusy = false
  }

  /** @param {Map<number, Frame>} frames  by seq */
  async #eraseAll (frames) {
    const store = this.#store
    const { checkpoints, file: { durability } } = store
    const chunks = groupByChunk(await findPieces(store, frames.values()))
    const [lastStart] = chunks[chunks.length - 1] ?? [0]
    // If a power cut took the chunks, a journal must not be left that names them.
    if (lastStart >= checkpoints.durableEnd) await durability.sync()
    /** The changes for one journal, in the order of the file. @type {Change[]} */
    const changes = []
    for (const [chunkStart, patches] of chunks) {
      const isAgain = changes.some(({ entry }) => entry.position === chunkStart)
      if (isAgain) await this.#eraseRound(changes.splice(0))
      const change = await prepareChange(store, chunkStart, patches)
      if (!fitsJournal([...changes, change].map(({ entry }) => entry))) await this.#eraseRound(changes.splice(0))
      changes.push(change)
    }
    if (changes.length > 0) await this.#eraseRound(changes)
    const { last } = store
    if (!frames.has(last)) return
    // A checkpoint names the last record that is not deleted.
    const seq = await promisesOf(store).findLast(last)
    // A record may have been appended meanwhile; then that one is the last.
    if (store.last === last) store.last = seq
  }

  /** @param {Change[]} changes  they fit into one journal */
  async #eraseRound (changes) {
    const store = this.#store
    const { blocks, pages, file: { durability }, rules: { salt } } = store
    const entries = changes.map(({ entry }) => entry)
    // The journal before may be unfinished. Another one for the same chunk would not fit to it.
    if (durability.error) throw durability.error
    const erased = entries.reduce((sum, { patches }) => sum + patches.length, 0)
    const erasedCount = store.erasedCount === null ? null : store.erasedCount + erased
    const round = this.#round + 1
    store.checkpoints.needsCleanUp = true
    const journal = encodeJournal({ round, erasedCount, entries }, salt)
    await promisesOf(blocks).writeQuietly(journal, JOURNAL_POSITIONS[round % 2])
    this.#round = round
    // The journal must be durable before the first chunk changes.
    await durability.sync()
    store.erasedCount = null
    for (const { entry: { position }, image } of changes) {
      await new Promise((resolve, reject) => blocks.write(image, position, (err) => {
        pages.drop(position, position + image.length)
        // The next open finishes this deletion from the journal.
        if (err) reject(durability.poison(err))
        else resolve(null)
      }))
    }
    store.erasedCount = erasedCount
    durability.noteWritten()
  }
}

/**
 * @param {CheckedStore} store
 * @param {number[]} seqs
 * @returns {Promise<Map<number, Frame>>}
 * @throws ERR_RECORD_NOT_FOUND
 */
async function findFrames (store, seqs) {
  const frames = new Map()
  for (const seq of seqs) {
    frames.set(seq, await toPromise((cb) => findRecord(store, seq, 'del', (err, frame, page) => {
      // Words stay as long as the file: later records need them.
      if (frame && page && store.words !== null && holdsWords(frame, page)) cb(notFound('del', store.path, seq))
      else cb(err, frame)
    })))
  }
  return frames
}

/** @type {(frame: Frame, page: Page) => boolean} */
function holdsWords ({ type, size, at, chunkEnd }, { bytes, offset, start }) {
  const data = at + LENGTH_SIZE
  const from = offset + data - start
  return type === FRAME_TYPES.RECORD && data + size <= chunkEnd && isWordsRecord(bytes, from, from + size)
}

/** @type {(store: CheckedStore, frames: Iterable<Frame>) => Promise<Piece[]>} */
async function findPieces (store, frames) {
  /** @type {Piece[]} */
  const pieces = []
  for (const { type, size, at, chunkStart, chunkEnd, chainCrc: firstCrc } of frames) {
    if (type === FRAME_TYPES.GAP) continue
    const inChunk = Math.min(size, chunkEnd - at - LENGTH_SIZE)
    if (type !== FRAME_TYPES.ERASED) {
      const offset = at - chunkStart - CHUNK_HEADER_SIZE
      pieces.push({ chunkStart, patch: { offset, mark: FRAME_TYPES.ERASED * 2 ** 30 + size, size: inChunk } })
    }
    let chainCrc = firstCrc
    let pageStart = pageOf(chunkStart)
    for (let rest = size - inChunk; rest > 0; rest -= PAGE_SIZE - CHUNK_HEADER_SIZE) {
      pageStart += PAGE_SIZE
      const page = await copyPage(store, pageStart)
      const pieceSize = Math.min(rest, PAGE_SIZE - CHUNK_HEADER_SIZE)
      const header = readNext(page, chainCrc)
      if (header?.continued !== pieceSize) throw store.damageError({ start: pageStart, end: page.end, fault: 'PIECE' })
      chainCrc = header.chainCrc
      // If an earlier deletion of this record was interrupted, some of its pieces are erased already.
      if (!header.hasRest(pieceSize)) continue
      pieces.push({ chunkStart: pageStart, patch: { offset: 0, mark: 0, size: pieceSize } })
    }
  }
  return pieces
}

/** @param {number} position */
function pageOf (position) {
  return position - position % PAGE_SIZE
}

/**
 * The page cache may reuse a page's memory at the next read.
 * @type {(store: CheckedStore, start: number) => Promise<Page>}
 */
function copyPage ({ pages }, start) {
  return new Promise((resolve, reject) => pages.read(start, (err, page) => {
    if (err || !page) return reject(err)
    const { bytes, offset, end } = page
    resolve({ bytes: Buffer.from(bytes.subarray(offset, offset + end - start)), offset: 0, start, end })
  }))
}

/** @type {(store: CheckedStore, chunkStart: number, patches: Patch[]) => Promise<Change>} */
async function prepareChange (store, chunkStart, patches) {
  const { rules, unfinished } = store
  const page = await copyPage(store, pageOf(chunkStart))
  // A new checksum would make damaged bytes look valid. With `verify`, the page cache has checked the page already.
  const damage = rules.verify ? null : checkPage(page, { ...rules, verify: true }, unfinished)
  if (damage) throw store.damageError(damage)
  const { bytes, start } = page
  const header = new ChunkHeader()
  const offset = chunkStart - start
  readChunkHeader(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), offset, header)
  const image = bytes.subarray(offset, offset + CHUNK_HEADER_SIZE + header.size)
  const head = image.subarray(0, CHUNK_HEADER_SIZE)
  applyEntry({ position: chunkStart, header: head, patches }, image)
  header.originalCrc = header.chainCrc
  header.flags |= CHUNK_FLAGS.WAS_ERASED
  if (patches.some(({ mark }) => mark === 0)) header.flags |= CHUNK_FLAGS.REST_ERASED
  header.erasedCount += patches.length
  writeChunkHeader(header, image, 0, rules.salt)
  return { entry: { position: chunkStart, header: head, patches }, image }
}

/**
 * @param {Piece[]} pieces
 * @returns {Array<[chunkStart: number, patches: Patch[]]>}  in the order of the file; each fits into one journal
 */
function groupByChunk (pieces) {
  /** @type {Map<number, Patch[]>} */
  const chunks = new Map()
  for (const { chunkStart, patch } of pieces) {
    const patches = chunks.get(chunkStart)
    if (patches) patches.push(patch)
    else chunks.set(chunkStart, [patch])
  }
  return [...chunks].sort(([a], [b]) => a - b).flatMap(([chunkStart, patches]) => {
    const parts = []
    for (let start = 0; start < patches.length; start += PATCH_COUNT_MAX) {
      parts.push(/** @type {[number, Patch[]]} */ ([chunkStart, patches.slice(start, start + PATCH_COUNT_MAX)]))
    }
    return parts
  })
}

exports.Eraser = Eraser
