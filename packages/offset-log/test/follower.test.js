'use strict'
// Read-only logs that follow a writer: what they see and when, and what they make of half-done writes.

const { execFileSync, fork, spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, collect, createRandom, failureOf, flip, newPath, temporaryFolder, until } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const FRAMINGS = ['checked', 'offset32', 'offset48']

/** @param {() => unknown} isTrue  may return a promise */
/** @param {any} log  takes in what there is, at once */
function refresh (log) {
  return new Promise((resolve) => log._file.follower.refresh(resolve))
}

/** A writer, and a reader beside it. */
async function openBoth (options = {}) {
  const file = newPath('log')
  const writer = OffsetLog(file, { codec: jsonCodec, ...options })
  await writer.ready()
  const reader = OffsetLog(file, { codec: jsonCodec, flags: 'r' })
  await reader.ready()
  const close = async () => {
    await reader.close()
    await writer.close()
  }
  return { file, writer, reader, close }
}

for (const framing of FRAMINGS) {
  tape(`follow: ${framing}: a live stream sees what is appended, in order`, async (t) => {
    const { writer, reader, close } = await openBoth({ framing })
    const seen = []
    const reading = (async () => {
      for await (const value of reader.stream({ live: true, seqs: false, limit: 500 })) seen.push(value)
    })()
    const values = Array.from({ length: 500 }, (_, i) => `value ${i} ${'x'.repeat(i * 7 % 300)}`)
    for (let i = 0; i < 500; i += 10) await writer.append(values.slice(i, i + 10))
    await reading
    t.deepEqual(seen, values)
    t.equal(reader.since.value, writer.since.value)
    t.deepEqual(await collect(reader.stream()), await collect(writer.stream()))
    t.deepEqual(await collect(reader.stream({ reverse: true })), await collect(writer.stream({ reverse: true })))
    await close()
  })

  tape(`follow: ${framing}: what was deleted is deleted for the reader`, async (t) => {
    const { writer, reader, close } = await openBoth({ framing })
    const seqs = []
    for (let i = 0; i < 20; i++) seqs.push(await writer.append(`value ${i}`))
    await until(() => reader.since.value === seqs[19])
    t.equal(await reader.get(seqs[3]), 'value 3')
    await writer.del(seqs[3])
    await until(async () => (await failureOf(() => reader.get(seqs[3])))?.code === 'flumelog:deleted')
    t.equal((await collect(reader.stream())).length, 19)
    t.equal(await reader.get(seqs[4]), 'value 4')
    await close()
  })

  tape(`follow: ${framing}: get of a seq that the writer has just said`, async (t) => {
    const { writer, reader, close } = await openBoth({ framing })
    for (let i = 0; i < 50; i++) {
      const seq = await writer.append(`value ${i}`)
      if (await reader.get(seq) !== `value ${i}`) t.fail(`value ${i}`)
    }
    t.equal((await failureOf(() => reader.get(3))).code, 'ERR_RECORD_NOT_FOUND')
    await close()
  })

  tape(`follow: ${framing}: a file cut below what was read ends live streams with a code`, async (t) => {
    const { file, writer, reader } = await openBoth({ framing })
    await writer.append(['a', 'b', 'c'])
    await writer.close()
    await until(() => reader.since.value > 0)
    const reading = failureOf(() => collect(reader.stream({ live: true })))
    await new Promise((resolve) => setTimeout(resolve, 20))
    fs.truncateSync(file, fs.statSync(file).size - 1)
    t.equal((await reading).code, 'ERR_LOG_CORRUPT')
    await reader.close()
  })
}

tape('follow: refresh finds all that the writer had appended before the call', async (t) => {
  const { writer, reader, close } = await openBoth()
  for (let i = 0; i < 50; i++) {
    const seq = await writer.append(`value ${i}`)
    await reader.refresh()
    if (reader.since.value !== seq) t.fail(`value ${i}`)
  }
  t.equal(await writer.refresh(), undefined, 'of a writer it does nothing')
  await close()
  t.equal((await failureOf(() => reader.refresh())).code, 'ERR_LOG_CLOSED')
})

