'use strict'
// Lines of a logger in a folder: by time, by level, and for people.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { newPath, temporaryFolder } = require('@millrace/testkit')
const { callCommand } = require('./run-command')

const HOUR = 3_600_000

/** A folder with two segments: hours 9 to 5 ago in the first one. */
async function makeFolder () {
  const folder = newPath('logs')
  const log = SegmentedLog(folder, { codec: jsonCodec })
  const now = Date.now()
  for (let ago = 9; ago >= 0; ago--) {
    const time = now - ago * HOUR
    await log.append({ level: ago % 2 ? 30 : 50, time: ago % 3 ? time : new Date(time).toISOString(), msg: `${ago}` })
    if (ago === 5) await log.roll()
  }
  await log.close()
  return folder
}

const messages = ({ stdout }) => stdout.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line).msg).join('')

tape('folders: cat, tail, count and get read a segmented log', async (t) => {
  const folder = await makeFolder()
  t.equal(messages(await callCommand(['cat', folder])), '9876543210')
  t.equal(messages(await callCommand(['tail', '-n', '3', folder])), '210')
  t.equal((await callCommand(['count', folder])).stdout, '10\n')
  const { seq } = JSON.parse((await callCommand(['cat', folder, '-s', '--reverse', '--limit', '1'])).stdout)
  t.equal(messages(await callCommand(['get', folder, String(seq)])), '0')
  const { code, stderr } = await callCommand(['cat', temporaryFolder()])
  t.equal(code, 2, stderr)
})

tape('folders: info, verify and export take all segments', async (t) => {
  const folder = await makeFolder()
  // All but the file of the lock.
  const files = fs.readdirSync(folder).filter((name) => name !== 'writer').map((name) => path.join(folder, name))
  const size = files.reduce((sum, file) => sum + fs.statSync(file).size, 0)
  const info = JSON.parse((await callCommand(['info', folder, '--full', '--json'])).stdout)
  t.deepEqual([info.size, info.segments, info.records, info.reclaimableSize, info.writer], [size, 2, 10, null, null])
  t.match((await callCommand(['info', folder])).stdout, /\nsegments +2\n/)
  const target = newPath('lines')
  t.equal((await callCommand(['export', folder, target, '--since', '150m'])).code, 0)
  t.equal(messages({ stdout: fs.readFileSync(target, 'utf8') }), '210')

  const sound = await callCommand(['verify', folder])
  t.equal(sound.code, 0)
  t.deepEqual(sound.stdout.match(/whole; .*, (5) records/g)?.length, 2, sound.stdout)
  const bytes = fs.readFileSync(files[0])
  bytes[33_000] ^= 1
  fs.writeFileSync(files[0], bytes)
  const damaged = await callCommand(['verify', folder, '--json'])
  t.equal(damaged.code, 1)
  const report = JSON.parse(damaged.stdout)
  t.deepEqual([report.isSound, ...report.segments.map(({ isSound }) => isSound)], [false, false, true])
  t.equal((await callCommand(['verify', folder, '-q'])).stdout, '')
  fs.writeFileSync(`${files[0]}.gz`, 'nothing that can be read')
  fs.unlinkSync(files[0])
  const { code, stdout } = await callCommand(['verify', folder])
  t.equal(code, 1)
  t.match(stdout, /shorter than the footer.*\n.*whole/, 'the others are verified')
  const slots = temporaryFolder()
  for (const slot of ['0', '1']) fs.cpSync(await makeFolder(), path.join(slots, slot), { recursive: true })
  t.equal(JSON.parse((await callCommand(['verify', slots, '--json'])).stdout).segments.length, 4, 'of two slots')
  t.match((await callCommand(['verify', temporaryFolder()])).stderr, /is a folder without a log/)
})

tape('--since, --until, --level and --grep: all must hold', async (t) => {
  const folder = await makeFolder()
  const cat = async (...words) => messages(await callCommand(['cat', folder, ...words]))
  t.equal(await cat('--since', '150m'), '210')
  t.equal(await cat('--until', '6.5h ago'), '987')
  t.equal(await cat('--since', '7.5h', '--until', '3.5h', '--level', 'error'), '64')
  t.equal(await cat('--level', '40', '-w', 'msg^=8'), '8')
  t.equal(await cat('--since', '4.5h', '--grep', '"level":30'), '31')
  t.equal(await cat('--since', '2000-01-01'), '9876543210')
  t.equal(messages(await callCommand(['tail', folder, '-n', '2', '--since', '4.5h', '-l', 'ERROR'])), '20')
  t.equal((await callCommand(['count', folder, '--since', '2.5h'])).stdout, '3\n')
  for (const words of [['--since', 'yesterday'], ['--until', '99'], ['--level', 'loud']]) {
    t.equal((await callCommand(['cat', folder, ...words])).code, 2, words.join(' '))
  }
})

