'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { OffsetLog } = require('@millrace/offset-log')
const { verify } = require('@millrace/repair')
const { isLongRun } = require('@millrace/testkit')
const { loadTable } = require('..')
const { parseOptions: parse } = require('../engine/command')
const { Results } = require('../engine/results')
const { Tally, runPipeline } = require('../lib/measure')
const { table: { groups: [{ rows: layers }] } } = require('../tables/layers')
const { table } = require('../tables/limits')
const { findLongestBlock } = require('../tables/limits/rows/event-loop')
const { makeTenFold } = require('../tables/limits/rows/memory')
const { writeLargeLog } = require('../tables/limits/rows/opening')
const { createRecords, measureLog, writeCommits, RECORD_SIZE } = require('../tables/limits/runners')
const { makeFolder, runBench } = require('./support')

const parseOptions = (argv) => parse(table, argv)
const rowFiles = (...names) => names.map((name) => path.join(__dirname, 'support', 'rows', `${name}.js`)).join(',')
const rows = table.groups.flatMap((group) => group.rows)

tape('limits options: the defaults are those of its notes, lists and numbers are understood', (t) => {
  const { rows, runs, records, out, command } = parseOptions([])
  t.equal(new Set(rows.map(({ name }) => name)).size, 61, 'each row has a name of its own')
  t.equal(runs, 5)
  t.equal(records, 458803)
  t.equal(out, undefined)
  t.equal(command, 'npm run bench -- limits')
  const some = parseOptions(['--rows', `space-single,${rowFiles('fast')}`, '--runs', '2', '--out', '/some/where'])
  t.deepEqual(some.rows.map((row) => row.name), ['space-single', 'fast'])
  t.deepEqual(parseOptions(['--only', 'file,items']).rows.map((row) => row.name), ['file', 'items'])
  t.equal(parseOptions(['--rows', 'gets']).rows.length, 4, 'a group of rows')
  t.equal(some.command, 'npm run bench -- limits --rows space-single,fast.js --runs 2', 'the command holds no path')
  t.end()
})

tape('limits and growth: help and notes name every row', (t) => {
  const notes = fs.readFileSync(path.join(__dirname, '..', 'notes', 'limits.md'), 'utf8')
  for (const { name, groups } of [table, loadTable('growth')]) {
    const { status, stdout, stderr } = runBench(name, '--help')
    t.deepEqual([status, stderr], [0, ''])
    for (const { name, what } of groups.flatMap(({ rows }) => rows)) {
      t.ok(stdout.includes(name) && stdout.includes(what), name)
      t.ok(notes.includes(`\`${name}\``), `${name} in the notes`)
      t.ok(what.length <= 42, `${name} fits the table`)
    }
  }
  t.end()
})

tape('limits: each side of each row is a peer of its table, or else it would never run', (t) => {
  for (const { name, groups, peers } of [table, loadTable('growth')]) {
    const known = peers.map(({ name }) => name)
    for (const row of groups.flatMap(({ rows }) => rows)) {
      const { goal: { times = [], within = [], bound } } = row.figures[0]
      const compared = [...times, ...within].map(({ of }) => of)
      t.ok(Object.keys(row.peers).every((peer) => known.includes(peer)), `${name}: ${row.name}`)
      t.ok([...compared, ...bound ? [bound] : []].every((peer) => row.peers[peer]), `${row.name} is compared with what it measures`)
    }
  }
  t.end()
})

tape('limits: rows that meet their goals or nearly do end well, and leave a table and a CSV file', (t) => {
  const out = makeFolder(t)
  const { status, stdout, stderr } = runBench('limits', '--rows', rowFiles('fast', 'close'), '--runs', '2', '--out', out)
  t.equal(status, 0, stderr)
  t.ok(/fast +fast : fixed +1\.5 ms +3 ms +0\.50× +<= 1× +met\n/.test(stdout), stdout)
  t.ok(/close +close : fixed +105 ms +100 ms +1\.05× +<= 1× +close\n/.test(stdout))
  const csv = fs.readFileSync(path.join(out, 'data', 'limits.csv'), 'utf8')
  t.ok(csv.includes('\nfast,millrace,,2,ms,1.5\nfast,millrace,,2,first,15\n'), 'the first sample is apart')
  t.notOk(csv.includes(out))
  t.deepEqual(fs.readdirSync(path.join(out, 'images')), [], 'a chart without data is not drawn')
  t.end()
})

