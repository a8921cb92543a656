'use strict'
// The language of filters: from what a user passes as `where` to a checked list of filters.

const { misuse } = require('@millrace/errors')
const { toLevel } = require('./levels')
const { BOUNDS, COMBINERS, LOWER_BOUNDS, OPERATORS, UPPER_BOUNDS, isBound, isPrimitive, suggest } = require('./operators')
const { toInstant } = require('./times')

// A filter may come from a stranger: each of these bounds what it can cost.

/** Filters inside one another. */
const DEPTH_MAX = 32
/** In all of a filter. */
const CONDITIONS_MAX = 1000
/** Of all `in` of a filter. */
const VALUES_MAX = 100_000
/** Keys and indexes of a path: no codec nests values deeper. */
const PATH_LENGTH_MAX = 1000
/** The largest index of an array. */
const INDEX_MAX = 2 ** 32 - 2

const SHOWN_LENGTH_MAX = 80
const KEYS_SHOWN_MAX = 5

/** @typedef {import('./operators').Primitive} Primitive */
/** @typedef {string | number} Bound */

/**
 * One step inwards: the key of an object; or a number, the index in an array or the key of its digits.
 * @typedef {string | number} Step
 */

/**
 * What users pass.
 * @typedef {string | readonly Step[]} AskedPath
 * @typedef {'gt' | 'gte' | 'lt' | 'lte'} BoundName
 * @typedef {'equals' | 'exists' | 'in' | BoundName | 'prefix' | 'includes' | 'time' | 'level'} Operator
 * @typedef {{ readonly [Key in BoundName]?: number | string | Date }} AskedLogBounds
 */
/**
 * What an object with these operators must not have.
 * @template {Operator} Used
 * @typedef {{ readonly [Name in Exclude<Operator, Used>]?: never }} Without
 */
/**
 * @typedef {{ readonly [Key in BoundName]?: Bound }} Bounds
 * @typedef {{ [Name in BoundName]: Bounds & { readonly [Key in Name]: Bound } }[BoundName]} Range
 * @typedef {Without<'equals'> & { readonly path: AskedPath, readonly equals: Primitive }} AskedEquality
 * @typedef {Without<'exists'> & { readonly path: AskedPath, readonly exists: boolean }} AskedPresence
 * @typedef {Without<'in'> & { readonly path: AskedPath, readonly in: readonly Primitive[] }} AskedChoice
 * @typedef {Without<BoundName> & Range & { readonly path: AskedPath }} AskedRange
 * @typedef {Without<'prefix'> & { readonly path: AskedPath, readonly prefix: string }} AskedPrefix
 * @typedef {Without<'includes'> & { readonly path: AskedPath, readonly includes: Primitive | Where }} AskedMember
 * @typedef {Without<'time'> & { readonly path: AskedPath, readonly time: AskedLogBounds }} AskedTime
 * @typedef {Without<'level'> & { readonly path: AskedPath, readonly level: AskedLogBounds }} AskedLevel
 * @typedef {Without<never> & { readonly path?: never, readonly any: readonly Where[] }} AskedAny
 * @typedef {Without<never> & { readonly path?: never, readonly all: readonly Where[] }} AskedAll
 * @typedef {Without<never> & { readonly path?: never, readonly not: Where }} AskedNot
 * @typedef {AskedEquality | AskedPresence | AskedChoice | AskedRange | AskedPrefix | AskedMember | AskedTime |
 *   AskedLevel} AskedCondition
 * @typedef {AskedCondition | AskedAny | AskedAll | AskedNot} AskedFilter
 * @typedef {AskedFilter | readonly AskedFilter[]} Where  a filter, or a list of filters that all must hold
 */

/**
 * As `parseWhere` gives it: a path from the record's root inwards, empty for the record itself; and one operator, or
 * bounds.
 * @typedef {Without<'includes'> & { readonly path: readonly Step[], readonly includes: Primitive | Filter }} Member
 * @typedef {{ readonly [Key in BoundName]?: number }} LogBounds  ms since 1970, or a level on the scale of pino
 * @typedef {Without<'time'> & { readonly path: readonly Step[], readonly time: LogBounds }} TimeCondition
 * @typedef {Without<'level'> & { readonly path: readonly Step[], readonly level: LogBounds }} LevelCondition
 * @typedef {Exclude<AskedCondition, AskedMember | AskedTime | AskedLevel>} AskedPlain
 * @typedef {(AskedPlain & { readonly path: readonly Step[] }) | Member | TimeCondition | LevelCondition} Condition
 * @typedef {Condition | { any: Filter[] } | { all: Filter[] } | { not: Filter }} Filter
 */

// Whether the paths of a filter lead through a type. A wide type, as that of a filter in a variable, is not looked at.

