// @ts-nocheck
'use strict'
// Whether a log with an index answers as a scan does: while it is built and merged, after a power cut, after an older
// copy was restored, while records are deleted, and in a reader whose writer compacts the log.

const path = require('node:path')
const { SimulatedDisk, collect, newPath } = require('@millrace/testkit')
const { seededRandom } = require('../seeded')
const { Violation } = require('../violation')

const FILE = '/logs/log'
const PATHS = ['type', 'user', { path: 'tags', each: true }, { path: 'n', range: true }]
const TUNING = { recordsMax: 60, fanOut: 3, sieveRunsMin: 2 }
const ROUND_COUNT = 2

/**
 * @param {import('./run-oracle').OracleOptions} options
 * @returns {Promise<import('./run-oracle').Verdict>}
 */
exports.examine = async ({ logModule, seed }) => {
  const figures = { stories: 0, answers: 0 }
  try {
    for (let round = 0; round < ROUND_COUNT; round++) {
      for (const framing of ['checked', 'lines']) {
        for (const [name, run] of Object.entries(stories)) {
          figures.stories++
          await run(new Story({ logModule, name, framing, random: seededRandom(seed + round), figures }))
        }
      }
    }
    return { failures: [], figures }
  } catch (err) {
    if (!(err instanceof Violation)) throw err
    return { failures: [{ kind: err.kind, message: err.message }], figures }
  }
}

class Story {
  disk = new SimulatedDisk()
  file = FILE
  waitMs = 1
  log = null
  seqs = []
  count = 0

  constructor ({ logModule, name, framing, random, figures }) {
    this.OffsetLog = require(logModule).OffsetLog
    this.createIndex = require(path.join(logModule, '..', 'index')).createIndex
    this.codec = require(path.join(logModule, '..', 'json-codec')).jsonCodec
    this.name = name
    this.framing = framing
    this.random = random
    this.figures = figures
  }

  /** Opens another log of the same file. */
  openAgain (options) {
    const { file, framing, codec } = this
    const storage = file === FILE ? this.disk.storage : undefined
    return this.OffsetLog(file, { storage, framing, codec, lock: false, fsync: 'never', ...options })
  }

  makeIndex () {
    return this.createIndex(PATHS, { tuning: { ...TUNING, waitMs: this.waitMs } })
  }

  async open () {
    this.log = this.openAgain({ index: this.makeIndex() })
    await this.log.ready()
  }

  /** Lets the index do all it has to do, and opens the log again: then it uses files only. */
  async settle () {
    await this.log.index.ready()
    await this.log.close()
    await this.open()
  }

  /** All records have one size, so that another log may have others at the same seqs. */
  async append (count, type = null) {
    const values = Array.from({ length: count }, () => ({
      n: 1000 + this.count++,
      type: type ?? `type ${this.random(4)}`,
      user: `user ${100 + this.random(60)}`,
      tags: [`tag ${this.random(9)}`, `tag ${this.random(9)}`]
    }))
    this.seqs.push(...await this.log.append(values, { seqs: true }))
  }

  /** What comes last is the same, and more than a page of a text file. */
  async appendSame () {
    const { random, count } = this
    Object.assign(this, { random: seededRandom(0), count: 5000 })
    await this.append(300)
    Object.assign(this, { random, count })
  }

  async del (count) {
    for (let left = count; left > 0 && this.seqs.length > 0; left--) {
      await this.log.del(this.seqs.splice(this.random(this.seqs.length), 1)[0])
    }
  }

  makeWhere () {
    const n = 1000 + this.random(this.count)
    const { random } = this
    return [
      { path: 'type', equals: `type ${random(5)}` },
      { path: 'user', equals: `user ${100 + random(60)}` },
      { path: 'tags', includes: `tag ${random(10)}` },
      { path: 'n', gte: n, lt: n + random(40) }
    ][random(4)]
  }

