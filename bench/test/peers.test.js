'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const pull = require('pull-stream')
const { parseOptions } = require('../engine/command')
const { Results } = require('../engine/results')
const { call } = require('../lib/measure')
const { connectSqlite, findNodeSqlite } = require('../stores/databases')
const { formatThousands } = require('../lib/report')
const { table } = require('../tables/peers')
const { runBenchFlumelog } = require('../tables/peers/jobs')
const { makeFolder, runBench } = require('./support')

const { peers } = table
const [{ rows }] = table.groups
const jobs = rows.filter(({ name }) => name !== 'bench-flumelog')
const peerFile = (name) => path.join(__dirname, 'support', 'peers', `${name}.js`)
const facts = { command: 'c', machine: 'Some CPU, 2 cores', node: 'n', packages: 'p 1', input: '5 messages of 7 bytes in the binary format, 9 as JSON' }
const shown = { rows, groups: table.groups, peers, facts }

/** All peers at all jobs, in three runs; those of the names given are absent. */
function makeResults (rates, ...absent) {
  const cases = jobs.flatMap((row) => peers.filter(({ name }) => row.peers[name]).map((peer) => {
    return { row: row.name, peer: peer.name, reason: absent.includes(peer.name) ? 'not installed' : row.cannot[peer.name] }
  }))
  const there = cases.filter(({ reason }) => reason === undefined)
  return new Results(there.flatMap(({ row, peer }) => rates.map((rate, index) => {
    return { row, peer, run: index + 1, figures: { rate: row === 'get' && peer === 'offset32' ? 9e6 : rate } }
  })), cases.filter(({ reason }) => reason !== undefined))
}

tape('peers: a small run ends, agrees, names who is absent, and leaves nothing but its outputs', (t) => {
  const out = makeFolder(t)
  const args = ['--rows', jobs.map(({ name }) => name).join(','), '--runs', '1', '--records', '100', '--out', out]
  const { status, stdout, stderr } = runBench('peers', '--peers', `checked,flumelog-aligned-offset,${peerFile('absent')}`, ...args)
  t.equal(status, 0, stderr)
  t.ok(/Absent: absent: Cannot find module 'no-such-package' \(.*scan.*\)/.test(stdout), stdout)
  t.ok(/^Millrace, checked( +[\d.,]+){6} {2}where$/m.test(stdout), stdout)
  const csv = fs.readFileSync(path.join(out, 'data', 'peers.csv'), 'utf8')
  for (const { name } of jobs) t.ok(csv.includes(`\n${name},checked,,1,rate,`), name)
  t.ok(csv.includes('# absent: scan of absent: Cannot find module'), csv)
  t.ok(csv.includes('# input: 100 messages of '), 'the input is said')
  t.notOk(csv.includes(out), 'no path of this machine')
  t.deepEqual(fs.readdirSync(path.join(out, 'images')), ['peers.png', 'peers.svg'])
  t.deepEqual(fs.readdirSync(path.join(out, 'data')), ['peers.csv'])
  t.end()
})

tape('peers: one that does not give back what it was given is absent, with what was wrong', (t) => {
  const args = ['--rows', 'append', '--runs', '1', '--records', '200', '--out', makeFolder(t)]
  const { status, stdout, stderr } = runBench('peers', '--peers', peerFile('forgetful'), ...args)
  t.equal(status, 0, stderr)
  t.ok(/Absent: forgetful: appended .*"records":200.* and found .*"records":199/.test(stdout), stdout)
  t.end()
})

tape('peers: those that disagree about what is read end the bench, and nothing is written', (t) => {
  const out = makeFolder(t)
  const args = ['--rows', 'scan', '--runs', '1', '--records', '200', '--out', out]
  const { status, stderr } = runBench('peers', '--peers', peerFile('forgetful'), ...args)
  t.equal(status, 1)
  t.ok(stderr.includes('bench: row scan: records is 199 by forgetful, and 200 by what was prepared'), stderr)
  t.notOk(fs.existsSync(path.join(out, 'data', 'peers.csv')))
  t.end()
})

tape('peers options: jobs are rows, and no log is larger than the memory for it', (t) => {
  const some = parseOptions(table, ['--peers', 'lmdb,checked', '--rows', 'scan', '--records', '10'])
  t.deepEqual([some.peers.map(({ name }) => name), some.rows.map(({ name }) => name)], [['checked', 'lmdb'], ['scan']])
  t.equal(some.command, 'npm run bench -- peers --peers lmdb,checked --rows scan --records 10')
  for (const argv of [['--records', 'x'], ['--records', '1000001'], ['--peers', peerFile('nosuch')], ['--peers', __filename]]) {
    t.throws(() => parseOptions(table, argv), { name: 'Error', message: /^[^\n]+$/ }, argv.join(' '))
  }
  t.end()
})

tape('peers: its notes name every option, peer and job', (t) => {
  const notes = fs.readFileSync(path.join(__dirname, '..', 'notes', 'peers.md'), 'utf8')
  for (const name of ['--rows', '--peers', '--runs', '--records', '--install']) t.ok(notes.includes(name), name)
  for (const { name } of [...peers, ...rows]) t.ok(notes.includes(`\`${name}\``), name)
  t.end()
})