tape('limits: a goal missed by more than 10% is exit code 1, with the figures all the same', (t) => {
  const out = makeFolder(t)
  const { status, stdout } = runBench('limits', '--rows', rowFiles('slow'), '--runs', '1', '--out', out)
  t.equal(status, 1)
  t.ok(/slow : fixed .* missed\n/.test(stdout))
  t.ok(fs.existsSync(path.join(out, 'data', 'limits.csv')))
  t.end()
})

/** Results of rows that took so many milliseconds, by peer, in one run after the other. */
const makeResults = (times) => new Results(Object.entries(times).flatMap(([row, peers]) => {
  return Object.entries(peers).flatMap(([peer, values]) => {
    return values.map((ms, index) => ({ row, peer, run: index + 1, figures: { ms } }))
  })
}))
const facts = {
  machine: 'Some CPU, 2 cores, 24 GiB memory',
  node: 'v20.0.0',
  input: 'generated; 458803 records, 342426159 bytes as JSON, 319541240 as binary; 472 have value.content.root == %x'
}

tape('limits: the chart leads with the multiples that it shows, and has goals, misses and others', async (t) => {
  const nothing = { json: { millrace: [1], json: [1] } }
  const results = makeResults({
    'scan-zlib': { millrace: [55, 60, 65], loop: [50, 50, 50], least: [52, 54, 56] },
    items: { millrace: [200, 200], loop: [50, 50] },
    'items-flumelog': { millrace: [200, 200], 'flumelog-offset': [1100, 1100] },
    ...nothing
  })
  const svg = await table.charts.limits(results, { rows, facts })
  const texts = [...svg.matchAll(/<text[^>]*>(.*?)<\/text>/g)].map((match) => match[1].replace(/<[^>]*>/g, ' ').trim())
  for (const text of ['every record, verified, zlib', 'a stream of items', '0×', '4×', '1.20× the least: 1.08×',
    '4.00× missed by 33%, flumelog-offset: 22×']) {
    t.ok(texts.includes(text), text)
  }
  const all = texts.join(' ').replace(/\s+/g, ' ')
  t.ok(all.includes('Millrace reads a log in 1.20 to 4.00 times the time of reading its file'), all)
  t.ok(all.includes('1 of 2 ways are within their goals'))
  t.notOk(texts.some((text) => text.includes('every block')), 'what was not measured is not drawn')
  t.equal(await table.charts.limits(results, { rows, facts }), svg, 'the same results give the same bytes')
  t.equal(await table.charts.limits(makeResults(nothing), { rows, facts }), undefined, 'nothing to draw')
})

tape('limits: the tables of pages have the rows that ran, ratios with their ranges, and what is possible', (t) => {
  const results = makeResults({
    'scan-zlib': { millrace: [200, 220], loop: [50, 50], least: [140, 160] },
    'append-lmdb': { millrace: [10], lmdb: [30], least: [9] },
    'event-loop': { millrace: [3] },
    'get-cache': { millrace: [10], map: [5] }
  })
  const shown = { rows, facts }
  t.deepEqual(table.tables['scans short'](results, shown).split('\n').slice(2), ['| verified scan, zlib.crc32 : bare loop | 4.20× (4.00-4.40) |'])
  t.deepEqual(table.tables['appends short'](results, shown).split('\n').slice(2), ['| append, batches of 100 : LMDB | 3.00× as fast |'])
  t.deepEqual(table.tables['event-loop short'](results, shown).split('\n').slice(2), ['| longest block, scan, verified : 6 ms | 3 ms |'])
  t.deepEqual(table.tables.missed(results, shown).split('\n').slice(2), [
    '| `scan-zlib` | 4.20× (4.00-4.40) | <= 3× | 40% | 3.00× |',
    '| `append-lmdb` | 3.00× | >= 4× | 33% | 3.33× |'
  ])
  const whole = table.tables[''](results, shown)
  t.equal(whole.split('\n').filter((line) => line.startsWith('| `')).length, 4)
  t.ok(whole.includes('go from record to record: `scan-zlib` 3.00× at least.'), whole)
  t.end()
})

tape('limits: records to append are of one size, the same every time, and none like another', (t) => {
  const records = createRecords(300)
  t.ok(records.every(({ length }) => length === RECORD_SIZE))
  t.equal(new Set(records.map((record) => record.toString('hex'))).size, 300)
  t.deepEqual(createRecords(300), records)
  t.end()
})

