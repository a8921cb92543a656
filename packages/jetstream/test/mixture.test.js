'use strict'
// A random mixture of all calls, on several logs over one stream, against what the server in memory really had. Every
// message is delayed at random, so calls overlap: an answer is right if it was true at some time between the question
// and the answer. `MILLRACE_CALLS=200000` makes so many calls.

const { performance } = require('node:perf_hooks')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, createRandom, failureOf, inQuickRuns, until } = require('@millrace/testkit')
const { JetStreamLog } = require('..')
const { startFakeServer } = require('./fake/server')

const CALLS = Number(process.env.MILLRACE_CALLS ?? inQuickRuns(20_000, 10))
const CALLS_OF_ROUND = 400
/** Calls that are under way at the same time. */
const LANES = Number(process.env.MILLRACE_LANES ?? 6)
const ANSWER_MS_MAX = 60_000
const seed = Number(process.env.MILLRACE_SEED ?? Date.now() % 2 ** 31)

/** What the stream has had, and when: a tick for each change. */
class History {
  tick = 0
  /** By seq. @type {Array<{ value: any, id: string | null, from: number, to: number, how: string }>} */
  records = [{ value: null, id: null, from: Infinity, to: 0, how: 'never' }]

  note (stream) {
    stream.onStore = ({ seq, data, id }) => {
      this.records[seq] = { value: JSON.parse(data), id, from: ++this.tick, to: Infinity, how: '' }
    }
    stream.onGone = (seq, how) => Object.assign(this.records[seq], { to: ++this.tick, how })
  }

  at (seq) {
    return this.records[seq] ?? this.records[0]
  }

  /** Whether a record was there at some time from one tick to another. */
  wasThere (seq, begin, end) {
    const { from, to } = this.at(seq)
    return from <= end && to > begin
  }

  wasAlwaysThere (seq, begin, end) {
    const { from, to } = this.at(seq)
    return from <= begin && to > end
  }
}

/** One stream, several logs, and calls on them. */
class Round {
  history = new History()
  differences = []
  calls = 0
  #value = 0
  #ids = 0

  constructor (random, server, name) {
    Object.assign(this, { random, server, name })
    this.isLimited = random(4) === 0
    this.isAtomic = random(3) > 0
    this.config = {
      allow_atomic: this.isAtomic,
      num_replicas: random(2) === 0 ? 1 : 3,
      ...(this.isLimited && { max_msgs: 60, discard: 'old' })
    }
    server.lagMax = this.config.num_replicas === 1 ? 0 : 4
  }

