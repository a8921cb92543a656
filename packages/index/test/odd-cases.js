// @ts-nocheck
'use strict'
// Odd records, paths and filters: what the records have decides which paths are declared, and what is asked. Records in
// JSON are spelled in every way that the grammar has.

const { makeFilter, makeValue } = require('@millrace/testkit')

const KEYS = [
  'a', 'b', 'c', 'user', 'type', 'time', 'tags', 'id', 'n', '', 'a.b', '.', '0', '1', '01', '-1', '__proto__',
  'constructor', 'toString', 'length', 'hasOwnProperty', 'é', '😀', '\ud800', '\ufffd', '"', '\\', '\u0000',
  '\u2028', ' ', 'x'.repeat(70)
]
const TEXTS = [
  '', 'ada', 'bob', 'Ada', 'ada ', '0', '5', '-0', '1e3', 'null', 'true', 'NaN', '[]', 'é', 'e\u0301', '😀',
  '\ud83d', '\ude00', '\ud800', '\ufffd', '\u0000', '\u0000a', '"', '\\', '\\u0061', '\n', '/', 'x'.repeat(200),
  '2026-01-01', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00.001Z', '2026-01-01T01:00:00+01:00',
  'Thu, 01 Jan 2026 00:00:00 GMT', '01/Jan/2026:00:00:00 +0000', '2026-02-30', '1767225600',
  '2026-01-01 00:00:00,5 INFO a'
]
const DAY = Date.UTC(2026, 0, 1)
const NUMBERS = [
  0, -0, 1, -1, 2, 5, 7, 0.1, 0.1 + 0.2, 0.3, 1 / 3, -1.5, 100, 1e3, 2 ** 31, 2 ** 31 - 1, -(2 ** 31), 2 ** 32,
  2 ** 53, 2 ** 53 + 2, -(2 ** 53), Number('9007199254740993'), Number('12345678901234567890'), 1e21, 1e-7,
  5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308, 1e8, 1e8 - 1, 1e11,
  1e11 - 1, 1e14, 1e17, 1e20, 99999999.5, DAY, DAY / 1e3, DAY * 1e3, DAY * 1e6, DAY + 0.5, DAY / 1e3 + 0.0005,
  -DAY
]
const HUGE = ['1e999', '-1e999', '0e999', '9007199254740993', '1e-999', '123456789012345678901234567890']
const BOUND_NAMES = [['gt', 'gte'], ['lt', 'lte']]
const TIMES = [
  0, 1, -1, 1e8, 1e11, DAY, DAY - 1, DAY + 1, DAY + 0.5, '2026-01-01', '2026-01-01T00:00:00.001Z', '2025-12-31',
  new Date(DAY), 1e300, -1e300
]

/** @template T @param {(limit: number) => number} random @param {T[]} list */
function pick (random, list) {
  return list[random(list.length)]
}

function makeScalar (random) {
  switch (random(5)) {
    case 0: return pick(random, NUMBERS)
    case 1: return pick(random, TEXTS)
    case 2: return pick(random, [true, false, null])
    case 3: return pick(random, ['ada', 'bob', 'eve', 5, '5', null])
    default: return random(8)
  }
}

function makeOddValue (random, depth) {
  const kind = random(depth > 0 ? 8 : 3)
  if (kind < 3) return makeScalar(random)
  if (kind === 3) return makeValue(random, depth)
  const size = random(30) === 0 ? 40 : random(5)
  const items = Array.from({ length: size }, () => makeOddValue(random, depth - 1))
  if (kind < 6) return items
  return fromEntries(items.map((item) => [pick(random, random(2) === 0 ? KEYS.slice(0, 9) : KEYS), item]))
}

/** An own `__proto__` too. */
function fromEntries (entries) {
  const object = {}
  const how = { enumerable: true, configurable: true, writable: true }
  for (const [key, value] of entries) Object.defineProperty(object, key, { value, ...how })
  return object
}

function makeTime (random) {
  return pick(random, [DAY + random(5), (DAY + random(5)) / 1e3, `2026-01-01T00:00:00.00${random(9)}Z`])
}

