'use strict'
// A record to its packed bytes and back. A packed record is a row of pieces: words by their ids, whole numbers, and
// other bytes as they are. The pieces of any record add up to exactly its bytes, whatever these mean; where to cut is
// guessed from how JSON looks. docs/internals/format.md describes the bytes.

const { LogError } = require('@millrace/errors')
const { allocateShared, putUint32 } = require('@millrace/flow')
const { HASH_PRIME, WORD_SIZE_MAX } = require('./dictionary')

/** @typedef {import('./dictionary').Dictionary} Dictionary */
/** Where bytes are put together; it grows. @typedef {{ bytes: Buffer, end: number }} Output */

// The first byte of a piece.
/** The rest of the record, as it is. */
const VERBATIM = 0x01
/** A text of 33 to 288 bytes, and one of more. */
const TEXT_8 = 0x02
const TEXT_32 = 0x03
/** 1 to 7 bytes of a whole number: 0x04 to 0x0a. */
const NUMBER = 0x03
/** A word whose id takes two bytes. */
const WORD_16 = 0x0b
/** A text of 1 to 32 bytes: 0x10 to 0x2f. */
const TEXT = 0x0f
/** The words 0 to 159: 0x30 to 0xcf. */
const WORD = 0x30
/** The words 160 to 12,447: 0xd0 to 0xff, and one more byte. */
const WORD_8 = 0xd0

const TEXT_SHORT_MAX = 32
const TEXT_8_MIN = 33
const TEXT_8_MAX = TEXT_8_MIN + 255
const WORD_8_MIN = WORD_8 - WORD
const WORD_16_MIN = WORD_8_MIN + (0x100 - WORD_8) * 0x100

/** In a longer record other things take the room. */
const PACKED_SIZE_MAX = 16 * 1024
const DIGITS_MAX = 15
const NUMBER_END = 10 ** DIGITS_MAX
/** To call a function costs more than to copy fewer bytes one by one. */
const COPIED_SIZE_MAX = 32
const NO_ROOM = -1
const NONE = -1
const TWO_32 = 2 ** 32
const TEN_7 = 1e7

const [QUOTE, BACKSLASH, COLON, MINUS, PLUS, DOT, ZERO, NINE, SMALL_E, LARGE_E] = Buffer.from('"\\:-+.09eE')

/**
 * @param {Dictionary} dictionary  gets new words
 * @param {Uint8Array} record
 * @param {Uint8Array} target
 * @param {number} at  where the packed record begins in the target; it takes at most one byte more than the record
 * @returns {number}  where it ends
 */
function packRecord (dictionary, record, target, at) {
  const size = record.length
  const end = size === 0 || size > PACKED_SIZE_MAX ? NO_ROOM : packPieces(dictionary, record, target, at)
  if (end !== NO_ROOM) return end
  target[at] = VERBATIM
  target.set(record, at + 1)
  return at + 1 + size
}

/**
 * Cuts before each value and after it. What lies between two values (brackets, keys, colons) is one text.
 * @type {(dictionary: Dictionary, record: Uint8Array, target: Uint8Array, at: number) => number} NO_ROOM if the pieces
 *   would take more than the record
 */
function packPieces (dictionary, record, target, at) {
  const size = record.length
  const limit = at + size + 1
  let out = at
  let place = 0
  let link = NONE
  while (place < size) {
    // In one log the same keys come after one another again and again.
    const guess = dictionary.follower(link)
    if (guess !== NONE && dictionary.begins(guess, record, place, size)) {
      out = putWord(guess, target, out, limit)
      place += dictionary.sizes[guess]
      link = guess
    } else {
      const end = findValue(record, place, size)
      const id = dictionary.wordFor(record, place, end)
      out = id === NONE ? putText(record, place, end, target, out, limit) : putWord(id, target, out, limit)
      if (id !== NONE) dictionary.noteFollower(link, link = id)
      place = end
    }
    if (out === NO_ROOM || place === size) return out
    const byte = record[place]
    if (byte === QUOTE) out = packText(dictionary, record, place, target, out, limit)
    else if (isNumberStart(byte)) out = packNumber(dictionary, record, place, target, out, limit)
    else continue
    if (out === NO_ROOM) return NO_ROOM
    place = packedTo
  }
  return out
}

