'use strict'
// Compressed segments: the same log as without, the same bytes after gunzip, and damage that is found.

const crypto = require('node:crypto')
const fs = require('node:fs')
const path = require('node:path')
const zlib = require('node:zlib')
const { setTimeout: sleep } = require('node:timers/promises')
const tape = require('tape')
const { promisesOf } = require('@millrace/flow')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { acceptLines } = require('@millrace/offset-log/copies')
const { repair, verify } = require('@millrace/repair')
const { SimulatedDisk, collect, createRandom, failureOf, inQuickRuns, newPath, until } = require('@millrace/testkit')
const { SegmentedLog, createPlainStorage } = require('..')
const { formats } = require('../lib/compressed/formats')
const { encodeIndex } = require('../lib/compressed/member-index')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const hasZstd = 'zstdCompress' in zlib
const plainStorage = createPlainStorage()
const compressedFiles = (folder) => fs.readdirSync(folder).filter((name) => /\.(gz|zst)$/.test(name)).sort()

const strangeFiles = (folder) => fs.readdirSync(folder).filter((name) => !/^writer$|Z\.log(\.gz)?$/.test(name))

function openPlain (disk, file) {
  return promisesOf(createPlainStorage(disk.storage)).open(file, { flags: 'r', createFolder: false })
}

/** Waits until all sealed segments are compressed. */
async function settle (log) {
  await until(async () => (await log.segments()).slice(0, -1).every(({ compressed }) => compressed !== null))
}

/** A log of several segments, and what is in it. */
async function fill (folder, options, count = 600) {
  const log = SegmentedLog(folder, { codec: jsonCodec, segmentSize: 100_000, compress: 'gzip', ...options })
  const entries = []
  for (let i = 0; i < count; i++) {
    const value = { i, level: i % 10 === 0 ? 'warn' : 'info', text: 'the same words again and again '.repeat(20) }
    entries.push({ seq: await log.append(value), value })
  }
  return { log, entries }
}

for (const compress of hasZstd ? ['gzip', 'zstd'] : ['gzip']) {
  tape(`compress: a log of ${compress} reads as one without`, async (t) => {
    const folder = newPath('logs')
    const { log, entries } = await fill(folder, { compress })
    await settle(log)
    t.ok(compressedFiles(folder).length >= 3, compressedFiles(folder).join())
    await log.close()
    for (const options of [{ flags: 'r' }, {}, { compress }]) {
      const again = SegmentedLog(folder, { codec: jsonCodec, ...options })
      t.deepEqual(await collect(again.stream()), entries)
      t.deepEqual(await collect(again.stream({ reverse: true, limit: 7 })), entries.slice(-7).reverse())
      const some = [3, 500, 77].map((i) => entries[i])
      t.deepEqual(await again.getMany(some.map(({ seq }) => seq)), some.map(({ value }) => value))
      t.equal(await again.count({ where: { path: ['level'], equals: 'warn' } }), 60)
      await again.close()
    }
  })
}

tape('compress: gunzip gives the segment byte for byte', async (t) => {
  const folders = ['a', 'b'].map((name) => newPath(name))
  const { log: plain } = await fill(folders[0], { compress: false })
  await plain.close()
  fs.cpSync(folders[0], folders[1], { recursive: true })
  const log = SegmentedLog(folders[1], { codec: jsonCodec, compress: 'gzip' })
  await settle(log)
  await log.close()
  for (const name of compressedFiles(folders[1])) {
    const file = path.join(folders[1], name)
    const plainFile = path.join(folders[0], name.replace('.gz', ''))
    t.ok(zlib.gunzipSync(fs.readFileSync(file)).equals(fs.readFileSync(plainFile)), name)
    t.ok(fs.statSync(file).size < fs.statSync(plainFile).size / 5, 'and is smaller')
    for (const given of [file, file.replace('.gz', '')]) {
      const report = await verify(given, { storage: plainStorage })
      t.ok(report.isSound && report.records > 50, `${report.records} records`)
    }
  }
  t.deepEqual(strangeFiles(folders[1]), [], 'nothing else is left')
})

