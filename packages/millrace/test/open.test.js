'use strict'
// `open`: good defaults, codecs by name, and the parts that the package hands out.

const { execFileSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { pathToFileURL } = require('node:url')
const tape = require('tape')
const { collect, failureOf, newPath, temporaryFolder } = require('@millrace/testkit')
const millrace = require('..')

const { SegmentedLog, binaryCodec, jsonCodec, open } = millrace

tape('open: a checked log of JSON by default', async (t) => {
  const log = open(newPath('events.log'))
  const seq = await log.append({ type: 'post' })
  t.deepEqual(await log.get(seq), { type: 'post' })
  const { framing, codec } = await log.stats()
  t.deepEqual([framing, codec], ['checked', 'json'])
  await log.close()
})

tape('open: codecs by name', async (t) => {
  const folder = temporaryFolder()
  for (const [codec, value] of [['binary', { n: 1n }], ['bytes', Buffer.from('hi')], ['json', [1]]]) {
    const log = open(path.join(folder, codec), { codec })
    // An array is a batch.
    t.deepEqual(await log.get(await log.append([value])), value, codec)
    t.equal((await log.stats()).codec, codec)
    await log.close()
  }
  const err = await failureOf(() => open(path.join(folder, 'new'), { codec: 'jsn' }))
  t.equal(err.code, 'ERR_INVALID_ARGUMENT')
  t.match(err.message, /jsn.*json, binary, bytes/)
})

tape('open: what JSON would lose without a word is refused, and nothing is written', async (t) => {
  const log = open(newPath('events.log'))
  const err = await failureOf(() => log.append({ user: 'ada', roles: new Map([['admin', true]]) }))
  t.equal(err?.code, 'ERR_CODEC_ENCODE')
  t.deepEqual(err?.path, ['roles'])
  t.equal((await failureOf(() => log.append([1, { n: NaN }])))?.code, 'ERR_CODEC_ENCODE')
  await log.append({ at: new Date(0), none: undefined })
  t.deepEqual(await log.last({ seqs: false }), { at: '1970-01-01T00:00:00.000Z' })
  t.equal(await log.count(), 1)
  const file = log.filename
  await log.close()
  const asBefore = open(file, { codec: millrace.jsonCodec })
  await asBefore.append({ roles: new Map() })
  t.deepEqual(await asBefore.last({ seqs: false }), { roles: {} })
  await asBefore.close()
})

tape('open: options that there are not are refused, where they are given', async (t) => {
  const file = newPath('events.log')
  t.equal((await failureOf(() => open(file, { fsnc: 'always' }))).code, 'ERR_INVALID_ARGUMENT')
  t.equal((await failureOf(() => open(file, 'json'))).code, 'ERR_INVALID_ARGUMENT')
  const log = open(file)
  const seq = await log.append({ n: 1 })
  for (const option of ['limt', 'Where', 'filter']) {
    const options = { [option]: 1 }
    for (const [name, run] of [
      ['stream', () => log.stream(options)[Symbol.asyncIterator]().next()],
      ['scan', () => log.scan(options, () => {})],
      ['get', () => log.get(seq, options)]
    ]) {
      const err = await failureOf(run)
      t.equal(err?.code, 'ERR_INVALID_ARGUMENT', `${name} with ${option}`)
      t.match(String(err?.message), new RegExp(option), 'it is named')
    }
  }
  await log.close()
  const lenient = open(file, { strict: false })
  t.deepEqual((await lenient.stream({ filter: 1, seqs: false })[Symbol.asyncIterator]().next()).value, { n: 1 })
  await lenient.close()
})

tape('open: mustExist, errorIfExists and URLs', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'events.log')
  t.equal((await failureOf(() => open(file, { mustExist: true }).ready())).code, 'ENOENT')
  const log = open(pathToFileURL(file), { errorIfExists: true })
  await log.append({ n: 1 })
  t.equal(log.filename, file)
  await log.close()
  t.equal((await failureOf(() => open(file, { errorIfExists: true }).ready())).code, 'EEXIST')
})

tape('open: with an option that only segments have, a new log is a folder of them; an existing folder is opened', async (t) => {
  const folder = newPath('events')
  const log = open(folder, { segmentSize: 10_000, index: ['user'] })
  await log.append(Array.from({ length: 50 }, (_, n) => ({ user: `u${n % 5}`, n })))
  await log.roll()
  await log.append({ user: 'u3', n: 50 })
  t.equal((await log.segments()).length, 2)
  await log.close()
  t.ok(fs.readdirSync(folder).some((name) => name.endsWith('.log')))

  const again = open(pathToFileURL(folder), { index: ['user'] })
  const where = { path: 'user', equals: 'u3' }
  t.equal(await again.count({ where }), 11)
  await again.index.ready()
  t.deepEqual((await again.explain({ where })).uses, ['user'])
  t.equal((await failureOf(() => again.append(new Map())))?.code, 'ERR_CODEC_ENCODE', 'strict JSON, as in a file')
  t.equal((await failureOf(() => again.stream({ limt: 1 })[Symbol.asyncIterator]().next()))?.code, 'ERR_INVALID_ARGUMENT')
  const view = again.view({ name: 'sum', initial: 0, reduce: (sum, { n }) => sum + n })
  t.equal(await view.get(), 1275)
  await again.close()
  t.equal((await failureOf(() => view.get()))?.code, 'ERR_VIEW_CLOSED')

  const reader = open(folder, { flags: 'r' })
  t.equal(await reader.count(), 51)
  await reader.close()
  const lines = newPath('lines')
  await open(lines, { framing: 'lines', maxSize: 2 ** 20 }).close()
  const text = open(lines)
  t.equal((await text.stats()).framing, 'lines', 'of the segments that are there')
  await text.close()
})