/** Where the value ends that was packed last. */
let packedTo = 0

/**
 * @typedef {(dictionary: Dictionary, record: Uint8Array, start: number, target: Uint8Array, out: number, limit: number
 *   ) => number} PackValue  where the piece ends, or NO_ROOM
 */

/** Packs a string, unless that is a key. @type {PackValue} */
function packText (dictionary, record, start, target, out, limit) {
  const size = record.length
  const stop = Math.min(size, start + WORD_SIZE_MAX)
  let hash = Math.imul(dictionary.seed ^ QUOTE, HASH_PRIME)
  for (let at = start + 1; at < stop; at++) {
    const byte = record[at]
    hash = Math.imul(hash ^ byte, HASH_PRIME)
    if (byte === BACKSLASH) break
    if (byte !== QUOTE) continue
    packedTo = at + 1
    if (record[packedTo] === COLON) return endAt(start, out)
    const id = dictionary.wordOf(hash, record, start, packedTo)
    return id === NONE ? putText(record, start, packedTo, target, out, limit) : putWord(id, target, out, limit)
  }
  packedTo = endOfText(record, start, size)
  if (record[packedTo] === COLON) return endAt(start, out)
  return putOther(dictionary, record, start, target, out, limit)
}

/** Leaves a key to what lies between the values. @type {(start: number, out: number) => number} */
function endAt (start, out) {
  packedTo = start
  return out
}

/** @type {PackValue} */
function packNumber (dictionary, record, start, target, out, limit) {
  const stop = Math.min(record.length, start + DIGITS_MAX)
  let number = 0
  let at = start
  for (; at < stop; at++) {
    const digit = record[at] - ZERO
    if (!(digit >= 0 && digit <= 9)) break
    number = number * 10 + digit
  }
  packedTo = endOfNumber(record, at, record.length)
  const isWhole = packedTo === at && at > start && (record[start] !== ZERO || at === start + 1)
  return isWhole ? putNumber(number, target, out, limit) : putOther(dictionary, record, start, target, out, limit)
}

/** Packs what is no plain string or number: up to `packedTo`. @type {PackValue} */
function putOther (dictionary, record, start, target, out, limit) {
  const id = dictionary.wordFor(record, start, packedTo)
  return id === NONE ? putText(record, start, packedTo, target, out, limit) : putWord(id, target, out, limit)
}

/**
 * Where the next value begins, a string or a number.
 * @type {(record: Uint8Array, from: number, size: number) => number}
 */
function findValue (record, from, size) {
  for (let at = from; at < size; at++) {
    const byte = record[at]
    if (byte === QUOTE) {
      const end = endOfText(record, at, size)
      if (record[end] !== COLON) return at
      at = end
    } else if (isNumberStart(byte)) {
      return at
    }
  }
  return size
}

/** After the quote that ends the string. @type {(record: Uint8Array, start: number, size: number) => number} */
function endOfText (record, start, size) {
  for (let at = start + 1; at < size; at++) {
    const byte = record[at]
    if (byte === QUOTE) return at + 1
    if (byte === BACKSLASH) at++
  }
  return size
}

/** @param {number} byte */
function isNumberStart (byte) {
  return (byte >= ZERO && byte <= NINE) || byte === MINUS
}

/** After what may be part of a number. @type {(record: Uint8Array, start: number, size: number) => number} */
function endOfNumber (record, start, size) {
  let at = start
  for (; at < size; at++) {
    const byte = record[at]
    if (byte >= ZERO && byte <= NINE) continue
    if (byte !== DOT && byte !== SMALL_E && byte !== LARGE_E && byte !== MINUS && byte !== PLUS) break
  }
  return at
}

/** @type {(id: number, target: Uint8Array, out: number, limit: number) => number} where the piece ends, or NO_ROOM */
function putWord (id, target, out, limit) {
  if (out + 3 > limit) return putLastWord(id, target, out, limit)
  if (id < WORD_8_MIN) {
    target[out] = WORD + id
    return out + 1
  }
  if (id < WORD_16_MIN) {
    target[out] = WORD_8 + ((id - WORD_8_MIN) >>> 8)
    target[out + 1] = id - WORD_8_MIN
    return out + 2
  }
  target[out] = WORD_16
  target[out + 1] = id >>> 8
  target[out + 2] = id
  return out + 3
}