tape('compress: a deletion inflates a segment, which is compressed again', async (t) => {
  const folder = newPath('logs')
  const { log, entries } = await fill(folder, {})
  await settle(log)
  const gone = [0, 5, 6, 200]
  const iterator = log.stream({ seqs: false })[Symbol.asyncIterator]()
  await log.del(gone.map((i) => entries[i].seq))
  t.equal((await iterator.next()).value.i, 1, 'a stream that was open shows it no more')
  t.equal((await failureOf(() => log.del([entries[0].seq + 1])))?.code, 'ERR_RECORD_NOT_FOUND')
  const kept = entries.filter((_, i) => !gone.includes(i))
  t.deepEqual(await collect(log.stream()), kept)
  await settle(log)
  t.deepEqual(await collect(log.stream()), kept)
  t.equal((await failureOf(() => log.get(entries[5].seq)))?.code, 'flumelog:deleted')
  await log.close()
  t.deepEqual(strangeFiles(folder), [], 'nothing else is left')
})

tape('compress: a reader in the folder goes on while segments are compressed', async (t) => {
  const folder = newPath('logs')
  const { log, entries } = await fill(folder, { compress: false })
  const reader = SegmentedLog(folder, { codec: jsonCodec, flags: 'r' })
  t.deepEqual(await reader.get(entries[3].seq), entries[3].value)
  await log.close()
  const iterator = reader.stream()[Symbol.asyncIterator]()
  await iterator.next()
  const again = SegmentedLog(folder, { codec: jsonCodec, compress: 'gzip' })
  await settle(again)
  t.deepEqual(await collect(iterator), entries.slice(1))
  t.deepEqual(await collect(reader.stream()), entries)
  t.ok((await reader.segments())[0].path.endsWith('.gz'))
  await again.del(entries[3].seq)
  // It sees deletions too.
  await until(async () => (await failureOf(() => reader.get(entries[3].seq)))?.code === 'flumelog:deleted')
  await reader.close()
  await again.close()
})

tape('compress: what does not become smaller stays plain, and so does a damaged segment', async (t) => {
  const disk = new SimulatedDisk()
  const options = { storage: disk.storage, segmentSize: 2_000_000, compress: 'gzip' }
  const log = SegmentedLog('/logs', options)
  for (let i = 0; i < 30; i++) await log.append(crypto.randomBytes(200_000))
  await sleep(100)
  await log.close()
  t.deepEqual(disk.list().filter((name) => !name.endsWith('Z.log')), [])
  const [first] = disk.list()
  disk.damage(first, (medium) => { medium.fill(0, 33_000, 34_000) })
  const again = SegmentedLog('/logs', { ...options, onCorrupt: 'skip' })
  await again.count()
  await sleep(100)
  await again.close()
  t.equal(disk.list()[0], first)
})

for (const when of ['before', 'when the compressed file is made']) {
  for (const place of ['first', 'last']) {
    tape(`compress: a text whose ${place} line another program has changed, ${when}, is compressed once that is accepted`, async (t) => {
      const disk = new SimulatedDisk()
      const options = { storage: disk.storage, framing: 'lines', codec: jsonCodec, segmentSize: 200_000 }
      const log = SegmentedLog('/logs', options)
      for (let i = 0; i < 1000; i++) await log.append({ n: 100 + i % 100, text: 'x'.repeat(500) })
      await log.close()
      const [first, second] = disk.list().filter((name) => name.endsWith('.jsonl'))
      const change = () => disk.damage(first, (medium) => {
        const at = place === 'first' ? medium.indexOf('"n":') : medium.lastIndexOf('"n":')
        medium[at + 4] = 0x37
      })
      if (when === 'before') change()
      else disk.decide = ({ name, path }) => { if (name === 'open' && path === `${first}.gz.new`) change() }
      const again = SegmentedLog('/logs', { ...options, compress: 'gzip' })
      await again.ready()
      await until(() => disk.list().includes(`${second}.gz`))
      await again.close()
      disk.decide = () => {}
      t.ok(disk.list().includes(first))
      t.notOk(disk.list().includes(`${first}.gz.new`))
      await acceptLines(first, { storage: disk.storage, onProgress: () => {} })
      const accepted = SegmentedLog('/logs', { ...options, compress: 'gzip' })
      await accepted.ready()
      await until(() => disk.list().includes(`${first}.gz`))
      await accepted.close()
    })
  }
}

