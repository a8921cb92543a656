'use strict'
// Filters that ask whether something is there, of JSON records in any spelling, against parsing and looking. Longer
// than a test has time for: node presence-cases.js [--cases 100000] [--seed N]

const { randomInt } = require('node:crypto')
const { parseArgs } = require('node:util')
const { parseWhere, matches } = require('@millrace/where')
const { createRandom } = require('@millrace/testkit')
const { jsonCodec } = require('..')
const { parseRightly } = require('./parse-rightly')

const KEYS = ['a', 'b', 'root', '__proto__', 'constructor', 'toString', 'length', '0', '1', '-1', '', 'a.b', '.', 'a/b', '"',
  '\\', '\\u0061', 'u0061', '\n', 'é', '😀', '\ufffd', '\ud800', '\udc00\ud800', 'a\ud800b', '\u2028', 'x'.repeat(70)]
const SHORT = { '"': '\\"', '\\': '\\\\', '/': '\\/', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/**
 * @param {{ cases: number, seed?: number }} options
 * @returns {{ failure: any, hits: number, refused: number, seed: number }}  the first that is answered otherwise; how
 *   many records fulfilled their filter, and how many are no JSON
 */
function runPresenceCases ({ cases, seed = randomInt(2 ** 31) }) {
  const random = createRandom(seed)
  let [hits, refused] = [0, 0]
  for (let index = 0; index < cases; index++) {
    const value = makeHostile(random, 3)
    const record = damageSome(random, Buffer.from(spell(random, value)))
    const where = makeWhere(random, value)
    const buf = Buffer.concat([record, record, Buffer.from('"a":1}')])
    const answer = jsonCodec.compile(where)(buf, record.length, record.length * 2)
    const parsed = parse(record)
    const expected = parsed !== undefined && matches(parseWhere(where), parsed)
    if (answer !== expected) return { failure: { where, record: String(record), answer }, hits, refused, seed }
    if (parsed === undefined) refused++
    if (answer) hits++
  }
  return { failure: null, hits, refused, seed }
}

function pick (random, list) {
  return list[random(list.length)]
}

function parse (record) {
  try {
    return parseRightly(record.toString())
  } catch {
    return undefined
  }
}

function makeHostile (random, depth) {
  if (depth === 0 || random(4) === 0) return pick(random, [null, 0, '', 'a', '"a":', 'root', true, [], {}, 1e21, '\ud800'])
  const items = Array.from({ length: random(6) }, () => makeHostile(random, depth - 1))
  if (random(5) === 0) return items
  return Object.fromEntries(items.map((item) => [pick(random, KEYS), item]))
}

/** As JSON may spell it, a tenth of the keys twice: JSON.parse takes the last. */
function spell (random, value) {
  const space = pick(random, ['', '', '', ' ', '\n\t'])
  if (typeof value === 'string') return spellText(random, value)
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${space}${value.map((item) => spell(random, item)).join(`,${space}`)}]`
  const entries = Object.entries(value).map(([key, item]) => `${spellText(random, key)}${space}:${space}${spell(random, item)}`)
  if (entries.length > 0 && random(10) === 0) entries.unshift(`${spellText(random, Object.keys(value)[0])}:{"a":1}`)
  return `{${space}${entries.join(`${space},`)}${space}}`
}

function spellText (random, text) {
  const rarity = pick(random, [2, 10, 1000])
  const units = Array.from({ length: text.length }, (_, index) => {
    const unit = text[index]
    const isPlain = !/["\\\u0000-\u001f\ud800-\udfff]/.test(unit) // eslint-disable-line no-control-regex
    if (isPlain && random(rarity) > 0) return unit
    if (unit in SHORT && random(2) === 0) return SHORT[unit]
    const digits = unit.charCodeAt(0).toString(16).padStart(4, '0')
    return `\\u${random(2) === 0 ? digits : digits.toUpperCase()}`
  })
  return `"${units.join('')}"`
}

/** One in six: a byte flipped, or the end cut off. */
function damageSome (random, record) {
  if (random(6) > 0) return record
  if (random(2) === 0) return record.subarray(0, random(record.length))
  record[random(record.length)] ^= 1 << random(8)
  return record
}

/** One condition or some, of what is there and what is not; one in four is an equality. */
function makeWhere (random, value) {
  const paths = listPaths(value)
  const conditions = Array.from({ length: 1 + random(3) }, () => {
    const known = pick(random, paths)
    const path = random(3) > 0 ? known : [...known.slice(random(2)), pick(random, KEYS)]
    if (random(4) === 0) return { path, equals: pick(random, [null, 0, '', 'a', 'root']) }
    const isLikely = random(3) > 0
    return { path, exists: isLikely === (path === known) }
  })
  return conditions.length === 1 ? conditions[0] : conditions
}

function listPaths (value, path = []) {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return [path]
  return [path, ...Object.keys(value).flatMap((key) => listPaths(value[key], [...path, key]))]
}

exports.runPresenceCases = runPresenceCases

if (require.main === module) {
  const { values: { cases, seed } } = parseArgs({
    options: { cases: { type: 'string', default: '100000' }, seed: { type: 'string' } }
  })
  const result = runPresenceCases({ cases: Number(cases), seed: seed === undefined ? undefined : Number(seed) })
  console.log(result)
  process.exitCode = result.failure === null ? 0 : 1
}
