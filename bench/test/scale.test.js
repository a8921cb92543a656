'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { OffsetLog } = require('@millrace/offset-log')
const { drawScale } = require('../scale/lib/chart')
const { grow } = require('../scale/lib/grow')
const { formatSize, parseOptions } = require('../scale/lib/options')
const { formatCsv, formatTable, toPoints } = require('../scale/lib/report')
const { checkRoom } = require('../scale/lib/room')
const { createRunner, makeFolder } = require('./support')

const runScale = createRunner('scale')
const facts = { command: 'c', machine: 'm', node: 'n', packages: 'p', cpu: 'Some CPU', cores: 2, idleMemory: 50e6 }

/** Of two logs, three sizes and two runs. */
function makeMeasurements (sizes = [10e6, 100e6, 1e9]) {
  return ['checked', 'offset48'].flatMap((framing) => sizes.flatMap((wanted) => [1, 2].map((run) => ({
    framing,
    wanted,
    size: wanted + 7,
    run,
    records: wanted / 1000,
    scanMs: wanted / 1e6 * run,
    openMs: run,
    peakMemory: 60e6
  }))))
}

tape('scale: a log grows from size to size, is measured at each, and is gone afterwards', (t) => {
  const out = makeFolder(t)
  const { status, stdout, stderr } = runScale('--sizes', '1MB,300KB', '--runs', '1', '--out', out)
  t.equal(status, 0, stderr)
  const csv = fs.readFileSync(path.join(out, 'data', 'scale.csv'), 'utf8')
  const rows = csv.trim().split('\n').filter((line) => /^(checked|offset48),/.test(line)).map((line) => line.split(','))
  t.deepEqual(rows.map(([framing]) => framing), ['checked', 'offset48', 'checked', 'offset48'])
  t.ok(rows.every(([, size, , records]) => size / records > 500 && size / records < 1000), csv)
  t.ok(rows.slice(0, 2).every(([, size]) => size >= 300e3 && size < 1e6), 'ascending')
  t.ok(rows.slice(2).every(([, size]) => size >= 1e6))
  t.equal((stdout.match(/^\| `(checked|offset48)` \| .* \|$/gm) ?? []).length, 4, stdout)
  t.deepEqual(fs.readdirSync(path.join(out, 'images')), ['scale.png', 'scale.svg'])
  t.deepEqual(fs.readdirSync(path.join(out, 'data', 'generated')), [])
  t.notOk(csv.includes(out), 'no path of this machine')
  t.end()
})

tape('scale: a log that has grown in steps holds what one that has grown at once holds', async (t) => {
  const folder = makeFolder(t)
  const [steps, once] = ['steps', 'once'].map((name) => path.join(folder, name))
  for (const size of [100e3, 400e3, 2e6]) await grow({ file: steps, framing: 'checked', size })
  await grow({ file: once, framing: 'checked', size: 2e6 })
  const counts = []
  for (const file of [steps, once]) {
    const log = OffsetLog(file, { flags: 'r' })
    let count = 0
    await log.scan({}, (chunk) => { count += chunk.count })
    counts.push(count)
    await log.close()
  }
  t.ok(Math.abs(counts[0] - counts[1]) <= 1000, `${counts}: not more than batches apart`)
})

tape('scale: too little room on the disk is said before anything is written', (t) => {
  const options = { sizes: [1e6, 10e9], framings: ['checked', 'offset48'] }
  t.doesNotThrow(() => checkRoom('.', options, () => 23e9))
  t.throws(() => checkRoom('.', options, () => 1.5e9), /^Error: --sizes: the logs need 22 GB of the disk at once, and it has 1.5 GB left; [^\n]*$/)
  t.throws(() => checkRoom(makeFolder(t), { sizes: [1e24], framings: ['checked'] }), /has [\d.]+ [KMG]B left/, 'of this disk')
  t.end()
})

tape('scale report: medians in the table, every run in the CSV file', (t) => {
  const measurements = makeMeasurements()
  const points = toPoints(measurements)
  t.deepEqual(points.map(({ framing, ns }) => [framing, ns]).slice(0, 2), [['checked', 1500], ['checked', 1500]])
  t.ok(formatTable(points, facts).includes('| `checked` | 10 MB | 10,000 | 1500 | 1.50 | 60 |'))
  const [heads, ...lines] = formatCsv(measurements, facts).trim().split('\n').filter((line) => !line.startsWith('#'))
  t.equal(lines.length, 12)
  t.equal(lines[0], 'checked,10000007,1,10000,10.000,1000.00,1.0000,60000000')
  t.equal(heads.split(',').length, lines[0].split(',').length)
  t.end()
})

tape('scale chart: three panels with their units, sizes by name, also for one size or for many', async (t) => {
  const draw = async (sizes) => {
    const [svg] = await drawScale(makeFolder(t), toPoints(makeMeasurements(sizes)), facts)
    return fs.readFileSync(svg, 'utf8')
  }
  const svg = await draw()
  for (const text of ['Millrace, checked', 'Millrace, offset48', 'ns a record', 'ms', 'peak of a scan, MB', '10 MB', '100 MB', '1 GB',
    'size of the log', 'Node.js alone', 'Some CPU']) {
    t.ok(svg.includes(`>${text}<`) || svg.includes(text), text)
  }
  t.notOk((await draw([10e6])).includes('NaN'))
  const many = await draw([1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 1e9])
  t.ok((many.match(/>1 GB</g) ?? []).length === 3 && !many.includes('>5 MB<'), 'not all of many sizes are named')
})

tape('scale options: sizes are understood, wrong ones are refused with one line and exit code 2; all are in --help', (t) => {
  t.deepEqual(parseOptions(['--sizes', '1GB,10MB,1.5mb,10MB']).sizes, [1.5e6, 1e7, 1e9])
  t.deepEqual(parseOptions([]).sizes, [1e7, 1e8, 1e9])
  t.equal(parseOptions(['--sizes', '1GB', '--framings', 'checked']).command, 'npm run bench:scale -- --sizes 1GB --framings checked')
  t.deepEqual([1e5, 1.5e6, 1e10].map(formatSize), ['100 KB', '1.5 MB', '10 GB'])
  const wrong = [['--siz', 'x'], ['stray'], ['--sizes', ''], ['--sizes', '10'], ['--sizes', '1KB'], ['--sizes', '-1MB'],
    ['--sizes', '2000GB'], ['--framings', 'offset32'], ['--runs', '0'], ['--out', '']]
  for (const argv of wrong) {
    t.throws(() => parseOptions(argv), { name: 'Error', message: /^[^\n]+$/ }, argv.join(' '))
  }
  const { status, stdout, stderr } = runScale('--sizes', 'big')
  t.deepEqual([status, stdout], [2, ''])
  t.ok(/^bench:scale: .*\n$/.test(stderr), stderr)
  const { stdout: help } = runScale('--help')
  const readme = fs.readFileSync(path.join(__dirname, '..', 'README.md'), 'utf8')
  t.ok(readme.includes('npm run bench:scale'))
  for (const name of ['sizes', 'framings', 'runs', 'out']) t.ok(help.includes(`--${name}`) && readme.includes(`--${name}`), name)
  t.end()
})
