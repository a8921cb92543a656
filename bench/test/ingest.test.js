'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { parseOptions: parse } = require('../engine/command')
const { judge } = require('../engine/judge')
const { Results } = require('../engine/results')
const { table } = require('../tables/ingest')
const { requests } = require('../tables/ingest/requests')
const { makeFolder, runBench } = require('./support')

const runIngest = (...args) => runBench('ingest', ...args)
const parseOptions = (argv) => parse(table, argv)
const { groups, peers } = table
const rows = groups.flatMap(({ rows }) => rows)

/** @type {(row: string, figures: Record<string, Record<string, number>>) => Results} by figure and peer */
function makeResults (row, figures) {
  return new Results(Object.entries(figures).flatMap(([figure, byPeer]) => {
    return Object.entries(byPeer).map(([peer, value]) => ({ row, peer, run: 1, figures: { [figure]: value } }))
  }))
}

tape('ingest: a small run stores what it acknowledges, judges, and leaves its table, CSV file and charts', (t) => {
  const out = makeFolder(t)
  const { stdout, stderr } = runIngest('--rows', 'synced,http-batch', '--runs', '1', '--seconds', '1', '--out', out)
  t.ok(/^synced: .* {2}[\d,]+ {2,}[\d,]+ .*0\.6x (empty|disk): /m.test(stdout), stdout + stderr)
  t.ok(/^http-batch: .* {2}26,517 {2,}[\d,]+ {2,}[\d,]+/m.test(stdout), stdout)
  const csv = fs.readFileSync(path.join(out, 'data', 'ingest.csv'), 'utf8')
  t.ok(/^synced,millrace,,1,p99,\d+/m.test(csv), csv)
  t.notOk(csv.includes(out), 'no path of this machine')
  t.deepEqual(fs.readdirSync(path.join(out, 'images')).filter((name) => name.endsWith('svg')), ['ingest-latency.svg', 'ingest.svg'])
  const drawn = runIngest('--draw', '--out', out)
  t.equal(drawn.status, 0, drawn.stderr)
  t.deepEqual(drawn.stdout.split('\n\n').slice(0, 2), stdout.split('\n\n').slice(0, 2), 'the same table from the CSV file')
  t.end()
})

tape('ingest: readers, named logs and memory, with few of each', (t) => {
  if (process.platform !== 'linux') return t.end()
  const out = makeFolder(t)
  const few = ['--seconds', '1', '--readers', '5', '--logs', '5']
  const { stdout, stderr } = runIngest('--rows', 'memory', '--peers', 'millrace,empty', ...few, '--out', out)
  for (const name of ['endurance', 'readers', 'names']) t.ok(stdout.includes(`\n${name}: `), stdout + stderr)
  t.end()
})

tape('ingest: a row whose program is not there is absent, once, and no failure', (t) => {
  const { PATH } = process.env
  process.env.PATH = makeFolder(t)
  t.teardown(() => { process.env.PATH = PATH })
  const { status, stdout, stderr } = runIngest('--rows', 'stages', '--out', makeFolder(t))
  t.equal(status, 0, stderr)
  t.ok(stdout.includes('Absent: k6 on the PATH (stages)'), stdout)
  t.end()
})

tape('ingest: names of rows differ, and peers, requests and goals are those that exist', (t) => {
  t.equal(new Set(rows.map(({ name }) => name)).size, rows.length)
  for (const { name, peers: own, figures, setting } of rows) {
    for (const peer of Object.keys(own)) t.ok(peers.some((one) => one.name === peer), `${name}: ${peer}`)
    if (setting.request) t.ok(requests[setting.request], `${name}: ${setting.request}`)
    for (const { goal = {} } of figures) {
      const { times = [], within = [], above = [] } = goal
      for (const { of, or = of, in: other = name } of [...times, ...within, ...above]) {
        const compared = rows.find((row) => row.name === other)
        for (const peer of [of, or]) t.ok(compared?.peers[peer], `${name}: ${other} ${peer}`)
      }
    }
  }
  t.end()
})

