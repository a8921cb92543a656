'use strict'
// A NATS server with JetStream in memory, as far as this package uses one. Every message may be delayed on its way,
// there and back, so answers come late and in another order than they were given. With replicas, reads may be answered
// by one that is behind.

const http = require('node:http')
const { FakeConsumer } = require('./consumer')
const { DELETE_FAILED, FakeStream, NOT_FOUND, SEQ_NOT_FOUND } = require('./stream')
const { Wire } = require('./wire')

const API = '$JS.API.'
const STREAM_NOT_FOUND = { code: 404, err_code: 10059, description: 'stream not found' }
const CONSUMER_NOT_FOUND = { code: 404, err_code: 10014, description: 'consumer not found' }
const NAME_IN_USE = { code: 400, err_code: 10058, description: 'stream name already in use with a different configuration' }
/** Nobody listens to these if there is no stream. */
const SILENT = ['DIRECT.GET', 'CONSUMER.MSG.NEXT']
const NO_RESPONDERS = { headers: 'NATS/1.0 503\r\n\r\n' }

/**
 * @typedef {object} FakeOptions
 * @property {(what: string, isAnswer: boolean) => Promise<void> | undefined} [delay]  of a request or an answer;
 *   undefined for none
 * @property {() => number} [lag]  how many records the replica that answers is behind
 * @property {string} [version]
 * @property {string} [cluster]  its name, if it is one of a cluster
 */

