'use strict'
// Reads by way of an index give what a scan gives, whatever the index names too much and however it divides a read. The
// index of these tests knows the right answer, adds other records to it, and makes random parts of that.

const fs = require('node:fs')
const path = require('node:path')
const { performance } = require('node:perf_hooks')
const tape = require('tape')
const { canonicalCodec } = require('@millrace/binary-codec')
const { fileStorage } = require('@millrace/block-file')
const { withDictionary } = require('@millrace/dictionary')
const { jsonCodec } = require('@millrace/json-codec')
const { matches, parseWhere } = require('@millrace/where')
const {
  SimulatedDisk, collect, createRandom, failureOf, inQuickRuns, slowStorage, temporaryFolder
} = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { sourceOf } = require('../composing')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const CODECS = { json: jsonCodec, dictionary: withDictionary(jsonCodec), canonical: canonicalCodec }
const KINDS = [
  ['checked', 'json'], ['checked', 'canonical'], ['checked', 'dictionary'], ['lines', 'json'], ['offset32', 'json'],
  ['offset53', 'canonical']
]
const ROUND_COUNT = inQuickRuns(4, 2)
const READ_COUNT = 30

const newPath = () => path.join(temporaryFolder(), 'log')

/** @type {(random: (limit: number) => number, records: Map<number, any>) => any} the seqs and values of the log */
function fakeIndex (random, records) {
  const index = { host: null, calls: [], partCount: 0 }
  const note = (name) => (...args) => { index.calls.push([name, ...args]) }
  return Object.assign(index, {
    open (host) {
      index.host = host
      return index
    },
    parts (where, { from, to, reverse }) {
      if (random(10) === 0) return null
      const isSure = random(4) === 0
      const filters = parseWhere(where)
      const parts = []
      for (let at = from; at < to;) {
        const end = Math.min(to, at + 1 + random(random(3) === 0 ? 40 : 4000))
        const seqs = [...records.keys()].filter((seq) => seq >= at && seq < end)
          .filter((seq) => matches(filters, records.get(seq)) || (!isSure && random(3) === 0))
        if (random(3) === 0) parts.push({ from: at, to: end })
        else if (seqs.length > 0 || random(4) === 0) parts.push({ seqs: seqs.sort((a, b) => reverse ? b - a : a - b) })
        at = end
      }
      index.partCount += parts.length
      return (reverse ? parts.reverse() : parts)[Symbol.iterator]()
    },
    count (where, range) {
      if (random(3) === 0) return null
      const parts = [...index.parts(where, range) ?? [range]]
      const filters = parseWhere(where)
      const isSure = parts.map((part) => 'seqs' in part && random(2) === 0)
      const sure = parts.filter((_, at) => isSure[at]).flatMap(({ seqs }) => seqs)
      const count = sure.filter((seq) => matches(filters, records.get(seq))).length
      return { sure: count, parts: parts.filter((_, at) => !isSure[at]) }
    },
    explain: (where, range) => ({ uses: ['a'], candidates: 1, runs: 2, scanned: null, why: '', where, range }),
    appended: note('appended'),
    deleted: note('deleted'),
    compacting: note('compacting'),
    compacted: async (hasChanged) => note('compacted')(hasChanged),
    replaced: async () => note('replaced')(),
    ready: async () => note('ready')(),
    status: () => ({ isFake: true }),
    drop: async () => note('drop')(),
    close: async () => note('close')()
  })
}

