'use strict'
// Converting: what comes out, what is refused, and that the source stays as it is.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { failureOf, flip, truncate, zero } = require('@millrace/testkit')
const { convert, openSource } = require('..')
const { FIXTURE, beside, newPath, readLog, readSource, texts, writeLog } = require('./helpers')
const { flumeJson, writers } = require('./old-packages')

const values = Array.from({ length: 50 }, (_, n) => ({ n, text: 'é'.repeat(n) }))

/** A log of offset32 with JSON records. */
async function writeJson (records = values) {
  const file = newPath()
  const seqs = await writers.offset32(file, records, { codec: flumeJson })
  return { file, seqs }
}

tape('convert: makes a checked log with the folder around it, and leaves nothing else', async (t) => {
  const { file } = await writeJson()
  const to = path.join(path.dirname(newPath()), 'new', 'log')
  const result = await convert(file, to, { fromCodec: flumeJson, toCodec: binaryCodec })
  t.deepEqual({ ...result, lost: { ...result.lost } }, {
    format: 'offset32', records: 50, resumed: 0, deleted: 0, leftOut: 0, lost: { count: 0, size: 0, ranges: [] }, torn: null
  })
  t.deepEqual(await readLog(to, binaryCodec), values)
  t.deepEqual(beside(to), ['log'])
  t.deepEqual(beside(file), ['log'])
})

tape('convert: relative paths mean what they meant at the call', async (t) => {
  const { file } = await writeJson()
  const home = process.cwd()
  process.chdir(path.dirname(file))
  const converted = convert(path.basename(file), 'converted.log')
  process.chdir(home)
  t.equal((await converted).records, 50)
  t.deepEqual(beside(file), ['converted.log', 'log'])
  t.notOk(fs.existsSync('converted.log'))
})

tape('convert: takes a callback, with options and without', (t) => {
  const to = newPath()
  convert(FIXTURE, to, (err, result) => {
    t.error(err)
    t.equal(result.records, 2000)
    convert(FIXTURE, newPath(), { batchSize: 7000 }, (err, result) => {
      t.error(err)
      t.equal(result.records, 2000)
      convert(FIXTURE, to, (err) => {
        t.equal(err.code, 'EEXIST')
        t.end()
      })
    })
  })
})

tape('convert: notes the codec in the new log, also when bytes are copied', async (t) => {
  const { file } = await writeJson()
  for (const [codec, name] of [[jsonCodec, 'json'], [undefined, ''], [{ ...flumeJson, name: 'flume' }, 'flume']]) {
    const to = newPath()
    await convert(file, to, { fromCodec: codec, toCodec: codec })
    const header = fs.readFileSync(to).subarray(0, 64)
    t.equal(header.toString('utf8', 40, 40 + header[39]), name)
    t.deepEqual(texts((await readSource(to)).items), values.map((value) => JSON.stringify(value)))
  }
})

tape('convert: bytes that are copied from a log are of the codec that it names', async (t) => {
  const { file } = await writeJson()
  const first = newPath()
  await convert(file, first, { fromCodec: jsonCodec, toCodec: jsonCodec })
  const copy = newPath()
  await convert(first, copy)
  const log = OffsetLog(copy, { codec: jsonCodec })
  t.equal((await log.stats()).codec, 'json')
  await log.close()
  const source = openSource(copy)
  await source.ready()
  t.equal(source.codec, 'json')
  await source.close()
})

