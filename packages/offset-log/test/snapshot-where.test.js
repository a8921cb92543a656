'use strict'
// snapshot with a filter: a log of the records that match, in any framing.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { withDictionary } = require('@millrace/dictionary')
const { jsonCodec } = require('@millrace/json-codec')
const { verify } = require('@millrace/repair')
const { SimulatedDisk, createRandom, failureOf, inQuickRuns, temporaryFolder } = require('@millrace/testkit')
const { decodeLog } = require('../../framing/test/checked-oracle')
const { OffsetLog } = require('..')

const FRAMINGS = ['checked', 'offset32', 'offset48', 'offset53', 'lines']
const FILE = '/folder/log'
const COPY = '/folder/copy'
const ROUNDS = inQuickRuns(30)
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)

async function readAll (log) {
  const entries = []
  for await (const { seq, value } of log.stream()) entries.push([seq, value])
  return entries
}

/** A filter, and what it means. */
function makeFilter (random) {
  const n = random(6)
  return [
    { where: { path: ['n'], equals: n }, isWanted: (value) => value.n === n },
    { where: { path: 'n', gte: n }, isWanted: (value) => value.n >= n },
    { where: { not: { path: 'n', equals: n } }, isWanted: (value) => value.n !== n },
    { where: { path: 'text', prefix: 'xx' }, isWanted: (value) => value.text.startsWith('xx') },
    { where: { path: 'missing', exists: true }, isWanted: () => false },
    { where: [], isWanted: () => true }
  ][random(6)]
}

for (const framing of [...FRAMINGS, 'checked, with a dictionary']) {
  const hasDictionary = framing.includes('dictionary')
  const codec = hasDictionary ? withDictionary(jsonCodec) : jsonCodec
  const options = { framing: hasDictionary ? 'checked' : framing, codec, fsync: 'never' }

  tape(`snapshot, where: the copy has exactly the records that match, in order: ${framing} (seed ${seed})`, async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      const random = createRandom(seed + round)
      const fail = (what) => t.fail(`seed ${seed + round}: ${what}`)
      let disk = new SimulatedDisk()
      let log = OffsetLog(FILE, { storage: disk.storage, ...options })
      await log.ready()
      for (let left = random(40); left > 0; left--) {
        const value = () => ({ n: random(6), text: 'x'.repeat(random(10) ? random(60) : random(40000)) })
        const seqs = await log.append(random(3) ? [value()] : [value(), value(), value()], { seqs: true })
        if (log.supports.del && random(5) === 0) await log.del(seqs[0])
        // After a crash, seqs may be left out.
        if (!framing.startsWith('offset') && random(12) === 0) disk = disk.crash((count) => random(count))
        else if (random(10) === 0) await log.close()
        else continue
        log = OffsetLog(FILE, { storage: disk.storage, ...options })
        await log.ready()
      }
      if (random(2)) {
        await log.close()
        log = OffsetLog(FILE, { storage: disk.storage, ...options, flags: 'r' })
      }
      const { storage } = disk
      const all = await readAll(log)
      const { where, isWanted } = makeFilter(random)
      await log.snapshot(COPY, { where })
      const expected = all.filter(([, value]) => isWanted(value))
      const report = await verify(COPY, { storage, ...options.framing === 'lines' && { framing: 'lines' } }).catch(() => null)
      if (framing !== 'lines' && !(report.isSound && report.tail === null)) fail(JSON.stringify(report))
      if (framing === 'checked') decodeLog(disk.read(COPY))
      if (framing === 'lines' && disk.read(COPY).toString() !== expected.map(([, value]) => JSON.stringify(value) + '\n').join('')) fail('the text')
      const copy = OffsetLog(COPY, { storage, ...options })
      const found = await readAll(copy)
      const keepsSeqs = options.framing === 'checked'
      const shown = (entries) => JSON.stringify(entries.map((entry) => keepsSeqs ? entry : entry[1]))
      if (shown(found) !== shown(expected)) fail(`found ${found.length}, expected ${expected.length}`)
      if (copy.recovery !== null) fail(`recovery: ${JSON.stringify(copy.recovery)}`)
      if (copy.since.value !== (found.at(-1)?.[0] ?? -1)) fail(`since is ${copy.since.value}`)
      if (keepsSeqs && (await copy.stats()).id !== (await log.stats()).id) fail('the id')
      for (const [seq, value] of found) if (JSON.stringify(await copy.get(seq)) !== JSON.stringify(value)) fail(`get ${seq}`)
      const next = await copy.append({ n: 7, text: '' })
      if (keepsSeqs && next <= log.since.value) fail(`a seq came again: ${next}`)
      await copy.close()
      const again = OffsetLog(COPY, { storage, ...options })
      if ((await readAll(again)).length !== expected.length + 1) fail('not all is there after an append')
      await again.close()
      await log.close()
    }
    t.pass(`${ROUNDS} logs`)
  })
}

