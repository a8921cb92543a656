'use strict'
// A stream in memory, with the rules of a NATS server for appends, duplicates, batches, limits, deletions and purges.

const NOT_FOUND = { code: 404, err_code: 10037, description: 'no message found' }
const SEQ_NOT_FOUND = { code: 400, err_code: 10043, description: 'sequence not found' }
/** What it says of a seq below its first record. */
const DELETE_FAILED = { code: 500, err_code: 10057, description: 'no message found' }
const OTHER_STREAM = { code: 400, err_code: 10060, description: 'expected stream does not match' }
const CONTAINS_DUPLICATE = { code: 400, err_code: 10201, description: 'atomic publish contains duplicate message id' }
const INCOMPLETE = { code: 400, err_code: 10176, description: 'atomic publish batch is incomplete' }

/** @typedef {{ seq: number, headers: string, data: Buffer, time: number, size: number }} Stored */

class FakeStream {
  /** @type {Map<number, Stored>} */
  messages = new Map()
  first = 1
  last = 0
  bytes = 0
  /** @type {Map<string, { seq: number, time: number }>} */
  #ids = new Map()
  #batches = new Map()
  consumers = new Map()
  /** So many records of the next batch it stores before it is killed, which answers nothing; null for all. */
  torn = null
  /** For a test that keeps a history. */
  onStore = (stored) => {}
  onGone = (seq, how) => {}

  constructor (config, created) {
    this.config = config
    this.created = created
  }

  /** The answer to a published message; undefined if none is due. */
  publish ({ headers, data }) {
    const [batch, index] = [headerOf(headers, 'Nats-Batch-Id'), Number(headerOf(headers, 'Nats-Batch-Sequence'))]
    if (batch === null) return this.#append([{ headers, data }])
    const staged = index === 1 ? [] : this.#batches.get(batch) ?? []
    staged.push({ headers, data })
    this.#batches.set(batch, staged)
    if (headerOf(headers, 'Nats-Batch-Commit') === null) return undefined
    this.#batches.delete(batch)
    if (staged.length !== index) return { error: INCOMPLETE }
    return this.#append(staged, { batch, count: staged.length })
  }

  /** All or nothing. */
  #append (messages, more = {}) {
    const [{ headers }] = messages
    const expected = headerOf(headers, 'Nats-Expected-Last-Sequence')
    if ((headerOf(headers, 'Nats-Expected-Stream') ?? this.config.name) !== this.config.name) return { error: OTHER_STREAM }
    if (expected !== null && Number(expected) !== this.last) {
      return { error: { code: 400, err_code: 10071, description: `wrong last sequence: ${this.last}` } }
    }
    for (const { headers } of messages) {
      const known = this.#find(headerOf(headers, 'Nats-Msg-Id'))
      if (known === null) continue
      if (messages.length > 1) return { error: CONTAINS_DUPLICATE }
      return { stream: this.config.name, seq: known, duplicate: true }
    }
    const full = this.#findFull(messages)
    if (full !== null) return { error: full }
    if (messages.length > 1 && this.torn !== null) {
      for (const message of messages.slice(0, this.torn)) this.#store(message)
      this.torn = null
      return undefined
    }
    for (const message of messages) this.#store(message)
    this.#dropByLimits()
    return { stream: this.config.name, seq: this.last, ...more }
  }

  #find (id) {
    const known = id === null ? undefined : this.#ids.get(id)
    return known !== undefined && Date.now() - known.time < this.config.duplicate_window / 1e6 ? known.seq : null
  }

  #store ({ headers, data }) {
    const [seq, time, size] = [++this.last, Date.now(), headers.length + data.length + 40]
    this.messages.set(seq, { seq, headers, data, time, size })
    this.bytes += size
    if (this.messages.size === 1) this.first = seq
    const id = headerOf(headers, 'Nats-Msg-Id')
    if (id !== null) this.#ids.set(id, { seq, time })
    this.onStore({ seq, data, id })
  }

  #findFull (messages) {
    const { discard, max_msgs: countMax = -1 } = this.config
    const isFull = discard === 'new' && countMax > 0 && this.messages.size + messages.length > countMax
    return isFull ? { code: 503, err_code: 10077, description: 'maximum messages exceeded' } : null
  }

  #dropByLimits () {
    const { discard, max_msgs: countMax = -1 } = this.config
    if (discard === 'new' || countMax <= 0) return
    while (this.messages.size > countMax) this.delete(this.first, 'dropped')
  }

  /** Whether there was one. */
  delete (seq, how = 'deleted') {
    const message = this.messages.get(seq)
    if (message === undefined) return false
    this.messages.delete(seq)
    this.bytes -= message.size
    this.onGone(seq, how)
    if (seq === this.first) this.#moveFirst(seq + 1)
    return true
  }

  #moveFirst (from) {
    this.first = from
    while (this.first <= this.last && !this.messages.has(this.first)) this.first++
  }

  purge ({ seq = Infinity, keep = 0 } = {}) {
    const before = this.messages.size
    const seqs = [...this.messages.keys()]
    const gone = seqs.slice(0, seqs.length - keep).filter((each) => each < seq)
    for (const each of gone) this.delete(each, 'purged')
    return before - this.messages.size
  }

  /** The first message from a seq on, up to another. @returns {Stored | undefined} */
  next (from, to = this.last) {
    for (let seq = Math.max(from, this.first); seq <= to; seq++) {
      if (this.messages.has(seq)) return this.messages.get(seq)
    }
    return undefined
  }

  get ({ seq, next_by_subj: next, last_by_subj: last }) {
    if (last !== undefined) {
      for (let seq = this.last; seq >= this.first; seq--) if (this.messages.has(seq)) return this.messages.get(seq)
      return undefined
    }
    return next === undefined ? this.messages.get(seq) : this.next(seq)
  }

  idAt (seq) {
    return headerOf(this.messages.get(seq).headers, 'Nats-Msg-Id')
  }

  /** The last one that is not deleted; 0 if there is none. */
  get lastKept () {
    return this.get({ last_by_subj: '' })?.seq ?? 0
  }

  get state () {
    const { messages, bytes, first, last } = this
    const count = last === 0 ? 0 : last - first + 1 - messages.size
    return { messages: messages.size, bytes, first_seq: last === 0 ? 0 : first, last_seq: last, num_deleted: count }
  }

  /** Seqs between the first and the last one. */
  get deleted () {
    const seqs = Array.from({ length: this.last - this.first + 1 }, (_, index) => this.first + index)
    return seqs.filter((seq) => !this.messages.has(seq))
  }

  /** A copy, as a backup has it. */
  copy () {
    const copy = new FakeStream({ ...this.config }, this.created)
    copy.messages = new Map(this.messages)
    for (const name of ['first', 'last', 'bytes']) copy[name] = this[name]
    return copy
  }
}

/** @type {(headers: string, name: string) => string | null} */
function headerOf (headers, name) {
  const at = headers.indexOf(`\r\n${name}:`)
  return at === -1 ? null : headers.slice(at + name.length + 3, headers.indexOf('\r\n', at + 2)).trim()
}

exports.DELETE_FAILED = DELETE_FAILED
exports.FakeStream = FakeStream
exports.NOT_FOUND = NOT_FOUND
exports.SEQ_NOT_FOUND = SEQ_NOT_FOUND
