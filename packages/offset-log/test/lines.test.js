'use strict'
// A log that is a plain text file: what is special about it. The contract suite tests all that is not.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom, failureOf, newPath, until } = require('@millrace/testkit')
const { makeText, readLines } = require('../../framing/test/lines-oracle')
const { OffsetLog } = require('..')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUNDS = process.env.LONG ? 5000 : 50
const LINES = '{"n":1}\n{"n":2}\n'

const openJson = (file, options) => OffsetLog(file, { framing: 'lines', codec: jsonCodec, ...options })

/** A file with these bytes. */
function makeFile (bytes) {
  const file = newPath('events.jsonl')
  fs.writeFileSync(file, bytes)
  return file
}

/** What a log reads, and what it lost. */
async function readAll (log, options = {}) {
  const source = log.stream(options)
  const entries = []
  for await (const entry of source) entries.push(entry)
  const { lost, undecodable } = source
  return { values: entries.map(({ value }) => value), seqs: entries.map(({ seq }) => seq), lost, undecodable }
}

tape('lines: the file is the lines, and nothing else', async (t) => {
  const file = newPath('events.jsonl')
  const log = openJson(file)
  const first = await log.append({ n: 1 })
  const [second, third] = await log.append([{ n: 2 }, { text: 'two\nlines' }], { seqs: true })
  t.deepEqual([first, second, third], [0, 8, 16])
  t.equal(fs.readFileSync(file, 'utf8'), LINES + '{"text":"two\\nlines"}\n')
  t.deepEqual(await log.getMany([0, 8, 16]), [{ n: 1 }, { n: 2 }, { text: 'two\nlines' }])
  for (const seq of [1, 7, 9, 15]) t.equal((await failureOf(() => log.get(seq))).code, 'ERR_RECORD_NOT_FOUND', `no line begins at ${seq}`)
  t.equal((await log.stats()).framing, 'lines')
  t.deepEqual([log.supports.del, log.supports.uniqueSeqs, log.supports.compact], [false, false, false])
  await log.close()
  t.equal(fs.readFileSync(file, 'utf8').length, 38, 'closing adds nothing')
  t.deepEqual(fs.readdirSync(path.dirname(file)).filter((name) => name.includes('.cut')), [])
})

tape('lines: what is no line of text is refused, and the log is as it was', async (t) => {
  const log = OffsetLog(newPath('text'), { framing: 'lines' })
  for (const text of ['', 'a\nb', 'a\r', 'a\0']) {
    t.equal((await failureOf(() => log.append(Buffer.from(text)))).code, 'ERR_RECORD_UNREPRESENTABLE', JSON.stringify(text))
    t.equal((await failureOf(() => log.append([Buffer.from('good'), Buffer.from(text)]))).index, 1)
  }
  t.equal(await log.append(Buffer.from('a')), 0)
  await log.close()
})

tape('lines: a file of another program opens as it is', async (t) => {
  const cases = {
    'a byte-order mark': ['\ufeff' + LINES, 2],
    'line breaks of Windows': [LINES.replaceAll('\n', '\r\n'), 2],
    'no last line break': [LINES.slice(0, -1), 2],
    'no last line break, of Windows': ['{"n":1}\r\n{"n":2}', 2],
    'blank lines': ['\n\n' + LINES.replace('\n', '\n\r\n\n') + '\n', 2],
    'one line': ['{"n":1}', 1],
    'nothing but a byte-order mark': ['\ufeff', 0],
    'nothing but blank lines': ['\n\r\n', 0],
    nothing: ['', 0]
  }
  for (const [name, [text, count]] of Object.entries(cases)) {
    const file = makeFile(text)
    const values = [{ n: 1 }, { n: 2 }].slice(0, count)
    for (const flags of ['r', 'r+']) {
      const log = openJson(file, { flags })
      const { values: found, seqs } = await readAll(log)
      t.deepEqual(found, values, `${name}, ${flags}`)
      t.deepEqual((await readAll(log, { reverse: true })).values.reverse(), values, 'reversed')
      t.deepEqual(await log.getMany(seqs), values, 'get')
      t.equal(log.since.value, seqs.at(-1) ?? -1, 'since')
      t.equal(log.recovery, null, 'nothing was wrong')
      await log.close()
      t.equal(fs.readFileSync(file, 'utf8'), text, 'and stays as it is')
    }
    const log = openJson(file)
    const seq = await log.append({ n: 3 })
    t.deepEqual(await log.get(seq), { n: 3 })
    t.deepEqual((await readAll(log)).values, [...values, { n: 3 }])
    await log.close()
    const broken = text === '' || text === '\ufeff' || text.endsWith('\n') ? text : text + '\n'
    t.equal(fs.readFileSync(file, 'utf8'), broken + '{"n":3}\n', 'an append adds the line break that is missing')
  }
})

