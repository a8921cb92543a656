'use strict'
// Finds the stacks and the layers: each is one file in its folder, and nothing else has to know of it.

const fs = require('node:fs')
const path = require('node:path')
const { UserError } = require('./user-error')

/** @typedef {import('./shapes').Stack} Stack */
/** @typedef {import('./shapes').Layer} Layer */

const STACKS_FOLDER = path.join(__dirname, '..', 'stacks')
const LAYERS_FOLDER = path.join(__dirname, '..', 'layers')

/** @returns {Layer[]}  in the order of the table */
function listLayers () {
  return load(LAYERS_FOLDER)
}

/** @returns {Stack[]}  the one that the others are compared with first */
function listStacks () {
  return load(STACKS_FOLDER)
}

/**
 * @param {string[]} names  none means all
 * @returns {Layer[]}
 */
function pickLayers (names) {
  return pick('--layers', listLayers(), names)
}

/**
 * @param {string[]} names  of the folder's stacks, or paths of modules that export one; none means the folder's
 * @returns {Stack[]}
 */
function pickStacks (names) {
  const strangers = names.filter(isPath).map(loadStranger)
  return names.length === 0 ? listStacks() : pick('--stacks', sort([...listStacks(), ...strangers]), names.map(toName))

  /** @param {string} name */
  function toName (name) {
    return isPath(name) ? loadStranger(name).name : name
  }
}

/**
 * Children find their stack again by this: they are told a file, never a name.
 * @param {Stack | Layer} part
 * @returns {string}
 */
function fileOf (part) {
  const file = homes.get(part)
  if (file === undefined) throw new Error(`${part.name} was not loaded from a file`)
  return file
}

/** @type {Map<Stack | Layer, string>} */
const homes = new Map()

/** @param {string} folder */
function load (folder) {
  return sort(fs.readdirSync(folder).filter((name) => name.endsWith('.js')).map((name) => {
    const file = path.join(folder, name)
    const part = require(file)
    homes.set(part, file)
    return part
  }))
}

/**
 * @param {string} file
 * @returns {Stack}
 */
function loadStranger (file) {
  const whole = path.resolve(file)
  if (!fs.existsSync(whole)) throw new UserError(`--stacks: there is no file ${file}`)
  const stack = require(whole)
  if (typeof stack.name !== 'string' || typeof stack.primitives !== 'object') {
    throw new UserError(`--stacks: ${file} does not export a stack`)
  }
  homes.set(stack, whole)
  return stack
}

/** @param {string} name */
function isPath (name) {
  return name.endsWith('.js')
}

/**
 * @template {{ order: number }} T
 * @param {T[]} parts
 * @returns {T[]}
 */
function sort (parts) {
  return [...parts].sort((a, b) => a.order - b.order)
}

/**
 * @template {{ name: string }} T
 * @param {string} option
 * @param {T[]} parts
 * @param {string[]} names
 * @returns {T[]}
 */
function pick (option, parts, names) {
  const known = parts.map((part) => part.name)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) throw new UserError(`${option}: unknown "${unknown}", choose from ${known.join(', ')}`)
  return names.length === 0 ? parts : parts.filter((part) => names.includes(part.name))
}

exports.listLayers = listLayers
exports.listStacks = listStacks
exports.pickLayers = pickLayers
exports.pickStacks = pickStacks
exports.fileOf = fileOf
