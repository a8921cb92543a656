'use strict'
// What the commands share: options read from a table, what --help prints, where the outputs go, and how a command ends.

const fs = require('node:fs')
const path = require('node:path')
const { parseArgs } = require('node:util')
const { alignColumns } = require('./report')
const { DisagreementError, MeasureError } = require('./run')

const ROOT = path.join(__dirname, '..', '..')

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
 * @typedef {object} Command
 * @property {string} name  of the script: `bench`
 * @property {string} about  the first lines of --help
 * @property {Record<string, Option>} options  beside `out` and `help`, which every command has
 * @property {() => string} [more]  the last lines of --help
 */

/** @type {Record<string, Option>} */
const COMMON = {
  out: { takes: 'DIR', about: 'where data/ and images/ go', standard: 'the root of the repository', read: toPath },
  help: { about: 'this text' }
}

/**
 * Exit codes: what `run` gives, 1 when it fails, 2 when the user can mend it.
 * @param {Command} command
 * @param {(argv: string[]) => any} parseOptions
 * @param {(options: any) => Promise<number>} run
 */
async function runCommand (command, parseOptions, run) {
  // An exit, unlike a signal's default, removes half-made files.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  try {
    const options = parseOptions(process.argv.slice(2))
    if (options.help) process.stdout.write(formatUsage(command))
    else process.exitCode = await run(options)
  } catch (err) {
    const isExplained = err instanceof UserError || err instanceof MeasureError || err instanceof DisagreementError
    console.error(isExplained ? `${command.name}: ${err.message}` : err)
    process.exitCode = err instanceof UserError ? 2 : 1
  }
}

/**
 * @param {Command} command
 * @param {string[]} argv  without node and the script
 * @returns {any}  the value of every option; in `given` the texts, and in `command` how to run the same again
 * @throws {UserError}  one line that names the option
 */
function readOptions ({ name, options: own }, argv) {
  const options = Object.entries({ ...own, ...COMMON })
  const given = parseWords(argv, Object.fromEntries(options.map(([name, { takes }]) => {
    return [name, { type: takes ? 'string' : 'boolean', ...(name === 'help' && { short: 'h' }) }]
  })))
  const values = options.map(([name, { read }]) => [name, read ? read(given[name], `--${name}`) : given[name] ?? false])
  return { ...Object.fromEntries(values), given, command: formatCommand(name, Object.keys(own), given) }
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

/** @param {Command} command */
function formatUsage ({ name, about, options, more }) {
  const rows = Object.entries({ ...options, ...COMMON }).map(([name, { takes = '', about, standard = '' }]) => {
    return [`  --${name} ${takes}`, about, standard]
  })
  const lines = alignColumns(rows, '  ', () => true)
  return [`Usage: npm run ${name} -- [options]`, about, lines.join('\n'), ...(more ? [more()] : [])].join('\n\n') + '\n'
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
 * @template T
 * @param {number} min
 * @param {number} max
 * @param {T} initial  without the option
 * @returns {(text: string | undefined, option: string) => number | T}
 */
function toInteger (min, max, initial) {
  return (text, option) => {
    if (text === undefined) return initial
    const number = /^\d+$/.test(text) ? Number(text) : NaN
    if (number >= min && number <= max) return number
    throw new UserError(`${option}: expected a whole number from ${min} to ${max}, got "${text}"`)
  }
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
 * @typedef {{ data: string, images: string, generated: string }} Folders
 * @param {string | undefined} out  undefined for the root of the repository
 * @returns {Folders}  all of them there
 * @throws {UserError}
 */
function prepareFolders (out = ROOT) {
  const data = path.join(out, 'data')
  const folders = { data, images: path.join(out, 'images'), generated: path.join(data, 'generated') }
  try {
    for (const folder of Object.values(folders)) {
      fs.mkdirSync(folder, { recursive: true })
      fs.accessSync(folder, fs.constants.W_OK)
    }
    return folders
  } catch (err) {
    throw new UserError(`--out: ${/** @type {Error} */ (err).message}`)
  }
}

/** @param {string[]} files */
function describeWritten (files) {
  return `written: ${files.map((file) => path.relative(process.cwd(), file)).join(', ')}`
}

exports.UserError = UserError
exports.runCommand = runCommand
exports.readOptions = readOptions
exports.toNames = toNames
exports.toInteger = toInteger
exports.toPath = toPath
exports.prepareFolders = prepareFolders
exports.describeWritten = describeWritten
