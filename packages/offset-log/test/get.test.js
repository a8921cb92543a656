'use strict'
// One record at a time: every way in which it may be read, against a plain Map, while the log is written.

const tape = require('tape')
const { SimulatedDisk, createRandom, failureOf, faultyStorage, inQuickRuns, stopClock } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const FILE = '/folder/log'
const FRAMINGS = ['offset32', 'offset48', 'offset53', 'checked']
const RUN_COUNT = inQuickRuns(15)
const STEP_COUNT = 60
const SIZES = [1, 20, 300, 300, 700, 700, 2030, 5000, 20000, 70000]
const seed = Date.now() % 2 ** 31

const textCodec = { encode: (value) => value.toString('latin1'), decode: (text) => Buffer.from(text, 'latin1') }
const rangeCodec = {
  buffer: true,
  encode: (value) => value,
  decode: (bytes) => bytes,
  decodeRange: (buf, start, end) => Buffer.from(buf.subarray(start, end))
}
const CODECS = [undefined, undefined, textCodec, rangeCodec]

for (const framing of FRAMINGS) {
  tape(`${framing}: get: random work gives what a Map gives (seed ${seed})`, async (t) => {
    const counts = { value: 0, deleted: 0, missing: 0 }
    for (let index = 0; index < RUN_COUNT; index++) {
      const run = new Run(framing, createRandom(seed + index), counts)
      try {
        await run.work()
      } catch (err) {
        t.fail(`run ${index}: ${err.stack}`)
        break
      }
    }
    const { value, deleted, missing } = counts
    const isEnough = value > inQuickRuns(100) && deleted > inQuickRuns(10) && missing > inQuickRuns(10)
    t.ok(isEnough, JSON.stringify(counts))
  })
}

/** A log, one who follows it, what they should hold, and what they were asked. */
class Run {
  constructor (framing, random, counts) {
    this.framing = framing
    this.random = random
    this.counts = counts
    this.disk = new SimulatedDisk({ defer: setImmediate })
    this.codec = this.pick(CODECS)
    /** By seq: its `bytes`, and whether its deletion was `begun`, and is `done`. */
    this.model = new Map()
    /** What was handed out, and is to stay as it is. */
    this.kept = []
    this.pending = []
    this.lastSeq = -1
  }

  async work () {
    await this.open()
    for (let step = 0; step < STEP_COUNT; step++) {
      this.doSomething()
      if (this.random(6) === 0) await this.settle()
      if (this.random(20) === 0) await this.beginAnew()
    }
    await this.settle()
    // So that enough is deleted, and enough is asked for that is not there, in few runs too.
    for (let count = 0; count < 5; count++) this.del()
    await this.settle()
    for (const log of [this.log, this.reader, this.log]) {
      for (const seq of this.model.keys()) this.get(log, seq)
      for (let count = 0; count < 10; count++) this.getNothing(log)
      await this.settle()
    }
    for (const { found, bytes } of this.kept) same(found, bytes, 'what was handed out before')
    await this.log.close()
    await this.reader.close()
    if ((await failureOf(() => this.log.get(0))).code !== 'ERR_LOG_CLOSED') throw new Error('read from a closed log')
  }

  openLog (flags) {
    const log = OffsetLog(FILE, {
      framing: this.framing,
      flags,
      codec: this.codec,
      fsync: this.pick(['never', 'never', 'always']),
      blockSize: this.pick([64, 1024, 65536]),
      cache: this.pick([0, 4096, 65536, 2 ** 20]),
      storage: this.disk.storage
    })
    const { adaptiveIo } = log._file.blocks._file
    adaptiveIo.mayBlock = this.pick([() => true, () => true, () => false, () => this.random(2) === 0])
    return log
  }

  doSomething () {
    const what = this.random(20)
    const log = this.pick([this.log, this.log, this.reader])
    if (what < 5) this.append()
    else if (what === 5) this.del()
    else if (what === 6 && this.framing === 'checked') this.compact()
    else if (what < 8) this.getNothing(log)
    else if (what < 11) this.getInOrder(log)
    else for (let left = this.random(30); left > 0; left--) this.get(log, this.pickSeq())
  }

