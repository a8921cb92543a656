'use strict'
// Converting to a text file of JSON lines, and back.

const fs = require('node:fs')
const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { createRandom, failureOf } = require('@millrace/testkit')
const { convert, openSource } = require('..')
const { beside, newPath, readLog, readSource, texts, writeLog } = require('./helpers')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const values = Array.from({ length: 300 }, (_, n) => ({ n, text: '\n"é'.repeat(n % 40) }))
const textOf = (records) => records.map((value) => JSON.stringify(value) + '\n').join('')

tape('lines: a checked log becomes a text file, and the text file a checked log', async (t) => {
  for (const [codec, codecs] of [[jsonCodec, {}], [binaryCodec, { fromCodec: binaryCodec, toCodec: jsonCodec }]]) {
    const from = await writeLog(values, { codec })
    const lines = newPath('new.jsonl')
    const map = []
    const result = await convert(from, lines, { ...codecs, framing: 'lines', onRecord: (...seqs) => map.push(seqs) })
    t.deepEqual([result.format, result.records], ['checked', 300])
    t.equal(fs.readFileSync(lines, 'utf8'), textOf(values), 'the lines, and nothing else')
    t.deepEqual(beside(lines), ['new.jsonl'])
    const old = OffsetLog(from, { flags: 'r', codec })
    const made = OffsetLog(lines, { flags: 'r', codec: jsonCodec })
    t.equal((await made.stats()).framing, 'lines')
    t.deepEqual(await made.getMany(map.map(([, seq]) => seq)), await old.getMany(map.map(([seq]) => seq)), 'the map of seqs')
    t.equal(map.length, 300)
    await made.close()
    await old.close()
    const back = newPath()
    t.equal((await convert(lines, back, { fromCodec: jsonCodec, toCodec: binaryCodec })).format, 'lines')
    t.deepEqual(await readLog(back, binaryCodec), values)
  }
})

tape('lines: what is no line is refused, or left out', async (t) => {
  const records = ['{"n":1}', '{\n"n":2}', '{"n":3}', '', '{"n":4}\r', '{"n":5}'].map((text) => Buffer.from(text))
  const from = await writeLog(records)
  const to = newPath()
  const err = await failureOf(() => convert(from, to, { framing: 'lines' }))
  t.equal(err.code, 'ERR_RECORD_UNREPRESENTABLE')
  const { items } = await readSource(from)
  t.equal(err.offset, items[1].seq)
  t.deepEqual(beside(to), [], 'nothing is left')
  const bad = []
  const onBadRecord = ({ code }, { seq }) => bad.push([code, seq]) > 0
  const { records: count, leftOut } = await convert(from, to, { framing: 'lines', onBadRecord })
  t.deepEqual([count, leftOut], [3, 3])
  t.deepEqual(bad, [1, 3, 4].map((index) => ['ERR_RECORD_UNREPRESENTABLE', items[index].seq]))
  t.equal(fs.readFileSync(to, 'utf8'), '{"n":1}\n{"n":3}\n{"n":5}\n')
})

tape('lines: a log without records, and one of text that is no JSON', async (t) => {
  const empty = newPath()
  await convert(await writeLog([]), empty, { framing: 'lines' })
  t.equal(fs.readFileSync(empty, 'utf8'), '')
  const text = newPath()
  await convert(await writeLog([Buffer.from('one line'), Buffer.from('another')]), text, { framing: 'lines' })
  t.equal(fs.readFileSync(text, 'utf8'), 'one line\nanother\n')
  const { format, items } = await readSource(text, { format: 'lines' })
  t.deepEqual([format, ...texts(items)], ['lines', 'one line', 'another'])
  const source = openSource(text)
  t.equal((await failureOf(() => source.ready())).code, 'ERR_LOG_UNKNOWN_FORMAT', 'without the format, its bytes show nothing')
  await source.close().catch(() => {})
})

