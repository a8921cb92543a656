'use strict'
// A merged log with an index answers as one without: random slots and filters, while their writers append, delete,
// begin segments, drop them, and come and go.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { createIndex } = require('@millrace/index')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, createRandom, failureOf, inQuickRuns, newPath, until } = require('@millrace/testkit')
const { MergedLog, SlotLog } = require('..')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const ROUND_COUNT = inQuickRuns(200, 50)
const STEP_COUNT = 14
const SLOT_COUNT_MAX = 3
const PATHS = ['type', 'user', { path: 'time', range: true }]
const TUNING = { recordsMax: 50, fanOut: 4, waitMs: 1, openRuns: 2, cachedPages: 10 }
const createSmallIndex = (paths = PATHS) => createIndex(paths, { tuning: TUNING })

/** Of the slot. */
const runFiles = (folder, slot) => fs.readdirSync(path.join(folder, String(slot), 'index')).filter((name) => name.endsWith('.run'))

function makeValue (random, n) {
  return {
    n,
    ...random(9) > 0 && { time: 1.7e12 + 1000 * n - random(5000) },
    type: ['post', 'vote', 'rare'][random(30) === 0 ? 2 : random(2)],
    user: `u${random(30)}`,
    text: 'x'.repeat(random(200))
  }
}

function makeWhere (random, count) {
  const from = 1.7e12 + 1000 * random(count + 1)
  const filters = [
    { path: 'type', equals: ['post', 'rare', 'none'][random(3)] },
    { path: 'user', in: [`u${random(35)}`, `u${random(35)}`] },
    { path: 'time', time: { gte: from, lt: from + 1000 * random(100) } },
    { path: 'text', exists: true }
  ]
  const pick = () => filters[random(filters.length)]
  return [pick(), [pick(), pick()], { any: [pick(), pick()] }][random(3)]
}

/** What a read gives, or how it fails. @param {() => Promise<any>} read */
async function answerOf (read) {
  try {
    return JSON.stringify(await read())
  } catch (err) {
    return err.code ?? err.stack
  }
}

/** How two logs of one folder differ in a random query; null if they do not. */
async function compare (indexed, plain, random, count) {
  const where = makeWhere(random, count)
  const keys = await collect(plain.stream({ values: false }))
  const position = Object.fromEntries(keys.filter(() => random(20) === 0).map((key) => key.split(':').map(Number)))
  const bounds = [{}, { after: position }, { upTo: position }][random(3)]
  const limit = random(3) === 0 ? { limit: 1 + random(9) } : {}
  const options = { where, ...bounds, ...limit, ...random(2) === 0 && { reverse: true } }
  const reads = {
    stream: (log) => collect(log.stream(options)),
    toReadable: (log) => log.toReadable(options).toArray(),
    count: (log) => log.count({ where, ...bounds }),
    first: (log) => log.first({ where, ...bounds }),
    last: (log) => log.last({ where, ...bounds })
  }
  for (const [name, read] of Object.entries(reads)) {
    const [found, right] = [await answerOf(() => read(indexed)), await answerOf(() => read(plain))]
    if (found !== right) return `${name} ${JSON.stringify(options)}: ${found}, not ${right}`.slice(0, 900)
  }
  return null
}

/** The writers of a folder, and a merged log with an index that stays open. */
function createState (random, folder) {
  const state = {
    folder,
    /** @type {any[]} */
    writers: [],
    /** @type {any} */
    indexed: null,
    opened: new Map(),
    count: 0,
    async addWriter () {
      const options = { codec: jsonCodec, segmentSize: 4000 + random(20_000), fsync: ['always', 'interval', 'never'][random(3)] }
      // Not each process has the same options, although it should.
      const writer = SlotLog(folder, { ...options, ...random(4) > 0 && { index: createSmallIndex() } })
      await writer.ready()
      state.writers.push(Object.assign(writer, { seqs: [] }))
    },
    pick: () => state.writers[random(state.writers.length)],
    async open () {
      state.indexed = MergedLog(folder, { codec: jsonCodec, index: createSmallIndex() })
      state.opened = new Map()
      state.indexed.eachSlot((log, slot) => state.opened.set(slot, log))
      await state.indexed.ready()
    },
    /** Until the merged log has all slots, and has seen what they have. */
    async settle () {
      await until(() => state.writers.every(({ slot }) => state.opened.has(slot)))
      for (const log of state.opened.values()) await log.refresh()
    }
  }
  return state
}

