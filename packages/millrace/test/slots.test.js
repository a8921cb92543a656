'use strict'
// A folder that several processes write: read by the command as one log, while one of them writes and one was killed.

const { fork } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { SlotLog } = require('@millrace/merged-log')
const { binaryCodec } = require('@millrace/binary-codec')
const { SegmentedLog } = require('@millrace/segmented-log')
const { newPath } = require('@millrace/testkit')
const { callCommand, runCommand } = require('./run-command')

const MINUTE = 60_000

/** A process with a slot of its own. */
async function startWriter (folder) {
  const child = fork(path.join(__dirname, 'slot-writer.js'), [folder])
  const [slot] = await once(child, 'message')
  return {
    slot,
    child,
    async append (record) {
      child.send(record)
      await once(child, 'message')
    },
    async end (signal) {
      if (signal) child.kill(signal)
      else child.disconnect()
      await once(child, 'exit')
    }
  }
}

/** Three slots, whose records m0 to m11 take turns: the first is being written, the second's process was killed. */
async function makeFolder (now) {
  const folder = newPath('logs')
  const writers = []
  for (let slot = 0; slot < 3; slot++) writers.push(await startWriter(folder))
  for (let n = 0; n < 12; n++) {
    const ms = now - (12 - n) * MINUTE
    const time = n % 2 ? ms : new Date(ms).toISOString()
    await writers[n % 3].append({ time, level: n % 2 ? 30 : 50, msg: `m${n}` })
  }
  await writers[1].end('SIGKILL')
  await writers[2].end()
  return { folder, living: writers[0] }
}

const linesOf = ({ stdout }) => stdout.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line))
const numbersOf = (result) => linesOf(result).map(({ msg }) => Number(msg.slice(1)))
const upTo = (count) => Array.from({ length: count }, (_, n) => n)

tape('slots: cat, count, get and export read them as one log, in the order of time', async (t) => {
  const { folder, living } = await makeFolder(Date.now())
  const run = (command, ...words) => callCommand([command, folder, ...words])
  t.deepEqual(numbersOf(await run('cat')), upTo(12))
  t.deepEqual(numbersOf(await run('cat', '--reverse', '--limit', '3')), [11, 10, 9])
  t.deepEqual(numbersOf(await run('cat', '--since', '6.5m', '--until', '2.5m')), [6, 7, 8, 9])
  t.deepEqual(numbersOf(await run('cat', '--level', 'error', '--since', '5.5m')), [8, 10])
  t.deepEqual(numbersOf(await run('cat', '--grep', '"m1', '--limit', '2')), [1, 10])
  t.deepEqual(numbersOf(await run('cat', '--where', 'slot=1', '--raw')), [1, 4, 7, 10])
  t.deepEqual(numbersOf(await run('export', '-')), upTo(12))
  t.match((await run('cat', '--pretty', '--limit', '1')).stdout, /ERROR m0\n/)
  t.equal((await run('count')).stdout, '12\n')
  t.equal((await run('count', '--since', '6.5m', '--grep', '"level":30')).stdout, '3\n')

  const items = linesOf(await run('cat', '--seqs'))
  t.deepEqual(items.map(({ seq }) => Number(seq.split(':')[0])), items.map(({ value }) => value.slot))
  t.deepEqual(numbersOf(await run('get', items[7].seq, items[2].seq)), [7, 2])
  const byBytes = linesOf(await run('cat', '--codec', 'bytes'))
  t.deepEqual(byBytes.map((text) => JSON.parse(text).msg), upTo(12).map((n) => `m${n}`), 'the time is found in bytes, too')
  await living.end()
})

tape('slots: info says who writes, and who was killed', async (t) => {
  const { folder, living } = await makeFolder(Date.now())
  const { stdout, code } = await callCommand(['info', folder])
  t.equal(code, 0)
  t.match(stdout, new RegExp(`slot 0 .*seqs \\d+ to \\d+; writer: process ${living.child.pid} `))
  t.match(stdout, /slot 1 .*did not close the log/)
  t.match(stdout, /slot 2 .*no writer/)
  const info = JSON.parse((await callCommand(['info', folder, '--full', '--json'])).stdout)
  t.deepEqual(info.slots.map(({ slot, records, writer }) => [slot, records, writer?.isAlive]), [
    [0, 4, true], [1, 4, false], [2, 4, undefined]
  ])
  await living.end()
})

