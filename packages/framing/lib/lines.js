'use strict'
// Writes and walks the lines of a plain text file, such as JSON Lines, without any I/O. The bytes of the file are the
// lines, and nothing else:
//
//   file := [byte-order mark] line*
//   line := text ["\r"] "\n"
//
// A seq is the position of a line. An empty line is no record. Text has no zero byte: where a file has them, the bytes
// that were written there were lost, as a file system may lose them when the power goes. Such a hole, and what is left
// of the lines that it cuts, is damage.

const { LogError } = require('@millrace/errors')
const { tooLargeToRead } = require('./faults')

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])
/** How many bytes the walk asks for if a line goes on after the window; each time twice as many. */
const NEED_MIN = 512
const NOWHERE = -1
// Called as `buffer.indexOf`, V8 looks it up for each line, which takes a quarter of the time of a walk.
const { indexOf } = Buffer.prototype

/**
 * @typedef {import('./offset-framing').RecordRun} RecordRun
 * @typedef {import('./offset-framing').Window} Window
 * @typedef {import('./faults').Damage} Damage
 */

/** Walks the lines of a file in either direction. */
class LineWalk {
  /**
   * @param {number} position  where to begin: the start of a line, or the end of one to walk backward
   * @param {number} start  of the first line in the file
   * @param {number} maxRecordSize  in bytes
   */
  constructor (position, start, maxRecordSize) {
    /** Of the next line: its start when walking forward, its end when walking backward. */
    this.position = position
    /** How many bytes from there the window must hold to go on; 0 if bytes are not what is missing. */
    this.need = 0
    /** The line at the position is too large. @type {LogError | null} */
    this.error = null
    /** The hole that was passed last. The walk stopped after it, and has told it once. @type {Damage | null} */
    this.damage = null
    /** Inside a hole: where it begins, or ends when walking backward. */
    this._hole = NOWHERE
    this._start = start
    this._maxRecordSize = maxRecordSize
  }

  /** Whether a hole has begun whose end is not known yet. */
  get isInHole () {
    return this._hole !== NOWHERE
  }

  /** Continues at another position. @param {number} position */
  restart (position) {
    this.position = position
    this.need = 0
    this.error = this.damage = null
    this._hole = NOWHERE
  }

  /**
   * Collects the lines that begin at `position` or after, and before `stop`. Stops after a hole.
   * @param {Window} window  holds the position
   * @param {number} stop
   * @param {number} end  where the last line of the log ends, with or without a line break
   * @param {RecordRun} run  gets records until it is full
   */
  forward (window, stop, end, run) {
    const { buffer, start: base } = window
    const held = Math.min(window.end, end) - base
    const stopOffset = Math.min(stop, end) - base
    const isEndHeld = base + held >= end
    let at = this.position - base
    this.need = 0
    this.damage = null
    let nextZero = findByte(buffer, 0, at, held)
    if (!this.isInHole) at = this._takeOrdinary(buffer, base, { at, stop: stopOffset, end: nextZero }, run)
    while ((at < stopOffset || this.isInHole) && !run.isFull && !this._isStopped) {
      const lineEnd = this.isInHole ? held : findByte(buffer, LINE_FEED, at, held)
      if (this.isInHole || nextZero < lineEnd) {
        const zero = this.isInHole ? at : nextZero
        if (!this.isInHole) this._hole = base + at
        at = this._passHole(window, zero, held, end)
        nextZero = findByte(buffer, 0, at, held)
      } else if (lineEnd === held && !isEndHeld) {
        this._ask(base + at, held - at)
      } else {
        this._take(base, at, withoutReturn(buffer, at, lineEnd), run)
        if (this.error === null) at = Math.min(lineEnd + 1, held)
      }
    }
    this.position = base + at
  }