const steps = {
  async append (state, random) {
    const writer = state.pick()
    const values = Array.from({ length: 1 + random(80) }, () => makeValue(random, state.count++))
    writer.seqs.push(...await writer.append(values, { seqs: true }))
  },
  async roll (state) {
    await state.pick().roll()
  },
  async ready (state) {
    await state.pick().index?.ready()
    await state.indexed.index.ready()
  },
  async delete (state, random) {
    const { seqs, log } = state.pick()
    for (let left = random(10); left > 0 && seqs.length > 0; left--) {
      const [seq] = seqs.splice(random(seqs.length), 1)
      await log.del(seq).catch((err) => { if (err.code !== 'ERR_LOG_SEQ_RETAINED') throw err })
    }
    await log.sync()
  },
  async drop (state, random) {
    const { seqs, log } = state.pick()
    if (seqs.length > 0 && random(2) === 0) await log.dropBefore(seqs[random(seqs.length)])
  },
  async writer (state, random) {
    if (state.writers.length < SLOT_COUNT_MAX) return state.addWriter()
    const [writer] = state.writers.splice(random(state.writers.length), 1)
    await writer.close()
    await state.addWriter()
  },
  async reopen (state) {
    await state.indexed.close()
    await state.open()
  }
}
const STEPS = ['append', 'append', 'append', 'append', 'roll', 'ready', 'delete', 'drop', 'writer', 'reopen']

tape(`index: every read of a merged log gives what it gives without an index (seed ${seed})`, async (t) => {
  let queryCount = 0
  for (let round = 0; round < ROUND_COUNT; round++) {
    const random = createRandom(seed + round)
    const state = createState(random, newPath('logs'))
    await state.addWriter()
    await state.open()
    const done = []
    let wrong = null
    for (let step = 0; step < STEP_COUNT && wrong === null; step++) {
      const name = STEPS[random(STEPS.length)]
      done.push(name)
      await steps[name](state, random)
      await state.settle()
      // An older reader may have a file open that was replaced.
      const plain = MergedLog(state.folder, { codec: jsonCodec })
      await plain.ready()
      for (let query = 0; query < 2 && wrong === null; query++) {
        queryCount++
        wrong = await compare(state.indexed, plain, random, state.count)
      }
      await plain.close()
    }
    if (wrong !== null) t.fail(`round ${round} (MILLRACE_SEED=${seed + round}), after ${done}: ${wrong}`)
    await state.indexed.close()
    for (const writer of state.writers) await writer.close()
  }
  t.ok(queryCount > 0, `${queryCount} queries`)
})

