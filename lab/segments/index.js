'use strict'
// The crash test for as long as you like: simulated power cuts and kills before the steps of appending, rolling,
// deleting, dropping, compressing and inflating. Usage: npm run torture:segments -- [--seconds 600] [--seed 1]
// With --windows, under the rules of Windows: no file is replaced or removed while it is open.
//
// With --disk: a real ext4 on disks that lose unflushed bytes and fail for a moment. It needs Linux, root, FUSE and
// loop devices; if they are missing, it ends with 3. Options: --states 500, --seed, --workers 2, --stop, and --only
// and --record as a failure prints them; --log is the package to load instead of the one that ships.

const path = require('node:path')
const { parseArgs } = require('node:util')
const { createRandom } = require('@millrace/testkit')
const { UnableError, runDisk } = require('../torture/disk')
const { runRound } = require('./crash-story')

const SUBJECT = path.join(__dirname, 'disk', 'index.js')
const NUMBERS = ['seconds', 'seed', 'states', 'workers']
const STATES = 500

async function main () {
  const { disk, windows, stop, only, record, log, ...numbers } = parseOptions()
  if (!disk) return torture(/** @type {any} */ ({ seconds: 600, isWindows: windows, ...numbers }))
  const logModule = log && path.resolve(log)
  const given = { states: STATES, workers: 2, ...numbers, only, record, logModule, stop }
  const { failures } = await runDisk({ subject: SUBJECT, ...given })
  process.exitCode = failures.length > 0 ? 1 : 0
}

function parseOptions () {
  const texts = Object.fromEntries([...NUMBERS, 'only', 'record', 'log'].map((name) => [name, { type: 'string' }]))
  const switches = Object.fromEntries(['disk', 'windows', 'stop'].map((name) => [name, { type: 'boolean' }]))
  const { values } = parseArgs({ options: /** @type {any} */ ({ ...texts, ...switches }) })
  const { disk, windows, stop, only, record, log, ...others } = /** @type {any} */ (values)
  const simulated = ['seconds', 'windows']
  const misfit = Object.keys(values).find((name) => name !== 'seed' && Boolean(disk) === simulated.includes(name))
  if (misfit) throw new Error(`--${misfit} is for the torture ${disk ? 'without' : 'with'} --disk`)
  if (only !== undefined && !/^\d+\.\d+(\.\d+)?$/.test(only)) throw new Error(`--only needs history.generation.state, got ${only}`)
  /** @type {Record<string, number>} */
  const numbers = { seed: Date.now() % 2 ** 31 }
  for (const [name, text] of Object.entries(others)) {
    numbers[name] = Number(text)
    const isWrong = name === 'seed' ? !Number.isSafeInteger(numbers[name]) : !(numbers[name] > 0)
    if (isWrong) throw new Error(`--${name} needs a number, got ${text}`)
  }
  return { disk, windows, stop, only, record, log, ...numbers }
}

/** @param {{ seconds: number, seed: number, isWindows: boolean }} options */
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
  process.exitCode = faultCount > 0 ? 1 : 0
}

main().catch((err) => {
  console.error(`torture: ${err.message}`)
  process.exitCode = err instanceof UnableError ? 3 : 2
})