tape('follow: durable follows the checkpoints of the writer', async (t) => {
  const { writer, reader, close } = await openBoth({ fsync: 'never' })
  await writer.append('a')
  const seq = await writer.append('b')
  await until(() => reader.since.value === seq)
  t.equal(reader.durable.value, -1, 'seen, and not yet durable')
  await writer.sync()
  await until(() => reader.durable.value === seq)
  t.pass('durable')
  await close()
})

tape('follow: durable of a reader is -1 in an offset framing, which does not say it', async (t) => {
  const { file, writer, reader, close } = await openBoth({ framing: 'offset32' })
  const seq = await writer.append('a')
  await writer.sync()
  t.equal(writer.durable.value, seq)
  await reader.refresh()
  const late = OffsetLog(file, { codec: jsonCodec, flags: 'r' })
  await late.ready()
  t.deepEqual([reader, late].map(({ since, durable }) => [since.value, durable.value]), [[seq, -1], [seq, -1]])
  await late.close()
  await close()
})

tape('follow: nothing of a commit is seen before its last byte', async (t) => {
  const random = createRandom(11)
  const folder = temporaryFolder()
  const source = path.join(folder, 'source')
  const log = OffsetLog(source)
  await log.append(Buffer.from('before'))
  await log.sync()
  const { end: start } = log._file.store
  const begun = fs.readFileSync(source).subarray(0, start)
  // Small records, and one that is split over pages.
  await log.append([200, 40_000, 3, 0, 900].map((size) => Buffer.alloc(size, 7)))
  const { end } = log._file.store
  const { value: last } = log.since
  await log.sync()
  const whole = fs.readFileSync(source).subarray(0, end)
  await log.close()

  const file = path.join(folder, 'followed')
  fs.writeFileSync(file, begun)
  const reader = OffsetLog(file, { flags: 'r' })
  await reader.ready()
  const before = reader.since.value
  const fd = fs.openSync(file, 'r+')
  for (let size = 1; size < end - start; size += 1 + random(400)) {
    // As it grows, or with room in front of it that was reserved, or with a hole where pages come in any order.
    fs.ftruncateSync(fd, start)
    if (random(2) === 0) fs.ftruncateSync(fd, end + 5000)
    const from = random(3) === 0 ? start + random(size) : start
    fs.writeSync(fd, whole, from, start + size - from, from)
    await refresh(reader)
    if (reader.since.value !== before) t.fail(`${size} of ${end - start} bytes`)
  }
  const missing = start + 5
  fs.writeSync(fd, whole, start, end - start, start)
  fs.writeSync(fd, Buffer.from([whole[missing] ^ 1]), 0, 1, missing)
  await refresh(reader)
  t.equal(reader.since.value, before, 'a byte that is not there yet')
  fs.writeSync(fd, whole, missing, 1, missing)
  await refresh(reader)
  t.equal(reader.since.value, last, 'all of it')
  fs.closeSync(fd)
  await reader.close()
})

tape('follow: a deletion that is half done shows the record deleted, not damage', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'log')
  const log = OffsetLog(file)
  const seqs = []
  for (let i = 0; i < 30; i++) seqs.push(await log.append(Buffer.alloc(3000, i + 1)))
  await log.sync()
  const reader = OffsetLog(file, { flags: 'r', cache: 1024 * 1024 })
  await reader.ready()
  for (const seq of seqs) await reader.get(seq)
  // The writer stops after its journal, and half of the first chunk.
  const blocks = log._file.blocks
  const write = blocks.write.bind(blocks)
  let goOn
  const stopped = new Promise((resolve) => { goOn = resolve })
  blocks.write = (bytes, position, cb) => write(bytes.subarray(0, 60), position, () => stopped.then(() => cb()))
  const deleting = log.del([seqs[2], seqs[17]])
  await until(async () => (await failureOf(() => reader.get(seqs[17])))?.code === 'flumelog:deleted')
  t.equal((await failureOf(() => reader.get(seqs[2]))).code, 'flumelog:deleted')
  t.equal((await collect(reader.stream())).length, 28)
  t.equal((await collect(reader.stream({ reverse: true }))).length, 28)
  t.deepEqual(await reader.get(seqs[3]), Buffer.alloc(3000, 4))
  const late = OffsetLog(file, { flags: 'r' })
  await late.ready()
  t.deepEqual(late.recovery?.damage ?? [], [], 'for one who comes now, too')
  t.equal((await collect(late.stream())).length, 28)
  await late.close()
  await reader.close()
  goOn()
  await deleting
})