tape('convert: a log that names another codec than fromCodec is refused', async (t) => {
  const { file } = await writeJson()
  const first = newPath()
  await convert(file, first, { fromCodec: jsonCodec, toCodec: jsonCodec })
  for (const toCodec of [jsonCodec, binaryCodec]) {
    const to = newPath()
    const err = await failureOf(() => convert(first, to, { fromCodec: binaryCodec, toCodec }))
    t.equal(err.code, 'ERR_CODEC_MISMATCH', err.message)
    t.deepEqual(beside(to), [])
  }
  const bytes = await writeLog([Buffer.from('{"n":1}')])
  const to = newPath()
  await convert(bytes, to, { fromCodec: jsonCodec, toCodec: binaryCodec })
  t.deepEqual(await readLog(to, binaryCodec), [{ n: 1 }], 'what a log of bytes holds its user knows')
  const wrong = { ...jsonCodec, name: 'a name of more than twenty bytes' }
  t.equal((await failureOf(() => convert(first, newPath(), { fromCodec: jsonCodec, toCodec: wrong }))).code, 'ERR_INVALID_ARGUMENT')
})

tape('convert: what reading JSON loses is told with its path, unless losses are accepted', async (t) => {
  const cases = [
    ['{"a":[0,12345678901234567890]}', ['a', 1]],
    ['[-9007199254740993]', [0]],
    ['1e400', []],
    ['[1e-400]', [0]],
    ['[1.2345678901234567891e19]', [0]],
    ['{"a":1,"b":{"c":[],"c":2}}', ['b', 'c']],
    ['{"a":1,"\\u0061":2}', ['a']],
    ['{"__proto__":1,"__proto__":2}', ['__proto__']],
    [Buffer.from([0x22, 0xff, 0x22]), []]
  ]
  for (const [text, path] of cases) {
    for (const fromCodec of [jsonCodec, flumeJson]) {
      const from = newPath()
      await writers.offset32(from, [Buffer.from('{"a":1}'), Buffer.from(text)])
      const codecs = { fromCodec, toCodec: binaryCodec }
      const err = await failureOf(() => convert(from, newPath(), codecs))
      t.equal(err?.code, 'ERR_CODEC_DECODE', err?.message)
      t.deepEqual(err?.path, path)
      const { leftOut, records } = await convert(from, newPath(), { ...codecs, onBadRecord: () => true })
      t.deepEqual([leftOut, records], [1, 1])
      t.equal((await convert(from, newPath(), { ...codecs, verify: false })).records, 2)
      t.equal((await convert(from, newPath())).records, 2, 'bytes that are copied lose nothing')
    }
  }
})

tape('convert: on engines that mistake keys with escapes, no key is taken for another one', async (t) => {
  const texts = ['{"b":1,"\\\\":2}', '{"b":1,"\\n":3}', '{"b":1, "\\t":{"\\b":[4]}}']
  const expected = [{ b: 1, '\\': 2 }, { b: 1, '\n': 3 }, { b: 1, '\t': { '\b': [4] } }]
  for (const text of texts) JSON.parse(text)
  const file = await writeLog(texts.map((text) => Buffer.from(text)), { framing: 'offset32' })
  const to = newPath()
  await convert(file, to, { fromCodec: jsonCodec, toCodec: binaryCodec })
  t.deepEqual(await readLog(to, binaryCodec), expected)

  const twice = await writeLog([...texts, '{"b":1,"\\n":3,"\\n":4}'].map((text) => Buffer.from(text)), { framing: 'offset32' })
  const err = await failureOf(() => convert(twice, newPath(), { fromCodec: jsonCodec, toCodec: binaryCodec }))
  t.equal(err.code, 'ERR_CODEC_DECODE', 'a key that comes twice is noticed still')
  t.deepEqual(err.path, ['\n'])

  // flumecodec calls JSON.parse itself. If that mistakes the key, the record is refused, and not converted wrongly.
  const isMistaken = JSON.stringify(JSON.parse(texts[1])) !== texts[1]
  const other = newPath()
  const outcome = await failureOf(() => convert(file, other, { fromCodec: flumeJson, toCodec: binaryCodec }))
  t.equal(outcome?.code, isMistaken ? 'ERR_CODEC_DECODE' : undefined, outcome?.message ?? 'this engine reads keys rightly')
  if (!isMistaken) t.deepEqual(await readLog(other, binaryCodec), expected)
})