/** Close to the limit. @type {typeof putWord} */
function putLastWord (id, target, out, limit) {
  const size = id < WORD_8_MIN ? 1 : id < WORD_16_MIN ? 2 : 3
  return out + size > limit ? NO_ROOM : putWord(id, target, out, Infinity)
}

/** @type {typeof putWord} */
function putNumber (number, target, out, limit) {
  let size = 1
  for (let bound = 0x100; number >= bound; bound *= 0x100) size++
  if (out + 1 + size > limit) return NO_ROOM
  target[out] = NUMBER + size
  let low = number % TWO_32
  let high = (number - low) / TWO_32
  for (let at = out + size; at > out; at--) {
    target[at] = low
    low = low >>> 8 | (high & 0xff) << 24
    high >>>= 8
  }
  return out + 1 + size
}

/**
 * @type {(record: Uint8Array, start: number, end: number, target: Uint8Array, out: number, limit: number) => number}
 *   where the piece ends, or NO_ROOM
 */
function putText (record, start, end, target, out, limit) {
  const size = end - start
  if (size === 0) return out
  const headSize = size <= TEXT_SHORT_MAX ? 1 : size <= TEXT_8_MAX ? 2 : 5
  if (out + headSize + size > limit) return NO_ROOM
  if (headSize === 1) {
    target[out] = TEXT + size
  } else if (headSize === 2) {
    target[out] = TEXT_8
    target[out + 1] = size - TEXT_8_MIN
  } else {
    target[out] = TEXT_32
    putUint32(target, size, out + 1)
  }
  target.set(record.subarray(start, end), out + headSize)
  return out + headSize + size
}

/**
 * Appends the record to the output.
 * @param {Dictionary} dictionary
 * @param {Uint8Array} bytes
 * @param {number} start  of the packed record
 * @param {number} end
 * @param {Output} output
 * @throws {LogError} ERR_CODEC_DECODE; then the end of the output is where it was
 */
function unpackRecord (dictionary, bytes, start, end, output) {
  const before = output.end
  try {
    unpackPieces(dictionary, bytes, start, end, output)
  } catch (err) {
    output.end = before
    throw err
  }
}

/** @type {(dictionary: Dictionary, bytes: Uint8Array, start: number, end: number, output: Output) => void} */
function unpackPieces (dictionary, bytes, start, end, output) {
  if (start === end) throw badPieces('it is empty')
  for (let at = start; at < end;) {
    const kind = bytes[at]
    if (kind >= WORD || kind === WORD_16) {
      at = skipWord(bytes, at, end)
      putWordText(dictionary, wordAt(bytes, at, kind), output)
    } else if (kind > NUMBER && kind < WORD_16) {
      at = putDigits(bytes, at, end, output)
    } else {
      const textStart = at + headSizeAt(bytes, at, end)
      at = kind === VERBATIM ? end : textStart + textSizeAt(bytes, at)
      if (textStart > end || at > end) throw badPieces('a text reaches past its end')
      copyInto(output, bytes, textStart, at)
    }
  }
}

/** After a word. @type {(bytes: Uint8Array, at: number, end: number) => number} */
function skipWord (bytes, at, end) {
  const kind = bytes[at]
  const next = at + (kind === WORD_16 ? 3 : kind >= WORD_8 ? 2 : 1)
  if (next > end) throw badPieces('a word reaches past its end')
  return next
}

/** The id of the word before a place. @type {(bytes: Uint8Array, next: number, kind: number) => number} */
function wordAt (bytes, next, kind) {
  if (kind === WORD_16) return bytes[next - 2] << 8 | bytes[next - 1]
  return kind < WORD_8 ? kind - WORD : WORD_8_MIN + ((kind - WORD_8) << 8 | bytes[next - 1])
}

/** @type {(dictionary: Dictionary, id: number, output: Output) => void} */
function putWordText ({ bytes, starts, sizes, count }, id, output) {
  const size = id < count ? sizes[id] : 0
  if (size === 0) throw badPieces(`the file does not have its word ${id}`)
  copyInto(output, bytes, starts[id], starts[id] + size)
}

