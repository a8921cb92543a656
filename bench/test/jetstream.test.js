'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { parseOptions } = require('../jetstream')
const { createRunner, makeFolder } = require('./support')

const runJetstream = createRunner('jetstream')
const SHEET = `# command: c
# machine: Some CPU, 2 cores
# node: v20
# packages: p 1
row,peer,run,rate
one-batch-1,millrace,1,100
one-batch-1,millrace,2,300
one-batch-1,bare,1,250
one-consume,millrace,1,5000
one-consume,bare,1,4000
`

tape('jetstream: the table and the chart are made from the CSV file', (t) => {
  const out = makeFolder(t)
  for (const name of ['data', 'docs/guides']) fs.mkdirSync(path.join(out, name), { recursive: true })
  fs.writeFileSync(path.join(out, 'data', 'jetstream.csv'), SHEET)
  const page = path.join(out, 'docs', 'guides', 'scale.md')
  fs.writeFileSync(page, 'before\n<!-- figures: jetstream -->\nold\n<!-- figures end -->\nafter\n')
  const { status, stdout, stderr } = runJetstream('--draw', '--out', out)
  t.equal(status, 0, stderr)
  t.ok(/\| one server, synced every two minutes \| one by one \| 200 \| 250 \| 0\.80x \|/.test(stdout), stdout)
  t.ok(/\| consume \| 5,000 \| 4,000 \| 1\.25x \|/.test(stdout), stdout)
  t.ok(/^before\n<!-- figures: jetstream -->\n\n\| records[^]*1\.25x[^]*<!-- figures end -->\nafter\n$/.test(fs.readFileSync(page, 'utf8')))
  t.deepEqual(fs.readdirSync(path.join(out, 'images')), ['jetstream.png', 'jetstream.svg'])
  t.end()
})

tape('jetstream: a site stands for its rows, and an unknown row is refused', (t) => {
  t.equal(parseOptions(['--rows', 'three-synced']).rows.length, 5)
  t.equal(runJetstream('--rows', 'nothing').status, 2)
  t.end()
})