tape('index: each slot has its own; a merged log sums up what they say', async (t) => {
  const folder = newPath('logs')
  const index = createSmallIndex()
  const writers = [SlotLog(folder, { codec: jsonCodec, index }), SlotLog(folder, { codec: jsonCodec, index })]
  for (const [slot, writer] of writers.entries()) {
    const typeOf = (n) => n % 100 === 0 ? 'rare' : 'often'
    await writer.append(Array.from({ length: 400 }, (_, n) => ({ n, time: 1.7e12 + n, type: typeOf(n), slot })))
    await writer.roll()
    await writer.index.ready()
    t.equal((await writer.index.status()).records, 400)
    t.equal(runFiles(folder, writer.slot).length, 1)
  }
  const log = MergedLog(folder, { codec: jsonCodec, index })
  await log.index.ready()
  const where = { path: 'type', equals: 'rare' }
  const { slots, ...all } = await log.explain({ where })
  t.deepEqual(all, { uses: ['type'], candidates: 8, runs: 2, scanned: null })
  t.deepEqual(slots.map(({ slot, candidates }) => [slot, candidates]), [[0, 4], [1, 4]])
  const some = await log.explain({ where, upTo: { 0: 2 ** 40 } })
  t.deepEqual(some.slots.map(({ candidates }) => candidates), [4, 0])
  t.deepEqual((await log.explain({ where: { path: 'slot', equals: 1 } })).scanned, { records: null })
  const found = await collect(log.stream({ where, seqs: false }))
  t.deepEqual(found.map(({ n }) => n), [0, 0, 100, 100, 200, 200, 300, 300])
  t.equal(await log.count({ where }), 8)
  const { paths, isReady, runs, records } = await log.index.status()
  t.deepEqual([paths, isReady, runs, records], [['type', 'user', 'time'], true, 2, 800])

  await log.index.drop()
  t.equal(await log.index.status(), undefined)
  t.deepEqual((await log.explain({ where })).candidates, null)
  t.equal(await log.count({ where }), 8)
  t.equal(runFiles(folder, 0).length, 1, 'the files are those of the writers')
  await log.close()
  await writers[0].index.drop()
  t.deepEqual(runFiles(folder, writers[0].slot), [])
  for (const writer of writers) await writer.close()
})

tape('index: a live stream of a merged log gives each record once, of new slots too', async (t) => {
  const folder = newPath('logs')
  const index = createSmallIndex()
  const first = SlotLog(folder, { codec: jsonCodec, index })
  const valueOf = (n) => ({ n, type: n % 50 === 0 ? 'rare' : 'often' })
  const fill = (log, from) => log.append(Array.from({ length: 200 }, (_, n) => valueOf(from + n)))
  await fill(first, 0)
  const log = MergedLog(folder, { codec: jsonCodec, index, latenessMs: 0 })
  await log.index.ready()
  const found = []
  const reading = (async () => {
    for await (const { n } of log.stream({ where: { path: 'type', equals: 'rare' }, live: true, seqs: false })) {
      if (found.push(n) === 12) return
    }
  })()
  await until(() => found.length === 4)
  await first.roll()
  await fill(first, 1000)
  const second = SlotLog(folder, { codec: jsonCodec, index })
  await fill(second, 2000)
  await reading
  t.deepEqual(found.sort((a, b) => a - b), [0, 50, 100, 150, 1000, 1050, 1100, 1150, 2000, 2050, 2100, 2150])
  for (const each of [log, first, second]) await each.close()
})

tape('index: what is no index is refused; without one there is none; a condition stays refused', async (t) => {
  const folder = newPath('logs')
  for (const index of [null, true, [], { open: 1 }]) {
    t.throws(() => SlotLog(folder, { index }), { code: 'ERR_INVALID_ARGUMENT', message: /SlotLog: index/ })
    t.throws(() => MergedLog(folder, { index }), { code: 'ERR_INVALID_ARGUMENT', message: /MergedLog: index/ })
  }
  const writer = SlotLog(folder, { codec: jsonCodec })
  t.equal(writer.index, null)
  await writer.append({ type: 'rare' })
  const log = MergedLog(folder, { codec: jsonCodec })
  t.equal(log.index, null)
  const explained = await log.explain({ where: { path: 'type', equals: 'rare' } })
  t.deepEqual([explained.candidates, explained.slots[0].why], [null, 'the log was opened without an index'])
  t.equal((await failureOf(() => log.explain({ live: true })))?.code, 'ERR_INVALID_ARGUMENT')
  await log.close()
  await writer.close()
  const withIndex = SlotLog(folder, { codec: jsonCodec, index: createSmallIndex() })
  t.equal((await failureOf(() => withIndex.append({}, { if: { where: [] } })))?.code, 'ERR_NOT_SUPPORTED')
  await withIndex.close()
})
