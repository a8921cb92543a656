'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const pull = require('pull-stream')
const { isLongRun } = require('@millrace/testkit')
const { call } = require('../lib/measure')
const { formatCsv } = require('../lib/report')
const { jobs, parseOptions, peers } = require('../peers')
const { probe, runBenchFlumelog } = require('../peers/jobs')
const { drawPeers, formatRate, formatTable, listAbsent, listRows, toSheet } = require('../peers/report')
const { connectSqlite, findNodeSqlite } = require('../stores/databases')
const { createRunner, makeFolder, wordsOf } = require('./support')

const runPeers = createRunner('peers')
const usual = jobs.filter(({ cases }) => !cases)
const peerFile = (name) => path.join(__dirname, 'support', 'peers', `${name}.js`)
const facts = { command: 'c', machine: 'Some CPU, 2 cores', node: 'n', packages: 'p 1', input: 'i' }

/** Cells of all peers and jobs, each with these rates; those of the names given are absent. */
function makeCells (rates, ...absent) {
  return peers.flatMap((peer) => usual.flatMap((job) => {
    const ways = job.mode === 'query' ? peer.ways : ['']
    return ways.map((way) => {
      const reason = absent.includes(peer.name) ? 'not installed' : peer.cannot?.[job.name]
      const runs = reason ? [] : rates.map((rate) => ({ records: rate, ms: 1000, first: null, answer: {} }))
      return { peer, job, way, column: job.name, packages: peer.packages, runs, absent: reason }
    })
  }))
}

tape('peers: a small run ends, agrees, names who is absent, and leaves nothing but its outputs', (t) => {
  const out = makeFolder(t)
  const only = ['checked', 'flumelog-aligned-offset', 'lmdb', peerFile('absent')].join(',')
  const { status, stdout, stderr } = runPeers('--only', only, '--runs', '1', '--records', '100', '--out', out)
  t.equal(status, 0, stderr)
  t.ok(/Absent: Absent: Cannot find module 'no-such-package'/.test(stdout), stdout)
  t.ok(/\| Millrace, checked( \| \*{0,2}[\d.,]+\*{0,2}){6} \| `where` \|/.test(stdout))
  const csv = fs.readFileSync(path.join(out, 'data', 'peers.csv'), 'utf8')
  const lines = csv.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  for (const job of usual.map(({ name }) => name)) t.ok(lines.some((line) => line.startsWith(`${job},checked,`)), job)
  t.ok(csv.includes('# absent: scan of absent: Cannot find module'), csv)
  t.notOk(csv.includes(out), 'no path of this machine')
  t.deepEqual(fs.readdirSync(path.join(out, 'images')), ['peers.png', 'peers.svg'])
  const left = fs.readdirSync(path.join(out, 'data', 'generated')).filter((name) => !name.startsWith('ssb-'))
  t.deepEqual(left, [])
  t.end()
})

tape('peers: one that does not give back what it was given is absent, with what was wrong', (t) => {
  const out = makeFolder(t)
  const only = ['append', isLongRun ? 'checked' : '', peerFile('forgetful')].filter(Boolean).join(',')
  const { status, stdout, stderr } = runPeers('--only', only, '--runs', '1', '--records', '200', '--out', out)
  t.equal(status, 0, stderr)
  t.ok(/Absent: Forgetful: appended .*"records":200.* and found .*"records":199/.test(stdout), stdout)
  t.end()
})

tape('peers: those that disagree about what is read end the bench, and nothing is written', (t) => {
  const out = makeFolder(t)
  const only = ['scan', peerFile('forgetful')].join(',')
  const { status, stderr } = runPeers('--only', only, '--runs', '1', '--records', '200', '--out', out)
  t.equal(status, 1)
  t.ok(stderr.includes('bench:peers: scan: records is 199 by forgetful, and 200 by what was generated'), stderr)
  t.notOk(fs.existsSync(path.join(out, 'data', 'peers.csv')))
  t.end()
})

tape('peers options: names of peers and of jobs, and each wrong one is refused with one line and exit code 2', (t) => {
  const some = parseOptions(['--only', 'lmdb,scan,checked', '--runs', '2', '--records', '10'])
  t.deepEqual(some.peers.map(({ name }) => name), ['checked', 'lmdb'])
  t.deepEqual(some.jobs.map(({ name }) => name), ['scan'])
  t.equal(some.command, 'npm run bench:peers -- --only lmdb,scan,checked --runs 2 --records 10')
  t.deepEqual(parseOptions(['--only', 'scan']).peers.length, peers.length)
  const wrong = [['--onl', 'x'], ['stray'], ['--only', 'nosuch'], ['--only', ''], ['--only', './nosuch.js'],
    ['--only', __filename], ['--runs', '0'], ['--records', 'x'], ['--records', '1000001'], ['--out', '']]
  for (const argv of wrong) t.throws(() => parseOptions(argv), { name: 'Error', message: /^[^\n]+$/ }, argv.join(' '))
  const { status, stdout, stderr } = runPeers('--only', 'nosuch')
  t.deepEqual([status, stdout], [2, ''])
  t.ok(/^bench:peers: .*\n$/.test(stderr), stderr)
  t.end()
})

