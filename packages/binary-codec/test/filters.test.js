'use strict'

const tape = require('tape')
const { inQuickRuns } = require('@millrace/testkit')
const { binaryCodec, encode } = require('..')
const { runBinaryFilterCases } = require('./filter-cases')

tape('filters: every operator answers as decoding and comparing does, one by one and among many', (t) => {
  const { failure, cases, hits, refused, seed } = runBinaryFilterCases({ cases: inQuickRuns(40_000) })
  t.equal(failure, null, `seed ${seed}`)
  t.ok(hits > cases / 20, `${hits} of ${cases} fulfilled their filters`)
  t.ok(refused > cases / 100, `${refused} do not decode`)
  t.end()
})

tape('filters: of alternatives one of which has no search, each record is tested', (t) => {
  const isWanted = binaryCodec.compile({ any: [{ path: 'a', includes: 0 }, { path: 'b', equals: 'x' }] })
  const bytes = encode({ a: [0] })
  t.ok(isWanted(bytes, 0, bytes.length))
  const count = 20
  const starts = Uint32Array.from({ length: count }, (_, index) => index * bytes.length)
  const ends = starts.map((start) => start + bytes.length)
  const records = { count, buffer: Buffer.concat(Array(count).fill(bytes)), starts, ends }
  t.equal(isWanted.select(records, new Uint32Array(count)), count)
  t.end()
})
