'use strict'
// A log with an index answers as one without: random segments, paths and filters, while segments are sealed, dropped,
// compressed, and left with chosen records only, and whatever happened to the index's files.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { fileStorage } = require('@millrace/block-file')
const { createIndex } = require('@millrace/index')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, createRandom, failureOf, inQuickRuns, newPath, until } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const ROUND_COUNT = inQuickRuns(400, 140)
const STEP_COUNT = 12
const KINDS = [['checked', jsonCodec], ['checked', binaryCodec], ['lines', jsonCodec]]
const PATHS = ['type', 'kind', 'user', { path: 'tags', each: true }, { path: 'n', range: true }, { path: 'time', range: true }]
const KEEP = { path: 'type', equals: 'rare' }

const runFiles = (folder) => fs.existsSync(folder) ? fs.readdirSync(folder).filter((name) => name.endsWith('.run')) : []
/** Of the sealed segments. */
const basesOf = async (log) => (await log.segments()).slice(0, -1).map(({ base }) => base)
const indexOf = (folder) => path.join(folder, 'index')

function makeValue (random, n) {
  return {
    n: random(5) === 0 ? -n : n,
    time: 1.7e12 + 1000 * n,
    type: ['post', 'vote', 7, null, true, 'rare'][random(20) === 0 ? 5 : random(5)],
    kind: random(2),
    ...random(4) > 0 && { user: `u${random(40)}` },
    tags: Array.from({ length: random(4) }, () => `t${random(12)}`),
    text: 'x'.repeat(random(random(30) === 0 ? 20_000 : 150))
  }
}

function makeWhere (random, count) {
  const n = random(count + 20) - 10
  const filters = [
    { path: 'type', equals: ['post', 'rare', 7, null, 'none'][random(5)] },
    { path: 'user', equals: `u${random(45)}` },
    { path: 'user', in: [`u${random(40)}`, `u${random(40)}`, 'nobody'] },
    { path: 'tags', includes: `t${random(14)}` },
    { path: 'n', gte: n, lt: n + random(200) },
    { path: 'time', time: { gte: 1.7e12 + 1000 * n, lt: 1.7e12 + 1000 * (n + random(100)) } },
    { path: 'text', exists: true }
  ]
  const pick = () => filters[random(filters.length)]
  return [pick(), [pick(), pick()], { any: [pick(), pick()] }, { all: [pick(), { not: pick() }] }][random(4)]
}

/** What a read gives, or how it fails. @param {() => Promise<any>} read */
async function answerOf (read) {
  try {
    return JSON.stringify(await read())
  } catch (err) {
    return err.code ?? err.stack
  }
}

/** @returns {Promise<string | null>}  how two logs of one folder differ in a random query */
async function compare (indexed, plain, random, count) {
  const where = makeWhere(random, count)
  const all = await collect(plain.stream({ where, values: false }))
  const any = () => all.length > 0 ? all[random(all.length)] : random(1e9)
  const bounds = [{}, {}, { gte: any() }, { gt: random(1e9) }, { lt: any() }, { gt: any(), lte: any() }][random(6)]
  const options = {
    where,
    ...bounds,
    ...random(2) === 0 && { reverse: true },
    ...random(3) === 0 && { limit: 1 + random(9) },
    ...random(4) === 0 && { onRetained: 'skip' }
  }
  // An index may be sure of these without a read.
  const exact = [{ path: 'kind', equals: random(2) }, { path: 'kind', in: [0, 1, 2] }, { path: 'n', gte: random(count) }][random(3)]
  const period = { gte: 1.7e12 + 1000 * random(count + 1), lt: 1.7e12 + 1000 * random(count + 1) }
  const reads = {
    stream: (log) => collect(log.stream(options)),
    period: (log) => collect(log.stream({ ...options, time: period })),
    toReadable: (log) => log.toReadable({ ...options, values: false }).toArray(),
    count: (log) => log.count({ where, ...bounds }),
    'exact count': (log) => log.count({ where: exact }),
    'count of a period': (log) => log.count({ where, ...bounds, time: period }),
    first: (log) => log.first({ where, ...bounds }),
    last: (log) => log.last({ where, ...bounds })
  }
  for (const [name, read] of Object.entries(reads)) {
    const [found, right] = [await answerOf(() => read(indexed)), await answerOf(() => read(plain))]
    if (found !== right) return `${name} ${JSON.stringify(options)} ${JSON.stringify({ period, exact })}: ${found}, not ${right}`.slice(0, 900)
  }
  return null
}