tape('follow: damage is damage still, in every way to read', async (t) => {
  const file = newPath('log')
  const log = OffsetLog(file)
  const seqs = []
  for (let i = 0; i < 100; i++) seqs.push(await log.append(Buffer.alloc(1000, i + 1)))
  await log.close()
  const reader = OffsetLog(file, { flags: 'r', cache: 0 })
  await reader.ready()
  const bytes = fs.readFileSync(file)
  for (const i of [20, 21, 60]) bytes[seqs[i] + 10] ^= 4
  fs.writeFileSync(file, bytes)
  for (const reverse of [false, true]) {
    const name = reverse ? 'backward' : 'forward'
    t.equal((await failureOf(() => collect(reader.stream({ reverse })))).code, 'ERR_LOG_CORRUPT', name)
    const source = reader.stream({ reverse, onCorrupt: 'skip' })
    const items = await collect(source)
    t.equal(items.length, 97, `${name}, skipped`)
    t.equal(source.lost.size, 3 * 1044, `${name}, what was lost is counted once`)
  }
  t.equal((await failureOf(() => reader.get(seqs[20]))).code, 'ERR_LOG_CORRUPT', 'get')
  t.deepEqual(await reader.get(seqs[22]), Buffer.alloc(1000, 23), 'get beside it')
  await reader.close()
})

tape('follow: deletions that come while the log is read for the first time are not taken for damage', async (t) => {
  const { writer, reader, close } = await openBoth()
  const seqs = []
  for (let i = 0; i < 400; i++) seqs.push(await writer.append('x'.repeat(2000)))
  const fresh = OffsetLog(reader.filename, { codec: jsonCodec, flags: 'r' })
  let count = 0
  for await (const { seq } of fresh.stream({ live: false })) {
    if (count++ % 50 === 0) await writer.del(seqs.find((other) => other > seq + 100_000) ?? seqs[0])
  }
  t.ok(count > 390, `${count} records`)
  await fresh.close()
  await close()
})

tape('follow: on a storage that cannot announce anything', async (t) => {
  const disk = new SimulatedDisk()
  const writer = OffsetLog('/folder/log', { storage: disk.storage })
  await writer.append(Buffer.from('a'))
  const reader = OffsetLog('/folder/log', { storage: disk.storage, flags: 'r' })
  await reader.ready()
  const seq = await writer.append(Buffer.from('b'))
  await until(() => reader.since.value === seq)
  t.equal((await collect(reader.stream())).length, 2)
  await reader.close()
  await writer.close()
})

tape('follow: a legacy file that was empty when the reader opened it', async (t) => {
  const file = newPath('log')
  fs.writeFileSync(file, '')
  const reader = OffsetLog(file, { flags: 'r', codec: jsonCodec })
  const reading = collect(reader.stream({ live: true, seqs: false, limit: 2 }))
  await reader.ready()
  const writer = OffsetLog(file, { framing: 'offset48', codec: jsonCodec })
  await writer.append(['a', 'b'])
  t.deepEqual(await reading, ['a', 'b'])
  t.equal((await reader.stats()).framing, 'offset48')
  await reader.close()
  await writer.close()
})

tape('follow: what was appended since the last look, and before the file was replaced, is seen', async (t) => {
  const file = newPath('log')
  const log = OffsetLog(file)
  const seqs = []
  for (let i = 0; i < 100; i++) seqs.push(await log.append(Buffer.alloc(500, 1 + i)))
  const reader = OffsetLog(file, { flags: 'r' })
  await reader.ready()
  const { follower } = reader._file
  follower._watch._onChange = (done) => done()
  for (const seq of seqs.slice(0, 90)) await log.del(seq)
  const last = await log.append(Buffer.from('last'))
  await log.compact()
  t.equal(reader.since.value, seqs[99], 'it did not look')
  await new Promise((resolve, reject) => follower.refresh((err) => err ? reject(err) : resolve()))
  t.equal(reader.since.value, last)
  t.equal(String(await reader.get(last)), 'last')
  await reader.close()
  await log.close()
})

