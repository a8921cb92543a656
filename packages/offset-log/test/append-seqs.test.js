'use strict'
// append with `seqs`: the seqs that it gives are those under which the records are found afterwards, whatever was
// appended beside them; and nothing else changes. The oracle reads the log.

const path = require('node:path')
const tape = require('tape')
const { canonicalCodec } = require('@millrace/binary-codec')
const { withDictionary } = require('@millrace/dictionary')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, createRandom, failureOf, slowStorage, temporaryFolder } = require('@millrace/testkit')
const { AdaptiveIo } = require('../../block-file/lib/whole-io')
const { OffsetLog } = require('..')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const FRAMINGS = ['checked', 'offset32', 'offset48', 'offset53']
const PAGE_SIZE = 16 * 1024
const BLOCK_SIZE = 64 * 1024
const WRITE_SIZE = 512 * 1024
const ROUND_COUNT = 60
const CODECS = { json: jsonCodec, dictionary: withDictionary(jsonCodec), canonical: canonicalCodec }

const newPath = () => path.join(temporaryFolder(), 'log')
const turns = async (count) => { for (; count > 0; count--) await new Promise(setImmediate) }

async function readAll (log, options) {
  const found = []
  for await (const item of log.stream(options)) found.push(item)
  return found
}

/** Sizes of records: most are small, some end near the end of a page, a block or a write. @returns {number} */
function pickSize (random) {
  const kind = random(60)
  if (kind === 0) return BLOCK_SIZE - 40 + random(80)
  if (kind < 4) return PAGE_SIZE - 100 + random(150)
  if (kind < 10) return random(3000)
  return random(60)
}

/** A list of steps: appends of one value or of batches, and what writes without waiting. */
function makeScript (random) {
  let n = 0
  const values = (count) => Array.from({ length: count }, () => {
    return { n: n++, kind: `kind ${random(9)}`, pad: 'x'.repeat(pickSize(random)) }
  })
  const script = []
  for (let count = 10 + random(40); count > 0; count--) {
    const many = random(40) === 0 ? 300 : random(8)
    const batch = values(many)
    const step = ['append', 'append', 'append', 'append', 'append', 'appendSync', 'flushSync', 'turns', 'await'][random(9)]
    const isBatch = many !== 1 || random(2) === 0
    script.push({ step, values: isBatch ? batch : batch[0], seqs: random(3) > 0, count: random(6) })
  }
  return script
}

/** What a call gave, as seqs, with the values that it got. */
function check (given, { values, seqs }, result) {
  const list = [values].flat()
  if (!seqs) {
    if (typeof result !== 'number') throw new Error(`${result} is no seq`)
    if (list.length > 0) given.push({ seqs: [result], values: [list[list.length - 1]] })
    return
  }
  if (!Array.isArray(result) || result.length !== list.length) throw new Error(`${result} of ${list.length} records`)
  given.push({ seqs: result, values: list })
}

/** @returns {Promise<any>}  what the calls gave, and what is in the log and in the log that is opened again */
async function perform (script, options) {
  const log = OffsetLog('/log', options)
  const given = []
  const calls = []
  const append = ({ values, seqs, count }) => {
    // Half of them with a callback.
    if (count % 2 === 0) return log.append(values, { seqs })
    return new Promise((resolve, reject) => {
      log.append(values, { seqs }, (err, result) => err ? reject(err) : resolve(result))
    })
  }
  const acts = {
    append: (step) => calls.push(append(step).then((result) => check(given, step, result))),
    appendSync (step) {
      try {
        check(given, step, log.appendSync(step.values, { seqs: step.seqs, sync: step.count === 0 }))
      } catch (err) {
        if (err.code !== 'ERR_LOG_NOT_READY') throw err
        acts.append(step)
      }
    },
    flushSync ({ count }) {
      try {
        log.flushSync({ sync: count === 0 })
      } catch (err) {
        if (err.code !== 'ERR_LOG_NOT_READY') throw err
      }
    },
    turns: ({ count }) => turns(count),
    await: () => Promise.all(calls)
  }
  for (const step of script) await acts[step.step](step)
  await Promise.all(calls)
  await log.sync()
  const found = await readAll(log)
  await log.close()
  const again = OffsetLog('/log', options)
  const later = await readAll(again)
  await again.close()
  return { given, found, later }
}

