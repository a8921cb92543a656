'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { Results } = require('../engine/results')
const { table } = require('../tables/growth')
const { grow } = require('../tables/growth/rows')
const { findLack } = require('../tables/limits/rows/memory')
const { measureLog } = require('../tables/limits/runners')
const { makeFolder, runBench } = require('./support')

const [{ rows }] = table.groups

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
  t.equal(findLack('.', 9e15, 1), '9000 TB of memory')
  t.equal(findLack('.', 1, 9e15), '9000 TB of room on the disk')
  t.end()
})

tape('growth: 24 rows, each with a name of its own; a log is gone before the next one is made', (t) => {
  t.equal(new Set(rows.map(({ name }) => name)).size, 24)
  t.equal(new Set(rows.map(({ stage }) => stage)).size, 8)
  t.end()
})

tape('growth: a log is measured at each size, and is gone afterwards', (t) => {
  const out = makeFolder(t)
  const names = ['scan', 'open', 'memory'].flatMap((panel) => ['10MB', '1GB'].map((size) => `${panel}-${size}`))
  const few = ['--runs', '1', '--samples', '1', '--largest', '30']
  const { stdout, stderr } = runBench('growth', '--rows', names.join(','), ...few, '--out', out)
  t.ok(stdout.includes('written: '), stderr)
  t.deepEqual(fs.readdirSync(path.join(out, 'images')), ['growth.png', 'growth.svg'])
  t.deepEqual(fs.readdirSync(path.join(out, 'data')), ['growth.csv'])
  const csv = fs.readFileSync(path.join(out, 'data', 'growth.csv'), 'utf8')
  for (const name of names) t.ok(csv.includes(`\n${name},millrace,,1,`), name)
  const sizes = [...csv.matchAll(/,size,(\d+)/g)].map(([, size]) => Number(size))
  t.ok(sizes.every((size) => size >= 30e3 && size < 4e6), `${sizes}`)
  t.notOk(csv.includes(out), 'no path of this machine')
  t.end()
})

const SIZES = { '10 MB': 10e6, '100 MB': 100e6, '1 GB': 1e9, '10 GB': 10e9 }

/** Results of the rows whose logs have these sizes: `take` gives the runs of one peer of one row. */
function makeResults (sizes, take) {
  return new Results(rows.flatMap(({ name, panel, framing, peers }) => {
    const [, size] = Object.entries(sizes).find(([label]) => name.endsWith(`-${label.replace(' ', '')}`)) ?? []
    if (size === undefined) return []
    return Object.keys(peers).flatMap((peer) => take({ panel, framing, size }).map((value, index) => {
      return { row: name, peer, run: index + 1, figures: { [panel === 'memory' ? 'bytes' : 'ms']: value, size } }
    }))
  }))
}

/** A scan takes as long as its log is large, and all else the same. */
const takeSteady = ({ panel, size }) => [1, 1.2].map((share) => share * (panel === 'scan' ? size / 1e6 : panel === 'open' ? 1 : 20e6))
const facts = { machine: 'Some CPU, 2 cores, 24 GiB memory', node: 'v20.0.0' }
const wordsOf = (svg) => [...svg.matchAll(/<text[^>]*>(.*?)<\/text>/g)].map(([, text]) => text.replace(/<[^>]*>/g, ' ')).join(' ').replace(/\s+/g, ' ')

tape('growth chart: three panels with their units, sizes by name, and what the title says is in them', async (t) => {
  const svg = await table.charts.growth(makeResults(SIZES, takeSteady), { rows, facts })
  const words = wordsOf(svg)
  for (const text of ['A log of 10 MB to 10 GB opens in 1.1 ms; a scan takes 22 MB', 'Millrace, checked', 'Millrace, offset48',
    'bare loop', 'seconds for each GB', 'ms', '10 MB', '100 MB', '1 GB', '10 GB', 'size of the log', 'Some CPU']) {
    t.ok(words.includes(text), text)
  }
  t.equal((svg.match(/class="panel"/g) ?? []).length, 3)
  const one = await table.charts.growth(makeResults({ '10 MB': 10e6 }, takeSteady), { rows, facts })
  t.notOk(/NaN|Infinity|undefined/.test(one))
  t.equal(await table.charts.growth(new Results([]), { rows, facts }), undefined)
})

tape('growth chart: the names of sizes stand apart where logs have nearly the same size', async (t) => {
  const close = { '10 MB': 344e3, '100 MB': 391e3, '1 GB': 2.26e6, '10 GB': 22.3e6 }
  const svg = await table.charts.growth(makeResults(close, takeSteady), { rows, facts })
  const names = [...svg.matchAll(/translate\(([\d.]+),0\)"><line[^>]*><text[^>]*>([\d.]+ [KMG]B)</g)].map(([, x, name]) => ({ x: Number(x), name }))
  t.ok(names.length > 3 && names.some(({ name }) => name === '22 MB'))
  for (const [index, { x, name }] of names.entries()) {
    const before = names[index - 1]
    if (before && before.x < x) t.ok(x - before.x > 3.4 * (name.length + before.name.length), `${before.name} and ${name}`)
  }
})

tape('growth chart: what differs by less than its runs do is no growth, and what does not is said', async (t) => {
  const isSlow = ({ panel, framing, size }) => panel === 'open' && framing === 'checked' && size === 10e9
  const takeGrowing = (one) => takeSteady(one).map((value) => isSlow(one) ? 3 * value : value)
  const words = wordsOf(await table.charts.growth(makeResults({ '10 MB': 10e6, '10 GB': 10e9 }, takeGrowing), { rows, facts }))
  t.ok(words.includes('so no growth is seen: scan of checked, scan of offset48, scan of the bare loop, open of offset48, memory of checked'), words)
  t.ok(words.includes('takes so many times as much: open of checked 3.0×.'), words)
})

tape('growth: an index is measured in a file and in segments, and answers in both', (t) => {
  const out = makeFolder(t)
  const [, { rows }] = table.groups
  const names = rows.map(({ name }) => name).filter((name) => !/build|count/.test(name))
  const { stdout, stderr } = runBench('growth', '--rows', names.join(','), '--largest', '60', '--runs', '1', '--out', out)
  for (const name of names) t.ok(stdout.includes(name), `${name} ${stderr}`)
  const csv = fs.readFileSync(path.join(out, 'data', 'growth.csv'), 'utf8')
  for (const name of names) t.ok(csv.includes(`\n${name},millrace,,1,`), name)
  t.end()
})
