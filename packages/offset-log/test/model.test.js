'use strict'
// A log against a plain array, a short run; model/index.js makes long ones.

const fc = require('fast-check')
const tape = require('tape')
const { inQuickRuns } = require('@millrace/testkit')
const { runs } = require('./model/commands')
const { ModelRun } = require('./model/model-run')

tape('model: whatever is done to a log, it is what a plain array would be', async (t) => {
  const seed = Date.now() % 2 ** 31
  const property = fc.asyncProperty(runs, (run) => new ModelRun(run).run())
  await fc.assert(property, { numRuns: inQuickRuns(400), seed })
  t.pass(`seed ${seed}`)
})
