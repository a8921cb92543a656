'use strict'
// A tour of the package, in the order of its README.

const fs = require('node:fs')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { newPath } = require('@millrace/testkit')
const { createIndex } = require('..')
const { MemoryLog } = require('./memory-log')

const PATHS = ['type', 'user.id', { path: 'tags', each: true }, { path: 'links', each: 'to' }, { path: 'price', range: true }]

function openIndex (log, tuning = { recordsMax: 100, waitMs: 1 }) {
  return createIndex(PATHS, { tuning }).open(log)
}

function makeLog (count = 1000) {
  const log = new MemoryLog({ codec: jsonCodec })
  for (let n = 0; n < count; n++) {
    const type = n % 100 === 0 ? 'rare' : 'common'
    log.append({ type, user: { id: `user ${n % 50}` }, tags: [`tag ${n % 40}`], links: [{ to: n % 90 }], price: n })
  }
  return log
}

tape('tour: paths are declared as in filters', (t) => {
  t.deepEqual(createIndex(PATHS).paths, ['type', 'user.id', 'tags[*]', 'links[*].to', 'price'])
  t.deepEqual(createIndex([['a.b'], [], ['a', 0], ['', 'x']]).paths, ['["a.b"]', '[]', 'a.0', '["","x"]'])
  t.end()
})

tape('tour: what is no path is refused, with the fault', (t) => {
  const refused = [undefined, [], 'type', [1], [{}], [{ path: 'a', each: 5 }], [{ path: 'a', range: 'yes' }], [{ path: 'a', ranges: true }], ['a', 'a'],
    ['a..b'], Array.from({ length: 65 }, (_, n) => `a${n}`)]
  for (const paths of refused) t.throws(() => createIndex(paths), { code: 'ERR_INVALID_ARGUMENT' }, JSON.stringify(paths))
  const messages = [[[], /an empty one/], [['tags[*]'], /write \{ path: 'tags', each: true \}, or \["tags\[\*\]"\] for a key/],
    [[{ path: 'links[*].to' }], /write \{ path: 'links', each: 'to' \}/], [['[*]'], /write \{ path: \[\], each: true \}/],
    [[{ path: 'a', each: 5 }], /^createIndex: each: path must be/]]
  for (const [paths, message] of messages) t.throws(() => createIndex(paths), { message }, JSON.stringify(paths))
  t.deepEqual(createIndex([['tags[*]']]).paths, ['["tags[*]"]'], 'a key of this name is written as a list')
  t.throws(() => createIndex(['a'], { tune: 1 }), { code: 'ERR_INVALID_ARGUMENT', message: /tune/ })
  t.end()
})

tape('tour: a filter that asks for a declared path gives candidates, in the order of the read', async (t) => {
  const log = makeLog()
  const index = openIndex(log)
  await index.ready()
  const rare = { path: 'type', equals: 'rare' }
  t.deepEqual(log.findIn(index.parts(rare), rare), log.find(rare))
  const [{ seqs }] = index.parts(rare, { reverse: true })
  t.deepEqual(seqs, log.find(rare).reverse(), 'the newest first')
  for (const where of [{ path: 'tags', includes: 'tag 7' }, { path: 'links', includes: { path: 'to', equals: 3 } }, { path: 'price', gte: 10, lt: 20 },
    [rare, { path: 'price', lt: 500 }], { any: [rare, { path: 'price', equals: 7 }] }, { path: 'user.id', in: ['user 1', 'user 2'] }]) {
    t.ok([...index.parts(where)].every((part) => 'seqs' in part), `nothing is scanned: ${JSON.stringify(where)}`)
    t.equal(log.compare(index, where), null)
  }
  for (const where of [[], { path: 'user', equals: 1 }, { not: rare }, { path: 'type', prefix: 'ra' }, { any: [rare, { path: 'x', equals: 1 }] }]) {
    t.equal(index.parts(where), null, `of no use: ${JSON.stringify(where)}`)
  }
  await index.close()
})

tape('tour: counts are exact, as soon as few records must be read', async (t) => {
  const log = makeLog(4000)
  const index = openIndex(log)
  await index.ready()
  const common = { path: 'type', equals: 'common' }
  const { sure, parts } = index.count(common)
  t.equal(sure, 3960)
  t.deepEqual([...parts], [], 'nothing is read')
  const [first] = log.find(common)
  log.del(first)
  index.deleted([first])
  t.equal(log.compare(index, common), null, 'a deleted record is not counted')
  t.equal(index.count([common]).sure, 3960 - 792, 'its run, of 800 records, is read')
  t.equal(index.count([common, { path: 'price', gt: 5 }]), null)
  await index.close()
})