tape('convert: JSON that is spelled otherwise loses nothing', async (t) => {
  const records = ['{ "a" : 1 , "b" : [ "x,{\\"a\\":1}" , {} , [ ] ] }', '1.0', '1E3', '-0', '0.1000', '0.30000000000000004441', '9007199254740993.5',
    '"\\u0061"', '{"a":{"a":1},"b":{"a":1}}', '[{"a":1},{"a":1}]', '"{\\"a\\":1,\\"a\\":2}"', '123456789012345680000', '1e300', '[0e5, 0.0]', ' null ',
    '[9007199254740992, -9007199254740994]', '{"":{"":""}}']
  const from = newPath()
  await writers.offset32(from, records.map((text) => Buffer.from(text)))
  const to = newPath()
  await convert(from, to, { fromCodec: jsonCodec, toCodec: binaryCodec })
  t.deepEqual(await readLog(to, binaryCodec), records.map((text) => JSON.parse(text)))
})

tape('convert: what exists is not touched', async (t) => {
  const { file } = await writeJson()
  for (const make of [(to) => fs.writeFileSync(to, 'precious'), (to) => fs.mkdirSync(to)]) {
    const to = newPath()
    make(to)
    for (const resume of [true, false]) t.equal((await failureOf(() => convert(file, to, { resume }))).code, 'EEXIST')
    t.deepEqual(beside(to), ['log'])
  }
  t.equal((await failureOf(() => convert(file, file))).code, 'EEXIST', 'nor the source itself')
})

tape('convert: what cannot be read leaves nothing behind', async (t) => {
  const to = newPath('to')
  const text = path.join(path.dirname(to), 'text')
  fs.writeFileSync(text, 'no log at all')
  t.equal((await failureOf(() => convert(`${to}-missing`, to))).code, 'ENOENT')
  t.equal((await failureOf(() => convert(path.dirname(to), to))).code, 'EISDIR')
  t.equal((await failureOf(() => convert(text, to))).code, 'ERR_LOG_UNKNOWN_FORMAT')
  t.deepEqual(beside(to), ['text'])
})

tape('convert: a log without records becomes one', async (t) => {
  const empty = newPath()
  fs.writeFileSync(empty, '')
  for (const from of [empty, await writeLog([])]) {
    const to = newPath()
    const { records } = await convert(from, to, { fromCodec: jsonCodec, toCodec: binaryCodec })
    t.equal(records, 0)
    t.deepEqual(await readLog(to, binaryCodec), [])
    t.equal((await readSource(to)).format, 'checked')
  }
})

tape('convert: records over many pages, empty ones and all-zero ones', async (t) => {
  const records = [Buffer.alloc(3e6, 'large'), Buffer.alloc(0), Buffer.alloc(70000), Buffer.from('x'), Buffer.alloc(5e6, 1)]
  const from = await writeLog(records)
  const to = newPath()
  await convert(from, to)
  t.deepEqual(await readLog(to), records)
})

tape('convert: progress only grows, and each phase ends with everything', async (t) => {
  const { file } = await writeJson()
  const seen = []
  await convert(file, newPath(), { batchSize: 20, onProgress: (progress) => seen.push(progress) })
  const size = fs.statSync(file).size
  t.deepEqual(seen.map(({ phase, records }) => [phase, records]), [['convert', 20], ['convert', 40], ['convert', 50], ['verify', 50]])
  for (const [index, { phase, bytesDone, bytesTotal }] of seen.entries()) {
    t.equal(bytesTotal, size)
    const next = seen[index + 1]
    if (next?.phase === phase) t.ok(bytesDone < next.bytesDone)
    else t.equal(bytesDone, size, `${phase} ends with all`)
  }
})

