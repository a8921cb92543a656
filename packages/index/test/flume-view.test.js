'use strict'
// The index as a view of flumedb: the suite of the flume family's indexes, and what it is for.

const fs = require('node:fs')
const path = require('node:path')
const { promisify } = require('node:util')
const Flume = require('flumedb')
const pull = require('pull-stream')
const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { failureOf, temporaryFolder, until } = require('@millrace/testkit')
const { createFlumeView, createIndex } = require('..')

const suites = { index: require('test-flumeview-index'), live: require('test-flumeview-index/live') }
const codecs = { jsonCodec, binaryCodec }

/** @type {(file: string, options: object) => { db: any, log: any }} */
function openDatabase (file, options) {
  fs.mkdirSync(path.dirname(file), { recursive: true })
  const log = OffsetLog(file, { codec: binaryCodec, index: createIndex(['key', 'value.author']), ...options })
  return { db: Flume(log).use('index', createFlumeView('key')), log }
}

const collect = promisify((source, cb) => pull(source, pull.collect(cb)))

for (const framing of ['checked', 'offset32', 'lines']) {
  for (const [codecName, codec] of Object.entries(codecs)) {
    if (framing === 'lines' && codec !== jsonCodec) continue
    for (const [name, addTests] of Object.entries(suites)) {
      const folder = temporaryFolder()
      tape(`test-flumeview-index, ${name}: ${framing}, ${codecName}`, (t) => t.end())
      // The suite names its files by the time of day: several at once would share them.
      addTests((file) => openDatabase(path.join(folder, path.basename(file), 'log'), { framing, codec }).db)
    }
  }
}

tape('flume view: get and read go by the index, and see what was just appended', async (t) => {
  const { db, log } = openDatabase(path.join(temporaryFolder(), 'log'), {})
  const append = promisify(db.append)
  for (let n = 0; n < 500; n++) await append({ key: `k${n % 250}`, value: { author: `a${n % 5}`, n } })
  const get = promisify(db.index.get)
  t.equal((await get('k7')).value.n, 257, 'the newest')
  const where = { path: 'value.author', equals: 'a3' }
  const found = await collect(db.index.read({ where, reverse: true, limit: 3, seqs: false }))
  t.deepEqual(found.map(({ value: { n } }) => n), [498, 493, 488])
  t.deepEqual(await collect(db.index.read({ where, keys: false, values: false, limit: 2 })),
    await collect(db.stream({ where, values: false, limit: 2 })))
  await log.index.ready()
  t.deepEqual((await log.explain({ where: { path: 'key', equals: 'k7' } })).uses, ['key'])
  const live = []
  pull(db.index.read({ where, live: true, old: false, seqs: false }), pull.drain(({ value }) => live.push(value.n)))
  await append([{ key: 'x', value: { author: 'a3', n: 1000 } }, { key: 'y', value: { author: 'a4', n: 1001 } }])
  t.equal((await get('y')).value.n, 1001)
  await until(() => live.length > 0)
  t.deepEqual(live, [1000])
  await promisify(db.rebuild)()
  t.equal((await get('y')).value.n, 1001, 'there is nothing to rebuild')
  await promisify(db.close)()
})

tape('flume view: what is not there, and misuse', async (t) => {
  const { db } = openDatabase(path.join(temporaryFolder(), 'log'), {})
  const get = promisify(db.index.get)
  const missing = await failureOf(() => get('k'))
  t.deepEqual([missing.code, missing.notFound], ['ERR_RECORD_NOT_FOUND', true])
  t.ok(/no record has the key "k"/.test(missing.message), missing.message)
  for (const key of [undefined, { a: 1 }, ['k']]) {
    const { code } = await failureOf(() => get(key))
    t.equal(code, 'ERR_INVALID_ARGUMENT', JSON.stringify(key))
  }
  for (const asked of [undefined, 5, '', ['a', {}]]) {
    const { code, message } = await failureOf(() => createFlumeView(asked))
    t.equal(code, 'ERR_INVALID_ARGUMENT')
    t.ok(message.startsWith('createFlumeView: '), message)
  }
  await promisify(db.close)()
})