tape('follow: a damaged log is not followed', async (t) => {
  const file = newPath('log')
  const log = OffsetLog(file)
  for (let i = 0; i < 10; i++) await log.append(Buffer.alloc(100, 1))
  await log.close()
  flip(file, fs.statSync(file).size - 20)
  const reader = OffsetLog(file, { flags: 'r' })
  await reader.ready()
  t.equal(reader.recovery.damage.length, 1)
  t.equal(reader._file.follower, null)
  await reader.close()
})

tape('follow: a process that waits for the next record goes on; one that does not ends', async (t) => {
  const file = newPath('log')
  const log = OffsetLog(file)
  await log.append(Buffer.from('a'))
  const run = (code) => fork('-e', [`const { OffsetLog } = require(${JSON.stringify(path.join(__dirname, '..'))})
    const log = OffsetLog(${JSON.stringify(file)}, { flags: 'r' })
    ${code}`], { execArgv: [], stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
  const ended = (child) => new Promise((resolve) => child.once('exit', resolve))
  const idle = run('log.ready(() => process.disconnect())')
  t.equal(await ended(idle), 0, 'an open reader alone does not keep it')
  const live = run(`process.disconnect()
    ;(async () => { for await (const { value } of log.stream({ live: true, limit: 2 })) console.log(String(value)) })()`)
  const ending = ended(live)
  let output = ''
  live.stdout.on('data', (data) => { output += data })
  await until(() => output.includes('a'))
  await new Promise((resolve) => setTimeout(resolve, 100))
  await log.append(Buffer.from('b'))
  t.equal(await ending, 0)
  t.equal(output, 'a\nb\n')
  await log.close()
})

const cannotMount = spawnSync('unshare', ['-m', 'true']).status !== 0 && 'needs root, to mount a file'

/** How a live stream ends when the file is replaced. */
async function endOfLive (reader, replace) {
  const end = failureOf(() => collect(reader.stream({ live: true })))
  await until(() => reader._file.waitingStreams.size === 1)
  await replace()
  return end
}

async function compact (writer) {
  const seqs = []
  for (let i = 0; i < 50; i++) seqs.push(await writer.append(`value ${i} ${'x'.repeat(2000)}`))
  await writer.sync()
  return async () => {
    await writer.del(seqs.slice(0, 40))
    await writer.compact()
  }
}

tape('follow: a file that is mounted alone, and replaced where it comes from: streams end with a code', { skip: cannotMount }, async (t) => {
  const file = newPath('log')
  const mounted = newPath('mounted')
  const writer = OffsetLog(file, { codec: jsonCodec })
  const replace = await compact(writer)
  fs.writeFileSync(mounted, '')
  execFileSync('mount', ['--bind', file, mounted])
  try {
    const reader = OffsetLog(mounted, { codec: jsonCodec, flags: 'r' })
    await reader.ready()
    t.equal((await endOfLive(reader, replace))?.code, 'ERR_FILE_MOVED')
    let lookCount = 0
    const { refresh } = reader._file.blocks
    reader._file.blocks.refresh = (...args) => {
      lookCount++
      return refresh.apply(reader._file.blocks, args)
    }
    t.equal((await failureOf(() => collect(reader.stream({ live: true }))))?.code, 'ERR_FILE_MOVED', 'later ones, too')
    t.equal((await collect(reader.stream())).length, 10, 'what the old file has can be read')
    t.ok(lookCount < 100, `${lookCount} looks`)
    await reader.close()
  } finally {
    execFileSync('umount', [mounted])
    await writer.close()
  }
})

tape('follow: a file that is replaced, and lives on under another name: the reader goes on in the new one', async (t) => {
  const { file, writer, reader, close } = await openBoth()
  const replace = await compact(writer)
  await refresh(reader)
  fs.linkSync(file, `${file}.backup`)
  await refresh(reader)
  await replace()
  const last = await writer.append('new')
  await until(() => reader.since.value === last)
  t.deepEqual(await collect(reader.stream()), await collect(writer.stream()))
  await close()
})
