'use strict'
// Cuts a body into records while it arrives: one value, an array of them, or lines. The bytes are checked and copied
// into what will be stored; nothing is built from them, and what exceeds a limit is refused at the byte that does.

const { DONE, JsonCheck, REFUSED, showByte } = require('@millrace/json-codec')
const { LINES_TYPES } = require('./content')
const { pairIn } = require('./counts/pair-in')
const { Problem, tooLarge } = require('./problem')
const { makeRecords } = require('./record')

const [NEWLINE, RETURN, SPACE, TAB, COMMA, OPEN_BRACKET, CLOSE_BRACKET] = Buffer.from('\n\r \t,[]')
const IS_SPACE = new Uint8Array(256)
for (const byte of [NEWLINE, RETURN, SPACE, TAB]) IS_SPACE[byte] = 1
/** About what a Buffer costs, for a record. */
const VIEW_SIZE = 128
/** A value that comes in pieces is gathered in memory of this size at first. */
const GATHER_SIZE = 4096
const MARK = Buffer.from('\ufeff')
const NOTHING = Buffer.alloc(0)
/** Some clients send lines as JSON, and `curl -d @file` takes the line breaks out. */
const SEND_LINES = '. For a record a line, send application/x-ndjson'
const ONE_A_LINE = '. Each record needs a line of its own; curl keeps line breaks with --data-binary'

// Where in the body the next byte is.
const BEFORE = 0 // before a value, or of the bracket that begins an array
const FIRST = 1 // after that bracket
const ITEM = 2 // after a comma
const INSIDE = 3
const BEHIND = 4
const OVER = 5

/**
 * @template T
 * @typedef {import('./body').Reader<T>} Reader
 */

/**
 * @typedef {{ batchCount: number, recordSize: number }} CutLimits
 *
 * @typedef {object} Cut
 * @property {Buffer[]} records  as they are stored, but for their time
 * @property {string[]} pairs  source, event, source, event and so on
 */

/** @implements {Reader<Cut>} */
class RecordCutter {
  /** @type {Buffer[]} */
  #records = []
  /** @type {string[]} */
  #pairs = []
  #check = new JsonCheck()
  #limits
  #isLines
  #wantsPairs
  #isArray = false
  #hasMark = false
  #place = BEFORE
  /** Bytes before the chunk, and those of the line's begin; lines begin at 1. */
  #offset = 0
  #line = 1
  #lineOffset = 0
  /** The records of the chunk: from, to, from, to and so on. @type {number[]} */
  #cuts = []
  #count = 0
  /** Where the value begins in the chunk. */
  #begin = 0
  /** The begin of a value that came in earlier chunks. @type {Buffer | null} */
  #gathered = null
  #gatheredSize = 0
  #blockSize = 0
  /** What the next step works on. @type {Buffer | null} */
  #chunk = null

  /**
   * @param {string} type  the media type
   * @param {CutLimits} limits
   * @param {boolean} wantsPairs
   */
  constructor (type, limits, wantsPairs) {
    this.#isLines = LINES_TYPES.includes(type)
    this.#limits = limits
    this.#wantsPairs = wantsPairs
  }

  /** Bytes that it holds. */
  get heldSize () {
    return this.#blockSize + this.nextSize + (this.#gathered?.length ?? 0) + VIEW_SIZE * this.#count
  }

  get nextSize () {
    return this.#chunk?.length ?? 0
  }

  /** @param {Buffer} chunk  of the body */
  write (chunk) {
    this.#chunk = chunk
  }