for (const [framing, codec] of KINDS) {
  tape(`index: every read gives what a scan gives, in ${framing} with ${codec} (seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    let partCount = 0
    for (let round = 0; round < ROUND_COUNT; round++) {
      const file = newPath()
      const records = new Map()
      const index = fakeIndex(random, records)
      const storage = random(3) === 0 ? slowStorage(fileStorage, random) : fileStorage
      const log = OffsetLog(file, { framing, codec: CODECS[codec], index, storage })
      let n = 0
      const append = async (count) => {
        const values = Array.from({ length: count }, () => {
          return { n: n++, key: random(6), pad: 'x'.repeat(random(20) === 0 ? random(30_000) : random(80)) }
        })
        const seqs = await log.append(values, { seqs: true })
        seqs.forEach((seq, index) => records.set(seq, values[index]))
      }
      for (let count = 1 + random(6); count > 0; count--) await append(random(80))
      const bound = () => random(1 + log.since.value + 10)
      for (let read = 0; read < READ_COUNT; read++) {
        const mayDelete = log.supports.del && records.size > 0
        if (read % 7 === 3 && mayDelete) {
          const seq = [...records.keys()][random(records.size)]
          records.delete(seq)
          await log.del(seq)
        }
        if (read % 9 === 5) await append(random(5))
        if (read % 20 === 11 && log.supports.compact) await log.compact()
        const where = random(3) > 0 ? { path: 'key', equals: random(7) } : { path: 'n', gte: random(n + 1), lt: random(n + 1) }
        const range = {}
        for (const name of ['gt', 'gte', 'lt', 'lte']) if (random(4) === 0) range[name] = bound()
        if (random(2) === 0) range.reverse = true
        if (random(3) === 0) range.limit = random(9)
        const { reverse, limit, ...bounds } = range
        // Nothing asks an index without a filter.
        const all = await collect(log.stream({ ...bounds, reverse }))
        const wanted = all.filter(({ value }) => matches(parseWhere(where), value))
        const expected = limit === undefined ? wanted : wanted.slice(0, limit)
        const told = `${JSON.stringify({ where, range })} in round ${round}`
        const same = (what, found, right) => {
          if (JSON.stringify(found) !== JSON.stringify(right)) t.fail(`${what} ${told}: ${JSON.stringify(found).slice(0, 300)}`)
        }
        const seqsOf = (entries) => entries.map(({ seq }) => seq)
        same('stream', seqsOf(await collect(log.stream({ ...range, where }))), seqsOf(expected))
        same('toReadable', await log.toReadable({ ...range, where, values: false }).toArray(), seqsOf(expected))
        same('values', await collect(log.stream({ ...range, where, seqs: false })), expected.map(({ value }) => value))
        same('count', await log.count({ ...bounds, where, ...(limit !== undefined && { limit }) }), expected.length)
        const inOrder = reverse ? [...wanted].reverse() : wanted
        same('first', (await log.first({ ...bounds, where }))?.seq, inOrder[0]?.seq)
        same('last', (await log.last({ ...bounds, where }))?.seq, inOrder.at(-1)?.seq)
        const scanned = []
        await log.scan({ ...range, where }, ({ count, seqs }) => { scanned.push(...seqs.subarray(0, count)) })
        same('scan', scanned, seqsOf(expected))
      }
      partCount += index.partCount
      await log.close()
    }
    t.ok(partCount > 0, `${partCount} parts`)
  })
}

tape(`index: a live stream gives what there is and what follows, each once (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const records = new Map()
  const log = OffsetLog(newPath(), { codec: jsonCodec, index: fakeIndex(random, records) })
  const append = async (n) => {
    const value = { n, key: n % 3 }
    records.set(await log.append(value), value)
  }
  for (let n = 0; n < 50; n++) await append(n)
  const found = []
  const reading = (async () => {
    for await (const { value } of log.stream({ where: { path: 'key', equals: 1 }, live: true })) {
      found.push(value.n)
      if (found.length === 30) return
    }
  })()
  for (let n = 50; n < 90; n++) {
    await append(n)
    if (random(3) === 0) await new Promise(setImmediate)
  }
  await reading
  t.deepEqual(found, Array.from({ length: 30 }, (_, index) => 3 * index + 1))
  await log.close()
})

tape('index: a record that is deleted while a stream holds it is not delivered', async (t) => {
  const records = new Map()
  const log = OffsetLog(newPath(), { codec: jsonCodec, index: fakeIndex(() => 1, records) })
  const seqs = await log.append(Array.from({ length: 20 }, (_, n) => ({ n, key: 1 })), { seqs: true })
  seqs.forEach((seq, n) => records.set(seq, { n, key: 1 }))
  const found = []
  for await (const { value } of log.stream({ where: { path: 'key', equals: 1 } })) {
    found.push(value.n)
    if (value.n === 3) await log.del([seqs[4], seqs[9]])
  }
  t.deepEqual(found, [0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19])
  await log.close()
})

tape('index: a read of candidates ends beside a program that deletes all the time', async (t) => {
  const [wanted, victims] = [[], []]
  const { storage } = new SimulatedDisk()
  const state = { isSlow: false, hasEnded: false }
  const open = (file, options, cb) => storage.open(file, options, (err, handle) => {
    if (err) return cb(err)
    // Reads that take so long do not block, so deletions run meanwhile.
    const readSync = (...args) => {
      for (const began = performance.now(); state.isSlow && performance.now() - began < 1.1;);
      return handle.readSync(...args)
    }
    cb(null, { ...handle, readSync })
  })
  const index = { ...fakeIndex(() => 1, new Map()), parts: () => [{ seqs: [...wanted] }][Symbol.iterator]() }
  const log = OffsetLog('/log', {
    codec: jsonCodec, cache: 0, fsync: 'never', storage: { ...storage, open }, index: { open: () => index }
  })
  for (let n = 0; n < 100; n++) {
    const others = Array.from({ length: 9 }, () => ({ key: 2, text: 'x'.repeat(1800) }))
    const [seq, ...rest] = await log.append([{ key: 1 }, ...others], { seqs: true })
    wanted.push(seq)
    victims.push(...rest)
  }
  state.isSlow = true
  const reading = collect(log.stream({ where: { path: 'key', equals: 1 } }))
  reading.finally(() => { state.hasEnded = true })
  while (!state.hasEnded && victims.length > 0) await log.del(victims.pop())
  t.ok(state.hasEnded, `it ends before all others are deleted: ${victims.length} are left`)
  t.deepEqual((await reading).map(({ seq }) => seq), wanted)
  await log.close()
})

tape('index: it is told what happens, and explain, ready, status and drop reach it', async (t) => {
  const records = new Map()
  const index = fakeIndex(() => 1, records)
  const file = newPath()
  const log = OffsetLog(file, { codec: jsonCodec, index })
  const seqs = await log.append([{ key: 1 }, { key: 2 }], { seqs: true })
  await log.del(seqs[0])
  await log.compact()
  await log.index.ready()
  t.deepEqual(await log.index.status(), { isFake: true })
  const explained = await log.explain({ where: { path: 'key', equals: 1 }, gt: 5 })
  t.deepEqual([explained.uses, explained.range.from], [['a'], 6])
  t.deepEqual((await log.explain({})).why, 'there is no filter')
  const { host } = index
  t.deepEqual([host.folder, host.isReadOnly, host.codec.name, host.end > seqs[1]], [`${file}.index`, false, 'json', true])
  t.deepEqual(host.codec.decode(Buffer.from('{"a":1}')), { a: 1 })
  const raw = []
  await host.scanRaw({ from: 0, to: host.end }, ({ count, seqs }) => { raw.push(...seqs.subarray(0, count)) })
  t.deepEqual(raw, [seqs[1]])
  await log.index.drop()
  t.equal(await log.count({ where: { path: 'key', equals: 2 } }), 1, 'reads scan afterwards')
  await log.close()
  const told = index.calls.map(([name]) => name).filter((name) => name !== 'appended')
  t.deepEqual(told, ['deleted', 'deleted', 'compacting', 'compacted', 'ready', 'drop'])
  t.ok(index.calls.some(([name]) => name === 'appended'))
})

tape('explain: once the index was dropped it said that the log was opened without one', async (t) => {
  const log = OffsetLog(newPath(), { codec: jsonCodec, index: fakeIndex(() => 1, new Map()) })
  await log.append({ a: 1 })
  await log.index.drop()
  t.match((await log.explain({ where: { path: 'a', equals: 1 } })).why, /dropped/)
  t.equal((await log.explain({})).why, 'there is no filter')
  await log.close()
})

tape('index: of a reader is told when the reader goes on in another file, before anything is read there', async (t) => {
  const file = newPath()
  const writer = OffsetLog(file, { codec: jsonCodec })
  const seqs = await writer.append([{ key: 1 }, { key: 2 }, { key: 3 }], { seqs: true })
  const index = fakeIndex(() => 1, new Map())
  const reader = OffsetLog(file, { codec: jsonCodec, flags: 'r', index })
  await reader.ready()
  const stores = [reader._file.store]
  index.replaced = async () => { stores.push(reader._file.store) }
  await writer.append({ key: 4 })
  await reader.refresh()
  t.equal(stores.length, 1, 'not when the file has grown')
  await writer.del(seqs[0])
  await writer.compact()
  await reader.refresh()
  t.equal(stores.length, 2)
  t.ok(stores[1] === reader._file.store && stores[1] !== stores[0], 'once the reader has it')
  await reader.close()
  await writer.close()
})

tape('index: of a reader is not used while it cannot be followed, and is told when it can be again', async (t) => {
  const file = newPath()
  const writer = OffsetLog(file, { codec: jsonCodec })
  const seqs = await writer.append(Array.from({ length: 100 }, (_, n) => ({ n, key: 1, pad: 'x'.repeat(2000) })), { seqs: true })
  await writer.close()
  const whole = fs.readFileSync(file)
  const index = fakeIndex(() => 1, new Map(seqs.map((seq, n) => [seq, { n, key: 1 }])))
  const reader = OffsetLog(file, { codec: jsonCodec, flags: 'r', index })
  const where = { path: 'key', equals: 1 }
  t.equal(await reader.count({ where }), 100)
  t.equal((await reader.explain({ where })).why, '')
  fs.truncateSync(file, whole.length - 10_000)
  t.equal((await failureOf(() => reader.refresh()))?.code, 'ERR_LOG_CORRUPT')
  const { uses, why } = await reader.explain({ where })
  t.deepEqual(uses, [])
  t.match(why, /bytes, but .* were read before/)
  t.equal(index.calls.some(([name]) => name === 'replaced'), false)
  fs.writeFileSync(file, whole)
  await reader.refresh()
  t.equal(index.calls.filter(([name]) => name === 'replaced').length, 1)
  t.deepEqual((await reader.explain({ where })).uses, ['a'])
  await reader.close()
})

/** Of the calls of a file, some fail. */
const failingStorage = (isFailing) => {
  const make = (handle, name) => (...args) => {
    if (!isFailing(name)) return handle[name](...args)
    const err = new Error('planted')
    if (typeof args.at(-1) !== 'function') throw err
    setImmediate(args.at(-1), err)
  }
  const wrap = (handle) => new Proxy(handle, {
    get: (_, name) => typeof handle[name] === 'function' ? make(handle, name) : handle[name]
  })
  const open = (path, options, cb) => fileStorage.open(path, options, (err, handle) => cb(err, handle && wrap(handle)))
  return { ...fileStorage, open }
}

tape('index: of a reader does not begin anew after a look that failed for a moment', async (t) => {
  for (const framing of ['checked', 'lines', 'offset32']) {
    const file = newPath()
    const writer = OffsetLog(file, { framing, codec: jsonCodec })
    await writer.append(Array.from({ length: 20 }, (_, n) => ({ n })))
    let failing = ''
    const storage = failingStorage((name) => name === failing || name === `${failing}Sync`)
    const index = fakeIndex(() => 1, new Map())
    const reader = OffsetLog(file, { framing, codec: jsonCodec, flags: 'r', index, storage })
    await reader.ready()
    for (const name of ['size', 'stat', 'read']) {
      failing = name
      await writer.append({ name })
      const err = await failureOf(() => reader.refresh())
      t.ok(name === 'size' || err?.message === 'planted', `${framing} ${name}: ${err?.message}`)
      failing = ''
      await reader.refresh()
      t.equal(await reader.count(), await writer.count())
    }
    t.deepEqual(index.calls.filter(([name]) => name === 'replaced'), [], framing)
    await reader.close()
    await writer.close()
  }
})

tape('index: of a reader learns that lines were changed in place, also if the look that saw it failed', async (t) => {
  const file = newPath()
  const writer = OffsetLog(file, { framing: 'lines', codec: jsonCodec })
  await writer.append(Array.from({ length: 100 }, (_, n) => ({ n: 100 + n })))
  await writer.close()
  let isFailing = false
  const storage = failingStorage((name) => isFailing && name.startsWith('read'))
  const index = fakeIndex(() => 1, new Map())
  const reader = OffsetLog(file, { framing: 'lines', codec: jsonCodec, flags: 'r', index, storage })
  await reader.ready()
  await reader.refresh()
  isFailing = true
  const fd = fs.openSync(file, 'r+')
  fs.writeSync(fd, '9', fs.readFileSync(file, 'latin1').indexOf('101'))
  fs.futimesSync(fd, new Date(), new Date(Date.now() + 5000))
  fs.closeSync(fd)
  t.equal((await failureOf(() => reader.refresh()))?.message, 'planted')
  isFailing = false
  await reader.refresh()
  t.equal(index.calls.filter(([name]) => name === 'replaced').length, 1)
  await reader.close()
})

tape('index: of a reader is told, and so is whoever else listens', async (t) => {
  const file = newPath()
  const writer = OffsetLog(file, { codec: jsonCodec })
  await writer.append([{ n: 1 }, { n: 2 }])
  const index = fakeIndex(() => 1, new Map())
  const reader = OffsetLog(file, { codec: jsonCodec, flags: 'r', index })
  await reader.ready()
  const told = []
  const stop = sourceOf(reader).whenRecordsMayDiffer(() => told.push('first'))
  sourceOf(reader).whenRecordsMayDiffer(() => told.push('second'))
  await writer.compact()
  await reader.refresh()
  t.deepEqual(told, ['first', 'second'])
  t.equal(index.calls.filter(([name]) => name === 'replaced').length, 1)
  stop()
  await reader.index.drop()
  await writer.compact()
  await reader.refresh()
  t.deepEqual(told, ['first', 'second', 'second'])
  t.equal(index.calls.filter(([name]) => name === 'replaced').length, 1, 'not once it is dropped')
  await reader.close()
  await writer.close()
})

tape('index: how many records were deleted is known, but not while some are being deleted', async (t) => {
  const index = fakeIndex(() => 1, new Map())
  const file = newPath()
  const log = OffsetLog(file, { codec: jsonCodec, index })
  const seqs = await log.append([{ n: 1 }, { n: 2 }, { n: 3 }], { seqs: true })
  const { host } = index
  const told = async ({ tellsDeletions, erasedCountAt }) => [tellsDeletions, await erasedCountAt(0)]
  t.deepEqual(await told(host), [true, 0])
  const reader = fakeIndex(() => 1, new Map())
  const following = OffsetLog(file, { codec: jsonCodec, flags: 'r', index: reader })
  await following.ready()
  t.deepEqual(await told(reader.host), [true, 0])
  const calls = []
  index.deleted = () => { calls.push([host.tellsDeletions, host.erasedCountAt(0)]) }
  const deleting = log.del(seqs[1])
  t.deepEqual(await told(host), [false, null])
  await deleting
  t.deepEqual(calls.map(([tellsDeletions]) => tellsDeletions), [false, true], 'the index is told before, and in the turn in which it has ended')
  t.deepEqual(await Promise.all(calls.map(([, count]) => count)), [null, 1])
  await log.del(seqs[2])
  await following.refresh()
  t.deepEqual(await told(reader.host), [false, null], 'a reader does not know which')
  await log.compact()
  t.deepEqual(await told(host), [true, 0])
  await following.refresh()
  t.deepEqual(await told(reader.host), [true, 0])
  await following.close()
  await log.close()
  for (const [framing, count] of [['lines', 0], ['offset53', null]]) {
    const index = fakeIndex(() => 1, new Map())
    const log = OffsetLog(newPath(), { framing, codec: jsonCodec, index })
    await log.append({ n: 1 })
    t.deepEqual(await told(index.host), [count !== null, count], framing)
    await log.close()
  }
})

tape('index: a read that begins at a record that a power cut took fails, as it does without an index', async (t) => {
  const file = '/folder/log'
  const where = { path: 'key', equals: 1 }
  const disk = new SimulatedDisk({ defer: setImmediate })
  const first = OffsetLog(file, { codec: jsonCodec, storage: disk.storage, fsync: 'never' })
  const kept = await first.append({ key: 1 })
  await first.sync()
  const lost = await first.append([{ key: 1 }, { key: 1 }], { seqs: true })
  const { storage } = disk.crash(() => 0)
  const seqs = [kept]
  const index = fakeIndex(() => 1, new Map())
  index.parts = (where, { from, to }) => [{ seqs: seqs.filter((seq) => seq >= from && seq < to) }][Symbol.iterator]()
  const log = OffsetLog(file, { codec: jsonCodec, storage, index })
  seqs.push(await log.append({ key: 1 }))
  t.equal((await failureOf(() => collect(log.stream({ where, gt: lost[0] }))))?.code, 'ERR_LOG_SEQ_LOST')
  t.equal((await failureOf(() => collect(log.stream({ where, lt: lost[1], reverse: true }))))?.code, 'ERR_LOG_SEQ_LOST')
  t.deepEqual(await collect(log.stream({ where, gt: kept, values: false })), seqs.slice(1))
  await log.close()
})

tape('index: a record and all before it are proven, unless another one is there', async (t) => {
  const id = '00112233445566778899aabbccddeeff'
  const make = (file, options = {}) => {
    const index = fakeIndex(() => 1, new Map())
    return { index, log: OffsetLog(file, { codec: jsonCodec, id, index, ...options }) }
  }
  const file = newPath()
  const first = make(file)
  const large = { pad: 'x'.repeat(50_000) }
  const seqs = await first.log.append([{ n: 1 }, { n: 2 }, { ...large, n: 3 }], { seqs: true })
  const { host } = first.index
  const proofs = await Promise.all(seqs.map((seq) => host.proof(seq)))
  t.equal(host.identity().id.toString('hex'), id)
  t.deepEqual([await host.lastOf(seqs[2]), await host.lastOf(seqs[2] + 1)], [true, false])
  t.equal(await host.proof(seqs[2] + 1), null)
  await first.log.close()
  const again = make(file)
  for (const n of [0, 2]) {
    await again.log.del(seqs[n])
    t.equal(await again.index.host.proof(seqs[2]), proofs[2], 'a deletion changes nothing')
  }
  await again.log.compact()
  t.equal(await again.index.host.proof(seqs[2]), null, 'nothing is there')
  t.notEqual(await again.index.host.proof(seqs[1]), proofs[1], 'a compaction writes the chunks anew')
  await again.log.close()
  for (const values of [[{ n: 0 }, { n: 2 }, { ...large, n: 3 }], [{ n: 1 }, { n: 2 }, { ...large, n: 4 }]]) {
    const other = make(newPath())
    t.deepEqual(await other.log.append(values, { seqs: true }), seqs)
    t.notEqual(await other.index.host.proof(seqs[2]), proofs[2])
    await other.log.close()
  }
  const { log, index } = make(newPath(), { framing: 'offset48', id: undefined })
  await log.append({ n: 1 })
  t.equal(index.host.identity().id, null)
  t.equal(await index.host.proof(0), null)
  await log.close()
})

for (const framing of ['checked', 'lines']) {
  tape(`index: of a damaged log it gets all that can be read, but a little around the damage, in ${framing}`, async (t) => {
    const file = newPath()
    const open = (index) => OffsetLog(file, { framing, codec: jsonCodec, index, flags: 'r', onCorrupt: 'skip' })
    const writer = OffsetLog(file, { framing, codec: jsonCodec })
    const values = Array.from({ length: 20_000 }, (_, n) => ({ n, pad: 'x'.repeat(250) }))
    const seqs = await writer.append(values, { seqs: true })
    await writer.close()
    const bytes = fs.readFileSync(file)
    for (const n of [3000, 9000, 9001]) bytes.fill(1, seqs[n] + 100, seqs[n] + 120)
    fs.writeFileSync(file, bytes)
    const index = fakeIndex(() => 1, new Map())
    const log = open(index)
    const readable = await collect(log.stream({ values: false }))
    t.ok(readable.length < seqs.length && readable.length > 19_000, `${readable.length} can be read`)
    for (const reverse of [false, true]) {
      const found = []
      const damages = []
      let last = reverse ? Infinity : -1
      const isInOrder = (from, to) => reverse ? to <= last : from >= last
      let wrong = 0
      await index.host.scanRaw({ from: 0, to: index.host.end, reverse }, ({ count, seqs }) => {
        for (const seq of seqs.subarray(0, count)) {
          if (!isInOrder(seq, seq)) wrong++
          last = seq
          found.push(seq)
        }
      }, ({ from, to }) => {
        if (!isInOrder(from, to)) wrong++
        last = reverse ? from : to
        damages.push({ from, to })
      })
      t.equal(wrong, 0, 'in order')
      t.equal(damages.length, 2)
      const given = new Set(found)
      const isDamaged = (seq) => damages.some(({ from, to }) => seq >= from && seq < to)
      t.deepEqual(readable.filter((seq) => !given.has(seq) && !isDamaged(seq)), [], 'nothing is left out')
      t.ok(found.length > 15_000, `${found.length} records are given`)
    }
    const err = await failureOf(() => index.host.scanRaw({ from: 0, to: index.host.end }, () => {}))
    t.equal(err?.code, 'ERR_LOG_CORRUPT', 'who does not want to know of damage meets it')
    await log.close()
  })
}

tape('index: a line and all before it are proven, by checksums of pages or by the bytes', async (t) => {
  const file = newPath()
  const make = (options = {}) => {
    const index = fakeIndex(() => 1, new Map())
    return { index, log: OffsetLog(file, { framing: 'lines', codec: jsonCodec, index, ...options }) }
  }
  const first = make()
  const values = Array.from({ length: 500 }, (_, n) => ({ n, pad: 'x'.repeat(300) }))
  const seqs = await first.log.append(values, { seqs: true })
  const wanted = [0, 3, 100, 499].map((n) => seqs[n])
  const prove = async ({ index: { host } }) => await Promise.all(wanted.map((seq) => host.proof(seq)))
  const proofs = await prove(first)
  const { id } = first.index.host.identity()
  t.equal(id.length, 16)
  t.equal(new Set(proofs).size, 4)
  t.equal(await first.index.host.proof(seqs[3] + 1), null)
  await first.log.append({ n: 501 })
  await first.log.close()
  for (const options of [{}, { flags: 'r' }, { verify: false }]) {
    const again = make(options)
    await again.log.ready()
    t.ok(id.equals(again.index.host.identity().id))
    t.deepEqual(await prove(again), proofs, JSON.stringify(options))
    await again.log.close()
  }
  const handle = fs.openSync(file, 'r+')
  fs.writeSync(handle, 'y', fs.fstatSync(handle).size - 8)
  fs.writeSync(handle, 'y', seqs[200] - 8)
  fs.closeSync(handle)
  for (const flags of ['r', 'r+']) {
    const changed = make({ flags })
    await changed.log.ready()
    t.ok(changed.log.recovery.changed, 'another program has written')
    const now = await prove(changed)
    t.deepEqual([now.slice(0, 3), now[3] !== proofs[3]], [proofs.slice(0, 3), true], 'what is before that is as it was')
    await changed.log.close()
  }
  fs.rmSync(`${file}.sums`)
  const without = make()
  await without.log.ready()
  t.notOk(id.equals(without.index.host.identity().id), 'without sums it is another log')
  await without.log.close()
})

tape('index: without one, explain says so; what is no index is refused', async (t) => {
  for (const index of [null, true, [], {}, { open: 1 }]) {
    t.throws(() => OffsetLog(newPath(), { index }), { code: 'ERR_INVALID_ARGUMENT' })
  }
  const log = OffsetLog(newPath(), { codec: jsonCodec })
  t.equal(log.index, null)
  const where = { path: 'a', equals: 1 }
  t.deepEqual(await log.explain({ where }), { uses: [], candidates: null, runs: 0, scanned: null, why: '' })
  await log.append({ a: 1 })
  t.deepEqual(await log.explain({ where, lt: 1e9 }),
    { uses: [], candidates: null, runs: 0, scanned: { from: 0, records: null }, why: 'the log was opened without an index' })
  t.equal((await failureOf(() => log.explain({ were: where })))?.code, 'ERR_INVALID_ARGUMENT')
  await log.close()
})
