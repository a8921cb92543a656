'use strict'

const tape = require('tape')
const { inQuickRuns } = require('@millrace/testkit')
const { runJsonFilterCases } = require('./filter-cases')

tape('filters: every operator answers as parsing and comparing does, one by one and among many', (t) => {
  const { failure, cases, hits, refused, seed } = runJsonFilterCases({ cases: inQuickRuns(40_000) })
  t.equal(failure, null, `seed ${seed}`)
  t.ok(hits > cases / 20, `${hits} of ${cases} fulfilled their filters`)
  t.ok(refused > cases / 100, `${refused} are no JSON`)
  t.end()
})
