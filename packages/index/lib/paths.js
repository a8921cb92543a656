'use strict'
// The paths that an index is declared with; and all of them as one tree, which is walked along with a record.

const { checkOptions, misuse, reasonOf } = require('@millrace/errors')
const { parseWhere } = require('@millrace/where')

/** More would make each record slow to index, and a run file large. */
const PATHS_MAX = 64

/**
 * @typedef {import('@millrace/where').Step} Step
 * @typedef {string | readonly Step[]} AskedPath  keys with dots between them, or a list of keys and indexes
 */

/**
 * One declared path: its text or list, or an object.
 * @typedef {object} PathOptions
 * @property {AskedPath} path  Where the value is in a record.
 * @property {boolean | AskedPath} [each]  For an array: true if each of its elements is a key, for
 *   `{ path, includes: value }`; or the path inside each element, for `{ path, includes: { path, equals: value } }`.
 *   False by default.
 * @property {boolean} [range]  Whether numbers and times are found by their range too, as in `{ path, gte: 10 }` and
 *   `{ path, time: { gte } }`. It takes 12 bytes a record. False by default.
 */

/**
 * @typedef {object} DeclaredPath
 * @property {readonly Step[]} steps
 * @property {readonly Step[] | null} each  the steps inside each element
 * @property {boolean} range
 * @property {string} name  for people
 */

/**
 * @param {unknown} paths
 * @returns {DeclaredPath[]}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parsePaths (paths) {
  if (!Array.isArray(paths) || paths.length === 0) {
    const found = typeof paths === 'string' ? `the text '${paths}'` : reasonOf(paths)
    throw misuse(`createIndex: expected a list of paths, such as ['type', 'author.id'], got ${Array.isArray(paths) ? 'an empty one' : found}`)
  }
  if (paths.length > PATHS_MAX) throw misuse(`createIndex: an index may have ${PATHS_MAX} paths, got ${paths.length}`)
  const parsed = Array.from(paths, parsePath)
  const names = parsed.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw misuse(`createIndex: the path ${twice} is declared twice; declare it once`)
  return parsed
}

/** @param {any} asked @returns {DeclaredPath} */
function parsePath (asked) {
  const isObject = asked !== null && typeof asked === 'object' && !Array.isArray(asked)
  if (isObject) checkOptions('createIndex', asked, ['path', 'each', 'range'])
  const { path, each = false, range = false } = isObject ? asked : { path: asked }
  if (typeof range !== 'boolean') throw misuse(`createIndex: range must be true or false, got ${reasonOf(range)}`)
  const inside = typeof each === 'boolean' ? (each ? [] : null) : parseSteps(each, 'createIndex: each')
  refuseBrackets(path)
  const steps = parseSteps(path)
  return { steps, each: inside, range, name: showPath(steps, inside) }
}

/**
 * As the command takes them; here it would be a key that no record has, and no filter would use it.
 * @param {unknown} path
 */
function refuseBrackets (path) {
  const [, array, rest] = typeof path === 'string' ? /^(.*?)\[\*\](?:\.(.+))?$/s.exec(path) ?? [] : []
  if (array === undefined) return
  const each = rest === undefined ? 'true' : `'${rest}'`
  throw misuse(`createIndex: ${path} is a path of the command; write { path: ${array === '' ? '[]' : `'${array}'`}, each: ${each} }, or ` +
    `[${JSON.stringify(path)}] for a key of this name`)
}

/** @type {(path: unknown, call?: string) => readonly Step[]} `call`: for the message of an error */
function parseSteps (path, call = 'createIndex') {
  try {
    const [filter] = parseWhere({ path, exists: true })
    return /** @type {any} */ (filter).path
  } catch (err) {
    throw misuse(/** @type {Error} */ (err).message.replace(/^where: /, `${call}: `))
  }
}

/**
 * @param {readonly Step[]} steps
 * @param {readonly Step[] | null} each
 */
function showPath (steps, each) {
  const inside = each === null ? '' : `[*]${each.length > 0 ? `.${showSteps(each)}` : ''}`
  return showSteps(steps) + inside
}

/** As text if that means the same, otherwise as a list. @param {readonly Step[]} steps */
function showSteps (steps) {
  const isPlain = steps.length > 0 && steps.every((step) => typeof step === 'number' || /^(?!\d+$)[^.[\]]+$/.test(step))
  return isPlain ? steps.join('.') : JSON.stringify(steps)
}

/** Stands between the steps to an array and those inside its elements. */
const EACH = Symbol('each')

/**
 * A place in records: which paths end there, and where it goes on.
 * @typedef {object} Node
 * @property {number[]} slots  the indexes of the declared paths that end here
 * @property {boolean} hasRange  whether one of them needs numbers and times
 * @property {KeyEntry[]} keys  of an object
 * @property {Array<{ index: number, child: Node }>} indexes  of an array
 * @property {Node | null} each  of all elements of an array
 */
/**
 * `objectId`: the last object in which the key was seen, for a scanner that looks out for keys that come twice.
 * @typedef {{ text: string, bytes: Buffer, child: Node, objectId: number }} KeyEntry
 * @typedef {{ slot: number, rest: ReadonlyArray<Step | typeof EACH> }} Position
 */

/** @param {readonly DeclaredPath[]} paths @returns {Node} */
function createTree (paths) {
  return createNode(paths.map(({ steps, each }, slot) => {
    return { slot, rest: each === null ? steps : [...steps, EACH, ...each] }
  }), paths)
}

/**
 * @param {Position[]} positions  what may be here: a number is an index or a key, so one place may be on several ways
 * @param {readonly DeclaredPath[]} paths
 * @returns {Node}
 */
function createNode (positions, paths) {
  const slots = positions.filter(({ rest }) => rest.length === 0).map(({ slot }) => slot)
  const open = positions.filter(({ rest }) => rest.length > 0)
  /** @type {(isWanted: (step: any) => boolean) => Node} */
  const follow = (isWanted) => {
    const next = open.filter(({ rest: [step] }) => isWanted(step))
    return createNode(next.map(({ slot, rest }) => ({ slot, rest: rest.slice(1) })), paths)
  }
  const steps = open.map(({ rest: [step] }) => step)
  const keys = new Set(steps.filter((step) => step !== EACH).map(String))
  const indexes = new Set(steps.filter((step) => typeof step === 'number'))
  return {
    slots,
    hasRange: slots.some((slot) => paths[slot].range),
    keys: Array.from(keys, (text) => {
      const child = follow((step) => step !== EACH && String(step) === text)
      return { text, bytes: Buffer.from(text), child, objectId: 0 }
    }),
    indexes: Array.from(indexes, (index) => ({ index, child: follow((step) => step === index) })),
    each: steps.includes(EACH) ? follow((step) => step === EACH) : null
  }
}

/**
 * Whether the bytes of a key tell nothing: invalid UTF-8 decodes to U+FFFD, and half a surrogate pair has no UTF-8.
 * @param {readonly DeclaredPath[]} paths
 */
function needsText (paths) {
  return paths.some(({ steps, each }) => [...steps, ...each ?? []].some((step) => {
    return typeof step === 'string' && (step.includes('\ufffd') || !(/** @type {any} */ (step).isWellFormed()))
  }))
}

exports.parsePaths = parsePaths
exports.parseSteps = parseSteps
exports.showPath = showPath
exports.createTree = createTree
exports.needsText = needsText