  /** @param {object} [log]  with an index */
  async compare (log = this.log) {
    await log.refresh()
    const plain = this.openAgain({ flags: 'r' })
    for (let query = 0; query < 8; query++) {
      this.figures.answers++
      const where = this.makeWhere()
      const wanted = await collect(plain.stream({ where, values: false }))
      const told = `${this.name}, ${this.framing}, ${JSON.stringify(where)}`
      const fail = (err) => { throw new Violation('wrong answer', `${told}: ${err.message}`) }
      const found = await collect(log.stream({ where, values: false })).catch(fail)
      if (String(found) !== String(wanted)) throw new Violation('wrong answer', `${told}: ${describe(found, wanted)}`)
      const count = await log.count({ where }).catch(fail)
      if (count !== wanted.length) throw new Violation('wrong count', `${told}: ${count} instead of ${wanted.length}`)
    }
    await plain.close()
  }
}

/** @type {(found: number[], wanted: number[]) => string} */
function describe (found, wanted) {
  const missing = wanted.filter((seq) => !found.includes(seq))
  const extra = found.filter((seq) => !wanted.includes(seq))
  return `of ${wanted.length} records ${missing.length} are missing, ${missing.slice(0, 5)}, and ${extra.length} are too many, ${extra.slice(0, 5)}`
}

const stories = {
  async anything (story) {
    await story.open()
    for (let step = 0; step < 10; step++) {
      await story.append(1 + story.random(150))
      if (story.random(2) === 0) await story.settle()
      if (story.random(3) === 0 && story.log.supports.del) await story.del(5)
      await story.compare()
    }
    if (story.log.supports.compact) await story.log.compact()
    await story.compare()
    await story.settle()
    await story.compare()
    await story.log.close()
  },

  async powerCut (story) {
    await story.open()
    for (let step = 0; step < 3; step++) {
      await story.append(200)
      await story.log.index.ready()
      const { disk, log } = story
      story.disk = disk.crash((count) => story.random(count))
      await log.close()
      story.seqs = []
      // No run file can be removed until the log has gone on, perhaps beyond what it had.
      const isLate = step === 1
      if (isLate) story.log = story.openAgain({})
      else await story.open()
      await story.append(story.random(300), 'type 4')
      if (isLate) {
        await story.log.close()
        await story.open()
      }
      await story.compare()
    }
    await story.log.close()
  },

  async olderCopy (story) {
    await story.open()
    await story.append(100)
    await story.settle()
    await story.log.close()
    const copy = story.disk.list().filter((file) => !file.includes('.index')).map((file) => [file, story.disk.read(file)])
    await story.open()
    await story.append(250, 'type 0')
    await story.appendSame()
    await story.settle()
    await story.log.close()
    for (const [file, bytes] of copy) story.disk.put(file, bytes)
    // Without an index, so that it keeps what it had.
    story.log = story.openAgain({})
    await story.append(250, 'type 1')
    await story.appendSame()
    await story.log.close()
    await story.open()
    await story.compare()
    await story.log.index.ready()
    await story.compare()
    await story.log.close()
  },

  async deletedMeanwhile (story) {
    // The index reads when it is asked to.
    story.waitMs = 1e6
    await story.open()
    if (!story.log.supports.del) return await story.log.close()
    for (let turns = 0; turns < 12; turns++) {
      await story.append(70)
      await story.log.sync()
      const deleting = story.log.del(story.seqs.splice(-70, 5))
      for (let left = turns; left > 0; left--) await new Promise(setImmediate)
      await story.log.index.ready()
      await deleting
      await story.compare()
    }
    await story.settle()
    await story.compare()
    await story.log.close()
  },

  async reader (story) {
    // Of the simulated disk nobody knows whether a file was replaced.
    story.file = newPath('log')
    await story.open()
    await story.append(300)
    await story.settle()
    const reader = story.openAgain({ flags: 'r', index: story.makeIndex() })
    await reader.index.ready()
    await story.compare(reader)
    if (story.log.supports.del) {
      await story.del(30)
      await story.compare(reader)
      await story.log.compact()
    }
    await story.compare(reader)
    await story.append(100)
    await story.compare(reader)
    await reader.close()
    await story.log.close()
  }
}
