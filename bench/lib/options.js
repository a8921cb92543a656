'use strict'
// Options, read from a table that --help is made from too.

const { parseArgs } = require('node:util')
const { alignColumns } = require('./report')

/** A failure that the user can mend, such as a wrong option: one line on stderr and exit code 2, no stack trace. */
class UserError extends Error {}

/**
 * @typedef {object} Option
 * @property {string} [takes]  what --help calls its value; an option without it is a flag
 * @property {string} about
 * @property {string} [standard]  what --help says about its default
 * @property {(text: string | undefined, option: string) => unknown} [read]  from its text, or undefined, to its value
 */

/**
 * @typedef {object} Usage
 * @property {string} name  of the script: `bench`
 * @property {string} about  the first lines of --help
 * @property {Record<string, Option>} options  beside `out` and `help`, which every command has
 * @property {number} [budgetMs]  since the start of the process: after it no case runs again, unless --runs is given
 * @property {(options: any) => object} [refine]  what the options come to together
 * @property {Array<[title: string, parts: Array<[name: string, what: string]>]>} parts  the last lines of --help
 */

/** @type {Record<string, Option>} */
const COMMON = {
  out: { takes: 'DIR', about: 'where data/ and images/ go', standard: 'the root of the repository', read: toPath },
  help: { about: 'this text' }
}

/**
 * @param {Usage} usage
 * @param {string[]} argv  without node and the script
 * @returns {any}  the value of every option; in `given` the texts, in `command` how to run the same again, and in
 *   `budgetMs` for how long repeats may begin
 * @throws {UserError}  one line that names the option
 */
function readOptions ({ name, options: own, budgetMs = Infinity, refine = () => ({}) }, argv) {
  const options = Object.entries({ ...own, ...COMMON })
  const given = parseWords(argv, Object.fromEntries(options.map(([name, { takes }]) => {
    return [name, { type: takes ? 'string' : 'boolean', ...(name === 'help' && { short: 'h' }) }]
  })))
  const read = options.map(([name, { read }]) => [name, read ? read(given[name], `--${name}`) : given[name] ?? false])
  const values = {
    ...Object.fromEntries(read),
    given,
    command: formatCommand(name, Object.keys(own), given),
    budgetMs: given.runs === undefined ? budgetMs : Infinity
  }
  return { ...values, ...refine(values) }
}

/**
 * @param {string[]} argv
 * @param {any} spec
 * @returns {any}
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
 * Folders stay out: they belong to the machine, and the CSV files are shared.
 * @param {string} name
 * @param {string[]} names  of options
 * @param {Record<string, string | boolean | undefined>} given
 */
function formatCommand (name, names, given) {
  const words = names.filter((name) => given[name] !== undefined).map((name) => {
    const value = given[name]
    if (value === true) return `--${name}`
    return `--${name} ${String(value).split(',').map((text) => text.split(/[\\/]/).at(-1)).join(',')}`
  })
  return `npm run ${name}${words.length > 0 ? ' -- ' : ''}${words.join(' ')}`
}

/** @param {Usage} usage */
function formatUsage ({ name, about, options, parts }) {
  const lines = Object.entries({ ...options, ...COMMON }).map(([name, { takes = '', about, standard = '' }]) => {
    return [`  --${name} ${takes}`, about, standard]
  })
  const width = Math.max(...parts.flatMap(([, parts]) => parts.map(([name]) => name.length)))
  const more = parts.map(([title, parts]) => [
    `${title}:`, ...parts.map(([name, what]) => `  ${name.padEnd(width)}  ${what}`.trimEnd())
  ].join('\n'))
  const table = alignColumns(lines, '  ', () => true).join('\n')
  return [`Usage: npm run ${name} -- [options]`, about, table, more.join('\n')].join('\n\n') + '\n'
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
 * An option that is a whole number.
 * @param {string} about
 * @param {{ min?: number, max?: number, initial?: number, standard?: string }} bounds  `initial` without the option
 * @returns {Option}
 */
function countOption (about, { min = 1, max = 1000, initial, standard = String(initial) }) {
  const read = (/** @type {string | undefined} */ text, /** @type {string} */ option) => {
    return text === undefined ? initial : toInteger(text, option, min, max)
  }
  return { takes: 'N', about, standard, read }
}

/**
 * @param {string} text
 * @param {string} option
 * @param {number} min
 * @param {number} max
 */
function toInteger (text, option, min, max) {
  const number = /^\d+$/.test(text) ? Number(text) : NaN
  if (number >= min && number <= max) return number
  throw new UserError(`${option}: expected a whole number from ${min} to ${max}, got "${text}"`)
}

/**
 * @param {string | undefined} text
 * @param {string} option
 */
function toPath (text, option) {
  if (text === '') throw new UserError(`${option}: expected a path, got ""`)
  return text
}

exports.UserError = UserError
exports.readOptions = readOptions
exports.formatUsage = formatUsage
exports.toNames = toNames
exports.toInteger = toInteger
exports.toPath = toPath
exports.countOption = countOption