/** Most have the same few fields, of whatever type. */
function makeOddRecord (random) {
  if (random(5) === 0) return makeOddValue(random, 3)
  const deep = fromEntries([['b', fromEntries([['c', makeOddValue(random, 1)], ['0', makeScalar(random)]])]])
  const fields = [
    ['type', pick(random, ['post', 'vote', 'rare', 5, '5', null, true])],
    ['user', random(4) === 0 ? makeOddValue(random, 2) : pick(random, ['ada', 'bob', 'eve', ''])],
    ['n', random(3) === 0 ? makeScalar(random) : random(40)],
    ['time', random(3) === 0 ? makeOddValue(random, 1) : makeTime(random)],
    ['tags', Array.from({ length: random(4) }, () => makeScalar(random))],
    ['items', Array.from({ length: random(4) }, () => random(5) === 0 ? makeOddValue(random, 1) : { id: makeScalar(random), n: random(9) })],
    ['a', deep],
    [pick(random, KEYS), makeOddValue(random, 2)]
  ]
  return fromEntries(fields.filter(() => random(5) > 0).sort(() => random(3) - 1))
}

// Spelling.

/**
 * JSON text of a value, in one of its many spellings.
 * @param {{ lines: boolean }} options  `lines`: without line breaks
 */
function spell (random, value, options) {
  const space = () => random(6) > 0 ? '' : pick(random, options.lines ? [' ', '\t', '  '] : [' ', '\t', '\n', '\r\n ', '  '])
  const write = (value) => {
    if (typeof value === 'string') return spellText(random, value)
    if (typeof value === 'number') return spellNumber(random, value)
    if (value === null || typeof value !== 'object') return String(value)
    const isList = Array.isArray(value)
    const writeField = (key) => `${spellText(random, key)}${space()}:${space()}${write(value[key])}`
    const parts = isList ? value.map(write) : Object.keys(value).map(writeField)
    // The last one counts.
    if (!isList && parts.length > 0 && random(25) === 0) {
      const key = pick(random, Object.keys(value))
      parts.splice(random(parts.length + 1), 0, `${spellText(random, key)}:${write(makeOddValue(random, 1))}`)
    }
    const text = parts.map((part) => `${space()}${part}${space()}`).join(',')
    return isList ? `[${text}]` : `{${text}}`
  }
  return Buffer.from(`${space()}${write(value)}${space()}`)
}

function spellText (random, text) {
  const escape = (unit) => {
    const hex = unit.charCodeAt(0).toString(16).padStart(4, '0')
    return `\\u${random(2) === 0 ? hex.toUpperCase() : hex}`
  }
  const isOften = random(4) === 0
  const units = text.split('').map((unit) => {
    if (unit === '/' && random(2) === 0) return '\\/'
    if (isOften ? random(2) === 0 : random(40) === 0) return escape(unit)
    return unit === '"' || unit === '\\' || unit < ' ' || (unit >= '\ud800' && unit <= '\udfff') ? null : unit
  })
  // Pairs stay together, or are two escapes; half a pair has no bytes.
  const whole = Array.from(text)
  if (whole.length === units.length || units.every((unit) => unit === null || unit.length > 1)) {
    return `"${units.map((unit, index) => unit ?? JSON.stringify(text[index]).slice(1, -1)).join('')}"`
  }
  return random(2) === 0 ? JSON.stringify(text) : `"${text.split('').map(escape).join('')}"`
}

function spellNumber (random, number) {
  if (!Number.isFinite(number)) return number > 0 ? '1e999' : number < 0 ? '-1E+400' : 'null'
  const text = Object.is(number, -0) ? '-0' : String(number)
  const isPlain = /^-?\d+$/.test(text)
  switch (random(8)) {
    case 0: return isPlain ? `${text}.0` : text
    case 1: return isPlain ? `${text}e0` : text
    case 2: return isPlain && number !== 0 ? `${text}00E-2` : text
    case 3: return isPlain && number % 10 === 0 && number !== 0 ? `${number / 10}e+1` : text
    case 4: return isPlain ? `${text}.${'0'.repeat(20)}` : text
    case 5: return number.toExponential()
    case 6: return random(20) === 0 ? pick(random, HUGE) : text
    default: return text
  }
}