  /** Behind an unclean end seqs of the checked framing are no longer positions in the file; nor in a compacted one. */
  async beginAnew () {
    await this.settle()
    if (this.random(3) === 0) await this.log.close()
    this.disk = this.disk.clone()
    await this.open()
  }

  async open () {
    this.log = this.openLog('r+')
    await this.log.ready()
    // Before there is a record nobody can tell which framing it is.
    if (this.lastSeq === -1) await this.log.del(await this.log.append(this.createRecord()))
    this.reader = this.openLog('r')
    await this.reader.ready()
  }

  compact () {
    // On this disk nobody can see that a file has been replaced.
    this.reader = this.log
    this.pending.push(this.log.compact())
  }

  append () {
    for (let left = 1 + this.random(6); left > 0; left--) {
      const bytes = this.createRecord()
      this.pending.push(this.log.append(bytes).then((seq) => {
        this.model.set(seq, { bytes, begun: false, done: false })
        this.lastSeq = Math.max(this.lastSeq, seq)
        // It can be read at once.
        this.get(this.log, seq)
      }))
    }
  }

  del () {
    const seq = this.pickSeq()
    const entry = this.model.get(seq)
    if (!entry) return
    entry.begun = true
    this.pending.push(this.log.del(seq).then(() => { entry.done = true }))
  }

  get (log, seq) {
    const entry = this.model.get(seq)
    if (!entry) return
    const wasDone = entry.done && log === this.log
    this.pending.push(log.get(seq).then((found) => {
      if (wasDone) throw new Error(`get of ${seq}: was deleted before`)
      // In these framings nothing tells another process that a record is being overwritten.
      const mayBeHalf = log === this.reader && this.framing !== 'checked' && entry.begun
      if (!mayBeHalf) same(found, entry.bytes, `get of ${seq}`)
      this.counts.value++
      // It is the caller's own.
      if (this.random(2) === 0) found.fill(this.random(256))
      this.kept.push({ found, bytes: Buffer.from(found) })
    }, (err) => {
      if (err.code !== 'flumelog:deleted' || !entry.begun) throw err
      this.counts.deleted++
    }))
  }

  getInOrder (log) {
    const seqs = [...this.model.keys()].sort((a, b) => a - b)
    const first = this.random(seqs.length + 1)
    for (const seq of seqs.slice(first, first + 12)) this.get(log, seq)
  }

  /** What no record begins at. */
  getNothing (log) {
    const seq = this.pick([
      this.pickSeq() + this.pick([1, -1, 4, -4, 7, 12, 16]), this.random(this.lastSeq + 2), this.lastSeq + 2 ** 40,
      -1, 0.5, NaN, 2 ** 53, -0.5
    ])
    // An append may be under way.
    if (seq > this.lastSeq && seq < 2 ** 40) return
    if (this.model.has(seq) || seq === 0 || seq === 32808) return
    this.pending.push(failureOf(() => log.get(seq)).then((err) => {
      // What was left out may be of a record that compaction has dropped, or of one that was lost.
      const codes = ['ERR_RECORD_NOT_FOUND', ...this.framing === 'checked' ? ['flumelog:deleted', 'ERR_LOG_SEQ_LOST'] : []]
      if (!codes.includes(err?.code)) throw new Error(`get of ${seq}: ${err}`)
      this.counts.missing++
    }))
  }

  async settle () {
    while (this.pending.length > 0) await Promise.all(this.pending.splice(0))
  }

  pickSeq () {
    const seqs = [...this.model.keys()]
    return seqs.length === 0 ? -1 : this.pick(seqs)
  }

  createRecord () {
    const bytes = Buffer.alloc(this.pick(SIZES))
    for (let at = 0; at < bytes.length; at += 50) bytes[at] = this.random(256)
    if (this.random(8) === 0 && this.framing === 'checked') return bytes.fill(0)
    bytes[0] = 1 + this.random(255)
    return bytes
  }