tape('limits: a log is tallied as the layer `log` of the bench does', async (t) => {
  const file = path.join(makeFolder(t), 'any.log')
  const log = OffsetLog(file)
  await log.append(createRecords(2500))
  const tally = new Tally(layers.find(({ name }) => name === 'log'))
  await log.scan({}, ({ buffer, count, seqs, starts, ends }) => {
    for (let index = 0; index < count; index++) tally.visit(seqs[index], buffer, starts[index], ends[index])
  })
  await log.close()
  t.deepEqual(await measureLog(file), tally.result())
})

tape('limits: the large log is what a clean close leaves, with a hole in it', async (t) => {
  const folder = makeFolder(t)
  const [small, large] = ['small', 'large'].map((name) => path.join(folder, name))
  await writeCommits(small, { commitCount: 2, recordsPerCommit: 1000 })
  writeLargeLog(large, 5e9, small)
  const { size, blocks } = fs.statSync(large)
  t.ok(size > 5e9 && size < 5.1e9)
  t.ok(blocks * 512 < 1e6, `${blocks * 512} bytes on the disk`)
  const log = OffsetLog(large)
  await log.ready()
  t.equal(log.recovery, null)
  t.ok(log.since.value > 5e9)
  const records = createRecords(3)
  t.deepEqual(await log.get(log.since.value), records[2])
  const seq = await log.append(records[0])
  await log.close()
  const again = OffsetLog(large, { flags: 'r' })
  t.deepEqual(await again.get(seq), records[0], 'it is good to be appended to')
  t.equal(again.since.value, seq)
  await again.close()
})

tape('limits: the space of a log is within its goals', (t) => {
  const { status, stdout } = runBench('limits', '--rows', 'space-batch,space-single', '--out', makeFolder(t))
  t.equal(status, 0, stdout)
  t.equal((stdout.match(/ met\n/g) ?? []).length, 2)
  t.end()
})

tape('limits: the log ten times over is a log like any other', async (t) => {
  const file = path.join(makeFolder(t), 'any.offset32')
  const log = OffsetLog(file, { framing: 'offset32' })
  await log.append(createRecords(300))
  await log.close()
  const large = `${file}.x10`
  t.equal(await makeTenFold(file, large), undefined, 'nothing is lacking')
  const { records, delivered } = await measureLog(file)
  t.ok((await verify(large)).isSound)
  const all = await measureLog(large)
  t.deepEqual([all.records, all.delivered], [10 * records, 10 * delivered])
})

tape('limits: calls under way are never more than asked, and answers at once do not grow the stack', async (t) => {
  const order = []
  let [active, most] = [0, 0]
  await runPipeline(100, 7, (index, cb) => {
    most = Math.max(most, ++active)
    setImmediate(() => {
      active--
      order.push(index)
      cb(null)
    })
  })
  t.equal(most, 7)
  t.deepEqual(order, Array.from({ length: 100 }, (_, index) => index))
  await runPipeline(1e5, 1, (index, cb) => cb(null))
  await runPipeline(3, 2, (index, cb) => cb(index === 1 ? new Error('broken') : null)).then(() => t.fail(), (err) => {
    t.equal(err.message, 'broken')
  })
})

tape('limits: the longest block is the longest time between two turns of the event loop', async (t) => {
  const longest = await findLongestBlock(async () => {
    await new Promise(setImmediate)
    for (const end = performance.now() + 30; performance.now() < end;);
    await new Promise(setImmediate)
  })
  t.ok(longest >= 30, `${longest} ms`)
})

tape('limits: every row runs, and all of its sides do the same', (t) => {
  const some = rows.filter((_, index) => isLongRun || index % 5 === 0)
  const out = makeFolder(t)
  const few = ['--runs', '1', '--samples', '0', '--records', '2000']
  const { stdout, stderr } = runBench('limits', '--rows', some.map(({ name }) => name).join(','), ...few, '--out', out)
  t.ok(stdout.includes('written: '), stderr)
  const csv = fs.readFileSync(path.join(out, 'data', 'limits.csv'), 'utf8')
  t.deepEqual(fs.readdirSync(path.join(out, 'images')), ['limits.png', 'limits.svg'])
  for (const { name, peers } of some) {
    for (const peer of Object.keys(peers)) t.ok(csv.includes(`\n${name},${peer},,1,`) || csv.includes(`absent: ${name} of `), `${name} ${peer}`)
  }
  t.end()
})
