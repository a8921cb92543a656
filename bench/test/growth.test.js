'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { drawGrowth } = require('../limits/report')
const { grow } = require('../limits/rows/growth')
const { findLack } = require('../limits/rows/memory')
const { measureLog } = require('../limits/runners')
const { createFixedRow, makeResult } = require('./support/fixed-row')
const { createRunner, makeFolder } = require('./support')

const runLimits = createRunner('limits')

tape('growth: a log that has grown in steps holds what one that has grown at once holds', async (t) => {
  const folder = makeFolder(t)
  const [steps, once] = ['steps', 'once'].map((name) => path.join(folder, name))
  for (const size of [100e3, 400e3, 2e6]) await grow(steps, 'checked', size)
  await grow(once, 'checked', 2e6)
  const counts = await Promise.all([steps, once].map(async (file) => (await measureLog(file)).records))
  t.ok(Math.abs(counts[0] - counts[1]) <= 1000, `${counts}: not more than batches apart`)
  t.ok(fs.statSync(once).size >= 2e6)
})

tape('growth: too little room on the disk or in memory is said before anything is written', (t) => {
  t.equal(findLack('.', 1e6, 1e3), undefined)
  t.equal(findLack('.', 9e15, 1), '9000000 GB of memory')
  t.equal(findLack('.', 1, 9e15), '9000000 GB of room on the disk')
  t.end()
})

tape('growth: a log is measured at each size, beside the bare loop, and is gone afterwards', (t) => {
  const out = makeFolder(t)
  const names = ['scan', 'open', 'memory'].flatMap((panel) => ['10MB', '1GB'].map((size) => `${panel}-${size}`))
  const few = ['--runs', '1', '--samples', '1', '--records', '1000']
  const { stdout, stderr } = runLimits('--rows', names.join(','), ...few, '--out', out)
  t.ok(stdout.includes('written: '), stderr)
  t.deepEqual(fs.readdirSync(path.join(out, 'images')), ['growth.png', 'growth.svg'])
  t.deepEqual(fs.readdirSync(path.join(out, 'data', 'generated')), [])
  t.notOk(fs.existsSync(path.join(out, 'data', 'limits.csv')), 'other rows keep their figures')
  const csv = fs.readFileSync(path.join(out, 'data', 'growth.csv'), 'utf8')
  for (const name of names) t.ok(csv.includes(`\n${name},median,`), name)
  t.notOk(csv.includes(out), 'no path of this machine')
  t.end()
})

tape('growth chart: three panels with their units, sizes by name, and the bare loop', async (t) => {
  const facts = { machine: 'Some CPU, 2 cores, 24 GiB memory', node: 'v20.0.0' }
  const resultOf = (panel, framing, size) => {
    const row = createFixedRow({ name: panel, growth: { panel, framing, size } })
    const result = makeResult(row, [size / 1e6, size / 2e6])
    result.rounds[0].ours.answer = { records: size / 700 }
    return { ...result, setting: { size } }
  }
  const draw = (sizes) => drawGrowth(['checked', 'offset48'].flatMap((framing) => {
    return sizes.flatMap((size) => ['scan', 'open', 'memory'].map((panel) => resultOf(panel, framing, size)))
  }), facts)
  const svg = await draw([10e6, 100e6, 1e9, 10e9])
  for (const text of ['Millrace, checked', 'Millrace, offset48', 'bare loop', 'ns a record', 'ms', '10 MB', '100 MB', '1 GB', '10 GB',
    'size of the log', 'Some CPU']) {
    t.ok(svg.includes(`>${text}<`) || svg.includes(text), text)
  }
  // As in a short run, where the smallest logs have nearly the same size.
  const close = await draw([344e3, 391e3, 442e3, 2.26e6, 22.3e6])
  const names = [...close.matchAll(/<text x="([\d.]+)"[^>]*>([\d.]+ [KMG]B)</g)].map(([, x, name]) => ({ x: Number(x), name }))
  t.ok(names.length > 3 && names.some(({ name }) => name === '22 MB'))
  for (const [index, { x, name }] of names.entries()) {
    const before = names[index - 1]
    if (before && before.x < x) t.ok(x - before.x > 3.4 * (name.length + before.name.length), `${before.name} and ${name} stand apart`)
  }
  t.equal((svg.match(/class="panel"/g) ?? []).length, 3)
  t.notOk((await draw([10e6])).includes('NaN'))
  t.equal(await drawGrowth([makeResult(createFixedRow({ name: 'a' }), [1, 1])], facts), undefined)
})
