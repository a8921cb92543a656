'use strict'
// Live records as server-sent events, for clients that come back by themselves.
//
// An EventSource comes back if a connection fails or a stream ends, and never after an answer other than 200. So a
// request that cannot be served yet is held: until this server has the folder, until the log has its first record. One
// that will not be served now gets a stream that ends at once.
//
// The id of an event is the seq up to which the client has seen everything, and it says so in `Last-Event-ID` when it
// comes back. An event of the type `cursor`, without data, has only that id: it is sent when the client connects and
// now and then, so that who has got nothing yet, or looks for little, comes back to the right place too. An event
// `gone` says that records were dropped before the client had seen them, or that the log does not know its id.
//
// A seq may lead to another record by now: an older copy of the log was restored and has grown, or a program changed
// a log of lines. So an id has a checksum of the record there, too. If the record is another one, the client gets the
// whole segment again.

const { once } = require('node:events')
const { clearInterval, clearTimeout, setInterval, setTimeout } = require('node:timers')
const { crc32 } = require('node:zlib')
const { timerMs } = require('@millrace/errors')
const { onAbort } = require('@millrace/flow')
const { judgeRecord } = require('@millrace/offset-log/composing')
const { firstPiece } = require('./reading')
const { showRecord } = require('./record')

/** When a client comes back; later if there was no room for it. */
const RETRY_MS = 1000
const RETRY_LATER_MS = 2000
/** So long a request waits for the folder and for the first record of its log, before it has to come back. */
const HOLD_MS = 15_000
/** An id that moves without records is sent so often. */
const CURSOR_MS = 1000
const CHUNK_LENGTH = 16 * 1024
const ID = /^(-1|\d{1,16})(?:-([0-9a-f]{8}))?$/
const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  // Some proxies keep answers until they are large.
  'X-Accel-Buffering': 'no'
}

/**
 * @typedef {import('./named-logs').NamedLog} NamedLog
 * @typedef {import('./named-logs').NamedLogs} NamedLogs
 * @typedef {import('./options').Log} Log
 *
 * @typedef {object} LiveQuery
 * @property {string} name  of the log
 * @property {string | undefined} lastId  `Last-Event-ID`
 * @property {number | null} from  the first seq that is wanted; null: what comes from now on
 * @property {import('./reading').Filter} filter
 * @property {import('./scans').Scans} scans
 *
 * @typedef {{ cursor: number, id: string, isCut: boolean }} Place  `isCut`: something is missing there
 */

/** An answer that goes on, and what its client knows. */
class EventStream {
  #response
  #stallMs
  #gone = new AbortController()
  #heartbeat
  /** The id that the client has, and since when. @type {string | null} */
  #id = null
  #idMs = 0

