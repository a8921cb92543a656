'use strict'
// The index under logs of real files: every answer is that of a scan, whatever happened to the log and to the index.

const fs = require('node:fs')
const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { collect, createRandom, inQuickRuns, newPath } = require('@millrace/testkit')
const { createIndex } = require('..')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUNDS = process.env.LONG ? 400 : inQuickRuns(12, 3)
const PATHS = ['type', 'user', { path: 'tags', each: true }, { path: 'n', range: true }]
const KINDS = [['checked', jsonCodec], ['checked', binaryCodec], ['lines', jsonCodec]]

function makeValue (random, n) {
  return {
    n: random(5) === 0 ? -n : n,
    type: ['post', 'vote', 'rare', 7, null, true][random(20) === 0 ? 2 : random(6)],
    ...random(4) > 0 && { user: `u${random(30)}` },
    tags: Array.from({ length: random(4) }, () => `t${random(12)}`),
    text: 'x'.repeat(random(80))
  }
}

function makeWhere (random) {
  const n = random(3000) - 300
  const filters = [
    { path: 'type', equals: ['post', 'rare', 7, null, 'none'][random(5)] },
    { path: 'user', equals: `u${random(35)}` },
    { path: 'user', in: [`u${random(30)}`, `u${random(30)}`, 'nobody'] },
    { path: 'tags', includes: `t${random(14)}` },
    { path: 'n', gte: n, lt: n + random(200) },
    { path: 'text', exists: true }
  ]
  const pick = () => filters[random(filters.length)]
  return [pick(), [pick(), pick()], { any: [pick(), pick()] }, { all: [pick(), { not: pick() }] }][random(4)]
}

/** @returns {Promise<string[]>}  how the answers of two logs differ */
async function compare (indexed, plain, random) {
  const differences = []
  const check = (what, one, other) => {
    const [found, wanted] = [JSON.stringify(one), JSON.stringify(other)]
    if (found !== wanted) differences.push(`${what}: ${found}, not ${wanted}`)
  }
  for (let query = 0; query < 4; query++) {
    const where = makeWhere(random)
    const all = await collect(plain.stream({ where, values: false }))
    const name = JSON.stringify(where)
    check(`stream ${name}`, await collect(indexed.stream({ where, values: false })), all)
    check(`count ${name}`, await indexed.count({ where }), all.length)
    const limit = 1 + random(9)
    const newest = await collect(indexed.stream({ where, values: false, reverse: true, limit }))
    check(`newest ${name}`, newest, all.slice(-limit).reverse())
    const bounds = all.length > 1 ? { gte: all[random(all.length)], lt: all[random(all.length)] } : { gt: 0 }
    const within = { where, values: false, ...bounds }
    check(`bounds ${name}`, await collect(indexed.stream(within)), await collect(plain.stream(within)))
    const [first, last] = [await indexed.first({ where }), await indexed.last({ where })]
    check(`first ${name}`, first, await plain.first({ where }))
    check(`last ${name}`, last, await plain.last({ where }))
  }
  return differences
}

/** Removes or cuts files of the index. */
function hurt (file, random) {
  const folder = `${file}.index`
  if (!fs.existsSync(folder)) return
  for (const name of fs.readdirSync(folder)) {
    if (random(3) > 0) continue
    const path = `${folder}/${name}`
    if (random(2) === 0) fs.rmSync(path)
    else fs.truncateSync(path, random(fs.statSync(path).size + 1))
  }
}

const steps = {
  async append (state, random) {
    const { log } = state
    const values = Array.from({ length: 1 + random(400) }, () => makeValue(random, state.count++))
    state.seqs.push(...await log.append(values, { seqs: true }))
  },
  async one (state, random) {
    state.seqs.push(await state.log.append(makeValue(random, state.count++)))
  },
  async ready ({ log }) {
    await log.index.ready()
  },
  async delete ({ log, seqs }, random) {
    if (!log.supports.del) return
    for (let left = random(30); left > 0 && seqs.length > 0; left--) {
      await log.del(seqs.splice(random(seqs.length), 1)[0])
    }
  },
  async compact ({ log }) {
    if (log.supports.compact) await log.compact()
  },
  async reopen (state, random) {
    await state.log.close()
    if (random(3) === 0) hurt(state.file, random)
    if (random(3) === 0) state.paths = PATHS.filter(() => random(2) === 0).concat('text')
    state.open()
  },
  async drop ({ log }) {
    await log.index.drop()
  }
}

tape(`index: a log of a real file answers as a scan does, whatever happens (seed ${seed})`, async (t) => {
  let queries = 0
  for (let round = 0; round < ROUNDS; round++) {
    const random = createRandom(seed + round)
    const [framing, codec] = KINDS[random(KINDS.length)]
    const file = newPath(framing === 'lines' ? 'events.jsonl' : 'events.log')
    const state = { file, paths: PATHS, log: null, seqs: [], count: 0 }
    const recordsMax = [50, 300, 32768][random(3)]
    const hashBits = random(2) === 0 ? 8 : 32
    const tuning = { recordsMax, fanOut: 2 + random(3), hashBits, waitMs: random(5) }
    state.open = () => {
      state.log = OffsetLog(file, { framing, codec, index: createIndex(state.paths, { tuning }), fsync: 'never' })
    }
    state.open()
    const done = []
    for (let step = 0; step < 12; step++) {
      const names = ['append', 'append', 'append', 'one', 'ready', 'delete', 'compact', 'reopen', 'reopen', 'drop']
      const name = names[random(names.length)]
      done.push(name)
      await steps[name](state, random)
      await state.log.ready()
      const plain = OffsetLog(file, { codec, flags: 'r' })
      const differences = await compare(state.log, plain, random)
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
    t.equal(await indexed.count({ where }), await plain.count({ where }), type)
  }
  await indexed.close()
  await plain.close()
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
