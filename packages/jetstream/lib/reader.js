'use strict'
// Reads the records of a range. The first few are read one by one, directly; for more, the server makes a consumer that
// keeps no state (pulling.js). A reversed read stays with single records.
//
// Any replica may answer, also one that is behind. A replica has the records in order, so it can only lack the last
// ones. If an answer ends before the range does, the leader of the stream says whether there is more.
//
// The server can also answer one request with many records. In 2.12.1 that request and an atomic batch, at the same
// time, stop the stream for good: it locks what it has locked already (`getDirectRequest` calls `lastSeq`).

const { pause, toCallback } = require('@millrace/flow')
const { RecordRun, errors } = require('@millrace/offset-log/composing')
const { NUMBER, numberOf, retained } = require('./failures')
const { Puller } = require('./pulling')

/** A run has room for no more. */
const RUN_COUNT_MAX = 4096
/** So many records are read one by one, at the same time; a consumer must be worth its making. */
const SINGLE_COUNT_MAX = 64
/** A replica that is behind catches up within that time, or another one is asked. */
const BEHIND_MS = 20

/**
 * @typedef {import('./core').Core} Core
 * @typedef {import('@millrace/offset-log/composing').Range} Range
 * @typedef {{ seq: number, data: Uint8Array, message?: import('@nats-io/transport-node').Msg }} Found  `message` is of
 *   a consumer
 * @typedef {(err: Error | null, records?: RecordRun) => void} NextCallback
 * @typedef {{ records: Found[], next: number }} Piece  all records below `next`
 * @typedef {{ from: number, piece: Promise<Piece> }} Ahead
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
    const { connection, options: { stream } } = this.#core
    const { state } = await connection.retry('stream', () => connection.manager.streams.info(stream))
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
    const ahead = this.#ahead
    this.#ahead = null
    const count = Math.min(run.seqs.length, this.#left)
    let { records, next } = await (ahead?.from === this.#from ? ahead.piece : this.#readPiece(this.#from, stop, count))
    while (records.length === 0 && next < stop) ({ records, next } = await this.#readPiece(next, stop, count))
    const isGap = (records.length > 0 ? records[0].seq : next) > this.#from
    // A range from the beginning begins at the first record that is kept.
    if (isGap && this.#from > 1 && !this.#skipsRetained) await checkRetained(this.#core, 'stream', this.#from)
    this.#fill(records)
    this.#from = next
    if (records.length === count && next < stop && this.#left > 0) {
      const piece = this.#readPiece(next, stop, Math.min(2 * count, RUN_COUNT_MAX, this.#left))
      // Its failure is reported when it is used.
      piece.catch(() => {})
      this.#ahead = { from: next, piece }
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
    const { connection, erased } = core
    core.checkUsable()
    const isShort = count <= SINGLE_COUNT_MAX || this.#reverse
    const end = isShort ? Math.min(stop, from + count) : stop
    for (;;) {
      const read = await connection.retry('stream', () => {
        return isShort ? readSingles(core, from, end) : this.#puller.pull(from, end, count)
      })
      // What this log has deleted, a replica may still have.
      const records = erased.size === 0 ? read : read.filter(({ seq }) => !erased.has(seq))
      const last = read.length > 0 ? read[read.length - 1].seq : from - 1
      if (last === end - 1 || (!isShort && read.length > 0)) return { records, next: last + 1 }
      // Nothing follows up to the end, or it was deleted, or this replica is behind.
      const next = Math.min(stop, await findNext(core, last + 1) ?? stop)
      if (next > last + 1 || read.length > 0) return { records, next }
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

  /** Continues from a delivered record, with bytes read again. @param {number} index  in the run */
  rewindTo (index) {
    const { seqs, count } = this.#run
    this.#ahead = null
    this.#left += count - index
    if (this.#reverse) this.#stop = seqs[index] + 1
    else this.#from = seqs[index]
  }

  stopKeepingBytes () {}
}

/**
 * Throws if limits of the stream have dropped the record with this seq. The server does not say whether a record at the
 * front was dropped or deleted, so a stream without limits has dropped none.
 * @type {(core: Core, call: string, seq: number) => Promise<void>}
 */
async function checkRetained ({ connection, options: { stream, place } }, call, seq) {
  const { config, state } = await connection.retry(call, () => connection.manager.streams.info(stream))
  const { max_age: age, max_msgs: count, max_bytes: size, max_msgs_per_subject: countPerSubject } = config
  const isLimited = [age, count, size, countPerSubject].some((limit) => limit > 0)
  if (isLimited && seq < state.first_seq) throw retained(call, place, seq, state.first_seq)
}

/** Asks the leader for the first record from a seq on. @type {(core: Core, from: number) => Promise<number | null>} */
async function findNext (core, from) {
  const { connection, options: { stream, subject } } = core
  try {
    const { message } = await connection.retry('stream', () => connection.ask(`STREAM.MSG.GET.${stream}`, { seq: from, next_by_subj: subject }))
    return message.seq
  } catch (/** @type {any} */ err) {
    if (numberOf(err.cause) === NUMBER.noMessage) return null
    throw err
  }
}

/**
 * Reads the records with these seqs, as far as there are any.
 * @type {(core: Core, from: number, stop: number) => Promise<Found[]>}
 */
async function readSingles ({ connection, options: { stream } }, from, stop) {
  const subject = `${connection.prefix}.DIRECT.GET.${stream}`
  const answers = await Promise.all(Array.from({ length: stop - from }, (_, index) => {
    return connection.request(subject, JSON.stringify({ seq: from + index }))
  }))
  const found = []
  for (const [index, message] of answers.entries()) {
    if (!isMissing(message)) found.push({ seq: from + index, data: message.data })
  }
  return found
}

/** Records may be empty, too; then they have no status. @param {import('@nats-io/transport-node').Msg} message */
function isMissing ({ data, headers }) {
  return data.length === 0 && headers?.code === 404
}

/**
 * One record.
 * @type {(core: Core, seq: number) => Promise<{ data: Buffer, isDeleted: boolean }>}
 */
async function readRecord (core, seq) {
  const { connection, options: { stream, place }, opened } = core
  core.checkUsable()
  if (!Number.isSafeInteger(seq) || seq < 1) throw errors.notFound('get', place, seq)
  if (core.erased.has(seq)) return { data: Buffer.alloc(0), isDeleted: true }
  const message = await connection.retry('get', () => connection.request(`${connection.prefix}.DIRECT.GET.${stream}`, JSON.stringify({ seq })))
  if (!isMissing(message)) return { data: Buffer.from(message.data), isDeleted: false }
  await checkRetained(core, 'get', seq)
  if (seq > core.lastSeq && seq > await core.look('get')) throw errors.notFound('get', place, seq)
  return opened.replicas === 1 ? { data: Buffer.alloc(0), isDeleted: true } : askLeader(core, seq)
}

/**
 * The replica that was asked may be behind.
 * @type {(core: Core, seq: number) => Promise<{ data: Buffer, isDeleted: boolean }>}
 */
async function askLeader ({ connection, options: { stream } }, seq) {
  try {
    const { message } = await connection.retry('get', () => connection.ask(`STREAM.MSG.GET.${stream}`, { seq }))
    return { data: Buffer.from(message.data ?? '', 'base64'), isDeleted: false }
  } catch (/** @type {any} */ err) {
    if (![NUMBER.noMessage, NUMBER.sequenceNotFound].includes(numberOf(err.cause))) throw err
    return { data: Buffer.alloc(0), isDeleted: true }
  }
}

exports.StreamReader = StreamReader
exports.findNext = findNext
exports.readRecord = readRecord