/** Appends that hold only if nothing matches. */
async function compareCondition (state, random) {
  const where = makeWhere(random, state.count)
  const since = random(2) === 0 ? -1 : state.seqs[random(state.seqs.length)] ?? -1
  const [conflict] = await collect(state.plain.stream({ where, values: false, limit: 1, gt: since, onRetained: 'skip' }))
  const value = makeValue(random, state.count)
  const appending = state.log.append(value, { if: { where, since } })
  const failed = await appending.then((seq) => {
    state.count++
    state.seqs.push(seq)
    return null
  }, (err) => err)
  if (conflict === undefined) return failed === null ? null : `append if: ${failed.stack}`
  const isRight = failed?.code === 'ERR_APPEND_CONDITION' && failed.seq === conflict
  return isRight ? null : `append if: ${failed?.stack}, not ${conflict}`
}

/** Counts the calls that an index answers without a read. */
function withTally (index, tally) {
  return {
    open (host) {
      const opened = index.open(host)
      const { count } = opened
      return Object.assign(opened, {
        count (...asked) {
          const counted = count.apply(opened, asked)
          if (counted?.sure > 0) tally.sure++
          return counted
        }
      })
    }
  }
}

/** Removes or cuts files of the index, or puts those of another log there. */
function hurt (folder, random, strangers) {
  const files = runFiles(folder)
  if (random(4) === 0) return fs.rmSync(folder, { recursive: true, force: true })
  if (random(4) === 0) {
    fs.mkdirSync(folder, { recursive: true })
    for (const [name, bytes] of strangers) fs.writeFileSync(path.join(folder, name), bytes)
  }
  for (const name of files) {
    if (random(3) > 0) continue
    const file = path.join(folder, name)
    if (random(2) === 0) fs.rmSync(file)
    else fs.truncateSync(file, random(fs.statSync(file).size + 1))
  }
}

const steps = {
  async append (state, random) {
    const values = Array.from({ length: 1 + random(120) }, () => makeValue(random, state.count++))
    state.seqs.push(...await state.log.append(values, { seqs: true }))
  },
  async ones (state, random) {
    for (let left = 1 + random(5); left > 0; left--) {
      state.seqs.push(await state.log.append(makeValue(random, state.count++)))
    }
  },
  async roll ({ log }) {
    await log.roll()
  },
  async ready ({ log }) {
    await log.index.ready()
  },
  async delete ({ log, seqs }, random) {
    if (!log.supports.del) return
    for (let left = random(20); left > 0 && seqs.length > 0; left--) {
      const [seq] = seqs.splice(random(seqs.length), 1)
      await log.del(seq).catch((err) => {
        if (!['ERR_LOG_SEQ_RETAINED', 'flumelog:deleted'].includes(err.code)) throw err
      })
    }
  },
  async drop ({ log, seqs }, random) {
    if (seqs.length > 0) await log.dropBefore(seqs[random(seqs.length)])
  },
  async compress ({ log, options }) {
    if (!options.compress) return
    const isCompressed = async () => (await log.segments()).slice(0, -1).some(({ compressed }) => compressed !== null)
    if ((await log.segments()).length > 2) await until(isCompressed).catch(() => {})
  },
  async reopen (state, random) {
    await state.close()
    if (random(3) === 0) hurt(indexOf(state.folder), random, state.strangers)
    if (random(4) === 0) state.paths = [...PATHS, 'text'].filter(() => random(2) === 0).concat('other')
    await state.open()
  },
  async forget (state) {
    await state.log.index.drop()
    if (runFiles(indexOf(state.folder)).length > 0) throw new Error('dropped, and files are left')
    await state.close()
    await state.open()
  }
}
const STEPS = ['append', 'append', 'append', 'append', 'ones', 'roll', 'roll', 'ready', 'delete', 'drop', 'compress', 'reopen',
  'reopen', 'forget']

