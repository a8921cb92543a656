'use strict'
// The options of a command, read from a table that --help is made from too; parts that are picked by name.

const fs = require('node:fs')
const path = require('node:path')
const { parseArgs } = require('node:util')
const { alignColumns } = require('../lib/report')
const { UserError, loadParts } = require('../lib/run')

/**
 * @typedef {object} Option
 * @property {string} [takes]  what --help calls its value; an option without it is a flag
 * @property {string} about
 * @property {string} [standard]  what --help says about its default
 * @property {(text: string | undefined, option: string) => unknown} [read]  from its text, or undefined, to its value
 */

/**
 * @param {string} command  `npm run bench -- limits`
 * @param {Record<string, Option>} options
 * @param {string[]} argv
 * @param {Record<string, string>} [aliases]  other names of options
 * @returns {any}  the value of every option; in `given` the texts, in `command` how to run the same again
 * @throws {UserError}  one line that names the option
 */
function readOptions (command, options, argv, aliases = {}) {
  const more = Object.fromEntries(Object.entries(aliases).map(([alias, name]) => [alias, options[name]]))
  const found = parseWords(argv, Object.fromEntries(Object.entries({ ...options, ...more }).map(([name, { takes }]) => {
    return [name, { type: takes ? 'string' : 'boolean', ...(name === 'help' && { short: 'h' }) }]
  })))
  /** @type {Record<string, string | boolean>} */
  const given = {}
  for (const [name, text] of Object.entries(found)) {
    const real = aliases[name] ?? name
    if (given[real] !== undefined) throw new UserError(`--${name} and --${real} are the same option: give one of them`)
    given[real] = text
  }
  const values = Object.entries(options).map(([name, { read }]) => {
    return [name, read ? read(/** @type {string | undefined} */ (given[name]), `--${name}`) : given[name] ?? false]
  })
  return { ...Object.fromEntries(values), given, command: formatCommand(command, given) }
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

// They say where, not what: folders belong to the machine, and the CSV files are shared.
const NOT_SHOWN = ['out', 'install', 'keep', 'save', 'with', 'help']

/** @type {(command: string, given: Record<string, string | boolean>) => string} */
function formatCommand (command, given) {
  const words = Object.entries(given).filter(([name]) => !NOT_SHOWN.includes(name)).map(([name, value]) => {
    if (value === true) return `--${name}`
    return `--${name} ${String(value).split(',').map((text) => text.split(/[\\/]/).at(-1)).join(',')}`
  })
  const start = command.includes(' -- ') || words.length === 0 ? command : `${command} --`
  return [start, ...words].join(' ')
}

/**
 * @type {(command: string, about: string, options: Record<string, Option>, parts: Array<[title: string, parts:
 *   Array<[name: string, what: string]>]>) => string}
 */
function formatUsage (command, about, options, parts) {
  const lines = Object.entries(options).map(([name, { takes = '', about, standard = '' }]) => [`  --${name} ${takes}`, about, standard])
  const width = Math.max(...parts.flatMap(([, parts]) => parts.map(([name]) => name.length)))
  const more = parts.map(([title, parts]) => {
    return [`${title}:`, ...parts.map(([name, what]) => `  ${name.padEnd(width)}  ${what}`.trimEnd())].join('\n')
  })
  const table = alignColumns(lines, '  ', () => true).join('\n')
  return [`Usage: ${command}${command.includes(' -- ') ? '' : ' --'} [options]`, about, table, ...more].join('\n\n') + '\n'
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

/**
 * The `read` of an option that picks parts by their names, in the order of the parts. Without the option it is all.
 * @param {any[]} parts
 * @param {(part: any) => boolean} isPart  paths of modules can be given too, each of which exports such a part
 * @param {Map<string, any[]>} [groups]  of parts, that have a name together
 * @returns {(text: string | undefined, option: string) => any[]}
 */
function toParts (parts, isPart, groups = new Map()) {
  return (text, option) => {
    if (text === undefined) return parts
    const words = toNames(option, text)
    const strangers = new Map(words.filter((word) => word.endsWith('.js')).map((word) => [word, loadStranger(option, word, isPart)]))
    const known = [...parts, ...strangers.values()].sort((a, b) => (a.order ?? 0) - (b.order ?? 0))
    const partsOf = (/** @type {string} */ word) => groups.get(word) ?? [strangers.get(word) ?? { name: word }]
    const names = words.flatMap((word) => partsOf(word).map(({ name }) => name))
    const unknown = names.find((name) => !known.some((part) => part.name === name))
    if (unknown === undefined) return known.filter((part) => names.includes(part.name))
    throw new UserError(`${option}: unknown "${unknown}", choose from ${[...groups.keys(), ...known.map((part) => part.name)].join(', ')}`)
  }
}

/** @type {(option: string, file: string, isPart: (part: any) => boolean) => any} */
function loadStranger (option, file, isPart) {
  const whole = path.resolve(file)
  if (!fs.existsSync(whole)) throw new UserError(`${option}: there is no file ${file}`)
  const [part] = loadParts(whole)
  if (typeof part?.name === 'string' && isPart(part)) return part
  throw new UserError(`${option}: ${file} does not export what it must`)
}

exports.readOptions = readOptions
exports.formatUsage = formatUsage
exports.toNames = toNames
exports.countOption = countOption
exports.toInteger = toInteger
exports.toPath = toPath
exports.toParts = toParts
