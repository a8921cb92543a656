'use strict'
// Deletes records in place: what they were becomes zeros, and the chunks around them get new checksums. A journal on
// stable storage comes first, so that a crash between two writes is finished by the next open. See docs/format.md.

const { call, eachInOrder, trampoline } = require('@millrace/flow')
const {
  CHUNK_FLAGS, CHUNK_HEADER_SIZE, ChunkHeader, FRAME_TYPES, JOURNAL_POSITIONS, LENGTH_SIZE, PAGE_SIZE, PATCH_COUNT_MAX,
  applyEntry, checkPage, encodeJournal, entriesByChunk, finishChunk, fitsJournal, readChunkHeader, readNext,
  writeChunkHeader
} = require('@millrace/framing')
const { findRecord } = require('../read/get-record')

/**
 * @typedef {import('../checked-store').CheckedStore} CheckedStore
 * @typedef {import('@millrace/framing').Entry} Entry
 * @typedef {import('@millrace/framing').Patch} Patch
 * @typedef {(err: Error | null) => void} Done
 * @typedef {{ seqs: number[], cb: Done }} Call
 * @typedef {{ chunkStart: number, patch: Patch }} Piece  of an erased record
 */

class Eraser {
  /** @param {CheckedStore} store */
  constructor (store) {
    this._store = store
    /** @type {Call[]} */
    this._waiting = []
    this._isBusy = false
    /** Of the last journal written. */
    this.round = 0
  }

  /**
   * Calls that gather while one is under way are done together.
   * @param {number[]} seqs
   * @param {Done} cb
   */
  erase (seqs, cb) {
    this._waiting.push({ seqs, cb })
    if (!this._isBusy) this._run()
  }

  get isIdle () {
    return !this._isBusy
  }

  /** @param {() => void} run  once nothing is being erased */
  whenIdle (run) {
    if (this._isBusy) this._waiting.push({ seqs: [], cb: run })
    else run()
  }

  _run () {
    const calls = this._waiting.splice(0)
    this._isBusy = calls.length > 0
    if (!this._isBusy) return
    this._check(calls, (good) => {
      const seqs = new Set(good.flatMap(({ seqs }) => seqs))
      this._eraseAll([...seqs], (err) => {
        for (const { cb } of good) process.nextTick(cb, err)
        process.nextTick(() => this._run())
      })
    })
  }

  /**
   * Every seq of a call is looked up before any byte is written, so a wrong one among many deletes nothing.
   * @param {Call[]} calls
   * @param {(good: Call[]) => void} cb
   */
  _check (calls, cb) {
    /** @type {Call[]} */
    const good = []
    eachInOrder(calls, (call, done) => {
      eachInOrder(call.seqs, (seq, done) => findRecord(this._store, seq, 'del', done), (err) => {
        if (err) process.nextTick(call.cb, err)
        else good.push(call)
        done(null)
      })
    }, () => cb(good))
  }

  /**
   * @param {number[]} seqs
   * @param {Done} cb
   */
  _eraseAll (seqs, cb) {
    findPieces(this._store, seqs, (err, pieces = []) => {
      if (err) return cb(err)
      const chunks = groupByChunk(pieces)
      this._makeDurable(chunks, (err) => {
        if (err) return cb(err)
        this._eraseRounds(chunks, (err) => err ? cb(err) : this._findLast(seqs, cb))
      })
    })
  }

  /**
   * A journal must not outlive the chunks that it names.
   * @param {Array<[chunkStart: number, patches: Patch[]]>} chunks
   * @param {Done} cb
   */
  _makeDurable (chunks, cb) {
    const { checkpoints, file: { durability } } = this._store
    const [lastStart] = chunks[chunks.length - 1] ?? [0]
    if (lastStart < checkpoints.durableEnd) cb(null)
    else durability.sync(cb)
  }

