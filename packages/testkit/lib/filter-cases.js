'use strict'
// Random filters of every operator, made for a value so that they often hold, or nearly so; and the comparison of what
// a codec answers, one by one and for many records, with decoding and comparing.

const { matches, parseWhere } = require('@millrace/where')

/** @typedef {(limit: number) => number} Random  a whole number below the limit */

/** Keys that objects, arrays or strings have without having them; those that need escapes; digits. */
const KEYS = ['a', 'b', 'key', 'root', 'time', 'level', 'value', '__proto__', 'constructor', 'length', '0', '1', '', 'a.b', 'a/b', '"', '\\', 'é', '😀',
  '\ufffd', '\ud800', 'byteLength', 'x'.repeat(40)]
const TEXTS = ['', 'a', 'b', 'post', 'po', 'a/b', '"', '\\', 'é', 'éa', '😀', '😁', '\ud83d', '\ude00', '\ufffd', '\uffff', '\ue000',
  '\u0000', '\n', '2024-01-01', '2024-01-02T03:04:05Z', '%' + 'aB3+'.repeat(11) + '.sha256', '%' + 'aB3/'.repeat(11) + '.sha256',
  'true', 'null', '1', 'x'.repeat(300), 'the same beginning, and one end', 'the same beginning, and another']
const NUMBERS = [0, -0, 1, -1, 2, 3, 5, 100, 1000, 0.5, 1e-7, 1e21, 2 ** 31, -(2 ** 31), 2 ** 31 - 1, 2 ** 53, 1e308,
  Number('12345678901234567890')]
const BOUNDS = [...NUMBERS, Infinity, -Infinity, ...TEXTS]
const SCALARS = [...NUMBERS, ...TEXTS, true, false, null]
const CHOICE_SIZES = [0, 1, 2, 3, 10, 20, 40]
const BOUND_NAMES = [['gt', 'gte'], ['lt', 'lte']]

/** @template T @param {Random} random @param {readonly T[]} list @returns {T} */
function pick (random, list) {
  return list[random(list.length)]
}

/**
 * Makes a random value.
 * JSON-like, with keys and texts that are hard to find and numbers that have several spellings.
 * @param {Random} random
 * @param {number} [depth]
 * @returns {any}
 */
function makeValue (random, depth = 3) {
  if (depth === 0 || random(4) === 0) return pick(random, SCALARS)
  const items = Array.from({ length: random(6) }, () => makeValue(random, depth - 1))
  if (random(3) === 0) return items
  return Object.fromEntries(items.map((item) => [pick(random, random(2) === 0 ? KEYS.slice(0, 4) : KEYS), item]))
}

/**
 * Makes a random filter that often holds for a value, or nearly so.
 * @param {Random} random
 * @param {any} value
 * @param {number} [depth]
 * @returns {any}  what `parseWhere` takes
 */
function makeFilter (random, value, depth = 3) {
  const kind = depth === 0 ? 9 : random(10)
  if (kind > 3) return makeCondition(random, value, depth)
  if (kind === 0) return { not: makeFilter(random, value, depth - 1) }
  const parts = Array.from({ length: random(4) }, () => makeFilter(random, value, depth - 1))
  return kind === 1 ? { any: parts } : kind === 2 ? { all: parts } : parts
}

/** @type {(random: Random, value: any, depth: number) => any} */
function makeCondition (random, value, depth) {
  const part = pick(random, listParts(value))
  const path = makePath(random, part.path)
  const known = isPrimitive(part.value) && random(4) > 0 ? part.value : pick(random, SCALARS)
  switch (random(8)) {
    case 0: return { path, equals: known }
    case 1: return { path, exists: random(2) === 0 }
    case 2: {
      const values = Array.from({ length: pick(random, CHOICE_SIZES) }, () => vary(random, pick(random, SCALARS)))
      return { path, in: random(3) === 0 ? values : [...values, known] }
    }
    case 3: return { path, prefix: cut(random, typeof known === 'string' ? known : pick(random, TEXTS)) }
    case 4: return makeMember(random, part, path, depth)
    case 5: return makeLogCondition(random, random(2) === 0 ? [] : path)
    default: return { path, ...makeBounds(random, known) }
  }
}

