'use strict'
// Cuts a logs request in JSON into its parts while it arrives: each log record, and what stands beside a list of them.
// Only one part at a time is gathered. Everything else is checked, and nothing is kept of it.

const { LogError } = require('@millrace/errors')
const { DONE, JsonCheck, REFUSED, showByte } = require('@millrace/json-codec')
const { PARTS_MAX, partTooLarge, tooManyParts, whyNoList } = require('./log-record')

const [QUOTE, COMMA, COLON, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET, LETTER_N] = Buffer.from('",:{}[]n')
const IS_SPACE = new Uint8Array(256)
for (const byte of Buffer.from(' \n\r\t')) IS_SPACE[byte] = 1
const MARK = Buffer.from('\ufeff')
/** No name that means something is longer, however it is spelled. */
const NAME_SIZE_MAX = 6 * 'resourceLogs'.length + 2
const GATHER_SIZE = 4096

/** Objects inside one another: the name of the list in each, and those of the values that are wanted. */
const LEVELS = [
  { list: 'resourceLogs', wanted: [] },
  { list: 'scopeLogs', wanted: ['resource', 'schemaUrl'] },
  { list: 'logRecords', wanted: ['scope', 'schemaUrl'] }
]

// What comes next.
const OBJECT = 0
const NAME_OR_END = 1
const NAME = 2
const IN_NAME = 3
const NAME_END = 4
const VALUE = 5
const IN_VALUE = 6
const VALUE_END = 7
const ITEM_OR_END = 8
const ITEM = 9
const ITEM_END = 10
const OVER = 11

// What a part is for.
const NOTHING = 0
const A_NAME = 1
const A_VALUE = 2
const A_RECORD = 3

/**
 * @typedef {object} Sink
 * @property {(level: number) => void} open  resource logs (1) or scope logs (2) begin
 * @property {(level: number, values: Record<string, Buffer>) => void} close  they have ended
 * @property {(level: number) => void} reset  a list in an object of this level begins: an earlier one counts no more
 * @property {(bytes: Buffer, from: number, to: number, parts: number) => void} record
 * @property {() => void} tooLarge  a record is
 */

class JsonCutter {
  /** A part that came in pieces, and waits to be taken. @type {Buffer | null} */
  ready = null
  #sink
  #sizeMax
  #check = new JsonCheck()
  #place = OBJECT
  /** How many lists are open. */
  #level = 0
  /** Of the member at hand. */
  #name = ''
  /** Of each level, what an object without its list has in the place of it. @type {Array<string | null>} */
  #strangers = [null, null, null]
  /** Of each level, whether the list was there. */
  #hasList = [false, false, false]
  /** Of each level, the values that are wanted. @type {Array<Record<string, Buffer>>} */
  #values = [{}, {}, {}]
  /** Bytes before the chunk. */
  #offset = 0
  /** What the part at hand is for, where it begins in the chunk, and what came of it before. */
  #want = NOTHING
  #begin = 0
  /** @type {Buffer | null} */
  #gathered = null
  #gatheredSize = 0
  #isTooLarge = false
  #hasMark = false

  /**
   * @param {Sink} sink
   * @param {number} sizeMax  bytes of a part
   */
  constructor (sink, sizeMax) {
    this.#sink = sink
    this.#sizeMax = sizeMax
  }