tape('peers table: a line for each peer and each further way to query, the best in bold, the absent below', (t) => {
  const text = table.tables[''](makeResults([1000, 3000, 2000], 'lmdb'), shown)
  t.ok(/^\| Millrace, offset32 .*\| \*\*9,000\*\* \| `where` \|$/m.test(text), text)
  t.ok(/^\| SQLite, json_extract, indexed \|( {2}\|){4} \*\*2\*\* \| {2}\| /m.test(text), text)
  t.ok(/^\| flumelog-offset \| \*\*2\*\* \| - \| - \|/m.test(text))
  t.ok(text.includes('Absent: LMDB: not installed (append, durable-1, durable-256, scan, query, get)') && !/^\| LMDB/m.test(text))
  t.ok(text.includes('Absent: flumelog-offset: never syncs (durable-1, durable-256)'))
  t.deepEqual([4.5678, 45678, 456789.9, 45678999].map(formatThousands), ['0.00457', '45.7', '457', '45,700'])
  const short = table.tables.short(makeResults([1000], 'lmdb'), shown)
  t.ok(/^\| Millrace \| \*\*1\*\* /m.test(short) && short.includes('append, each synced') && !short.includes('flumelog'), short)
  const cases = new Results([{ row: 'bench-flumelog', peer: 'checked', run: 1, figures: { append: 2e5, 'stream-no-cache': 5e6 } }])
  const flume = table.tables['bench-flumelog'](cases, shown)
  t.ok(flume.includes('| Millrace, checked | 200 | - | 5,000 | - | - |'), flume)
  t.end()
})

tape('peers chart: a panel a job, a label a peer, and why a bar is missing', async (t) => {
  const svg = await table.charts.peers(makeResults([1000, 3000, 2000], 'lmdb'), shown)
  // Texts are broken where there is no room.
  const words = svg.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
  for (const { what } of jobs) t.ok(words.includes(what), what)
  for (const { label, name, store } of peers) t.equal(svg.includes(`>${label}<`), name !== 'lmdb' && store === undefined, label)
  for (const text of ['never syncs', 'Thousands of records a second', '5 messages of 7 bytes, page', 'median of 3 runs', 'Some CPU']) {
    t.ok(words.includes(text), text)
  }
  t.equal(await table.charts.peers(makeResults([]), shown), undefined, 'no chart of nothing')
})

tape('peers SQLite: takes what Node.js has where better-sqlite3 is not there, or says that there is neither', async (t) => {
  const file = path.join(makeFolder(t), 'any')
  let connected
  try {
    connected = connectSqlite(file)
  } catch (err) {
    t.notOk(findNodeSqlite())
    return t.ok(/neither better-sqlite3 nor node:sqlite/.test(err.message))
  }
  const { name, db, column } = connected
  t.ok(['better-sqlite3', 'node:sqlite'].includes(name))
  db.exec('CREATE TABLE a (b)')
  db.prepare('INSERT INTO a VALUES (?)').run('x')
  t.deepEqual([...column('SELECT b FROM a WHERE b = ?').iterate('x')], ['x'])
  t.equal(column('SELECT b FROM a').get(), 'x')
  db.close()
})

tape('bench-flumelog: takes the figures from what the bench prints, until its last case', async (t) => {
  const lines = ['name, ops/second, mb/second, ops, total-mb, seconds', 'append, 10.5, 1.25, 21, 2.5, 2', 'a word',
    'stream no cache, NaN, NaN, 0, 0, 0', 'random, 3, 1, 6, 2, 2.001']
  let opened = null
  const figures = await runBenchFlumelog({ openFlumelog: (file) => file }, 'folder', (createLog) => {
    opened = createLog()
    for (const line of lines) console.log(line)
  })
  t.equal(opened, path.join('folder', 'log'))
  t.deepEqual(figures, { append: 10.5, append_count: 21, random: 3, random_count: 6 })
  const refused = await runBenchFlumelog({}, 'folder', () => {}).catch((err) => err)
  t.equal(refused.message, 'is no log for bench-flumelog')
})

for (const { name, openFlumelog, fillFlumelog } of peers.filter(({ openFlumelog }) => openFlumelog)) {
  tape(`bench-flumelog, ${name}: an item has a seq, which gets its value again`, async (t) => {
    const file = path.join(makeFolder(t), 'log')
    let log
    try {
      log = openFlumelog(file)
    } catch (err) {
      return t.ok(/Cannot find module/.test(err.message), `${name} is not installed`)
    }
    t.equal(typeof fillFlumelog, name === 'async-append-only-log' ? 'function' : 'undefined')
    await new Promise((resolve) => log.since.once(resolve))
    const records = Array.from({ length: 50 }, (_, index) => Buffer.from(JSON.stringify({ index })))
    for (const record of records) await call((cb) => log.append(record, cb))
    if (log.onDrain) await new Promise((resolve) => log.onDrain(resolve))
    const items = await call((cb) => pull(log.stream({ seqs: true, values: true }), pull.collect(cb)))
    t.deepEqual(items.map(({ value }) => value.toString()), records.map(String))
    const { seq, value } = items[33]
    const found = await call((cb) => log.get(seq, cb))
    t.equal(found.toString(), value.toString())
    if (log.close) await new Promise((resolve) => log.close(resolve))
  })
}
