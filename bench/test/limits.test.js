'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { OffsetLog } = require('@millrace/offset-log')
const { verify } = require('@millrace/repair')
const { isLongRun } = require('@millrace/testkit')
const { layers } = require('..')
const { UserError } = require('../lib/run')
const { runPipeline } = require('../lib/measure')
const { formatCsv } = require('../lib/report')
const { Tally } = require('../lib/measure')
const { drawLimits } = require('../limits/report')
const { parseOptions } = require('../limits')
const { formatTable, judge, toSheet } = require('../limits/report')
const { findLongestBlock } = require('../limits/rows/event-loop')
const { findTenFold } = require('../limits/rows/memory')
const { writeLargeLog } = require('../limits/rows/opening')
const { createRecords, measureLog, writeCommits, RECORD_SIZE } = require('../limits/runners')
const { createFixedRow, makeResult } = require('./support/fixed-row')
const { createRunner, makeFolder } = require('./support')

const runLimits = createRunner('limits')
const rowFile = (name) => path.join(__dirname, 'support', 'rows', `${name}.js`)
const rowFiles = (...names) => names.map(rowFile).join(',')

tape('limits options: the defaults are those of its notes, lists and numbers are understood', (t) => {
  const { rows, runs, records, out, command } = parseOptions([])
  t.equal(new Set(rows.map(({ name }) => name)).size, 53 + 24, 'each row has a name of its own')
  t.equal(runs, 5)
  t.equal(records, 458803)
  t.equal(out, undefined)
  t.equal(command, 'npm run bench:limits')
  const some = parseOptions(['--rows', `space-single,${rowFile('fast')}`, '--runs', '2', '--out', '/some/where'])
  t.deepEqual(some.rows.map((row) => row.name), ['space-single', 'fast'])
  t.deepEqual(parseOptions(['--only', 'file,items']).rows.map((row) => row.name), ['file', 'items'])
  t.equal(parseOptions(['--rows', 'growth']).rows.length, 24, 'a chapter')
  t.equal(some.command, 'npm run bench:limits -- --rows space-single,fast.js --runs 2', 'the command holds no path')
  t.end()
})

tape('limits options: each wrong one is refused with one line and exit code 2', (t) => {
  const wrong = [['--row', 'x'], ['stray'], ['--rows'], ['--rows', ''], ['--rows', 'nosuch'], ['--rows', 'constructor'],
    ['--rows', './nosuch.js'], ['--rows', __filename.replace('limits.test', 'support/index')], ['--runs', '0'],
    ['--runs', 'x'], ['--samples', '-1'], ['--records', '0'], ['--out', '']]
  for (const argv of wrong) {
    try {
      parseOptions(argv)
      t.fail(`${argv.join(' ')} was accepted`)
    } catch (err) {
      t.ok(err instanceof UserError && !err.message.includes('\n'), `${argv.join(' ')}: ${err.message}`)
    }
  }
  const { status, stdout, stderr } = runLimits('--rows', 'nosuch')
  t.equal(status, 2)
  t.equal(stdout, '')
  t.ok(/^bench:limits: .*\n$/.test(stderr), stderr)
  t.end()
})

tape('limits --help: names every option and every row, as do its notes', (t) => {
  const { status, stdout, stderr } = runLimits('--help')
  t.equal(status, 0)
  t.equal(stderr, '')
  const readme = fs.readFileSync(path.join(__dirname, '..', 'notes', 'limits.md'), 'utf8')
  for (const name of ['rows', 'only', 'runs', 'samples', 'records', 'out', 'help']) t.ok(stdout.includes(`--${name}`), `--${name}`)
  for (const { name, what } of parseOptions([]).rows) {
    t.ok(stdout.includes(name) && stdout.includes(what), name)
    t.ok(readme.includes(`\`${name}\``), `${name} in the notes`)
    t.ok(what.length <= 42, `${name} fits the table`)
  }
  t.end()
})

