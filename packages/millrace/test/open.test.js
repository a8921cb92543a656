'use strict'
// `open`: good defaults, codecs by name, and the parts that the package hands out.

const path = require('node:path')
const { pathToFileURL } = require('node:url')
const tape = require('tape')
const { collect, failureOf, newPath, temporaryFolder } = require('@millrace/testkit')
const millrace = require('..')

const { SegmentedLog, jsonCodec, open } = millrace

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

tape('open: mustExist, errorIfExists, URLs and folders', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'events.log')
  t.equal((await failureOf(() => open(file, { mustExist: true }).ready())).code, 'ENOENT')
  const log = open(pathToFileURL(file), { errorIfExists: true })
  await log.append({ n: 1 })
  t.equal(log.filename, file)
  await log.close()
  t.equal((await failureOf(() => open(file, { errorIfExists: true }).ready())).code, 'EEXIST')
  t.equal((await failureOf(() => open(folder).ready())).code, 'EISDIR')
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
