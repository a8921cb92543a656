'use strict'
// The options of the fuzzer.

const { SEED, UsageError } = require('../command')
const { fromLine, LineError } = require('./replay')
const { targets } = require('./targets')

const NAMES = targets.map(({ name }) => name)

/** @type {(target: { name: string, count: number }) => [string, import('../command').Option]} */
const toOption = ({ name, count }) => {
  return [name, { kind: 'integer', min: 0, about: `how many cases of ${name}, ${count.toLocaleString('en')} by default` }]
}

/** @param {Record<string, any>} values */
function check (values) {
  if (values.replay === undefined) return
  try {
    values.replay = fromLine(values.replay)
  } catch (err) {
    if (err instanceof LineError) throw new UsageError(`--replay: ${err.message}`)
    throw err
  }
}

/**
 * How many cases of each target.
 * @param {Record<string, any>} values
 * @returns {Record<string, number>}  those that are not in it have their own number
 */
function countCases (values) {
  /** @type {Record<string, number>} */
  const counts = {}
  for (const name of NAMES) {
    // With a time, as many as it allows.
    const count = values.only !== undefined && name !== values.only ? 0 : values[name] ?? (values.seconds && Infinity)
    if (count !== undefined) counts[name] = count
  }
  return counts
}

/** @type {import('../command').Command} */
const command = {
  name: 'fuzz',
  run: 'npm run fuzz --',
  about: 'Gives hostile bytes to every reader of bytes. Ctrl-C ends it after the current batches.',
  options: {
    ...Object.fromEntries(targets.map(toOption)),
    only: { oneOf: NAMES, about: `only these: ${NAMES.join(', ')}` },
    seconds: { kind: 'number', about: 'ends after this time, even if cases are left' },
    seed: SEED,
    workers: { kind: 'integer', min: 0, max: 64, about: 'threads, as many as there are cores by default; 0 for none' },
    replay: { about: 'repeats a failure from the line that it printed, and prints every step' },
    root: { about: 'the repository to fuzz instead of this one' }
  },
  check
}

exports.command = command
exports.countCases = countCases
