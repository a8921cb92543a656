'use strict'

const tape = require('tape')
const { inQuickRuns } = require('@millrace/testkit')
const { runWhereCases } = require('./where-cases')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31

tape(`where: forward, in reverse, live and in partitions it is what decoding and comparing gives (seed ${seed})`, async (t) => {
  const { pairs, hits, failures } = await runWhereCases({ pairs: inQuickRuns(100_000), seed })
  t.deepEqual(failures, [])
  t.ok(hits > pairs / 100, `${hits} hits of ${pairs} pairs`)
})