function createState (random, strangers, tally) {
  const [framing, codec] = KINDS[random(KINDS.length)]
  const options = {
    framing,
    codec,
    segmentSize: 4000 + random(60_000),
    openSegments: 1 + random(4),
    fsync: ['always', 'interval', 'never'][random(3)],
    time: ['time'],
    ...random(3) === 0 && { compress: 'gzip' },
    ...random(3) === 0 && { maxCount: 2 + random(5) },
    ...framing === 'checked' && random(3) === 0 && { maxCount: 1 + random(4), keep: { where: KEEP } }
  }
  const recordsMax = [20, 100, 32_768][random(3)]
  const [hashBits, openRuns, cachedPages] = [random(2) === 0 ? 8 : 32, [1, 3, 128][random(3)], 1 + random(30)]
  const tuning = { recordsMax, fanOut: 2 + random(4), hashBits, waitMs: random(5), openRuns, cachedPages }
  const state = {
    folder: newPath('logs'),
    options,
    paths: [...PATHS, 'text'],
    strangers,
    seqs: [],
    count: 0,
    log: null,
    plain: null,
    follower: null,
    async open () {
      const index = withTally(createIndex(state.paths, { tuning }), tally)
      state.log = SegmentedLog(state.folder, { ...options, index })
      await state.log.ready()
    },
    /** Readers: a new one, since an older one may have a file open that was replaced; and one that follows. */
    async read () {
      await state.plain?.close()
      if (options.keep) await state.closeFollower()
      const read = { codec, time: ['time'], flags: 'r' }
      state.plain = SegmentedLog(state.folder, read)
      state.follower ??= SegmentedLog(state.folder, { ...read, index: createIndex(state.paths, { tuning }) })
      await state.plain.ready()
      await state.follower.refresh()
    },
    async closeFollower () {
      await state.follower?.close()
      state.follower = null
    },
    async close () {
      await state.closeFollower()
      await state.log.close()
    }
  }
  return state
}

/** The index files of another log. */
async function makeStrangers () {
  const folder = newPath('others')
  const index = createIndex(PATHS, { tuning: { recordsMax: 50, waitMs: 1 } })
  const log = SegmentedLog(folder, { codec: jsonCodec, index })
  const random = createRandom(seed)
  for (let n = 0; n < 3; n++) {
    await log.append(Array.from({ length: 60 }, (_, at) => makeValue(random, at)))
    await log.roll()
  }
  await log.index.ready()
  await log.close()
  return runFiles(indexOf(folder)).map((name) => [name, fs.readFileSync(path.join(indexOf(folder), name))])
}

tape(`index: every read gives what a scan gives, whatever happens to segments and to the index (seed ${seed})`, async (t) => {
  const strangers = await makeStrangers()
  let queryCount = 0
  const tally = { sure: 0 }
  for (let round = 0; round < ROUND_COUNT; round++) {
    const random = createRandom(seed + round)
    const state = createState(random, strangers, tally)
    await state.open()
    const done = []
    let wrong = null
    for (let step = 0; step < STEP_COUNT && wrong === null; step++) {
      const name = STEPS[random(STEPS.length)]
      done.push(name)
      await steps[name](state, random)
      // Limits are looked at in the background.
      await state.log.dropBefore(0)
      await state.read()
      for (let query = 0; query < 3 && wrong === null; query++) {
        queryCount++
        wrong = await compare([state.log, state.log, state.follower][query], state.plain, random, state.count)
      }
      if (random(4) === 0) wrong ??= await compareCondition(state, random)
    }
    const options = JSON.stringify({ ...state.options, codec: state.options.codec.name })
    const told = `round ${round} (MILLRACE_SEED=${seed + round}), ${options}, after ${done}`
    if (wrong === null) {
      await state.log.index.ready()
      const { uses, scanned } = await state.log.explain({ where: { path: 'text', equals: 'nobody' } })
      const isUsed = state.paths.includes('text') ? uses[0] === 'text' && scanned === null : uses.length === 0
      if (!isUsed) wrong = `the index is not used: ${uses}, ${JSON.stringify(scanned)}`
    }
    if (wrong !== null) t.fail(`${told}: ${wrong}`)
    await state.close()
    await state.plain.close()
  }
  t.ok(queryCount > 0, `${queryCount} queries, ${tally.sure} counts by the index`)
})

