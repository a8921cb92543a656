'use strict'

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { parseOptions } = require('../engine/command')
const { judge } = require('../engine/judge')
const { Results, formatCsv, readCsv } = require('../engine/results')
const { table } = require('../tables/logging')
const { measureMemory } = require('../tables/logging/memory')
const { createEntries } = require('../tables/logging/works')
const { makeFolder, runBench } = require('./support')

const runLogging = (...args) => runBench('logging', ...args)
const facts = { command: 'c', machine: 'Some CPU, 2 cores', node: 'n', packages: 'p 1' }
const { groups, peers } = table
const rows = groups.flatMap(({ rows }) => rows)
const shown = { groups, rows, peers, facts }
const hasPython = spawnSync('python3', ['--version']).status === 0

/** The same rate of all peers but those of `others`, each with its runs. */
function makeRuns (name, value, others = {}) {
  const { figures: [{ figure }], peers: own } = rows.find((row) => row.name === name)
  return Object.keys(own).flatMap((peer) => [others[peer] ?? value].flat().map((value, index) => {
    return { row: name, peer, run: index + 1, figures: { [figure]: value } }
  }))
}

/** fapilog as far as the bench uses it: it notes how many workers it was given. */
const FAPILOG = `import os
class Logger:
    def __init__(self, builder): self.builder = builder
    def info(self, msg, **more): self.builder.lines.append(msg)
    async def stop_and_drain(self):
        with open(os.path.join(self.builder.folder, "log"), "w") as file: file.write("\\n".join(self.builder.lines) + "\\n")
        with open(os.path.join(self.builder.folder, "..", "workers"), "w") as file: file.write(str(self.builder.workers))
class LoggerBuilder:
    def __init__(self): self.lines = []
    def with_level(self, level): return self
    def add_file(self, directory, max_bytes): self.folder = directory; return self
    def with_workers(self, workers): self.workers = workers; return self
    def with_backpressure(self, **more): return self
    def build(self): return Logger(self)
`

tape('logging: a small run counts every record, judges, and leaves its table, CSV file and chart', (t) => {
  const out = makeFolder(t)
  const args = ['--rows', 'auto-1k,eager', '--peers', 'millrace,bare', '--runs', '1', '--out', out]
  const { stdout, stderr } = runLogging(...args)
  t.ok(/^auto-1k: .* 100 records; pino: 4 KB +DirectLogger 56,660\/s +[\d,]+ +[\d,]+ +>= 500,000, /m.test(stdout), stdout + stderr)
  t.ok(/>= 2x sqlite, absent/.test(stdout), stdout)
  const csv = fs.readFileSync(path.join(out, 'data', 'logging.csv'), 'utf8')
  t.ok(/^auto-1k,millrace,,1,rate,\d+/m.test(csv), csv)
  t.notOk(csv.includes(out), 'no path of this machine')
  t.deepEqual(fs.readdirSync(path.join(out, 'images')), ['logging.png', 'logging.svg'])
  const documents = path.join(out, 'docs', 'internals')
  fs.mkdirSync(documents, { recursive: true })
  const page = path.join(documents, 'performance.md')
  fs.writeFileSync(page, 'before\n<!-- figures: logging solidlog -->\nold\n<!-- figures end -->\nafter\n')
  const drawn = runLogging('--draw', '--out', out)
  t.equal(drawn.status, 0, drawn.stderr)
  t.deepEqual(drawn.stdout.split('\n\n').slice(0, 2), stdout.split('\n\n').slice(0, 2), 'the same table from the CSV file')
  const written = fs.readFileSync(page, 'utf8')
  t.ok(/^before\n<!-- figures: logging solidlog -->\n\n\| SolidLog[^]*\| `auto-1k`[^]*\n\n<!-- figures end -->\nafter\n$/.test(written), written)
  t.end()
})

tape('logging: a record has exactly the size it should have', (t) => {
  for (const { setting } of rows.filter(({ setting: { size } }) => size)) {
    const sizes = new Set(createEntries(setting).map((entry) => JSON.stringify(entry).length))
    t.deepEqual([...sizes], [setting.size])
  }
  t.end()
})

tape('logging: names of rows differ, every peer of a row exists, and every goal names a figure', (t) => {
  t.equal(new Set(rows.map(({ name }) => name)).size, rows.length)
  for (const { name, peers: own, figures } of rows) {
    for (const peer of Object.keys(own)) t.ok(peers.some((one) => one.name === peer), `${name}: ${peer}`)
    for (const { factor, of, in: other = name } of figures.flatMap(({ goal }) => goal?.times ?? [])) {
      t.ok(factor > 0 && rows.find((row) => row.name === other)?.peers[of], `${name}: ${other} ${of}`)
    }
  }
  t.end()
})

