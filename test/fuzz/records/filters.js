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
      filters: WHERES.map((where) => codec.binaryCodec.compile(where)),
      paths: SEEK_PATHS,
      seeks: SEEK_PATHS.map((path) => codec.createSeekPath(path)),
      compareAt: codec.createCompareAt([['value'], ['a'], []])
    }
    compiled.set(codec, all)
  }
  return all
}

/**
 * A path into the value, and what is there, or that something is.
 * @param {any} value  decoded
 * @param {number} pick  which one
 * @returns {{ path: string[], equals: any } | { path: string[], exists: boolean } | null}
 */
function suggestWhere (value, pick) {
  /** @type {string[]} */
  const path = []
  for (let rest = pick; isPlainObject(value); rest = Math.floor(rest / 7)) {
    const keys = Object.keys(value)
    if (keys.length === 0 || path.length > 20) return null
    const key = keys[rest % keys.length]
    path.push(key)
    value = value[key]
  }
  const isPrimitive = value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
  return isPrimitive && pick % 3 > 0 ? { path, equals: value } : { path, exists: true }
}

/** @param {any} value */
function isPlainObject (value) {
  return value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype
}

exports.compileAll = compileAll
exports.suggestWhere = suggestWhere
