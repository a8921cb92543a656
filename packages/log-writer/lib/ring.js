'use strict'
// A ring of bytes in shared memory, with one thread that puts records in and one that takes them out. A record is in
// the ring from the moment when `TAIL` moves after it. A thread that is terminated before that leaves nothing of it.

const WORD_COUNT = 16
/** Positions in the header, as 32-bit words. TAIL and HEAD count bytes, and wrap around. */
const TAIL = 0
const HEAD = 1
/** Whether the owner must be told of new records: see BELL_... */
const BELL = 2
const STATE = 3
/** TAIL when the owner stopped taking records. */
const FINAL = 4
/** Whether the producer waits for HEAD to move. */
const WAITING = 5
/** Whether the last flush that was asked for has succeeded. */
const FLUSHED = 6
const OWNER_THREAD = 7

/** The owner is about to look. */
const BELL_OFF = 0
/** The owner looks soon. It must be told only if the ring is half full. */
const BELL_HALF = 1
/** The owner sleeps. */
const BELL_ON = 2

const OPEN = 0
const CLOSING = 1
const CLOSED = 2

/** Numbers in the header, after the words. Each has one thread that changes it. */
const PUSHED = 0
const TAKEN = 1
const DIVERTED = 2
/** When the first record was dropped that the owner had not seen to be dropped, and how many were dropped before it. */
const DROPPED_FROM_MS = 3
const DROPPED_FROM_COUNT = 4
/** When the last record was dropped. */
const DROPPED_TO_MS = 5
/** How many drops the owner has seen. */
const DROPPED_SEEN = 6
/** How many records of each level were dropped. */
const DROPPED = 7
const LEVEL_COUNT_MAX = 64
const NUMBER_COUNT = DROPPED + LEVEL_COUNT_MAX
const HEADER_SIZE = 4 * WORD_COUNT + 8 * NUMBER_COUNT

/** Each frame: how many bytes follow, then the level's index and the flags. Frames begin at multiples of 8. */
const FRAME_HEADER_SIZE = 8
/** In place of a size: the next frame is at the start of the memory. */
const SKIP = -1
/** The record goes on in the next frame. */
const MORE = 1 << 8
/** No record, but a wish: flush what came before. */
const FLUSH = 1 << 9
const LEVEL_MASK = 0xff

/** @param {number} size  of a record */
function frameSize (size) {
  return FRAME_HEADER_SIZE + ((size + 7) & ~7)
}

class Ring {
  /** @param {SharedArrayBuffer} memory  the header, and a power of two of bytes */
  constructor (memory) {
    this.memory = memory
    this.size = memory.byteLength - HEADER_SIZE
    this.words = new Int32Array(memory, 0, WORD_COUNT)
    this.numbers = new Float64Array(memory, 4 * WORD_COUNT, NUMBER_COUNT)
    this.bytes = Buffer.from(memory, HEADER_SIZE, this.size)
    this.frames = new Int32Array(memory, HEADER_SIZE, this.size / 4)
    /** Larger records are divided. */
    this.partSizeMax = this.size / 4 - FRAME_HEADER_SIZE
  }

  /** @param {number} size  in bytes, a power of two */
  static create (size) {
    return new Ring(new SharedArrayBuffer(HEADER_SIZE + size))
  }

  /** How many bytes wait. */
  get used () {
    return (Atomics.load(this.words, TAIL) - Atomics.load(this.words, HEAD)) | 0
  }

  /**
   * Finds room for a frame. Only the producer calls it.
   * @param {number} tail  where the frame would begin, if there is room up to the end of the memory
   * @param {number} size  of the record or the part of it
   * @returns {number}  where the frame begins; -1 if there is no room
   */
  findRoom (tail, size) {
    const at = (tail & (this.size - 1)) >>> 0
    const whole = frameSize(size)
    const skipped = at + whole > this.size ? this.size - at : 0
    const free = this.size - ((tail - Atomics.load(this.words, HEAD)) | 0)
    if (skipped + whole > free) return -1
    if (skipped > 0) this.frames[at >>> 2] = SKIP
    return skipped > 0 ? 0 : at
  }

  /** The position after a frame. @type {(tail: number, at: number, size: number) => number} */
  behind (tail, at, size) {
    const from = (tail & (this.size - 1)) >>> 0
    const skipped = at === from ? 0 : this.size - from
    return (tail + skipped + frameSize(size)) | 0
  }

  /**
   * Takes the records before a position. Only the owner calls it.
   * @param {number} end  a TAIL
   * @param {(bytes: Buffer, meta: number) => boolean} onFrame  gets memory of the ring; false stops after this frame
   */
  take (end, onFrame) {
    let head = Atomics.load(this.words, HEAD)
    let freedAt = head
    let isWanted = true
    while (head !== end && isWanted) {
      const at = (head & (this.size - 1)) >>> 0
      const size = this.frames[at >>> 2]
      if (size === SKIP) {
        head = (head + this.size - at) | 0
        continue
      }
      const begin = at + FRAME_HEADER_SIZE
      const meta = this.frames[(at >>> 2) + 1]
      isWanted = onFrame(this.bytes.subarray(begin, begin + size), meta)
      head = (head + frameSize(size)) | 0
      // The producer goes on while the rest is taken.
      if (((head - freedAt) | 0) < this.size / 8 && isWanted && (meta & FLUSH) === 0) continue
      this.#free(head)
      freedAt = head
    }
    this.#free(head)
  }

  /** @param {number} head */
  #free (head) {
    Atomics.store(this.words, HEAD, head)
    if (Atomics.exchange(this.words, WAITING, 0) === 1) Atomics.notify(this.words, HEAD)
  }
}

exports.Ring = Ring
exports.TAIL = TAIL
exports.HEAD = HEAD
exports.BELL = BELL
exports.STATE = STATE
exports.FINAL = FINAL
exports.WAITING = WAITING
exports.FLUSHED = FLUSHED
exports.OWNER_THREAD = OWNER_THREAD
exports.BELL_OFF = BELL_OFF
exports.BELL_HALF = BELL_HALF
exports.BELL_ON = BELL_ON
exports.OPEN = OPEN
exports.CLOSING = CLOSING
exports.CLOSED = CLOSED
exports.PUSHED = PUSHED
exports.TAKEN = TAKEN
exports.DIVERTED = DIVERTED
exports.DROPPED_FROM_MS = DROPPED_FROM_MS
exports.DROPPED_FROM_COUNT = DROPPED_FROM_COUNT
exports.DROPPED_TO_MS = DROPPED_TO_MS
exports.DROPPED_SEEN = DROPPED_SEEN
exports.DROPPED = DROPPED
exports.MORE = MORE
exports.FLUSH = FLUSH
exports.LEVEL_MASK = LEVEL_MASK
exports.LEVEL_COUNT_MAX = LEVEL_COUNT_MAX
exports.frameSize = frameSize