/** @type {(random: Random, path: any) => any} */
function makeLogCondition (random, path) {
  const names = BOUND_NAMES.filter(() => random(3) > 0).map((side) => pick(random, side))
  if (random(2) === 0) return { path, level: Object.fromEntries(names.map((name) => [name, pick(random, [10, 30, 40, 'error', 55])])) }
  return { path, time: Object.fromEntries(names.map((name) => [name, pick(random, [0, 100, 1e12, '2024-01-02', 5e14])])) }
}

/** @type {(random: Random, part: { value: any }, path: any, depth: number) => any} */
function makeMember (random, { value }, path, depth) {
  const items = Array.isArray(value) && value.length > 0 ? value : [pick(random, SCALARS)]
  const item = pick(random, items)
  const isOfFilter = depth > 0 && random(2) === 0
  if (isOfFilter) return { path, includes: makeFilter(random, item, depth - 1) }
  return { path, includes: isPrimitive(item) ? item : pick(random, SCALARS) }
}

/** @type {(random: Random, known: any) => any} */
function makeBounds (random, known) {
  const isText = typeof known === 'string'
  const all = BOUNDS.filter((bound) => (typeof bound === 'string') === isText)
  const bound = () => random(2) === 0 && isBound(known) ? vary(random, known) : pick(random, all)
  const sides = BOUND_NAMES.filter(() => random(3) > 0)
  return Object.fromEntries((sides.length > 0 ? sides : BOUND_NAMES).map((names) => [pick(random, names), bound()]))
}

/** @param {any} value */
function isBound (value) {
  return typeof value === 'string' || (typeof value === 'number' && !Number.isNaN(value))
}

/** @param {any} value */
function isPrimitive (value) {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
}

/** Nearly the same. @type {(random: Random, value: any) => any} */
function vary (random, value) {
  if (typeof value === 'number') return Number.isFinite(value) ? value + pick(random, [0, 0, 1, -1, 0.5]) : value
  if (typeof value !== 'string') return value
  return pick(random, [value, cut(random, value), `${value}a`, `${value}\u0000`, value.replace(/a/, 'b')])
}

/** At a random unit, which may be inside a pair. @type {(random: Random, text: string) => string} */
function cut (random, text) {
  return random(2) === 0 ? text : text.slice(0, random(text.length + 1))
}

/**
 * The path, or nearly so; as text where it can be, sometimes.
 * @type {(random: Random, path: Array<string | number>) => any}
 */
function makePath (random, path) {
  const steps = [...path]
  if (random(5) === 0) steps.push(pick(random, [...KEYS, 0, 1, 7]))
  if (random(8) === 0) steps.pop()
  // Digits as an index, and an index as a key.
  if (random(6) === 0) steps.push(...steps.splice(-1).map(swapDigits))
  const isPlain = steps.length > 0 && steps.every((step) => step !== '' && !String(step).includes('.'))
  return isPlain && random(3) === 0 ? steps.join('.') : steps
}

/** @type {(step: string | number) => string | number} */
function swapDigits (step) {
  if (typeof step === 'number') return String(step)
  return /^\d$/.test(step) ? Number(step) : step
}

/** @type {(value: any, path?: Array<string | number>) => Array<{ path: Array<string | number>, value: any }>} */
function listParts (value, path = []) {
  if (value === null || typeof value !== 'object' || ArrayBuffer.isView(value)) return [{ path, value }]
  const keys = Array.isArray(value) ? [...value.keys()].slice(0, 8) : Object.keys(value)
  return [{ path, value }, ...keys.flatMap((key) => listParts(value[key], [...path, key]))]
}

