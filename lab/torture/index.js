'use strict'
// The torture's command line. Usage: npm run torture -- --help

const fs = require('node:fs')
const path = require('node:path')
const { UsageError, runCommand } = require('../command')
const { runDisk } = require('./disk')
const { command } = require('./options')
const { MisfitError } = require('./replay')
const { printFailure, printFigures } = require('./report')
const { OFFSET_LOG, runTorture } = require('./run-torture')

/** What --disk tortures. @type {Record<string, string>} */
const SUBJECTS = { lines: path.join(__dirname, 'disk', 'lines.js') }

runCommand(command, async (values) => {
  try {
    return await main(values)
  } catch (err) {
    throw err instanceof MisfitError ? new UsageError(err.message) : err
  }
})

/**
 * @param {Record<string, any>} values
 * @returns {Promise<boolean>}  whether anything failed
 */
async function main ({ replay, kill, planted, disk, only, log, stop, states, record, ...others }) {
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