  pick (list) {
    return list[this.random(list.length)]
  }
}

function same (found, wanted, what) {
  if (!wanted.equals(found)) throw new Error(`${what}: ${wanted.length} other bytes were expected than ${found.length}`)
}

tape('get: bytes within a record that look like a frame are none, unless one ends where they begin', async (t) => {
  const log = OffsetLog(FILE, { framing: 'offset32', storage: new SimulatedDisk().storage })
  const first = await log.append(Buffer.from('first'))
  const seq = first + 5 + 12
  const at = seq + 4 + 20
  const imitation = Buffer.alloc(17, 'x')
  imitation.writeUInt32BE(5)
  imitation.writeUInt32BE(5, 9)
  imitation.writeUInt32BE(at + imitation.length, 13)
  t.equal(await log.append(Buffer.concat([Buffer.alloc(20, 'before'), imitation, Buffer.alloc(20, 'behind')])), seq)
  for (let turn = 0; turn < 3; turn++) t.equal((await failureOf(() => log.get(at))).code, 'ERR_RECORD_NOT_FOUND')
  await log.close()
})

tape('get: how much is read at first follows the records', async (t) => {
  stopClock(t)
  /** @type {number[]} */
  const reads = []
  const storage = faultyStorage(new SimulatedDisk().storage, ({ name, length }) => {
    if (name === 'readSync') reads.push(length)
  })
  for (const [size, least, most] of [[100, 512, 600], [1000, 1016, 1200], [3000, 3016, 3200]]) {
    const log = OffsetLog(`/folder/of-${size}`, { framing: 'offset32', fsync: 'never', cache: 0, storage })
    const records = Array.from({ length: 1000 }, (_, index) => Buffer.alloc(size, 1 + index % 255))
    await log.append(records)
    log._file.blocks._file.adaptiveIo.mayBlock = () => true
    for (let turn = 0; turn < 2000; turn++) {
      if (turn === 1000) reads.length = 0
      // Not one after the other.
      const index = turn * 7 % 900
      const found = await log.get(index * (size + 12))
      if (!found.equals(records[index])) t.fail(`record ${index}`)
    }
    const mean = reads.reduce((sum, length) => sum + length, 0) / 1000
    t.ok(reads.length < 1100 && mean >= least && mean < most + size / 10, `${size}: ${reads.length} reads, ${mean} bytes`)
    await log.close()
  }
})

tape('get: values come in the order of the calls, and closing waits for all of them', async (t) => {
  for (const framing of ['offset32', 'checked']) {
    const { storage } = new SimulatedDisk()
    const log = OffsetLog(FILE, { framing, storage })
    const seqs = []
    for (let index = 0; index < 300; index++) seqs.push(await log.append(Buffer.from(`record ${index}`)))
    const told = []
    const wanted = [...seqs, ...seqs]
    for (const seq of wanted) log.get(seq, (err, value) => told.push(err ?? String(value)))
    await log.close()
    t.deepEqual(told, wanted.map((seq, index) => `record ${index % 300}`), framing)
  }
})

tape('get: who recurses does not overflow the stack, and timers have their turn', async (t) => {
  for (const framing of ['offset32', 'checked']) {
    const { storage } = new SimulatedDisk()
    const log = OffsetLog(FILE, { framing, storage })
    const seq = await log.append(Buffer.from('again'))
    const timer = startTimer()
    let count = 0
    await new Promise((resolve) => {
      const next = () => timer.isOver && count > 20000 ? resolve() : log.get(seq, () => { count++; next() })
      next()
    })
    t.pass(`${framing}: ${count} times`)
    const another = startTimer()
    while (!another.isOver) await log.get(seq)
    await log.close()
  }
})

function startTimer () {
  const timer = { isOver: false }
  setTimeout(() => { timer.isOver = true }, 5)
  return timer
}