  /** Bytes that it holds. */
  get heldSize () {
    return (this.#gathered?.length ?? 0) + (this.ready?.length ?? 0)
  }

  /** @type {(chunk: Buffer, from: number) => number}  where to go on, once what is `ready` was taken */
  pass (chunk, from) {
    let at = from
    this.#begin = from
    while (at < chunk.length && this.ready === null) at = this.#step(chunk, at)
    if (this.ready === null && (this.#place === IN_NAME || this.#place === IN_VALUE)) this.#gather(chunk, at)
    if (at === chunk.length) this.#offset += at
    return at
  }

  /** Takes what is ready. */
  take () {
    const bytes = /** @type {Buffer} */ (this.ready)
    this.ready = null
    this.#use(bytes, 0, bytes.length)
  }

  /** No more comes. */
  end () {
    if (this.#place !== OVER) throw wrong('it ends too early', this.#offset)
  }

  /** @type {(chunk: Buffer, at: number) => number} */
  #step (chunk, at) {
    if (this.#place === IN_NAME || this.#place === IN_VALUE) return this.#passValue(chunk, at)
    const byte = chunk[at]
    if (this.#isMark(byte, this.#offset + at) || IS_SPACE[byte] === 1) return at + 1
    return this.#place >= ITEM_OR_END ? this.#stepInList(byte, at) : this.#stepInObject(byte, at)
  }

  /** @type {(byte: number, at: number) => number} */
  #stepInList (byte, at) {
    const place = this.#place
    if (byte === CLOSE_BRACKET && (place === ITEM_OR_END || place === ITEM_END)) return this.#closeList(at)
    if (place === ITEM_END) return this.#expect(byte, at, COMMA, ITEM)
    return place === OVER ? this.#refuse(byte, at) : this.#beginItem(byte, at)
  }

  /** @type {(byte: number, at: number) => number} */
  #stepInObject (byte, at) {
    const place = this.#place
    if (byte === CLOSE_BRACE && (place === NAME_OR_END || place === VALUE_END)) return this.#closeObject(at)
    if (place === OBJECT) return this.#expect(byte, at, OPEN_BRACE, NAME_OR_END)
    if (place === NAME_END) return this.#expect(byte, at, COLON, VALUE)
    if (place === VALUE_END) return this.#expect(byte, at, COMMA, NAME)
    return place === VALUE ? this.#beginValue(byte, at) : this.#beginName(byte, at)
  }

  /** @type {(byte: number, at: number, expected: number, place: number) => number} */
  #expect (byte, at, expected, place) {
    if (byte !== expected) this.#refuse(byte, at)
    this.#place = place
    return at + 1
  }

  /** @type {(byte: number, at: number) => never} */
  #refuse (byte, at) {
    throw wrong(`${showByte(byte)} is unexpected`, this.#offset + at)
  }

  /** Of a byte-order mark, which JSON does not have. @type {(byte: number, at: number) => boolean} */
  #isMark (byte, at) {
    if (at >= MARK.length) return false
    if (at === 0) this.#hasMark = byte === MARK[0]
    if (!this.#hasMark) return false
    if (byte !== MARK[at]) throw wrong('it is not UTF-8', at)
    return true
  }

  /** @type {(byte: number, at: number) => number} */
  #beginName (byte, at) {
    if (byte !== QUOTE) this.#refuse(byte, at)
    this.#beginPart(IN_NAME, at, A_NAME)
    return at
  }

  /** @type {(byte: number, at: number) => number} */
  #beginValue (byte, at) {
    const { list, wanted } = LEVELS[this.#level]
    if (this.#name === list) {
      this.#hasList[this.#level] = true
      this.#sink.reset(this.#level)
      if (byte === OPEN_BRACKET) {
        this.#level++
        this.#place = ITEM_OR_END
        return at + 1
      }
      if (byte !== LETTER_N) throw wrong(`${list} must be a list`, this.#offset + at)
    }
    this.#beginPart(IN_VALUE, at, wanted.includes(this.#name) ? A_VALUE : NOTHING)
    return at
  }

  /** @type {(byte: number, at: number) => number} */
  #beginItem (byte, at) {
    if (byte !== OPEN_BRACE) throw wrong(`${LEVELS[this.#level - 1].list} must be objects`, this.#offset + at)
    if (this.#level === LEVELS.length) {
      this.#beginPart(IN_VALUE, at, A_RECORD)
      return at
    }
    this.#values[this.#level] = {}
    this.#strangers[this.#level] = null
    this.#hasList[this.#level] = false
    this.#sink.open(this.#level)
    this.#place = NAME_OR_END
    return at + 1
  }

  /** @type {(at: number) => number} */
  #closeObject (at) {
    this.#checkList(at)
    if (this.#level > 0) this.#sink.close(this.#level, this.#values[this.#level])
    this.#place = this.#level > 0 ? ITEM_END : OVER
    return at + 1
  }

  /** @param {number} at */
  #checkList (at) {
    const stranger = this.#strangers[this.#level]
    if (stranger === null || this.#hasList[this.#level]) return
    throw wrong(whyNoList(LEVELS[this.#level].list, stranger), this.#offset + at)
  }

  /** @type {(at: number) => number} */
  #closeList (at) {
    this.#level--
    this.#place = VALUE_END
    return at + 1
  }

  /** @type {(place: number, at: number, want: number) => void} */
  #beginPart (place, at, want) {
    this.#place = place
    this.#begin = at
    this.#want = want
    this.#isTooLarge = false
    this.#check.begin()
  }

  /** @type {(chunk: Buffer, from: number) => number} */
  #passValue (chunk, from) {
    const check = this.#check
    const at = check.pass(chunk, from, chunk.length)
    if (check.status === REFUSED) throw wrong(check.reason, this.#offset + at)
    if (check.status !== DONE) return at
    const isInPieces = this.#gathered !== null
    if (isInPieces || at - this.#begin > this.#sizeMax) this.#gather(chunk, at)
    this.#place = this.#place === IN_NAME ? NAME_END : this.#level === LEVELS.length ? ITEM_END : VALUE_END
    if (this.#isTooLarge) this.#use(chunk, at, at)
    else if (isInPieces) this.ready = /** @type {Buffer} */ (this.#gathered).subarray(0, this.#gatheredSize)
    else this.#use(chunk, this.#begin, at)
    this.#gathered = null
    this.#gatheredSize = 0
    return at
  }

  /** Keeps what the chunk has of the part at hand. @type {(chunk: Buffer, end: number) => void} */
  #gather (chunk, end) {
    if (this.#want === NOTHING || this.#isTooLarge) return
    const size = this.#gatheredSize + end - this.#begin
    if (size > (this.#want === A_NAME ? NAME_SIZE_MAX : this.#sizeMax)) {
      if (this.#want === A_VALUE) throw partTooLarge(this.#name, this.#sizeMax)
      this.#isTooLarge = true
      this.#gathered = null
      this.#gatheredSize = 0
      return
    }
    if (this.#gathered === null || size > this.#gathered.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(size, 2 * (this.#gathered?.length ?? GATHER_SIZE / 2)))
      this.#gathered?.copy(grown, 0, 0, this.#gatheredSize)
      this.#gathered = grown
    }
    chunk.copy(this.#gathered, this.#gatheredSize, this.#begin, end)
    this.#gatheredSize = size
    this.#begin = 0
  }

  /** Uses a part that is whole. @type {(bytes: Buffer, from: number, to: number) => void} */
  #use (bytes, from, to) {
    if (this.#want === A_NAME) {
      this.#name = to - from > NAME_SIZE_MAX || from === to ? '' : nameAt(bytes, from, to)
      if (!LEVELS[this.#level].wanted.includes(this.#name)) this.#strangers[this.#level] ??= this.#name
    } else if (this.#want === A_RECORD) {
      if (this.#isTooLarge) this.#sink.tooLarge()
      else this.#sink.record(bytes, from, to, this.#check.parts)
    } else if (this.#want === A_VALUE) {
      if (this.#check.parts > PARTS_MAX) throw tooManyParts()
      this.#values[this.#level][this.#name] = Buffer.from(bytes.subarray(from, to))
    }
  }
}

/** @type {(bytes: Buffer, from: number, to: number) => string} */
function nameAt (bytes, from, to) {
  const name = bytes.toString('latin1', from + 1, to - 1)
  return name.includes('\\') ? JSON.parse(bytes.toString('utf8', from, to)) : name
}

/** @type {(reason: string, offset: number) => LogError} */
function wrong (reason, offset) {
  return new LogError('ERR_CODEC_DECODE', `the request is no JSON of OTLP logs: ${reason}, at byte ${offset}`, { offset })
}

exports.JsonCutter = JsonCutter