  /**
   * As many chunks at a time as fit into one journal, in the order of the file.
   * @param {Array<[chunkStart: number, patches: Patch[]]>} chunks
   * @param {Done} cb
   */
  _eraseRounds (chunks, cb) {
    if (chunks.length === 0) return cb(null)
    /** @type {Entry[]} */
    const entries = []
    /** @type {Buffer[]} */
    const images = []
    const gather = (/** @type {number} */ index) => {
      if (index === chunks.length) return this._eraseRound(entries, images, cb)
      const [chunkStart, patches] = chunks[index]
      this._prepare(chunkStart, patches, (err, entry, image) => {
        if (err || !entry || !image) return cb(err)
        if (!fitsJournal([...entries, entry]) || entries.some(({ position }) => position === chunkStart)) {
          return this._eraseRound(entries, images, (err) => err ? cb(err) : this._eraseRounds(chunks.slice(index), cb))
        }
        entries.push(entry)
        images.push(image)
        gather(index + 1)
      })
    }
    gather(0)
  }

  /**
   * @param {number} chunkStart
   * @param {Patch[]} patches
   * @param {(err: Error | null, entry?: Entry, image?: Buffer) => void} cb  the chunk as it will be
   */
  _prepare (chunkStart, patches, cb) {
    const { pages, rules } = this._store
    pages.read(chunkStart - chunkStart % PAGE_SIZE, (err, page) => {
      if (err || !page) return cb(err)
      // New checksums would bless what is damaged.
      const damage = rules.verify ? null : checkPage(page, { ...rules, verify: true }, this._store.unfinished)
      if (damage) return cb(this._store.damageError(damage))
      const { bytes, offset, start } = page
      const header = new ChunkHeader()
      const chunkOffset = offset + chunkStart - start
      readChunkHeader(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), chunkOffset, header)
      const image = Buffer.from(bytes.subarray(chunkOffset, chunkOffset + CHUNK_HEADER_SIZE + header.size))
      applyEntry({ position: chunkStart, header: image.subarray(0, CHUNK_HEADER_SIZE), patches }, image)
      header.originalCrc = header.chainCrc
      header.flags |= CHUNK_FLAGS.WAS_ERASED
      if (patches.some(({ mark }) => mark === 0)) header.flags |= CHUNK_FLAGS.REST_ERASED
      header.erasedCount += patches.length
      writeChunkHeader(header, image, 0, rules.salt)
      cb(null, { position: chunkStart, header: Buffer.from(image.subarray(0, CHUNK_HEADER_SIZE)), patches }, image)
    })
  }

  /**
   * @param {Entry[]} entries
   * @param {Buffer[]} images
   * @param {Done} cb
   */
  _eraseRound (entries, images, cb) {
    const store = this._store
    const { blocks, file: { durability } } = store
    const erased = entries.reduce((sum, { patches }) => sum + patches.length, 0)
    const erasedCount = store.erasedCount === null ? null : store.erasedCount + erased
    const journal = { round: this.round + 1, erasedCount, entries }
    const area = JOURNAL_POSITIONS[journal.round % 2]
    store.checkpoints.needsCleanUp = true
    blocks.writeQuietly(encodeJournal(journal, store.rules.salt), area, (err) => {
      if (err) return cb(err)
      this.round = journal.round
      durability.sync((err) => {
        if (err) return cb(err)
        store.erasedCount = null
        this._write(entries, images, 0, (err) => {
          // What is half erased is finished by the next open, from the journal.
          if (err) return cb(durability.poison(err))
          store.erasedCount = erasedCount
          durability.noteWritten()
          cb(null)
        })
      })
    })
  }

  /**
   * @param {Entry[]} entries
   * @param {Buffer[]} images
   * @param {number} index
   * @param {Done} cb
   */
  _write (entries, images, index, cb) {
    if (index === entries.length) return cb(null)
    const { position } = entries[index]
    const { blocks, pages } = this._store
    blocks.write(images[index], position, (err) => {
      pages.drop(position, position + images[index].length)
      if (err) cb(err)
      else this._write(entries, images, index + 1, cb)
    })
  }

  /**
   * A checkpoint names the last record that is not deleted.
   * @param {number[]} seqs  that were deleted
   * @param {Done} cb
   */
  _findLast (seqs, cb) {
    const store = this._store
    const { last } = store
    if (!seqs.includes(last)) return cb(null)
    store.findLast(last, (err, seq = -1) => {
      // Appended to meanwhile: then that is the last one.
      if (!err && store.last === last) store.last = seq
      cb(err)
    })
  }
}

