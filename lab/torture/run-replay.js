'use strict'
// Runs one failing case again, and tells what was asked, promised, kept and found.

const { Environment } = require('./environment')
const { Guard } = require('./guard')
const { replay } = require('./replay')

/**
 * @param {import('./replay').Case} failing
 * @param {string} logModule
 * @returns {Promise<boolean>}  whether it still fails
 */
async function runReplay (failing, logModule) {
  const { OffsetLog } = require(logModule)
  const environment = new Environment()
  const guard = new Guard()
  environment.install()
  guard.install()
  let violation
  try {
    violation = await replay(failing, { OffsetLog, environment, guard, trace: (line) => console.log(line()) })
  } finally {
    guard.restore()
    environment.restore()
  }
  console.log(violation ? `FAILED  ${violation.kind}: ${violation.message}` : 'all is as promised')
  return violation !== null
}

exports.runReplay = runReplay