  /** @throws {Problem} */
  step () {
    const chunk = /** @type {Buffer} */ (this.#chunk)
    this.#chunk = null
    this.#begin = 0
    for (let at = 0; at < chunk.length;) at = this.#isLines ? this.#passLine(chunk, at) : this.#passJson(chunk, at)
    if (this.#cuts.length > 0) this.#store(chunk, this.#cuts)
    this.#cuts = []
    if (this.#place === INSIDE) this.#gather(chunk, chunk.length)
    this.#offset += chunk.length
  }

  end () {}

  /** @returns {Cut} @throws {Problem} */
  finish () {
    if (this.#place === INSIDE && this.#check.end()) {
      this.#endValue(NOTHING, 0)
    }
    const isOver = this.#place === OVER || this.#place === BEFORE || (this.#isLines && this.#place === BEHIND)
    if (!isOver) throw this.#wrong('it ends too early', this.#offset)
    if (this.#records.length === 0) throw new Problem(400, 'the body has no record')
    return { records: this.#records, pairs: this.#pairs }
  }

  /** @type {(chunk: Buffer, from: number) => number} where to go on */
  #passJson (chunk, from) {
    if (this.#place === INSIDE) return this.#passValue(chunk, from, chunk.length)
    const byte = chunk[from]
    if (this.#isMark(byte, from) || IS_SPACE[byte] === 1) return from + 1
    const place = this.#place
    if (place === BEFORE && byte === OPEN_BRACKET) {
      this.#isArray = true
      this.#place = FIRST
    } else if (byte === CLOSE_BRACKET && (place === FIRST || place === BEHIND)) this.#place = OVER
    else if (place === BEHIND && byte === COMMA) this.#place = ITEM
    else if (place <= ITEM) {
      this.#beginValue(from)
      return from
    } else throw this.#unexpected(byte, from)
    return from + 1
  }

  /** @type {(chunk: Buffer, from: number) => number} where to go on */
  #passLine (chunk, from) {
    if (this.#place === INSIDE) {
      const found = chunk.indexOf(NEWLINE, from)
      const at = this.#passValue(chunk, from, found === -1 ? chunk.length : found)
      if (this.#place !== INSIDE || found === -1) return at
      if (!this.#check.end()) throw this.#wrong('it ends too early', this.#offset + found)
      this.#endValue(chunk, found)
      return found
    }
    const byte = chunk[from]
    if (this.#isMark(byte, from)) return from + 1
    if (byte === NEWLINE) {
      this.#place = BEFORE
      this.#line++
      this.#lineOffset = this.#offset + from + 1
    } else if (IS_SPACE[byte] === 0) {
      if (this.#place !== BEFORE) throw this.#unexpected(byte, from)
      this.#beginValue(from)
      return from
    }
    return from + 1
  }

  /**
   * Some programs begin UTF-8 with a byte-order mark, which JSON does not have.
   * @type {(byte: number, from: number) => boolean}  whether the byte is a part of it
   */
  #isMark (byte, from) {
    const at = this.#offset + from
    if (at >= MARK.length) return false
    if (at === 0) this.#hasMark = byte === MARK[0]
    if (!this.#hasMark) return false
    if (byte !== MARK[at]) throw this.#wrong('it is not UTF-8', at)
    return true
  }

  /** @param {number} from */
  #beginValue (from) {
    const { batchCount } = this.#limits
    if (this.#count === batchCount) throw tooLarge(`a batch may have ${batchCount} records; nothing was stored`)
    this.#count++
    this.#place = INSIDE
    this.#begin = from
    this.#check.begin()
  }

  /** @type {(chunk: Buffer, from: number, to: number) => number} */
  #passValue (chunk, from, to) {
    const check = this.#check
    const { recordSize } = this.#limits
    const at = check.pass(chunk, from, to)
    if (this.#gatheredSize + at - this.#begin > recordSize) {
      throw tooLarge(`a record is larger than ${recordSize} bytes; nothing was stored`, this.#position)
    }
    if (check.status === REFUSED) throw this.#wrong(check.reason, this.#offset + at)
    if (check.status === DONE) this.#endValue(chunk, at)
    return at
  }

  /** @type {(chunk: Buffer, end: number) => void} */
  #endValue (chunk, end) {
    this.#place = this.#isArray || this.#isLines ? BEHIND : OVER
    if (this.#gathered === null) {
      this.#cuts.push(this.#begin, end)
      return
    }
    this.#gather(chunk, end)
    this.#store(this.#gathered, [0, this.#gatheredSize])
    this.#gathered = null
    this.#gatheredSize = 0
  }

  /** Keeps what the chunk has of a value. @type {(chunk: Buffer, end: number) => void} */
  #gather (chunk, end) {
    const size = this.#gatheredSize + end - this.#begin
    if (this.#gathered === null || size > this.#gathered.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(size, 2 * (this.#gathered?.length ?? GATHER_SIZE / 2)))
      this.#gathered?.copy(grown, 0, 0, this.#gatheredSize)
      this.#gathered = grown
    }
    chunk.copy(this.#gathered, this.#gatheredSize, this.#begin, end)
    this.#gatheredSize = size
    this.#begin = 0
  }

  /** Makes the records of values. @type {(bytes: Buffer, cuts: number[]) => void} */
  #store (bytes, cuts) {
    const { block, records } = makeRecords(bytes, cuts)
    this.#blockSize += block.length
    for (const record of records) this.#records.push(record)
    if (!this.#wantsPairs) return
    for (let index = 0; index < cuts.length; index += 2) {
      for (const text of pairIn(bytes, cuts[index], cuts[index + 1])) this.#pairs.push(text)
    }
  }

  /** Of the record at hand, for a program. */
  get #position () {
    /** @type {Record<string, number>} */
    const position = this.#isLines ? { line: this.#line } : { index: this.#count - 1 }
    return position
  }

  /** @type {(byte: number, from: number) => Problem} */
  #unexpected (byte, from) {
    const found = showByte(byte)
    const offset = this.#offset + from
    if (this.#isArray) return this.#wrong(`${found} is unexpected`, offset)
    return this.#wrong(`${found} is after its value`, offset, this.#isLines ? ONE_A_LINE : SEND_LINES)
  }

  /** @type {(reason: string, offset: number, advice?: string) => Problem} */
  #wrong (reason, offset, advice = '') {
    const what = this.#isLines ? `line ${this.#line}` : 'the body'
    const more = this.#isLines ? { line: this.#line, offset: this.#lineOffset } : { offset }
    const detail = `${what} is no JSON: ${reason}, at byte ${offset}; nothing was stored${advice}`
    return new Problem(400, detail, { code: 'bad_record', more })
  }
}

exports.RecordCutter = RecordCutter
