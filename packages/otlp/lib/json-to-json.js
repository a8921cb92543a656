'use strict'
// A logs request in JSON, in the forms that senders use: its log records go from text to text, without objects. Any
// other form is left to the reader of objects.

const { LogError } = require('@millrace/errors')
const {
  CLOSE_BRACE, CLOSE_BRACKET, COMMA, GIVEN_UP, JsonScanner, OPEN_BRACE, OPEN_BRACKET
} = require('./json-scanner')
const {
  NAMES, NANOSECOND_DIGITS, NESTING_MAX, SPAN_ID_SIZE, TRACE_ID_SIZE, emptyResource, idOfHex, isNewKey, nameOf, tooMany,
  whyNoName
} = require('./log-record')
const { LONG_DIGITS } = require('./long-integers')
const { enumOf, readBase64, readDouble, readInteger, readResource, readScope, timeOf, uint32Of } = require('./read-json')

/** Beside a list. */
const MEANT = new Set(['resource', 'scope', 'schemaUrl'])
const KEY = nameOf('key')
const VALUE = nameOf('value')
const VALUES = nameOf('values')
const STRING_VALUE = nameOf('stringValue')
const INT_VALUE = nameOf('intValue')
const BOOL_VALUE = nameOf('boolValue')
const DOUBLE_VALUE = nameOf('doubleValue')
const BYTES_VALUE = nameOf('bytesValue')
const ARRAY_VALUE = nameOf('arrayValue')
const KVLIST_VALUE = nameOf('kvlistValue')
/** Any number of so many digits fits. */
const SHORT_DIGITS = 9
const [ZERO, NINE, LETTER_A, LETTER_F] = Buffer.from('09af')
/** A time of our days, from 2001 to 2286. */
const TIME_DIGITS = 19

/**
 * @typedef {import('./json-writer').JsonWriter} JsonWriter
 * @typedef {import('./read-as-json').Range} Range
 * @typedef {import('./log-record').Group<Range>} RangeGroup
 */

class JsonTranscoder {
  /** @type {RangeGroup[]} */
  groups = []
  #scanner
  #writer
  #countMax
  #left

  /**
   * @param {Buffer} bytes  that are UTF-8
   * @param {JsonWriter} writer
   * @param {number} countMax  log records
   */
  constructor (bytes, writer, countMax) {
    this.#scanner = new JsonScanner(bytes)
    this.#writer = writer
    this.#countMax = countMax
    this.#left = countMax
  }

  /**
   * Writes the members of a log record, each with a comma after it.
   * @type {(from: number, to: number) => boolean}  false: it is not in the form that senders use; nothing is written
   */
  writeRecord (from, to) {
    const before = this.#writer.at
    this.#scanner.at = from
    try {
      this.#passRecord()
      if (this.#scanner.at === to) return true
    } catch (err) {
      // What is wrong here may be good: of a member that comes twice, the last one counts.
      if (err !== GIVEN_UP && !(err instanceof LogError)) throw err
    }
    this.#writer.at = before
    return false
  }

  /** @throws GIVEN_UP, or a LogError; the request may be well-formed all the same */
  passRequest () {
    this.#passMembers({ resourceLogs: () => this.#passList(this.#passResourceLogs) })
    this.#scanner.passEnd()
  }

  #passResourceLogs = () => {
    const first = this.groups.length
    const given = this.#passMembers({ scopeLogs: () => this.#passList(this.#passScopeLogs) })
    const resource = readResource(given)
    for (let index = first; index < this.groups.length; index++) this.groups[index].resource = resource
  }

