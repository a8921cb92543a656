'use strict'
// The option `mode`: every file that a log makes has it, whatever the file is for.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { newPath, until } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const isWindows = process.platform === 'win32'
const text = 'the same words again and again '.repeat(20)
const valueOf = (_, i) => ({ i, level: i % 3 ? 'info' : 'error', time: i, text })
const append = (log, count) => log.append(Array.from({ length: count }, valueOf))
const isCompressed = ({ compressed }) => compressed !== null
const isSettled = (log) => async () => (await log.segments()).slice(0, -1).every(isCompressed)

/** What a folder of all kinds of files has, by kind. */
const KINDS = {
  'a segment': /Z\.log$/,
  'a compressed segment': /Z\.log\.gz$/,
  'the mark of a kept segment': /\.kept-/,
  'a hold': /\.hold$/,
  'the times': /^times$/,
  'the locked file': /^writer$/,
  'the record of the lock': /^writer\.lock$/
}
const modeOf = (file) => fs.statSync(file).mode & 0o777
const modesIn = (folder) => {
  return fs.readdirSync(folder).map((name) => ({ name, mode: modeOf(path.join(folder, name)) }))
}

/** A log that has made files of all kinds. */
async function makeAll (folder, options) {
  const keep = { where: { path: 'level', equals: 'error' } }
  const log = SegmentedLog(folder, { codec: jsonCodec, compress: 'gzip', time: ['time'], maxCount: 3, keep, ...options })
  const seqs = []
  for (let i = 0; i < 6; i++) {
    seqs.push(await append(log, 50))
    await log.roll()
  }
  await log.hold('reader', seqs[5])
  await log.dropBefore(0)
  await until(isSettled(log))
  await until(() => fs.existsSync(path.join(folder, 'times')))
  return { log, seqs }
}

for (const { mode, umask, expected, ofLock = expected } of [
  { mode: undefined, umask: 0o022, expected: 0o600, ofLock: 0o644 },
  { mode: 0o640, umask: 0o022, expected: 0o640 },
  { mode: '0640', umask: 0o022, expected: 0o640 },
  { mode: '0o664', umask: 0o022, expected: 0o644 },
  { mode: 0o666, umask: 0, expected: 0o666 },
  { mode: 0o664, umask: 0o077, expected: 0o600 }
]) {
  const shown = typeof mode === 'number' ? `0o${mode.toString(8)}` : String(mode)
  tape(`mode: files of all kinds have it (${shown}, umask ${umask.toString(8)})`, { skip: isWindows }, async (t) => {
    const folder = newPath('logs')
    const before = process.umask(umask)
    try {
      const { log, seqs } = await makeAll(folder, { mode })
      // A deletion inflates the segment first.
      await log.del(seqs[4])
      const found = modesIn(folder)
      for (const [kind, form] of Object.entries(KINDS)) t.ok(found.some(({ name }) => form.test(name)), `there is ${kind}`)
      for (const { name, mode } of found) t.equal(mode, name === 'writer.lock' ? ofLock : expected, `${name}: ${mode.toString(8)}`)
      await log.close()
    } finally {
      process.umask(before)
    }
  })
}

tape('mode: that of files that exist stays, also if another file takes the place of a segment', { skip: isWindows }, async (t) => {
  const folder = newPath('logs')
  const first = SegmentedLog(folder, { codec: jsonCodec, mode: 0o640 })
  for (let i = 0; i < 3; i++) {
    await append(first, 50)
    await first.roll()
  }
  await first.close()
  const before = process.umask(0)
  try {
    const keep = { where: { path: 'level', equals: 'error' } }
    const log = SegmentedLog(folder, { codec: jsonCodec, mode: 0o666, compress: 'gzip', maxCount: 3, keep })
    await append(log, 50)
    await log.roll()
    await log.dropBefore(0)
    await until(isSettled(log))
    const segments = await log.segments()
    t.ok(segments.some(({ kept }) => kept) && segments.some(({ compressed }) => compressed === 'gzip'))
    const modes = segments.map(({ path }) => modeOf(path))
    t.deepEqual(modes.slice(0, 4), [0o640, 0o640, 0o640, 0o640], 'three sealed segments, and the newest one of the first log')
    t.deepEqual(modes.slice(4), [0o666])
    const [old] = segments.slice(-2)
    await log.del((await log.first({ gt: old.base })).seq)
    const inflated = (await log.segments()).at(-2)
    t.equal(inflated.compressed, null)
    t.equal(modeOf(inflated.path), 0o640, 'an inflated segment')
    await log.close()
  } finally {
    process.umask(before)
  }
})

tape('mode: what is no mode, or does not let the owner in, is refused before anything is made', (t) => {
  for (const mode of [640, 600, 0o440, 0o1640, -1, 1.5, NaN, null, '', '64', '0x1a0', 'rw-r-----', '888', {}, true]) {
    const folder = newPath('logs')
    const code = (() => {
      try {
        SegmentedLog(folder, { mode })
        return null
      } catch (err) {
        return err.code
      }
    })()
    t.equal(code, 'ERR_INVALID_ARGUMENT', JSON.stringify(mode))
    t.notOk(fs.existsSync(folder))
  }
  t.end()
})