tape('limits: a goal is met, missed by a little, or missed, by the median of the ratios', (t) => {
  const row = createFixedRow({ name: 'any', goal: 2 })
  const verdict = judge(makeResult(row, [10, 10], [40, 20], [90, 30]))
  t.equal(verdict.ours, 40)
  t.equal(verdict.peer, 20)
  t.deepEqual(verdict.ratio, { median: 2, min: 1, max: 3, spread: 1 })
  const outcome = (...rounds) => {
    const { isMet, isFailure } = judge(makeResult(row, ...rounds))
    return [isMet, isFailure]
  }
  t.deepEqual(outcome([2, 1]), [true, false], 'the goal itself is within it')
  t.deepEqual(outcome([2.19, 1]), [false, false])
  t.deepEqual(outcome([2.21, 1]), [false, true])
  t.equal(judge({ row, absent: 'x', rounds: [] }), undefined)
  t.end()
})

tape('limits: the table fits a hundred columns, and explains what is not plain', (t) => {
  const what = 'x'.repeat(42)
  const table = formatTable([
    makeResult(createFixedRow({ name: 'a', what, goal: 12.5 }), [9456, 765], [8456, 876], [7756, 978]),
    makeResult(createFixedRow({ name: 'b', what, unit: 'bytes', isShare: true, goal: 0.025 }), [1218000, 60030000]),
    makeResult(createFixedRow({ name: 'c', what, goal: 1 }), [0.1234, 0.1], [1.05, 1], [9.4, 9]),
    { row: createFixedRow({ name: 'd', what }), absent: 'better-sqlite3', rounds: [] }
  ])
  for (const line of table.split('\n')) t.ok(line.length <= 100, `${line.length}: ${line}`)
  for (const text of ['8,456 ms', '9.65× (7.93-12.36)', '1.22 MB', '2.03%', '<= 2.5%', '<= 12.5×', 'met', '1.05 ms',
    'absent: d needs better-sqlite3', 'close: missed by less than 10%']) {
    t.ok(table.includes(text), text)
  }
  t.notOk(formatTable([makeResult(createFixedRow({ name: 'a' }), [1, 2])]).includes('close'))
  t.end()
})

tape('limits: a row of speed is written the other way round, and judged the same', (t) => {
  const row = createFixedRow({ name: 'a', goal: undefined, faster: 8 })
  const table = formatTable([makeResult(row, [1, 10], [1, 12.5], [1, 5])])
  t.ok(/10\.0× \(5\.00-12\.5\) +>= 8× +met/.test(table), table)
  t.equal(judge(makeResult(row, [1, 7.5])).isMet, false)
  t.equal(judge(makeResult(row, [1, 7.5])).isFailure, false)
  t.equal(judge(makeResult(row, [1, 7])).isFailure, true)
  const slower = createFixedRow({ name: 'b', goal: undefined, faster: 0.35 })
  t.ok(/0\.40× +>= 0\.35× +met/.test(formatTable([makeResult(slower, [2.5, 1])])))
  t.end()
})

tape('limits: a goal that what bounds it misses too is out of reach, and missed all the same', (t) => {
  const row = createFixedRow({ name: 'a', goal: 3, bound: { what: 'do it' } })
  const verdictOf = (...rounds) => {
    const { isMet, isFailure, isOutOfReach } = judge(makeResult(row, ...rounds))
    return [isMet, isFailure, isOutOfReach]
  }
  t.deepEqual(verdictOf([4, 1, 3.1], [4, 1, 3.2]), [false, true, true])
  t.deepEqual(verdictOf([4, 1, 2.9]), [false, true, false])
  t.deepEqual(verdictOf([2, 1, 3.1]), [true, false, false], 'it was met')
  const table = formatTable([makeResult(row, [4, 1, 3.1]), makeResult({ ...row, name: 'b' }, [4, 1, 2.9])])
  t.ok(/4\.00× +<= 3× +OUT OF REACH\n/.test(table), table)
  t.ok(/4\.00× +<= 3× +MISSED\n/.test(table), table)
  t.ok(table.includes('a: 3.10× at least, which is to do it\nb: 2.90× at least'), table)
  const fast = createFixedRow({ name: 'c', goal: undefined, faster: 4, bound: { what: 'do it' } })
  t.ok(formatTable([makeResult(fast, [1, 2, 0.5])]).includes('c: 4.00× at most, which is to do it'))
  t.end()
})

