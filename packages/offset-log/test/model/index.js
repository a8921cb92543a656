'use strict'
// Drives logs against a plain array.
// Usage: node packages/offset-log/test/model/index.js [--runs 100000] [--seed N] [--path P]

const { parseArgs } = require('node:util')
const fc = require('fast-check')
const { runs } = require('./commands')
const { ModelRun } = require('./model-run')

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    path: { type: 'string' }
  }
})
const [numRuns, seed] = [Number(values.runs), Number(values.seed)]
let commandCount = 0
const property = fc.asyncProperty(runs, async (run) => {
  commandCount += run.commands.length
  await new ModelRun(run).run()
})
fc.assert(property, { numRuns, seed, path: values.path, endOnFailure: values.path !== undefined }).then(() => {
  console.log(`model: ${numRuns} sequences, ${commandCount} commands, 0 differences; seed ${seed}`)
}, (err) => {
  console.log(`FAILED  ${err.message}\n${err.cause?.stack ?? ''}`)
  process.exitCode = 1
})
