'use strict'
// Parts are modules that are found by being in their folder, such as stacks: loaded, sorted, picked by name or by path.

const fs = require('node:fs')
const path = require('node:path')
const { UserError } = require('./user-error')

/** @typedef {{ name: string, order: number }} Part */

/** Where each part was loaded from. @type {WeakMap<Part, string>} */
const homes = new WeakMap()

/**
 * @param {string} folder
 * @returns {any[]}  in their order
 */
function loadFolder (folder) {
  const files = fs.readdirSync(folder).filter(isModulePath).map((name) => path.join(folder, name))
  return sortParts(files.map(load))
}

/**
 * @param {string} option  for the message
 * @param {string} file
 * @param {(part: any) => boolean} isPart
 * @returns {any}
 * @throws {UserError}
 */
function loadStranger (option, file, isPart) {
  const whole = path.resolve(file)
  if (!fs.existsSync(whole)) throw new UserError(`${option}: there is no file ${file}`)
  const part = load(whole)
  if (typeof part.name !== 'string' || !isPart(part)) throw new UserError(`${option}: ${file} does not export what it must`)
  return part
}

/** @param {string} file */
function load (file) {
  const part = require(file)
  homes.set(part, file)
  return part
}

/**
 * Children find their part again by this: they are told a file, never a name.
 * @param {Part} part
 * @returns {string}
 */
function fileOf (part) {
  const file = homes.get(part)
  if (file === undefined) throw new Error(`${part.name} was not loaded from a file`)
  return file
}

/** @param {string} name */
function isModulePath (name) {
  return name.endsWith('.js')
}

/**
 * @template {Part} T
 * @param {T[]} parts
 * @returns {T[]}
 */
function sortParts (parts) {
  return [...parts].sort((a, b) => a.order - b.order)
}

/**
 * @template {Part} T
 * @param {string} option  for the message
 * @param {T[]} parts
 * @param {string[]} names  none means all
 * @returns {T[]}
 * @throws {UserError}
 */
function pickParts (option, parts, names) {
  const known = parts.map((part) => part.name)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) throw new UserError(`${option}: unknown "${unknown}", choose from ${known.join(', ')}`)
  return names.length === 0 ? parts : parts.filter((part) => names.includes(part.name))
}

/**
 * @template {Part} T
 * @param {string} option  for the message
 * @param {T[]} parts
 * @param {string[]} words  names of the parts, or paths of modules that export one; none means all of the parts
 * @param {(part: any) => boolean} isPart
 * @returns {T[]}
 * @throws {UserError}
 */
function pickWithStrangers (option, parts, words, isPart) {
  /** @type {Map<string, T>} */
  const strangers = new Map()
  for (const word of words.filter(isModulePath)) strangers.set(word, loadStranger(option, word, isPart))
  const names = words.map((word) => strangers.get(word)?.name ?? word)
  return pickParts(option, sortParts([...parts, ...strangers.values()]), names)
}

exports.loadFolder = loadFolder
exports.pickParts = pickParts
exports.pickWithStrangers = pickWithStrangers
exports.fileOf = fileOf