tape('open: a folder that has no segments, or is of another kind, is refused, and nothing is made there', async (t) => {
  const folder = temporaryFolder()
  const { code, message } = await failureOf(() => open(folder).ready())
  t.equal(code, 'ENOENT')
  t.match(message, /no segment.*SegmentedLog/)
  t.deepEqual(fs.readdirSync(folder), [])
  const log = open(folder, { maxCount: 3 })
  await log.append({ n: 1 })
  await log.close()
  fs.mkdirSync(path.join(folder, 'slots', '0'), { recursive: true })
  for (const name of fs.readdirSync(folder).filter((name) => name.endsWith('.log'))) fs.cpSync(path.join(folder, name), path.join(folder, 'slots', '0', name))
  t.equal((await failureOf(() => open(path.join(folder, 'slots')).ready()))?.code, 'ERR_LOG_UNKNOWN_FORMAT')
  const file = newPath('events.log')
  await open(file).close()
  t.equal((await failureOf(() => open(file, { maxSize: 2 ** 20 }).ready()))?.code, 'ENOTDIR')
  t.throws(() => open(newPath('events'), { maxSize: 2 ** 20, lock: false }), { code: 'ERR_INVALID_ARGUMENT', message: /lock/ })
})

tape('open: a log of one file does not load the package of segments', (t) => {
  const code = `require('millrace').open(process.argv[1]).close().then(() => {
    console.log(Object.keys(require.cache).filter((file) => /segmented-log/.test(file)).length)
  })`
  t.equal(execFileSync(process.execPath, ['-e', code, newPath('events.log')], { cwd: __dirname, encoding: 'utf8' }), '0\n')
  t.end()
})

tape('open: with an index, reads that ask for its paths read candidates only', async (t) => {
  const file = newPath('events.log')
  const log = open(file, { index: ['user', { path: 'tags', each: true }] })
  await log.append(Array.from({ length: 3000 }, (_, n) => ({ user: `u${n % 500}`, tags: [`t${n % 7}`], n })))
  await log.index.ready()
  const where = { path: 'user', equals: 'u7' }
  t.equal(await log.count({ where }), 6)
  const last = await collect(log.stream({ where, reverse: true, limit: 2, seqs: false }))
  t.deepEqual(last.map(({ n }) => n), [2507, 2007])
  t.deepEqual((await log.explain({ where })).uses, ['user'])
  await log.close()
  const without = open(file)
  t.equal(await without.count({ where }), 6)
  t.deepEqual((await without.explain({ where })).uses, [])
  await without.close()
  for (const index of [[3], [], ['user', 'user'], {}, 'user']) {
    const { code } = await failureOf(() => open(newPath('events.log'), { index }).ready())
    t.equal(code, 'ERR_INVALID_ARGUMENT', JSON.stringify(index))
  }
})

tape('open: what it hands out can be imported, too', async (t) => {
  const imported = await import('millrace')
  for (const name of Object.keys(millrace)) t.equal(imported[name], millrace[name], name)
})

tape('millrace: SegmentedLog, with and without new', async (t) => {
  const place = () => newPath('logs')
  for (const log of [SegmentedLog(place(), { codec: jsonCodec }), new SegmentedLog(place(), { codec: jsonCodec })]) {
    const seq = await log.append({ n: 1 })
    t.deepEqual(await log.get(seq), { n: 1 })
    await log.close()
  }
})

tape('open: a new .jsonl of binary records is refused: it took those that happen to be a line, and no others', async (t) => {
  for (const ending of ['jsonl', 'NDJSON']) {
    const file = newPath(`a.${ending}`)
    for (const codec of ['binary', binaryCodec]) {
      t.throws(() => open(file, { codec }), /would be a text file, by its name, and records of the codec binary are no text; give/)
    }
    t.notOk(fs.existsSync(file))
    const log = open(file, { codec: 'binary', framing: 'checked' })
    const seq = await log.append({ n: 10 })
    await log.close()
    const again = open(file, { codec: 'binary' })
    t.deepEqual(await again.get(seq), { n: 10 }, 'the file that is there is what it is')
    await again.close()
  }
})
