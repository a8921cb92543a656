'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { table: { groups: [{ rows }], peers } } = require('../tables/index')
const { makeFolder, runBench } = require('./support')

tape('index: every peer and every goal of a row is one that it measures', (t) => {
  const known = peers.map(({ name }) => name)
  for (const { name, peers: own, figures: [{ by, goal: { times = [], within = [], above = [] } }] } of rows) {
    const named = [by, ...Object.keys(own), ...[...times, ...within, ...above].map(({ of }) => of)]
    t.ok(named.every((peer) => known.includes(peer) && own[peer]), name)
  }
  t.end()
})

tape('index: a log with an index and one without give the same answers, in both codecs', (t) => {
  const out = makeFolder(t)
  const names = ['equal', 'newest-two', 'times', 'size', 'append-if']
  const few = ['--records', '2000', '--runs', '1', '--samples', '0', '--peers', 'millrace,json,scan']
  const { stdout, stderr } = runBench('index', '--rows', names.join(','), ...few, '--out', out)
  t.ok(stdout.includes('written: '), stderr)
  const csv = fs.readFileSync(path.join(out, 'data', 'index.csv'), 'utf8')
  for (const name of names) t.ok(csv.includes(`\n${name},millrace,,1,`), name)
  t.notOk(csv.includes(out), 'no path of this machine')
  t.end()
})