tape('convert: onRecord tells where each record went', async (t) => {
  const { file, seqs } = await writeJson()
  for (const verify of [true, false]) {
    const to = newPath()
    const map = new Map()
    const onRecord = (oldSeq, newSeq) => map.set(oldSeq, newSeq)
    await convert(file, to, { fromCodec: flumeJson, toCodec: binaryCodec, verify, onRecord })
    t.deepEqual([...map.keys()], seqs)
    const log = OffsetLog(to, { codec: binaryCodec, flags: 'r' })
    for (const [index, seq] of seqs.entries()) t.deepEqual(await log.get(map.get(seq)), values[index])
    await log.close()
  }
})

tape('convert: a record that does not decode ends it, telling which, or is left out', async (t) => {
  const from = newPath()
  const texts = ['{"a":1}', '{"b":', '{"c":3}', 'nonsense']
  const seqs = await writers.offset32(from, texts.map((text) => Buffer.from(text)))
  const to = newPath()
  const options = { fromCodec: jsonCodec, toCodec: binaryCodec }
  const err = await failureOf(() => convert(from, to, options))
  t.equal(err.code, 'ERR_CODEC_DECODE')
  t.equal(err.offset, seqs[1])
  t.equal(err.cause.code, 'ERR_CODEC_DECODE')
  t.deepEqual(beside(to), [], 'nothing was converted, and nothing is left')
  const bad = []
  const onBadRecord = (err, { seq, bytes }) => bad.push([err.offset, seq, bytes.toString()]) > 0
  const { records, leftOut } = await convert(from, to, { ...options, batchSize: 1, onBadRecord })
  t.deepEqual([records, leftOut], [2, 2])
  t.deepEqual(bad, [[seqs[1], seqs[1], '{"b":'], [seqs[3], seqs[3], 'nonsense']])
  t.deepEqual(await readLog(to, binaryCodec), [{ a: 1 }, { c: 3 }])
})

tape('convert: a value that the new codec refuses is told with its path', async (t) => {
  const deep = '['.repeat(1200) + ']'.repeat(1200)
  const from = newPath()
  const seqs = await writers.offset32(from, [Buffer.from('1'), Buffer.from(`{"a":{"b":${deep}}}`)])
  const options = { fromCodec: jsonCodec, toCodec: binaryCodec }
  const err = await failureOf(() => convert(from, newPath(), options))
  t.equal(err.code, 'ERR_CODEC_ENCODE')
  t.equal(err.offset, seqs[1])
  t.deepEqual(err.path.slice(0, 3), ['a', 'b', 0])
})

tape('convert: a value that the new codec would change is refused, unless losses are accepted', async (t) => {
  const lossy = [{ when: new Date(0) }, { list: [1, { zero: -0 }] }, { nothing: undefined }]
  const paths = [['when'], ['list', 1, 'zero'], ['nothing']]
  for (const [index, value] of lossy.entries()) {
    const from = await writeLog([{ fine: true }, value], { codec: binaryCodec })
    const to = newPath()
    const options = { fromCodec: binaryCodec, toCodec: jsonCodec }
    const err = await failureOf(() => convert(from, to, options))
    t.equal(err.code, 'ERR_CODEC_ENCODE')
    t.deepEqual(err.path, paths[index])
    await convert(from, to, { ...options, verify: false })
    t.deepEqual(await readLog(to, jsonCodec), [{ fine: true }, JSON.parse(JSON.stringify(value))])
  }
  const from = newPath()
  await writers.offset32(from, [Buffer.from('{"half":"\\ud800"}')])
  const err = await failureOf(() => convert(from, newPath(), { fromCodec: jsonCodec, toCodec: binaryCodec }))
  t.deepEqual(err.path, ['half'], 'half a surrogate pair has no UTF-8')
})