  #passScopeLogs = () => {
    /** @type {Range[]} */
    const records = []
    const given = this.#passMembers({
      logRecords: () => this.#passList(() => {
        if (--this.#left < 0) throw tooMany(this.#countMax)
        const begin = this.#writer.at
        this.#passRecord()
        records.push({ begin, end: this.#writer.at })
      })
    })
    if (records.length > 0) this.groups.push({ resource: emptyResource(), scope: readScope(given), records })
  }

  /**
   * An object. If it has members, it must have one of those that are taken.
   * @param {Record<string, () => void>} takers
   * @returns {Record<string, any>}  others that mean something
   */
  #passMembers (takers) {
    const scanner = this.#scanner
    /** @type {Record<string, any>} */
    const others = {}
    const names = new Set()
    let isTaken = false
    scanner.pass(OPEN_BRACE)
    if (scanner.passIf(CLOSE_BRACE)) return others
    do {
      scanner.passName()
      const name = scanner.text()
      if (names.has(name) || name === '__proto__') throw GIVEN_UP
      names.add(name)
      if (Object.hasOwn(takers, name)) {
        takers[name]()
        isTaken = true
      } else if (MEANT.has(name)) others[name] = scanner.takeValue()
      else scanner.passValue()
    } while (scanner.passIf(COMMA))
    scanner.pass(CLOSE_BRACE)
    if (!isTaken) throw GIVEN_UP
    return others
  }

  /** @param {() => void} passItem */
  #passList (passItem) {
    const scanner = this.#scanner
    scanner.pass(OPEN_BRACKET)
    if (scanner.passIf(CLOSE_BRACKET)) return
    do passItem(); while (scanner.passIf(COMMA))
    scanner.pass(CLOSE_BRACKET)
  }

  /** Writes its members, each with a comma after it. */
  #passRecord () {
    const scanner = this.#scanner
    scanner.pass(OPEN_BRACE)
    if (scanner.passIf(CLOSE_BRACE)) return
    let seen = 0
    let next = 0
    do {
      const index = this.#passFieldName(next)
      if (index === FIELDS.length) this.#passUnknown()
      else if ((seen >>> index & 1) === 1) throw GIVEN_UP
      else {
        seen |= 1 << index
        this.#passField(FIELDS[index])
        next = index + 1
      }
    } while (scanner.passIf(COMMA))
    scanner.pass(CLOSE_BRACE)
  }

  #passUnknown () {
    if (whyNoName(this.#scanner.text()) !== undefined) throw GIVEN_UP
    this.#scanner.passValue()
  }

  /** The index of the field that comes next, probably this one or one after it. @param {number} next */
  #passFieldName (next) {
    const scanner = this.#scanner
    for (let index = next; index < FIELDS.length; index++) if (scanner.passIfName(FIELDS[index].text)) return index
    scanner.passName()
    const index = FIELDS.findIndex(({ text }) => scanner.isName(text))
    return index === -1 ? FIELDS.length : index
  }

  /** @param {Field} field */
  #passField ({ kind, name, member }) {
    const scanner = this.#scanner
    switch (kind) {
      case 'attributes': return this.#passAttributes(member)
      case 'value':
        this.#writer.raw(member)
        this.#passValue(0)
        this.#writer.comma()
        return
      case 'text':
        scanner.passString()
        if (scanner.to > scanner.from) this.#writeMember(member, null)
        return
      case 'time': return this.#passTime(name, member)
      case 'enum':
      case 'uint32': return this.#passNumber(kind, name, member)
      default: return this.#passId(member, kind === 'traceId' ? TRACE_ID_SIZE : SPAN_ID_SIZE)
    }
  }

  /** @type {(name: string, member: Buffer) => void} */
  #passTime (name, member) {
    const scanner = this.#scanner
    const before = scanner.at
    if (!scanner.passIfInteger(TIME_DIGITS, true) || scanner.to - scanner.from !== TIME_DIGITS) {
      scanner.at = before
      return this.#writeMember(member, timeOf({ [name]: scanner.takeScalar() }, name))
    }
    const middle = scanner.to - NANOSECOND_DIGITS
    this.#writer.raw(member)
    this.#writer.time(numberIn(scanner.bytes, scanner.from, middle), numberIn(scanner.bytes, middle, scanner.to))
    this.#writer.comma()
  }

  /** @type {(kind: 'enum' | 'uint32', name: string, member: Buffer) => void} */
  #passNumber (kind, name, member) {
    const scanner = this.#scanner
    const before = scanner.at
    if (scanner.passIfInteger(SHORT_DIGITS, kind === 'uint32')) {
      this.#writer.raw(member)
      this.#writer.rawPart(scanner.bytes, scanner.from, scanner.to)
      this.#writer.comma()
      return
    }
    scanner.at = before
    const given = { [name]: scanner.takeScalar() }
    this.#writeMember(member, (kind === 'enum' ? enumOf : uint32Of)(given, name))
  }

  /** @type {(member: Buffer, size: number) => void} */
  #passId (member, size) {
    const scanner = this.#scanner
    scanner.passString()
    const { bytes, from, to } = scanner
    if (to - from === 2 * size && isHex(bytes, from, to)) this.#writeMember(member, null)
    else this.#writeMember(member, idOfHex(scanner.text(), size))
  }

  /** @type {(member: Buffer, value: string | number | undefined | null) => void}  null: the string passed last */
  #writeMember (member, value) {
    if (value === undefined) return
    this.#writer.raw(member)
    if (value === null) this.#writeString()
    else this.#writer.scalar(value)
    this.#writer.comma()
  }

  /** The string that was passed last. */
  #writeString () {
    const scanner = this.#scanner
    if (scanner.isLiteral) this.#writer.literal(scanner.bytes, scanner.from, scanner.to)
    else this.#writer.rawText(JSON.stringify(scanner.text()))
  }

  /** @param {Buffer} member */
  #passAttributes (member) {
    const writer = this.#writer
    const before = writer.at
    writer.raw(member)
    if (this.#passPairs(0)) writer.comma()
    // No attributes are as good as none that were sent.
    else writer.at = before
  }

  /** A list of pairs as an object; whether there are any. @param {number} depth */
  #passPairs (depth) {
    const scanner = this.#scanner
    const writer = this.#writer
    writer.openObject()
    scanner.pass(OPEN_BRACKET)
    if (scanner.passIf(CLOSE_BRACKET)) {
      writer.closeObject()
      return false
    }
    /** @type {number[]} */
    const keys = []
    do {
      scanner.pass(OPEN_BRACE)
      this.#passName(KEY)
      scanner.passString()
      if (!scanner.isLiteral || !isNewKey(scanner.bytes, scanner.from, scanner.to, keys)) throw GIVEN_UP
      writer.literal(scanner.bytes, scanner.from, scanner.to)
      writer.colon()
      if (scanner.passIf(COMMA)) {
        this.#passName(VALUE)
        this.#passValue(depth)
      } else writer.word('null')
      scanner.pass(CLOSE_BRACE)
      writer.comma()
    } while (scanner.passIf(COMMA))
    scanner.pass(CLOSE_BRACKET)
    writer.closeObject()
    return true
  }

  /** @param {Buffer} expected */
  #passName (expected) {
    const scanner = this.#scanner
    if (scanner.passIfName(expected)) return
    scanner.passName()
    if (!scanner.isName(expected)) throw GIVEN_UP
  }

  /** @param {number} depth */
  #passValue (depth) {
    const scanner = this.#scanner
    const writer = this.#writer
    scanner.pass(OPEN_BRACE)
    if (scanner.passIf(CLOSE_BRACE)) return writer.word('null')
    if (scanner.passIfName(STRING_VALUE)) this.#passText()
    else this.#passOtherValue(depth)
    scanner.pass(CLOSE_BRACE)
  }

  #passText () {
    this.#scanner.passString()
    this.#writeString()
  }

  /** @param {number} depth */
  #passOtherValue (depth) {
    const scanner = this.#scanner
    const writer = this.#writer
    scanner.passName()
    if (scanner.isName(INT_VALUE)) this.#passInteger()
    else if (scanner.isName(DOUBLE_VALUE)) writer.scalar(readDouble(scanner.takeScalar()))
    else if (scanner.isName(BYTES_VALUE)) writer.scalar(readBase64(scanner.takeScalar()))
    else if (scanner.isName(BOOL_VALUE)) this.#passBool()
    else if (scanner.isName(STRING_VALUE)) this.#passText()
    else this.#passNested(depth + 1)
  }

  #passInteger () {
    const scanner = this.#scanner
    if (scanner.passIfInteger(LONG_DIGITS - 1, true)) this.#writer.rawPart(scanner.bytes, scanner.from, scanner.to)
    else this.#writer.scalar(readInteger(scanner.takeScalar()))
  }

  #passBool () {
    const value = this.#scanner.takeValue()
    if (typeof value !== 'boolean') throw GIVEN_UP
    this.#writer.word(String(value))
  }

  /** Of an array or a map, of which the name was passed last. @param {number} depth */
  #passNested (depth) {
    const scanner = this.#scanner
    const isArray = scanner.isName(ARRAY_VALUE)
    if (depth > NESTING_MAX || !(isArray || scanner.isName(KVLIST_VALUE))) throw GIVEN_UP
    scanner.pass(OPEN_BRACE)
    if (scanner.passIf(CLOSE_BRACE)) return this.#writer.word(isArray ? '[]' : '{}')
    this.#passName(VALUES)
    if (isArray) this.#passArray(depth)
    else this.#passPairs(depth)
    scanner.pass(CLOSE_BRACE)
  }

  /** @param {number} depth */
  #passArray (depth) {
    this.#writer.openArray()
    this.#passList(() => {
      this.#passValue(depth)
      this.#writer.comma()
    })
    this.#writer.closeArray()
  }
}

