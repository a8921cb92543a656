'use strict'
// Compaction beside `appendSync` and `flushSync`, which write while it waits for the disk. It ends, copies each record
// once, and takes no record; and whenever the power goes, no record that was durable is missing.

const tape = require('tape')
const { withDictionary } = require('@millrace/dictionary')
const { createIndex } = require('@millrace/index')
const { jsonCodec } = require('@millrace/json-codec')
const { verify } = require('@millrace/repair')
const { SimulatedDisk, collect, createRandom, failureOf, inQuickRuns } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const FILE = '/folder/log'
const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31

/** A disk on which each call but the first ones takes several turns. */
function slowDisk () {
  const disk = new SimulatedDisk()
  const slow = { turnCount: 1 }
  disk.defer = (run) => {
    const wait = (left) => setImmediate(() => left > 0 ? wait(left - 1) : run())
    wait(slow.turnCount)
  }
  return { disk, slow }
}

const makeValue = (random, i) => ({ i, source: `source ${random(20)}`, text: 'x'.repeat(random(8) === 0 ? random(30_000) : random(300)) })

/** Fills a log, deletes some of it, and gives what is left. */
async function fill (log, random, count) {
  const values = Array.from({ length: count }, (_, i) => makeValue(random, i))
  const seqs = await log.append(values, { seqs: true })
  const left = new Map(seqs.map((seq, i) => [seq, values[i]]))
  const deleted = seqs.filter(() => random(3) === 0)
  await log.del(deleted)
  for (const seq of deleted) left.delete(seq)
  return left
}

/** Writes synchronously in each turn, in one way or another, until it is stopped. */
function writeEachTurn (log, random, left) {
  const writing = { isOver: false, writtenCount: 0, refusedCount: 0, failure: null, waiting: [] }
  let i = 1e6
  const act = () => {
    const value = makeValue(random, i++)
    const kind = random(4)
    if (kind === 0) {
      writing.waiting.push(log.append(value).then((seq) => left.set(seq, value)))
      log.flushSync({ sync: random(2) === 0 })
    } else if (kind === 1) {
      const seqs = log.appendSync([value, value], { sync: random(2) === 0, seqs: true })
      for (const seq of seqs) left.set(seq, value)
    } else {
      left.set(log.appendSync(value, { sync: kind === 2 }), value)
    }
    writing.writtenCount++
  }
  const run = () => {
    if (writing.isOver) return
    try {
      act()
    } catch (err) {
      if (err.code !== 'ERR_LOG_NOT_READY') writing.failure ??= err
      writing.refusedCount++
    }
    setImmediate(run)
  }
  run()
  return writing
}

/** Whether all reads give what is left. */
async function compare (t, log, left, name) {
  const spell = ({ seq, value }) => `${seq} ${JSON.stringify(value)}`
  const expected = [...left].sort(([a], [b]) => a - b).map(([seq, value]) => spell({ seq, value }))
  const check = (found, wanted, how) => {
    const at = wanted.findIndex((one, at) => one !== found[at])
    const isSame = at === -1 && found.length === wanted.length
    t.ok(isSame, `${name}, ${how}: ${isSame ? 'the same' : `${found.length} of ${wanted.length}; ${at}: ${found[at]?.slice(0, 99)}`}`)
  }
  check((await collect(log.stream())).map(spell), expected, 'forward')
  check((await collect(log.stream({ reverse: true }))).map(spell).reverse(), expected, 'backward')
  const where = { path: 'source', equals: 'source 7' }
  check((await collect(log.stream({ where }))).map(spell), expected.filter((one) => one.includes('"source 7"')), 'a filter')
}

