// @ts-nocheck
'use strict'
// A log that was restored from a copy, with the index that was made later: which records are deleted is another matter
// than how many.

const fs = require('node:fs')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { collect, newPath } = require('@millrace/testkit')
const { createIndex } = require('..')

const RECORDS = 200
const RARE = 60
const TUNING = { recordsMax: 50, fanOut: 3, waitMs: 1 }
const KINDS = { checked: OffsetLog, segments: SegmentedLog }

const newIndex = () => createIndex(['type', { path: 'n', range: true }], { tuning: TUNING })

/** What happens to the files of a log of one kind. */
class Files {
  constructor (kind) {
    this.kind = kind
    this.path = newPath('log')
    this.index = kind === 'checked' ? `${this.path}.index` : `${this.path}/index`
  }

  /** @param {(log: any) => any} use */
  async with (index, use) {
    const options = { codec: jsonCodec, fsync: 'never', ...(index && { index }), ...(this.kind === 'segments' && { segmentSize: 128 * 1024 }) }
    const log = KINDS[this.kind](this.path, options)
    await log.ready()
    const result = await use(log)
    await log.close()
    return result
  }

  async make () {
    this.seqs = await this.with(null, async (log) => {
      const seqs = []
      for (let n = 0; n < RECORDS; n++) {
        seqs.push(log.append({ n, type: n === RARE ? 'rare' : `t${n % 40}`, text: 'x'.repeat(1000) }))
        if (n % 50 === 49) await seqs.at(-1)
      }
      return Promise.all(seqs)
    })
  }

  copy () {
    const copy = newPath('copy')
    fs.cpSync(this.path, copy, { recursive: true })
    return copy
  }

  /** Puts a copy in the place of the log; the index stays. */
  restore (copy) {
    const index = newPath('index')
    fs.renameSync(this.index, index)
    fs.rmSync(this.path, { recursive: true })
    fs.cpSync(copy, this.path, { recursive: true })
    fs.rmSync(this.index, { recursive: true, force: true })
    fs.renameSync(index, this.index)
  }

  delete (...ns) {
    return this.with(null, (log) => log.del(ns.map((n) => this.seqs[n])))
  }

  /** How answers with the index differ from those without. */
  async compare () {
    const wheres = [{ path: 'type', equals: 'rare' }, ...[0, 7, 19, 20].map((n) => ({ path: 'type', equals: `t${n}` })),
      { path: 'n', gte: 50, lt: 70 }]
    const ask = (isReady) => async (log) => {
      if (isReady) await log.index.ready()
      const answers = []
      for (const where of wheres) {
        answers.push(await log.count({ where }), (await collect(log.stream({ where, values: false }))).join())
      }
      // Counts may have more to go by the second time.
      await log.index?.ready()
      for (const where of wheres) answers.push(await log.count({ where }))
      return answers.join(' ')
    }
    const wanted = await this.with(null, ask(false))
    const found = [await this.with(newIndex(), ask(false)), await this.with(newIndex(), ask(true))]
    return found.map((found) => found === wanted ? null : `${found}, not ${wanted}`)
  }
}

for (const kind of Object.keys(KINDS)) {
  tape(`restored: ${kind}: a record that was deleted, and is there again, is found, though as many others are deleted`, async (t) => {
    for (const others of [[], [100], [RARE - 1, RARE + 1]]) {
      const files = new Files(kind)
      await files.make()
      const copy = files.copy()
      await files.delete(RARE)
      await files.with(newIndex(), (log) => log.index.ready())
      files.restore(copy)
      if (others.length > 0) await files.delete(...others)
      t.deepEqual(await files.compare(), [null, null], `${others.length} others`)
    }
  })

  tape(`restored: ${kind}: a record is not counted whose deletion replaces that of one that no run has`, async (t) => {
    for (const gone of [RECORDS - 1, 2]) {
      const files = new Files(kind)
      await files.make()
      const copy = files.copy()
      await files.delete(gone)
      await files.with(newIndex(), (log) => log.index.ready())
      files.restore(copy)
      await files.delete(7)
      t.deepEqual(await files.compare(), [null, null], `instead of ${gone}`)
    }
  })

  tape(`restored: ${kind}: deletions cost no run, whether the index is open meanwhile or not`, async (t) => {
    const files = new Files(kind)
    await files.make()
    await files.delete(3, RARE)
    const first = await files.with(newIndex(), async (log) => {
      await log.index.ready()
      await log.del(files.seqs[4])
      return fs.readdirSync(files.index).sort()
    })
    await files.delete(5)
    await files.with(newIndex(), async (log) => {
      await log.index.ready()
      t.ok((await log.index.status()).runs > 0)
      const now = fs.readdirSync(files.index)
      t.deepEqual(first.filter((name) => !now.includes(name)), [])
    })
    t.deepEqual(await files.compare(), [null, null])
  })
}

for (const kind of Object.keys(KINDS)) {
  for (const hasIndex of [false, true]) {
    const title = `restored: an append whose since a power cut took is refused, in a log of ${kind} ${hasIndex ? 'with' : 'without'} an index`
    tape(`${title}: what is known of recent records, or an empty segment, let it pass`, async (t) => {
      const open = (path) => KINDS[kind](path, { codec: jsonCodec, index: hasIndex ? newIndex() : undefined })
      const [path, copy] = [newPath('log'), newPath('copy')]
      const before = open(path)
      const kept = [await before.append({ n: 0 }), await before.append({ n: 1 })]
      await before.sync()
      fs.cpSync(path, copy, { recursive: true, filter: (file) => !file.endsWith('.lock') })
      const lost = []
      for (let n = 2; n < 5; n++) lost.push(await before.append({ n, text: 'seen, and lost' }))
      await before.close()

      const log = open(copy)
      const where = { path: 'n', equals: 2 }
      const appendIf = (since) => log.append({ n: 9 }, { if: { where, since } }).then(() => 'appended', (err) => [err.code, err.seq])
      for (const seq of lost) t.deepEqual(await appendIf(seq), ['ERR_LOG_SEQ_LOST', seq], 'the log ends before it')
      if (kind === 'segments') {
        await log.roll()
        for (const seq of lost) t.deepEqual(await appendIf(seq), ['ERR_LOG_SEQ_LOST', seq], 'an empty segment begins after it')
      }
      t.equal(await appendIf(kept[1]), 'appended')
      await log.append({ n: 7 })
      for (const seq of lost) t.deepEqual(await appendIf(seq), ['ERR_LOG_SEQ_LOST', seq], 'the log goes on after it')
      for (const since of [...kept, log.since.value, -1]) t.equal(await appendIf(since), 'appended')
      t.equal(await log.count(), 8)
      await log.close()
    })
  }
}
