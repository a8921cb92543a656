'use strict'
// Parts are what a user can name: stacks, layers, rows, peers, jobs. A module has a list of them in `parts`, or is
// one; a path of another module can be given in place of a name. A child is told the file and the name.

const fs = require('node:fs')
const path = require('node:path')
const { UserError, toNames } = require('./options')

/** @typedef {{ name: string, order?: number }} Part */

/** Where each part was loaded from. @type {WeakMap<Part, any>} */
const homes = new WeakMap()

/**
 * @param {string} file
 * @returns {any[]}  in the order of the file
 */
function loadParts (file) {
  const loaded = require(file)
  const parts = loaded.parts ?? [loaded]
  for (const part of parts) homes.set(part, file)
  return parts
}

/**
 * @param {Part} part
 * @returns {{ file: string, name: string }}  for `findPart`, in a child
 */
function locate (part) {
  return { file: homes.get(part), name: part.name }
}

/**
 * @param {{ file: string, name: string }} place
 * @returns {any}
 */
function findPart ({ file, name }) {
  return loadParts(file).find((part) => part.name === name)
}

/**
 * @param {string} option  for the message
 * @param {any[]} parts
 * @param {string[]} words  names of the parts, or paths of modules that export one; none means all of the parts
 * @param {(part: any) => boolean} [isPart]  without it no path can be given
 * @returns {any[]}  in their order
 * @throws {UserError}
 */
function pickParts (option, parts, words, isPart) {
  /** @type {Map<string, Part>} */
  const strangers = new Map()
  for (const word of words) if (isPart && word.endsWith('.js')) strangers.set(word, loadStranger(option, word, isPart))
  const names = words.map((word) => strangers.get(word)?.name ?? word)
  const known = [...parts, ...strangers.values()].sort((a, b) => (a.order ?? 0) - (b.order ?? 0))
  const unknown = names.find((name) => !known.some((part) => part.name === name))
  if (unknown === undefined) return names.length === 0 ? parts : known.filter((part) => names.includes(part.name))
  throw new UserError(`${option}: unknown "${unknown}", choose from ${known.map((part) => part.name).join(', ')}`)
}

/**
 * @param {string} option
 * @param {string} file
 * @param {(part: any) => boolean} isPart
 */
function loadStranger (option, file, isPart) {
  const whole = path.resolve(file)
  if (!fs.existsSync(whole)) throw new UserError(`${option}: there is no file ${file}`)
  const [part] = loadParts(whole)
  if (typeof part?.name === 'string' && isPart(part)) return part
  throw new UserError(`${option}: ${file} does not export what it must`)
}

/**
 * The `read` of an option that picks parts.
 * @param {any[]} parts
 * @param {(part: any) => boolean} [isPart]
 * @returns {(text: string | undefined, option: string) => any[]}
 */
function toParts (parts, isPart) {
  return (text, option) => pickParts(option, parts, toNames(option, text), isPart)
}

exports.loadParts = loadParts
exports.locate = locate
exports.findPart = findPart
exports.pickParts = pickParts
exports.toParts = toParts