tape('compress: damage has a code and a place, and the rest can be read and saved', async (t) => {
  const folder = newPath('logs')
  const { log, entries } = await fill(folder, { segmentSize: 300_000 })
  await settle(log)
  await log.close()
  const file = path.join(folder, compressedFiles(folder)[0])
  const sound = fs.readFileSync(file)
  const offset = Math.floor(sound.length / 2)
  const damaged = Buffer.from(sound)
  damaged.fill(0, offset, offset + 40)
  fs.writeFileSync(file, damaged)
  const reader = SegmentedLog(folder, { codec: jsonCodec, flags: 'r' })
  const err = await failureOf(() => collect(reader.stream()))
  t.equal(err?.code, 'ERR_LOG_CORRUPT')
  t.ok(err.offset > 65_536 && err.path.startsWith(file.replace('.gz', '')), `${err.path} ${err.offset}`)
  const rest = await collect(reader.stream({ onCorrupt: 'skip' }))
  t.ok(rest.length > 300 && rest.length < 600, `${rest.length} records are left`)
  await reader.close()
  const report = await verify(file, { storage: plainStorage })
  t.notOk(report.isSound)
  t.ok(report.damage[0].offset > 65_536 && report.damage[0].offset % 65_536 > 0, 'what is in front of the damage is read')
  const { recovered } = await repair(file, path.join(folder, 'mended'), { write: true, storage: plainStorage })
  t.equal(recovered, report.records)

  // Without its index, or cut off.
  for (const bytes of [sound.subarray(0, -1), sound.subarray(0, offset), Buffer.alloc(0), Buffer.alloc(5000)]) {
    fs.writeFileSync(file, bytes)
    const lost = await failureOf(() => verify(file, { storage: plainStorage }))
    t.equal(lost?.code, 'ERR_LOG_CORRUPT', `${bytes.length} bytes: ${lost?.message}`)
    t.equal(lost?.path, file)
  }
  t.equal(entries.length, 600)
})

