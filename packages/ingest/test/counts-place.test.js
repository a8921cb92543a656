'use strict'
// The counts, and what happened to their log between two openings: if it is not the log that was counted, they are
// refused until it is counted again; otherwise they go on. As histories.test.js of view.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { acceptLines } = require('@millrace/offset-log/copies')
const { SegmentedLog } = require('@millrace/segmented-log')
const { createRandom, failureOf, inQuickRuns, temporaryFolder } = require('@millrace/testkit')
const { Counter } = require('../lib/counts/counter')
const { pairOf } = require('../lib/counts/tally')
const { decodeRecord, recordCodec } = require('../lib/record')
const { encodeRecords } = require('./helpers')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUND_COUNT = inQuickRuns(40, 12)
const TIME_MS = Date.UTC(2026, 10, 1)

class History {
  constructor (framing, seed) {
    this.framing = framing
    this.random = createRandom(seed)
    this.folder = temporaryFolder()
    this.path = path.join(this.folder, 'log-se')
    this.pad = 'x'.repeat([10, 2000][this.random(2)])
  }

  /** @param {(log: any) => any} use */
  async with (use) {
    const log = SegmentedLog(this.path, { codec: recordCodec, fsync: 'never', framing: this.framing })
    await log.ready()
    try {
      return await use(log)
    } finally {
      await log.close()
    }
  }

  makeEvents (count) {
    return Array.from({ length: count }, () => 'abcdefgh'[this.random(8)])
  }

  async append (log, events) {
    for (const event of events) {
      const text = JSON.stringify({ source: 's', event, text: this.pad })
      await log.append(encodeRecords(TIME_MS, [text], null))
    }
  }

  async make () {
    await this.with(async (log) => {
      await this.append(log, this.makeEvents(12 + this.random(20)))
      if (this.random(2) === 0) await log.roll()
      await this.append(log, this.makeEvents(5 + this.random(20)))
    })
    await this.count()
  }

  /**
   * The counts that are there, or the code of a failure.
   * @param {(counter: Counter, log: any) => any} [use]
   */
  async count (use = () => {}) {
    return await this.with(async (log) => {
      const folder = path.join(this.folder, 'counts')
      const options = { storage: fileStorage, folder, eventsPerDay: 100, unsavedSize: Infinity, onFailure: () => {} }
      const counter = new Counter(log, options)
      await counter.open()
      await use(counter, log)
      const err = await failureOf(() => counter.catchUp())
      const counts = {}
      for (const day of counter.listDays()) {
        for (const [, event, count] of await counter.readDay(day)) counts[event] = count
      }
      await counter.close()
      return { counts, code: err?.code ?? null }
    })
  }

  async scan () {
    return await this.with(async (log) => {
      const counts = {}
      for await (const { value } of log.stream({})) {
        const [, event] = pairOf(decodeRecord(value).value)
        counts[event] = (counts[event] ?? 0) + 1
      }
      return counts
    })
  }

  copy () {
    const to = temporaryFolder()
    fs.cpSync(this.path, to, { recursive: true })
    return to
  }

  restore (copy) {
    fs.rmSync(this.path, { recursive: true })
    fs.cpSync(copy, this.path, { recursive: true })
  }

  get texts () {
    const names = fs.readdirSync(this.path).filter((name) => name.endsWith('.jsonl'))
    return names.sort().map((name) => path.join(this.path, name))
  }

  edit () {
    const texts = this.texts.filter((file) => fs.statSync(file).size > 0)
    const file = texts[this.random(texts.length)]
    const found = [...fs.readFileSync(file, 'latin1').matchAll(/"event":"(.)/g)]
    const { index, 1: event } = found[this.random(found.length)]
    const handle = fs.openSync(file, 'r+')
    fs.writeSync(handle, event === 'a' ? 'b' : 'a', index + '"event":"'.length)
    fs.closeSync(handle)
    return file
  }
}

const changes = {
  nothing: { run: () => {} },
  more: { run: (story) => story.with((log) => story.append(log, story.makeEvents(3))) },
  rolled: {
    run: (story) => story.with(async (log) => {
      await log.roll()
      await story.append(log, story.makeEvents(3))
    })
  },
  'a torn end': { of: ['lines'], run: (story) => fs.appendFileSync(story.texts.at(-1), '{"time":') },
  'a line edited': { of: ['lines'], isOther: true, run: (story) => { story.edit() } },
  'a line edited and accepted': {
    of: ['lines'],
    isOther: true,
    run: (story) => acceptLines(story.edit(), { onProgress: () => {} })
  },
  'a line edited while it was open': {
    of: ['lines'],
    isOther: true,
    // The log has not noticed, and the counts are saved afterwards.
    run: (story) => story.count(async (counter, log) => {
      await counter.catchUp()
      const events = counter.admit(TIME_MS, ['s', 'c'])
      const [record] = encodeRecords(TIME_MS, ['{"source":"s","event":"c"}'], null)
      counter.written(events, record.length, null, await log.append(record))
      story.edit()
    })
  },
  'an older copy that has outgrown it': {
    isOther: true,
    run: async (story) => {
      const older = story.copy()
      const events = story.makeEvents(12 + story.random(10))
      const others = events.slice()
      const at = story.random(events.length)
      others[at] = events[at] === 'a' ? 'b' : 'a'
      await story.with((log) => story.append(log, events))
      await story.count()
      story.restore(older)
      await story.with((log) => story.append(log, [...others, ...story.makeEvents(story.random(3))]))
    }
  }
}

for (const framing of ['checked', 'lines']) {
  for (const [name, { run, of = [framing], isOther = false }] of Object.entries(changes)) {
    if (!of.includes(framing)) continue
    tape(`counts: of segments of ${framing}, ${name} (seed ${seed})`, async (t) => {
      const random = createRandom(seed)
      const tell = async (own) => {
        const story = new History(framing, own)
        await story.make()
        await run(story)
        const first = await story.count()
        if (isOther && first.code !== 'counts_stale') return [`${own}: ${first.code}`]
        const now = isOther ? await story.count((counter) => counter.recount()) : first
        const wanted = await story.scan()
        const [found, expected] = [now.counts, wanted].map((counts) => JSON.stringify(Object.entries(counts).sort()))
        return now.code === null && found === expected ? [] : [`${own}: ${now.code}, ${found}, not ${expected}`]
      }
      const wrongs = await Promise.all(Array.from({ length: ROUND_COUNT }, () => tell(random(2 ** 31))))
      t.deepEqual(wrongs.flat(), [], `of ${ROUND_COUNT}`)
    })
  }
}
