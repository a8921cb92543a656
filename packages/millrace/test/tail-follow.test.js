'use strict'
// tail --follow where there is no log yet, where retention overtakes it, and where the log is replaced.

const { spawn } = require('node:child_process')
const fs = require('node:fs')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SegmentedLog } = require('@millrace/segmented-log')
const { newPath, until } = require('@millrace/testkit')
const { BIN, runCommand } = require('./run-command')

/** @param {any} t @param {string[]} words */
function start (t, words) {
  const child = spawn(process.execPath, [BIN, 'tail', ...words])
  const state = { child, out: '', err: '', code: null }
  child.stdout.on('data', (chunk) => { state.out += chunk })
  child.stderr.on('data', (chunk) => { state.err += chunk })
  child.on('exit', (code) => { state.code = code })
  t.teardown(() => child.kill('SIGKILL'))
  return state
}

const idsOf = ({ out }) => out.split('\n').slice(0, -1).map((line) => JSON.parse(line).id)

tape('tail: one sentence where there is no log, and --follow waits for one in a folder', async (t) => {
  const folder = newPath('logs')
  for (const [words, more] of [[['-f', folder], ', or wait for it with millrace tail -F'], [[folder], '']]) {
    const { code, stderr } = await runCommand(['tail', ...words])
    t.deepEqual([code, stderr], [2, `millrace: ${folder}: there is no such file; check the path${more}\n`])
  }
  fs.mkdirSync(folder)
  const { code, stderr } = await runCommand(['tail', folder])
  t.equal(code, 2)
  t.match(stderr, /^millrace: .* is a folder without a log; check the path, or wait for a log with millrace tail -f\n$/)
  const tail = start(t, ['-f', folder])
  await until(() => tail.err !== '')
  t.match(tail.err, /^millrace: .*logs has no log yet; waiting for one\n$/)
  const log = SegmentedLog(folder, { codec: jsonCodec })
  await log.append(Array.from({ length: 20 }, (_, id) => ({ id })))
  await until(() => idsOf(tail).length >= 20 || tail.code !== null)
  await log.append({ id: 20 })
  await until(() => idsOf(tail).length >= 21 || tail.code !== null)
  t.deepEqual(idsOf(tail), Array.from({ length: 21 }, (_, id) => id), tail.err)
  await log.close()
})

tape('tail: --follow-name waits for the folder, and goes on with another log there', async (t) => {
  const folder = newPath('logs')
  const tail = start(t, ['-F', folder])
  await until(() => tail.err !== '' || tail.code !== null)
  for (const round of [0, 10]) {
    const log = SegmentedLog(folder, { codec: jsonCodec })
    await log.append([{ id: round }, { id: round + 1 }])
    await until(() => idsOf(tail).includes(round + 1) || tail.code !== null)
    await log.close()
    if (round === 0) fs.renameSync(folder, `${folder}.old`)
  }
  t.deepEqual([idsOf(tail), tail.code], [[0, 1, 10, 11], null], tail.err)
  t.match(tail.err, /is another log now; going on with it/)
})

tape('tail: --follow says so when retention has overtaken it, and goes on', async (t) => {
  const folder = newPath('logs')
  const log = SegmentedLog(folder, { codec: jsonCodec, segmentSize: 2 ** 18, maxSize: 2 ** 20 })
  await log.append({ id: 0 })
  const tail = start(t, ['-f', folder])
  await until(() => tail.out !== '' || tail.code !== null)
  tail.child.kill('SIGSTOP')
  let id = 1
  const first = Number(log.since.value)
  while ((await log.segments())[0].base <= first + 2 ** 18) {
    await log.append(Array.from({ length: 200 }, () => ({ id: id++, p: 'p'.repeat(500) })))
  }
  tail.child.kill('SIGCONT')
  await until(() => /dropped before/.test(tail.err) || tail.code !== null)
  await log.append({ id: id++ })
  await until(() => idsOf(tail).includes(id - 1) || tail.code !== null)
  t.equal(tail.code, null, tail.err)
  t.match(tail.err, /^millrace: records of .* were dropped before they could be read; going on with the oldest that are left\n/)
  const ids = idsOf(tail)
  t.deepEqual(ids, [...new Set(ids)].sort((a, b) => a - b), 'none twice, in order')
  await log.close()
})

tape('cat: an output that takes no more is told in one sentence', async (t) => {
  if (!fs.existsSync('/dev/full')) return t.skip('there is no /dev/full')
  const file = newPath('x.log')
  await runCommand(['append', file], { input: '{"a":1}\n'.repeat(5) })
  for (const command of ['cat', 'count', 'info', 'tail']) {
    const full = fs.openSync('/dev/full', 'w')
    const child = spawn(process.execPath, [BIN, command, file], { stdio: ['ignore', full, 'pipe'] })
    let err = ''
    child.stderr.on('data', (chunk) => { err += chunk })
    const code = await new Promise((resolve) => child.on('close', resolve))
    fs.closeSync(full)
    const wanted = 'millrace: the output could not be written: its disk is full; make room, and run the command again\n'
    t.deepEqual([code, err], [1, wanted], command)
  }
})

for (const [how, change] of [
  ['emptied, as copytruncate does', (file) => fs.truncateSync(file, 0)],
  ['renamed, as logrotate does', (file) => fs.renameSync(file, `${file}.1`)],
  ['written anew', (file) => fs.writeFileSync(file, '{"id":5}\n{"id":6}\n')]
]) {
  tape(`tail: --follow-name goes on with a text file that was ${how}; --follow ends and says so`, async (t) => {
    const file = newPath('app.log')
    fs.writeFileSync(file, '{"id":0}\n')
    const [byName, plain] = [start(t, ['-F', file]), start(t, ['-f', file])]
    for (const tail of [byName, plain]) await until(() => idsOf(tail).length === 1)
    fs.appendFileSync(file, '{"id":1}\n{"id":2}\n')
    for (const tail of [byName, plain]) await until(() => idsOf(tail).length === 3)
    change(file)
    const before = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
    await new Promise((resolve) => setTimeout(resolve, 300))
    fs.appendFileSync(file, '{"id":7}\n{"id":8}\n')
    const expected = [0, 1, 2, ...before === '' ? [] : [5, 6], 7, 8]
    await until(() => idsOf(byName).length >= expected.length && plain.code !== null)
    t.deepEqual([idsOf(byName), byName.code], [expected, null], byName.err)
    t.match(byName.err, /is another log now; going on with it/)
    t.deepEqual(idsOf(plain), [0, 1, 2])
    t.match(plain.err, /^millrace: .*app\.log was (cut|written anew|replaced).* Open it again/)
  })
}
