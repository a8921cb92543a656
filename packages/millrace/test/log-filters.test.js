'use strict'
// --since, --until, --level and --pretty on the records of many loggers, and on folders whose clocks were wrong.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SegmentedLog } = require('@millrace/segmented-log')
const { newPath, temporaryFolder } = require('@millrace/testkit')
const { timeFilter } = require('@millrace/where')
const { openSource } = require('../lib/cli/source')
const { makeLog } = require('./make-log')
const { callCommand } = require('./run-command')

/** Fifteen shapes, all of the same second and all errors. */
const shapes = fs.readFileSync(path.join(__dirname, 'shapes.ndjson'), 'utf8').trim().split('\n')

const count = async (...words) => Number((await callCommand(['count', ...words])).stdout)

tape('filters: fifteen shapes of records are found by time and by level, and shown with both', async (t) => {
  for (const codec of ['json', 'binary', 'bytes']) {
    const file = await makeLog(shapes.map((line) => codec === 'bytes' ? Buffer.from(line) : JSON.parse(line)), { codec })
    for (const words of [['--since', '2026-09-21T14:13:20'], ['--until', '2026-09-21 14:13:21Z'], ['--level', 'error'],
      ['--since', '2026-09-21T16:13:20+02:00', '--level', 'ERR', '--until', '1790000001']]) {
      t.equal(await count(file, ...words), 15, `${codec}: ${words.join(' ')}`)
    }
    t.equal(await count(file, '--since', '2026-09-21T14:13:21Z'), 0)
    t.equal(await count(file, '--level', 'fatal'), 0)
    if (codec === 'bytes') continue
    const { stdout } = await callCommand(['cat', file, '--pretty'])
    const heads = stdout.split('\n').filter((line) => /^2026-09-21 14:13:20\.\d{3} ERROR( |$)/.test(line))
    t.equal(heads.length, 15, stdout)
  }
})

tape('filters: the levels of all libraries, in any case', async (t) => {
  const names = ['info', 'INFO', 'warn', 'WARN', 'Warn', 'warning', 'WARNING', 'err', 'error', 'ERROR', 'Error', 'crit', 'critical',
    'CRITICAL', 'alert', 'emerg', 'fatal', 'FATAL']
  const file = await makeLog([...names.map((level) => ({ level })), { ts: 1, severity: 'ERROR', msg: 'gcp' }])
  t.equal(await count(file, '--level', 'warn'), 17)
  t.equal(await count(file, '--level', 'error'), 12)
  t.equal(await count(file, '--level', '50'), 12)
  t.equal(await count(file, '--level', 'Critical'), 7)
})

tape('filters: records that say no time or no level are left out with a note', async (t) => {
  const file = await makeLog([{ time: Date.now(), level: 50 }, { msg: 'none' }, { time: Date.now(), msg: 'none' }, { at: {} }])
  const since = await callCommand(['cat', file, '--since', '1h'])
  t.equal(since.stdout.trim().split('\n').length, 2)
  t.equal(since.stderr, 'millrace: left out 2 records without a time; if they have one in a field of their own, name it with --time\n')
  const level = await callCommand(['count', file, '--level', 'warn'])
  t.deepEqual([level.stdout, level.code], ['1\n', 0])
  t.match(level.stderr, /^millrace: left out 3 records without a level; .*--where\n$/)
  const both = await callCommand(['tail', file, '--since', '1h', '--level', 'warn', '--time', 'time'])
  t.match(both.stderr, /2 records without a time in the field 'time'\n.* 1 record without a level/)
  t.equal((await callCommand(['cat', file, '--since', '1h', '--where', 'level'])).stderr, '', 'not of what is not wanted anyway')
})

tape('filters: what is read again, as its file may have changed, is counted once among what is left out', async (t) => {
  const file = await makeLog(Array.from({ length: 100 }, (_, n) => n % 10 === 9 ? { n, time: Date.now() } : { n }))
  for (const reverse of [false, true]) {
    const { log, tally, close } = await openSource(/** @type {any} */ ({}), file, {})
    const found = []
    for await (const { value } of log.stream({ reverse, where: [timeFilter({ since: new Date(0) })] })) {
      found.push(JSON.parse(value).n)
      if (found.length === 3) log._file.blocks.invalidate()
    }
    t.equal(found.length, 10)
    t.equal(tally.untimed, 90)
    await close()
  }
})

tape('filters: --since finds what was logged before a rotation', async (t) => {
  const folder = newPath('logs')
  const log = SegmentedLog(folder, { codec: jsonCodec })
  for (let i = 0; i < 100; i++) await log.append({ level: 50, time: Date.now(), msg: 'payment failed' })
  await log.roll()
  for (let i = 0; i < 10; i++) await log.append({ level: 30, time: Date.now(), msg: 'ok' })
  await log.close()
  t.equal(await count(folder, '--since', '1m'), 110)
  t.equal(await count(folder, '--since', '1m', '--level', 'error'), 100)
})

tape('import and append: invalid UTF-8 is refused, and a byte-order mark is no part of a record', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'u.log')
  const latin = Buffer.from('{"ok":1}\n{"name":"J\u00f6rg"}\n', 'latin1')
  fs.writeFileSync(path.join(folder, 'latin1.ndjson'), latin)
  const imported = await callCommand(['import', file, path.join(folder, 'latin1.ndjson')])
  t.equal(imported.code, 1)
  t.match(imported.stderr, /^millrace: line 2 of .*latin1\.ndjson is no record: its bytes are no UTF-8.*appended \(1\).*\n$/)
  const appended = await callCommand(['append', file], { input: latin })
  t.equal(appended.code, 1)
  t.match(appended.stderr, /line 2 of standard input is no record: its bytes are no UTF-8/)
  fs.writeFileSync(path.join(folder, 'bom.ndjson'), '\ufeff{"bom":1}\r\n\ufeff\r\n{"bom":2}')
  t.equal((await callCommand(['import', file, path.join(folder, 'bom.ndjson')])).code, 0)
  t.equal((await callCommand(['append', file], { input: '\ufeff{"bom":3}\n' })).code, 0)
  t.equal((await callCommand(['cat', file])).stdout, '{"ok":1}\n{"ok":1}\n{"bom":1}\n{"bom":2}\n{"bom":3}\n')
})
