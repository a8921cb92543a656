'use strict'
// One log under bench-flumelog, in a process of its own.
// Usage: node child.js '{ "name", "file" }'; prints one line of JSON.

const { createRequire } = require('node:module')
const { answerOrder } = require('../lib/answer-order')
const { logs } = require('./logs')
const { measure } = require('./measure')

// Five cases of at most five seconds, and what stands between them.
const TIMEOUT_MS = 60_000

answerOrder(run)

/** @param {{ name: string, file: string }} order */
async function run ({ name, file }) {
  const log = logs.find((log) => log.name === name)
  if (!log) throw new Error(`there is no log ${name}`)
  await log.prepare?.(file)
  // What hangs in a log does not keep a process running: it would end without an answer.
  const timeout = setTimeout(() => {
    process.stderr.write(`did not come to its end within ${TIMEOUT_MS / 1000} s\n`)
    process.exit(1)
  }, TIMEOUT_MS)
  /** @type {any} */
  let opened
  const figures = await measure(createRequire(__filename)('bench-flumelog'), () => {
    opened = log.open(file)
    return opened
  })
  clearTimeout(timeout)
  if (log.package.startsWith('@millrace/')) await opened.close()
  // Some of the others have much to write still, and one has no close.
  else setImmediate(() => process.exit())
  return { figures }
}