tape(`append with seqs: they are those of the records that are read afterwards (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const { mayBlock } = AdaptiveIo.prototype
  let seqCount = 0
  for (let round = 0; round < ROUND_COUNT; round++) {
    const framing = round % 2 === 0 ? 'checked' : FRAMINGS[1 + random(3)]
    const name = Object.keys(CODECS)[random(3)]
    const codec = name === 'dictionary' && framing !== 'checked' ? jsonCodec : CODECS[name]
    const options = { framing, codec, fsync: ['always', 'interval', 'never'][random(3)], cache: 64 * 1024 }
    const script = makeScript(random)
    const isSlow = random(3) === 0
    const disk = new SimulatedDisk({ defer: (run) => random(2) === 0 ? process.nextTick(run) : setImmediate(run) })
    const storage = isSlow ? slowStorage(disk.storage, random) : disk.storage
    AdaptiveIo.prototype.mayBlock = () => random(2) === 0
    const { given, found, later } = await perform(script, { ...options, storage })
      .finally(() => { AdaptiveIo.prototype.mayBlock = mayBlock })
    const bySeq = new Map(found.map(({ seq, value }) => [seq, value.n]))
    const wrong = given.find(({ seqs, values }) => seqs.some((seq, index) => bySeq.get(seq) !== values[index].n))
    const what = `round ${round}: ${JSON.stringify({ framing, name, fsync: options.fsync, isSlow })}`
    const seqOf = ({ n }) => found.find(({ value }) => value.n === n)?.seq
    if (wrong) return t.fail(`${what}: ${wrong.seqs} instead of ${wrong.values.map(seqOf)}`)
    if (JSON.stringify(found) !== JSON.stringify(later)) return t.fail(`${what}: other records after it was opened again`)
    // Batches stay together, in order.
    const places = new Map(found.map(({ seq }, index) => [seq, index]))
    const isTogether = ({ seqs }) => seqs.every((seq, index) => places.get(seq) === places.get(seqs[0]) + index)
    if (!given.every(isTogether)) return t.fail(`${what}: a batch is not together`)
    seqCount += given.reduce((sum, { seqs }) => sum + seqs.length, 0)
  }
  t.ok(seqCount > 1000, `${seqCount} seqs`)
})

for (const framing of FRAMINGS) {
  tape(`append with seqs, ${framing}: where records end near the end of a page, a block or a write, no seq is off by one`, async (t) => {
    for (const end of [PAGE_SIZE, BLOCK_SIZE, WRITE_SIZE]) {
      const log = OffsetLog(newPath(), { framing })
      const given = []
      for (let more = -70; more < 30; more++) {
        // They end where the first one moves them.
        const batch = [Buffer.alloc(end + more, 1), Buffer.alloc(1, 2), Buffer.alloc(40, 3), Buffer.alloc(7, 4)]
        given.push(...await log.append(more % 2 === 0 ? batch : batch.reverse(), { seqs: true }))
        const now = [Buffer.alloc(70 - more & 31, 5), Buffer.from('end')].filter(({ length }) => length > 0)
        given.push(...log.appendSync(now, { seqs: true, sync: false }))
      }
      t.deepEqual(given, await readAll(log, { values: false }), `${end}`)
      await log.close()
    }
  })

  tape(`append with seqs, ${framing}: the file is that of appends without it`, async (t) => {
    const found = []
    for (const seqs of [true, false]) {
      const log = OffsetLog(newPath(), { framing, codec: jsonCodec })
      const random = createRandom(seed)
      for (let round = 0; round < 20; round++) {
        await Promise.all(Array.from({ length: random(30) }, () => {
          return log.append(Array.from({ length: random(5) }, () => 'x'.repeat(pickSize(random))), { seqs })
        }))
      }
      found.push((await readAll(log)).map(({ seq, value }) => [seq, value.length]))
      await log.close()
    }
    t.ok(found[0].length > 100)
    t.deepEqual(found[0], found[1])
  })
}

tape('append with seqs: many callers share a sync, and each gets its own seqs', async (t) => {
  let syncCount = 0
  const disk = new SimulatedDisk({ defer: setImmediate, decide: ({ name }) => { if (name === 'sync') syncCount++ } })
  const log = OffsetLog('/log', { storage: disk.storage, fsync: 'always' })
  await log.ready()
  const before = syncCount
  const makeBatch = (n) => Array.from({ length: n % 4 }, (_, index) => Buffer.from(`${n}.${index}`))
  const values = Array.from({ length: 300 }, (_, n) => makeBatch(n))
  const given = await Promise.all(values.map((batch, n) => log.append(batch, { seqs: n % 3 > 0 })))
  t.ok(syncCount - before < 10, `${syncCount - before} syncs of ${values.length} appends`)
  for (const [n, batch] of values.entries()) {
    const seqs = n % 3 === 0 ? (batch.length > 0 ? [given[n]] : []) : given[n]
    const expected = n % 3 === 0 ? batch.slice(-1) : batch
    const found = await log.getMany(seqs)
    if (found.join() !== expected.join()) t.fail(`${n}: ${found} instead of ${expected}`)
  }
  await log.close()
})

tape('append with seqs: a write that fails gives none, and the next ones give theirs', async (t) => {
  let code
  const disk = new SimulatedDisk({
    decide: ({ name, length }) => name === 'write' && length > 1000 ? { code } : undefined
  })
  for (const framing of ['checked', 'offset32']) {
    const log = OffsetLog(`/${framing}`, { storage: disk.storage, framing })
    const given = await log.append([Buffer.from('a'), Buffer.from('b')], { seqs: true })
    code = 'ENOSPC'
    const results = []
    const failing = [Buffer.alloc(2000, 1), Buffer.from('lost')]
    await new Promise((resolve) => log.append(failing, { seqs: true }, (...args) => resolve(results.push(args))))
    t.deepEqual(results.map(([err, ...more]) => [err.code, more]), [['ENOSPC', []]], 'called back once, with the error only')
    t.equal((await failureOf(() => log.append(failing, { seqs: true })))?.code, 'ENOSPC')
    t.equal((await failureOf(async () => log.appendSync(failing, { seqs: true })))?.code, 'ENOSPC')
    const late = log.append(failing, { seqs: true }).catch((err) => err.code)
    t.equal((await failureOf(async () => log.flushSync()))?.code, 'ENOSPC')
    t.equal(await late, 'ENOSPC')
    code = undefined
    given.push(...await log.append([Buffer.from('c'), Buffer.from('d')], { seqs: true }))
    given.push(...log.appendSync([Buffer.from('e')], { seqs: true }))
    const expected = ['a', 'b', 'c', 'd', 'e'].map((text, index) => ({ seq: given[index], value: Buffer.from(text) }))
    t.deepEqual(await readAll(log), expected)
    t.equal(log.pendingSize, 0)
    await log.close()
  }
})

tape('append with seqs: batches that the file has no room for fail as a whole, and the others get their seqs', async (t) => {
  for (const flushes of [false, true]) {
    const log = OffsetLog(newPath(), { framing: 'offset32' })
    await log.append(Buffer.from('first'))
    const { framing } = log._file.store
    const { fileSizeMax } = framing
    framing.fileSizeMax = 100
    const batches = [['a', 'b'], ['x'.repeat(60), 'y'], ['c'], ['d', 'z'.repeat(60)], ['e', 'f']]
    const append = (batch) => log.append(batch.map((text) => Buffer.from(text)), { seqs: true })
    const settled = Promise.allSettled(batches.map(append))
    if (flushes) log.flushSync()
    const results = await settled
    framing.fileSizeMax = fileSizeMax
    t.deepEqual(results.map(({ reason, value }) => reason?.code ?? value.length), [2, 'ERR_LOG_FULL', 1, 'ERR_LOG_FULL', 2])
    const given = results.flatMap(({ value = [] }) => value)
    t.deepEqual((await log.getMany(given)).join(''), 'abcef')
    t.deepEqual((await readAll(log, { seqs: false })).map(String), ['first', 'a', 'b', 'c', 'e', 'f'])
    await log.close()
  }
})

tape('append with seqs: values that wait for the log to open, and those of a log that fails to open', async (t) => {
  const file = newPath()
  const log = OffsetLog(file, { codec: jsonCodec })
  const seqs = await log.append(['a', 'b', 'c'], { seqs: true })
  t.deepEqual(await log.getMany(seqs), ['a', 'b', 'c'])
  const second = OffsetLog(file, { codec: jsonCodec })
  t.equal((await failureOf(() => second.append(['d'], { seqs: true })))?.code, 'ERR_LOG_LOCKED')
  t.equal((await failureOf(() => second.append([], { seqs: true })))?.code, 'ERR_LOG_LOCKED')
  await log.close()
})

tape('appendSync: a batch without records does not hide that an earlier record may still have to be synced', async (t) => {
  const log = OffsetLog(newPath(), { fsync: 'always' })
  await log.append(Buffer.from('a'))
  const [seq] = log.appendSync([Buffer.from('b')], { sync: false, seqs: true })
  log.appendSync([], { sync: false })
  await log.del(seq)
  t.equal(await log.count(), 1)
  await log.close()
})