tape('lines: an interrupted conversion goes on, wherever its file ends', async (t) => {
  t.comment(`MILLRACE_SEED=${seed}`)
  const random = createRandom(seed)
  const texts = values.map(({ text }, n) => Buffer.from(n % 3 === 0 ? `plain text ${n}` : JSON.stringify({ n, text })))
  const from = await writeLog(texts)
  const expected = Buffer.from(texts.map((text) => `${text}\n`).join(''))
  for (let round = 0; round < 40; round++) {
    const to = newPath()
    const controller = new AbortController()
    const options = { framing: 'lines', batchSize: 50 }
    let left = 2 + random(4)
    const onProgress = () => { if (--left === 0) controller.abort() }
    const err = await failureOf(() => convert(from, to, { ...options, onProgress, signal: controller.signal }))
    if (err.code !== 'ABORT_ERR') t.fail(err.stack)
    const unfinished = `${to}.converting`
    const end = random(fs.statSync(unfinished).size + 1)
    fs.truncateSync(unfinished, end)
    const whole = expected.subarray(0, end).toString().split('\n').length - 1
    const { records, resumed } = await convert(from, to, options)
    const isRight = records === 300 && resumed === whole && fs.readFileSync(to).equals(expected)
    if (!isRight || beside(to).length !== 1) t.fail(`cut to ${end}: ${resumed} resumed, ${records} records, ${beside(to)}`)
  }
  t.pass('40 times')
})

tape('lines: an interrupted conversion into another framing is not gone on with', async (t) => {
  const from = await writeLog(values, { codec: jsonCodec })
  for (const [before, after] of [['checked', 'lines'], ['lines', 'checked']]) {
    const to = newPath()
    const controller = new AbortController()
    const onProgress = ({ records }) => { if (records >= 100) controller.abort() }
    await failureOf(() => convert(from, to, { framing: before, batchSize: 100, onProgress, signal: controller.signal }))
    const err = await failureOf(() => convert(from, to, { framing: after }))
    t.equal(err.code, 'ERR_INVALID_ARGUMENT')
    t.ok(err.message.includes(`begun with framing "${before}"`), err.message)
    t.equal((await convert(from, to, { framing: after, resume: false })).records, 300)
    t.deepEqual(beside(to), ['log'])
  }
  t.equal((await failureOf(() => convert(from, newPath(), { framing: 'offset32' }))).code, 'ERR_INVALID_ARGUMENT')
})

tape('lines: a hole in the unfinished file is damage', async (t) => {
  const from = await writeLog(values, { codec: jsonCodec })
  const to = newPath()
  const controller = new AbortController()
  const onProgress = ({ records }) => { if (records >= 200) controller.abort() }
  await failureOf(() => convert(from, to, { framing: 'lines', batchSize: 100, onProgress, signal: controller.signal }))
  const bytes = fs.readFileSync(`${to}.converting`)
  fs.writeFileSync(`${to}.converting`, bytes.fill(0, 1000, 3000))
  const err = await failureOf(() => convert(from, to, { framing: 'lines' }))
  t.equal(err.code, 'ERR_LOG_CORRUPT')
  t.match(err.message, /begin anew with resume: false/)
  await convert(from, to, { framing: 'lines', resume: false })
  t.equal(fs.readFileSync(to, 'utf8'), textOf(values))
})

tape('lines: onVerified is awaited before the log gets its name; if it fails, the same call goes on', async (t) => {
  const from = await writeLog(values, { codec: jsonCodec })
  const to = newPath('new.jsonl')
  const pairs = []
  const onRecord = (oldSeq, newSeq) => { pairs.push([oldSeq, newSeq]) }
  const calls = []
  const onVerified = async () => {
    calls.push([pairs.length, fs.existsSync(to)])
    if (calls.length === 1) throw new Error('mine')
  }
  t.equal((await failureOf(() => convert(from, to, { framing: 'lines', onRecord, onVerified }))).message, 'mine')
  t.notOk(fs.existsSync(to))
  await convert(from, to, { framing: 'lines', onRecord, onVerified })
  t.deepEqual(calls, [[300, false], [600, false]])
  t.equal(fs.readFileSync(to, 'utf8'), textOf(values))
  t.equal((await failureOf(() => convert(from, newPath(), { onVerified: 1 }))).code, 'ERR_INVALID_ARGUMENT')
})

tape('lines: what is beside the path is of another file', async (t) => {
  const from = await writeLog(values, { codec: jsonCodec })
  const to = newPath('new.jsonl')
  fs.writeFileSync(`${to}.sums`, 'x')
  const err = await failureOf(() => convert(from, to, { framing: 'lines' }))
  t.deepEqual([err.code, err.path], ['EEXIST', `${to}.sums`])
  t.deepEqual(beside(to), ['new.jsonl.sums'])
})