  /**
   * @param {import('node:http').ServerResponse} response
   * @param {{ stallMs: number, heartbeatMs: number }} limits
   */
  constructor (response, { stallMs, heartbeatMs }) {
    this.#response = response
    this.#stallMs = stallMs
    response.once('close', this.end)
    const { socket } = response.req
    // Nobody says that it has ended its side, and reads on, without an end.
    if (socket?.readableEnded) socket.end()
    else socket?.once('end', () => socket.end())
    response.writeHead(200, HEADERS)
    response.write(`retry: ${RETRY_MS}\n\n`)
    this.#heartbeat = setInterval(() => {
      if (!response.writableNeedDrain) response.write(this.#id === null ? ':\n\n' : markOf('cursor', this.#id))
    }, timerMs(heartbeatMs)).unref()
  }

  /** Aborted when the stream is to end, for whatever reason. @returns {AbortSignal} */
  get signal () {
    return this.#gone.signal
  }

  end = () => this.#gone.abort()

  /**
   * Sends events, and what they go up to. Resolves once there is room for more.
   * @type {(text: string, id: string) => Promise<void>}
   */
  async send (text, id) {
    const now = performance.now()
    const isDue = id !== this.#id && now - this.#idMs >= CURSOR_MS
    if (this.#id === null) text = `: connected\n\n${text || markOf('cursor', id)}`
    else if (text === '' && isDue) text = markOf('cursor', id)
    if (text !== '') this.#idMs = now
    this.#id = id
    if (text !== '' && !this.#response.write(text)) await this.#drained()
  }

  /** A reader that takes nothing is cut off: it resumes where it was. */
  async #drained () {
    // AbortSignal.any does not keep a signal of AbortSignal.timeout: if it was collected, it would never abort.
    const timer = setTimeout(this.end, timerMs(this.#stallMs))
    try {
      await once(this.#response, 'drain', { signal: this.#gone.signal })
    } finally {
      clearTimeout(timer)
    }
  }

  close () {
    clearInterval(this.#heartbeat)
    if (this.#response.writableNeedDrain) this.#response.destroy()
    else this.#response.end()
  }
}

/** An event without data. @type {(type: 'cursor' | 'gone', id: string) => string} */
function markOf (type, id) {
  return `event: ${type}\nid: ${id}\ndata:\n\n`
}

/** The id of a record. @type {(seq: number, bytes: Uint8Array) => string} */
function idOf (seq, bytes) {
  return `${seq}-${crc32(bytes).toString(16).padStart(8, '0')}`
}

/** The id of a place; without a checksum if no record is there. @type {(log: Log, seq: number) => Promise<string>} */
async function idAt (log, seq) {
  const bytes = seq === -1 ? null : await log.get(seq).catch(() => null)
  return bytes === null ? String(seq) : idOf(seq, bytes)
}

/**
 * @param {EventStream} stream
 * @param {NamedLogs} logs
 * @param {LiveQuery} query
 * @returns {Promise<void>}  once the stream is to end
 */
async function serveLive (stream, logs, { name, lastId, from, filter, scans }) {
  const { signal } = stream
  const timer = setTimeout(stream.end, HOLD_MS)
  await logs.whenOpen(signal)
  const isNew = !logs.names.has(name)
  // Who has no place yet comes back to the begin, whenever the log is made.
  if (isNew && !signal.aborted && !lastId && from === null) await stream.send('', '-1')
  await logs.whenKnown(name, signal)
  clearTimeout(timer)
  if (signal.aborted) return
  const entry = await logs.acquire(name, false)
  // The log is replaced after a failure.
  const forget = onAbort(entry.broken, stream.end)
  try {
    const now = isNew ? -1 : Number(entry.log.since.value)
    const place = await findPlace(entry.log, lastId, from, now)
    await stream.send(place.isCut ? markOf('gone', place.id) : '', place.id)
    await follow(stream, entry.log, place, { filter, scans })
  } finally {
    forget()
    logs.release(entry)
  }
}

/**
 * Where a client begins.
 * @type {(log: Log, lastId: string | undefined, from: number | null, now: number) => Promise<Place>}
 */
async function findPlace (log, lastId = '', from, now) {
  const [, text = '', checksum] = ID.exec(lastId) ?? []
  const isOurs = text !== '' && Number.isSafeInteger(Number(text))
  // An id of another server, or of one that was at this address before.
  const isForeign = lastId !== '' && !isOurs
  const cursor = isOurs ? Number(text) : from === null ? now : from - 1
  const isKnown = checksum === undefined || await knows(log, cursor, Number.parseInt(checksum, 16))
  const found = isKnown ? await findSeq(log, cursor, { isOurs, isForeign }) : await findSegment(log, cursor)
  return { ...found, id: await idAt(log, found.cursor) }
}

/**
 * Whether the record that a client has seen at a seq is there, or may have been.
 * @type {(log: Log, seq: number, crc: number) => Promise<boolean>}
 */
async function knows (log, seq, crc) {
  const verdict = await judgeRecord(log, seq, crc)
  // A power cut, or a backup, took it, and nothing has come in its place.
  if (verdict === 'missing') return log.supports.uniqueSeqs && seq > Number(log.since.value)
  // In a text it proves nothing that a record cannot be read.
  return verdict === 'same' || verdict === 'dropped' || (log.supports.uniqueSeqs && verdict !== 'other')
}

/** Of a seq that has another record now. @type {(log: Log, seq: number) => Promise<Omit<Place, 'id'>>} */
async function findSegment (log, seq) {
  const [{ base: first }] = await log.segments()
  return { cursor: seq < first ? seq : await findBase(log, seq) - 1, isCut: true }
}

/** Where the segment of a seq begins. @type {(log: Log, seq: number) => Promise<number>} */
async function findBase (log, seq) {
  const segments = await log.segments()
  return segments.findLast((/** @type {{ base: number }} */ { base }) => base <= seq)?.base ?? 0
}

/** @type {(log: Log, cursor: number, id: { isOurs: boolean, isForeign: boolean }) => Promise<Omit<Place, 'id'>>} */
async function findSeq (log, cursor, { isOurs, isForeign }) {
  if (cursor < 0) return { cursor: -1, isCut: isForeign }
  // A backup was restored, or a power cut took what the client has seen.
  const end = Number(log.since.value)
  if (cursor > end && !await isDeleted(log, cursor)) return { cursor: end, isCut: true }
  try {
    // Whether all after it is still there.
    await log.first({ gt: cursor, values: false })
    if (isOurs) await log.get(cursor).catch(unlessGone)
    return { cursor, isCut: isForeign }
  } catch (/** @type {any} */ err) {
    if (err.code === 'ERR_LOG_SEQ_RETAINED') return { cursor, isCut: true }
    if (err.code === 'ERR_LOG_SEQ_LOST') return { cursor: await lastBefore(log, cursor), isCut: true }
    throw err
  }
}

/**
 * Whether the record at a seq is deleted. If it was the last one, the log ends before it once it is opened again.
 * @type {(log: Log, seq: number) => Promise<boolean>}
 */
async function isDeleted (log, seq) {
  return await log.get(seq).then(() => false, (/** @type {any} */ err) => err.code === 'flumelog:deleted')
}

/** @param {any} err */
function unlessGone (err) {
  if (err.code === 'ERR_LOG_SEQ_LOST' || err.code === 'ERR_LOG_SEQ_RETAINED') throw err
}

/**
 * Of a seq that was lost, the last record before it: no range may begin at the seq.
 * @type {(log: Log, seq: number) => Promise<number>}
 */
async function lastBefore (log, seq) {
  const base = await findBase(log, seq)
  let last = await log.first({ ...(base > 0 && { gte: base }), values: false }) ?? 0
  for await (const found of log.stream({ gte: last, lte: seq, values: false })) last = found
  return last
}

/**
 * Sends what the log has after the place, and what it gets.
 * @type {(stream: EventStream, log: Log, place: Place, reading: Pick<LiveQuery, 'filter' | 'scans'>) => Promise<void>}
 */
async function follow (stream, log, place, reading) {
  const { signal } = stream
  let wake = () => {}
  const stop = log.since(() => wake(), false)
  const forget = onAbort(signal, () => wake())
  try {
    while (!signal.aborted) {
      if (Number(log.since.value) > place.cursor) await sendPiece(stream, log, place, reading)
      else await new Promise((resolve) => { wake = () => resolve(null) })
    }
  } finally {
    forget()
    stop()
  }
}

/**
 * Sends records after the place, and moves it. The log is read piece by piece, so that the place is known also if
 * nothing matches.
 * @type {(stream: EventStream, log: Log, place: Place, reading: Pick<LiveQuery, 'filter' | 'scans'>) => Promise<void>}
 */
async function sendPiece (stream, log, place, { filter: { where, test, pieceSize }, scans }) {
  const { signal } = stream
  const { isCut } = place
  try {
    const end = Number(log.since.value)
    const share = Math.min(1, (end - place.cursor) / pieceSize)
    // What it has is sent afterwards: a client that is slow holds up no other reader.
    const { texts, lte } = await scans.run(share, async () => {
      const skips = isCut && { onRetained: 'skip' }
      const low = isCut ? await log.first({ gt: place.cursor, values: false, ...skips }) ?? end : place.cursor + 1
      const lte = (end - low >= pieceSize ? await firstPiece(log, { low, high: end }, pieceSize) : null)?.lte ?? end
      const range = { gt: place.cursor, lte, ...(test === null && { where }), ...skips }
      const texts = []
      let { id, cursor: idSeq } = place
      let text = ''
      for await (const { seq, value } of log.stream({ ...range, signal, unref: true })) {
        if (test !== null && !test(value, 0, value.length)) continue
        id = idOf(seq, value)
        idSeq = seq
        text += `id: ${id}\ndata: ${showRecord(seq, value)}\n\n`
        if (text.length < CHUNK_LENGTH) continue
        texts.push({ text, seq, id })
        text = ''
      }
      texts.push({ text, seq: lte, id: idSeq === lte ? id : await idAt(log, lte) })
      return { texts, lte }
    })
    for (const { text, seq, id } of texts) {
      Object.assign(place, { cursor: seq, id })
      if (seq === lte) place.isCut = false
      await stream.send(text, id)
    }
  } catch (/** @type {any} */ err) {
    if (err.code !== 'ERR_LOG_SEQ_RETAINED' || isCut) throw err
    // The client is told once, whatever else is dropped until it is read.
    place.isCut = true
    await stream.send(markOf('gone', place.id), place.id)
  }
}

/**
 * The answer to a client that is not served now, but would be later.
 * @param {import('fastify').FastifyReply} reply
 * @param {{ detail: string, retryMs?: number, id?: string | null }} options  `id`: where it would have begun
 */
function sendBack (reply, { detail, retryMs = RETRY_LATER_MS, id = null }) {
  const mark = id === null ? '' : markOf('cursor', id)
  reply.code(200).headers(HEADERS).send(`: ${detail}\nretry: ${retryMs}\n\n${mark}`)
}

exports.EventStream = EventStream
exports.serveLive = serveLive
exports.idAt = idAt
exports.sendBack = sendBack
exports.HEADERS = HEADERS