tape('--time: the field of the time, in seconds, ms and as a text, in a file and in a folder', async (t) => {
  const now = Date.now()
  const ago = (hours) => now - hours * HOUR
  // They were all written now, and happened at other times.
  const text = (hours) => new Date(ago(hours)).toISOString()
  const times = [ago(9), ago(5) / 1000, text(4), text(2).replace(/\.\d+Z/, 'Z'), ago(1) / 1000, ago(-3)]
  const records = times.map((at, i) => ({ msg: i, meta: { at }, time: now }))
  const file = newPath('log')
  const folder = newPath('logs')
  const options = { codec: jsonCodec }
  for (const log of [OffsetLog(file, options), SegmentedLog(folder, { ...options, segmentSize: 1 })]) {
    for (const record of [...records, { msg: 6, meta: {} }]) await log.append(record)
    await log.close()
  }
  for (const from of [file, folder]) {
    const cat = async (...words) => messages(await callCommand(['cat', from, '--time', 'meta.at', ...words]))
    t.equal(await cat('--since', '4.5h'), '2345')
    t.equal(await cat('--since', '5.5h', '--until', '90m'), '123')
    t.equal(await cat('--until', '3h'), '012')
    t.equal((await callCommand(['count', from, '--time', 'meta.at', '--since', '4.5h'])).stdout, '4\n')
    t.equal((await callCommand(['cat', from, '--time', 'meta..at', '--since', '1h'])).code, 2, 'an empty key')
  }
})

tape('--since: takes chosen records that were kept longer', async (t) => {
  const folder = newPath('logs')
  const keep = { where: { path: 'level', gte: 50 } }
  const log = SegmentedLog(folder, { codec: jsonCodec, segmentSize: 1, maxCount: 1, keep })
  for (let msg = 0; msg < 6; msg++) await log.append({ msg, level: msg % 2 === 0 ? 50 : 30, time: Date.now() })
  await log.dropBefore(0)
  const [, second] = await log.segments()
  await log.close()
  t.equal(messages(await callCommand(['cat', folder, '--since', '1h'])), '0245')
  t.equal(messages(await callCommand(['cat', folder, '--level', 'error'])), '024')
  t.match((await callCommand(['cat', folder, '--gt', String(second.base)])).stderr, /all but chosen ones/)
})

tape('--pretty: one line or several, and nothing that a terminal obeys', async (t) => {
  const folder = newPath('logs')
  const log = SegmentedLog(folder, { codec: jsonCodec })
  await log.append([
    { level: 30, time: 0, pid: 1, hostname: 'host', name: 'app', msg: 'up', port: 80 },
    { level: 'warn', msg: '\u001b[2J', err: { type: 'Error', message: 'no', stack: 'Error: no\n    at here', code: 'E' } },
    7
  ])
  await log.close()
  const { stdout } = await callCommand(['tail', '--pretty', folder])
  const [first, ...others] = stdout.split('\n')
  t.match(first, /^1970-01-01 \d\d:00:00\.000 INFO {2}\(app\) up$/)
  t.deepEqual(others, ['    port: 80', '- WARN  \\u001b[2J', '    Error: no', '        at here', '    code: E', '7', ''])
})

tape('folders: a compressed segment, and a folder of them, read as plain ones', async (t) => {
  const folder = newPath('logs')
  const log = SegmentedLog(folder, { codec: jsonCodec, compress: 'gzip' })
  for (let i = 0; i < 9; i++) await log.append({ msg: `${i}`, text: 'x'.repeat(1000) })
  await log.roll()
  await log.append({ msg: '9' })
  let segment
  for (let left = 500; left > 0 && !segment?.compressed; left--) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    [segment] = await log.segments()
  }
  await log.close()
  t.equal(messages(await callCommand(['cat', folder])), '0123456789')
  t.equal(messages(await callCommand(['cat', segment.path])), '012345678')
  t.equal((await callCommand(['count', segment.path])).stdout, '9\n')
  const verified = await callCommand(['verify', segment.path])
  t.ok(verified.code === 0 && verified.stdout.includes('whole'), verified.stdout)
  const plain = path.join(folder, 'plain')
  t.equal((await callCommand(['repair', segment.path, plain, '--write'])).code, 0)
  t.equal((await callCommand(['count', plain])).stdout, '9\n')
})
