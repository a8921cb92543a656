'use strict'
// Reads the records of a range. The first few are read one by one, directly; for more, the server makes a consumer that
// keeps no state (pulling.js). A reversed read stays with single records.
//
// Any replica may answer, also one that is behind. So what an answer lacks, the leader is asked for. A record is only
// asked for if its seq was given before. If the leader has not got it either, then it was deleted.
//
// The server can also answer one request with many records. In 2.12.1 that request and an atomic batch, at the same
// time, stop the stream for good: it locks what it has locked already (`getDirectRequest` calls `lastSeq`).

const { misuse } = require('@millrace/errors')
const { pause, toCallback } = require('@millrace/flow')
const { RecordRun, errors } = require('@millrace/offset-log/composing')
const { retained } = require('./failures')
const { mayDrop } = require('./opening')
const { Puller } = require('./pulling')

/** A run has room for no more. */
const RUN_COUNT_MAX = 4096
/** So many records are read one by one, at the same time; a consumer must be worth its making. */
const SINGLE_COUNT_MAX = 64
/** A replica that is behind catches up within that time, or another one is asked. */
const BEHIND_MS = 20
/** After so many answers without a record that the leader has, the leader is asked for it. */
const BEHIND_COUNT_MAX = 25

/**
 * @typedef {import('./core').Core} Core
 * @typedef {import('@millrace/offset-log/composing').Range} Range
 * @typedef {{ seq: number, data: Uint8Array, message?: import('@nats-io/transport-node').Msg }} Found  `message` is of
 *   a consumer
 * @typedef {(err: Error | null, records?: RecordRun) => void} NextCallback
 * @typedef {{ records: Found[], next: number }} Piece  all records below `next`
 * @typedef {{ from: number, deletionCount: number, piece: Promise<Piece> }} Ahead  `deletionCount` when it was asked
 *   for
 */

/** Reads a range of the stream, as the streams and scans of offset-log read a file. */
class StreamReader {
  #core
  #isWanted
  #reverse
  #skipsRetained
  /** What is left of the range: from the lowest seq to one below `stop`. */
  #from
  #stop
  /** Records that are still wanted, if no filter leaves some out. */
  #left
  #run = new RecordRun()
  /** Of a forward reader: the next piece, read while the user has the one before. @type {Ahead | null} */
  #ahead = null
  #puller
  /** So many answers in a row lacked what the leader has. */
  #behindCount = 0
  lost = { count: 0, size: 0 }

  /** @param {Core} core  @param {Range} range */
  constructor (core, range) {
    this.#core = core
    this.#isWanted = core.options.codec.compile(range.where)
    this.#reverse = range.reverse
    this.#skipsRetained = range.skipsRetained
    this.#from = Math.max(1, range.from)
    this.#stop = range.stop
    this.#left = range.where === null ? range.limit : Infinity
    this.#puller = new Puller(core)
  }

