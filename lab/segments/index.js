'use strict'
// The crash test of segments for as long as you like: simulated power cuts and kills before the steps of appending,
// rolling, deleting, dropping, compressing and inflating; or a real ext4.

const path = require('node:path')
const { createRandom } = require('@millrace/testkit')
const { SEED, UsageError, newSeed, runCommand } = require('../command')
const { runDisk } = require('../torture/disk')
const { checkState } = require('../torture/options')
const { runRound } = require('./crash-story')

const SUBJECT = path.join(__dirname, 'disk', 'index.js')
const SECONDS = 600
const STATES = 500
/** The options that do not go with --disk. */
const SIMULATED = ['seconds', 'windows']

/** @param {{ seconds: number, seed: number, isWindows?: boolean }} options */
async function torture ({ seconds, seed, isWindows }) {
  console.log(`seed ${seed}, ${seconds} seconds`)
  const random = createRandom(seed)
  const endMs = performance.now() + 1000 * seconds
  let imageCount = 0
  let faultCount = 0
  for (let round = 1; performance.now() < endMs; round++) {
    const result = await runRound(random, { imageEvery: isWindows ? 8 : 1, isWindows })
    imageCount += result.imageCount
    faultCount += result.faults.length
    for (const fault of result.faults) console.log(`round ${round}: ${fault}`)
  }
  console.log(`${imageCount} crashes, ${faultCount} faults`)
  return faultCount > 0
}

runCommand({
  name: 'torture:segments',
  run: 'npm run torture:segments --',
  about: 'Cuts the power and kills the process while segments are appended, rolled, deleted, dropped, compressed and inflated.',
  options: {
    seconds: { kind: 'number', about: `how long, ${SECONDS} by default` },
    windows: { kind: 'switch', about: 'under the rules of Windows: no file is replaced or removed while it is open' },
    seed: SEED,
    disk: {
      kind: 'switch',
      about: 'runs on a real ext4 instead, on disks that lose unflushed bytes and fail for a moment; needs Linux, root, FUSE and loop devices'
    },
    states: { kind: 'integer', about: `with --disk: how many states to examine, ${STATES} by default` },
    workers: { kind: 'integer', about: 'with --disk: lanes, 2 by default' },
    stop: { kind: 'switch', about: 'with --disk: ends at the first failure' },
    only: { about: 'with --disk: the states of history.generation, or the one state history.generation.state' },
    record: { about: 'with --disk: examines again the files that a failure left in this folder' },
    log: { about: 'with --disk: the folder of the package to load instead of the one that ships' }
  },
  check ({ seed, disk, ...values }) {
    const misfit = Object.keys(values).find((name) => Boolean(disk) === SIMULATED.includes(name))
    if (misfit) throw new UsageError(`--${misfit} is for the torture ${disk ? 'without' : 'with'} --disk`)
    checkState(values)
  }
}, async ({ disk, windows: isWindows, seconds = SECONDS, seed = newSeed(), log, ...values }) => {
  if (!disk) return torture({ seconds, seed, isWindows })
  const logModule = log && path.resolve(log)
  const given = /** @type {any} */ ({ states: STATES, workers: 2, seed, ...values })
  const { failures } = await runDisk({ subject: SUBJECT, logModule, ...given })
  return failures.length > 0
})
