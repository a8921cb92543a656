'use strict'
// snapshot: a copy of a log that goes on meanwhile, which is what the log was at some moment of the call.

const { spawn, spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { SimulatedDisk, createRandom, failureOf, faultyStorage, inQuickRuns, temporaryFolder } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { verify } = require('@millrace/repair')
const { decodeLog } = require('../../framing/test/checked-oracle')

const FRAMINGS = ['checked', 'offset32', 'offset48', 'offset53']
const FILE = '/folder/log'
const COPY = '/folder/copy'
const STORM_ROUNDS = inQuickRuns(3)
const seed = Date.now() % 2 ** 31

async function readAll (log) {
  const records = new Map()
  for await (const { seq, value } of log.stream()) records.set(seq, value)
  return records
}

/** A log that is appended to and deleted from as fast as it goes, and what it has been at any time. */
class Storm {
  constructor (log, random) {
    this.log = log
    this.random = random
    /** @type {Map<number, Buffer>} */
    this.appended = new Map()
    /** Those that were asked to be deleted, and those that were. */
    this.doomed = new Set()
    this.deleted = new Set()
    this.isOver = false
  }

  async run () {
    await Promise.all([this._append(), this._append(), this._delete()])
  }

  async _append () {
    const { log, random } = this
    while (!this.isOver) {
      const size = random(random(10) ? 300 : 60000)
      const data = Buffer.alloc(1 + size, 1 + random(255))
      this.appended.set(await log.append(data), data)
      if (random(4) === 0) await new Promise(setImmediate)
    }
  }

  async _delete () {
    const { log, random } = this
    while (!this.isOver) {
      await new Promise(setImmediate)
      const seqs = [...this.appended.keys()].filter((seq) => !this.doomed.has(seq))
      if (seqs.length < 5) continue
      const chosen = [seqs[random(seqs.length)], seqs[random(seqs.length)]]
      for (const seq of chosen) this.doomed.add(seq)
      await log.del(chosen)
      for (const seq of chosen) this.deleted.add(seq)
    }
  }
}

for (const framing of FRAMINGS) {
  for (const fsync of ['always', 'never']) {
    tape(`snapshot: what a log was, under a storm of appends and deletions, ${framing}, fsync ${fsync} (seed ${seed})`, async (t) => {
      const folder = temporaryFolder()
      const log = OffsetLog(path.join(folder, 'log'), { framing, fsync })
      await log.ready()
      t.equal(log.supports.snapshot, true)
      const storm = new Storm(log, createRandom(seed))
      const running = storm.run()
      for (let round = 0; round < STORM_ROUNDS; round++) {
        await new Promise((resolve) => setTimeout(resolve, 60))
        const copy = path.join(folder, `copy-${round}`)
        const since = log.since.value
        const deleted = new Set(storm.deleted)
        await log.snapshot(copy)
        const sinceAfter = log.since.value
        const doomed = new Set(storm.doomed)
        const snapshot = OffsetLog(copy, { flags: 'r' })
        await snapshot.ready()
        t.equal(snapshot.recovery, null, 'it opens clean')
        const found = await readAll(snapshot)
        const last = snapshot.since.value
        for (const [seq, data] of found) {
          if (deleted.has(seq)) t.fail(`the record at ${seq} had been deleted`)
          // Those that come last may not have called back.
          if (storm.appended.has(seq) && !storm.appended.get(seq).equals(data)) t.fail(`the record at ${seq} has wrong bytes`)
          if (seq > sinceAfter) t.fail(`the record at ${seq} was appended later`)
        }
        const reach = Math.max(since, last)
        for (const seq of storm.appended.keys()) {
          if (seq <= reach && !doomed.has(seq) && !found.has(seq)) t.fail(`the record at ${seq} is missing`)
        }
        await snapshot.close()
        const report = await verify(copy)
        t.ok(report.isSound && report.tail === null && report.records === found.size, `${found.size} records`)
        if (framing === 'checked') decodeLog(fs.readFileSync(copy))
      }
      storm.isOver = true
      await running
      await log.close()
      t.equal((await verify(path.join(folder, 'log'))).isSound, true)
      t.deepEqual(fs.readdirSync(folder).sort(), [...Array.from({ length: STORM_ROUNDS }, (_, round) => `copy-${round}`), 'log'])
    })
  }
}

tape('snapshot: of a log that rests it is the log itself, and goes on alone', async (t) => {
  for (const framing of FRAMINGS) {
    const disk = new SimulatedDisk()
    const { storage } = disk
    const log = OffsetLog(FILE, { storage, framing })
    const seqs = []
    for (const size of [100, 50000, 3]) seqs.push(await log.append(Buffer.alloc(size, 5)))
    await log.del(seqs[2])
    t.equal(await log.snapshot(COPY), undefined)
    const copy = OffsetLog(COPY, { storage })
    t.deepEqual(await readAll(copy), await readAll(log))
    // What was deleted last shows only in the bytes of the legacy framings.
    t.equal(copy.since.value, seqs[1])
    await copy.append(Buffer.from('only there'))
    await copy.close()
    await log.append(Buffer.from('only here'))
    await log.close()
    t.equal((await verify(COPY, { storage })).records, 3)
    t.equal((await verify(FILE, { storage })).records, 3)
  }
})

tape('snapshot: of a log without records, and through a callback', (t) => {
  const disk = new SimulatedDisk()
  let left = FRAMINGS.length
  for (const framing of FRAMINGS) {
    const log = OffsetLog(`/folder/${framing}`, { storage: disk.storage, framing })
    log.snapshot(`/folder/${framing}-copy`, async (err) => {
      t.error(err)
      const copy = OffsetLog(`/folder/${framing}-copy`, { storage: disk.storage, framing })
      await copy.ready()
      t.equal(copy.since.value, -1)
      await copy.close()
      await log.close()
      if (--left === 0) t.end()
    })
  }
})

tape('snapshot: opens in the same time however large it is', async (t) => {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'never' })
  const sizeOfReads = async () => {
    let size = 0
    const storage = faultyStorage(disk.storage, ({ name, length }) => { if (name.startsWith('read')) size += length })
    const copy = OffsetLog(COPY, { storage, flags: 'r' })
    await copy.ready()
    await copy.close()
    await new Promise((resolve) => disk.storage.unlink(COPY, resolve))
    return size
  }
  await log.append(Buffer.alloc(10))
  await log.snapshot(COPY)
  const small = await sizeOfReads()
  for (let count = 0; count < 50; count++) await log.append(Buffer.alloc(50000))
  await log.snapshot(COPY)
  t.ok(await sizeOfReads() <= small + 20000)
  await log.close()
})

