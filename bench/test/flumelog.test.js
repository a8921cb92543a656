'use strict'

const fs = require('node:fs')
const path = require('node:path')
const pull = require('pull-stream')
const tape = require('tape')
const { logs } = require('../flumelog/logs')
const { measure, parseLine } = require('../flumelog/measure')
const { formatCsv, formatTable } = require('../flumelog/report')
const { createRunner, makeFolder } = require('./support')

const runFlumelog = createRunner('flumelog')

/** Figures of one run, all with the same rate. */
function makeRun (opsPerSecond) {
  return ['append', 'stream', 'stream no cache', 'stream10', 'random'].map((name) => {
    return { name, opsPerSecond, mbPerSecond: 1, ops: 10, mb: 1, seconds: 1 }
  })
}

tape('flumelog measure: takes the figures from what the bench prints, until its last case, and prints the rest', async (t) => {
  const lines = ['name, ops/second, mb/second, ops, total-mb, seconds', 'append, 10.5, 1.25, 21, 2.5, 2', 'a word',
    'stream no cache, NaN, NaN, 0, 0, 0', 'random, 3, 1, 6, 2, 2.001']
  let opened = null
  const figures = await measure((createLog) => {
    opened = createLog()
    for (const line of lines) console.log(line)
  }, () => 'a log')
  t.equal(opened, 'a log')
  t.deepEqual(figures.map(({ name }) => name), ['append', 'stream no cache', 'random'])
  t.deepEqual(figures[0], { name: 'append', opsPerSecond: 10.5, mbPerSecond: 1.25, ops: 21, mb: 2.5, seconds: 2 })
  t.equal(parseLine('a, b, c'), null)
})

tape('flumelog report: a peer that failed is absent with the reason, and every run is in the CSV file', (t) => {
  const [ours, , peer] = logs
  const results = [
    { log: ours, runs: [makeRun(100_000), makeRun(300_000)], failure: null },
    { log: peer, runs: [], failure: 'the child exited with 1: it is made of cheese' }
  ]
  const table = formatTable(results)
  t.ok(/^checked +200 \(100-300\) /m.test(table), table)
  t.ok(/^flumelog-offset +- +- /m.test(table), table)
  t.ok(table.includes('absent: flumelog-offset: the child exited with 1: it is made of cheese'))
  const csv = formatCsv(results, { command: 'c', machine: 'm', node: 'n', packages: 'p' })
  const [heads, ...rows] = csv.trim().split('\n').filter((line) => !line.startsWith('#'))
  t.equal(rows.length, 10)
  t.equal(heads.split(',').length, rows[0].split(',').length)
  t.equal(rows[5], 'checked,2,append,300000,1,10,1,1')
  t.ok(csv.includes('# absent: flumelog-offset'))
  t.end()
})

tape('flumelog logs: every one of them appends, streams records under the seqs that get knows, and shows bytes', async (t) => {
  for (const { name, open } of logs) {
    const log = open(path.join(makeFolder(t), 'log'))
    await new Promise((resolve) => log.since.once(resolve))
    const values = ['one', 'two', 'three'].map((text) => Buffer.from(text))
    for (const value of values) await new Promise((resolve) => log.append(value, resolve))
    // Not all have written by then.
    if (log.onDrain) await new Promise((resolve) => log.onDrain(resolve))
    const items = await new Promise((resolve) => {
      pull(log.stream(), pull.collect((err, items) => resolve(err ?? items)))
    })
    t.deepEqual(items.map(({ value }) => String(value)), ['one', 'two', 'three'], name)
    const got = await new Promise((resolve) => log.get(items[1].seq, (err, value) => resolve(err ?? value)))
    t.equal(String(got), 'two')
    if (log.close) await new Promise((resolve) => log.close(resolve))
  }
})

tape('flumelog options: wrong ones are refused with one line and exit code 2; all are in --help', (t) => {
  for (const argv of [['--log', 'x'], ['stray'], ['--logs', 'nosuch'], ['--logs', ''], ['--runs', '0'], ['--out', '']]) {
    const { status, stdout, stderr } = runFlumelog(...argv)
    t.deepEqual([status, stdout], [2, ''], argv.join(' '))
    t.ok(/^bench:flumelog: .*\n$/.test(stderr), stderr)
  }
  const { status, stdout } = runFlumelog('--help')
  t.equal(status, 0)
  const readme = fs.readFileSync(path.join(__dirname, '..', 'README.md'), 'utf8')
  t.ok(readme.includes('npm run bench:flumelog'))
  for (const name of ['logs', 'runs', 'out', 'help']) t.ok(stdout.includes(`--${name}`), name)
  for (const { name } of logs) t.ok(stdout.includes(name) && readme.includes(`\`${name}\``), name)
  t.end()
})