const openLog = (folder, options = {}, paths = PATHS) => {
  const index = createIndex(paths, { tuning: { recordsMax: 50, fanOut: 4, waitMs: 1 } })
  return SegmentedLog(folder, { codec: jsonCodec, index, ...options })
}

/** Seqs by segment. */
async function fill (log, segments, perSegment = 120) {
  const seqs = []
  for (let n = 0; n < segments; n++) {
    const values = Array.from({ length: perSegment }, (_, at) => ({ n: n * perSegment + at, type: at % 40 === 0 ? 'rare' : 'often', segment: n }))
    seqs.push(await log.append(values, { seqs: true }))
    await log.roll()
  }
  return seqs
}

tape('index: each sealed segment has one file, which goes with the segment', async (t) => {
  const folder = newPath('logs')
  const log = openLog(folder)
  const seqs = await fill(log, 5)
  await log.index.ready()
  const listed = () => runFiles(indexOf(folder)).map((name) => Number(name.split('-')[0]))
  t.deepEqual(listed(), await basesOf(log))
  await log.dropBefore(seqs[2][0])
  await log.index.ready()
  t.deepEqual(listed(), await basesOf(log))
  const where = { path: 'segment', equals: 1 }
  t.deepEqual(await collect(log.stream({ where })), [])
  await log.close()
  fs.writeFileSync(path.join(indexOf(folder), 'of somebody else'), '')
  const again = openLog(folder)
  await again.index.ready()
  t.deepEqual(listed(), await basesOf(again), 'they are used again')
  const explained = await again.explain({ where: { path: 'type', equals: 'rare' } })
  t.deepEqual([explained.uses, explained.candidates, explained.scanned], [['type'], 9, null])
  await again.index.drop()
  t.deepEqual(fs.readdirSync(indexOf(folder)), ['of somebody else'])
  await again.close()
})

/** What a count gives, and which segments it opens. */
async function countAndLook (log, opened, where) {
  opened.length = 0
  const count = await log.count({ where })
  const files = (await log.segments()).map((segment) => segment.path)
  return [count, [...new Set(opened.map((file) => files.indexOf(file)))].filter((at) => at !== -1).sort()]
}

tape('index: a count reads only the segments of which records were deleted', async (t) => {
  const folder = newPath('logs')
  const opened = []
  const storage = {
    ...fileStorage,
    open (file, ...rest) {
      opened.push(path.join(folder, path.basename(file)))
      return fileStorage.open(file, ...rest)
    }
  }
  const options = { storage, openSegments: 1, fsync: 'never' }
  let log = openLog(folder, options)
  const seqs = await fill(log, 5)
  await log.index.ready()
  const where = { path: 'type', equals: 'often' }
  const look = () => countAndLook(log, opened, where)
  t.deepEqual(await look(), [585, []])
  await log.del([seqs[1][1], seqs[3][2]])
  t.deepEqual(await look(), [583, [1, 3]])
  await log.dropBefore(seqs[1][0])
  t.deepEqual(await look(), [466, [0, 2]])
  await log.close()
  log = openLog(folder, options)
  await log.index.ready()
  t.deepEqual(await look(), [466, [0, 2]], 'also when it was opened again')
  await log.dropBefore(seqs[4][0])
  t.deepEqual(await look(), [117, []])
  await log.close()
  log = openLog(folder, { ...options, compress: 'gzip' })
  await log.index.ready()
  await until(async () => (await log.segments()).slice(0, -1).every(({ compressed }) => compressed === 'gzip'))
  t.deepEqual(await look(), [117, []], 'of a compressed segment')
  await log.close()
})