tape('snapshot, where: a filter that is none is misuse, and leaves nothing', async (t) => {
  for (const framing of FRAMINGS) {
    const folder = temporaryFolder()
    const log = OffsetLog(path.join(folder, 'log'), { framing, codec: jsonCodec })
    await log.append({ n: 1 })
    const before = fs.readdirSync(folder).sort()
    for (const where of [1, null, 'n=1', { path: 'n', is: 1 }]) {
      const err = await failureOf(() => log.snapshot(path.join(folder, 'copy'), { where }))
      t.equal(err?.code, 'ERR_INVALID_ARGUMENT', `${framing}: ${err?.message}`)
    }
    const unknown = await failureOf(() => log.snapshot(path.join(folder, 'copy'), { were: [] }))
    t.equal(unknown.code, 'ERR_INVALID_ARGUMENT')
    t.match(unknown.message, /^snapshot: there is no option were; did you mean where/)
    t.deepEqual(fs.readdirSync(folder).sort(), before)
    await log.close()
  }
})

tape('snapshot, where: what a filter of a codec throws is the error, and nothing is left', async (t) => {
  const codec = { ...jsonCodec, name: 'odd', compile: () => () => { throw new Error('odd') } }
  for (const framing of FRAMINGS) {
    const disk = new SimulatedDisk()
    const log = OffsetLog(FILE, { storage: disk.storage, framing, codec })
    await log.append({ n: 1 })
    const before = disk.list()
    const err = await failureOf(() => log.snapshot(COPY, { where: { path: 'n', equals: 1 } }))
    t.equal(err?.code, 'ERR_CODEC_DECODE', framing)
    t.deepEqual(disk.list(), before)
    await log.close()
  }
})

tape('snapshot, where: a signal ends it, and nothing is left', async (t) => {
  for (const framing of FRAMINGS) {
    const folder = temporaryFolder()
    const log = OffsetLog(path.join(folder, 'log'), { framing, codec: jsonCodec, fsync: 'never' })
    for (let i = 0; i < 20; i++) await log.append({ n: i, text: 'x'.repeat(300_000) })
    const before = fs.readdirSync(folder).sort()
    const aborting = new AbortController()
    let count = 0
    const onProgress = ({ position, size }) => {
      t.ok(position > 0 && position <= size, `${framing}: ${position} of ${size}`)
      if (++count === 2) aborting.abort()
    }
    const where = { path: 'n', gte: 0 }
    const err = await failureOf(() => log.snapshot(path.join(folder, 'copy'), { where, signal: aborting.signal, onProgress }))
    t.equal(err?.code, 'ABORT_ERR', framing)
    t.deepEqual(fs.readdirSync(folder).sort(), before)
    await log.close()
  }
})

tape('snapshot: damage is not copied, with or without a filter, also where the filter passes over it', async (t) => {
  for (const framing of FRAMINGS) {
    const disk = new SimulatedDisk()
    const { storage } = disk
    const options = { storage, framing, codec: jsonCodec }
    const log = OffsetLog(FILE, options)
    const seqs = []
    for (let n = 0; n < 400; n++) seqs.push(await log.append({ n, text: 'x'.repeat(100) }))
    await log.close()
    const bytes = disk.read(FILE)
    const at = framing === 'checked' ? seqs[100] + 20 : seqs[100]
    bytes.fill(framing === 'lines' ? 0 : 255, at, at + 4)
    disk.put(FILE, bytes)
    const damaged = OffsetLog(FILE, { ...options, flags: 'r' })
    for (const where of [undefined, { path: 'n', equals: 300 }]) {
      const err = await failureOf(() => damaged.snapshot(COPY, { where }))
      t.equal(err?.code, 'ERR_LOG_CORRUPT', `${framing}, ${where ? 'filtered' : 'whole'}: ${err?.message}`)
      t.notOk(disk.list().some((name) => name.startsWith(COPY)), 'nothing is left')
    }
    await damaged.close()
  }
})

