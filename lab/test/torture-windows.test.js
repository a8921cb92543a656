'use strict'
// The torture under the rules of Windows, simulated.

const path = require('node:path')
const tape = require('tape')
const { isLongRun } = require('@millrace/testkit')
const { runTorture } = require('../torture/run-torture')

const WINDOWS_LOG = path.join(__dirname, '..', 'torture', 'windows')
const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31

tape(`torture, as on Windows (seed ${seed})`, async (t) => {
  const options = { seed, workloads: isLongRun ? 60 : 10, workers: 1, logModule: WINDOWS_LOG }
  const { figures, failures } = await runTorture(options)
  t.deepEqual(failures, [])
  t.comment(`${figures.distinct} distinct images`)
})
