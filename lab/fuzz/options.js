'use strict'
// The command line of the fuzzer.

const { fromLine, LineError } = require('./replay')
const { targets } = require('./targets')

const NAMES = targets.map(({ name }) => name)

const HELP = `Gives hostile bytes to every reader of bytes.

  npm run fuzz -- [options]

${targets.map(({ name, count }) => `  --${name} N`.padEnd(16) + `  how many cases of ${name}, ${count.toLocaleString('en')} by default`).join('\n')}
  --only NAME       only these: ${NAMES.join(', ')}
  --seconds N       ends after this time, even if cases are left
  --seed N          the seed of all random choices; by default a new one, which is printed
  --workers N       threads, as many as there are cores by default; 0 for none
  --replay LINE     repeats a failure from the line that it printed, and prints every step
  --root PATH       the repository to fuzz instead of this one
  --help            this text

The exit code is 1 after a failure and 2 when the options are wrong. Ctrl-C ends it after the current batches.
`

const NUMBERS = [...NAMES, 'seconds', 'seed', 'workers']
const TEXTS = ['only', 'replay', 'root']
const MAY_BE_ZERO = [...NAMES, 'seed', 'workers']

class UsageError extends Error {}

/**
 * @param {string[]} args
 * @returns {Record<string, any>}
 * @throws {UsageError}
 */
function parseArguments (args) {
  /** @type {Record<string, any>} */
  const options = { counts: {} }
  for (let index = 0; index < args.length; index++) {
    const [, name = '', , inline] = /^--([a-z]+)(=(.*))?$/s.exec(args[index]) ?? []
    if (name === 'help' && inline === undefined) {
      options.help = true
      continue
    }
    if (!NUMBERS.includes(name) && !TEXTS.includes(name)) throw new UsageError(`there is no option ${args[index]}`)
    const text = inline ?? args[++index]
    if (text === undefined || text === '' || text.startsWith('--')) throw new UsageError(`--${name} needs a value`)
    const value = NUMBERS.includes(name) ? parseNumber(name, text) : text
    if (NAMES.includes(name)) options.counts[name] = value
    else options[name] = value
  }
  return settle(options)
}

/**
 * @param {string} name
 * @param {string} text
 */
function parseNumber (name, text) {
  const number = Number(text.replaceAll('_', ''))
  const isFraction = name === 'seconds' && Number.isFinite(number)
  if (!/^\d/.test(text) || (!isFraction && !Number.isSafeInteger(number))) {
    throw new UsageError(`--${name} needs a number, got ${text}`)
  }
  if (number === 0 && !MAY_BE_ZERO.includes(name)) throw new UsageError(`--${name} must be above 0`)
  if (name === 'seed' && number >= 2 ** 32) throw new UsageError(`--seed must be below 2^32, got ${text}`)
  if (name === 'workers' && number > 64) throw new UsageError(`--workers must be at most 64, got ${text}`)
  return number
}

/** @param {Record<string, any>} options */
function settle (options) {
  const { only, replay, seconds, counts } = options
  if (only !== undefined && !NAMES.includes(only)) throw new UsageError(`--only: there is no ${only}, only ${NAMES.join(', ')}`)
  for (const name of NAMES) {
    if (only !== undefined && name !== only) counts[name] = 0
    // As many as the time allows.
    else if (seconds !== undefined) counts[name] ??= Infinity
  }
  if (replay === undefined) return options
  try {
    options.replay = fromLine(replay)
  } catch (err) {
    if (err instanceof LineError) throw new UsageError(`--replay: ${err.message}`)
    throw err
  }
  return options
}

exports.HELP = HELP
exports.UsageError = UsageError
exports.parseArguments = parseArguments
