'use strict'
// Random lives of a log of events and its counts, on a disk that loses power, beside an oracle: a list of all records
// that the log has, or had before their segments were dropped. Before any change of a file the process may be killed,
// or the power cut: what is left then is another story, which must have the right counts too.

const { promisesOf } = require('@millrace/flow')
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

  /** What was left at changes of files. @type {Array<{ disk: SimulatedDisk, archive: Map, when: string }>} */
  #ends = []

  /** @param {number} seed  @param {number} endShare  the process ends at one of so many changes of a file */
  constructor (seed, endShare = Infinity) {
    this.random = createRandom(seed)
    this.endShare = endShare
    // Counting again takes times to be in order: it cannot know of which days the records were that are gone.
    this.isOrdered = endShare === Infinity || this.random(2) === 0
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
      else if (kind === 9 && this.isOrdered) await this.#counter.recount()
      else if (kind === 10) await this.#failSync()
      else await this.#committer.flush()
      await this.#checkEnds()
    }
    if (random(3) > 0) await this.check('at the end')
    const end = random(3)
    const old = this.#parts
    if (end === 0) await this.#close(old)
    if (end === 1) this.#disk = this.#disk.clone()
    if (end === 2) this.#disk = this.#disk.crash(random)
    // What goes on there is on a disk of the past.
    if (end > 0) await this.#close(old)
    await this.#open()
    await this.check(['after close', 'after a kill', 'after a power cut'][end])
    await this.#close(this.#parts)
    await this.#checkEnds()
  }

  /** @param {{ name: string, path: string }} call */
  #mayEnd = ({ name, path }) => {
    if (this.endShare === Infinity || this.random(this.endShare) > 0) return
    const isKill = this.random(2) === 0
    const disk = isKill ? this.#disk.clone() : this.#disk.crash(this.random)
    this.#ends.push({ disk, archive: new Map(this.#archive), when: `${isKill ? 'killed' : 'power cut'} before ${name} ${path}` })
  }

  async #checkEnds () {
    for (const { disk, archive, when } of this.#ends.splice(0)) {
      const other = new CountsStory(this.random(1e9))
      other.#disk = disk
      other.#archive = archive
      await other.#open()
      await other.check(when)
      // Then it is saved, and read once more.
      await other.#close(other.#parts)
      await other.#open()
      await other.check(`${when}, and started twice`)
      await other.#close(other.#parts)
      this.failures.push(...other.failures)
    }
  }

  get #parts () {
    return { log: this.#log, counter: this.#counter, committer: this.#committer }
  }

  #log
  #counter
  #committer

  async #open () {
    this.#disk.onChange = this.#mayEnd
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
    await promisesOf(log).close().catch(() => {})
  }

  #submit () {
    const { random } = this
    if (random(6) === 0) this.#timeMs += random(DAY_MS * 2)
    // A record waited over midnight, or a clock was wrong.
    if (!this.isOrdered && random(20) === 0) this.#timeMs -= random(DAY_MS * 4)
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
    await promisesOf(this.#log).sync().catch(() => {})
    this.#disk.decide = () => {}
    if (isFailing) return
    await promisesOf(this.#log).close().catch(() => {})
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