  /**
   * Takes the lines from `at` on that are whole before `end`, which are nearly all. `forward` judges the line at which
   * this stops.
   * @type {(buffer: Buffer, base: number, range: { at: number, stop: number, end: number }, run: RecordRun) => number}
   *   the offset to go on from
   */
  _takeOrdinary (buffer, base, { at, stop, end }, run) {
    const { seqs, starts, ends } = run
    const sizeMax = this._maxRecordSize
    const room = seqs.length
    let { count } = run
    // Not each time as a double, as positions may be.
    let start = at | 0
    while (start < stop && count < room) {
      const lineEnd = indexOf.call(buffer, LINE_FEED, start) | 0
      if (lineEnd < start || lineEnd >= end) break
      const textEnd = withoutReturn(buffer, start, lineEnd)
      if (textEnd - start > sizeMax) break
      if (textEnd > start) {
        seqs[count] = base + start
        starts[count] = start
        ends[count] = textEnd
        count++
      }
      start = lineEnd + 1
    }
    run.take(count)
    return start
  }

  /** Whether the walk cannot go on in this window, or is after a hole. */
  get _isStopped () {
    return this.need > 0 || this.error !== null || this.damage !== null
  }

  /** Adds a line, unless it is empty. @type {(base: number, start: number, end: number, run: RecordRun) => void} */
  _take (base, start, end, run) {
    if (end - start > this._maxRecordSize) this.error = tooLargeToRead(base + start, end - start, this._maxRecordSize)
    else if (end > start) run.add(base + start, start, end)
  }

  /**
   * Passes zeros and what is left of the lines around them. A whole object that stands after the zeros is a line of
   * its own: somebody has appended it there.
   * @type {(window: Window, at: number, held: number, end: number) => number} the offset to go on from
   */
  _passHole ({ buffer, start: base }, at, held, end) {
    for (;;) {
      while (at < held && buffer[at] === 0) at++
      const lineEnd = findByte(buffer, LINE_FEED, at, held)
      const zero = findByte(buffer, 0, at, lineEnd)
      if (zero < lineEnd) {
        at = zero
        continue
      }
      if (lineEnd === held && base + held < end) {
        this._ask(base + at, held - at)
        return at
      }
      const next = isWholeObject(buffer, at, lineEnd) ? at : Math.min(lineEnd + 1, held)
      this.damage = { start: this._hole, end: base + next, fault: 'HOLE' }
      this._hole = NOWHERE
      return next
    }
  }

  /**
   * Collects the lines that end at `position` or before, last first, down to seq `stop`. Stops before a hole.
   * @param {Window} window  holds the byte before the position
   * @param {number} stop  the lowest wanted seq
   * @param {RecordRun} run
   */
  backward (window, stop, run) {
    const { start: base } = window
    const first = Math.max(stop, this._start)
    let at = this.position - base
    this.need = 0
    this.damage = null
    while ((base + at > first || this.isInHole) && !run.isFull && !this._isStopped) {
      if (at === 0) this.need = NEED_MIN
      else at = this._stepBack(window, at, stop, run)
    }
    this.position = base + at
  }

  /**
   * Takes the line that ends at `at`, or goes back through a hole.
   * @type {(window: Window, at: number, stop: number, run: RecordRun) => number} the offset to go on from
   */
  _stepBack (window, at, stop, run) {
    const { buffer, start: base } = window
    const first = Math.max(0, this._start - base)
    const lineEnd = buffer[at - 1] === LINE_FEED && !this.isInHole ? at - 1 : at
    const found = lineEnd > first ? buffer.lastIndexOf(LINE_FEED, lineEnd - 1) : -1
    const isStartHeld = found >= first || base <= this._start
    const lineStart = found >= first ? found + 1 : first
    const zero = lineEnd > lineStart ? buffer.lastIndexOf(0, lineEnd - 1) : -1
    if (this.isInHole || zero >= lineStart) {
      if (!this.isInHole) this._enterHole(window, zero + 1, lineEnd, at, stop, run)
      if (isStartHeld) this._leaveHole(base + lineStart)
      return lineStart
    }
    if (!isStartHeld) {
      this._ask(base + first, at - first)
      return at
    }
    if (base + lineStart >= stop) this._take(base, lineStart, withoutReturn(buffer, lineStart, lineEnd), run)
    return this.error === null ? lineStart : at
  }

