'use strict'
// The index under logs of real files: every answer is that of a scan, whatever happened to the log and to the index.

const fs = require('node:fs')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { createRandom, inQuickRuns, newPath } = require('@millrace/testkit')
const { createIndex } = require('..')
const { KINDS, PATHS, compare, createState, makeValue, steps } = require('./real-log')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUNDS = process.env.ROUNDS ? Number(process.env.ROUNDS) : inQuickRuns(12, 3)

tape(`index: a log of a real file answers as a scan does, whatever happens (seed ${seed})`, async (t) => {
  let queries = 0
  for (let round = 0; round < ROUNDS; round++) {
    const random = createRandom(seed + round)
    const state = createState(random, random(KINDS.length), round % 2 === 1)
    const { framing, codec, file } = state
    const done = []
    for (let step = 0; step < 12; step++) {
      const names = ['append', 'append', 'append', 'one', 'ready', 'delete', 'compact', 'reopen', 'reopen', 'drop']
      const name = names[random(names.length)]
      done.push(name)
      await steps[name](state, random)
      await state.log.ready()
      const plain = OffsetLog(file, { codec, flags: 'r' })
      const differences = await compare(state.log, plain, random, state.makeWhere)
      await plain.close()
      queries += 4
      for (const difference of differences) t.fail(`seed ${seed + round}, ${framing} ${codec.name}, after ${done}: ${difference}`.slice(0, 600))
      if (differences.length > 0) break
    }
    await state.log.close()
  }
  t.ok(queries > 0, `${queries} queries`)
})

tape('index: a reader whose text file was cut and written anew answers as one without an index', async (t) => {
  const file = newPath('events.jsonl')
  const options = { framing: 'lines', codec: jsonCodec }
  const write = async (type) => {
    const log = OffsetLog(file, options)
    await log.append(Array.from({ length: 300 }, (_, n) => ({ n, type })))
    await log.close()
  }
  await write('a')
  const { size } = fs.statSync(file)
  await write('b')
  const tuning = { recordsMax: 50, fanOut: 2, waitMs: 1 }
  const indexed = OffsetLog(file, { ...options, flags: 'r', index: createIndex(['type'], { tuning }) })
  const plain = OffsetLog(file, { ...options, flags: 'r' })
  await plain.ready()
  await indexed.ready()
  await indexed.index.ready()
  t.deepEqual((await indexed.explain({ where: { path: 'type', equals: 'none' } })).uses, ['type'], 'the index is used')
  fs.truncateSync(file, size)
  await write('c')
  for (const log of [indexed, plain]) t.equal((await log.refresh().catch((err) => err)).code, 'ERR_LOG_REPLACED')
  for (const type of ['a', 'b', 'c']) {
    const where = { path: 'type', equals: type }
    const count = (log) => log.count({ where }).catch(({ code }) => code)
    const [found, wanted] = await Promise.all([indexed, plain].map(count))
    t.equal(found, wanted, type)
  }
  await indexed.close()
  await plain.close()
})

tape('index: a reader whose file was seen to be cut, and has other records there since, answers as one without an index', async (t) => {
  const file = newPath('events.log')
  const options = { framing: 'offset32', codec: jsonCodec }
  const write = async (type) => {
    const log = OffsetLog(file, options)
    await log.append(Array.from({ length: 300 }, (_, n) => ({ n: 1000 + n, type })))
    await log.close()
  }
  await write('a')
  const { size } = fs.statSync(file)
  await write('b')
  const indexed = OffsetLog(file, { ...options, flags: 'r', index: createIndex(['type']) })
  const plain = OffsetLog(file, { ...options, flags: 'r' })
  await indexed.ready()
  await plain.ready()
  await indexed.index.ready()
  const last = plain.since.value
  for (const log of [indexed, plain]) t.equal((await log.get(last)).type, 'b')
  fs.truncateSync(file, size)
  for (const log of [indexed, plain]) t.equal((await log.refresh().catch((err) => err)).code, 'ERR_LOG_CORRUPT')
  await write('c')
  for (const log of [indexed, plain]) {
    await log.refresh()
    t.equal((await log.get(last)).type, 'c')
  }
  for (const [type, wanted] of [['a', 300], ['b', 0], ['c', 300]]) {
    const where = { path: 'type', equals: type }
    t.equal(await plain.count({ where }), wanted, type)
    t.equal(await indexed.count({ where }), wanted, `${type}, with an index`)
  }
  await indexed.close()
  await plain.close()
})