/**
 * @typedef {object} FilterCases
 * @property {{ compile: (where: any) => any }} codec  that is asked
 * @property {Random} random  from `createRandom`
 * @property {() => { value: any, bytes: Buffer }} makeRecord  the bytes may be damaged, or spelled in any way
 * @property {(bytes: Buffer) => { value: any } | undefined}  parse  undefined if they are not a record
 * @property {number} cases  how many pairs of a filter and a record are tried, at least
 */

/** Records that one filter is asked of. */
const BATCH_SIZE = 25

/**
 * Asks a codec random filters of random records, one by one and in runs.
 * @param {FilterCases} options
 * @returns {{ failure: any, cases: number, hits: number, refused: number }}  the first pair of a record and a filter
 *   that is answered otherwise than by decoding and comparing, one by one, or among many in either order
 */
function runFilterCases ({ codec, random, makeRecord, parse, cases }) {
  const sums = { cases: 0, hits: 0, refused: 0 }
  while (sums.cases < cases) {
    const records = Array.from({ length: BATCH_SIZE }, makeRecord)
    // Some more than once, so that there are more that fulfil the filter.
    for (let index = 0; index < BATCH_SIZE; index += 2) records[index] = records[random(BATCH_SIZE)]
    const where = makeFilter(random, pick(random, records).value)
    const filters = parseWhere(where)
    const test = codec.compile(where)
    const placed = place(random, records.map(({ bytes }) => bytes))
    const wanted = records.map(({ bytes }, index) => {
      const parsed = parse(bytes)
      const answer = test(placed.buffer, placed.starts[index], placed.ends[index])
      sums.cases++
      if (parsed === undefined) sums.refused++
      else if (answer) sums.hits++
      return { answer, expected: parsed === undefined ? answer : matches(filters, parsed.value) }
    })
    const wrong = wanted.findIndex(({ answer, expected }) => answer !== expected)
    if (wrong >= 0) return { failure: { where, record: records[wrong].bytes, ...wanted[wrong] }, ...sums }
    const failure = findSelected(test, placed, wanted.map(({ answer }) => answer))
    const all = records.map(({ bytes }) => bytes)
    if (failure !== undefined) return { failure: { where, ...failure, records: all }, ...sums }
  }
  return { failure: null, ...sums }
}

/**
 * With other bytes between them.
 * @type {(random: Random, records: Buffer[]) => { buffer: Buffer, starts: number[], ends: number[] }}
 */
function place (random, records) {
  const gaps = records.map((bytes) => bytes.subarray(random(bytes.length + 1)).subarray(0, random(12)))
  let end = 0
  const ends = records.map(({ length }, index) => (end += gaps[index].length + length))
  const starts = ends.map((end, index) => end - records[index].length)
  return { buffer: Buffer.concat(records.flatMap((bytes, index) => [gaps[index], bytes])), starts, ends }
}

/**
 * What is selected otherwise, if anything.
 * @type {(test: any, placed: ReturnType<typeof place>, answers: boolean[]) => any}
 */
function findSelected (test, { buffer, starts, ends }, answers) {
  if (test.select === undefined) return undefined
  const count = answers.length
  for (const isForward of [true, false]) {
    const order = (/** @type {any[]} */ list) => isForward ? list : [...list].reverse()
    const records = { buffer, count, starts: Uint32Array.from(order(starts)), ends: Uint32Array.from(order(ends)) }
    const expected = order(answers).flatMap((answer, index) => answer ? [index] : [])
    const picked = new Uint32Array(count)
    // More than once: it tries each of its searches in turn.
    for (let round = 0; round < 4; round++) {
      const selected = [...picked.subarray(0, test.select(records, picked))]
      if (String(selected) !== String(expected)) return { isForward, selected, expected }
    }
  }
}

exports.makeFilter = makeFilter
exports.makeValue = makeValue
exports.runFilterCases = runFilterCases