/**
 * What a step leads to in a type; never, if that has nothing there.
 * @template T
 * @template S
 * @typedef {T extends null | undefined | string | number | boolean | bigint | symbol ? never :
 *   T extends Function | ArrayBufferView ? never :
 *   T extends readonly (infer Item)[] ? (S extends number ? Item : never) :
 *   S extends keyof T ? T[S] :
 *   S extends number ? (`${S}` extends keyof T ? T[`${S}`] : never) :
 *   never} Inside
 */
/**
 * @template T
 * @template Steps
 * @typedef {0 extends 1 & T ? any : unknown extends T ? any :
 *   Steps extends readonly [infer First, ...infer Rest] ? Along<Inside<T, First>, Rest> : T} Along
 */
/**
 * @template {string} Text
 * @typedef {string extends Text ? [] : Text extends `${infer First}.${infer Rest}` ? [ToStep<First>, ...Split<Rest>] :
 *   [ToStep<Text>]} Split
 */
/**
 * @template {string} Key
 * @typedef {Key extends `${infer Index extends number}` ? Index : Key} ToStep
 */
/**
 * What is at a path; never, if there can be nothing.
 * @template T
 * @template Path
 * @typedef {Along<T, Path extends string ? Split<Path> : Path>} At
 */
/**
 * @template T
 * @typedef {T extends readonly (infer Item)[] ? Item : 0 extends 1 & T ? any : never} ItemOf
 */
/**
 * What a filter must be, beside a filter: unknown, if all of its paths may lead to something in the type.
 * @template T
 * @template W
 * @typedef {[Where] extends [W] ? unknown : [Filter] extends [W] ? unknown : [AskedFilter] extends [W] ? unknown :
 *   W extends readonly unknown[] ? { readonly [Index in keyof W]: Checked<T, W[Index]> } :
 *   W extends { readonly any: infer Parts } ? { readonly any: Checked<T, Parts> } :
 *   W extends { readonly all: infer Parts } ? { readonly all: Checked<T, Parts> } :
 *   W extends { readonly not: infer Part } ? { readonly not: Checked<T, Part> } :
 *   W extends { readonly path: infer Path } ? CheckedCondition<T, W, Path> : unknown} Checked
 */
/**
 * @template T
 * @template W
 * @template Path
 * @typedef {[At<T, Path>] extends [never] ? { readonly path: 'a path that the type of the values has' } :
 *   W extends { readonly includes: infer Element extends object } ?
 *     { readonly includes: Checked<ItemOf<At<T, Path>>, Element> } : unknown} CheckedCondition
 */

/** @typedef {{ conditions: number, values: number }} Counts  of the whole filter, so far */

const CONDITION = `{ path, <operator>: value } with one of ${OPERATORS.join(', ')}`
const LANGUAGE = `A filter is ${CONDITION}; { any: [...] }, { all: [...] } or { not: filter }; or a list, of which all must hold`

/**
 * Checks a filter that a user passes, and brings it into the form that codecs take. A filter may come from a stranger:
 * more than 32 levels of filters inside filters, 1,000 conditions, 100,000 values in all `in` together or 1,000 keys in
 * a path are refused, and it reads no more of the filter than that. The message of the error says what is wrong, and
 * suggests the right spelling of an operator.
 * @param {unknown} where  a filter, or a list of filters that all must hold (an empty list holds for every record)
 * @returns {Filter[]}  a copy: later changes to what was passed change nothing
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseWhere (where) {
  const counts = { conditions: 0, values: 0 }
  return Array.isArray(where) ? parseList(where, 1, counts) : [parseFilter(where, 1, counts)]
}

/** @type {(list: unknown, depth: number, counts: Counts) => Filter[]} */
function parseList (list, depth, counts) {
  if (!Array.isArray(list)) throw misuse(`where: any and all take a list of filters, got ${show(list)}`)
  if (list.length > CONDITIONS_MAX) throw tooMany(CONDITIONS_MAX, 'conditions')
  // A hole is no filter: `map` would pass over it, and it would hold for every record.
  const filters = []
  for (let index = 0; index < list.length; index++) filters.push(parseFilter(list[index], depth, counts))
  return filters
}

/** @type {(filter: any, depth: number, counts: Counts) => Filter} */
function parseFilter (filter, depth, counts) {
  if (depth > DEPTH_MAX) throw misuse(`where: filters are nested deeper than ${DEPTH_MAX} levels, the most that is allowed`)
  if (++counts.conditions > CONDITIONS_MAX) throw tooMany(CONDITIONS_MAX, 'conditions')
  if (Array.isArray(filter)) return { all: parseList(filter, depth + 1, counts) }
  const equality = parseEquality(filter)
  if (equality !== null) return equality
  if (filter === null || typeof filter !== 'object') throw misuse(`where: expected a filter, got ${show(filter)}. ${LANGUAGE}`)
  const words = listWords(filter)
  const combiner = words.find((word) => COMBINERS.includes(word))
  if (combiner === undefined) return parseCondition(filter, words, depth, counts)
  if (words.length > 1) {
    throw misuse(`where: ${combiner} stands alone in its object, got ${show(filter)}. Put both in a list: all of it must hold`)
  }
  if (combiner === 'not') return { not: parseFilter(filter.not, depth + 1, counts) }
  const parts = parseList(filter[combiner], depth + 1, counts)
  return combiner === 'any' ? { any: parts } : { all: parts }
}

