'use strict'
// The command line of the torture.

const { FRAMINGS } = require('./framings')
const { fromLine } = require('./replay')

const HELP = `Tortures the log: cuts the power and kills the process at every moment, and checks each promise.

  npm run torture -- [options]

  --seconds N     how long, 60 by default
  --workloads N   how many workloads to run instead; the same seed and number give the same images
  --seed N        the seed of all random choices; by default a new one, which is printed
  --framing NAME  of the logs: checked, or lines; by default both in turn. With --kill and --disk, checked by default
  --workers N     threads, 2 by default; 0 for none
  --stop          ends at the first failure
  --replay LINE   repeats a failure from the line that it printed, and prints every step
  --log PATH      the package to load instead of the one that ships
  --kill N        kills N real processes instead, with SIGKILL
  --planted       plants bugs in copies of the source instead, and checks that they are found
  --disk          runs on a real ext4 instead, on disks that lose unflushed bytes and fail for a moment;
                  needs Linux, root, FUSE and loop devices; if they are missing, ends with 3
  --states N      how many states of these disks to examine, 2000 by default
  --record PATH   examines again the files that a failure of --disk left there
  --only PART     with --planted: the bugs with this in their names; with --disk: the states of
                  history.generation, or the one state history.generation.state
  --help          this text

The exit code is 1 after a failure, 2 when the options are wrong, and 3 when this machine lacks what the options need.
`

const NUMBERS = ['seconds', 'workloads', 'seed', 'workers', 'kill', 'states']
const TEXTS = ['replay', 'log', 'only', 'record', 'framing']
const SWITCHES = ['stop', 'planted', 'disk', 'help']
/** What goes with those options that say what to do instead. */
const INSTEAD = {
  kill: ['seed', 'log', 'framing'],
  planted: ['seed', 'only'],
  replay: ['log'],
  disk: ['seed', 'states', 'workers', 'only', 'log', 'stop', 'record', 'framing']
}

class UsageError extends Error {}

/**
 * @param {string[]} args
 * @returns {Record<string, any>}
 * @throws {UsageError}
 */
function parseArguments (args) {
  /** @type {Record<string, any>} */
  const options = {}
  for (let index = 0; index < args.length; index++) {
    const [, name = '', , inline] = /^--([a-z]+)(=(.*))?$/s.exec(args[index]) ?? []
    if (SWITCHES.includes(name) && inline === undefined) {
      options[name] = true
      continue
    }
    if (!NUMBERS.includes(name) && !TEXTS.includes(name)) throw new UsageError(`there is no option ${args[index]}`)
    const text = inline ?? args[++index]
    if (text === undefined || text === '' || text.startsWith('--')) throw new UsageError(`--${name} needs a value`)
    options[name] = NUMBERS.includes(name) ? parseNumber(name, text) : text
  }
  checkTogether(options)
  return options
}

/**
 * @param {string} name
 * @param {string} text
 */
function parseNumber (name, text) {
  const number = Number(text)
  const isFraction = name === 'seconds' && Number.isFinite(number)
  if (!/^\d/.test(text) || (!isFraction && !Number.isSafeInteger(number))) {
    throw new UsageError(`--${name} needs a number, got ${text}`)
  }
  if (number === 0 && !['seed', 'workers'].includes(name)) throw new UsageError(`--${name} must be above 0`)
  if (name === 'seed' && number >= 2 ** 32) throw new UsageError(`--seed must be below 2^32, got ${text}`)
  if (name === 'workers' && number > 64) throw new UsageError(`--workers must be at most 64, got ${text}`)
  return number
}

/** @param {Record<string, any>} options */
function checkTogether (options) {
  const given = Object.keys(options).filter((name) => name !== 'help')
  for (const [mode, others] of Object.entries(INSTEAD)) {
    if (options[mode] === undefined) continue
    const misfit = given.find((name) => name !== mode && !others.includes(name))
    if (misfit) throw new UsageError(`--${mode} and --${misfit} do not go together`)
  }
  if (options.only !== undefined && !options.planted && !options.disk) {
    throw new UsageError('--only is for --planted and --disk')
  }
  if (options.framing !== undefined && !(options.framing in FRAMINGS)) {
    throw new UsageError(`--framing must be ${Object.keys(FRAMINGS).join(' or ')}, got ${options.framing}`)
  }
  if (options.disk && options.only !== undefined && !/^\d+\.\d+(\.\d+)?$/.test(options.only)) {
    throw new UsageError(`--only needs history.generation.state, got ${options.only}`)
  }
  for (const name of ['states', 'record']) {
    if (options[name] !== undefined && !options.disk) throw new UsageError(`--${name} is for --disk`)
  }
  if (options.seconds !== undefined && options.workloads !== undefined) {
    throw new UsageError('--seconds and --workloads do not go together: each says when to end')
  }
  if (options.replay === undefined) return
  try {
    options.replay = fromLine(options.replay)
  } catch (err) {
    throw new UsageError(`--replay: ${/** @type {Error} */ (err).message}`)
  }
}

exports.HELP = HELP
exports.UsageError = UsageError
exports.parseArguments = parseArguments