tape('slots: tail, and tail --follow with records of all processes, also of a new one', async (t) => {
  const now = Date.now()
  const { folder, living } = await makeFolder(now)
  t.deepEqual(numbersOf(await callCommand(['tail', '-n', '4', folder])), [8, 9, 10, 11])
  t.deepEqual(numbersOf(await callCommand(['tail', '-n', '2', '--level', 'error', '--grep', 'm', folder])), [8, 10])

  let tail
  const ended = runCommand(['tail', '-f', '-n', '2', folder], { onSpawn (child) { tail = child } })
  let text = ''
  tail.stdout.on('data', (chunk) => { text += chunk })
  const seen = async (word) => {
    while (!text.includes(word)) await once(tail.stdout, 'data')
  }
  await seen('"m11"')
  // This one takes the slot of the process that was killed, or that of the one that ended.
  const second = await startWriter(folder)
  const third = await startWriter(folder)
  const fourth = await startWriter(folder)
  const writers = [living, second, third, fourth]
  t.deepEqual(writers.map(({ slot }) => slot), [0, 1, 2, 3])
  for (let n = 12; n < 20; n++) {
    await writers[n % 4].append({ time: Date.now(), msg: `m${n}` })
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  for (let n = 12; n < 20; n++) await seen(`"m${n}"`)
  tail.kill('SIGINT')
  const result = await ended
  t.deepEqual(numbersOf(result).sort((a, b) => a - b), upTo(20).slice(10), 'each once')
  for (const { slot } of writers) {
    const own = linesOf(result).filter((record) => record.slot === slot).map(({ time }) => +new Date(time))
    t.deepEqual(own, [...own].sort(), `in the order of slot ${slot}`)
  }
  await Promise.all(writers.map((writer) => writer.end()))
})

tape('slots: what cannot be asked is refused with a sentence that says what to do', async (t) => {
  const folder = newPath('logs')
  const log = SlotLog(folder)
  await log.append(Buffer.from('{"msg":"m0"}'))
  await log.close()
  const refused = async (words, advice) => {
    const { code, stderr } = await callCommand(words)
    t.equal(code, 2, words.join(' '))
    t.match(stderr, advice)
  }
  await refused(['cat', folder, '--gt', '0'], /no --gt\. Begin at a time with --since, or read one slot, such as .*0\n/)
  await refused(['count', folder, '--lte', '0'], /no --lte/)
  await refused(['get', folder, '4096'], /give the slot, too, such as 0:4096/)
  await refused(['get', path.join(folder, '0'), '0:4096'], /without one, such as 4096/)
  await refused(['get', folder, 'x:1'], /A seq is a whole number/)
  await refused(['del', folder, '1:32808'], /`del` of the SlotLog that has slot 1, or if no process has it, with SegmentedLog in .*1\n/)
  await refused(['del', path.join(folder, '0'), '0:4096'], /a folder of segments; .*SegmentedLog/)
  const file = path.join(folder, 'one.log')
  await callCommand(['append', file, '{}'])
  await refused(['del', file, '0:4096'], /has no slots: give the seq without one, such as 4096/)
  const empty = newPath('logs')
  fs.mkdirSync(path.join(empty, '0'), { recursive: true })
  await refused(['cat', empty], /none of them has a log yet/)
})

tape('slots: dates of binary records order them, with --raw, too', async (t) => {
  const folder = newPath('logs')
  const logs = [SlotLog(folder, { codec: binaryCodec }), SlotLog(folder, { codec: binaryCodec })]
  for (let n = 0; n < 6; n++) await logs[n % 2].append({ time: new Date(Date.UTC(2026, 10, 23, 10, n)), msg: `m${n}` })
  for (const log of logs) await log.close()
  t.deepEqual(numbersOf(await callCommand(['cat', folder])), upTo(6))
  const { stdout } = await callCommand(['cat', folder, '--raw', '--reverse'])
  t.deepEqual(stdout.match(/m\d/g), ['m5', 'm4', 'm3', 'm2', 'm1', 'm0'])
})

tape('slots: segments beside slots are not left out, but refused with what to do', async (t) => {
  const folder = newPath('logs')
  const slots = SlotLog(folder)
  await slots.append(Buffer.from('{"msg":"in a slot"}'))
  await slots.close()
  const log = SegmentedLog(newPath('logs'))
  await log.append(Buffer.from('{"msg":"in a segment"}'))
  await log.close()
  fs.cpSync(log.filename, folder, { recursive: true })
  for (const command of ['cat', 'tail', 'count', 'info', 'verify', 'view', 'snapshot', 'compact']) {
    const more = command === 'snapshot' ? [newPath('logs')] : []
    const { code, stdout, stderr } = await callCommand([command, folder, ...more])
    t.notEqual(code, 0, command)
    t.equal(stdout, '')
    t.match(stderr, /has segments as well as slots \(0\).*mkdir .*1 && mv /)
  }
})

tape('slots: a command fails if one slot cannot be opened, and names the others', async (t) => {
  const { folder, living } = await makeFolder(Date.now())
  await living.end()
  const [name] = fs.readdirSync(path.join(folder, '1')).filter((name) => name.endsWith('.log'))
  fs.copyFileSync(path.join(folder, '1', name), path.join(folder, '1', name.replace('.log', '.jsonl')))
  for (const command of ['cat', 'count', 'info']) {
    const { code, stdout, stderr } = await callCommand([command, folder])
    t.ok(code > 0, command)
    t.equal(stdout, '')
    t.ok(stderr.includes(`slot 1 of ${folder} cannot be opened`), stderr)
    t.ok(stderr.includes(`${path.join(folder, '0')}, ${path.join(folder, '2')}`))
  }
})