tape('index: a reader whose file is copied over by another one, as long, answers as one without an index', async (t) => {
  const file = newPath('events.log')
  const other = newPath('others.log')
  const options = { framing: 'offset32', codec: jsonCodec }
  for (const [path, type] of [[file, 'a'], [other, 'b']]) {
    const log = OffsetLog(path, options)
    await log.append(Array.from({ length: 300 }, (_, n) => ({ n: 1000 + n, type })))
    await log.close()
  }
  let isOver = false
  // A look has just seen the file cut. It looks for a copy of its end, and at the file once more.
  const open = (path, how, cb) => {
    if (path.endsWith('.tail') && !isOver) {
      isOver = true
      fs.copyFileSync(other, file)
    }
    fileStorage.open(path, how, cb)
  }
  const storage = { ...fileStorage, open }
  const indexed = OffsetLog(file, { ...options, flags: 'r', storage, index: createIndex(['type']) })
  await indexed.ready()
  await indexed.index.ready()
  const count = (type) => indexed.count({ where: { path: 'type', equals: type } })
  t.deepEqual([await count('a'), await count('b')], [300, 0])
  fs.truncateSync(file, 100)
  await indexed.refresh()
  t.ok(isOver)
  t.deepEqual([await count('a'), await count('b')], [0, 300])
  await indexed.close()
})

tape('index: an index of the time after a backup is not believed', async (t) => {
  for (const [framing, codec] of KINDS) {
    const file = newPath(framing === 'lines' ? 'events.jsonl' : 'events.log')
    const open = () => OffsetLog(file, { framing, codec, index: createIndex(PATHS) })
    const random = createRandom(seed)
    const write = async (type) => {
      const log = open()
      await log.append(Array.from({ length: 3000 }, (_, n) => ({ ...makeValue(random, n), type })))
      await log.sync()
      await log.index.ready()
      await log.close()
    }
    await write('first')
    const copy = `${file}.backup`
    fs.cpSync(file, copy)
    await write('second')
    fs.cpSync(copy, file)
    await write('third')
    const log = open()
    await log.index.ready()
    for (const [type, count] of [['first', 3000], ['second', 0], ['third', 3000]]) {
      t.equal(await log.count({ where: { path: 'type', equals: type } }), count, `${framing} ${codec.name} ${type}`)
    }
    await log.close()
  }
})

tape('index: of lines is used again when the log is opened again, unless another program has written', async (t) => {
  const file = newPath('events.jsonl')
  const tuning = { recordsMax: 300, fanOut: 2, waitMs: 1 }
  const open = async (options) => {
    const log = OffsetLog(file, { framing: 'lines', codec: jsonCodec, index: createIndex(PATHS, { tuning }), ...options })
    await log.ready()
    await log.index.ready()
    return log
  }
  const runsOf = () => fs.readdirSync(`${file}.index`).filter((name) => name.endsWith('.run')).sort()
  const log = await open()
  const values = Array.from({ length: 2500 }, (_, n) => ({ n, type: n === 100 ? 'rare' : 'post', text: 'x'.repeat(700) }))
  const seqs = await log.append(values, { seqs: true })
  await log.index.ready()
  const { runs } = await log.index.status()
  t.ok(runs > 0)
  await log.close()
  const before = runsOf()
  for (const options of [{}, { flags: 'r' }]) {
    const again = await open(options)
    t.equal((await again.index.status()).runs, runs, 'it is trusted')
    t.equal(await again.count({ where: { path: 'type', equals: 'rare' } }), 1)
    await again.close()
    t.deepEqual(runsOf(), before, 'and not written again')
  }
  // Of the same length, so that every line stays where it is.
  const change = (seq, from, to) => {
    const bytes = fs.readFileSync(file)
    const at = bytes.indexOf(from, seq)
    bytes.write(to, at)
    fs.writeFileSync(file, bytes)
  }
  change(seqs[200], '"post"', '"rare"')
  const plain = OffsetLog(file, { framing: 'lines', codec: jsonCodec })
  t.equal((await plain.count({ where: { path: 'type', equals: 'rare' } }).catch((err) => err)).code, 'ERR_LOG_CORRUPT')
  await plain.close()
  fs.rmSync(`${file}.sums`)
  const other = await open()
  t.equal(await other.count({ where: { path: 'type', equals: 'rare' } }), 2, 'without sums it is built again')
  await other.close()
  change(seqs[300], '"post"', '"rare"')
  const reader = await open({ flags: 'r' })
  t.equal(await reader.count({ where: { path: 'type', equals: 'rare' } }), 3, 'of pages without a checksum the bytes count')
  await reader.close()
  change(seqs[2499], '"post"', '"rare"')
  for (const flags of ['r', 'r+', 'r+']) {
    const changed = await open({ flags })
    t.ok(changed.recovery.changed)
    t.equal(await changed.count({ where: { path: 'type', equals: 'rare' } }), 4, `it is not trusted, with ${flags}`)
    await changed.close()
  }
})

