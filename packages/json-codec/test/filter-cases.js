'use strict'
// Filters of every operator, of JSON records in any spelling, against parsing and comparing. Longer than a test has
// time for: node filter-cases.js [--cases 1000000] [--seed N]

const { randomInt } = require('node:crypto')
const { parseArgs } = require('node:util')
const { createRandom, makeValue, runFilterCases } = require('@millrace/testkit')
const { jsonCodec } = require('..')
const { parseRightly } = require('./parse-rightly')

const SHORT = { '"': '\\"', '\\': '\\\\', '/': '\\/', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t' }
const NUMBERS = ['1e2', '100.0', '100', '1E+2', '10000e-2', '-0', '-0.0', '0e5', '1e400', '-1e400', '12345678901234567890', '1.0',
  '0.99999999999999999999', '2147483648', '9007199254740993', '1e-400', '1000.00', '0.5e0', '5e-1']

/** @param {{ cases: number, seed?: number }} options */
function runJsonFilterCases ({ cases, seed = randomInt(2 ** 31) }) {
  const random = createRandom(seed)
  const makeRecord = () => {
    const value = makeValue(random)
    return { value, bytes: damageSome(random, Buffer.from(spell(random, value))) }
  }
  return { seed, ...runFilterCases({ codec: refusing, random, makeRecord, parse, cases }) }
}

/** What is no JSON text must match nothing: the run itself allows any answer. */
const refusing = {
  compile (where) {
    const test = jsonCodec.compile(where)
    const checked = (buf, start, end) => {
      const answer = test(buf, start, end)
      if (answer && parse(buf.subarray(start, end)) === undefined) throw new Error('no JSON text, but it matches')
      return answer
    }
    return Object.assign(checked, { select: test.select })
  }
}

function parse (bytes) {
  try {
    return { value: parseRightly(bytes.toString()) }
  } catch {
    return undefined
  }
}

/** As JSON may spell it, some of the keys twice: JSON.parse takes the last. */
function spell (random, value) {
  const space = ['', '', '', '', ' ', '\n\t\r '][random(6)]
  if (typeof value === 'string') return spellText(random, value)
  if (typeof value === 'number') return spellNumber(random, value)
  if (value === null || typeof value !== 'object') return String(value)
  if (Array.isArray(value)) return `[${space}${value.map((item) => spell(random, item)).join(`,${space}`)}]`
  const entries = Object.entries(value).map(([key, item]) => `${spellText(random, key)}${space}:${space}${spell(random, item)}`)
  if (entries.length > 0 && random(10) === 0) entries.unshift(`${spellText(random, Object.keys(value)[0])}:${spell(random, value[Object.keys(value)[0]])}`)
  if (entries.length > 0 && random(10) === 0) entries.push(`${spellText(random, Object.keys(value)[0])}:${NUMBERS[random(NUMBERS.length)]}`)
  return `{${space}${entries.join(`${space},`)}${space}}`
}

function spellNumber (random, value) {
  const plain = Object.is(value, -0) ? '-0' : JSON.stringify(value)
  switch (random(6)) {
    case 0: return value.toExponential()
    case 1: return Number.isInteger(value) && Math.abs(value) < 1e6 ? `${plain}.0` : plain
    case 2: return Number.isInteger(value) && value !== 0 && Math.abs(value) < 1e6 ? `${plain}00E-2` : plain
    case 3: return NUMBERS[random(NUMBERS.length)]
    default: return plain
  }
}

function spellText (random, text) {
  const rarity = [2, 20, 1000, 1000][random(4)]
  return `"${Array.from({ length: text.length }, (_, index) => spellUnit(random, text, index, rarity)).join('')}"`
}

function spellUnit (random, text, index, rarity) {
  const unit = text[index]
  const isHalf = /[\ud800-\udfff]/.test(unit)
  const isPaired = isHalf && text.isWellFormed()
  if (isPaired && rarity === 1000) return unit
  const mustEscape = isHalf || /["\\\u0000-\u001f]/.test(unit) // eslint-disable-line no-control-regex
  if (!mustEscape && random(rarity) > 0) return unit
  if (unit in SHORT && random(2) === 0) return SHORT[unit]
  const digits = unit.charCodeAt(0).toString(16).padStart(4, '0')
  return `\\u${random(2) === 0 ? digits : digits.toUpperCase()}`
}

/** One in ten: a byte flipped, or the end cut off. */
function damageSome (random, record) {
  if (random(10) > 0) return record
  if (random(2) === 0) return record.subarray(0, random(record.length))
  record[random(record.length)] ^= 1 << random(8)
  return record
}

exports.runJsonFilterCases = runJsonFilterCases

if (require.main === module) {
  const { values: { cases, seed } } = parseArgs({
    options: { cases: { type: 'string', default: '1000000' }, seed: { type: 'string' } }
  })
  const result = runJsonFilterCases({ cases: Number(cases), seed: seed === undefined ? undefined : Number(seed) })
  console.dir(result, { depth: 9 })
  process.exitCode = result.failure === null ? 0 : 1
}