tape('snapshot: one that was killed does not block the next one, nor leave anything behind', async (t) => {
  for (const framing of ['checked', 'offset48']) {
    const folder = temporaryFolder()
    const file = path.join(folder, 'log')
    const copy = path.join(folder, 'copies', 'copy')
    const log = OffsetLog(file, { framing })
    for (let i = 0; i < 40; i++) await log.append(Array.from({ length: 100 }, () => Buffer.alloc(1000, i + 1)))
    await log.close()
    const child = path.join(__dirname, 'snapshot-child.js')
    for (const when of ['write', 'close', 'rename']) {
      const { status, stderr } = spawnSync(process.execPath, [child, file, copy, when], { encoding: 'utf8' })
      t.notEqual(status, 0, `${framing}, ${when}: ${stderr}`)
      t.ok(fs.readdirSync(path.dirname(copy)).some((name) => name.endsWith('.new')), 'something is left')
    }
    const reader = OffsetLog(file, { flags: 'r' })
    await reader.snapshot(copy)
    t.deepEqual(fs.readdirSync(path.dirname(copy)), ['copy'])
    await reader.close()
    const copied = OffsetLog(copy, { flags: 'r' })
    let count = 0
    await copied.scan({}, (chunk) => { count += chunk.count })
    t.equal(count, 4000)
    await copied.close()
  }
})

tape('snapshot: a file of the name that others write aside is nobody else\'s business', async (t) => {
  const folder = temporaryFolder()
  const log = OffsetLog(path.join(folder, 'log'))
  await log.append(Buffer.from('one'))
  const copy = path.join(folder, 'copy')
  fs.writeFileSync(`${copy}.new`, 'mine')
  await log.snapshot(copy)
  t.equal(fs.readFileSync(`${copy}.new`, 'utf8'), 'mine')
  t.deepEqual(fs.readdirSync(folder).filter((name) => name.startsWith('copy')), ['copy', 'copy.new'])
  await log.close()
})

tape('snapshot: two at once to one path: one of them is refused', async (t) => {
  const folder = temporaryFolder()
  const log = OffsetLog(path.join(folder, 'log'))
  await log.append(Buffer.alloc(5000, 1))
  const copy = path.join(folder, 'copy')
  const errors = await Promise.all([1, 2, 3].map(() => failureOf(() => log.snapshot(copy))))
  t.deepEqual(errors.map((err) => err?.code).sort(), ['EEXIST', 'EEXIST', undefined])
  t.deepEqual(fs.readdirSync(folder).filter((name) => name.startsWith('copy')), ['copy'])
  await log.close()
})