/** The size of what comes before the text of a piece. @type {(bytes: Uint8Array, at: number, end: number) => number} */
function headSizeAt (bytes, at, end) {
  const kind = bytes[at]
  if (kind > TEXT || kind === VERBATIM) return 1
  const size = kind === TEXT_8 ? 2 : kind === TEXT_32 ? 5 : 0
  if (size === 0 || at + size > end) throw badPieces(`the byte ${kind} begins no piece`)
  return size
}

/** @type {(bytes: Uint8Array, at: number) => number} */
function textSizeAt (bytes, at) {
  const kind = bytes[at]
  if (kind > TEXT) return kind - TEXT
  return kind === TEXT_8 ? TEXT_8_MIN + bytes[at + 1] : readUint32(bytes, at + 1)
}

/** @type {(bytes: Uint8Array, at: number) => number} */
function readUint32 (bytes, at) {
  return bytes[at] * 2 ** 24 + (bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3])
}

/** @type {(bytes: Uint8Array, at: number, end: number, output: Output) => number} after the piece */
function putDigits (bytes, at, end, output) {
  const next = at + 1 + bytes[at] - NUMBER
  if (next > end) throw badPieces('a number reaches past its end')
  let number = 0
  for (let place = at + 1; place < next; place++) number = number * 0x100 + bytes[place]
  if (number >= NUMBER_END) throw badPieces('a number is too large')
  reserve(output, DIGITS_MAX)
  let count = 1
  for (let bound = 10; number >= bound; bound *= 10) count++
  let high = Math.floor(number / TEN_7)
  let low = number - high * TEN_7
  const { bytes: target, end: first } = output
  for (let place = first + count - 1, left = 7; place >= first; place--) {
    if (left-- === 0) {
      low = high % TEN_7
      high = Math.floor(high / TEN_7)
      left = 6
    }
    const rest = Math.floor(low / 10)
    target[place] = ZERO + low - rest * 10
    low = rest
  }
  output.end = first + count
  return next
}

/** @type {(output: Output, source: Uint8Array, start: number, end: number) => void} */
function copyInto (output, source, start, end) {
  reserve(output, end - start)
  const { bytes } = output
  let at = output.end
  if (end - start > COPIED_SIZE_MAX) bytes.set(source.subarray(start, end), at)
  else for (let place = start; place < end; place++) bytes[at++] = source[place]
  output.end += end - start
}

/** @type {(output: Output, size: number) => void} */
function reserve (output, size) {
  const wanted = output.end + size
  if (wanted <= output.bytes.length) return
  // A reader may hand it to a user, who may try to transfer it.
  const larger = allocateShared(Math.max(wanted, 2 * output.bytes.length))
  output.bytes.copy(larger, 0, 0, output.end)
  output.bytes = larger
}

/**
 * @type {(bytes: Uint8Array, start: number, end: number) => number} the highest id of a word that the packed record
 *   names; -1 if it names none
 */
function maxWordId (bytes, start, end) {
  let max = NONE
  for (let at = start; at < end;) {
    const kind = bytes[at]
    if (kind === VERBATIM) break
    if (kind >= WORD || kind === WORD_16) {
      at = skipWord(bytes, at, end)
      max = Math.max(max, wordAt(bytes, at, kind))
    } else if (kind > NUMBER && kind < WORD_16) {
      at += 1 + kind - NUMBER
    } else {
      at += headSizeAt(bytes, at, end) + textSizeAt(bytes, at)
    }
  }
  return max
}

/** @param {string} what */
function badPieces (what) {
  return new LogError('ERR_CODEC_DECODE', `a packed record cannot be read: ${what}`)
}

/**
 * Gives new files a dictionary, in which texts that repeat are stored once: for every log that takes a codec. The codec
 * keeps its name, and any codec of that name reads the file, and so does `bytes`. A file that was made without a
 * dictionary stays without one, and one that has it keeps it. Only the framing `checked` stores one: a new log with an
 * offset framing fails with ERR_INVALID_ARGUMENT.
 * @template {object} C
 * @param {C} codec  any codec; the dictionary helps with records that are JSON text
 * @returns {C & { dictionary: true }}  the same codec. A new file of a log that gets it has a dictionary
 */
function withDictionary (codec) {
  return Object.freeze({ ...codec, dictionary: /** @type {const} */ (true) })
}

exports.maxWordId = maxWordId
exports.packRecord = packRecord
exports.unpackRecord = unpackRecord
exports.withDictionary = withDictionary