tape('logging: a goal that the bare write misses too is out of reach', (t) => {
  const row = rows.find(({ name }) => name === 'auto-1k')
  const verdicts = (others) => {
    return judge(new Results(makeRuns('auto-1k', 300_000, others)), row, row.figures[0]).map(({ verdict }) => verdict)
  }
  t.deepEqual(verdicts({ millrace: 700_000, bare: 800_000 }), ['met', 'met'])
  t.deepEqual(verdicts({ millrace: 470_000, bare: 800_000 }), ['close', 'missed'])
  t.deepEqual(verdicts({ millrace: 300_000, bare: 400_000 }), ['out of reach', 'out of reach'])
  t.deepEqual(verdicts({ millrace: 700_000, bare: 800_000, sqlite: [] }), ['met', 'absent'])
  t.end()
})

tape('logging: what the CSV file holds makes the same tables and chart, and the best of a row is bold', async (t) => {
  const runs = [...makeRuns('auto-1k', [1000, 3000, 2000], { winston: [], bare: 9000 }), ...makeRuns('test-4', 5000)]
  const results = new Results(runs)
  const file = path.join(makeFolder(t), 'logging.csv')
  fs.writeFileSync(file, formatCsv(results, rows, facts))
  const { results: again } = readCsv(file)
  for (const [name, format] of Object.entries(table.tables)) t.equal(format(again, shown), format(results, shown), name)
  t.ok(/`auto-1k`.*\| DirectLogger 56,660\/s \| 2,000 \| .* \| \*\*9,000\*\* \| >= 500,000, out of reach/.test(table.tables.solidlog(results, shown)))
  const production = new Results(makeRuns('setting-production', 500_000))
  t.ok(table.tables.solidlog(production, shown).includes('| 1,000,000 records a minute | 16,667 | 1x | 30x | 30x |'))
  t.ok(table.format(production, shown).at(-1).includes('1,000,000 records a minute'))
  t.equal(await table.charts.logging(again, shown), await table.charts.logging(results, shown))
  t.equal(await table.charts.logging(new Results([]), shown), undefined)
})

tape('logging options: rows, groups of rows and peers by name', (t) => {
  const some = parseOptions(table, ['--rows', 'fapilog,eager', '--peers', 'bare,millrace', '--runs', '2'])
  t.deepEqual(some.rows.map(({ name }) => name), ['eager', ...groups[2].rows.map(({ name }) => name)])
  t.deepEqual(some.peers.map(({ name }) => name), ['millrace', 'bare'])
  t.equal(some.command, 'npm run bench -- logging --rows fapilog,eager --peers bare,millrace --runs 2')
  const { status, stderr } = runLogging('--draw', '--out', makeFolder(t))
  t.deepEqual([status, stderr.trim()], [2, 'bench: there is no data/logging.csv: measure first'])
  t.end()
})

tape('logging: figures that are published are medians of five runs', (t) => {
  t.ok(parseOptions(table, []).runs >= 5)
  t.deepEqual(rows.filter(({ runs = 5 }) => runs < 5).map(({ name }) => name), [])
  t.end()
})

tape('logging memory: a process that fails says its own words, without a path of this machine', async (t) => {
  const err = await measureMemory('millrace-shared', makeFolder(t), {}).catch((err) => err)
  t.equal(err.message, 'ThreadWriter: expected what connect() has returned')
})

tape('logging: Python runs with the workers of the row, and says what of it is missing', (t) => {
  const { measure } = peers.find(({ name }) => name === 'fapilog')
  const folder = makeFolder(t)
  const setting = { folder: path.join(folder, 'records'), records: [{ level: 30, msg: 'x' }], count: 5, options: { workers: 1 } }
  const { PATH, PYTHONPATH } = process.env
  t.teardown(() => Object.assign(process.env, { PATH, PYTHONPATH: PYTHONPATH ?? '' }))
  if (hasPython) {
    process.env.PYTHONPATH = folder
    fs.writeFileSync(path.join(folder, 'fapilog.py'), 'raise ImportError()\n')
    t.throws(() => measure('fill', setting), { message: 'fapilog is not installed: python3 -m pip install fapilog' })
    fs.writeFileSync(path.join(folder, 'fapilog.py'), FAPILOG)
    t.ok(measure('fill', setting).rate > 0)
    t.equal(fs.readFileSync(path.join(folder, 'workers'), 'utf8'), '1')
  }
  process.env.PATH = folder
  t.throws(() => measure('fill', setting), { message: /^python3 is not on the PATH/ })
  t.end()
})
