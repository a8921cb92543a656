'use strict'
// Every call to the storage of the counts and their log fails in turn: the counts are those of the records that the log
// has, and the same counter goes on once the storage works again.

const tape = require('tape')
const { promisesOf } = require('@millrace/flow')
const { SegmentedLog } = require('@millrace/segmented-log')
const { failEachCall, isLongRun } = require('@millrace/testkit')
const { Committer } = require('../lib/committer')
const { Counter } = require('../lib/counts/counter')
const { formatDay, pairOf } = require('../lib/counts/tally')
const { decodeRecord, recordCodec } = require('../lib/record')
const { encodeRecords } = require('./helpers')

const DAY_MS = 24 * 3600 * 1000
const FIRST_MS = Date.UTC(2026, 10, 1)

/** The parts of a server that count, and what they share. */
class Counting {
  failures = []

  /** Whether the counter has read what it has saved. */
  isOpen = false

  constructor (storage) {
    this.storage = storage
    this.log = SegmentedLog('/data/log-se', { storage, codec: recordCodec, segmentSize: 700, cache: 0 })
    const onFailure = (err) => this.failures.push(err)
    const limits = { eventsPerDay: 1000, unsavedSize: Infinity }
    this.counter = new Counter(this.log, { storage, folder: '/data/counts', ...limits, onFailure })
    const onWritten = this.counter.written.bind(this.counter)
    this.committer = new Committer(this.log, { bufferMs: 1, pendingSize: Infinity, onFailure, onWritten })
  }

  async open () {
    await this.log.ready()
    if (this.log.recovery?.uncopied) throw this.log.recovery.uncopied.cause
    await this.counter.open()
    this.isOpen = true
  }

  submit (timeMs, event, ack) {
    const values = [{ source: 'a', event }, { source: 'b', event }, 3]
    const events = this.counter.admit(timeMs, values.flatMap(pairOf))
    const records = encodeRecords(timeMs, values.map((value) => JSON.stringify(value)))
    this.committer.submit(records, ack, () => {}, { events })
  }

  async close () {
    await this.committer.flush()
    this.committer.stop()
    if (this.isOpen) await this.counter.close()
    await promisesOf(this.log).close().catch(() => {})
  }

  /** How the counts differ from the records; null if they do not. */
  async compare () {
    await this.committer.flush()
    await this.counter.catchUp()
    const expected = new Map()
    for await (const { value } of this.log.stream()) {
      const { time, value: inner } = decodeRecord(value)
      const pair = pairOf(inner)
      const text = `${formatDay(Math.floor(time / DAY_MS))} ${pair.join('/')}`
      if (pair.length > 0) expected.set(text, (expected.get(text) ?? 0) + 1)
    }
    const found = new Map()
    for (const day of this.counter.listDays()) {
      const rows = await this.counter.readDay(day)
      for (const [source, event, count] of rows) found.set(`${formatDay(day)} ${source}/${event}`, count)
    }
    const texts = [...new Set([...expected.keys(), ...found.keys()])]
    const wrong = texts.filter((text) => expected.get(text) !== found.get(text))
    return wrong.length === 0 ? null : wrong.map((text) => `${text} is ${found.get(text)}, not ${expected.get(text)}`).join('; ')
  }
}

async function work (run) {
  const { failing } = run
  let counting = new Counting(failing.storage)
  const compare = async (where, call) => {
    const { value } = await call(`counts ${where}`, () => counting.compare())
    if (value) run.report(`${where}: ${value}`)
  }
  const did = (name, action) => run.did(name, action)
  for (let session = 0; session < 3; session++) {
    await did('open', () => counting.open())
    if (counting.isOpen) {
      for (let day = 0; day < 3; day++) {
        const timeMs = FIRST_MS + DAY_MS * (2 * session + day)
        for (const ack of ['written', 'synced', 'buffered']) {
          counting.submit(timeMs, ack, ack)
          await counting.committer.flush()
        }
        await did('save', () => counting.counter.save())
      }
      if (session === 1) await did('recount', () => counting.counter.recount())
      await compare(`in session ${session}`, did)
    }
    if (session < 2) {
      await did('close', () => counting.close())
      counting = new Counting(failing.storage)
    }
  }
  failing.isMended = true
  const { err } = await did('append', () => counting.log.append([]))
  if (err || !counting.isOpen || counting.failures.some(({ code }) => code === 'ERR_LOG_POISONED')) {
    await did('close', () => counting.close())
    counting = new Counting(failing.storage)
    await run.must('open again', () => counting.open())
  }
  counting.submit(FIRST_MS + DAY_MS * 9, 'last', 'written')
  await compare('mended', async (name, action) => ({ value: await run.must(name, action) }))
  await run.must('save, mended', () => counting.counter.save())
  await run.must('close, mended', () => counting.close())
}

async function examine (run, disk, where) {
  for (const time of ['', ', a second time']) {
    const counting = new Counting(disk.storage)
    await run.must(`open ${where}${time}`, () => counting.open())
    const wrong = await run.must(`counts ${where}${time}`, () => counting.compare())
    if (wrong) run.report(`${where}${time}: ${wrong}`)
    counting.submit(FIRST_MS + DAY_MS * 9, 'after', 'written')
    await run.must(`close ${where}`, () => counting.close())
  }
}

tape('counts: whatever call fails, they are those of the log, and the counter goes on', async (t) => {
  const runs = await failEachCall({ work, examine, step: isLongRun ? 1 : 997, report: (problem) => t.fail(problem) })
  t.ok(runs > 20, `${runs} runs`)
})