tape('index: a reader counts right although nobody tells it which records are deleted', async (t) => {
  const folder = newPath('logs')
  const log = openLog(folder)
  const seqs = await fill(log, 3)
  await log.index.ready()
  const reader = openLog(folder, { flags: 'r', openSegments: 1 })
  await reader.index.ready()
  const where = { path: 'type', equals: 'often' }
  t.equal(await reader.count({ where }), 351)
  await log.del(seqs[0].slice(0, 50))
  await log.sync()
  t.equal(await reader.count({ where }), await log.count({ where }))
  await reader.close()
  await log.close()
})

tape('index: what a segment keeps is indexed anew, and counted', async (t) => {
  const folder = newPath('logs')
  const log = openLog(folder, { maxCount: 2, keep: { where: [KEEP, { path: 'segment', in: [0, 2, 3, 4] }] } })
  await log.hold('all', 0)
  await fill(log, 6)
  await log.index.ready()
  t.equal(await log.count({ where: KEEP }), 18)
  await log.release('all')
  await log.dropBefore(0)
  t.equal(await log.count({ where: KEEP }), 15)
  await log.index.ready()
  t.equal(await log.count({ where: KEEP }), 15, 'all of one segment are gone, of others the most')
  t.equal(await log.count({ where: { path: 'type', equals: 'often' } }), 117)
  t.equal((await log.index.status()).records, 4 * 3 + 120)
  await log.close()
})

tape('index: a read whose records are dropped meanwhile fails as a scan does, or goes on behind them', async (t) => {
  const log = openLog(newPath('logs'))
  const seqs = await fill(log, 6)
  await log.index.ready()
  const where = { path: 'type', equals: 'rare' }
  const read = async (options) => {
    const found = []
    try {
      for await (const { seq } of log.stream({ where, ...options })) {
        found.push(seq)
        if (options.drops === found.length) await log.dropBefore(options.before)
      }
    } catch (err) {
      return [...found, err.code]
    }
    return found
  }
  const rare = seqs.map((list) => list.filter((_, at) => at % 40 === 0))
  t.deepEqual(await read({}), rare.flat())
  t.equal((await read({ gt: seqs[0][5], drops: 1, before: seqs[1][0] }))[0], rare[0][1], 'what it read before it delivers')
  t.deepEqual(await read({ gt: seqs[0][5] }), ['ERR_LOG_SEQ_RETAINED'])
  t.deepEqual(await read({ gt: seqs[0][5], onRetained: 'skip' }), rare.slice(1).flat())
  t.deepEqual(await read({ reverse: true, lt: seqs[0][5] }), ['ERR_LOG_SEQ_RETAINED'])
  t.deepEqual(await read({ reverse: true }), rare.slice(1).flat().reverse())
  t.equal(await log.count({ where }), rare.slice(1).flat().length)
  await log.close()
})

tape('index: a slow read of many records is told that some were dropped', async (t) => {
  const log = openLog(newPath('logs'), {}, ['n'])
  const seqs = await fill(log, 30, 100)
  await log.index.ready()
  const all = Array.from({ length: 3000 }, (_, n) => n)
  const where = { path: 'n', in: all.filter((n) => n % 60 === 0) }
  t.equal((await log.explain({ where })).candidates, 50)
  for (const onRetained of ['error', 'skip']) {
    const source = log.stream({ where, onRetained })[Symbol.asyncIterator]()
    const found = [(await source.next()).value.seq]
    await log.dropBefore(seqs[onRetained === 'error' ? 24 : 27][0])
    const err = await failureOf(async () => {
      for await (const { seq } of source) found.push(seq)
    })
    t.equal(err?.code, onRetained === 'error' ? 'ERR_LOG_SEQ_RETAINED' : undefined)
    t.deepEqual(found, [...found].sort((a, b) => a - b))
    if (onRetained === 'skip') t.equal(found.at(-1), seqs[29][40])
  }
  await log.close()
})