tape('limits: the CSV file has a line a round, and one for the medians', (t) => {
  const facts = { command: 'npm run bench:limits', machine: 'M', node: 'v20', packages: 'p 1', input: 'i' }
  const csv = formatCsv(toSheet([
    makeResult(createFixedRow({ name: 'a', goal: 2 }), [10, 10], [40, 20], [90, 30]),
    makeResult(createFixedRow({ name: 'c', goal: 2 }), [10, 10, 5]),
    { row: createFixedRow({ name: 'b' }), absent: 'x', rounds: [] },
    makeResult(createFixedRow({ name: 'd', goal: undefined }), [10, 10])
  ], facts))
  const lines = csv.split('\n')
  for (const word of ['npm run bench:limits', 'machine: M', 'p 1', 'row a: a : fixed']) t.ok(csv.includes(word), word)
  t.deepEqual(lines.filter((line) => !line.startsWith('#')), [
    'row,run,unit,ours,peer,ratio,goal,met,ours_first,peer_first,bound',
    'a,1,ms,10,10,1,2,,20,20,',
    'a,2,ms,40,20,2,2,,80,40,',
    'a,3,ms,90,30,3,2,,180,60,',
    'a,median,ms,40,20,2,2,yes,,,',
    'c,1,ms,10,10,1,2,,20,20,5',
    'c,median,ms,10,10,1,2,yes,,,0.5000',
    'b,median,ms,,,,1,absent,,,',
    'd,1,ms,10,10,1,,,20,20,',
    'd,median,ms,10,10,1,,,,,',
    ''
  ])
  t.end()
})