  /**
   * Comes to the last zeros of a line from its end. `rest`: where the text after them begins.
   * @type {(window: Window, rest: number, lineEnd: number, next: number, stop: number, run: RecordRun) => void}
   */
  _enterHole ({ buffer, start: base }, rest, lineEnd, next, stop, run) {
    const isWhole = isWholeObject(buffer, rest, lineEnd)
    this._hole = base + (isWhole ? rest : next)
    if (isWhole && base + rest >= stop) this._take(base, rest, withoutReturn(buffer, rest, lineEnd), run)
  }

  /** @param {number} start  where the line begins that the hole is in */
  _leaveHole (start) {
    this.damage = { start, end: this._hole, fault: 'HOLE' }
    this._hole = NOWHERE
  }

  /** The line goes on after the window. @type {(seq: number, size: number) => void} `size`: of what is held */
  _ask (seq, size) {
    if (size > this._maxRecordSize + 2) this.error = tooLargeToRead(seq, size, this._maxRecordSize)
    else this.need = Math.max(NEED_MIN, 2 * size)
  }
}

/**
 * The first such byte in a range, or its end.
 * @type {(bytes: Buffer, byte: number, start: number, end: number) => number}
 */
function findByte (bytes, byte, start, end) {
  if (start >= end) return end
  const found = indexOf.call(bytes, byte, start)
  return found === -1 || found > end ? end : found
}

/** @type {(bytes: Buffer, start: number, end: number) => number} the end of a line's text */
function withoutReturn (bytes, start, end) {
  return end > start && bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end
}

/**
 * Whether the bytes are one JSON object. No object is the end of another one: a line that lost its beginning is never
 * taken for whole.
 * @type {(bytes: Buffer, start: number, end: number) => boolean}
 */
function isWholeObject (bytes, start, end) {
  if (bytes[start] !== 0x7b || end - start < 2) return false
  try {
    JSON.parse(bytes.toString('utf8', start, end))
    return true
  } catch {
    return false
  }
}

/**
 * Why a record cannot be a line; null if it can.
 * @type {(record: Buffer) => LogError | null} ERR_RECORD_UNREPRESENTABLE
 */
function checkLine (record) {
  const { length } = record
  if (length === 0) return unrepresentable('an empty record would be a blank line')
  const lineBreak = indexOf.call(record, LINE_FEED)
  if (lineBreak !== -1) return unrepresentable(`the record has a line break, at byte ${lineBreak}`)
  if (record[length - 1] === CARRIAGE_RETURN) return unrepresentable('the record ends with a carriage return')
  const zero = indexOf.call(record, 0)
  if (zero !== -1) return unrepresentable(`the record has a zero byte, at byte ${zero}`)
  return null
}

/** @param {string} found */
function unrepresentable (found) {
  return new LogError('ERR_RECORD_UNREPRESENTABLE', `append: ${found}, and a record of the framing lines is one line of text; ` +
    'use a codec that writes one, such as that of @millrace/json-codec')
}

/**
 * Whether a file that begins so can be a log of lines: its first line is one object, as far as it is there.
 * @param {Buffer} bytes  the first ones of the file, or all
 * @param {boolean} areAll
 */
function looksLikeLines (bytes, areAll) {
  const start = findFirstLine(bytes)
  const end = findByte(bytes, LINE_FEED, start, bytes.length)
  if (end < bytes.length || areAll) return isWholeObject(bytes, start, end)
  return bytes[start] === 0x7b && !bytes.includes(0)
}

/** Where the first line begins: after a byte-order mark. @param {Buffer} bytes  the first ones of the file */
function findFirstLine (bytes) {
  const { length } = BYTE_ORDER_MARK
  return bytes.length >= length && bytes.subarray(0, length).equals(BYTE_ORDER_MARK) ? length : 0
}

exports.LineWalk = LineWalk
exports.checkLine = checkLine
exports.findFirstLine = findFirstLine
exports.isWholeObject = isWholeObject
exports.looksLikeLines = looksLikeLines
exports.withoutReturn = withoutReturn
