'use strict'
// A log of segments that are plain text files, such as JSON Lines. The contract suite tests what all framings do alike.

const { execFileSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const zlib = require('node:zlib')
const tape = require('tape')
const { withDictionary } = require('@millrace/dictionary')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { collect, createRandom, failureOf, newPath, until } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const SEGMENT = /^\d{16}-\d{8}T\d{9}Z\.jsonl$/
const formats = [{ name: 'gzip', suffix: '.gz', tool: 'zcat', inflate: zlib.gunzipSync }]
if ('zstdCompress' in zlib) formats.push({ name: 'zstd', suffix: '.zst', tool: 'zstdcat', inflate: zlib.zstdDecompressSync })

const openLines = (folder, options) => SegmentedLog(folder, { framing: 'lines', codec: jsonCodec, segmentSize: 20_000, ...options })
const segmentFiles = (folder) => fs.readdirSync(folder).filter((name) => /\.(log|jsonl)(\.gz|\.zst)?$/.test(name)).sort()

/** The values in some files of lines, by a reader that knows nothing of logs. */
function parseFiles (folder, names = segmentFiles(folder)) {
  return names.flatMap((name) => {
    const text = fs.readFileSync(path.join(folder, name), 'utf8')
    return text === '' ? [] : text.replace(/\n$/, '').split('\n').map((line) => JSON.parse(line))
  })
}

/** In bytes; 0 of a file that was removed meanwhile. */
function sizeOf (file) {
  return fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/** A log of several segments, and what is in it. */
async function fill (folder, options, count = 300) {
  const log = openLines(folder, options)
  const entries = []
  for (let i = 0; i < count; i++) {
    const value = { i, time: new Date(Date.UTC(2026, 0, 1) + i * 60_000).toISOString(), text: 'the same words again '.repeat(10) }
    entries.push({ seq: await log.append(value), value })
  }
  return { log, entries }
}

tape('lines: segments are lines of JSON, and nothing else', async (t) => {
  const folder = newPath('logs')
  const { log, entries } = await fill(folder)
  t.deepEqual(parseFiles(folder), entries.map(({ value }) => value), 'while it is open')
  await log.close()
  const names = segmentFiles(folder)
  t.ok(names.length >= 3 && names.every((name) => SEGMENT.test(name)), names.join())
  t.deepEqual(parseFiles(folder), entries.map(({ value }) => value), 'closed')
  for (const options of [{}, { flags: 'r' }, { framing: undefined }, { framing: undefined, flags: 'r' }]) {
    const again = openLines(folder, options)
    t.deepEqual(await collect(again.stream()), entries)
    t.deepEqual(await collect(again.stream({ reverse: true })), entries.toReversed())
    t.deepEqual(await again.getMany([entries[250].seq, entries[1].seq]), [entries[250].value, entries[1].value])
    t.deepEqual(await again.count({ where: { path: ['i'], gte: 200 } }), 100)
    const { del, uniqueSeqs, onCorrupt, atomicBatch } = again.supports
    t.deepEqual({ del, uniqueSeqs, onCorrupt }, { del: false, uniqueSeqs: false, onCorrupt: true })
    t.equal(atomicBatch, true)
    t.equal((await again.stats()).framing, 'lines')
    await again.close()
  }
  t.deepEqual(segmentFiles(folder), names, 'opening makes no segment')
})

tape('lines: the seq of a record is its place behind the base of its segment', async (t) => {
  const folder = newPath('logs')
  const { log, entries } = await fill(folder)
  const segments = await log.segments()
  for (const { seq, value } of entries) {
    const { base, path } = segments.findLast(({ base }) => base <= seq)
    const rest = fs.readFileSync(path).subarray(seq - base).toString()
    if (JSON.stringify(value) !== rest.slice(0, rest.indexOf('\n'))) t.fail(`${seq} is not at ${seq - base} of ${path}`)
  }
  const [{ seq }] = entries
  t.equal((await failureOf(() => log.get(seq + 1))).code, 'ERR_RECORD_NOT_FOUND')
  await log.close()
})

tape('lines: a folder has one framing', async (t) => {
  const texts = newPath('texts')
  const checked = newPath('checked')
  await openLines(texts).close()
  await openLines(checked, { framing: 'checked' }).close()
  for (const [folder, framing, other] of [[texts, 'checked', 'lines'], [checked, 'lines', 'checked']]) {
    const names = fs.readdirSync(folder)
    for (const flags of ['r', 'r+']) {
      const log = openLines(folder, { framing, flags })
      const err = await failureOf(() => log.ready())
      t.deepEqual([err.code, err.path], ['ERR_LOG_UNKNOWN_FORMAT', folder])
      t.ok(err.message.includes(`a log of the framing ${other}`) && err.message.includes('without the option'), err.message)
      await log.close().catch(() => {})
    }
    t.deepEqual(fs.readdirSync(folder), names, 'nothing was changed')
  }
  for (const name of segmentFiles(checked)) fs.copyFileSync(path.join(checked, name), path.join(texts, name))
  for (const framing of [undefined, 'lines', 'checked']) {
    const log = openLines(texts, { framing })
    const err = await failureOf(() => log.ready())
    t.equal(err.code, 'ERR_LOG_UNKNOWN_FORMAT')
    t.match(err.message, /different framings, .*\.(log|jsonl) and .*\.(log|jsonl)/)
    await log.close().catch(() => {})
  }
})

tape('lines: what the framing cannot do is refused', async (t) => {
  const folder = newPath('logs')
  const keep = { where: { path: ['i'], equals: 1 } }
  for (const options of [{ keep }, { codec: withDictionary(jsonCodec) }, { framing: 'offset32' }, { framing: null }]) {
    t.throws(() => openLines(folder, options), { code: 'ERR_INVALID_ARGUMENT' }, JSON.stringify(options))
  }
  t.notOk(fs.existsSync(folder), 'and makes nothing')
  const { log, entries } = await fill(folder)
  const bytes = segmentFiles(folder).map((name) => fs.readFileSync(path.join(folder, name), 'utf8'))
  t.equal((await failureOf(() => log.del(entries[0].seq))).code, 'ERR_NOT_SUPPORTED')
  t.equal((await failureOf(() => log.del([entries[0].seq, entries[299].seq]))).code, 'ERR_NOT_SUPPORTED')
  t.equal((await failureOf(() => log.append(7n))).code, 'ERR_CODEC_ENCODE')
  t.deepEqual(segmentFiles(folder).map((name) => fs.readFileSync(path.join(folder, name), 'utf8')), bytes)
  await log.close()
  const kept = openLines(folder, { framing: undefined, keep })
  t.equal((await failureOf(() => kept.ready())).code, 'ERR_NOT_SUPPORTED')
  await kept.close().catch(() => {})
  const text = SegmentedLog(newPath('text'), { framing: 'lines' })
  t.equal((await failureOf(() => text.append(Buffer.from('a\nb')))).code, 'ERR_RECORD_UNREPRESENTABLE')
  await text.close()
})

tape('lines: the oldest segments go, and with them what lies beside them', async (t) => {
  const folder = newPath('logs')
  const { log, entries } = await fill(folder)
  const [first, second] = (await log.segments()).map(({ path }) => path)
  for (const file of [first, second]) fs.writeFileSync(`${file}.sums`, 'a file of the lines')
  await log.close()
  const again = openLines(folder)
  await again.ready()
  t.ok(fs.existsSync(`${first}.sums`), 'opening leaves it alone')
  const { base } = (await again.segments())[1]
  await again.dropBefore(base)
  t.deepEqual([first, `${first}.sums`, second, `${second}.sums`].map((file) => fs.existsSync(file)), [false, false, true, true])
  t.deepEqual(await collect(again.stream()), entries.filter(({ seq }) => seq >= base))
  await again.hold('reader', entries[200].seq)
  await again.dropBefore(again.since.value)
  t.ok((await again.first()).seq <= entries[200].seq, 'a hold keeps records')
  await again.close()
})

tape('lines: maxSize bounds the folder, also for a caller that never waits', async (t) => {
  const folder = newPath('logs')
  const log = openLines(folder, { maxSize: 2 ** 20, segmentSize: 50_000 })
  await log.ready()
  const text = 'x'.repeat(1000)
  let largest = 0
  for (let i = 0; i < 3000; i++) {
    log.appendSync({ i, text }, { sync: false })
    if (i % 50 !== 0) continue
    largest = Math.max(largest, fs.readdirSync(folder).reduce((sum, name) => sum + sizeOf(path.join(folder, name)), 0))
  }
  t.ok(largest <= 2 ** 20 && largest > 2 ** 19, `${largest} bytes`)
  const orphans = fs.readdirSync(folder).filter((name) => name.endsWith('.sums') && !fs.existsSync(path.join(folder, name.slice(0, -5))))
  t.deepEqual(orphans, [], 'what lies beside a segment goes with it')
  await log.close()
  const values = parseFiles(folder)
  t.deepEqual(values.map(({ i }) => i), Array.from(values, (_, index) => 3000 - values.length + index), 'the newest ones, in order')
})

tape('lines: reads of a period skip segments', async (t) => {
  const folder = newPath('logs')
  const { log, entries } = await fill(folder, { time: ['time'] })
  await until(async () => fs.existsSync(path.join(folder, 'times')))
  const time = { gte: entries[100].value.time, lt: entries[110].value.time }
  t.deepEqual(await collect(log.stream({ time })), entries.slice(100, 110))
  await log.close()
})

tape('lines: a reader follows from segment to segment', async (t) => {
  const folder = newPath('logs')
  const writer = openLines(folder)
  await writer.append({ i: -1 })
  const reader = openLines(folder, { flags: 'r', framing: undefined })
  const seen = []
  const reading = (async () => {
    for await (const { i } of reader.stream({ live: true, seqs: false })) if (seen.push(i) === 301) break
  })()
  for (let i = 0; i < 300; i++) await writer.append({ i, text: 'x'.repeat(300) })
  await reading
  t.deepEqual(seen, Array.from({ length: 301 }, (_, index) => index - 1))
  t.ok((await writer.segments()).length > 3)
  await reader.close()
  await writer.close()
})

tape('lines: all segments have the id of the log', async (t) => {
  const folder = newPath('logs')
  const { log } = await fill(folder)
  const { id } = await log.stats()
  t.match(id, /^[0-9a-f]{32}$/)
  await log.close()
  for (const name of segmentFiles(folder)) {
    const alone = OffsetLog(path.join(folder, name), { framing: 'lines' })
    t.equal((await alone.stats()).id, id, name)
    await alone.close()
  }
  const again = openLines(folder)
  t.equal((await again.stats()).id, id, 'also when it is opened again')
  await again.close()
})

tape('lines: a torn last line of the newest segment is cut, and never gets the next record', async (t) => {
  const folder = newPath('logs')
  const { log, entries } = await fill(folder)
  const last = (await log.segments()).at(-1).path
  await log.close()
  fs.appendFileSync(last, '{"torn":"li')
  const again = openLines(folder)
  await again.append({ next: 1 })
  t.equal(again.recovery.size, 11)
  t.equal(fs.readFileSync(again.recovery.keptAt, 'utf8'), '{"torn":"li')
  await again.close()
  t.deepEqual(parseFiles(folder), [...entries.map(({ value }) => value), { next: 1 }])
})

tape('lines: a hole in a sealed segment is damage, and the lines behind it are read', async (t) => {
  const folder = newPath('logs')
  const { log, entries } = await fill(folder)
  const [{ path: file }] = await log.segments()
  await log.close()
  const bytes = fs.readFileSync(file)
  bytes.fill(0, 4096, 8192)
  fs.writeFileSync(file, bytes)
  const again = openLines(folder)
  t.equal((await failureOf(() => again.count())).code, 'ERR_LOG_CORRUPT')
  const source = again.stream({ onCorrupt: 'skip' })
  const found = await collect(source)
  const seqs = new Set(found.map(({ seq }) => seq))
  t.deepEqual(found, entries.filter(({ seq }) => seqs.has(seq)), 'nothing is invented')
  t.equal(source.lost.count, 1)
  t.ok(found.length > 260, `${found.length} of 300`)
  await again.close()
})

tape('lines: if the newest segment cannot be opened, the others are read, and another one begins', async (t) => {
  const folder = newPath('logs')
  const { log, entries } = await fill(folder)
  const { path: last, base } = (await log.segments()).at(-1)
  await log.close()
  fs.rmSync(last)
  fs.mkdirSync(last)
  const left = entries.filter(({ seq }) => seq < base)
  for (const flags of ['r', 'r+']) {
    const again = openLines(folder, { flags })
    t.deepEqual(await collect(again.stream({ onCorrupt: 'skip' })), left)
    t.equal(again.recovery.damage.length, 1)
    if (flags === 'r+') t.ok(await again.append({ next: 1 }) > entries.at(-1).seq, 'no seq comes again')
    await again.close()
  }
  t.deepEqual(parseFiles(folder, segmentFiles(folder).slice(-1)), [{ next: 1 }])
})

tape('lines: random appends, rolls and openings give what was appended', async (t) => {
  const random = createRandom(seed)
  t.comment(`MILLRACE_SEED=${seed}`)
  const folder = newPath('logs')
  const expected = []
  for (let session = 0; session < 8; session++) {
    const log = openLines(folder, { segmentSize: 2000, openSegments: 1, compress: session % 2 === 0 ? 'gzip' : false })
    for (let i = 0; i < 40; i++) {
      const values = Array.from({ length: random(4) }, () => {
        return { n: random(1e9), text: '\n"\u0000ä'.repeat(random(40)) }
      })
      expected.push(...values)
      if (i % 3 === 0) {
        await log.ready()
        log.appendSync(values, { sync: random(2) === 0 })
      } else await log.append(values)
      if (random(15) === 0) await log.roll()
    }
    t.deepEqual(await collect(log.stream({ seqs: false })), expected)
    await log.close()
  }
})

for (const { name, suffix, tool, inflate } of formats) {
  tape(`lines: ${tool} reads a compressed segment as its lines`, async (t) => {
    const folder = newPath('logs')
    const { log, entries } = await fill(folder)
    await log.close()
    const before = segmentFiles(folder).map((file) => fs.readFileSync(path.join(folder, file)))
    const again = openLines(folder, { compress: name })
    await until(async () => (await again.segments()).slice(0, -1).every(({ compressed }) => compressed === name))
    for (const [index, { path: file }] of (await again.segments()).slice(0, -1).entries()) {
      t.ok(file.endsWith(`.jsonl${suffix}`), file)
      t.ok(inflate(fs.readFileSync(file)).equals(before[index]), 'byte for byte')
      const text = runTool(tool, file)
      if (text === null) t.comment(`there is no ${tool} here`)
      else t.ok(text.equals(before[index]), tool)
    }
    t.deepEqual(await collect(again.stream()), entries)
    t.deepEqual(await collect(again.stream({ reverse: true, limit: 250 })), entries.slice(50).reverse())
    t.deepEqual(await again.getMany([entries[7].seq, entries[100].seq]), [entries[7].value, entries[100].value])
    t.equal((await failureOf(() => again.del(entries[0].seq))).code, 'ERR_NOT_SUPPORTED')
    t.equal((await again.segments())[0].compressed, name, 'a deletion that is refused inflates nothing')
    t.deepEqual(fs.readdirSync(folder).filter((file) => file.endsWith('.sums')).length, 1, 'only the newest one has sums')
    await again.close()
    const reader = openLines(folder, { flags: 'r', framing: undefined })
    t.deepEqual(await collect(reader.stream()), entries)
    await reader.close()
  })
}

/** What a program prints; null if it is not installed. */
function runTool (tool, file) {
  try {
    return execFileSync(tool, [file], { maxBuffer: 2 ** 30 })
  } catch (err) {
    if (err.code === 'ENOENT') return null
    throw err
  }
}

tape('lines: a damaged compressed segment is read up to the damage, and behind it', async (t) => {
  const folder = newPath('logs')
  const { log } = await fill(folder, { segmentSize: 300_000, compress: 'gzip' }, 3000)
  await until(async () => (await log.segments())[0].compressed !== null)
  const [{ path: file }] = await log.segments()
  await log.close()
  const bytes = fs.readFileSync(file)
  bytes.fill(0xff, Math.floor(bytes.length / 2), Math.floor(bytes.length / 2) + 100)
  fs.writeFileSync(file, bytes)
  const again = openLines(folder, { segmentSize: 300_000 })
  t.equal((await failureOf(() => again.count())).code, 'ERR_LOG_CORRUPT')
  const source = again.stream({ onCorrupt: 'skip', seqs: false })
  const found = await collect(source)
  t.ok(source.lost.count === 1 && found.length > 2000, `${found.length} of 3000`)
  t.ok(found.every(({ i, text }) => i >= 0 && text.length === 210), 'nothing is invented')
  await again.close()
})

tape('lines: maxCount and maxAge drop the oldest segments, and what is beside them', async (t) => {
  for (const limit of [{ maxCount: 2 }, { maxAge: 1 }]) {
    const folder = newPath('logs')
    const { log, entries } = await fill(folder)
    await log.roll()
    await log.close()
    const again = openLines(folder, limit)
    await again.append({ i: 300 })
    await until(async () => (await again.segments()).length <= 2)
    const segments = await again.segments()
    const left = entries.filter(({ seq }) => seq >= segments[0].base)
    t.deepEqual((await collect(again.stream({ onRetained: 'skip' }))).slice(0, left.length), left)
    t.equal((await failureOf(() => again.get(entries[0].seq))).code, 'ERR_LOG_SEQ_RETAINED')
    await again.close()
    const bases = new Set(segments.map(({ base }) => base))
    const names = fs.readdirSync(folder).filter((name) => /^\d{16}-/.test(name))
    t.ok(names.every((name) => bases.has(Number(name.slice(0, 16)))), 'no file of a dropped one')
  }
})

tape('lines: a segment of another log is never removed, but named', async (t) => {
  const other = await fill(newPath('other'))
  await other.log.close()
  const [foreign] = segmentFiles(other.log.filename)
  const own = await fill(newPath('own'))
  await own.log.close()
  const { filename: folder } = own.log
  const [, second] = segmentFiles(folder)
  const from = path.join(other.log.filename, foreign)
  for (const suffix of ['', '.sums']) fs.copyFileSync(from + suffix, path.join(folder, second) + suffix)
  const again = openLines(folder)
  const err = await failureOf(() => again.dropBefore(Infinity))
  t.equal(err?.code, 'ERR_LOG_FOREIGN_SEGMENT')
  t.equal(err?.path, path.join(folder, second))
  t.ok(fs.existsSync(err.path) && fs.existsSync(`${err.path}.sums`), 'it is as it was')
  t.equal(segmentFiles(folder).length, 2, 'its own segments are dropped')
  await again.close()
})

tape('lines: a newest segment whose sums were removed keeps the id of the log, which keeps its older segments', async (t) => {
  const folder = newPath('logs')
  const { log } = await fill(folder)
  const { id } = await log.stats()
  await log.close()
  fs.unlinkSync(path.join(folder, `${segmentFiles(folder).at(-1)}.sums`))
  const again = openLines(folder)
  await again.append({ i: 300 })
  t.equal((await again.stats()).id, id)
  await again.roll()
  await again.append({ i: 301 })
  await again.dropBefore(Infinity)
  t.equal((await again.segments()).length, 1)
  await again.close()
  for (const name of fs.readdirSync(folder).filter((name) => name.endsWith('.sums'))) fs.unlinkSync(path.join(folder, name))
  const fresh = openLines(folder)
  t.notEqual((await fresh.stats()).id, id, 'if nothing is left of it, the log gets another one')
  await fresh.append({ i: 301 })
  await fresh.close()
})

tape('lines: what a kill left of a segment that was being removed is read, and removed later', async (t) => {
  const folder = newPath()
  const { log, entries } = await fill(folder)
  await log.close()
  const [first] = segmentFiles(folder)
  fs.rmSync(path.join(folder, `${first}.sums`))
  const again = openLines(folder)
  t.equal((await collect(again.stream({ seqs: false }))).length, entries.length, 'its records are there')
  await again.close()
  const last = openLines(folder, { maxCount: 3 })
  await last.dropBefore(0)
  const left = segmentFiles(folder)
  t.equal(left.length, 3)
  t.notOk(left.includes(first), 'it goes as the others')
  await last.close()
})

tape('lines: what a kill left of sums that were being made without waiting is removed by the next open, also beside the newest segment', async (t) => {
  const folder = newPath('logs')
  const log = openLines(folder)
  await log.append({ n: 0 })
  await log.roll()
  await log.append({ n: 1 })
  await log.close()
  const before = fs.readdirSync(folder).sort()
  for (const name of segmentFiles(folder)) fs.writeFileSync(path.join(folder, `${name}.sums.now.new`), Buffer.alloc(99))
  const again = openLines(folder)
  await again.ready()
  await again.close()
  t.deepEqual(fs.readdirSync(folder).sort(), before)
})

tape('lines: readers know the id, and an epoch that rises with each segment', async (t) => {
  const folder = newPath('logs')
  const { log } = await fill(folder)
  const stats = await log.stats()
  const reader = openLines(folder, { flags: 'r', framing: undefined })
  const seen = await reader.stats()
  t.deepEqual([seen.id, seen.epoch], [stats.id, stats.epoch])
  await log.roll()
  t.ok((await log.stats()).epoch > stats.epoch)
  await reader.close()
  await log.close()
})

tape('lines: the lock names the newest segment, which is empty when it is made, so a kill is known to lose nothing', { skip: process.platform !== 'linux' }, async (t) => {
  const folder = newPath('log')
  const log = SegmentedLog(folder, { framing: 'lines' })
  for (let n = 0; n < 3; n++) {
    await log.append(Buffer.from(`{"n":${n}}`))
    const { content } = JSON.parse(fs.readFileSync(path.join(folder, 'writer.lock'), 'utf8'))
    const { dev, ino } = fs.statSync((await log.segments()).at(-1).path, { bigint: true })
    t.deepEqual(content, { device: String(dev), inode: String(ino) })
    await log.roll()
  }
  await log.close()
})