class FakeServer {
  #wire
  #delay
  #lag
  /** An error that a request gets, or an answer with headers; null for none. @type {(what: string) => object | null} */
  refuse = () => null
  /**
   * What a leader that others have deposed says to what the new one has carried out: an error, or null.
   * @type {(what: string) => object | null}
   */
  overrule = () => null
  /** What waits, by the subject or connection in which order is kept. @type {Map<unknown, Promise<void>>} */
  #lines = new Map()
  #consumerCount = 0
  #madeCount = 0
  /** The port that says how often the server syncs. */
  #monitor = http.createServer((request, response) => {
    response.end(JSON.stringify({ server_name: 'fake', jetstream: { config: { sync_always: true } } }))
  })

  /** How many records the one that says how a stream is does not know of: a leader that was replaced. */
  staleBy = 0
  /**
   * How many of the latest records a leader that others have deposed lacks when it is asked for one.
   * @type {() => number}
   */
  lacks = () => 0
  /** So many answers to what the last record is are those of a leader that others have deposed, and say this seq. */
  deposed = { count: 0, last: 0 }
  /** @type {Map<string, FakeStream>} */
  streams = new Map()

  /** @param {FakeOptions} [options] */
  constructor ({ delay = () => undefined, lag = () => 0, version = '2.12.1', cluster } = {}) {
    this.#delay = delay
    this.#lag = lag
    this.#wire = new Wire({ version, cluster, onMessage: (message) => this.#take(message) })
  }

  async listen () {
    this.url = await this.#wire.listen()
    await new Promise((resolve) => { this.#monitor.listen(0, '127.0.0.1', resolve) })
    this.monitor = `http://127.0.0.1:${this.#monitor.address().port}`
    return this
  }

  cut () {
    this.#wire.cut()
  }

  close () {
    for (const { consumers } of this.streams.values()) for (const consumer of consumers.values()) consumer.end(null)
    this.#wire.close()
    this.#monitor.close()
    this.#monitor.closeAllConnections()
  }

  /**
   * Runs after what waits in a line.
   * @type {(line: unknown, waiting: Promise<void> | undefined, run: () => void) => void}
   */
  #inLine (line, waiting, run) {
    const before = this.#lines.get(line)
    if (before === undefined && waiting === undefined) return run()
    const done = Promise.all([before, waiting]).then(run)
    this.#lines.set(line, done)
    done.then(() => { if (this.#lines.get(line) === done) this.#lines.delete(line) })
  }

  #take (message) {
    const { subject, connection } = message
    const what = subject.startsWith(API) ? subject.slice(API.length).replace(/\.[^.]*[a-z].*$/, '') : 'PUBLISH'
    // What is published arrives in order; requests to the API may overtake each other.
    this.#inLine(what === 'PUBLISH' ? connection : message, this.#delay(what, false), () => {
      const refused = this.refuse(what)
      const answer = refused === null ? this.#handle(what, message) : toAnswer(refused)
      if (answer === undefined || message.reply === '') return
      const overruled = this.overrule(what)
      this.#send(connection, message.reply, toMessage(overruled === null ? answer : { error: overruled }), what)
    })
  }

  #send (connection, subject, message, what = 'DELIVER') {
    this.#inLine(`${subject}`, this.#delay(what, true), () => { connection.send(subject, message) })
  }

  #handle (what, message) {
    if (what === 'PUBLISH') return this.#publish(message)
    const [name, consumer] = message.subject.slice(API.length + what.length + 1).split('.')
    const request = message.data.length === 0 ? {} : JSON.parse(message.data.toString())
    const run = HANDLERS[what]
    if (run === undefined) return NO_RESPONDERS
    const stream = this.streams.get(name)
    if (what === 'STREAM.CREATE') return this.#create(name, request)
    if (stream === undefined && SILENT.includes(what)) return NO_RESPONDERS
    if (stream === undefined) return { error: STREAM_NOT_FOUND }
    return run.call(this, stream, request, { ...message, consumer })
  }

  #publish (message) {
    const stream = [...this.streams.values()].find(({ config }) => config.subjects[0] === message.subject)
    if (stream === undefined) return NO_RESPONDERS
    const answer = stream.publish(message)
    for (const consumer of stream.consumers.values()) consumer.deliver()
    return answer
  }

  #create (name, config) {
    return this.streams.has(name) ? { error: NAME_IN_USE } : this.info(this.make(name, config))
  }

  make (name, config) {
    const made = new Date(Date.UTC(2026, 0, 1) + this.#madeCount++).toISOString()
    const stream = new FakeStream({ retention: 'limits', ...config }, made)
    this.streams.set(name, stream)
    return stream
  }

  info (stream) {
    const { config, created, state } = stream
    return { config, created, state: { ...state, last_seq: state.last_seq - this.staleBy }, cluster: { leader: 'fake' } }
  }

  /** A consumer of one record at a time would be slow: a replica that is behind catches up while it is asked. */
  addConsumer (stream, config, name = `c${this.#consumerCount++}`) {
    const send = (connection, inbox, message) => this.#send(connection, inbox, message)
    const consumer = new FakeConsumer(stream, name, config, { send, visibleTo: () => stream.last - this.#lag() })
    stream.consumers.set(name, consumer)
    return { name, stream_name: stream.config.name, config: { ...config, name } }
  }

  lagging (stream, seq) {
    return seq > stream.last - this.#lag()
  }

  deleteStream (name) {
    const stream = this.streams.get(name)
    for (const consumer of stream?.consumers.values() ?? []) consumer.end()
    return this.streams.delete(name)
  }

  /** As a backup is restored: the stream is another one, with the old name and the old time. */
  restore (name, copy) {
    this.deleteStream(name)
    this.streams.set(name, copy.copy())
  }
}

/** @type {Record<string, (this: FakeServer, stream: FakeStream, request: any, context: any) => any>} */
const HANDLERS = {
  'STREAM.CREATE': () => {},
  'STREAM.INFO' (stream, request) {
    const info = this.info(stream)
    return request.deleted_details ? { ...info, state: { ...info.state, deleted: stream.deleted } } : info
  },
  'STREAM.UPDATE' (stream, config) {
    stream.config = { ...stream.config, ...config }
    return this.info(stream)
  },
  'STREAM.DELETE' (stream) { return { success: this.deleteStream(stream.config.name) } },
  'STREAM.PURGE' (stream, request) { return { success: true, purged: stream.purge(request) } },
  'STREAM.MSG.GET' (stream, request) {
    const isOld = request.last_by_subj !== undefined && this.deposed.count-- > 0
    const message = stream.get(isOld ? { seq: this.deposed.last } : request)
    const isMissing = message === undefined || message.seq > stream.last - this.lacks()
    return isMissing ? { error: NOT_FOUND } : { message: toStored(stream, message) }
  },
  'STREAM.MSG.DELETE' (stream, { seq }) {
    if (stream.delete(seq)) return { success: true }
    return { error: seq < stream.first ? DELETE_FAILED : SEQ_NOT_FOUND }
  },
  'DIRECT.GET' (stream, { seq }) {
    const message = this.lagging(stream, seq) ? undefined : stream.messages.get(seq)
    if (message === undefined) return { headers: 'NATS/1.0 404 Message Not Found\r\n\r\n' }
    const headers = message.headers === '' ? 'NATS/1.0\r\n\r\n' : message.headers
    return { headers: `${headers.slice(0, -2)}Nats-Stream: ${stream.config.name}\r\nNats-Sequence: ${seq}\r\n\r\n`, data: message.data }
  },
  'CONSUMER.CREATE' (stream, { config }, { consumer }) { return this.addConsumer(stream, config, consumer) },
  'CONSUMER.INFO' (stream, request, { consumer }) {
    const found = stream.consumers.get(consumer)
    if (found === undefined) return { error: CONSUMER_NOT_FOUND }
    return { name: found.name, stream_name: stream.config.name, config: found.config }
  },
  'CONSUMER.DELETE' (stream, request, { consumer }) {
    stream.consumers.get(consumer)?.end()
    return stream.consumers.delete(consumer) ? { success: true } : { error: CONSUMER_NOT_FOUND }
  },
  'CONSUMER.MSG.NEXT' (stream, request, context) {
    const found = stream.consumers.get(context.consumer)
    if (found === undefined) return NO_RESPONDERS
    found.pull(context)
    return undefined
  }
}

function toStored (stream, { seq, headers, data, time }) {
  return {
    subject: stream.config.subjects[0],
    seq,
    time: new Date(time).toISOString(),
    data: data.toString('base64'),
    ...(headers !== '' && { hdrs: Buffer.from(headers, 'latin1').toString('base64') })
  }
}

function toAnswer (refused) {
  return 'headers' in refused ? refused : { error: refused }
}

/** What a message has already, or JSON. */
function toMessage (answer) {
  return 'headers' in answer ? answer : { data: JSON.stringify(answer) }
}

/** @param {FakeOptions} [options] */
function startFakeServer (options) {
  return new FakeServer(options).listen()
}

exports.NO_RESPONDERS = NO_RESPONDERS
exports.STREAM_NOT_FOUND = STREAM_NOT_FOUND
exports.startFakeServer = startFakeServer