tape(`compress: whatever the bytes are, reading is bounded and either right or refused (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const folder = newPath('logs')
  const { log, entries } = await fill(folder, { segmentSize: 300_000 })
  const values = new Map(entries.map(({ seq, value }) => [seq, value]))
  await settle(log)
  await log.close()
  const name = path.join(folder, compressedFiles(folder)[0])
  const sound = fs.readFileSync(name)
  const plain = zlib.gunzipSync(sound)
  const outcomes = { right: 0, refused: 0, reported: 0 }
  for (let round = 0; round < 300; round++) {
    const bytes = Buffer.from(sound)
    const isAtEnd = random(2) === 0
    for (let count = 1 + random(4); count > 0; count--) {
      bytes[isAtEnd ? bytes.length - 1 - random(200) : random(bytes.length)] = random(256)
    }
    const disk = new SimulatedDisk()
    disk.put('/a.log.gz', bytes)
    const handle = await openPlain(disk, '/a.log').catch((err) => err)
    if (handle instanceof Error) {
      outcomes.refused++
      if (handle.code !== 'ERR_LOG_CORRUPT') t.fail(handle.stack)
      continue
    }
    const read = Buffer.alloc(plain.length + 10)
    const size = handle.readSync(read, 0, read.length, 0)
    if (size > plain.length) t.fail(`${size} bytes`)
    const isRight = read.subarray(0, size).equals(plain)
    if (isRight) outcomes.right++
    else {
      outcomes.reported++
      // The checksums of the log find what a damaged member gives.
      const storage = createPlainStorage(disk.storage)
      const damaged = OffsetLog('/a.log', { codec: jsonCodec, flags: 'r', onCorrupt: 'skip', storage })
      const wrong = await collect(damaged.stream()).then((found) => {
        return found.filter(({ seq, value }) => JSON.stringify(values.get(seq)) !== JSON.stringify(value))
      }, (err) => ['ERR_LOG_CORRUPT', 'ERR_LOG_UNKNOWN_FORMAT'].includes(err.code) ? [] : [err.stack])
      t.deepEqual(wrong, [], `round ${round}: no record is wrong`)
      await damaged.close()
    }
    await promisesOf(handle).close()
  }
  t.ok(outcomes.refused > 20 && outcomes.reported > 20, JSON.stringify(outcomes))
})

tape('compress: of a member that inflates to more than the index says, no more is read', async (t) => {
  const bomb = zlib.gzipSync(Buffer.alloc(60 * 2 ** 20), { level: 9 })
  const small = zlib.gzipSync(Buffer.alloc(65_536, 'x'))
  const cases = [
    { members: [bomb, small], size: 65_537, bytes: [0, 0] },
    { members: [small, zlib.gzipSync(Buffer.alloc(100_000, 'x'))], size: 65_537, bytes: [120, 120] },
    { members: [small, zlib.gzipSync(Buffer.from('xy'))], size: 65_538, bytes: [120, 120] }
  ]
  for (const { members, size, bytes } of cases) {
    const disk = new SimulatedDisk()
    const sizes = members.map(({ length }) => length)
    disk.put('/a.log.gz', Buffer.concat([...members, encodeIndex(formats[0], sizes, size)]))
    const handle = await openPlain(disk, '/a.log')
    const target = Buffer.alloc(size)
    t.equal(handle.readSync(target, 0, size, 0), size)
    t.deepEqual([target[0], target[65_536]], bytes)
    t.equal((await failureOf(() => promisesOf(handle).write(target, 0, 1, 0)))?.code, 'EROFS')
  }
})

tape('compress: the quota holds at every moment, and compression makes room for more', async (t) => {
  const kept = []
  for (const compress of [false, 'gzip']) {
    const disk = new SimulatedDisk()
    const maxSize = 2 ** 20
    let most = 0
    disk.onChange = () => { most = Math.max(most, disk.list().reduce((sum, file) => sum + disk.read(file).length, 0)) }
    const log = SegmentedLog('/logs', { storage: disk.storage, maxSize, segmentSize: 100_000, compress })
    const countPlain = () => disk.list().filter((file) => file.endsWith('.log')).length
    for (let i = 0; i < 600; i++) {
      await log.append(Buffer.from(`${i} `.repeat(700)))
      if (i % 20 === 0 && compress) await until(() => countPlain() <= 2)
    }
    t.ok(most <= maxSize, `${most} bytes at most`)
    kept.push(await log.count())
    await log.close()
  }
  t.ok(kept[1] > kept[0], `${kept[1]} records are kept, ${kept[0]} without`)
})

/** What a disk has of each record, with what its compressed files give up to their damage. */
function textsOn (disk) {
  return disk.list().map((file) => {
    const bytes = disk.read(file)
    if (!file.endsWith('.gz')) return bytes.toString('latin1')
    let text = ''
    for (let at = bytes.indexOf('1f8b08', 0, 'hex'); at !== -1; at = bytes.indexOf('1f8b08', at + 3, 'hex')) {
      text += inflateSound(bytes.subarray(at))
    }
    return text
  }).join('\n')
}

/** @param {Buffer} bytes */
function inflateSound (bytes) {
  let [low, high] = [0, bytes.length]
  const attempt = (length) => {
    try {
      return zlib.gunzipSync(bytes.subarray(0, length), { finishFlush: zlib.constants.Z_SYNC_FLUSH })
    } catch {
      return null
    }
  }
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (attempt(middle) === null) high = middle - 1
    else low = middle
  }
  return attempt(low)?.toString('latin1') ?? ''
}

tape(`compress: a deletion destroys nothing that can still be read of a damaged segment (gz-del-zeroes, seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const textOf = (i) => crypto.createHash('sha256').update(`t${i}`).digest('hex').repeat(10)
  const count = 220
  const whole = new SimulatedDisk()
  const options = { codec: jsonCodec, segmentSize: 200_000, compress: 'gzip' }
  const writer = SegmentedLog('/logs', { ...options, storage: whole.storage })
  const seqs = []
  for (let i = 0; i < count; i++) seqs.push(await writer.append({ i, text: textOf(i) }))
  await writer.roll()
  await settle(writer)
  await writer.close()
  const file = whole.list()[0]
  for (let run = 0; run < inQuickRuns(40); run++) {
    const disk = whole.clone()
    disk.damage(file, (medium) => {
      // Behind the segment's head: without that, no record can be read, and none deleted.
      const at = 1000 + random(medium.length - 6000)
      if (run % 3 === 0) medium[at] ^= 1 << random(8)
      else if (run % 3 === 1) medium.fill(0, at, at + 1 + random(3000))
      else for (let byte = 0; byte < 40; byte++) medium[at + byte] = random(256)
    })
    const storage = disk.storage
    const readable = async (log) => {
      const values = await Promise.all(seqs.map((seq) => log.get(seq).catch(() => null)))
      return values.map((value, i) => value === null ? -1 : i).filter((i) => i !== -1)
    }
    const inTexts = () => {
      const texts = textsOn(disk)
      return seqs.map((_, i) => i).filter((i) => texts.includes(textOf(i)))
    }
    const before = inTexts()
    const log = SegmentedLog('/logs', { ...options, storage, compress: random(2) ? 'gzip' : false })
    const good = await readable(log)
    const gone = new Set()
    for (let n = 0; n < 3; n++) {
      const i = good[random(good.length)]
      // A record beside damage can be refused. Then nothing changes.
      const err = gone.has(i) ? null : await failureOf(() => log.del(seqs[i]))
      if (err === null) gone.add(i)
      else t.ok(['ERR_LOG_CORRUPT', 'ERR_LOG_READ_ONLY'].includes(err.code), err.stack)
      t.deepEqual(await readable(log), good.filter((i) => !gone.has(i)), `run ${run}: get`)
    }
    await log.close()
    const left = new Set(inTexts())
    const lost = before.filter((i) => !gone.has(i) && !left.has(i))
    t.ok(lost.every((i) => !good.includes(i)), `run ${run}: bytes, ${lost}`)
    // If damage makes a member longer, its end is cut off: one record, rarely more, and no other in between.
    const between = before.filter((i) => i > lost[0] && i < Number(lost.at(-1)) && left.has(i))
    t.deepEqual(between, [], `run ${run}: only the end of a member, ${lost}`)
  }
})

