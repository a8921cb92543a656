'use strict'
// Compactions that overlap, with all that may come between: whatever the order, the index rests until the last one has
// ended, names what a scan finds, and its folder has the files that it uses.

const fs = require('node:fs')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { collect, createRandom, inQuickRuns, newPath } = require('@millrace/testkit')
const { createIndex } = require('..')
const { FOLDER, MemoryLog } = require('./memory-log')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUNDS = inQuickRuns(120)
const TUNING = { recordsMax: 12, fanOut: 2, waitMs: 0 }
const WHERES = [
  { path: 'key', equals: 3 }, { path: 'key', in: [1, 5] }, { path: 'n', gte: 20, lt: 60 }, { path: 'key', equals: 'none' }
]
const turns = async (count) => { for (; count > 0; count--) await new Promise(setImmediate) }

const valuesOf = (count, random) => Array.from({ length: count }, (_, n) => ({ n, key: random(9) }))

/** Notes what begins to read the log while it is compacted. */
class WatchedLog extends MemoryLog {
  compactions = 0
  readsMeanwhile = 0

  async scanRaw (...args) {
    if (this.compactions > 0) this.readsMeanwhile++
    return await super.scanRaw(...args)
  }
}

/** A log in memory, its index, and what happens to them at the same time. */
class Story {
  constructor (random) {
    this.random = random
    this.log = new WatchedLog({ codec: jsonCodec, seed: 1 + random(1000) })
    this.count = 0
    this.faults = []
    this.isOver = false
    this.append(30 + random(100))
    this.index = createIndex(['key', { path: 'n', range: true }], { tuning: TUNING }).open(this.log)
  }

  append (count) {
    for (; count > 0; count--) this.log.append({ n: this.count++, key: this.random(9) })
    this.index?.appended()
  }

  compare () {
    const where = WHERES[this.random(WHERES.length)]
    const wrong = this.log.compare(this.index, where, this.random(2) === 0 ? {} : { reverse: true })
    if (wrong !== null) this.faults.push(wrong)
  }

  async compact () {
    const { random, log, index } = this
    await turns(random(20))
    log.compactions++
    index.compacting()
    await turns(random(12))
    const hasChanged = random(4) > 0
    if (hasChanged) log.compact()
    // In this turn it is told; what is under way must end meanwhile.
    await index.compacted(hasChanged).finally(() => { log.compactions-- })
  }

  async ready () {
    await turns(this.random(30))
    const err = await this.index.ready().then(() => null, (err) => err)
    if (err !== null && !(this.isOver && err.code === 'ERR_LOG_CLOSED')) this.faults.push(`ready: ${err.stack}`)
  }

  delete () {
    const { random, log, index } = this
    const seqs = log.records.filter(({ bytes }) => bytes !== null && random(20) === 0).map(({ seq }) => seq)
    index.deleted(seqs)
    for (const seq of seqs) log.del(seq)
    index.deleted(seqs)
  }

  async others () {
    const { random } = this
    for (let step = 0; step < 12; step++) {
      await turns(random(6))
      if (random(3) === 0) this.append(random(20))
      // Deletions wait for a compaction.
      if (random(3) === 0 && this.log.compactions === 0) this.delete()
      this.compare()
    }
  }

  async end () {
    const { random, index } = this
    await turns(random(60))
    this.isOver = true
    await (random(2) === 0 ? index.close() : index.drop())
  }

  async play () {
    const { random, index, log } = this
    await index.ready()
    const isEnded = random(3) === 0
    const compactions = Array.from({ length: 1 + random(4) }, () => this.compact())
    const readies = Array.from({ length: random(3) }, () => this.ready())
    await Promise.all([...compactions, ...readies, this.others(), isEnded && this.end()])
    if (log.readsMeanwhile > 0) this.faults.push(`it began to read ${log.readsMeanwhile} times during a compaction`)
    if (isEnded) return this.faults
    this.append(13)
    await index.ready()
    for (let left = 8; left > 0; left--) this.compare()
    const status = index.status()
    if (!status.isReady) this.faults.push('it is not ready at the end')
    await index.flush()
    const files = log.disk.list().filter((name) => name.startsWith(FOLDER) && name.endsWith('.run'))
    const { runs } = index.status()
    if (files.length !== runs) this.faults.push(`${runs} runs are used, and there are ${files.length} files`)
    for (const { name, why } of await index.inspect()) if (why !== null) this.faults.push(`${name}: ${why}`)
    await index.close()
    return this.faults
  }
}

tape(`index: compactions that overlap, a drop and a close leave it right (seed ${seed})`, async (t) => {
  for (let round = 0; round < ROUNDS; round++) {
    const faults = await new Story(createRandom(seed + round)).play()
    for (const fault of faults.slice(0, 3)) t.fail(`seed ${seed + round}: ${fault}`.slice(0, 600))
    if (faults.length > 0) break
  }
  t.pass(`${ROUNDS} logs`)
})

tape(`index: a log that is compacted twice at once answers as a scan does (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  for (let round = 0; round < inQuickRuns(16); round++) {
    const file = newPath('log')
    const index = createIndex(['key', { path: 'n', range: true }], { tuning: TUNING })
    const log = OffsetLog(file, { codec: jsonCodec, index })
    const append = (count) => log.append(valuesOf(count, random), { seqs: true })
    const seqs = await append(200)
    await log.index.ready()
    await log.del(seqs.filter(() => random(4) === 0))
    const compact = async () => {
      await turns(random(40))
      await log.compact()
    }
    const isDropped = random(4) === 0
    const drop = async () => {
      await turns(random(60))
      await log.index.drop()
    }
    await Promise.all([compact(), compact(), compact(), append(50), append(20), isDropped && drop()])
    if (!isDropped) await log.index.ready()
    for (const where of WHERES) {
      const found = await collect(log.stream({ where, values: false }))
      const all = await collect(log.stream())
      const wanted = all.filter(({ value }) => matches(where, value)).map(({ seq }) => seq)
      t.deepEqual(found, wanted, JSON.stringify(where))
      t.equal(await log.count({ where }), wanted.length)
    }
    const files = fs.existsSync(`${file}.index`) ? fs.readdirSync(`${file}.index`) : []
    const { runs = 0 } = await log.index.status() ?? {}
    t.equal(files.filter((name) => name.endsWith('.run')).length, runs, 'each run has its file')
    await log.close()
  }
})

function matches ({ path, equals, in: list, gte, lt }, value) {
  const found = value[path]
  if (equals !== undefined) return found === equals
  return list !== undefined ? list.includes(found) : found >= gte && found < lt
}