tape('index: a live read gives each record once, from segment to segment', async (t) => {
  const log = openLog(newPath('logs'))
  await fill(log, 2)
  await log.index.ready()
  const found = []
  const reading = (async () => {
    for await (const { value } of log.stream({ where: { path: 'type', equals: 'rare' }, live: true })) {
      found.push(value.n)
      if (found.length === 15) return
    }
  })()
  await fill(log, 3)
  await reading
  const once = [0, 40, 80, 120, 160, 200]
  t.deepEqual(found, [...once, ...[0, 40, 80, 120, 160, 200, 240, 280, 320]])
  await log.close()
})

tape('index: a reader uses the files of the writer, and changes none', async (t) => {
  const folder = newPath('logs')
  const log = openLog(folder)
  await fill(log, 4)
  await log.index.ready()
  const files = runFiles(indexOf(folder))
  const reader = openLog(folder, { flags: 'r' })
  await reader.index.ready()
  const where = { path: 'type', equals: 'rare' }
  t.deepEqual([(await reader.explain({ where })).runs, await reader.count({ where })], [4, 12])
  await fill(log, 1)
  await reader.refresh()
  t.equal(await reader.count({ where }), 15)
  await reader.index.drop()
  await reader.close()
  t.deepEqual(runFiles(indexOf(folder)).filter((name) => files.includes(name)), files)
  await log.close()
})

tape('index: a segment that cannot be read is scanned each time, and the others are not', async (t) => {
  const folder = newPath('logs')
  const log = openLog(folder)
  await fill(log, 4)
  const [, second] = await log.segments()
  await log.close()
  fs.rmSync(indexOf(folder), { recursive: true })
  fs.writeFileSync(second.path, 'no segment')
  const again = openLog(folder, { onCorrupt: 'skip' })
  await again.index.ready()
  const where = { path: 'type', equals: 'rare' }
  t.equal(await again.count({ where }), 9)
  t.equal((await again.explain({ where })).scanned.from, second.base)
  t.equal((await failureOf(() => again.count({ where, onCorrupt: 'error' })))?.code, 'ERR_LOG_CORRUPT')
  await again.close()
})

tape('index, lines: a line of the newest segment that is changed in place is not hidden from a follower', async (t) => {
  const folder = newPath('logs')
  const options = { framing: 'lines', codec: jsonCodec, segmentSize: 4000, index: createIndex(['user']) }
  const writer = SegmentedLog(folder, options)
  for (let n = 0; n < 150; n++) await writer.append({ user: `u${n % 3}`, n, text: 'x'.repeat(40) })
  await writer.index.ready()
  const { path: newest } = (await writer.segments()).at(-1)
  await writer.close()
  const log = SegmentedLog(folder, { ...options, flags: 'r' })
  await log.refresh()
  await log.index.ready()
  const where = { path: 'user', equals: 'u9' }
  t.equal(await log.count({ where }), 0)
  const fd = fs.openSync(newest, 'r+')
  fs.writeSync(fd, fs.readFileSync(newest, 'utf8').replace(/"u\d"/, '"u9"'))
  fs.closeSync(fd)
  await log.refresh()
  t.equal((await collect(log.stream({ where }))).length, 1, 'as a scan says')
  t.equal(await log.count({ where }), 1)
  await log.index.ready()
  t.equal(await log.count({ where }), 1, 'nor once it is indexed again')
  await log.close()
})

tape('index: what is no index is refused; without one, explain says so', async (t) => {
  for (const index of [null, true, [], {}, { open: 1 }]) {
    t.throws(() => SegmentedLog(newPath('logs'), { index }), { code: 'ERR_INVALID_ARGUMENT', message: /SegmentedLog: index/ })
  }
  const log = SegmentedLog(newPath('logs'), { codec: jsonCodec })
  await log.append({ a: 1 })
  t.equal(log.index, null)
  t.equal((await log.explain({ where: { path: 'a', equals: 1 } })).why, 'the log was opened without an index')
  await log.close()
})