tape('lines: a torn last line is cut, kept beside the log, and no record is ever put behind it', async (t) => {
  for (const torn of ['{"n":', '{"n":3', '{', '12', '\0\0\0', '{"n":3}\0\0']) {
    const file = makeFile(LINES + torn)
    const reader = openJson(file, { flags: 'r' })
    t.deepEqual((await readAll(reader)).values, [{ n: 1 }, { n: 2 }], JSON.stringify(torn))
    t.deepEqual([reader.recovery.offset, reader.recovery.keptAt], [16, null])
    await reader.close()
    t.equal(fs.readFileSync(file, 'latin1'), LINES + torn, 'a reader changes nothing')
    const log = openJson(file)
    await log.append({ n: 4 })
    t.deepEqual([log.recovery.offset, log.recovery.size, log.recovery.keptAt], [16, torn.length, `${file}.cut-16`])
    t.equal(fs.readFileSync(`${file}.cut-16`, 'latin1'), torn)
    await log.close()
    t.equal(fs.readFileSync(file, 'utf8'), LINES + '{"n":4}\n')
  }
})

// What people have found in the files of programs that only append: after a power cut, after two processes, after a
// process that died.
tape('lines: what plain files suffer costs the lines that it hit', async (t) => {
  const zeros = '\0'.repeat(5000)
  const cases = {
    'zeros at the end, then more lines': [`${LINES}${zeros}{"n":3}\n{"n":4}\n`, [1, 2, 3, 4], 1, 0],
    'zeros over several lines': [`{"n":1}\n{"n"${zeros}":3}\n{"n":4}\n`, [1, 4], 1, 0],
    'a file of zeros': [zeros, [], 0, 0],
    'zeros, with a line break': [`${zeros}\n{"n":1}\n`, [1], 1, 0],
    'the next record put behind a torn line': ['{"n":1}\n{"text":"so{"n":2}\n{"n":3}\n', [1, 3], 0, 1],
    'lines of two processes in one another': ['{"n":1}\n{"text":{"text":"b"}\n"a"}\n{"n":3}\n', [1, 3], 0, 2],
    'a line that is no JSON': ['{"n":1}\nSegmentation fault\n{"n":3}\n', [1, 3], 0, 1]
  }
  for (const [name, [text, numbers, lostCount, undecodable]] of Object.entries(cases)) {
    const file = makeFile(text)
    const log = openJson(file)
    const found = await readAll(log, { onCorrupt: 'skip' })
    t.deepEqual(found.values.map(({ n }) => n), numbers, name)
    t.deepEqual([found.lost.count, found.undecodable.count], [lostCount, undecodable], `${name}: what is lost is counted`)
    if (lostCount > 0) t.equal((await failureOf(() => readAll(log))).code, 'ERR_LOG_CORRUPT')
    if (undecodable > 0) t.equal((await failureOf(() => readAll(log))).code, 'ERR_CODEC_DECODE')
    const seq = await log.append({ n: 9 })
    t.deepEqual(await log.get(seq), { n: 9 })
    await log.close()
    t.ok(fs.readFileSync(file, 'utf8').endsWith('\n{"n":9}\n') || fs.readFileSync(file, 'utf8') === '{"n":9}\n')
  }
})

tape('lines: without the option, only text that begins with an object is opened', async (t) => {
  const log = OffsetLog(makeFile(LINES), { codec: jsonCodec })
  t.deepEqual((await readAll(log)).values, [{ n: 1 }, { n: 2 }])
  await log.close()
  for (const text of ['hello\n', '# A readme\n', '1\n2\n', zerosAnd('{}')]) {
    const file = makeFile(text)
    const other = OffsetLog(file, { codec: jsonCodec })
    t.equal((await failureOf(() => other.ready())).code, 'ERR_LOG_UNKNOWN_FORMAT', JSON.stringify(text.slice(0, 20)))
    t.equal(fs.readFileSync(file, 'utf8'), text)
  }
})

