'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { drawing, parseOptions, peers, tables } = require('../logging')
const { createEntries } = require('../logging/works')
const { formatCsv, readCsv } = require('../lib/report')
const { Results, drawTables, formatTable, fromSheet, toSheet } = require('../lib/tables')
const { createRunner, makeFolder } = require('./support')

const runLogging = createRunner('logging')
const facts = { command: 'c', machine: 'Some CPU, 2 cores', node: 'n', packages: 'p 1', input: undefined }
const rows = tables.flatMap(({ rows }) => rows)

/** The same figure for all peers but those of `others`. */
function makeResults (row, value, others = {}) {
  const { lines: [{ figure }] } = rows.find(({ name }) => name === row)
  return peers.map(({ name }) => ({ row, figure, peer: name, values: [].concat(others[name] ?? value) }))
}

tape('logging: a small run counts every record, judges, and leaves its table, CSV file and chart', (t) => {
  const out = makeFolder(t)
  const { stdout, stderr } = runLogging('--rows', 'auto-1k,eager', '--peers', 'millrace,bare', '--runs', '1', '--out', out)
  t.ok(/\| `auto-1k`: .* \| 100 records; pino: 4 KB \| DirectLogger 56,660\/s \| \*\*[\d,]+\*\* \| [\d,]+ \| >= 500,000, /.test(stdout), stdout + stderr)
  t.ok(/2x sqlite, absent/.test(stdout), stdout)
  const csv = fs.readFileSync(path.join(out, 'data', 'logging.csv'), 'utf8')
  t.ok(/^auto-1k,rate,millrace,1,\d+/m.test(csv), csv)
  t.notOk(csv.includes(out), 'no path of this machine')
  t.deepEqual(fs.readdirSync(path.join(out, 'images')), ['logging.png', 'logging.svg'])
  const documents = path.join(out, 'docs', 'internals')
  fs.mkdirSync(documents, { recursive: true })
  const page = path.join(documents, 'performance.md')
  fs.writeFileSync(page, 'before\n<!-- figures: logging solidlog -->\nold\n<!-- figures end -->\nafter\n')
  const drawn = runLogging('--draw', '--out', out)
  t.equal(drawn.status, 0, drawn.stderr)
  t.equal(drawn.stdout.split('\n\n').slice(1, 2).join(), stdout.split('\n\n').slice(1, 2).join(), 'the same table from the CSV file')
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
  for (const { name, peers: own, lines } of rows) {
    for (const peer of Object.keys(own)) t.ok(peers.some((one) => one.name === peer), `${name}: ${peer}`)
    for (const { factor, of, in: other = name } of lines.flatMap(({ goal }) => goal?.times ?? [])) {
      t.ok(factor > 0 && rows.find((row) => row.name === other)?.peers[of], `${name}: ${other} ${of}`)
    }
  }
  t.end()
})

tape('logging: a goal is met, close, missed, or out of reach if the least work misses it too', (t) => {
  const row = rows.find(({ name }) => name === 'auto-1k')
  const judge = (others) => new Results(makeResults('auto-1k', 300_000, others)).judge(row, row.lines[0]).map(({ verdict }) => verdict)
  t.deepEqual(judge({ millrace: 700_000, bare: 800_000 }), ['met', 'met'])
  t.deepEqual(judge({ millrace: 470_000, bare: 800_000 }), ['close', 'missed'])
  t.deepEqual(judge({ millrace: 300_000, bare: 400_000 }), ['out of reach', 'out of reach'])
  t.deepEqual(judge({ millrace: 700_000, bare: 800_000, sqlite: [] }), ['met', 'absent'])
  t.deepEqual(judge({ millrace: [] }), [], 'nothing is judged that was not measured')
  t.end()
})

tape('logging: the CSV file holds every run, and what it holds makes the same table and chart', async (t) => {
  const measured = [...makeResults('auto-1k', [1000, 3000, 2000], { winston: [] }), ...makeResults('test-4', 5000)]
  const results = new Results(measured)
  const file = path.join(makeFolder(t), 'logging.csv')
  fs.writeFileSync(file, formatCsv(toSheet(results, tables, facts)))
  const again = new Results(fromSheet(readCsv(file)))
  for (const table of tables) t.equal(formatTable(table, peers, again), formatTable(table, peers, results))
  const [solidlog] = tables
  const production = new Results(makeResults('setting-production', 500_000))
  t.ok(formatTable(solidlog, peers, production).includes('| 1,000,000 records a minute | 16,667 | 1x | 30x | 30x |'))
  const draw = (results) => drawTables(results, tables, peers, facts, drawing)
  t.equal(await draw(again), await draw(results))
  t.equal(await draw(new Results([])), undefined)
  t.end()
})

tape('logging options: rows, tables of rows and peers by name; a wrong one is refused with one line and exit code 2', (t) => {
  const some = parseOptions(['--rows', 'fapilog,eager', '--peers', 'bare,millrace', '--runs', '2'])
  t.deepEqual(some.rows.map(({ name }) => name), ['eager', ...tables[2].rows.map(({ name }) => name)])
  t.deepEqual(some.peers.map(({ name }) => name), ['millrace', 'bare'])
  t.equal(some.command, 'npm run bench:logging -- --rows fapilog,eager --peers bare,millrace --runs 2')
  for (const argv of [['--rows', 'nosuch'], ['--peers', ''], ['--runs', '0'], ['stray']]) {
    t.throws(() => parseOptions(argv), { name: 'Error', message: /^[^\n]+$/ }, argv.join(' '))
  }
  const { status, stderr } = runLogging('--draw', '--out', makeFolder(t))
  t.deepEqual([status, stderr.trim()], [2, 'bench:logging: --draw: there is no data/logging.csv; measure first'])
  t.end()
})
