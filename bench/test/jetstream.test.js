'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { parseOptions } = require('../engine/command')
const { table } = require('../tables/jetstream')
const { makeFolder, runBench } = require('./support')

const SHEET = `# command: c
# machine: Some CPU, 2 cores
# node: v20
# packages: p 1
row,peer,at,run,figure,value
one-batch-1,millrace,,1,rate,100
one-batch-1,millrace,,2,rate,300
one-batch-1,bare,,1,rate,125
one-batch-1,bare,,2,rate,375
one-consume,millrace,,1,rate,5000
one-consume,bare,,1,rate,4000
`

tape('jetstream: the table and the chart are made from the CSV file', (t) => {
  const out = makeFolder(t)
  for (const name of ['data', 'docs/guides']) fs.mkdirSync(path.join(out, name), { recursive: true })
  fs.writeFileSync(path.join(out, 'data', 'jetstream.csv'), SHEET)
  const page = path.join(out, 'docs', 'guides', 'scale.md')
  fs.writeFileSync(page, 'before\n<!-- figures: jetstream -->\nold\n<!-- figures end -->\nafter\n')
  const { status, stdout, stderr } = runBench('jetstream', '--draw', '--out', out)
  t.equal(status, 0, stderr)
  t.ok(/one server, synced every two minutes +one by one +250 +200 +0\.80×/.test(stdout), stdout)
  t.ok(/consume +4,000 +5,000 +1\.25×/.test(stdout), stdout)
  t.ok(/^before\n<!-- figures: jetstream -->\n\n\| records[^]*1\.25×[^]*<!-- figures end -->\nafter\n$/.test(fs.readFileSync(page, 'utf8')))
  t.deepEqual(fs.readdirSync(path.join(out, 'images')), ['jetstream.png', 'jetstream.svg'])
  t.end()
})

tape('jetstream: a site stands for its rows, and an unknown row is refused', (t) => {
  t.equal(parseOptions(table, ['--rows', 'three-synced']).rows.length, 5)
  t.equal(runBench('jetstream', '--rows', 'nothing').status, 2)
  t.end()
})