tape('peers --help: names every option, peer and job, as do its notes', (t) => {
  const { status, stdout } = runPeers('--help')
  t.equal(status, 0)
  const readme = fs.readFileSync(path.join(__dirname, '..', 'notes', 'peers.md'), 'utf8')
  for (const name of ['only', 'runs', 'records', 'out', 'help']) t.ok(stdout.includes(`--${name}`), name)
  for (const { name } of [...peers, ...jobs]) {
    t.ok(stdout.includes(name) && readme.includes(`\`${name}\``), name)
  }
  t.end()
})

tape('peers table: a row for each peer and each further way to query, the best in bold, the absent below', (t) => {
  const cells = makeCells([1000, 3000, 2000], 'lmdb')
  cells.find(({ peer, job }) => peer.name === 'offset32' && job.name === 'get').runs = [{ records: 9e6, ms: 1000 }]
  const table = formatTable(cells, facts)
  t.ok(/^\| Millrace, offset32 .*\| \*\*9,000\*\* \| `where` \|$/m.test(table), table)
  t.ok(/^\| SQLite, json_extract, indexed \|( {2}\|){4} \*\*2\*\* \| {2}\| /m.test(table), table)
  t.ok(/^\| flumelog-offset \| \*\*2\*\* \| - \| - \|/m.test(table))
  t.ok(table.includes('Absent: LMDB: not installed') && !/^\| LMDB/m.test(table))
  t.ok(table.includes('No `durable-1`, `durable-256` by flumelog-offset: never syncs'))
  t.deepEqual(listAbsent(cells).map(({ peer }) => peer.name), ['lmdb'])
  t.equal(listRows(cells).length, peers.length + 2)
  t.deepEqual([4.5678, 45678, 456789.9, 45678999].map(formatRate), ['0.00457', '45.7', '457', '45,700'])
  t.end()
})

tape('peers CSV file: every run is a line under its heads', (t) => {
  const csv = formatCsv(toSheet(makeCells([1000, 3000], 'leveldb'), facts))
  const [heads, ...lines] = csv.trim().split('\n').filter((line) => !line.startsWith('#'))
  t.equal(lines.filter((line) => line.startsWith('scan,sqlite,,')).length, 2)
  for (const line of lines) t.equal(line.split(',').length, heads.split(',').length)
  t.ok(csv.includes('# absent: get of leveldb: not installed'))
  t.end()
})

tape('peers chart: a panel a job, a label a peer, and why a bar is missing', async (t) => {
  const svg = await drawPeers(makeCells([1000, 3000, 2000], 'lmdb'), facts)
  for (const { meaning } of usual) t.ok(wordsOf(svg).includes(meaning), meaning)
  for (const { label, name } of peers) t.equal(svg.includes(`>${label}<`), name !== 'lmdb', label)
  for (const text of ['never syncs', 'Thousands of records a second', 'median of 3 runs', 'Some CPU']) t.ok(wordsOf(svg).includes(text), text)
  t.equal(await drawPeers(makeCells([]), facts), undefined, 'no chart of nothing')
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
  const [sqlite] = peers.filter(({ name }) => name === 'sqlite')
  t.deepEqual(await probe({ peer: sqlite, setting: { folder: makeFolder(t) } }), { packages: [name] })
})

tape('bench-flumelog: takes the figures from what the bench prints, until its last case, and prints the rest', async (t) => {
  const lines = ['name, ops/second, mb/second, ops, total-mb, seconds', 'append, 10.5, 1.25, 21, 2.5, 2', 'a word',
    'stream no cache, NaN, NaN, 0, 0, 0', 'random, 3, 1, 6, 2, 2.001']
  let opened = null
  const outcomes = await runBenchFlumelog({ openFlumelog: (file) => file }, { folder: 'folder' }, (createLog) => {
    opened = createLog()
    for (const line of lines) console.log(line)
  })
  t.equal(opened, path.join('folder', 'log'))
  t.deepEqual(outcomes.map(({ records, ms }) => [records, ms]), [[21, 2000], [0, 0], [0, 0], [0, 0], [6, 2001]])
})

tape('bench-flumelog: is a job that runs when it is named, with a column for each of its cases', (t) => {
  const job = jobs.find(({ name }) => name === 'bench-flumelog')
  t.notOk(parseOptions([]).jobs.includes(job))
  t.deepEqual(parseOptions(['--only', 'bench-flumelog']).jobs, [job])
  const cells = peers.slice(0, 3).flatMap((peer, index) => job.cases.map((column) => {
    const ms = column === 'random' ? 0 : 1000
    const runs = [100_000, 300_000].map((records) => ({ records, ms, first: null, answer: {} }))
    const cell = { peer, job, way: '', column, packages: [] }
    return index === 2 ? { ...cell, runs: [], absent: 'it is made of cheese' } : { ...cell, runs }
  }))
  const table = formatTable(cells, facts)
  t.ok(/^\| Millrace, checked \| \*\*200\*\* \| .* \| - \|$/m.test(table), table)
  t.ok(table.includes('Absent: flumelog-offset: it is made of cheese'))
  const [heads, ...rows] = formatCsv(toSheet(cells, facts)).trim().split('\n').filter((line) => !line.startsWith('#'))
  t.equal(rows.length, 20)
  t.ok(rows.includes('bench-flumelog,checked,stream no cache,2,300000,1000.000,300000,'), rows.join('\n'))
  for (const row of rows) t.equal(row.split(',').length, heads.split(',').length)
  t.end()
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