/** The bytes of a record for a codec; some do not decode. */
function makeOddBytes (random, codec, options = { lines: false }) {
  const value = makeOddRecord(random)
  const bytes = codec.name === 'binary' ? codec.encode(value) : spell(random, value, options)
  if (random(60) === 0 && bytes.length > 0) {
    const at = random(bytes.length)
    bytes[at] ^= 1 << random(8)
    if (bytes[at] === 10 || bytes[at] === 13 || bytes[at] === 0) bytes[at] = 0x7b
  }
  return bytes
}

// Paths and filters.

/** @returns {Array<{ path: Array<string | number>, value: any }>}  some of what is in a value */
function partsOf (value, path = [], found = []) {
  found.push({ path, value })
  if (value === null || typeof value !== 'object' || ArrayBuffer.isView(value) || found.length > 60) return found
  const keys = Array.isArray(value) ? [...value.keys()].slice(0, 4) : Object.keys(value)
  for (const key of keys) partsOf(value[key], [...path, key], found)
  return found
}

/** Declared paths, most of which lead to something in the records. @param {any[]} values  of records */
function makeOddPaths (random, values) {
  const paths = new Map()
  for (let left = 1 + random(8); left > 0; left--) {
    const { path, value } = pick(random, partsOf(pick(random, values)))
    const steps = vary(random, path)
    const declared = { path: steps, range: random(3) === 0 }
    if (Array.isArray(value) ? random(4) > 0 : random(8) === 0) {
      const element = Array.isArray(value) && value.length > 0 ? pick(random, value) : { id: 1 }
      const { path: inside } = pick(random, partsOf(element))
      declared.each = inside.length === 0 ? true : inside
    }
    paths.set(JSON.stringify([declared.path, declared.each]), declared)
  }
  return [...paths.values()]
}

/** Digits are a key or an index, and now and then the path leads elsewhere. */
function vary (random, path) {
  const steps = path.map((step) => {
    if (random(6) > 0) return step
    return typeof step === 'number' ? String(step) : /^(0|[1-9]\d?)$/.test(step) ? Number(step) : step
  })
  if (random(15) === 0) steps.push(pick(random, [0, '0', 'a', '']))
  if (random(20) === 0) steps.pop()
  return steps
}

/**
 * A filter that asks for declared paths, mostly.
 * @param {any[]} values  of records
 */
function makeOddWhere (random, paths, values, depth = 3) {
  const kind = random(depth > 0 ? 14 : 9)
  if (kind < 9) return makeOddCondition(random, paths, values, depth)
  const parts = Array.from({ length: random(4) }, () => makeOddWhere(random, paths, values, depth - 1))
  switch (kind) {
    case 9: return { not: makeOddWhere(random, paths, values, depth - 1) }
    case 10: return { any: parts }
    case 11: return { all: parts }
    case 12: return parts
    default: return makeFilter(random, pick(random, values), 2)
  }
}

function makeOddCondition (random, paths, values, depth) {
  const isDeclared = random(6) > 0
  const { path, each } = isDeclared ? pick(random, paths) : { path: pick(random, partsOf(pick(random, values))).path }
  const found = valuesAt(path, values)
  const spelled = respell(random, path)
  if (each !== undefined && random(5) > 0) {
    const elements = found.filter(Array.isArray).flat()
    const inside = each === true ? [] : each
    if (inside.length === 0 && random(2) === 0) return { path: spelled, includes: pickScalar(random, elements) }
    return { path: spelled, includes: makeElementFilter(random, inside, elements, depth) }
  }
  return { path: spelled, ...makeOperator(random, found) }
}

function makeElementFilter (random, inside, elements, depth) {
  const condition = () => ({ path: respell(random, inside), ...makeOperator(random, valuesAt(inside, elements)) })
  if (depth === 0 || random(3) > 0) return condition()
  const parts = Array.from({ length: random(4) }, () => makeElementFilter(random, inside, elements, depth - 1))
  return [{ any: parts }, { all: parts }, { not: condition() }, parts, [condition(), condition()]][random(5)]
}

