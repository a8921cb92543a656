'use strict'
// What the command lines of the bench have in common: words to values, and values back to a command.

const { parseArgs } = require('node:util')
const { UserError } = require('./user-error')

/** @typedef {NonNullable<import('node:util').ParseArgsConfig['options']>} Spec */

/**
 * @template {Spec} T
 * @param {string[]} argv
 * @param {T} spec
 * @throws {UserError}  one line that names the option
 */
function parseWords (argv, spec) {
  try {
    return parseArgs({ args: argv, options: spec, strict: true, allowPositionals: false }).values
  } catch (err) {
    // Node explains at length; its first sentence is enough.
    const [sentence] = String(/** @type {Error} */ (err).message).split(/\.\s|\n/)
    throw new UserError(`${sentence.replace(/\.$/, '')}; see --help`)
  }
}

/**
 * @param {string} option
 * @param {string | undefined} text  names with commas between
 * @returns {string[]}
 */
function toNames (option, text) {
  if (text === undefined) return []
  const names = text.split(',').map((name) => name.trim())
  if (names.some((name) => name === '')) throw new UserError(`${option}: expected a list like a,b and got "${text}"`)
  return names
}

/**
 * @param {string} option
 * @param {string} text
 * @param {number} min
 * @param {number} max
 */
function toInteger (option, text, min, max) {
  const number = /^\d+$/.test(text) ? Number(text) : NaN
  if (number >= min && number <= max) return number
  throw new UserError(`${option}: expected a whole number from ${min} to ${max}, got "${text}"`)
}

/**
 * @param {string} option
 * @param {string | undefined} text
 */
function toPath (option, text) {
  if (text === '') throw new UserError(`${option}: expected a path, got ""`)
  return text
}

/**
 * How to run the same again. Folders stay out: they belong to the machine, and the CSV files are shared.
 * @param {string} script
 * @param {string[]} flags
 * @param {Record<string, string | undefined>} values  of options, as they were given
 */
function formatCommand (script, flags, values) {
  const words = Object.entries(values).flatMap(([name, value]) => {
    return value === undefined ? [] : `--${name} ${value.split(',').map(lastPart).join(',')}`
  })
  return [script, ...(flags.length + words.length > 0 ? ['--'] : []), ...flags, ...words].join(' ')
}

/** @param {string} text */
function lastPart (text) {
  return text.split(/[\\/]/).at(-1)
}

exports.parseWords = parseWords
exports.toNames = toNames
exports.toInteger = toInteger
exports.toPath = toPath
exports.formatCommand = formatCommand