tape('snapshot, lines: a page that does not have its checksum is not copied, with or without a filter', async (t) => {
  for (const flags of ['r', 'r+']) {
    const disk = new SimulatedDisk()
    const options = { storage: disk.storage, framing: 'lines', codec: jsonCodec }
    const log = OffsetLog(FILE, options)
    // What comes last may be changed: then the log takes it.
    for (let n = 0; n < 30; n++) await log.append(Array.from({ length: 300 }, () => ({ n, text: 'x'.repeat(100) })))
    await log.snapshot(COPY)
    t.ok(disk.read(COPY).equals(disk.read(FILE)), 'all pages are right')
    await log.close()
    await new Promise((resolve) => disk.storage.unlink(COPY, resolve))
    const bytes = disk.read(FILE)
    bytes[bytes.indexOf('xxx', 40_000)] = 'y'.charCodeAt(0)
    disk.put(FILE, bytes)
    const damaged = OffsetLog(FILE, { ...options, flags })
    for (const where of [undefined, { path: 'n', equals: 29 }]) {
      const err = await failureOf(() => damaged.snapshot(COPY, { where }))
      t.equal(err?.code, 'ERR_LOG_CORRUPT', `${flags}, ${where ? 'filtered' : 'whole'}: ${err?.message}`)
      t.notOk(disk.list().some((name) => name.startsWith(COPY)), 'nothing is left')
    }
    await damaged.close()
  }
})

tape('snapshot, lines: chosen lines are the same bytes; what is beside the path of the copy is of another file', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'events.jsonl')
  fs.writeFileSync(file, '\ufeff{"n":1}\r\n\n{"n":2, "a":  1}\n{"n":3}\nno JSON\n{"n":1}')
  const log = OffsetLog(file, { framing: 'lines', codec: jsonCodec })
  const copy = path.join(folder, 'copy.jsonl')
  await log.snapshot(copy, { where: { path: 'n', lte: 2 } })
  t.equal(fs.readFileSync(copy, 'utf8'), '\ufeff{"n":1}\r\n{"n":2, "a":  1}\n{"n":1}\n')
  t.notOk(fs.existsSync(`${copy}.sums`), 'its first writer gives it an id')
  fs.unlinkSync(copy)
  fs.writeFileSync(`${copy}.sums`, 'of a file that was removed')
  for (const where of [undefined, []]) {
    t.equal((await failureOf(() => log.snapshot(copy, { where })))?.code, 'EEXIST')
    t.notOk(fs.existsSync(copy))
  }
  await log.close()
})

tape('snapshot, where: while the log is appended to and compacted', async (t) => {
  const folder = temporaryFolder()
  const options = { codec: jsonCodec, fsync: 'never' }
  const log = OffsetLog(path.join(folder, 'log'), options)
  const random = createRandom(seed)
  const records = new Map()
  const add = async () => {
    const value = { n: random(4), text: 'x'.repeat(random(3000)) }
    records.set(await log.append(value), value)
  }
  for (let count = 0; count < 300; count++) await add()
  for (let round = 0; round < 3; round++) {
    const gone = [...records.keys()].filter(() => random(5) === 0)
    await log.del(gone)
    for (const seq of gone) records.delete(seq)
    const expected = [...records].filter(([, { n }]) => n === 1)
    const copies = [0, 1, 2].map((index) => path.join(folder, `copy-${round}-${index}`))
    const where = { path: 'n', equals: 1 }
    const snapshots = copies.map((copy) => log.snapshot(copy, { where }))
    await Promise.all([log.compact(), ...snapshots, ...Array.from({ length: 20 }, add)])
    for (const file of copies) {
      const copy = OffsetLog(file, { ...options, flags: 'r' })
      const found = await readAll(copy)
      t.deepEqual(found.slice(0, expected.length), expected, `seed ${seed}, round ${round}`)
      for (const [seq, value] of found) t.deepEqual(records.get(seq), value)
      await copy.close()
      t.equal((await verify(file)).isSound, true)
    }
  }
  await log.close()
})