  async open () {
    if (!this.#reverse) return
    // Otherwise it would look for records through all that was dropped at the front.
    const { state } = await this.#core.look('stream')
    this.#from = Math.max(this.#from, state.first_seq)
  }

  get isDone () {
    return this.#from >= this.#stop
  }

  /** @type {(logEnd: number, cb: NextCallback) => void} */
  next (logEnd, cb) {
    const stop = Math.min(this.#stop, logEnd)
    this.#run.clear()
    if (this.#from >= stop) return cb(null, this.#run)
    toCallback(this.#reverse ? this.#readBackward(stop) : this.#readForward(stop), cb)
  }

  /** @param {number} stop */
  async #readForward (stop) {
    const run = this.#run
    if (this.#ahead?.deletionCount !== this.#core.file.blocks.rewriteCount) this.#dropAhead()
    const ahead = this.#ahead
    this.#ahead = null
    const count = Math.min(run.seqs.length, this.#left)
    let { records, next } = await (ahead?.from === this.#from ? ahead.piece : this.#readPiece(this.#from, stop, count))
    while (records.length === 0 && next < stop) ({ records, next } = await this.#readPiece(next, stop, count))
    const gap = this.#skipsRetained ? null : findGap(this.#from, records, next)
    if (gap !== null) await checkRetained(this.#core, 'stream', gap)
    this.#fill(records)
    this.#from = next
    if (records.length === count && next < stop && this.#left > 0) {
      const piece = this.#readPiece(next, stop, Math.min(2 * count, RUN_COUNT_MAX, this.#left))
      // Its failure is reported when it is used.
      piece.catch(() => {})
      this.#ahead = { from: next, deletionCount: this.#core.file.blocks.rewriteCount, piece }
    }
    return run
  }

  /** @param {number} stop */
  async #readBackward (stop) {
    const run = this.#run
    const count = Math.min(run.seqs.length, this.#left, SINGLE_COUNT_MAX)
    // Where many records are deleted, it looks through more and more seqs at a time.
    for (let top = stop, width = count; ; width = Math.min(2 * width, SINGLE_COUNT_MAX)) {
      const bottom = Math.max(this.#from, top - width)
      /** @type {Found[]} */
      const found = []
      for (let from = bottom; from < top;) {
        const { records, next } = await this.#readPiece(from, top, width)
        found.push(...records)
        from = next
      }
      const kept = found.slice(-count).reverse()
      top = this.#stop = kept.length > 0 ? kept[kept.length - 1].seq : bottom
      this.#fill(kept)
      if (kept.length > 0 || top <= this.#from) return run
    }
  }

  /**
   * @param {number} from
   * @param {number} stop
   * @param {number} count  of the records, at most
   * @returns {Promise<Piece>}
   */
  async #readPiece (from, stop, count) {
    const core = this.#core
    const puller = this.#puller
    const isShort = count <= SINGLE_COUNT_MAX || this.#reverse
    const end = isShort ? Math.min(stop, from + count) : stop
    for (;;) {
      const found = isShort ? await readSingles(core, from, end) : await core.ask('stream', () => puller.pull(from, end, count))
      // What this log has deleted, a replica may still have.
      const records = core.erased.size === 0 ? found : found.filter(({ seq }) => !core.erased.has(seq))
      if (found.length > 0) {
        this.#behindCount = 0
        return { records, next: isShort ? end : found[found.length - 1].seq + 1 }
      }
      // Everything up to the next one was deleted, or this replica is behind.
      const next = await findNext(core, from, stop)
      if (next > from) return { records, next }
      if (++this.#behindCount > BEHIND_COUNT_MAX) {
        const end = Math.min(stop, from + Math.min(count, SINGLE_COUNT_MAX))
        return { records: await readAllFromLeader(core, from, end), next: end }
      }
      await pause(BEHIND_MS)
    }
  }

  /** @param {Found[]} records */
  #fill (records) {
    const run = this.#run
    this.#left -= records.length
    const size = records.reduce((sum, { data }) => sum + data.length, 0)
    const buffer = Buffer.allocUnsafeSlow(size)
    let start = 0
    for (const { seq, data } of records) {
      buffer.set(data, start)
      run.add(seq, start, start + data.length)
      start += data.length
    }
    run.buffer = buffer
  }

  /** @type {(records: RecordRun) => import('@millrace/errors').LogError | null} */
  applyFilter (records) {
    return this.#isWanted === null ? null : records.applyFilter(this.#isWanted, this.#core.options.codec.name)
  }

  /** It may still be under way, with its puller, which must not be asked for two pieces at the same time. */
  #dropAhead () {
    if (this.#ahead === null) return
    this.#ahead = null
    this.#puller = new Puller(this.#core)
  }

  /** Continues from a delivered record, with bytes read again. @param {number} index  in the run */
  rewindTo (index) {
    const { seqs, count } = this.#run
    this.#dropAhead()
    this.#left += count - index
    if (this.#reverse) this.#stop = seqs[index] + 1
    else this.#from = seqs[index]
  }

  stopKeepingBytes () {}
}

/**
 * The first seq that is missing in a piece. A range from the beginning begins at the first record that is kept.
 * @type {(from: number, records: Found[], next: number) => number | null}
 */
function findGap (from, records, next) {
  let seq = from === 1 && records.length > 0 ? records[0].seq : from
  if (records.length === 0) return from > 1 && next > from ? from : null
  for (const record of records) {
    if (record.seq !== seq) return seq
    seq++
  }
  return null
}

/**
 * Throws if limits of the stream have dropped the record with this seq. The server does not say whether a record at the
 * front was dropped or deleted, so a stream without limits has dropped none.
 * @type {(core: Core, call: string, seq: number) => Promise<void>}
 */
async function checkRetained (core, call, seq) {
  const { config, state } = await core.look(call)
  if (mayDrop(config) && seq < state.first_seq) throw retained(call, core.options.place, seq, state.first_seq)
}

/**
 * Asks the leader for the first record from a seq on.
 * @type {(core: Core, from: number, stop: number) => Promise<number>}  its seq; `stop` if there is none below
 */
async function findNext (core, from, stop) {
  const message = await core.findMessage('stream', from)
  return message === null ? stop : Math.min(stop, message.seq)
}

/**
 * Reads the records with these seqs, which were all given before, as far as they are not deleted.
 * @type {(core: Core, from: number, stop: number) => Promise<Found[]>}
 */
async function readSingles (core, from, stop) {
  const seqs = Array.from({ length: stop - from }, (_, index) => from + index)
  const datas = await core.ask('stream', () => Promise.all(seqs.map((seq) => readDirectly(core, seq))))
  // If nothing is there, the next one may be far away.
  if (datas.every((data) => data === null)) return []
  const found = await Promise.all(datas.map((data, index) => data ?? readFromLeader(core, 'stream', seqs[index])))
  return found.flatMap((data, index) => data === null ? [] : [{ seq: seqs[index], data }])
}

/** What some replica has at a seq. @type {(core: Core, seq: number) => Promise<Uint8Array | null>} */
async function readDirectly ({ connection, options: { stream } }, seq) {
  const { data, headers } = await connection.request(`${connection.prefix}.DIRECT.GET.${stream}`, JSON.stringify({ seq }))
  // Records may be empty, too; then they have no status.
  return data.length === 0 && headers?.code === 404 ? null : data
}

/** Where no replica catches up. @type {(core: Core, from: number, stop: number) => Promise<Found[]>} */
async function readAllFromLeader (core, from, stop) {
  const seqs = Array.from({ length: stop - from }, (_, index) => from + index)
  const found = await Promise.all(seqs.map((seq) => readFromLeader(core, 'stream', seq)))
  return found.flatMap((data, index) => data === null ? [] : [{ seq: seqs[index], data }])
}

/** @type {(core: Core, call: string, seq: number) => Promise<Buffer | null>} */
async function readFromLeader (core, call, seq) {
  const message = await core.findMessage(call, seq)
  return message?.seq !== seq ? null : Buffer.from(message.data ?? '', 'base64')
}

/**
 * One record.
 * @type {(core: Core, seq: number) => Promise<{ data: Buffer, isDeleted: boolean }>}
 */
async function readRecord (core, seq) {
  const { place } = core.options
  core.checkUsable()
  if (typeof seq !== 'number') throw misuse(`get: expected the seq of a record, got ${typeof seq}`)
  if (!Number.isSafeInteger(seq) || seq < 1) throw errors.notFound('get', place, seq)
  const { data, wasGiven } = await core.ask('get', async (known) => {
    return { data: await readDirectly(core, seq), wasGiven: known.has(seq) }
  })
  if (core.erased.has(seq)) return { data: Buffer.alloc(0), isDeleted: true }
  if (data !== null) return { data: Buffer.from(data), isDeleted: false }
  // It may have been given since.
  if (!wasGiven && seq > (await core.look('get')).state.last_seq) throw errors.notFound('get', place, seq)
  const found = await readFromLeader(core, 'get', seq)
  if (found !== null) return { data: found, isDeleted: false }
  await checkRetained(core, 'get', seq)
  return { data: Buffer.alloc(0), isDeleted: true }
}

exports.BEHIND_COUNT_MAX = BEHIND_COUNT_MAX
exports.BEHIND_MS = BEHIND_MS
exports.StreamReader = StreamReader
exports.findNext = findNext
exports.readFromLeader = readFromLeader
exports.readRecord = readRecord
