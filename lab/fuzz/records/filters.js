'use strict'
// What hostile records are asked for: filters, keys and paths that are compiled once, and those that a record suggests.

const { KEYS, NUMBERS, TEXTS } = require('./make-tree')

const EQUALS = [...TEXTS, ...NUMBERS.filter(Number.isFinite), true, false, null, '\ud800']
const PATHS = [[], ['a'], ['value', 'content'], ['value', 'content', 'root'], ['__proto__'], ['a', 'a', 'a'], [''],
  ['\ufffd'], ['type', 'constructor'], ['\ud800']]

/** @type {Array<any>} what `compile` takes */
const WHERES = [[]]
for (const [index, equals] of EQUALS.entries()) WHERES.push({ path: PATHS[index % PATHS.length], equals })
for (const [index, key] of KEYS.entries()) WHERES.push({ path: [key], equals: EQUALS[index * 5 % EQUALS.length] })
// Whether something is there, and whether nothing is.
for (const exists of [true, false]) for (const path of PATHS) WHERES.push({ path, exists })
for (const [index, key] of KEYS.entries()) WHERES.push({ path: [key], exists: index % 3 > 0 })
for (let index = 0; index < 8; index++) WHERES.push([WHERES[1 + index * 3], WHERES[WHERES.length - 1 - index * 4]])
for (let index = 0; index < 8; index++) WHERES.push([WHERES[1 + index * 3], WHERES[2 + index * 5]])

const finite = NUMBERS.filter(Number.isFinite)
for (const [index, path] of [...PATHS, ...KEYS.map((key) => [key]), ['a', 0], [1, 'a'], ['value', 2 ** 31]].entries()) {
  const at = (/** @type {any[]} */ list) => list[index * 3 % list.length]
  WHERES.push([
    { path, [at(['gt', 'gte', 'lt', 'lte'])]: at(index % 2 ? finite : TEXTS) },
    { path, gte: at(finite), lt: at(finite) + 200 },
    { path, in: [at(EQUALS), at(TEXTS), at(finite), null] },
    { path, prefix: at(TEXTS) },
    { path, includes: index % 2 ? at(EQUALS) : { path: at([[], ['a'], [0]]), gte: at(finite) } },
    { not: { path, lte: at(finite) } },
    { any: [{ path, prefix: at(TEXTS) }, { all: [{ path, exists: true }, { not: { path, equals: at(EQUALS) } }] }] }
  ][index % 7])
}

const SEEK_PATHS = [...PATHS.filter((path) => path[0] !== '\ud800'), [0], [1, 0], ['a', 1, 'b'], ['value', 0], [2 ** 31],
  [Buffer.from('a'), 'b'], [Buffer.from([0xff])]]

/**
 * The compiled ones of each copy of the codec.
 * @type {WeakMap<any, { wheres: any[], filters: Function[], paths: any[], seeks: Function[], compareAt: Function }>}
 */
const compiled = new WeakMap()

/** @param {any} codec  what the package exports */
function compileAll (codec) {
  let all = compiled.get(codec)
  if (all === undefined) {
    all = {
      wheres: WHERES,
      filters: [],
      paths: SEEK_PATHS,
      seeks: SEEK_PATHS.map((path) => codec.createSeekPath(path)),
      compareAt: codec.createCompareAt([['value'], ['a'], []])
    }
    compiled.set(codec, all)
  }
  return all
}

/**
 * Compiled when it is asked for: all at once are too many steps for one case.
 * @param {any} codec
 * @param {number} index  of a filter in `wheres`
 */
function filterAt (codec, index) {
  const { filters } = compileAll(codec)
  filters[index] ??= codec.binaryCodec.compile(WHERES[index])
  return filters[index]
}

/**
 * A filter that must hold for the value: a path into it, and what is known of what is there.
 * @param {any} value  decoded
 * @param {number} pick  which one
 * @returns {any}  null if there is none
 */
function suggestWhere (value, pick) {
  /** @type {Array<string | number>} */
  const path = []
  let rest = pick
  for (; isPlainObject(value) || Array.isArray(value); rest = Math.floor(rest / 7)) {
    const keys = Object.keys(value)
    if (keys.length === 0 || path.length > 20) return null
    const key = keys[rest % keys.length]
    const item = Array.isArray(value) ? value[Number(key)] : undefined
    if (Array.isArray(value) && isPrimitive(item) && rest % 2 > 0) return { path, includes: item }
    path.push(Array.isArray(value) ? Number(key) : key)
    value = value[key]
  }
  if (!isPrimitive(value)) return { path, exists: true }
  const condition = { path, ...pickKnown(value, rest % 6) }
  return pick % 5 > 0 ? condition : { not: { all: [{ not: condition }, { path, exists: true }] } }
}

/** @type {(value: any, pick: number) => object} */
function pickKnown (value, pick) {
  const isOrdered = typeof value === 'string' || typeof value === 'number'
  if (pick === 0 || !isOrdered) return pick % 2 > 0 ? { exists: true } : { equals: value }
  if (pick === 1) return { in: ['', 7, value, false] }
  if (pick < 4 || typeof value === 'number') return { gte: value, lte: value }
  return { prefix: pick === 4 ? value : Array.from(value).slice(0, 3).join('') }
}

/** @param {any} value */
function isPrimitive (value) {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
}

/** @param {any} value */
function isPlainObject (value) {
  return value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype
}

exports.compileAll = compileAll
exports.filterAt = filterAt
exports.suggestWhere = suggestWhere
