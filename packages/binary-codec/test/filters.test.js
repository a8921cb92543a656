'use strict'

const tape = require('tape')
const { inQuickRuns } = require('@millrace/testkit')
const { runBinaryFilterCases } = require('./filter-cases')

tape('filters: every operator answers as decoding and comparing does, one by one and among many', (t) => {
  const { failure, cases, hits, refused, seed } = runBinaryFilterCases({ cases: inQuickRuns(40_000) })
  t.equal(failure, null, `seed ${seed}`)
  t.ok(hits > cases / 20, `${hits} of ${cases} fulfilled their filters`)
  t.ok(refused > cases / 100, `${refused} do not decode`)
  t.end()
})