tape('index: a damaged place is scanned, and little around it', async (t) => {
  for (const [framing, codec] of KINDS) {
    const file = newPath(framing === 'lines' ? 'events.jsonl' : 'events.log')
    const random = createRandom(seed)
    const writer = OffsetLog(file, { framing, codec })
    const values = Array.from({ length: 12_000 }, (_, n) => ({ ...makeValue(random, n), text: 'x'.repeat(300) }))
    const seqs = await writer.append(values, { seqs: true })
    await writer.close()
    const bytes = fs.readFileSync(file)
    bytes.fill(1, seqs[5000] + 100, seqs[5000] + 120)
    fs.writeFileSync(file, bytes)
    const open = (options) => OffsetLog(file, { framing, codec, onCorrupt: 'skip', ...options })
    const tuning = { recordsMax: 300, fanOut: 2, waitMs: 1 }
    const log = open({ index: createIndex(PATHS, { tuning }) })
    await log.index.ready()
    const plain = open({ flags: 'r' })
    t.deepEqual(await compare(log, plain, random), [])
    const { candidates, scanned, why } = await log.explain({ where: { path: 'user', equals: 'nobody' } })
    t.deepEqual([candidates, why], [0, 'the log is damaged there'], framing)
    t.ok(scanned.from > seqs[3000] && scanned.from <= seqs[5000], 'what is before is not scanned')
    const rest = { where: { path: 'user', equals: 'nobody' }, gte: seqs[8000] }
    t.equal((await log.explain(rest)).scanned, null, 'nor what is after')
    await plain.close()
    await log.close()
  }
})

tape('index: of a codec of one\'s own that is named json or binary, or has no name, has the keys that it decodes', async (t) => {
  const decode = (/** @type {string} */ text) => JSON.parse(text, (key, value) => key === 'id' ? Number(value) : value)
  const where = { path: 'id', equals: 7 }
  for (const name of ['json', 'binary', undefined]) {
    const file = newPath('log')
    const open = (/** @type {any} */ decode) => {
      const codec = { ...(name && { name }), encode: JSON.stringify, decode }
      return OffsetLog(file, { codec, index: createIndex(['id'], { tuning: { waitMs: 1, recordsMax: 16 } }) })
    }
    const before = open(JSON.parse)
    await before.append(Array.from({ length: 50 }, (_, index) => ({ id: String(index) })))
    await before.index.ready()
    await before.close()
    const log = open(decode)
    await log.ready()
    t.equal(await log.count({ where }), 1, `${name}: runs of another decode are not used`)
    await log.index.ready()
    t.equal(await log.count({ where }), 1, `${name}: the keys are of decoded values`)
    const code = await log.append({ id: '7' }, { if: { where } }).catch((/** @type {any} */ err) => err.code)
    t.equal(code, 'ERR_APPEND_CONDITION', `${name}: a condition finds the record`)
    await log.close()
  }
})
