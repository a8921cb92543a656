// @ts-nocheck
'use strict'
// A log in memory, as an index sees it; and the comparison of what an index names with a scan.

const { crc32 } = require('node:zlib')
const { matches, parseWhere } = require('@millrace/where')
const { SimulatedDisk, createRandom } = require('@millrace/testkit')

const FOLDER = '/logs/a.index'
const BATCH_MAX = 40
const UNREADABLE = Symbol('bytes that do not decode')
/** What records are, decoded, by their bytes. @type {WeakMap<Buffer, any>} */
const values = new WeakMap()

class MemoryLog {
  /** @param {{ codec: any, disk?: SimulatedDisk, seed?: number }} options */
  constructor ({ codec, disk = new SimulatedDisk(), seed = 1 }) {
    this.codec = codec
    this.disk = disk
    this.folder = FOLDER
    this.storage = disk.storage
    this.findFile = () => null
    this.isReadOnly = false
    this.id = Buffer.from('0102030405060708', 'hex')
    this.epoch = 1
    /** By seq, ascending: its bytes; null once it was deleted. */
    this.records = []
    this.start = 0
    this.erasedCount = 0
    this.damages = []
    /** Of a log of several files: where each begins; null of a log of one. */
    this.borders = null
    this.scanned = 0
    this._end = 0
    this._random = createRandom(seed)
  }

  get end () { return this._end }

  get since () { return this.records.at(-1)?.seq ?? -1 }

  /** Of a log that another process writes, set `erasedCount` to null. */
  get tellsDeletions () { return this.erasedCount !== null }

  erasedCountAt () { return this.erasedCount }

  /** The same log, for an index that is opened anew, with what another disk has, or as another process reads it. */
  copy (changes = {}) {
    const { start, erasedCount, damages, borders, _end, id, epoch } = this
    const copy = new MemoryLog({ codec: this.codec, disk: changes.disk ?? this.disk })
    const records = this.records.map((record) => ({ ...record }))
    return Object.assign(copy, { records, start, erasedCount, damages, borders, _end, id, epoch }, changes)
  }

  /** What a power cut, or an older copy, lacks. @param {number} end */
  cut (end) {
    this.records = this.records.filter(({ seq }) => seq < end)
    const last = this.records[this.records.length - 1]
    this._end = last === undefined ? 0 : Math.max(last.seq + 1, Math.min(end, this._end))
  }

  /** The next record is in another file. */
  roll () {
    this._end += this._random(500)
    this.borders ??= [0]
    if (this.borders.at(-1) < this._end) this.borders.push(this._end)
  }

  /** Drops the oldest files. */
  dropBefore (seq) {
    this.start = Math.max(this.start, this.borders?.findLast((border) => border <= seq) ?? 0)
    this.records = this.records.filter((record) => record.seq >= this.start)
  }

  nextBorder (seq) { return this.borders?.find((border) => border > seq) ?? Infinity }

  identity () { return { id: this.id, epoch: this.epoch } }

  /** @param {unknown} value  or the bytes of a record */
  append (value) {
    const bytes = Buffer.isBuffer(value) ? value : this.codec.encode(value)
    const seq = this._end + this._random(3)
    const chain = crc32(bytes, this.records.at(-1)?.chain ?? 0)
    this.records.push({ seq, bytes, chain })
    this._end = seq + Math.max(1, bytes.length)
    return seq
  }

  del (seq) {
    this.records.find((record) => record.seq === seq).bytes = null
    this.erasedCount++
  }

  compact () {
    this.records = this.records.filter(({ bytes }) => bytes !== null)
    this.erasedCount = 0
    this.epoch++
    // It is written anew, so what proves a record is another number.
    let chain = this.epoch
    for (const record of this.records) chain = record.chain = crc32(record.bytes, chain)
  }

  async findErased ({ from, to }) {
    return this.records.filter(({ seq, bytes }) => bytes === null && seq >= from && seq < to).map(({ seq }) => seq)
  }

  isErased (seq) { return !this.records.some((record) => record.seq === seq && record.bytes !== null) }

  lastOf (seq) { return this.records.some((record) => record.seq === seq) }

  /** Of all that is before it, too. */
  async proof (seq) { return this.records.find((record) => record.seq === seq)?.chain ?? null }

  isDamaged (seq) { return this.damages.some(({ from, to }) => seq >= from && seq < to) }