tape('convert: a codec that makes other bytes every time is verified by its values', async (t) => {
  const { file } = await writeJson()
  let count = 0
  const salted = {
    name: 'salted',
    encode: (value) => `${count++} ${JSON.stringify(value)}`,
    decode: (text) => JSON.parse(text.slice(text.indexOf(' ')))
  }
  const to = newPath()
  t.equal((await convert(file, to, { fromCodec: flumeJson, toCodec: salted })).records, 50)
  t.deepEqual(await readLog(to, salted), values)
})

tape('convert: what a codec may give, and what not', async (t) => {
  const { file } = await writeJson()
  const codec = (encode) => ({ encode, decode: (text) => JSON.parse(text) })
  const toArray = (value) => new Uint8Array(Buffer.from(JSON.stringify(value)))
  await convert(file, newPath(), { fromCodec: flumeJson, toCodec: codec(toArray) })
  for (const encode of [() => 5, () => undefined, () => { throw new Error('no') }, () => '{']) {
    const err = await failureOf(() => convert(file, newPath(), { fromCodec: flumeJson, toCodec: codec(encode) }))
    t.equal(err.code, 'ERR_CODEC_ENCODE')
    t.equal(err.offset, 0)
  }
})

tape('convert: what a function of the user\'s throws ends it, once, and it can go on', async (t) => {
  const { file } = await writeJson([...values, 'bad'])
  const boom = () => { throw new Error('boom') }
  const picky = { ...jsonCodec, name: 'picky', encode: (value) => value === 'bad' ? boom() : jsonCodec.encode(value) }
  const to = newPath()
  const options = { fromCodec: flumeJson, toCodec: picky, batchSize: 10 }
  const onBadRecord = () => true
  for (const more of [{ onProgress: boom }, { onRecord: boom, onBadRecord }, { onBadRecord: boom }]) {
    const err = await failureOf(() => convert(file, to, { ...options, ...more }))
    t.equal(err.message, 'boom')
    t.deepEqual(beside(to), ['log.converting', 'log.converting.json'])
  }
  const { records, resumed, leftOut } = await convert(file, to, { ...options, onBadRecord })
  t.deepEqual({ records, resumed, leftOut }, { records: 50, resumed: 50, leftOut: 1 })
  t.deepEqual(beside(to), ['log'])
})

tape('convert: a damaged source is refused, or converted without what is lost', async (t) => {
  const file = newPath()
  const records = Array.from({ length: 3000 }, (_, index) => Buffer.from(`record ${index} `.padEnd(200, 'x')))
  const seqs = await writers['async-append-only-log'](file, records)
  zero(file, seqs[2000], seqs[2000] + 2)
  const to = newPath()
  const err = await failureOf(() => convert(file, to))
  t.equal(err.code, 'ERR_LOG_CORRUPT')
  t.equal(err.offset, seqs[2000])
  t.deepEqual(beside(to), ['log.converting', 'log.converting.json'], 'what was converted waits')
  t.equal((await failureOf(() => convert(file, to, { onCorrupt: 'skip' }))).code, 'ERR_INVALID_ARGUMENT', 'other options')
  const { lost, records: count } = await convert(file, to, { onCorrupt: 'skip', resume: false })
  t.equal(lost.ranges[0].offset, seqs[2000])
  const next = seqs.findIndex((seq) => seq > seqs[2000] && seq % 65536 === 0)
  t.equal(count, 2000 + 3000 - next)
  t.deepEqual((await readLog(to)).map(String), [...records.slice(0, 2000), ...records.slice(next)].map(String))
})

tape('convert: a torn source is converted up to there, and it is told', async (t) => {
  const { file, seqs } = await writeJson()
  truncate(file, seqs[49] + 9)
  const { records, torn } = await convert(file, newPath())
  t.equal(records, 49)
  t.deepEqual(torn, { offset: seqs[49], size: 9 })
  t.equal(fs.statSync(file).size, seqs[49] + 9, 'the source is as it was')
})