for (const fsync of ['always', 'interval', 'never']) {
  for (const hasDictionary of [false, true]) {
    for (const hasIndex of [false, true]) {
      const kind = `${fsync}${hasDictionary ? ', dictionary' : ''}${hasIndex ? ', index' : ''}`
      tape(`compact, ${kind}: a program that writes synchronously in each turn does not keep it from its end`, async (t) => {
        t.comment(`seed ${seed}`)
        for (let round = 0; round < inQuickRuns(4, 1); round++) {
          const random = createRandom(seed + round)
          const { disk, slow } = slowDisk()
          const codec = hasDictionary ? withDictionary(jsonCodec) : jsonCodec
          const index = hasIndex ? { index: createIndex(['source']) } : {}
          const options = { storage: disk.storage, fsync, codec }
          const log = OffsetLog(FILE, { ...options, ...index })
          await log.ready()
          const left = await fill(log, random, 400)
          slow.turnCount = 1 + random(6)
          let copiedSize = 0
          const { size: sizeBefore } = await log.stats()
          disk.decide = ({ name, path, length }) => {
            if (name !== 'write' || !path.endsWith('.compacting')) return
            copiedSize += length
            // It would never end.
            if (copiedSize > 40 * sizeBefore) return { code: 'EIO' }
          }
          const writing = writeEachTurn(log, random, left)
          const failure = await failureOf(() => log.compact())
          writing.isOver = true
          disk.decide = () => {}
          slow.turnCount = 0
          t.equal(failure, null, 'it ends')
          await Promise.all(writing.waiting)
          await log.sync()
          t.equal(writing.failure, null)
          t.ok(writing.writtenCount > 3, `${writing.writtenCount} were written meanwhile, ${writing.refusedCount} refused`)
          const { size } = await log.stats()
          t.ok(copiedSize <= size + 64 * 1024, `${copiedSize} bytes were copied, and the log has ${size}`)
          await compare(t, log, left, 'afterwards')
          await log.close()
          const report = await verify(FILE, { storage: disk.storage })
          t.ok(report.isSound, 'verify')
          const again = OffsetLog(FILE, options)
          await compare(t, again, left, 'opened again')
          t.equal(again.recovery, null)
          await again.close()
        }
      })
    }
  }
}

tape('compact beside synchronous writes: whenever the power goes, or the process is killed, nothing durable is missing', async (t) => {
  t.comment(`seed ${seed}`)
  for (let round = 0; round < inQuickRuns(12, 4); round++) {
    const random = createRandom(seed + round)
    const { disk, slow } = slowDisk()
    const options = { storage: disk.storage, fsync: ['always', 'never'][random(2)], codec: jsonCodec }
    const log = OffsetLog(FILE, options)
    await log.ready()
    const left = await fill(log, random, 60)
    await log.sync()
    slow.turnCount = 1 + random(4)
    const images = []
    disk.onChange = () => {
      const isKilled = random(4) === 0
      const after = isKilled ? disk.clone({ defer: setImmediate }) : disk.crash(random)
      after.defer = setImmediate
      images.push({ after, durable: log.durable.value, what: isKilled ? 'killed' : 'no power' })
    }
    const writing = writeEachTurn(log, random, left)
    await log.compact()
    writing.isOver = true
    disk.onChange = null
    await Promise.all(writing.waiting)
    await log.close()
    t.equal(writing.failure, null)
    const faults = []
    for (const { after, durable, what } of images.filter((_, at) => images.length < 60 || at % 3 === round % 3)) {
      const opened = OffsetLog(FILE, { ...options, storage: after.storage })
      const found = await collect(opened.stream())
      const last = found.at(-1)?.seq ?? -1
      const expected = [...left.keys()].filter((seq) => seq <= last).sort((a, b) => a - b)
      if (last < Math.max(...[...left.keys()].filter((seq) => seq <= durable))) faults.push(`${what}: ${last} is the last, ${durable} was durable`)
      if (String(found.map(({ seq }) => seq)) !== String(expected)) faults.push(`${what}: ${found.length} of ${expected.length}`)
      if (found.some(({ seq, value }) => value.i !== left.get(seq)?.i)) faults.push(`${what}: another value`)
      await opened.close()
    }
    t.deepEqual(faults.slice(0, 5), [], `round ${round}: ${images.length} images`)
  }
})

tape('compact: what an exit listener writes is in the log, whatever the compaction is about', async (t) => {
  const failures = new Set()
  let writtenCount = 0
  for (let turn = 0; turn < 60; turn++) {
    const { disk } = slowDisk()
    const options = { storage: disk.storage, codec: jsonCodec }
    const log = OffsetLog(FILE, options)
    await log.ready()
    const left = await fill(log, createRandom(turn), 20)
    const compacting = failureOf(() => log.compact())
    for (let count = 0; count < turn; count++) await new Promise(setImmediate)
    // What is prepended runs first.
    const { replacement } = log._file
    const wasSealed = !replacement.takesWrites
    if (wasSealed) process.listeners('exit')[0]()
    try {
      left.set(log.appendSync({ last: turn }), { last: turn })
      if (wasSealed) writtenCount++
    } catch (err) {
      // The new file may get the name at any time.
      failures.add(err.code)
    }
    const ended = disk.clone({ defer: setImmediate })
    failures.add((await compacting)?.code)
    for (const [what, one] of [['it ended', OffsetLog(FILE, { ...options, storage: ended.storage })], ['it went on', log]]) {
      await compare(t, one, left, `turn ${turn}, ${what}`)
      await one.compact()
      await compare(t, one, left, `turn ${turn}, ${what}, compacted`)
      await one.close()
    }
  }
  t.ok(writtenCount > 0, `${writtenCount} were written while the copy was being finished`)
  t.deepEqual([...failures].sort(), ['ERR_LOG_NOT_READY', undefined])
})
