'use strict'

const tape = require('tape')
const { inQuickRuns } = require('@millrace/testkit')
const { FILTER_COUNT, runWhereCases } = require('./where-cases')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31

tape(`where: forward, in reverse, live and in partitions it is what decoding and comparing gives (seed ${seed})`, async (t) => {
  const { logs, pairs, hits, failures } = await runWhereCases({ pairs: inQuickRuns(300_000), seed })
  t.deepEqual(failures, [])
  t.ok(logs >= 3, 'one of each codec')
  t.ok(hits >= logs * FILTER_COUNT / 2, `${hits} hits of ${pairs} pairs`)
})