tape('lines: a reader in another process sees whole lines only', async (t) => {
  const file = makeFile('')
  const log = openJson(file, { flags: 'r' })
  const seen = []
  const reading = (async () => {
    for await (const { value } of log.stream({ live: true })) if (seen.push(value.n) === 4) break
  })()
  await log.ready()
  fs.appendFileSync(file, '{"n":1}')
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.deepEqual(seen, [], 'not without its line break')
  fs.appendFileSync(file, '\n{"n":2}\n{"n"')
  await until(() => seen.length === 2)
  fs.appendFileSync(file, ':3}\n{"n":4}\n')
  await reading
  t.deepEqual(seen, [1, 2, 3, 4])
  await log.close()
})

tape('lines: what another program does to a closed log is noticed, named and taken as it is', async (t) => {
  const write = async (file) => {
    const log = openJson(file)
    await log.append([{ n: 1 }, { n: 2 }])
    await log.close()
  }
  const cases = {
    'it appends': [(text) => text + '{"n":3}\n', null, [1, 2, 3]],
    'it appends without a line break': [(text) => text + '{"n":3}', null, [1, 2, 3]],
    'it changes a line': [(text) => text.replace('2', '7'), /bytes before 16 are others/, [1, 7]],
    'it cuts a line': [(text) => text.slice(0, 8), /has 8 bytes, and had 16/, [1]],
    'it empties the file, as copytruncate does': [() => '', /has 0 bytes/, []],
    'it puts a line before the others': [(text) => '{"n":0}\n' + text, /others/, [0, 1, 2]]
  }
  for (const [name, [change, said, numbers]] of Object.entries(cases)) {
    const file = newPath('events.jsonl')
    await write(file)
    fs.writeFileSync(file, change(fs.readFileSync(file, 'utf8')))
    const log = openJson(file)
    t.deepEqual((await readAll(log)).values.map(({ n }) => n), numbers, name)
    if (said === null) t.equal(log.recovery, null)
    else t.match(log.recovery.changed, said)
    await log.append({ n: 9 })
    await log.close()
    const again = openJson(file)
    t.deepEqual((await readAll(again)).values.map(({ n }) => n), [...numbers, 9])
    if (said === null) t.equal(again.recovery, null)
    else t.match(again.recovery.changed, /at an earlier time/, 'until somebody accepts it')
    await again.close()
  }
})

tape('lines: what another program appends to an open log, or cuts off, is not overwritten', async (t) => {
  for (const [name, change, left] of [
    ['appended', (file) => fs.appendFileSync(file, '{"n":5}\n'), [1, 2, 5, 9]],
    ['cut', (file) => fs.truncateSync(file, 8), [1, 9]],
    ['emptied', (file) => fs.truncateSync(file, 0), [9]]
  ]) {
    for (const isSync of [false, true]) {
      const file = newPath('events.jsonl')
      const log = openJson(file)
      await log.append({ n: 1 })
      await log.append({ n: 2 })
      change(file)
      const append = async () => isSync ? log.appendSync({ n: 3 }) : log.append({ n: 3 })
      t.equal((await failureOf(append)).code, 'ERR_LOG_POISONED', name)
      await log.close().catch(() => {})
      const again = openJson(file)
      await again.append({ n: 9 })
      t.deepEqual((await readAll(again)).values.map(({ n }) => n), left)
      await again.close()
    }
  }
})

tape('lines: the file of sums can be removed, or be of anything, and a reader makes none', async (t) => {
  const file = newPath('events.jsonl')
  const sums = `${file}.sums`
  const ids = new Set()
  for (const spoil of [() => {}, () => {}, () => fs.rmSync(sums), () => fs.writeFileSync(sums, 'x'), () => fs.writeFileSync(sums, Buffer.alloc(50_000, 'MRsums1'))]) {
    if (fs.existsSync(sums)) spoil()
    const log = openJson(file)
    await log.append({ n: 1 })
    ids.add((await log.stats()).id)
    t.equal(log.supports.atomicBatch, true)
    await log.close()
  }
  t.equal(ids.size, 4, 'with the sums the name of the log is gone')
  t.equal(fs.readFileSync(file, 'utf8'), '{"n":1}\n'.repeat(5))
  fs.rmSync(sums)
  const reader = openJson(file, { flags: 'r' })
  t.equal(await reader.count(), 5)
  await reader.close()
  t.notOk(fs.existsSync(sums))
})

