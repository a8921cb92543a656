'use strict'
// The command lines of the lab. A command declares its options once; its help, the checks of what it is given, and its
// exit code come from that.

const { parseArgs } = require('node:util')

/**
 * @typedef {object} Option
 * @property {string} about  for the help
 * @property {'text' | 'integer' | 'number' | 'switch'} [kind]  text by default. Numbers are above 0, and may have `_`
 * @property {number} [min]  of an integer; 1 by default
 * @property {number} [max]  of an integer
 * @property {string[]} [oneOf]  all that a text can be
 * @property {string | number} [default]  if it is not given
 *
 * @typedef {object} Command
 * @property {string} name  before what it says of a failure
 * @property {string} run  how it is run
 * @property {string} about  what it does
 * @property {Record<string, Option>} options
 * @property {(values: Record<string, any>) => void} [check]  throws UsageError if options do not go together
 */

/** The options are wrong. */
class UsageError extends Error {}

/** This machine lacks what the options need. */
class UnableError extends Error {}

/** @type {Option} */
const SEED = {
  kind: 'integer',
  min: 0,
  max: 2 ** 32 - 1,
  about: 'the seed of all random choices; by default a new one, which is printed'
}
/** @type {Option} */
const HELP = { kind: 'switch', about: 'this text' }
const END = 'The exit code is 1 after a failure, 2 when the options are wrong, and 3 when this machine lacks what they need.'
const WIDTH = 100

const newSeed = () => Date.now() % 2 ** 31

/**
 * Runs a command with the arguments of the process, and sets its exit code.
 * @param {Command} command
 * @param {(values: Record<string, any>) => Promise<boolean>} main  gives whether anything failed
 */
async function runCommand (command, main) {
  try {
    const { help, ...values } = parseArguments(command, process.argv.slice(2))
    if (help) process.stdout.write(formatHelp(command))
    else process.exitCode = await main(values) ? 1 : 0
  } catch (err) {
    const isUsage = err instanceof UsageError
    if (isUsage) console.error(`${command.name}: ${err.message}; --help lists the options`)
    else console.error(err instanceof UnableError ? `${command.name}: ${err.message}` : err)
    process.exitCode = isUsage ? 2 : err instanceof UnableError ? 3 : 1
  }
}

/**
 * @param {Command} command
 * @param {string[]} args
 * @returns {Record<string, any>}  by the names of the options that are given or have a default
 * @throws {UsageError}
 */
function parseArguments ({ options, check }, args) {
  const declared = new Map(Object.entries({ ...options, help: HELP }))
  const types = Array.from(declared, ([name, { kind }]) => [name, { type: kind === 'switch' ? 'boolean' : 'string' }])
  const { tokens } = parseArgs({ args, options: Object.fromEntries(types), strict: false, tokens: true })
  const given = tokens.map((token) => {
    const option = token.kind === 'option' && token.rawName.startsWith('--') ? declared.get(token.name) : undefined
    if (token.kind !== 'option' || option === undefined) throw new UsageError(`there is no option ${args[token.index]}`)
    return [token.name, parseValue(token.rawName, option, token.value)]
  })
  const defaults = Object.entries(options).filter((entry) => entry[1].default !== undefined)
  const values = Object.fromEntries([...defaults.map(([name, option]) => [name, option.default]), ...given])
  if (!values.help) check?.(values)
  return values
}

/** @type {(name: string, option: Option, text: string | undefined) => string | number | boolean} */
function parseValue (name, { kind = 'text', oneOf, min = 1, max = Number.MAX_SAFE_INTEGER }, text) {
  if (kind === 'switch') {
    if (text !== undefined) throw new UsageError(`${name} takes no value`)
    return true
  }
  if (text === undefined || text === '' || text.startsWith('--')) throw new UsageError(`${name} needs a value`)
  if (kind === 'text') {
    if (oneOf && !oneOf.includes(text)) throw new UsageError(`${name} must be one of ${oneOf.join(', ')}, got ${text}`)
    return text
  }
  const number = /^\d/.test(text) ? Number(text.replaceAll('_', '')) : NaN
  if (!(kind === 'number' ? number < Infinity : Number.isSafeInteger(number))) throw new UsageError(`${name} needs a number, got ${text}`)
  if (kind === 'number' ? number === 0 : number < min) throw new UsageError(`${name} must be ${min === 1 ? 'above 0' : `at least ${min}`}`)
  if (number > max) throw new UsageError(`${name} must be at most ${max}, got ${text}`)
  return number
}

/** @param {Command} command */
function formatHelp ({ run, about, options }) {
  const rows = Object.entries({ ...options, help: HELP }).map(([name, { kind, about, default: value }]) => {
    const placeholder = { text: ' TEXT', integer: ' N', number: ' N', switch: '' }[kind ?? 'text']
    return [`  --${name}${placeholder}`, value === undefined ? about : `${about}; ${value.toLocaleString('en')} by default`]
  })
  const width = Math.max(...rows.map(([left]) => left.length)) + 2
  const lines = rows.map(([left, right]) => left.padEnd(width) + wrap(right, WIDTH - width).join(`\n${' '.repeat(width)}`))
  return `${wrap(about, WIDTH).join('\n')}\n\n  ${run} [options]\n\n${lines.join('\n')}\n\n${wrap(END, WIDTH).join('\n')}\n`
}

/** @type {(text: string, width: number) => string[]} */
function wrap (text, width) {
  return text.match(new RegExp(`\\S.{0,${width - 2}}\\S(?= |$)`, 'g')) ?? [text]
}

exports.SEED = SEED
exports.UnableError = UnableError
exports.UsageError = UsageError
exports.newSeed = newSeed
exports.runCommand = runCommand