/**
 * What most filters are, and each append with a condition has: one text as path, and `equals`. Null of any other.
 * @param {any} filter
 * @returns {Condition | null}
 */
function parseEquality (filter) {
  if (filter === null || typeof filter !== 'object') return null
  for (const key in filter) if (key !== 'path' && key !== 'equals') return null
  const { path, equals } = filter
  return typeof path === 'string' && isPrimitive(equals) ? { path: parsePathText(path), equals } : null
}

/**
 * @param {any} filter
 * @returns {string[]}  its keys, all of which are words of the language
 */
function listWords (filter) {
  const words = []
  for (const key in filter) {
    if (key !== 'path' && !OPERATORS.includes(key) && !COMBINERS.includes(key)) throw unknownWord(key)
    words.push(key)
  }
  return words
}

/** @param {string} word */
function unknownWord (word) {
  const meant = suggest(word)
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`
  return misuse(`where: there is no operator ${show(word)}${hint}${hint === '' ? '.' : ''} ${LANGUAGE}`)
}

/** @type {(condition: any, words: string[], depth: number, counts: Counts) => Condition} */
function parseCondition (condition, words, depth, counts) {
  const operators = words.filter((word) => word !== 'path')
  if (operators.length === 0) throw misuse(`where: expected a condition with an operator, got ${show(condition)}. ${LANGUAGE}`)
  if (operators.length > 1) checkBounds(operators)
  /** @type {Record<string, any>} */
  const parsed = { path: parsePath(condition.path) }
  for (const operator of operators) parsed[operator] = parseArgument(operator, condition[operator], depth, counts)
  const [first, second = first] = operators
  const isMixed = typeof parsed[first] !== typeof parsed[second]
  if (isMixed) throw misuse(`where: no value is in the range ${show(condition)}: one bound is a string, the other one a number`)
  return /** @type {Condition} */ (parsed)
}

/** @param {string[]} operators  several: bounds of one range */
function checkBounds (operators) {
  if (!operators.every((word) => BOUNDS.includes(word))) {
    throw misuse(`where: a condition has one operator, or bounds, got ${operators.join(' and ')}. Put two conditions in a list: ` +
      'both must hold')
  }
  for (const sides of [LOWER_BOUNDS, UPPER_BOUNDS]) {
    if (sides.every((word) => operators.includes(word))) throw misuse(`where: a condition has ${sides.join(' or ')}, not both`)
  }
}

/**
 * @param {unknown} path
 * @returns {Step[]}
 */
function parsePath (path) {
  if (typeof path === 'string') return parsePathText(path)
  if (!Array.isArray(path)) throw misuse(`where: path must be an array of keys and indexes, or a text like a.b.0, got ${show(path)}`)
  const { length } = path
  if (length > PATH_LENGTH_MAX) throw tooMany(PATH_LENGTH_MAX, 'keys in a path')
  const steps = []
  for (let index = 0; index < length; index++) {
    // Read once: a getter may give something else the next time.
    const step = path[index]
    if (typeof step !== 'string' && !isIndex(step)) {
      throw misuse(`where: a path has strings for keys and whole numbers for indexes, got ${show(step)} in it`)
    }
    steps.push(step)
  }
  return steps
}

/** A program asks for few paths, again and again. @type {Map<string, Step[]>} */
const keptPaths = new Map()
const KEPT_COUNT_MAX = 1000
const KEPT_LENGTH_MAX = 256

/** @param {string} text  keys with dots between them; digits are an index */
function parsePathText (text) {
  const known = keptPaths.get(text)
  // A copy: what a caller does to it must not change what the next one gets.
  if (known !== undefined) return known.slice()
  const steps = splitPath(text)
  if (text.length <= KEPT_LENGTH_MAX) {
    if (keptPaths.size === KEPT_COUNT_MAX) keptPaths.clear()
    keptPaths.set(text, steps.slice())
  }
  return steps
}

/** @type {(text: string) => Step[]} */
function splitPath (text) {
  // Of a longer text nobody needs all keys, to see that they are too many.
  const keys = text.split('.', PATH_LENGTH_MAX + 1)
  if (keys.length > PATH_LENGTH_MAX) throw tooMany(PATH_LENGTH_MAX, 'keys in a path')
  if (keys.includes('')) {
    throw misuse(`where: the path ${show(text)} has an empty key. A path as text has keys with dots between them; write others as ` +
      'a list: [] is the record itself')
  }
  return keys.map((key) => /^(?:0|[1-9]\d{0,9})$/.test(key) && isIndex(Number(key)) ? Number(key) : key)
}

/** @param {unknown} step */
function isIndex (step) {
  return Number.isInteger(step) && Number(step) >= 0 && Number(step) <= INDEX_MAX
}

/** @type {(operator: string, value: any, depth: number, counts: Counts) => unknown} */
function parseArgument (operator, value, depth, counts) {
  switch (operator) {
    case 'exists': return check(operator, value, typeof value === 'boolean', 'true or false')
    case 'prefix': return check(operator, value, typeof value === 'string', 'a string')
    case 'in': return parseValues(value, counts)
    case 'includes': return isPrimitive(value) ? value : parseElement(value, depth, counts)
    case 'time': return parseLogBounds(operator, value, toMs)
    case 'level': return parseLogBounds(operator, value, (level) => typeof level === 'number' ? level : toLevel(level)?.level)
    case 'equals': return check(operator, value, isPrimitive(value), 'a string, a finite number, a boolean or null')
    default: return check(operator, value, isBound(value), 'a string or a number')
  }
}

/**
 * Bounds of a time or a level. Without any, it holds for every record that has one.
 * @type {(operator: string, value: any, toNumber: (bound: unknown) => number | undefined) => Record<string, number>}
 */
function parseLogBounds (operator, value, toNumber) {
  check(operator, value, value !== null && typeof value === 'object' && !Array.isArray(value), 'an object with bounds')
  /** @type {Record<string, number>} */
  const bounds = {}
  for (const name in value) {
    if (!BOUNDS.includes(name)) throw misuse(`where: ${operator} has no bound ${show(name)}; there are ${BOUNDS.join(', ')}`)
    const bound = toNumber(value[name])
    check(`${name} of ${operator}`, value[name], typeof bound === 'number' && !Number.isNaN(bound), `a ${operator}`)
    bounds[name] = Number(bound)
  }
  for (const sides of [LOWER_BOUNDS, UPPER_BOUNDS]) {
    if (sides.every((name) => name in bounds)) throw misuse(`where: ${operator} has ${sides.join(' or ')}, not both`)
  }
  return bounds
}

/** A number is ms, as of a Date; a text may be any that a record has. @param {unknown} bound */
function toMs (bound) {
  return typeof bound === 'number' ? bound : toInstant(bound)?.ms
}

/** @type {(value: any, depth: number, counts: Counts) => Filter} */
function parseElement (value, depth, counts) {
  const isFilter = value !== null && typeof value === 'object'
  check('includes', value, isFilter, 'a string, a finite number, a boolean, null, or a filter for elements')
  return parseFilter(value, depth + 1, counts)
}

/** @type {(values: any, counts: Counts) => Primitive[]} */
function parseValues (values, counts) {
  check('in', values, Array.isArray(values), 'a list of values')
  counts.values += values.length
  if (counts.values > VALUES_MAX) throw tooMany(VALUES_MAX, 'values of in')
  return Array.from(values, (value) => {
    return check('each value of in', value, isPrimitive(value), 'a string, a finite number, a boolean or null')
  })
}

/**
 * @template T
 * @param {string} name
 * @param {T} value
 * @param {boolean} isRight
 * @param {string} expected
 * @returns {T}
 */
function check (name, value, isRight, expected) {
  if (!isRight) throw misuse(`where: ${name} must be ${expected}, got ${show(value)}`)
  return value
}

/** @param {number} max @param {string} what */
function tooMany (max, what) {
  return misuse(`where: a filter may have ${max} ${what}, not more`)
}

/**
 * Whatever it is, shortly: it may be huge, or refuse to be shown.
 * @param {any} value
 */
function show (value) {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, SHOWN_LENGTH_MAX)) + (value.length > SHOWN_LENGTH_MAX ? '...' : '')
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`
  if (value === null || typeof value !== 'object') return String(value).slice(0, SHOWN_LENGTH_MAX)
  const keys = []
  for (const key in value) {
    keys.push(keys.length < KEYS_SHOWN_MAX ? key.slice(0, SHOWN_LENGTH_MAX) : '...')
    if (keys.length > KEYS_SHOWN_MAX) break
  }
  return keys.length === 0 ? '{}' : `{ ${keys.join(', ')} }`
}

exports.DEPTH_MAX = DEPTH_MAX
exports.CONDITIONS_MAX = CONDITIONS_MAX
exports.VALUES_MAX = VALUES_MAX
exports.PATH_LENGTH_MAX = PATH_LENGTH_MAX
exports.parseWhere = parseWhere