tape('snapshot: what is there is never written over', async (t) => {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage })
  await log.append(Buffer.from('one'))
  for (const name of [COPY, `${COPY}.new`]) {
    disk.put(name, Buffer.from('mine'))
    t.equal((await failureOf(() => log.snapshot(COPY)))?.code, 'EEXIST')
    t.equal(disk.read(name).toString(), 'mine')
    await new Promise((resolve) => disk.storage.unlink(name, resolve))
  }
  t.equal((await failureOf(() => log.snapshot(FILE)))?.code, 'EEXIST', 'nor the log itself')
  for (const wrong of ['', undefined, 7]) {
    t.equal((await failureOf(() => log.snapshot(wrong)))?.code, 'ERR_INVALID_ARGUMENT')
  }
  await log.close()
  t.equal((await failureOf(() => log.snapshot(COPY)))?.code, 'ERR_LOG_CLOSED')
  t.deepEqual(disk.list(), [FILE])
})

tape('snapshot: close waits for it', async (t) => {
  for (const framing of ['checked', 'offset48']) {
    const disk = new SimulatedDisk()
    const log = OffsetLog(FILE, { storage: disk.storage, framing })
    await log.append(Buffer.alloc(300000, 1))
    const order = []
    await Promise.all([
      log.snapshot(COPY).then(() => order.push('snapshot')),
      log.close().then(() => order.push('close'))
    ])
    t.deepEqual(order, ['snapshot', 'close'])
    t.equal((await verify(COPY, { storage: disk.storage })).records, 1)
  }
})

tape('snapshot: a signal ends it, and nothing is left; it tells how far it is', async (t) => {
  for (const framing of ['checked', 'offset48']) {
    const folder = temporaryFolder()
    const log = OffsetLog(path.join(folder, 'log'), { framing, fsync: 'never' })
    for (let i = 0; i < 20; i++) await log.append(Buffer.alloc(500_000, i + 1))
    const before = fs.readdirSync(folder)
    const copy = path.join(folder, 'copy')
    const positions = []
    const aborting = new AbortController()
    const onProgress = ({ position, size }) => {
      positions.push(position)
      t.equal(size, log._file.logEnd)
      if (positions.length === 3) aborting.abort()
    }
    const err = await failureOf(() => log.snapshot(copy, { signal: aborting.signal, onProgress }))
    t.equal(err?.code, 'ABORT_ERR', framing)
    t.equal(positions.length, 3)
    t.deepEqual(fs.readdirSync(folder), before)
    t.equal((await failureOf(() => log.snapshot(copy, { signal: AbortSignal.abort() })))?.code, 'ABORT_ERR')
    t.equal((await failureOf(() => log.snapshot(copy, { onProgress: () => { throw new Error('mine') } })))?.message, 'mine')
    for (const options of [{ sginal: 1 }, { signal: 1 }, { onProgress: 1 }, 1, null]) {
      t.equal((await failureOf(() => log.snapshot(copy, options)))?.code, 'ERR_INVALID_ARGUMENT', JSON.stringify(options))
    }
    t.deepEqual(fs.readdirSync(folder), before)
    await log.snapshot(copy, { signal: new AbortController().signal })
    await log.close()
  }
})

tape('snapshot: damage is not copied', async (t) => {
  for (const framing of ['checked', 'offset48']) {
    const disk = new SimulatedDisk()
    const { storage } = disk
    const log = OffsetLog(FILE, { storage, framing, fsync: 'never' })
    const seqs = []
    for (const size of [100, 200, 300]) seqs.push(await log.append(Buffer.alloc(size, 5)))
    await log.close()
    const bytes = disk.read(FILE)
    for (const offset of [seqs[1] + 2, seqs[2] + 2]) {
      const copy = Buffer.from(bytes)
      copy[offset] ^= 1
      disk.put(FILE, copy)
      const damaged = OffsetLog(FILE, { storage })
      t.equal((await failureOf(() => damaged.snapshot(COPY)))?.code, 'ERR_LOG_CORRUPT', `${framing}, byte ${offset}`)
      await damaged.close()
      t.deepEqual(disk.list(), [FILE])
    }
    disk.put(FILE, bytes.subarray(0, bytes.length - (framing === 'checked' ? 340 : 0)))
    const short = OffsetLog(FILE, { storage })
    await short.ready()
    if (framing === 'checked') t.equal((await failureOf(() => short.snapshot(COPY)))?.code, 'ERR_LOG_CORRUPT', 'nor a log that lacks its end')
    await short.close()
  }
})

