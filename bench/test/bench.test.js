'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { isLongRun } = require('@millrace/testkit')
const { createMessages } = require('../lib/messages')
const { makeFolder, runBench, frame } = require('./support')

const LAYERS = ['file', 'blocks', 'log', 'json', 'stream', 'binary']
const CHARTS = ['linegraph', 'barchart', 'barchart2'].flatMap((name) => [`${name}.png`, `${name}.svg`])
const support = (name) => path.join(__dirname, 'support', name)
const list = (...parts) => fs.readdirSync(path.join(...parts)).sort()

tape('bench: a small run leaves a table, a CSV file and the charts', (t) => {
  const out = makeFolder(t)
  const { status, stdout, stderr } = runBench('--records', '2000', '--blocks', '16,64', '--runs', '1', '--out', out)
  t.equal(status, 0, stderr)
  t.deepEqual(list(out, 'images'), [...CHARTS, 'report.html'].sort())
  t.deepEqual(list(out, 'data'), ['layers.csv'], 'no generated logs')
  const rows = fs.readFileSync(path.join(out, 'data', 'layers.csv'), 'utf8').trim().split('\n').filter((line) => line[0] !== '#')
  for (const name of LAYERS) {
    t.ok(stdout.includes(`\n${name}: `), `the table has ${name}`)
    for (const stack of ['offset32', 'checked', 'flumelog']) {
      for (const start of [`${name},${stack},16384,1,ms,`, `${name},${stack},65536,1,ms,`]) {
        t.equal(rows.filter((line) => line.startsWith(start)).length, 1, `${name}: ${start}`)
      }
    }
  }
  t.ok(stdout.split('\n').slice(0, -5).every((line) => line.length <= 132), 'fits a wide terminal')
  const drawn = ['linegraph.svg', 'report.html'].map((name) => path.join(out, 'images', name))
  const before = drawn.map((file) => fs.readFileSync(file, 'utf8'))
  for (const file of drawn) fs.rmSync(file)
  t.equal(runBench('--draw', '--out', out).status, 0)
  t.deepEqual(drawn.map((file) => fs.readFileSync(file, 'utf8')), before, 'drawn again from the CSV file')
  t.ok(stdout.includes('%k2LlB5vHH2Bs3ute/9D9kB0oGu+t2megqxdFxT2HYR4=.sha256'), 'the query is printed')
  t.end()
})

tape('bench: what a given log holds is left as it was', (t) => {
  const out = makeFolder(t)
  const { next } = createMessages(9)
  const file = path.join(out, 'mine.log')
  const bytes = frame(Array.from({ length: 500 }, () => JSON.stringify(next())))
  fs.writeFileSync(file, bytes)
  const { status, stderr } = runBench('--file', file, '--blocks', '1,3', '--runs', '2', '--layers', 'log,binary', '--out', out)
  t.equal(status, 0, stderr)
  t.ok(fs.readFileSync(file).equals(bytes))
  t.deepEqual(list(out, 'images'), ['linegraph.png', 'linegraph.svg', 'report.html'])
  const csv = fs.readFileSync(path.join(out, 'data', 'layers.csv'), 'utf8')
  t.ok(csv.includes('input: mine.log; 500 records'))
  t.notOk(csv.includes(out))
  t.equal(csv.split('\n').filter((line) => /^log.*,ms,/.test(line)).length, 20, 'two sizes, two runs, five stacks')
  t.end()
})

tape('bench: a stack that lies is found out', (t) => {
  const out = makeFolder(t)
  const { status, stderr } = runBench('--records', '300', '--blocks', '16', '--layers', 'log', '--runs', '1',
    '--stacks', `offset32,${support('lying-stack.js')}`, '--out', out)
  t.equal(status, 1)
  for (const word of ['offset32', 'liar', 'row log', '16384', 'records', '300', '299']) t.ok(stderr.includes(word), word)
  t.notOk(fs.existsSync(path.join(out, 'data', 'layers.csv')), 'and nothing is written')
  t.end()
})

tape('bench: a child that dies is reported with its case and its error', (t) => {
  const { status, stderr } = runBench('--records', '300', '--blocks', '16', '--layers', 'file', '--runs', '1',
    '--stacks', support('dying-stack.js'), '--out', makeFolder(t))
  t.equal(status, 1)
  for (const word of ['mortal', 'row file', '16384', 'made of cheese']) t.ok(stderr.includes(word), word)
  t.end()
})

tape('bench: a third stack of another framing joins with one file', (t) => {
  const out = makeFolder(t)
  // In a quick run a layer of each kind: bytes of the file, records, and the binary log.
  const layers = isLongRun ? [] : ['--layers', 'file,log,binary']
  const { status, stdout, stderr } = runBench('--records', '300', '--blocks', '16', '--runs', '1', ...layers, '--stacks',
    `offset32,flumelog,${support('wide-stack.js')}`, '--out', out)
  t.equal(status, 0, stderr)
  t.ok(stdout.includes('Millrace, 48 bits'))
  t.ok(fs.readFileSync(path.join(out, 'images', 'barchart.svg'), 'utf8').includes('Millrace, 48 bits'))
  t.end()
})
