'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { isLongRun } = require('@millrace/testkit')
const { runCases } = require('../layers/cases')
const { parseOptions } = require('..')
const { createMessages } = require('../lib/messages')
const { makeFolder, runBench, frame } = require('./support')

const LAYERS = ['file', 'blocks', 'log', 'json', 'stream', 'binary']
const CHARTS = ['linegraph', 'barchart', 'barchart2'].flatMap((name) => [`${name}.png`, `${name}.svg`])
const support = (name) => path.join(__dirname, 'support', name)
const list = (...parts) => fs.readdirSync(path.join(...parts)).sort()

tape('bench: a small run leaves a table, a CSV a layer and the charts', (t) => {
  const out = makeFolder(t)
  const { status, stdout, stderr } = runBench('--records', '2000', '--blocks', '16,64', '--runs', '1', '--out', out)
  t.equal(status, 0, stderr)
  t.deepEqual(list(out, 'images'), [...CHARTS, 'report.html'].sort())
  t.deepEqual(list(out, 'data'), [...LAYERS.map((name) => `${name}.csv`), 'generated'].sort())
  for (const name of LAYERS) {
    t.ok(stdout.includes(`\n${name}: `), `the table has ${name}`)
    const rows = fs.readFileSync(path.join(out, 'data', `${name}.csv`), 'utf8').trim().split('\n').filter((line) => line[0] !== '#')
    for (const stack of ['ours', 'checked', 'reference']) {
      for (const start of [`${stack},16384,1,`, `${stack},65536,1,`]) {
        t.equal(rows.filter((line) => line.startsWith(start)).length, 1, `${name}: ${start}`)
      }
    }
  }
  t.ok(stdout.split('\n').slice(0, -4).every((line) => line.length <= 100), 'at most a hundred columns')
  const drawn = ['linegraph.svg', 'report.html'].map((name) => path.join(out, 'images', name))
  const before = drawn.map((file) => fs.readFileSync(file, 'utf8'))
  for (const file of drawn) fs.rmSync(file)
  t.equal(runBench('--draw', '--out', out).status, 0)
  t.deepEqual(drawn.map((file) => fs.readFileSync(file, 'utf8')), before, 'drawn again from the CSV files')
  t.ok(stdout.includes('%k2LlB5vHH2Bs3ute/9D9kB0oGu+t2megqxdFxT2HYR4=.sha256'), 'the query is printed')
  t.end()
})

tape('bench: what a given log holds is left as it was', (t) => {
  const out = makeFolder(t)
  const { next } = createMessages(9)
  const file = path.join(out, 'mine.log')
  const bytes = frame(Array.from({ length: 500 }, () => JSON.stringify(next())))
  fs.writeFileSync(file, bytes)
  const { status, stdout, stderr } = runBench('--file', file, '--blocks', '1,3', '--runs', '2', '--layers', 'log,binary', '--out', out)
  t.equal(status, 0, stderr)
  t.ok(fs.readFileSync(file).equals(bytes))
  t.ok(stdout.includes('barchart: skipped'), 'a chart without data is announced')
  t.deepEqual(list(out, 'images'), ['linegraph.png', 'linegraph.svg', 'report.html'])
  const csv = fs.readFileSync(path.join(out, 'data', 'log.csv'), 'utf8')
  t.ok(csv.includes('input: mine.log; 500 records'))
  t.notOk(csv.includes(out))
  t.equal(csv.split('\n').filter((line) => /^(ours|checked|reference),/.test(line)).length, 12)
  t.end()
})

tape('bench: when time is up, every case has still run once', async (t) => {
  const options = parseOptions(['--records', '200', '--blocks', '16', '--layers', 'log,binary'])
  const { measurements, skipped } = await runCases({ ...options, budgetMs: 0 }, makeFolder(t))
  t.equal(measurements.length, 6)
  t.ok(measurements.every(({ run }) => run === 1))
  t.equal(skipped, 12)
  t.equal(parseOptions(['--runs', '3']).budgetMs, Infinity, 'who asks for runs gets them')
})

tape('bench: a stack that lies is found out', (t) => {
  const out = makeFolder(t)
  const { status, stderr } = runBench('--records', '300', '--blocks', '16', '--layers', 'log', '--runs', '1',
    '--stacks', `ours,${support('lying-stack.js')}`, '--out', out)
  t.equal(status, 1)
  for (const word of ['ours', 'liar', 'layer log', '16 KiB', 'records', '300', '299']) t.ok(stderr.includes(word), word)
  t.notOk(fs.existsSync(path.join(out, 'data', 'log.csv')), 'and nothing is written')
  t.end()
})

tape('bench: a child that dies is reported with its case and its error', (t) => {
  const { status, stderr } = runBench('--records', '300', '--blocks', '16', '--layers', 'file', '--runs', '1',
    '--stacks', support('dying-stack.js'), '--out', makeFolder(t))
  t.equal(status, 1)
  for (const word of ['mortal', 'layer file', '16 KiB', 'made of cheese']) t.ok(stderr.includes(word), word)
  t.end()
})

tape('bench: a third stack of another framing joins with one file', (t) => {
  const out = makeFolder(t)
  // In a quick run a layer of each kind: bytes of the file, records, and the binary log.
  const layers = isLongRun ? [] : ['--layers', 'file,log,binary']
  const { status, stdout, stderr } = runBench('--records', '300', '--blocks', '16', '--runs', '1', ...layers, '--stacks',
    `ours,reference,${support('wide-stack.js')}`, '--out', out)
  t.equal(status, 0, stderr)
  t.ok(stdout.includes('Millrace, 48 bits'))
  t.ok(fs.readFileSync(path.join(out, 'images', 'barchart.svg'), 'utf8').includes('Millrace, 48 bits'))
  t.end()
})