/**
 * @param {CheckedStore} store
 * @param {number[]} seqs
 * @param {(err: Error | null, pieces?: Piece[]) => void} cb
 */
function findPieces (store, seqs, cb) {
  /** @type {Piece[]} */
  const pieces = []
  eachInOrder(seqs, (seq, done) => {
    findRecord(store, seq, 'del', (err, frame, page) => {
      if (err || !frame || !page) return done(err)
      if (frame.type === FRAME_TYPES.GAP) return done(null)
      const inChunk = Math.min(frame.size, frame.chunkEnd - frame.at - LENGTH_SIZE)
      if (frame.type !== FRAME_TYPES.ERASED) {
        const offset = frame.at - frame.chunkStart - CHUNK_HEADER_SIZE
        const mark = FRAME_TYPES.ERASED * 2 ** 30 + frame.size
        pieces.push({ chunkStart: frame.chunkStart, patch: { offset, mark, size: inChunk } })
      }
      addContinued(store, page.start + PAGE_SIZE, frame, frame.size - inChunk, pieces, done)
    })
  }, (err) => cb(err, pieces))
}

/**
 * @param {CheckedStore} store
 * @param {number} pageStart
 * @param {import('@millrace/framing').Frame} frame
 * @param {number} rest  how much of the record lies on this page and after it
 * @param {Piece[]} pieces
 * @param {Done} cb
 */
function addContinued (store, pageStart, frame, rest, pieces, cb) {
  let { chainCrc } = frame
  trampoline((next) => {
    if (rest <= 0) return cb(null)
    store.pages.read(pageStart, (err, page) => {
      if (err || !page) return cb(err)
      const size = Math.min(rest, PAGE_SIZE - CHUNK_HEADER_SIZE)
      const header = readNext(page, chainCrc)
      if (header?.continued !== size) {
        return cb(store.damageError({ start: pageStart, end: page.end, fault: 'PIECE' }))
      }
      chainCrc = header.chainCrc
      // A large record whose deletion was cut off has such pieces left.
      if (header.hasRest(size)) pieces.push({ chunkStart: pageStart, patch: { offset: 0, mark: 0, size } })
      pageStart += PAGE_SIZE
      rest -= size
      next()
    })
  })
}

/**
 * @param {Piece[]} pieces
 * @returns {Array<[chunkStart: number, patches: Patch[]]>}  in the order of the file, each no more than a journal holds
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

// Finishes the deletions that a crash cut off, from their journals.

/** @typedef {import('@millrace/framing').Journal} Journal */

/**
 * The journals may be in the page cache only, after a sync that failed: they are written again, and synced, before they
 * are believed. Afterwards all that they say is on stable storage.
 * @param {CheckedStore} store
 * @param {Journal[]} journals  oldest first
 */
async function redoErasures ({ blocks, rules }, journals) {
  for (const journal of journals) {
    await call(blocks, 'writeQuietly', encodeJournal(journal, rules.salt), JOURNAL_POSITIONS[journal.round % 2])
  }
  await call(blocks, 'sync')
  for (const entries of entriesByChunk(journals).values()) {
    const { position, header } = entries[0]
    const chunk = Buffer.allocUnsafe(CHUNK_HEADER_SIZE + header.readUInt16BE(8))
    // A file that ends before is damaged, as the walk over its tail will find.
    if (position + chunk.length > blocks.size.value) continue
    await call(blocks, 'readInto', chunk, position)
    // So is a chunk that this does not make whole: it is left as it is.
    if (finishChunk(entries, chunk, rules)) await call(blocks, 'write', chunk, position)
  }
  await call(blocks, 'sync')
}

exports.Eraser = Eraser
exports.redoErasures = redoErasures