  async open () {
    const { name: stream, config, server: { url: servers, monitor } } = this
    const own = { servers, monitor, stream, config, codec: jsonCodec, timeout: 20_000 }
    const open = (options) => JetStreamLog({ ...own, ...options })
    const first = open()
    await first.append({ n: this.#value++ })
    this.stream = this.server.streams.get(this.name)
    this.history.records[1] = { value: { n: this.#value - 1 }, id: this.stream.idAt(1), from: 0, to: Infinity, how: '' }
    this.history.note(this.stream)
    this.logs = [first, open(), open({ follow: false })]
    await Promise.all(this.logs.map((log) => log.ready()))
  }

  check (isTrue, ...about) {
    if (!isTrue) this.differences.push(about.map((part) => typeof part === 'string' ? part : JSON.stringify(part)).join(' '))
  }

  /** Some seq: mostly one that was given, or the next ones. */
  #seq (log) {
    const { random } = this
    return random(3) === 0 ? log.since.value + random(4) : 1 + random(this.stream.last + 3)
  }

  async lane (count) {
    const { random, history } = this
    for (let call = 0; call < count; call++) {
      const log = this.logs[random(this.logs.length)]
      const names = Object.keys(CALLS_BY_NAME)
      const name = names[random(names.length)]
      const begin = history.tick
      const since = log.since.value
      try {
        await within(CALLS_BY_NAME[name](this, log, { begin, since }))
      } catch (err) {
        this.check(false, name, `failed: ${err.code} ${err.stack}`)
      }
      this.check(log.since.value >= since, name, 'since went back')
      this.calls++
    }
  }

  /** The error of a call that names one record must say what was true. */
  checkFailure (name, seq, err, begin) {
    const { history } = this
    const [{ from, to, how }, end] = [history.at(seq), history.tick]
    const isTrue = {
      ERR_RECORD_NOT_FOUND: from > begin || (name === 'idOf' && to <= end),
      'flumelog:deleted': to <= end && from <= end,
      ERR_LOG_SEQ_RETAINED: this.isLimited && to <= end && (how === 'dropped' || seq < this.stream.first)
    }[err.code] ?? false
    this.check(isTrue, name, seq, `failed with ${err.code}; it was there from ${from} to ${to} (${how}), asked from ${begin} to ${end}`)
  }

  value () {
    return { n: this.#value++, kind: this.random(2) === 0 ? 'even' : 'odd' }
  }

  id () {
    return `id${this.#ids++}`
  }

  someSeq (log) {
    return this.#seq(log)
  }

  /** What a read of a range has delivered, in the order of the seqs. */
  checkRange (name, items, { gte, lte, where, limit = Infinity, begin, since }) {
    const { history } = this
    const end = history.tick
    const seqs = items.map(({ seq }) => seq)
    this.check(seqs.every((seq, index) => index === 0 || seq > seqs[index - 1]), name, 'in disorder', seqs)
    for (const { seq, value } of items) {
      this.check(history.wasThere(seq, begin, end), name, 'delivered what was not there', seq, history.at(seq), [begin, end])
      this.check(JSON.stringify(history.at(seq).value) === JSON.stringify(value), name, 'another value at', seq)
      this.check(seq >= gte && seq <= lte, name, 'out of range', seq)
    }
    const delivered = new Set(seqs)
    // A limited read may end early, with the lowest ones.
    const to = seqs.length >= limit ? seqs[seqs.length - 1] : Math.min(lte, since)
    for (let seq = Math.max(1, gte); seq <= to; seq++) {
      if (delivered.has(seq) || !history.wasAlwaysThere(seq, begin, end)) continue
      this.check(where !== undefined && history.at(seq).value.kind !== where.equals, name, 'left out', seq, { gte, lte, limit, since })
    }
  }

  /** Everything that is there in the end, read by every log. */
  async checkEnd () {
    const { stream, history } = this
    for (const log of this.logs) {
      if (log !== this.logs[2]) await until(() => log.since.value >= stream.lastKept)
      const items = await collect(log.stream())
      this.checkRange('at the end', items, { gte: 1, lte: Infinity, begin: history.tick, since: log.since.value })
    }
  }

  async close () {
    for (const log of this.logs) await log.close()
  }
}

const GONE = ['ERR_RECORD_NOT_FOUND', 'flumelog:deleted', 'ERR_LOG_SEQ_RETAINED']
const orFailure = (run) => run().then((value) => ({ value }), (err) => ({ err }))

/** @type {Record<string, (round: Round, log: any, when: { begin: number, since: number }) => Promise<void>>} */
const CALLS_BY_NAME = {
  async append (round, log) {
    const value = round.value()
    const seq = await log.append(value)
    round.check(JSON.stringify(round.history.at(seq).value) === JSON.stringify(value), 'append: another record at', seq)
    round.check(log.since.value >= seq, 'append: since is behind', seq)
  },
  async appendMany (round, log) {
    const values = Array.from({ length: 1 + round.random(12) }, () => round.value())
    if (round.random(2) === 0) {
      const seqs = await log.append(values, { seqs: true })
      const found = seqs.map((seq) => round.history.at(seq).value)
      round.check(JSON.stringify(found) === JSON.stringify(values), 'append: other records at', seqs)
      return round.check(log.since.value >= seqs.at(-1), 'append: since is behind', seqs)
    }
    const seq = await log.append(values)
    const found = values.map((_, index) => round.history.at(seq - values.length + 1 + index).value)
    // Without atomic batches the records of other writers may come between.
    const isWhole = JSON.stringify(found) === JSON.stringify(values)
    round.check(isWhole || (!round.isAtomic && found.at(-1)?.n === values.at(-1).n), 'append: another batch at', seq)
  },
  async appendOnce (round, log) {
    const [values, ids] = [[round.value(), round.value()], [round.id(), round.id()]]
    const seqs = [await log.appendOnce(values, ids), await log.appendOnce(values, ids)]
    round.check(seqs[0] === seqs[1], 'appendOnce: other seqs', seqs)
    round.check(round.history.records.filter(({ id }) => ids.includes(id)).length === 2, 'appendOnce: not once', ids)
  },
  async get (round, log, { begin }) {
    const seq = round.someSeq(log)
    const { value, err } = await orFailure(() => log.get(seq))
    if (err) return round.checkFailure('get', seq, err, begin)
    round.check(round.history.wasThere(seq, begin, round.history.tick), 'get: gave what was not there', seq)
    round.check(JSON.stringify(round.history.at(seq).value) === JSON.stringify(value), 'get: another value at', seq)
  },
  async getMany (round, log, { begin }) {
    const seqs = [round.someSeq(log), round.someSeq(log)]
    const { value, err } = await orFailure(() => log.getMany(seqs))
    if (err) return round.check(GONE.includes(err.code), 'getMany', err.code)
    for (const [index, seq] of seqs.entries()) {
      round.check(value[index] === undefined || round.history.wasThere(seq, begin, round.history.tick), 'getMany: not there', seq)
    }
  },
  async idOf (round, log, { begin }) {
    const seq = round.someSeq(log)
    const { value, err } = await orFailure(() => log.idOf(seq))
    if (err) return round.checkFailure('idOf', seq, err, begin)
    round.check(round.history.at(seq).id === value, 'idOf: another id at', seq)
  },
  async del (round, log, { begin }) {
    if (round.random(4) > 0) return
    const seq = round.someSeq(log)
    const { err } = await orFailure(() => log.del(seq))
    if (err) return round.checkFailure('del', seq, err, begin)
    round.check(round.history.at(seq).to <= round.history.tick, 'del: it is still there', seq)
    round.check((await failureOf(() => log.get(seq)))?.code !== undefined, 'del: it can still be read', seq)
  },
  async purge (round) {
    if (round.random(40) === 0) round.stream.purge({ keep: round.random(50) })
  },
  async stream (round, log, { begin, since }) {
    const { random } = round
    const options = { gte: 1 + random(round.stream.last + 2), onRetained: 'skip' }
    if (random(2) === 0) options.lte = options.gte + random(100)
    if (random(2) === 0) options.limit = 1 + random(80)
    if (random(3) === 0) options.where = { path: 'kind', equals: 'odd' }
    if (random(3) === 0) options.reverse = true
    const items = []
    for await (const item of log.stream(options)) {
      items.push(item)
      if (random(50) === 0) await new Promise(setImmediate)
    }
    const { gte, lte = Infinity, where } = options
    const isCut = options.reverse && items.length >= (options.limit ?? Infinity)
    const from = isCut ? items.at(-1).seq : gte
    const limit = options.reverse ? Infinity : options.limit
    round.checkRange('stream', options.reverse ? items.reverse() : items, { gte: from, lte, where, limit, begin, since })
  },
  async scan (round, log, { begin, since }) {
    const items = []
    await log.scan({ onRetained: 'skip' }, ({ buffer, count, seqs, starts, ends }) => {
      for (let index = 0; index < count; index++) {
        items.push({ seq: seqs[index], value: JSON.parse(buffer.toString('utf8', starts[index], ends[index])) })
      }
    })
    round.checkRange('scan', items, { gte: 1, lte: Infinity, begin, since })
  },
  async count (round, log, { begin, since }) {
    const { history } = round
    const { value: count, err } = await orFailure(() => log.count())
    if (err) return round.check(round.isLimited && err.code === 'ERR_LOG_SEQ_RETAINED', 'count', err.code)
    const end = history.tick
    const seqs = history.records.keys()
    let [least, most] = [0, 0]
    for (const seq of seqs) {
      if (seq <= since && history.wasAlwaysThere(seq, begin, end)) least++
      if (history.wasThere(seq, begin, end)) most++
    }
    round.check(count >= least && count <= most, 'count', count, [least, most])
  },
  async ends (round, log, { begin }) {
    for (const name of ['first', 'last']) {
      const { value, err } = await orFailure(() => log[name]())
      if (err) round.check(round.isLimited && err.code === 'ERR_LOG_SEQ_RETAINED', name, err.code)
      if (err || value === undefined) continue
      round.check(round.history.wasThere(value.seq, begin, round.history.tick), name, 'was not there', value.seq)
    }
  },
  async stats (round, log) {
    const { since, count } = await log.stats()
    round.check(since <= round.stream.last && count <= round.history.records.length, 'stats', { since, count })
  },
  async sync (round, log) {
    await log.sync()
  },
  async live (round, log) {
    if (round.random(3) > 0) return
    const since = log.since.value
    const seqs = []
    const appended = round.logs[0].append([round.value(), round.value()])
    const options = { gt: round.logs[0].since.value, live: true, limit: 2, onRetained: 'skip' }
    const live = { isRead: false }
    const read = async () => { for await (const { seq } of round.logs[0].stream(options)) seqs.push(seq) }
    const reading = read().finally(() => { live.isRead = true })
    await appended
    // Another lane may have deleted one of the two before it was read.
    for (let wait = 0; !live.isRead; wait++) {
      await turns(20)
      if (wait % 20 === 19) await round.logs[0].append(round.value())
    }
    await reading
    round.check(seqs[0] < seqs[1] && seqs[0] > Math.min(since, 0), 'live', seqs)
  }
}

tape(`mixture: ${CALLS} calls beside each other are answered with what was true, seed ${seed}`, async (t) => {
  const random = createRandom(seed)
  const uncaught = []
  const note = (err) => { uncaught.push(err) }
  for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, note)
  const server = await startFakeServer({
    delay: () => random(3) === 0 ? turns(random(6)) : undefined,
    lag: () => random(1 + server.lagMax)
  })
  let made = 0
  const differences = []
  for (let number = 0; made < CALLS && differences.length === 0; number++) {
    const round = new Round(random, server, `mixture${number}`)
    await round.open()
    const calls = Math.ceil(Math.min(CALLS_OF_ROUND, CALLS) / LANES)
    await Promise.all(Array.from({ length: LANES }, () => round.lane(calls)))
    await within(round.checkEnd())
    await within(round.close())
    server.deleteStream(round.name)
    made += round.calls
    if (number % 50 === 49) t.comment(`${made} calls, ${Math.round(performance.now() / 1000)} s`)
    differences.push(...round.differences.map((difference) => `round ${number}: ${difference}`))
  }
  server.close()
  t.ok(made >= CALLS, `${made} calls`)
  t.deepEqual(differences.slice(0, 10), [], `${differences.length} differences`)
  t.deepEqual(uncaught, [], 'no uncaught error')
  for (const event of ['uncaughtException', 'unhandledRejection']) process.off(event, note)
})

/** A call that is never answered must not end in silence. */
function within (promise) {
  let timer
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error('no answer for a minute')), ANSWER_MS_MAX)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

async function turns (count) {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate)
}