tape('limits: the chart has a bar a row that is drawn, as a multiple of the bare loop, with its goal', async (t) => {
  const facts = {
    machine: 'Some CPU, 2 cores, 24 GiB memory',
    node: 'v20.0.0',
    input: 'generated; 458803 records, 342426159 bytes as JSON, 319541240 as binary; 472 have value.content.root == %x'
  }
  const results = [
    makeResult(createFixedRow({ name: 'scan', drawn: 'a scan', goal: 1.2 }), [55, 50, 52], [60, 50, 54], [65, 50, 56]),
    makeResult(createFixedRow({ name: 'items', drawn: 'a stream', goal: 3 }), [200, 50]),
    makeResult(createFixedRow({ name: 'old', beside: { row: 'items', label: 'some other' } }), [200, 1100]),
    makeResult(createFixedRow({ name: 'plain' }), [1, 1]),
    { row: createFixedRow({ name: 'not', drawn: 'not run' }), absent: 'x', rounds: [] }
  ]
  const svg = await drawLimits(results, facts)
  const texts = [...svg.matchAll(/<text[^>]*>(.*?)<\/text>/g)].map((match) => match[1].replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ').trim())
  for (const text of ['Single runs: a scan or query of a log seems to take 1.2 to 4.0 times as long as a plain read of its file', 'a scan', 'a stream', '0×', '3×',
    '1.20× the least: 1.08×', '4.00× missed by 33%, some other: 22×']) {
    t.ok(texts.includes(text), text)
  }
  t.notOk(texts.some((text) => text.includes('not run')))
  t.ok(svg.includes('prefers-color-scheme: dark'))
  t.equal(await drawLimits(results, facts), svg, 'the same results give the same bytes')
  t.equal(await drawLimits(results.slice(3), facts), undefined, 'nothing to draw')
})

tape('limits: rows that are met, close or absent end well, and leave a table and a CSV file', (t) => {
  const out = makeFolder(t)
  const { status, stdout, stderr } = runLimits('--rows', rowFiles('fast', 'close', 'absent', 'no-room'), '--runs', '2', '--out', out)
  t.equal(status, 0, stderr)
  t.ok(/fast : fixed +1\.50 ms +3\.00 ms +0\.50× +<= 1× +met\n/.test(stdout), stdout)
  t.ok(/close : fixed +105 ms +100 ms +1\.05× +<= 1× +close\n/.test(stdout))
  t.ok(/absent : fixed +- +- +- +<= 1× +absent\n/.test(stdout))
  t.ok(stdout.includes('absent needs no-such-package'))
  t.ok(stdout.includes('absent: no-room needs 9 PB of room on the disk'), 'for which the machine has too little')
  const csv = fs.readFileSync(path.join(out, 'data', 'limits.csv'), 'utf8')
  t.ok(csv.includes('\nfast,2,ms,1.5000,3,0.5000,1,,15,30,\n'))
  t.notOk(csv.includes(out))
  t.deepEqual(fs.readdirSync(path.join(out, 'data', 'generated')), [], 'what rows made is gone')
  t.end()
})

tape('limits: a goal missed by more than 10% is exit code 1, with the figures all the same', (t) => {
  const out = makeFolder(t)
  const { status, stdout } = runLimits('--rows', rowFiles('slow'), '--runs', '1', '--out', out)
  t.equal(status, 1)
  t.ok(/slow : fixed .* MISSED\n/.test(stdout))
  t.ok(fs.existsSync(path.join(out, 'data', 'limits.csv')))
  t.end()
})

tape('limits: a row without a goal is shown, and not judged', (t) => {
  const result = makeResult(createFixedRow({ name: 'a', goal: undefined }), [40, 10])
  t.deepEqual([judge(result).isMet, judge(result).isFailure], [true, false])
  t.ok(/a : fixed +40\.0 ms +10\.0 ms +4\.00×\n?$/m.test(formatTable([result])), formatTable([result]))
  t.end()
})

for (const [name, words] of Object.entries({
  idle: ['row idle', 'records is 7 by peer, and 6 by ours'],
  wrong: ['row wrong', 'records is 6 by ours, and 7 by what was prepared'],
  dying: ['row dying, peer', 'made of cheese']
})) {
  tape(`limits: a row that is ${name} is named with what is wrong, and nothing is written`, (t) => {
    const out = makeFolder(t)
    const { status, stderr } = runLimits('--rows', rowFile(name), '--runs', '1', '--out', out)
    t.equal(status, 1)
    for (const word of words) t.ok(stderr.includes(word), `${word} in ${stderr}`)
    t.notOk(fs.existsSync(path.join(out, 'data', 'limits.csv')))
    t.end()
  })
}

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
  const { status, stdout } = runLimits('--rows', 'space-batch,space-single', '--out', makeFolder(t))
  t.equal(status, 0, stdout)
  t.equal((stdout.match(/ met\n/g) ?? []).length, 2)
  t.end()
})

tape('limits: the log ten times over is a log like any other', async (t) => {
  const file = path.join(makeFolder(t), 'any.offset32')
  const log = OffsetLog(file, { framing: 'offset32' })
  await log.append(createRecords(300))
  await log.close()
  const { large } = await findTenFold(file)
  const { records, delivered } = await measureLog(file)
  t.ok((await verify(large)).isSound)
  const all = await measureLog(large)
  t.deepEqual([all.records, all.delivered], [10 * records, 10 * delivered])
  const { mtimeMs } = fs.statSync(large)
  await findTenFold(file)
  t.equal(fs.statSync(large).mtimeMs, mtimeMs, 'it is made once')
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

tape('limits: every row runs, and both of its sides do the same', (t) => {
  const out = makeFolder(t)
  const { rows } = parseOptions([])
  const some = rows.filter((_, index) => isLongRun || index % 5 === 0)
  const { stdout, stderr } = runLimits('--rows', some.map(({ name }) => name).join(','), '--runs', '1', '--samples', '0', '--records', '2000', '--out', out)
  t.ok(stdout.includes('written: '), stderr)
  const read = (name) => fs.readFileSync(path.join(out, 'data', `${name}.csv`), 'utf8').split('\n')
  const lines = ['limits', 'growth'].flatMap(read)
  t.deepEqual(fs.readdirSync(path.join(out, 'images')), ['growth.png', 'growth.svg', 'limits.png', 'limits.svg'])
  for (const { name } of some) {
    t.ok(lines.some((line) => line.startsWith(`${name},1,`) || line.startsWith(`${name},median,`)), name)
  }
  t.end()
})