tape(`compress: a compressed segment is never written, wherever it is damaged (gz-del-poisons, seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const whole = new SimulatedDisk()
  const options = { codec: jsonCodec, segmentSize: 200_000, compress: 'gzip' }
  const { log: writer, entries } = await fill('/logs', { ...options, storage: whole.storage })
  await settle(writer)
  await writer.close()
  const files = whole.list()
  for (let run = 0; run < inQuickRuns(60); run++) {
    const disk = whole.clone()
    // The last segment is compressed, too, if somebody has removed what was behind it.
    if (run % 4 === 3) await promisesOf(disk.storage).unlink(files[files.length - 1])
    const file = files[run % 4 === 3 ? files.length - 2 : 0]
    disk.damage(file, (medium) => {
      // Near the start is the head of the log; near the end, of its last member, is the end of the log.
      const at = run % 2 === 0 ? 10 + random(400) : medium.length - 2 - random(medium.length - 200)
      if (run % 3 === 0) medium[at] ^= 1 << random(8)
      else medium.fill(0, at, Math.min(at + 1 + random(300), medium.length - 100))
    })
    const fsync = run % 3 === 0 ? 'always' : 'interval'
    const log = SegmentedLog('/logs', { ...options, storage: disk.storage, fsync, onCorrupt: run % 5 === 0 ? 'error' : 'skip' })
    const segments = await log.segments()
    const inSegment = entries.filter(({ seq }) => seq >= segments[0].base && seq < segments[1].base)
    for (const { seq } of [0, 1, 40, inSegment.length - 1].map((i) => inSegment[i])) {
      const err = await failureOf(() => log.del(seq))
      const codes = ['ERR_LOG_CORRUPT', 'ERR_LOG_READ_ONLY', 'ERR_RECORD_NOT_FOUND', 'ERR_LOG_SEQ_LOST', 'flumelog:deleted']
      t.ok(err === null || codes.includes(err.code), `run ${run}: del ${err?.code} ${err?.message ?? ''}`)
    }
    await log.append({ later: run })
    await log.sync()
    const found = await log.count({ onCorrupt: 'skip', where: { path: ['later'], equals: run } })
    t.equal(found, 1, `run ${run}: the log goes on`)
    t.equal(await failureOf(() => log.close()), null, `run ${run}: close`)
  }
})

tape('compress: options', (t) => {
  t.throws(() => SegmentedLog('logs', { compress: 'lz4' }), { code: 'ERR_INVALID_ARGUMENT' })
  if (!hasZstd) t.throws(() => SegmentedLog('logs', { compress: 'zstd' }), { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})