function makeOperator (random, found) {
  switch (random(12)) {
    case 0: case 1: case 2: return { equals: pickScalar(random, found) }
    case 3: case 4: {
      const values = Array.from({ length: pick(random, [0, 1, 2, 3, 5, 20, 300]) }, () => pickScalar(random, found))
      return { in: values }
    }
    case 5: case 6: case 7: return makeOddBounds(random, found.filter(isNumber), NUMBERS.concat(Infinity, -Infinity))
    case 8: return makeOddBounds(random, found.filter((value) => typeof value === 'string'), TEXTS)
    case 9: return { time: makeOddTimes(random, found) }
    case 10:
      if (random(2) === 0) return { exists: random(2) === 0 }
      return { prefix: String(pickScalar(random, found)).slice(0, random(4)) }
    default: return { includes: pickScalar(random, found.filter(Array.isArray).flat()) }
  }
}

/** @param {unknown} value */
function isNumber (value) {
  return typeof value === 'number'
}

function makeOddBounds (random, known, others) {
  const bound = () => {
    const value = known.length > 0 && random(4) > 0 ? pick(random, known) : pick(random, others)
    return typeof value === 'number' ? value + pick(random, [0, 0, 0, 1, -1, 0.5, value * 1e-16]) : value
  }
  const sides = BOUND_NAMES.filter(() => random(3) > 0)
  const chosen = sides.length > 0 ? sides : BOUND_NAMES
  const bounds = Object.fromEntries(chosen.map((names) => [pick(random, names), bound()]))
  return Object.values(bounds).some(Number.isNaN) ? { gte: 0 } : bounds
}

function makeOddTimes (random, found) {
  const known = found.filter((value) => typeof value === 'number' && Math.abs(value) < 1e15)
  const bound = () => known.length > 0 && random(3) === 0 ? pick(random, known) : pick(random, TIMES)
  return Object.fromEntries(BOUND_NAMES.filter(() => random(3) > 0).map((names) => [pick(random, names), bound()]))
}

function pickScalar (random, found) {
  const isScalar = (value) => value === null || ['string', 'boolean'].includes(typeof value) || Number.isFinite(value)
  const scalars = found.filter(isScalar)
  if (scalars.length === 0 || random(5) === 0) return makeScalar(random)
  const value = pick(random, scalars)
  if (random(12) > 0) return value
  // Of another type, but it looks the same.
  return typeof value === 'string' ? Number.isFinite(Number(value)) ? Number(value) : value.toUpperCase() : String(value)
}

function valuesAt (path, values) {
  const found = []
  for (const root of values) {
    let value = root
    for (const step of path) {
      const hasStep = value !== null && typeof value === 'object' && Object.hasOwn(value, step)
      value = hasStep ? value[step] : undefined
    }
    if (value !== undefined) found.push(value)
  }
  return found
}

/** As text where that means the same. */
function respell (random, path) {
  const isText = (step) => typeof step === 'number' ? step < 1e9 : step !== '' && !/\.|^(0|[1-9]\d*)$/.test(step)
  const isPlain = path.length > 0 && path.every(isText)
  return isPlain && random(2) === 0 ? path.join('.') : path
}

/** What a log is tried with, as of `ordinary` in cases.js. @param {any} codec */
function createOdd (random, codec) {
  const values = Array.from({ length: 8 }, () => makeOddRecord(random))
  const paths = makeOddPaths(random, values)
  return {
    paths,
    makeBytes: () => makeOddBytes(random, codec),
    makeWhere: (random, record) => makeOddWhere(random, paths, record === null ? values : [record, ...values])
  }
}

exports.createOdd = createOdd
exports.makeOddBytes = makeOddBytes
exports.makeOddPaths = makeOddPaths
exports.makeOddRecord = makeOddRecord
exports.makeOddWhere = makeOddWhere
exports.spell = spell