tape('lines: half a batch of a killed process is cut, and what was there before stays', async (t) => {
  for (const fsync of ['always', 'interval', 'never']) {
    for (let kept = 0; kept < 30; kept += 3) {
      const file = newPath('events.jsonl')
      const log = openJson(file, { fsync })
      await log.append({ n: 0 })
      await log.append([{ n: 1 }, { n: 2 }])
      const before = fs.readFileSync(file)
      // As if it was killed while it wrote: the sums describe the batch, and part of it is there.
      const { blocks } = log._file
      const copy = newPath('copy.jsonl')
      const beginAppend = blocks.beginAppend.bind(blocks)
      blocks.beginAppend = (bytes) => {
        fs.writeFileSync(copy, Buffer.concat([before, bytes.subarray(0, kept)]))
        fs.copyFileSync(`${file}.sums`, `${copy}.sums`)
        return beginAppend(bytes)
      }
      await log.append([{ n: 3 }, { n: 4 }, { n: 5 }])
      await log.close()
      const opened = openJson(copy)
      const expected = kept >= 24 ? [0, 1, 2, 3, 4, 5] : [0, 1, 2]
      t.deepEqual((await readAll(opened)).values.map(({ n }) => n), expected, `${fsync}, ${kept} bytes`)
      await opened.close()
    }
  }
})

tape('lines: a snapshot is the same text', async (t) => {
  const file = makeFile('\ufeff{"n":1}\r\n\n{"n":2}')
  const log = openJson(file)
  const copy = newPath('copy.jsonl')
  await log.snapshot(copy)
  t.equal(fs.readFileSync(copy, 'utf8'), fs.readFileSync(file, 'utf8'))
  await log.close()
})

tape(`lines: whatever the text is, every read finds what splitting it finds (seed ${seed})`, async (t) => {
  for (let round = 0; round < ROUNDS; round++) {
    const random = createRandom(seed + round)
    // The codec gives bytes, so a last line without its line break counts only if it is written on.
    const bytes = makeText(random, { hasHoles: random(2) === 0, isBroken: true })
    const start = bytes.subarray(0, 3).equals(Buffer.from('\ufeff')) ? 3 : 0
    const { records, holes } = readLines(bytes, start)
    const log = OffsetLog(makeFile(bytes), { framing: 'lines', flags: random(2) ? 'r' : 'r+', cache: random(2) ? 0 : undefined })
    const fail = (what) => t.fail(`seed ${seed + round}: ${what}`)
    for (let read = 0; read < 12; read++) {
      const options = { reverse: random(2) === 0, onCorrupt: random(3) === 0 ? 'error' : 'skip' }
      for (const name of ['gt', 'gte', 'lt', 'lte']) if (random(4) === 0) options[name] = random(bytes.length + 10)
      if (random(3) === 0) options.limit = random(5)
      const { gt = -1, gte = 0, lt = Infinity, lte = Infinity, limit = Infinity, reverse } = options
      const [from, stop] = [Math.max(gt + 1, gte), Math.min(lt, lte + 1)]
      const wanted = records.filter(({ seq }) => seq >= from && seq < stop)
      if (reverse) wanted.reverse()
      const meets = holes.filter((hole) => hole.end > from && hole.start < stop).length > 0
      const source = log.stream(options)
      const found = []
      const err = await failureOf(async () => { for await (const { seq, value } of source) found.push({ seq, text: value.toString('latin1') }) })
      if (err) {
        const isPrefix = found.every((record, index) => JSON.stringify(record) === JSON.stringify(wanted[index]))
        if (!meets || options.onCorrupt === 'skip' || err.code !== 'ERR_LOG_CORRUPT' || !isPrefix) fail(`${JSON.stringify(options)}: ${err.message}`)
      } else if (JSON.stringify(found) !== JSON.stringify(wanted.slice(0, limit))) {
        fail(`${JSON.stringify(options)}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`)
      } else if (meets && limit === Infinity && from < stop && source.lost.count === 0) {
        fail(`${JSON.stringify(options)}: met a hole without a word`)
      }
    }
    for (const { seq, text } of records) {
      const value = await log.get(seq).catch((err) => err)
      if (String(value.toString('latin1')) !== text) fail(`get ${seq}: ${value}`)
    }
    const seqs = new Set(records.map(({ seq }) => seq))
    for (let seq = 0; seq < bytes.length; seq += 1 + random(9)) {
      const err = seqs.has(seq) ? null : await failureOf(() => log.get(seq))
      if (err && !['ERR_RECORD_NOT_FOUND', 'ERR_LOG_CORRUPT'].includes(err.code)) fail(`get ${seq}: ${err.message}`)
      if (!err && !seqs.has(seq)) fail(`get ${seq} gave a value`)
    }
    await log.close()
  }
  t.pass(`${ROUNDS} files`)
})

function zerosAnd (text) {
  return '\0'.repeat(20) + text
}