tape('ingest: each request of 100 lines has 100 events, and the pairs of source and event differ', (t) => {
  const { events, list: [{ body }] } = requests.lines
  t.equal(String(body).trimEnd().split('\n').map((line) => JSON.parse(line)).length, events)
  t.ok(new Set(requests.put.list.map(({ path }) => path)).size > 50)
  t.end()
})

tape('ingest: a goal compares with the lesser of two peers, and bounds a figure from above', (t) => {
  const verdictsOf = (name, figures, line = 0) => {
    const row = rows.find((row) => row.name === name)
    return judge(makeResults(name, figures), row, row.figures[line]).map(({ text, verdict }) => `${text}, ${verdict}`)
  }
  t.deepEqual(verdictsOf('synced', { rate: { millrace: 7000, empty: 20_000, disk: 10_000 } }), ['>= 0.6x disk: 0.70x, met'])
  t.deepEqual(verdictsOf('synced', { rate: { millrace: 7000, empty: 20_000, disk: 30_000 } }), ['>= 0.6x empty: 0.35x, missed'])
  t.deepEqual(verdictsOf('synced', { rate: { millrace: 7000 } }), ['>= 0.6x empty, absent'])
  const rates = { millrace: 7000, empty: 20_000, disk: 30_000 }
  t.deepEqual(verdictsOf('synced', { rate: { ...rates, sync: 12_500 } }), ['>= 0.6x empty: 0.35x, missed'])
  t.deepEqual(verdictsOf('synced', { rate: { ...rates, sync: 11_500 } }), ['>= 0.6x empty: 0.35x, out of reach'], 'of the syncing server too')
  const p99 = 3
  t.deepEqual(verdictsOf('written', { p99: { millrace: 6, empty: 5 } }, p99), ['<= 1.3x empty: 1.20x, met'])
  t.deepEqual(verdictsOf('written', { p99: { millrace: 9, empty: 5 } }, p99), ['<= 1.3x empty: 1.80x, missed'])
  const p95 = 2
  t.deepEqual(verdictsOf('written', { p95: { millrace: 3, empty: 2.5 } }, p95), ['<= 2 ms, out of reach'], 'of an empty server too')
  const [MIB, peak] = [2 ** 20, 0]
  t.deepEqual(verdictsOf('endurance', { peak: { millrace: 100 * MIB, empty: 80 * MIB } }, peak), ['<= empty + 64.0 MiB: + 20.0 MiB, met'])
  t.deepEqual(verdictsOf('endurance', { peak: { millrace: 180 * MIB, empty: 80 * MIB } }, peak), ['<= empty + 64.0 MiB: + 100.0 MiB, missed'])
  t.end()
})

tape('ingest: only the groups of seeds say what the seed measured', (t) => {
  const shown = { peers, facts: { command: 'c', machine: 'm', node: 'n', packages: 'p' } }
  t.notOk(table.tables.requests(makeResults('written', { rate: { millrace: 1 } }), shown).includes('another machine'))
  t.ok(table.tables.eventlogger(makeResults('put', { rate: { millrace: 1 } }), shown).includes('| 57K | 1 |'))
  t.end()
})

tape('ingest options: they change the rows; a wrong one is refused with one line and exit code 2', (t) => {
  const options = parseOptions(['--rows', 'stored,names,written', '--seconds', '7', '--stored', '16000000', '--logs', '3'])
  t.equal(options.command, 'npm run bench -- ingest --rows stored,names,written --seconds 7 --stored 16000000 --logs 3')
  const [written, stored, names] = options.rows.map((row) => row.prepare({ options }))
  t.deepEqual([written, stored, names], [{ seconds: 7 }, { seconds: 7, stored: 16_000_000 }, { count: 3 }])
  for (const argv of [['--rows', 'nosuch'], ['--peers', ''], ['--seconds', '0'], ['--stored', 'x'], ['stray']]) {
    t.throws(() => parseOptions(argv), { name: 'Error', message: /^[^\n]+$/ }, argv.join(' '))
  }
  const { status, stderr } = runIngest('--draw', '--out', makeFolder(t))
  t.deepEqual([status, stderr.trim()], [2, 'bench: there is no data/ingest.csv: measure first'])
  t.end()
})