tape('snapshot: of a log that another process writes, through a handle that only reads', async (t) => {
  const folder = temporaryFolder()
  await Promise.all([['checked', 'always'], ['checked', 'never']].map(async ([framing, fsync]) => {
    const file = path.join(folder, fsync)
    const child = spawn(process.execPath, [path.join(__dirname, '..', '..', 'repair', 'test', 'salvage', 'live-writer.js'), file, framing, fsync, '1500'])
    const writer = { isOver: false }
    child.on('exit', () => { writer.isOver = true })
    while (!fs.existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 10))
    const log = OffsetLog(file, { flags: 'r' })
    await log.ready()
    let count = 0
    do {
      const since = log.since.value
      const copy = `${file}-${count++}`
      await log.snapshot(copy)
      const report = await verify(copy)
      if (!report.isSound || report.tail) t.fail(JSON.stringify(report))
      const snapshot = OffsetLog(copy, { flags: 'r' })
      await snapshot.ready()
      t.equal(snapshot.recovery, null)
      if (snapshot.since.value < since && report.records > 0) {
        const { records } = await verify(file)
        t.ok(records > 0, 'the last record was deleted meanwhile')
      }
      await snapshot.close()
    } while (!writer.isOver)
    await log.close()
    t.pass(`${fsync}: ${count} times`)
  }))
})

tape('snapshot: when the power goes it is there whole, or not at all', async (t) => {
  const random = createRandom(seed)
  for (const framing of ['checked', 'offset48']) {
    const disk = new SimulatedDisk()
    const log = OffsetLog(FILE, { storage: disk.storage, framing })
    for (const size of [100, 50000, 300]) await log.append(Buffer.alloc(size, 5))
    await log.sync()
    const crashes = []
    disk.onChange = () => crashes.push(disk.crash((count) => random(count)))
    await log.snapshot(COPY)
    disk.onChange = null
    crashes.push(disk.crash((count) => random(count)))
    await log.close()
    for (const crash of crashes) {
      if (!crash.list().includes(COPY)) continue
      const report = await verify(COPY, { storage: crash.storage })
      if (!report.isSound || report.records !== 3 || report.tail) t.fail(JSON.stringify(report))
    }
    t.ok(crashes.at(-1).list().includes(COPY), `${crashes.length} crashes`)
  }
})

tape('snapshot: a disk that is full, or fails, leaves nothing behind, and the log goes on', async (t) => {
  for (const framing of ['checked', 'offset48']) {
    const fault = { name: '', code: '' }
    const disk = new SimulatedDisk({
      decide: ({ name, path }) => (path.startsWith(COPY) && name === fault.name ? { code: fault.code } : undefined)
    })
    const log = OffsetLog(FILE, { storage: disk.storage, framing })
    await log.append(Buffer.alloc(50000, 5))
    for (const [name, code] of [['write', 'ENOSPC'], ['sync', 'EIO'], ['rename', 'EIO']]) {
      Object.assign(fault, { name, code })
      t.equal((await failureOf(() => log.snapshot(COPY)))?.code, code, `${framing}, ${name}`)
      fault.name = ''
      t.deepEqual(disk.list(), [FILE])
      await log.append(Buffer.from('it goes on'))
    }
    await log.snapshot(COPY)
    t.equal((await verify(COPY, { storage: disk.storage })).records, 4)
    await log.close()
  }
})

tape('snapshot: while the log is compacted', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'log')
  const log = OffsetLog(file, { fsync: 'never' })
  await log.ready()
  if (!log.supports.compact) {
    t.comment('this log cannot be compacted')
    return await log.close()
  }
  const random = createRandom(seed)
  const records = new Map()
  for (let count = 0; count < 400; count++) {
    const data = Buffer.alloc(1 + random(3000), 1 + random(255))
    records.set(await log.append(data), data)
  }
  for (let round = 0; round < 3; round++) {
    const gone = [...records.keys()].filter(() => random(4) === 0)
    await log.del(gone)
    for (const seq of gone) records.delete(seq)
    const copies = [0, 1, 2].map((index) => path.join(folder, `copy-${round}-${index}`))
    await Promise.all([log.compact(), ...copies.map((copy) => log.snapshot(copy))])
    for (const copy of copies) {
      const snapshot = OffsetLog(copy, { flags: 'r' })
      const found = await readAll(snapshot)
      await snapshot.close()
      t.equal(found.size, records.size)
      for (const [seq, data] of records) if (!found.get(seq)?.equals(data)) t.fail(`round ${round}: the record at ${seq}`)
      t.equal((await verify(copy)).isSound, true)
    }
  }
  await log.close()
})
