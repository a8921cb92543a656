'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { drawPeers } = require('../peers/lib/chart')
const { formatCsv } = require('../peers/lib/csv')
const { listAbsent, listRows, formatRate } = require('../peers/lib/figures')
const { findNodeSqlite, openSqlite } = require('../peers/lib/open-sqlite')
const { listJobs, listPeers, parseOptions } = require('../peers/lib/options')
const { formatTable } = require('../peers/lib/table')
const { probe } = require('../peers/lib/probe')
const { createRunner, makeFolder } = require('./support')

const runPeers = createRunner('peers')
const peerFile = (name) => path.join(__dirname, 'support', 'peers', `${name}.js`)
const facts = { command: 'c', machine: 'm', node: 'n', packages: 'p 1', input: 'i', cpu: 'Some CPU', cores: 2 }

/** Cells of all peers and jobs, each with these rates; those of the names given are absent. */
function makeCells (rates, ...absent) {
  return listPeers().flatMap((peer) => listJobs().flatMap((job) => {
    const ways = job.mode === 'query' ? peer.ways : ['']
    return ways.map((way) => {
      const reason = absent.includes(peer.name) ? 'not installed' : peer.cannot?.[job.name]
      const runs = reason ? [] : rates.map((rate) => ({ records: rate, ms: 1000, first: null, answer: {} }))
      return { peer, job, way, packages: peer.packages, runs, absent: reason }
    })
  }))
}

tape('peers: a small run ends, agrees, names who is absent, and leaves nothing but its outputs', (t) => {
  const out = makeFolder(t)
  const only = ['checked', 'flumelog-aligned-offset', 'lmdb', peerFile('absent')].join(',')
  const { status, stdout, stderr } = runPeers('--only', only, '--runs', '1', '--records', '300', '--out', out)
  t.equal(status, 0, stderr)
  t.ok(/Absent: Absent: Cannot find module 'no-such-package'/.test(stdout), stdout)
  t.ok(/\| Millrace, checked( \| \*{0,2}[\d.,]+\*{0,2}){6} \| `where` \|/.test(stdout))
  const csv = fs.readFileSync(path.join(out, 'data', 'peers.csv'), 'utf8')
  const lines = csv.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  for (const job of listJobs().map(({ name }) => name)) t.ok(lines.some((line) => line.startsWith(`${job},checked,`)), job)
  t.ok(csv.includes('# absent: scan of absent: Cannot find module'), csv)
  t.notOk(csv.includes(out), 'no path of this machine')
  t.deepEqual(fs.readdirSync(path.join(out, 'images')), ['peers.png', 'peers.svg'])
  const left = fs.readdirSync(path.join(out, 'data', 'generated')).filter((name) => !name.startsWith('ssb-'))
  t.deepEqual(left, [])
  t.end()
})

tape('peers: one that does not give back what it was given is absent, with what was wrong', (t) => {
  const out = makeFolder(t)
  const only = ['checked', 'append', 'durable-256', peerFile('forgetful')].join(',')
  const { status, stdout, stderr } = runPeers('--only', only, '--runs', '1', '--records', '200', '--out', out)
  t.equal(status, 0, stderr)
  t.ok(/Absent: Forgetful: appended .*"records":200.* and found .*"records":199/.test(stdout), stdout)
  t.end()
})

tape('peers: those that disagree about what is read end the bench, and nothing is written', (t) => {
  const out = makeFolder(t)
  const only = ['checked', 'scan', peerFile('forgetful')].join(',')
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
  t.deepEqual(parseOptions(['--only', 'scan']).peers.length, listPeers().length)
  const wrong = [['--onl', 'x'], ['stray'], ['--only', 'nosuch'], ['--only', ''], ['--only', './nosuch.js'],
    ['--only', __filename], ['--runs', '0'], ['--records', 'x'], ['--records', '1000001'], ['--out', '']]
  for (const argv of wrong) t.throws(() => parseOptions(argv), { name: 'Error', message: /^[^\n]+$/ }, argv.join(' '))
  const { status, stdout, stderr } = runPeers('--only', 'nosuch')
  t.deepEqual([status, stdout], [2, ''])
  t.ok(/^bench:peers: .*\n$/.test(stderr), stderr)
  t.end()
})

tape('peers --help: names every option, peer and job, as does the README', (t) => {
  const { status, stdout } = runPeers('--help')
  t.equal(status, 0)
  const readme = fs.readFileSync(path.join(__dirname, '..', 'README.md'), 'utf8')
  for (const name of ['only', 'runs', 'records', 'out', 'help']) t.ok(stdout.includes(`--${name}`), name)
  for (const { name } of [...listPeers(), ...listJobs()]) {
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
  t.equal(listRows(cells).length, listPeers().length + 2)
  t.deepEqual([4.5678, 45678, 456789.9, 45678999].map(formatRate), ['0.00457', '45.7', '457', '45,700'])
  t.end()
})

tape('peers CSV file: every run is a line under its heads', (t) => {
  const csv = formatCsv(makeCells([1000, 3000], 'leveldb'), facts)
  const [heads, ...lines] = csv.trim().split('\n').filter((line) => !line.startsWith('#'))
  t.equal(lines.filter((line) => line.startsWith('scan,sqlite,,')).length, 2)
  for (const line of lines) t.equal(line.split(',').length, heads.split(',').length)
  t.ok(csv.includes('# absent: get of leveldb: not installed'))
  t.end()
})

tape('peers chart: a panel a job, a label a peer, and why a bar is missing', async (t) => {
  const folder = makeFolder(t)
  const files = await drawPeers(folder, makeCells([1000, 3000, 2000], 'lmdb'), facts)
  t.deepEqual(files.map((file) => path.basename(file)), ['peers.svg', 'peers.png'])
  const svg = fs.readFileSync(files[0], 'utf8')
  for (const { meaning } of listJobs()) t.ok(svg.includes(meaning), meaning)
  for (const { label, name } of listPeers()) t.equal(svg.includes(`>${label}<`), name !== 'lmdb', label)
  for (const text of ['never syncs', 'Thousands of records a second', 'median of 3 runs', 'Some CPU']) t.ok(svg.includes(text), text)
  t.deepEqual(await drawPeers(folder, makeCells([]), facts), [], 'no chart of nothing')
})

tape('peers SQLite: takes what Node.js has where better-sqlite3 is not there, or says that there is neither', async (t) => {
  const file = path.join(makeFolder(t), 'any')
  let db
  try {
    db = openSqlite(file)
  } catch (err) {
    t.notOk(findNodeSqlite())
    return t.ok(/neither better-sqlite3 nor node:sqlite/.test(err.message))
  }
  t.ok(['better-sqlite3', 'node:sqlite'].includes(db.name))
  db.exec('CREATE TABLE a (b)')
  db.prepare('INSERT INTO a VALUES (?)').run('x')
  t.deepEqual([...db.column('SELECT b FROM a WHERE b = ?').each('x')], ['x'])
  t.equal(db.column('SELECT b FROM a').get(), 'x')
  db.close()
  const [sqlite] = listPeers().filter(({ name }) => name === 'sqlite')
  t.deepEqual(await probe(sqlite, { folder: makeFolder(t) }), { packages: [db.name] })
})
