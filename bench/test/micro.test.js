'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { createMessages, DEFAULT_SEED } = require('../lib/generate-messages')
const { loadFolder } = require('../lib/parts')
const { formatTable } = require('../micro/report')
const { createRunner, makeFolder } = require('./support')

const runMicro = createRunner('micro')
const suites = loadFolder(path.join(__dirname, '..', 'micro', 'suites'))

tape('micro suites: every task runs, has a name of its own, and gives the same each time', (t) => {
  const { next, query } = createMessages(DEFAULT_SEED)
  const messages = Array.from({ length: 50 }, next)
  for (const suite of suites) {
    const tasks = suite.createTasks({ messages, where: { path: ['value', 'content', 'root'], equals: query } })
    t.equal(new Set(tasks.map(({ name }) => name)).size, tasks.length, suite.name)
    for (const { name, count, run } of tasks) {
      t.ok(count > 0, `${suite.name}: ${name}`)
      const first = run()
      if (!name.startsWith('cache put')) t.deepEqual(run(), first)
    }
  }
  t.end()
})

tape('micro: every suite runs for a moment, and leaves a table and a CSV file', (t) => {
  const out = makeFolder(t)
  const { status, stdout, stderr } = runMicro('--time', '1', '--out', out)
  if (/tinybench.* not installed/.test(stderr)) {
    t.equal(status, 2)
    return t.end()
  }
  t.equal(status, 0, stderr)
  const csv = fs.readFileSync(path.join(out, 'data', 'micro.csv'), 'utf8')
  for (const { name } of suites) {
    t.ok(stdout.includes(`\n${name}\n`), name)
    t.ok(new RegExp(`^${name},"[^"]+",[\\d.]+,[\\d.]+,[\\d.]*,\\d+$`, 'm').test(csv), csv)
  }
  t.ok(csv.includes('# command: npm run bench:micro -- --time 1\n'))
  t.end()
})

tape('micro table: figures have two or three digits that say something', (t) => {
  const table = formatTable([
    { suite: 'a', name: 'one', ns: 5.8123, nsLate: 123456.7, mbPerSecond: null, samples: 1 },
    { suite: 'a', name: 'two', ns: 0.04567, nsLate: 99.9, mbPerSecond: 1234.5, samples: 1 }
  ])
  t.ok(/^ {2}one +5\.8 +123,000$/m.test(table), table)
  t.ok(/^ {2}two +0\.046 +100 +1,230$/m.test(table), table)
  t.end()
})

tape('micro options: wrong ones are refused with one line and exit code 2; all are in --help', (t) => {
  for (const argv of [['--onl', 'x'], ['stray'], ['--only', 'nosuch'], ['--only', ''], ['--time', '0'], ['--out', '']]) {
    const { status, stdout, stderr } = runMicro(...argv)
    t.deepEqual([status, stdout], [2, ''], argv.join(' '))
    t.ok(/^bench:micro: .*\n$/.test(stderr), stderr)
  }
  const { status, stdout } = runMicro('--help')
  t.equal(status, 0)
  const readme = fs.readFileSync(path.join(__dirname, '..', 'README.md'), 'utf8')
  t.ok(readme.includes('npm run bench:micro'))
  for (const name of ['only', 'time', 'out', 'help']) t.ok(stdout.includes(`--${name}`), name)
  for (const { name } of suites) t.ok(stdout.includes(name) && readme.includes(`\`${name}\``), name)
  t.end()
})
