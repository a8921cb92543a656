'use strict'
// The torture's command line. Usage: npm run torture -- --help

const fs = require('node:fs')
const path = require('node:path')
const { UnableError, runDisk } = require('./disk')
const { HELP, UsageError, parseArguments } = require('./options')
const { MisfitError } = require('./replay')
const { printFailure, printFigures } = require('./report')
const { OFFSET_LOG, runTorture } = require('./run-torture')

/** What --disk tortures. @type {Record<string, string>} */
const SUBJECTS = { lines: path.join(__dirname, 'disk', 'lines.js') }

main(process.argv.slice(2)).then((hasFailed) => {
  process.exitCode = hasFailed ? 1 : 0
}, (err) => {
  if (err instanceof UnableError) {
    console.error(`torture: ${err.message}`)
    process.exitCode = 3
    return
  }
  const isUsage = err instanceof UsageError || err instanceof MisfitError
  console.error(isUsage ? `torture: ${err.message}; --help lists the options` : err)
  process.exitCode = isUsage ? 2 : 1
})

/**
 * @param {string[]} args
 * @returns {Promise<boolean>}  whether anything failed
 */
async function main (args) {
  const { help, replay, kill, planted, disk, only, log, stop, states, record, ...others } = parseArguments(args)
  if (help) {
    process.stdout.write(HELP)
    return false
  }
  const logModule = log === undefined ? OFFSET_LOG : path.resolve(log)
  if (!fs.existsSync(logModule)) throw new UsageError(`--log: there is no ${logModule}`)
  const { framing } = others
  if (kill) {
    const options = { rounds: kill, logModule, framing, ...seedOf(others) }
    return hasFailures(await require('./kill').runKill(options))
  }
  if (planted) return hasFailures(await require('./planted').runPlanted({ only, ...seedOf(others) }))
  if (disk) {
    const options = { subject: SUBJECTS[framing], states, only, record, logModule, stop, ...others }
    return hasFailures(await runDisk(options))
  }
  if (replay) return require('./run-replay').runReplay(replay, logModule)
  const result = await runTorture({ framing: 'both', ...others, logModule, stopAtFailure: stop, onFailure: printFailure })
  printFigures(result.figures)
  return hasFailures(result)
}

/** @param {{ seed?: number }} options */
function seedOf ({ seed }) {
  return seed === undefined ? {} : { seed }
}

/** @param {{ failures: unknown[] }} result */
function hasFailures ({ failures }) {
  return failures.length > 0
}