tape('tour: of a path with few keys, counts need no reads, however seldom a key is in each run', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  const rare = { path: 'user.id', equals: 'rare' }
  // Runs of 1,024 are merged eight to one; each has the rare user once, or twice, or not at all.
  for (let n = 0; n < 20_000; n++) log.append({ key: n, user: { id: n % 700 === 0 ? 'rare' : `user ${n % 50}` } })
  const index = createIndex(['key', 'user.id'], { tuning: { recordsMax: 1024, waitMs: 1 } }).open(log)
  await index.ready()
  t.ok(index.status().runs < 10)
  const { sure, parts } = index.count(rare)
  t.deepEqual([sure, [...parts]], [29, []])
  const ofKey = index.count({ path: 'key', equals: 700 })
  t.deepEqual([ofKey.sure, [...ofKey.parts].length], [0, 1], 'of a path whose keys are nearly all different one record is read')
  await index.close()
})

tape('tour: explain says what is used, and why something is scanned', async (t) => {
  const log = makeLog(1050)
  const index = openIndex(log)
  await index.ready()
  const explained = index.explain({ path: 'type', equals: 'rare' })
  const why = 'the index names 11 of 1050 records, at most: to read those is faster than to read all'
  t.deepEqual(explained, { uses: ['type'], candidates: 11, runs: 4, scanned: null, why })
  const all = index.explain({ path: 'type', equals: 'common' })
  t.deepEqual([all.candidates, all.scanned], [49, { from: 0, records: 1000 }], 'of a short block all may be candidates')
  t.match(all.why, /reading all of them is faster/)
  t.match(index.explain({ path: 'kind', equals: 'rare' }).why, /asks for kind; declared are type, user.id/)
  for (const [where, hint] of [
    [{ path: 'value.type', equals: 'rare' }, 'value.type is not type: spell a path as it is declared'],
    [{ path: 'Type', equals: 'rare' }, 'Type is not type: spell a path as it is declared'],
    [{ path: 'id', equals: 'ada' }, 'id is not user.id: spell a path as it is declared'],
    [{ path: 'type', gte: 5 }, 'for ranges and times declare type with range: true'],
    [{ path: 'tags', equals: 'red' }, 'tags[*] helps with includes'],
    [{ path: 'user.id', includes: 'ada' }, 'for includes declare user.id with each'],
    [{ not: { path: 'type', equals: 'rare' } }, 'type is declared, but not, prefix and such conditions do not help']
  ]) t.ok(index.explain(where).why.endsWith(`; ${hint}`), `${hint}: ${index.explain(where).why}`)
  log.append({ type: 'rare' })
  t.match(index.explain({ path: 'type', equals: 'rare' }).why, /not read these records yet/)
  await index.close()
})

tape('tour: two bounds of a number help together, also if each is a filter of its own', async (t) => {
  const log = OffsetLog(newPath('log'), { codec: jsonCodec, index: createIndex([{ path: 'price', range: true }]) })
  await log.append(Array.from({ length: 5000 }, (_, n) => ({ price: n % 1000 })))
  await log.index.ready()
  const where = [{ path: 'price', gte: 990 }, { path: 'price', lt: 992 }]
  const { candidates, scanned } = await log.explain({ where })
  t.deepEqual([candidates, scanned, await log.count({ where })], [10, null, 10])
  t.equal(await log.count({ where: [{ path: 'price', gte: 992 }, { path: 'price', lt: 990 }] }), 0)
  await log.close()
})

tape('tour: a compaction of a log that is opened without its index leaves nothing of the deleted records there', async (t) => {
  const file = newPath('log')
  const open = (index) => OffsetLog(file, { codec: jsonCodec, index })
  const paths = [{ path: 'price', range: true }]
  const log = open(createIndex(paths, { tuning: { recordsMax: 100 } }))
  await log.append(Array.from({ length: 1000 }, (_, n) => ({ price: n })))
  await log.index.ready()
  await log.close()
  const runs = () => fs.readdirSync(`${file}.index`)
  t.ok(runs().length > 0)
  const plain = open()
  await plain.del(await plain.first({ values: false }))
  await plain.compact()
  t.deepEqual(runs(), [])
  await plain.close()
  const again = open(createIndex(paths))
  t.equal(await again.count({ where: { path: 'price', lt: 10 } }), 9)
  await again.close()
})

tape('tour: an index keeps up with its log, and is there at once when it is opened again', async (t) => {
  const log = makeLog()
  const index = openIndex(log)
  await index.ready()
  t.deepEqual([index.status().records, index.status().tail], [1000, 0])
  log.append({ type: 'rare' })
  t.notOk(index.status().isReady)
  t.equal(log.compare(index, { path: 'type', equals: 'rare' }), null, 'what it has not read is scanned')
  index.appended()
  await index.ready()
  t.deepEqual([index.status().records, index.status().tail], [1000, 1])
  await index.close()
  log.scanned = 0
  const again = openIndex(log)
  await again.ready()
  t.deepEqual([again.status().records, log.scanned], [1000, 1], 'only the tail is read')
  await again.drop()
  t.deepEqual(log.disk.list(), [], 'it can be dropped')
})
