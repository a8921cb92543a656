'use strict'
// The options of the torture, and which go together.

const { SEED, UsageError } = require('../command')
const { FRAMINGS } = require('./framings')
const { fromLine } = require('./replay')

/** What goes with those options that say what to do instead. @type {Record<string, string[]>} */
const INSTEAD = {
  kill: ['seed', 'log', 'framing'],
  planted: ['seed', 'only'],
  replay: ['log'],
  disk: ['seed', 'states', 'workers', 'only', 'log', 'stop', 'record', 'framing']
}

/** @param {Record<string, any>} values */
function check (values) {
  const given = Object.keys(values)
  for (const [mode, others] of Object.entries(INSTEAD)) {
    if (values[mode] === undefined) continue
    const misfit = given.find((name) => name !== mode && !others.includes(name))
    if (misfit) throw new UsageError(`--${mode} and --${misfit} do not go together`)
  }
  if (values.only !== undefined && !values.planted && !values.disk) throw new UsageError('--only is for --planted and --disk')
  if (values.disk) checkState(values)
  for (const name of ['states', 'record']) {
    if (values[name] !== undefined && !values.disk) throw new UsageError(`--${name} is for --disk`)
  }
  if (values.seconds !== undefined && values.workloads !== undefined) {
    throw new UsageError('--seconds and --workloads do not go together: each says when to end')
  }
  if (values.replay === undefined) return
  try {
    values.replay = fromLine(values.replay)
  } catch (err) {
    throw new UsageError(`--replay: ${/** @type {Error} */ (err).message}`)
  }
}

/** Of a torture on disks. @param {Record<string, any>} values */
function checkState ({ only }) {
  if (only === undefined || /^\d+\.\d+(\.\d+)?$/.test(only)) return
  throw new UsageError(`--only needs history.generation.state, got ${only}`)
}

/** @type {import('../command').Command} */
const command = {
  name: 'torture',
  run: 'npm run torture --',
  about: 'Tortures the log: cuts the power and kills the process at every moment, and checks each promise.',
  options: {
    seconds: { kind: 'number', about: 'how long, 60 by default' },
    workloads: { kind: 'integer', about: 'how many workloads to run instead; the same seed and number give the same images' },
    seed: SEED,
    framing: {
      oneOf: Object.keys(FRAMINGS),
      about: `of the logs: ${Object.keys(FRAMINGS).join(' or ')}; by default both in turn. With --kill and --disk, checked by default`
    },
    workers: { kind: 'integer', min: 0, max: 64, about: 'threads, 2 by default; 0 for none' },
    stop: { kind: 'switch', about: 'ends at the first failure' },
    replay: { about: 'repeats a failure from the line that it printed, and prints every step' },
    log: { about: 'the folder of the package to load instead of the one that ships' },
    kill: { kind: 'integer', about: 'kills so many real processes instead, with SIGKILL' },
    planted: { kind: 'switch', about: 'plants bugs in copies of the source instead, and checks that they are found' },
    disk: {
      kind: 'switch',
      about: 'runs on a real ext4 instead, on disks that lose unflushed bytes and fail for a moment; needs Linux, root, FUSE and loop devices'
    },
    states: { kind: 'integer', about: 'how many states of these disks to examine, 2,000 by default' },
    record: { about: 'examines again the files that a failure of --disk left in this folder' },
    only: {
      about: 'with --planted: the bugs with this in their names; with --disk: the states of history.generation, or the one state history.generation.state'
    }
  },
  check
}

exports.checkState = checkState
exports.command = command