/**
 * @typedef {object} Field  of a log record
 * @property {string} name
 * @property {Buffer} text  the name in quotes, and a colon
 * @property {Buffer} member  how it is written
 * @property {'time' | 'enum' | 'uint32' | 'text' | 'value' | 'attributes' | 'traceId' | 'spanId'} kind
 */

/** @type {(name: string, member: Buffer, kind: Field['kind']) => Field} */
function field (name, member, kind) {
  return { name, text: nameOf(name), member, kind }
}

/** In the order in which senders have them. */
const FIELDS = [
  field('timeUnixNano', NAMES.time, 'time'),
  field('observedTimeUnixNano', NAMES.observedTime, 'time'),
  field('severityNumber', NAMES.severityNumber, 'enum'),
  field('severityText', NAMES.severityText, 'text'),
  field('body', NAMES.body, 'value'),
  field('attributes', NAMES.attributes, 'attributes'),
  field('droppedAttributesCount', NAMES.droppedAttributesCount, 'uint32'),
  field('flags', NAMES.flags, 'uint32'),
  field('traceId', NAMES.traceId, 'traceId'),
  field('spanId', NAMES.spanId, 'spanId'),
  field('eventName', NAMES.eventName, 'text')
]

/** A number in decimal digits. @type {(bytes: Uint8Array, from: number, to: number) => number} */
function numberIn (bytes, from, to) {
  let number = 0
  for (let at = from; at < to; at++) number = 10 * number + bytes[at] - ZERO
  return number
}

/** Small hex digits, and not only zeros. @type {(bytes: Uint8Array, from: number, to: number) => boolean} */
function isHex (bytes, from, to) {
  let isZero = true
  for (let at = from; at < to; at++) {
    const byte = bytes[at]
    if (!((byte >= ZERO && byte <= NINE) || (byte >= LETTER_A && byte <= LETTER_F))) return false
    if (byte !== ZERO) isZero = false
  }
  return !isZero
}

exports.JsonTranscoder = JsonTranscoder
