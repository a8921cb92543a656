'use strict'
// Random lives of a log of events and its counts, on a disk that loses power, beside an oracle: a list of all records
// that the log has, or had before their segments were dropped.

const { call } = require('@millrace/flow')
const { SegmentedLog } = require('@millrace/segmented-log')
const { SimulatedDisk, createRandom } = require('@millrace/testkit')
const { Committer } = require('../lib/committer')
const { Counter } = require('../lib/counts/counter')
const { formatDay, pairOf } = require('../lib/counts/tally')
const { decodeRecord, recordCodec } = require('../lib/record')
const { encodeRecords } = require('./helpers')

const FOLDER = '/data/log-se'
const DAY_MS = 24 * 3600 * 1000
const NAMES = ['a', 'b', 'a b', '__proto__', '\u0000', 'ü']

class CountsStory {
  failures = []
  #disk = new SimulatedDisk()
  #timeMs = Date.UTC(2026, 10, 1)
  /** By seq: `day source event`, or null if a record is no event. @type {Map<number, string | null>} */
  #archive = new Map()

  constructor (seed) {
    this.random = createRandom(seed)
  }

  /** A process, until it ends by itself or in one of the worse ways. */
  async live () {
    const { random } = this
    await this.#open()
    for (let step = random(30); step > 0; step--) {
      const kind = random(12)
      if (kind < 6) this.#submit()
      else if (kind === 6) await this.check('between')
      else if (kind === 7) await this.#counter.save()
      else if (kind === 8) await this.#drop()
      else if (kind === 9) await this.#counter.recount()
      else if (kind === 10) await this.#failSync()
      else await this.#committer.flush()
    }
    if (random(3) > 0) await this.check('at the end')
    const end = random(3)
    const old = { log: this.#log, counter: this.#counter, committer: this.#committer }
    if (end === 0) await this.#close(old)
    if (end === 1) this.#disk = this.#disk.clone()
    if (end === 2) this.#disk = this.#disk.crash(random)
    // What goes on there is on a disk of the past.
    if (end > 0) await this.#close(old)
    await this.#open()
    await this.check(['after close', 'after a kill', 'after a power cut'][end])
    await this.#close({ log: this.#log, counter: this.#counter, committer: this.#committer })
  }

  #log
  #counter
  #committer

  async #open () {
    this.#log = await this.#openLog()
    this.#counter = new Counter(this.#log, {
      storage: this.#disk.storage,
      folder: '/data/counts',
      eventsPerDay: 1000,
      unsavedSize: Infinity,
      onFailure: () => {}
    })
    await this.#counter.open()
    this.#committer = new Committer(this.#log, {
      bufferMs: 1,
      pendingSize: Infinity,
      onFailure: () => {},
      onWritten: this.#counter.written.bind(this.#counter)
    })
  }

  async #openLog () {
    const log = SegmentedLog(FOLDER, { storage: this.#disk.storage, codec: recordCodec, fsync: 'never' })
    await log.ready()
    if (log.recovery?.uncopied) throw log.recovery.uncopied.cause
    return log
  }

  async #close ({ log, counter, committer }) {
    await committer.flush()
    committer.stop()
    await counter.close()
    await call(log, 'close').catch(() => {})
  }

  #submit () {
    const { random } = this
    if (random(6) === 0) this.#timeMs += random(DAY_MS * 2)
    const values = Array.from({ length: 1 + random(4) }, () => {
      if (random(8) === 0) return [3, null, { source: 'a' }, { source: '', event: 'b' }][random(4)]
      return { source: NAMES[random(NAMES.length)], event: NAMES[random(NAMES.length)] }
    })
    const events = this.#counter.admit(this.#timeMs, values.flatMap(pairOf))
    const records = encodeRecords(this.#timeMs, values.map((value) => JSON.stringify(value)), null)
    this.#committer.submit(records, ['written', 'buffered', 'synced'][random(3)], () => {}, { events })
  }

  /** Takes up what is in the log now. What was in front of it stays: it was dropped. */
  async #archiveLog () {
    const found = new Map()
    for await (const { seq, value } of this.#log.stream()) {
      const { time, value: inner } = decodeRecord(value)
      const pair = pairOf(inner)
      found.set(seq, pair.length === 0 ? null : `${formatDay(Math.floor(time / DAY_MS))} ${pair.join('/')}`)
    }
    const first = await this.#log.first({ values: false }) ?? 0
    for (const seq of this.#archive.keys()) if (seq >= first) this.#archive.delete(seq)
    for (const [seq, text] of found) this.#archive.set(seq, text)
  }

  async #drop () {
    await this.#committer.flush()
    await this.#archiveLog()
    await this.#log.roll()
    const seqs = [...this.#archive.keys()]
    if (seqs.length > 0) await this.#log.dropBefore(seqs[this.random(seqs.length)])
  }

  /** A failed sync poisons the log; it is opened again, as a server does. */
  async #failSync () {
    await this.#committer.flush()
    let isFailing = true
    this.#disk.decide = ({ name, path }) => {
      if (!isFailing || name !== 'sync' || !path.startsWith(FOLDER)) return
      isFailing = false
      return { code: 'EIO', losesPages: true }
    }
    await call(this.#log, 'sync').catch(() => {})
    this.#disk.decide = () => {}
    if (isFailing) return
    await call(this.#log, 'close').catch(() => {})
    this.#log = await this.#openLog()
    await this.#counter.restart(this.#log)
    this.#committer.replaceLog(this.#log)
  }

  async check (when) {
    await this.#committer.flush()
    await this.#counter.catchUp()
    await this.#archiveLog()
    const expected = new Map()
    for (const text of this.#archive.values()) if (text !== null) expected.set(text, (expected.get(text) ?? 0) + 1)
    const found = new Map()
    for (const day of this.#counter.listDays()) {
      for (const [source, event, count] of await this.#counter.readDay(day)) found.set(`${formatDay(day)} ${source}/${event}`, count)
    }
    for (const text of new Set([...expected.keys(), ...found.keys()])) {
      if (expected.get(text) === found.get(text)) continue
      this.failures.push(`${when}: ${JSON.stringify(text)} is ${found.get(text)}, not ${expected.get(text)}`)
    }
  }
}

exports.CountsStory = CountsStory
