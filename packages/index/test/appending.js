// @ts-nocheck
'use strict'
// A log in memory that appends as a real one does, while an index notes what is appended: appends wait to be written,
// may fail, can be read later, and are told later still.

const { parseWhere } = require('@millrace/where')
const { makeBytes } = require('./cases')
const { MemoryLog } = require('./memory-log')

/** What was appended may become readable later. */
class HidingLog extends MemoryLog {
  hiddenFrom = Infinity

  get end () { return Math.min(this._end, this.hiddenFrom) }

  get since () { return this.records.findLast(({ seq }) => seq < this.hiddenFrom)?.seq ?? -1 }
}

/** A log in memory whose appends wait to be written, may fail, and are told later. */
class Queue {
  constructor (log, random) {
    this.log = log
    this.random = random
    this.waiting = []
    this.untold = []
    this.recent = null
    this.flush = null
  }

  /** Not every value can be encoded. */
  makeRecord () {
    while (true) {
      try {
        return Buffer.from(makeBytes(this.random, this.log.codec))
      } catch {}
    }
  }

  append (count) {
    const records = Array.from({ length: count }, () => this.makeRecord())
    const position = this.recent === null ? -1 : this.recent.note(records.length === 1 ? records[0] : records)
    this.waiting.push({ records, position })
    // It ends if nobody asks for long.
    this.recent?.rulesOut(parseWhere([]), -1)
  }

  /** It returns once it is written, before it can be read. */
  appendNow () {
    const { log } = this
    this.write()
    log.hiddenFrom = Math.min(log.hiddenFrom, log.end)
    this.append(1)
    const [{ records: [record], position }] = this.waiting.splice(0)
    const seq = log.append(record)
    if (position !== -1) this.recent.settle(position, seq)
  }

  show () {
    this.log.hiddenFrom = Infinity
  }

  write (count = Infinity) {
    for (; count > 0 && this.waiting.length > 0; count--) {
      const { records, position } = this.waiting.shift()
      if (this.random(8) === 0) continue
      const seqs = records.map((record) => this.log.append(record))
      this.untold.push({ position, seq: seqs.at(-1) })
    }
  }

  tell (count = Infinity) {
    for (const { position, seq } of this.untold.splice(0, count)) if (position !== -1) this.recent.settle(position, seq)
  }

  /** As a log begins when it gets an append with a condition. */
  begin (index) {
    this.recent = index.recent()
    if (this.recent.isActive) return
    const position = this.recent.begin()
    if (position === -1) return
    const isIdle = this.waiting.length === 0 && this.log.hiddenFrom === Infinity
    if (isIdle) this.recent.settle(position, this.since + 1)
    // It waits as an append of nothing does.
    else this.flush = { position, last: this.waiting.at(-1) }
  }

  endFlush () {
    const isOver = this.flush !== null && !this.waiting.includes(this.flush.last) && this.log.hiddenFrom === Infinity
    if (!isOver) return
    this.recent.settle(this.flush.position, this.since + 1)
    this.flush = null
  }

  get since () { return this.log.records.at(-1)?.seq ?? -1 }

  /** The value of any record; often of a new one. */
  pickValue () {
    const { records } = this.log
    const isWaiting = this.random(4) === 0
    const record = isWaiting ? null : records.at(-1 - this.random(this.random(2) === 0 ? records.length : 60))
    const bytes = isWaiting ? this.waiting.at(-1 - this.random(this.waiting.length))?.records[0] : record?.bytes
    try {
      return this.log.codec.decode(bytes)
    } catch {
      return null
    }
  }

  hasMatch (where, since) {
    const isMatch = this.log.compile(where)
    const isWaiting = this.waiting.some(({ records }) => records.some(isMatch))
    return isWaiting || this.log.find(where, { from: since + 1 }).length > 0
  }
}

/** Something that happens to a log, its queue, and its index. */
async function step (queue, index, random) {
  const { log } = queue
  switch (random(15)) {
    case 0: return index.ready()
    case 1: {
      const seqs = log.records.filter(({ bytes }) => bytes !== null && random(30) === 0).map(({ seq }) => seq)
      for (const seq of seqs) log.del(seq)
      return index.deleted(seqs)
    }
    case 2: {
      if (random(4) > 0 || log.borders !== null) return
      queue.show()
      index.compacting()
      queue.append(1)
      if (random(2) === 0) queue.begin(index)
      // What has been written is told before, or never: its seqs are others now.
      queue.untold = []
      log.compact()
      if (random(2) === 0) renumber(log)
      return index.compacted()
    }
    case 3:
      if (log.borders === null) return
      log.roll()
      if (random(4) === 0) log.dropBefore(random(log.end))
      break
    case 5:
    case 6:
    case 7:
      queue.write(random(60))
      if (random(3) > 0) queue.tell(random(60))
      break
    case 8:
      queue.show()
      queue.write()
      queue.tell()
      break
    case 9:
      if (random(2) === 0) queue.appendNow()
      else queue.show()
      break
    default:
      for (let left = random(20); left > 0; left--) {
        queue.append(random(5) === 0 ? 2 + random(4) : 1)
      }
      index.appended()
      await new Promise(setImmediate)
  }
}

/** As a compaction of lines. */
function renumber (log) {
  log.records.forEach((record, index) => { record.seq = 2 * index })
  log._end = 2 * log.records.length
}

exports.HidingLog = HidingLog
exports.Queue = Queue
exports.step = step
