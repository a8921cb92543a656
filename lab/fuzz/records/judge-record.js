'use strict'
// Whether what the codec answered about one record fits together.

const { parseWhere, matches } = require('@millrace/where')
const { Failure, ensure, ensureSame, show } = require('../answers')
const { KEYS } = require('./make-tree')
const { compileAll } = require('./filters')

/**
 * @param {any} codec
 * @param {Buffer} record
 * @param {import('./question-record').Plan} plan
 * @param {Record<string, any>} answers
 * @throws {Violation}
 */
function judgeRecord (codec, record, { pick }, answers) {
  const { whole, range = whole, raw, end, decoded = end, spliced } = answers
  const isWhole = !(whole instanceof Failure)
  ensureSame('decode and decodeRange', whole, range)
  ensure(raw.equals(record), 'rawCodec.decodeRange gives other bytes')
  if (end instanceof Failure) ensureSame('validate and decode', end, decoded)
  else ensure(!(decoded instanceof Failure), () => `validate takes what decode refuses: ${show(decoded)}`)
  ensure(isWhole === (end === record.length), () => `validate gives ${show(end)}, decode ${show(whole)}`)
  for (const failure of Object.values(answers)) if (failure instanceof Failure) ensurePlausible(failure, record)
  ensureSame('seekKey by string and by bytes', answers.key, answers.keyBytes)
  ensureSame('seekPath and createSeekPath', answers.seek, answers.path)
  if (answers.order !== undefined) judgeOrders(answers)
  judgeFilters(codec, pick, answers, isWhole)
  if (isWhole) judgeWhole(codec, record, pick, answers)
  else ensure(spliced === undefined || spliced instanceof Failure, 'encode takes a marked buffer that decode refuses')
}

/**
 * @param {Failure} failure
 * @param {Buffer} record
 */
function ensurePlausible ({ code, offset }, record) {
  if (code !== 'ERR_CODEC_DECODE') return
  ensure(offset >= 0 && offset <= record.length, () => `an error at offset ${offset} of a record of ${record.length} bytes`)
}

/** @param {Record<string, any>} answers */
function judgeOrders ({ order, reverseOrder, ownOrder, size, children, type }) {
  if (order instanceof Failure || reverseOrder instanceof Failure) {
    ensure(order instanceof Failure && reverseOrder instanceof Failure, 'compare takes one order of its arguments only')
  } else {
    ensure(Math.sign(order) === -Math.sign(reverseOrder), () => `compare gives ${order} and ${reverseOrder}`)
  }
  ensure(ownOrder instanceof Failure || ownOrder === 0, () => `compare says ${ownOrder} of a value and itself`)
  if (size instanceof Failure || children.isNone !== true) return
  ensure(type !== 4 && type !== 5, 'iterate finds no children in an array or an object')
}

/**
 * @param {any} codec
 * @param {number} pick
 * @param {Record<string, any>} answers
 * @param {boolean} isWhole
 */
function judgeFilters (codec, pick, { filters, whole, where, suggested }, isWhole) {
  const { wheres } = compileAll(codec)
  for (const [index, answer] of filters.entries()) {
    ensure(typeof answer === 'boolean', () => `a filter answers ${show(answer)}`)
    if (!isWhole) continue
    const asked = wheres[(pick + index * 11) % wheres.length]
    const expected = matches(parseWhere(asked), whole)
    ensure(answer === expected, () => `the filter ${show(asked)} answers ${answer} of ${show(whole)}`)
  }
  if (where) ensure(suggested === true, () => `the filter ${show(where)} answers ${show(suggested)} of ${show(whole)}`)
}

/**
 * @param {any} codec
 * @param {Buffer} record
 * @param {number} pick
 * @param {Record<string, any>} answers
 */
function judgeWhole (codec, record, pick, { whole, decoded, key, encoded, encodedSize, spliced, children }) {
  ensureSame('decode of the record and at its start', whole, decoded)
  ensure(Buffer.isBuffer(encoded), () => `encode refuses what decode gave: ${show(encoded)}`)
  ensureSame('what was decoded and encoded again', codec.decode(encoded), whole)
  if (encodedSize !== 0) ensure(encodedSize === encoded.length, () => `encodingLength ${encodedSize}, encode ${encoded.length}`)
  const name = KEYS[pick % KEYS.length]
  const isObject = whole !== null && typeof whole === 'object' && Object.getPrototypeOf(whole) === Object.prototype
  // U+FFFD has other spellings; a seek finds the one only that it is asked for.
  if (isObject && name !== '\ufffd') {
    const expected = Object.hasOwn(whole, name) ? whole[name] : undefined
    const found = key < 0 ? undefined : codec.decode(record, key)
    ensureSame('the value that seekKey finds', found, expected)
  }
  ensure(!(children.isNone instanceof Failure), () => `iterate refuses what decode takes: ${show(children.isNone)}`)
  if (Array.isArray(whole)) ensure(children.found.length === Math.min(100, whole.length * 2), 'iterate finds other items')
  // One level deeper than the record: that may be one too many.
  if (!(spliced instanceof Failure)) ensureSame('a marked buffer, encoded', codec.decode(spliced), [whole])
  else ensure(spliced.code === 'ERR_CODEC_ENCODE' && record.length > 1000, () => `a marked buffer: ${show(spliced)}`)
}

exports.judgeRecord = judgeRecord