tape('convert: a record of equal bytes that was cut off does not become many', async (t) => {
  for (const fill of [' ', '\u0001', '{', '\u00ff']) {
    const file = newPath()
    await writers['flumelog-aligned-offset'](file, [Buffer.from('first'), Buffer.from('second'), Buffer.alloc(60000, fill, 'latin1')])
    truncate(file, 50000)
    for (const options of [{}, { onCorrupt: 'skip' }]) {
      const to = newPath()
      const { records, lost, torn } = await convert(file, to, options)
      t.deepEqual([records, lost.count, torn], [2, 0, { offset: 19, size: 49981 }])
      t.deepEqual((await readLog(to)).map(String), ['first', 'second'])
    }
  }
})

tape('convert: a source that is written to meanwhile is noticed', async (t) => {
  for (const [change, code] of [
    [(file) => fs.appendFileSync(file, 'more'), 'ERR_SOURCE_CHANGED'],
    [(file, seqs) => flip(file, seqs[10] + 8), 'ERR_NOT_VERIFIED'],
    [(file, seqs) => zero(file, seqs[49] + 4, fs.statSync(file).size - 8), 'ERR_NOT_VERIFIED']
  ]) {
    const { file, seqs } = await writeJson()
    const to = newPath()
    const onProgress = ({ phase, records }) => { if (phase === 'convert' && records === 50) change(file, seqs) }
    t.equal((await failureOf(() => convert(file, to, { batchSize: 50, onProgress }))).code, code)
    t.notOk(fs.existsSync(to))
  }
})

tape('convert: a record that is there only when all is read again is noticed', async (t) => {
  const { file, seqs } = await writeJson()
  const whole = fs.readFileSync(file)
  zero(file, seqs[49] + 4, whole.length - 8)
  const onProgress = ({ phase }) => { if (phase === 'convert') fs.writeFileSync(file, whole) }
  const err = await failureOf(() => convert(file, newPath(), { onProgress }))
  t.equal(err.code, 'ERR_NOT_VERIFIED')
  t.equal(err.offset, seqs[49])
})

tape('convert: a new log that came from elsewhere meanwhile is not replaced', async (t) => {
  const { file } = await writeJson()
  const to = newPath()
  const onProgress = ({ phase }) => { if (phase === 'verify') fs.writeFileSync(to, 'precious') }
  t.equal((await failureOf(() => convert(file, to, { onProgress }))).code, 'EEXIST')
  t.equal(fs.readFileSync(to, 'utf8'), 'precious')
})

tape('convert: misuse comes through the promise or the callback', async (t) => {
  const to = newPath()
  const never = { encode: () => {} }
  for (const args of [
    [1, to], [FIXTURE, 1], [FIXTURE, ''], [FIXTURE, to, null], [FIXTURE, to, { cache: 1 }], [FIXTURE, to, { batchSize: 0 }],
    [FIXTURE, to, { batchSize: 1.5 }], [FIXTURE, to, { resume: 1 }], [FIXTURE, to, { verify: 'yes' }], [FIXTURE, to, { signal: {} }],
    [FIXTURE, to, { onProgress: 1 }], [FIXTURE, to, { onRecord: 'x' }], [FIXTURE, to, { fromCodec: jsonCodec }],
    [FIXTURE, to, { toCodec: jsonCodec }], [FIXTURE, to, { fromCodec: jsonCodec, toCodec: never }], [FIXTURE, to, { format: 'csv' }]
  ]) {
    t.equal((await failureOf(() => convert(...args)))?.code, 'ERR_INVALID_ARGUMENT')
  }
  t.equal(await new Promise((resolve) => convert(FIXTURE, to, { batchSize: -1 }, (err) => resolve(err.code))), 'ERR_INVALID_ARGUMENT')
  t.equal(await convert(FIXTURE, to, {}, 'cb').catch(({ code }) => code), 'ERR_INVALID_ARGUMENT', 'what is no callback')
  t.deepEqual(beside(to), [])
})