  async scanRaw ({ from, to }, onRecords, onDamage) {
    const damages = this.damages.filter((damage) => damage.to > from && damage.from < to)
    const wanted = this.records.filter(({ seq, bytes }) => {
      return seq >= from && seq < to && bytes !== null && !this.isDamaged(seq)
    })
    while (true) {
      await new Promise(setImmediate)
      const [next] = wanted
      if (damages.length > 0 && (next === undefined || next.seq >= damages[0].from)) {
        onDamage(damages.shift())
        continue
      }
      if (next === undefined) return
      const size = 1 + this._random(BATCH_MAX)
      const batch = []
      const isBefore = () => damages.length === 0 || wanted[0].seq < damages[0].from
      while (batch.length < size && wanted.length > 0 && isBefore()) batch.push(wanted.shift())
      this.scanned += batch.length
      if (await onRecords(this.toRun(batch.filter(({ bytes }) => bytes !== null))) === false) return
    }
  }

  /** As a log delivers records: in a buffer that it reuses. */
  toRun (records) {
    const buffer = Buffer.concat([Buffer.from('"{'), ...records.flatMap(({ bytes }) => [bytes, Buffer.from('"}')])])
    const starts = new Uint32Array(records.length + 5)
    const ends = new Uint32Array(records.length + 5)
    let at = 2
    records.forEach(({ bytes }, index) => {
      starts[index] = at
      ends[index] = at + bytes.length
      at += bytes.length + 2
    })
    return { buffer, count: records.length, seqs: records.map(({ seq }) => seq), starts, ends }
  }

  /** As a log filters: of bytes that do not decode, the codec says whether they match. */
  compile (where) {
    const filters = parseWhere(where)
    const test = this.codec.compile?.(where) ?? (() => false)
    return (bytes) => {
      if (bytes === null) return false
      const value = this.decode(bytes)
      return value === UNREADABLE ? test(bytes, 0, bytes.length) : matches(filters, value)
    }
  }

  /** Each once: that takes longer than all else. */
  decode (bytes) {
    if (!values.has(bytes)) {
      let value = UNREADABLE
      try {
        value = this.codec.decode(bytes)
      } catch {}
      values.set(bytes, value)
    }
    return values.get(bytes)
  }

  /** As `compile`, of records; each is tested once. */
  createTest (where) {
    const isMatch = this.compile(where)
    const known = new Map()
    return (record) => {
      if (!known.has(record.bytes)) known.set(record.bytes, isMatch(record.bytes))
      return known.get(record.bytes)
    }
  }

  /** What a scan finds. */
  find (where, { from = this.start, to = this._end, reverse = false } = {}, isMatch = this.createTest(where)) {
    const records = this.records.filter((record) => record.seq >= from && record.seq < to && isMatch(record))
    const found = records.map(({ seq }) => seq)
    return reverse ? found.reverse() : found
  }

  /** What the log finds in the parts of an index. Throws if they are not in order, or outside of the range. */
  findIn (parts, where, { from = 0, to = this._end, reverse = false } = {}, isMatch = this.createTest(where)) {
    const bySeq = new Map(this.records.map((record) => [record.seq, record]))
    const found = []
    let last = reverse ? to : from - 1
    const check = (seq) => {
      const isInOrder = reverse ? seq < last && seq >= from : seq > last && seq < to
      if (!isInOrder) throw new Error(`${seq} comes after ${last}, of ${from} to ${to}`)
      last = seq
    }
    for (const part of parts) {
      if ('seqs' in part) {
        for (const seq of part.seqs) {
          check(seq)
          if (bySeq.has(seq) && isMatch(bySeq.get(seq))) found.push(seq)
        }
      } else {
        if (part.from >= part.to) throw new Error(`an empty part ${JSON.stringify(part)}`)
        check(reverse ? part.to - 1 : part.from)
        for (const seq of this.find(where, { ...part, reverse }, isMatch)) found.push(seq)
        last = reverse ? part.from : part.to - 1
      }
    }
    return found
  }

  /** Whether an index finds what a scan does; gives what is wrong, or null. */
  compare (index, where, range = {}) {
    const isMatch = this.createTest(where)
    const expected = this.find(where, range, isMatch)
    const parts = index.parts(where, range)
    const show = (found) => `${JSON.stringify([where, range, found])} instead of ${JSON.stringify(expected)}`
    if (parts !== null) {
      const found = this.findIn(parts, where, range, isMatch)
      if (String(found) !== String(expected)) return show(found)
    }
    const counted = index.count(where, range)
    if (counted !== null) {
      const count = counted.sure + this.findIn(counted.parts, where, { ...range, reverse: false }, isMatch).length
      if (count !== expected.length) return show(`a count of ${counted.sure} + ${count - counted.sure}`)
    }
    index.explain(where, range)
    return null
  }
}

exports.FOLDER = FOLDER
exports.MemoryLog = MemoryLog
