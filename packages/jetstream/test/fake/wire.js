'use strict'
// The protocol between NATS clients and a server, as far as the tests need it: messages by subject, over sockets of the
// loopback.

const net = require('node:net')

const END = Buffer.from('\r\n')

/**
 * @typedef {{ subject: string, reply: string, headers: string, data: Buffer, connection: Connection }} Message
 *   `headers` as text, empty if there are none
 */

/** One client. */
class Connection {
  #socket
  #wire
  #rest = Buffer.alloc(0)
  /** Subject and count of messages that are still wanted, by id. */
  #subscriptions = new Map()

  constructor (socket, wire) {
    this.#socket = socket
    this.#wire = wire
    socket.setNoDelay(true)
    socket.on('data', (chunk) => this.#read(chunk))
    socket.on('error', () => {})
    socket.on('close', () => wire.forget(this))
    const about = { server_id: 'FAKE', server_name: 'fake', version: wire.version, proto: 1, headers: true, max_payload: 1 << 20 }
    socket.write(`INFO ${JSON.stringify({ ...about, jetstream: true, cluster: wire.cluster })}\r\n`)
  }

  /** @param {Buffer} chunk */
  #read (chunk) {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    for (;;) {
      const end = this.#rest.indexOf(END)
      if (end === -1) return
      const words = this.#rest.toString('latin1', 0, end).trim().split(/\s+/)
      const isMessage = words[0] === 'PUB' || words[0] === 'HPUB'
      const size = isMessage ? Number(words[words.length - 1]) : 0
      const next = end + 2 + (isMessage ? size + 2 : 0)
      if (this.#rest.length < next) return
      const body = this.#rest.subarray(end + 2, end + 2 + size)
      this.#rest = this.#rest.subarray(next)
      this.#take(words, body)
    }
  }

  /** @type {(words: string[], body: Buffer) => void} */
  #take ([verb, ...words], body) {
    if (verb === 'PING') return this.#socket.write('PONG\r\n')
    if (verb === 'SUB') return this.#subscriptions.set(words[words.length - 1], { subject: words[0], left: Infinity })
    if (verb === 'UNSUB') return this.#unsubscribe(words[0], Number(words[1] ?? 0))
    if (verb !== 'PUB' && verb !== 'HPUB') return
    const headSize = verb === 'HPUB' ? Number(words[words.length - 2]) : 0
    const sizes = verb === 'HPUB' ? 2 : 1
    const reply = words.length - sizes > 1 ? words[1] : ''
    const headers = body.toString('latin1', 0, headSize)
    const data = Buffer.from(body.subarray(headSize))
    this.#wire.onMessage({ subject: words[0], reply, headers, data, connection: this })
  }

  #unsubscribe (id, count) {
    const subscription = this.#subscriptions.get(id)
    if (subscription === undefined) return
    if (count === 0) this.#subscriptions.delete(id)
    else subscription.left = count
  }

  /**
   * Whether the client wanted it. `shown`: the subject that it sees.
   * @type {(subject: string, message: any) => boolean}
   */
  send (subject, { shown = subject, reply = '', headers = '', data = '' }) {
    for (const [id, subscription] of this.#subscriptions) {
      if (!matches(subscription.subject, subject)) continue
      if (--subscription.left === 0) this.#subscriptions.delete(id)
      const [head, body] = [Buffer.from(headers, 'latin1'), Buffer.from(data)]
      const [verb, sizes] = head.length === 0 ? ['MSG', ''] : ['HMSG', `${head.length} `]
      const line = `${verb} ${shown} ${id} ${reply} ${sizes}${head.length + body.length}\r\n`
      this.#socket.write(Buffer.concat([Buffer.from(line), head, body, END]))
      return true
    }
    return false
  }

  end () {
    this.#socket.destroy()
  }
}

/** @type {(pattern: string, subject: string) => boolean} */
function matches (pattern, subject) {
  if (pattern === subject) return true
  if (!pattern.endsWith('*')) return false
  const prefix = pattern.slice(0, -1)
  return subject.startsWith(prefix) && !subject.slice(prefix.length).includes('.')
}

/** Listens on a port of the loopback. */
class Wire {
  /** @type {Set<Connection>} */
  #connections = new Set()
  #server = net.createServer((socket) => this.#connections.add(new Connection(socket, this)))

  /** @type {(options: { version: string, cluster?: string, onMessage: (message: Message) => void }) => void} */
  constructor ({ version, cluster, onMessage }) {
    this.version = version
    this.cluster = cluster
    this.onMessage = onMessage
  }

  /** @returns {Promise<string>}  the address */
  listen () {
    return new Promise((resolve) => {
      this.#server.listen(0, '127.0.0.1', () => resolve(`127.0.0.1:${this.#server.address().port}`))
    })
  }

  /** Cuts off every client; they may connect again. */
  cut () {
    for (const connection of this.#connections) connection.end()
  }

  forget (connection) {
    this.#connections.delete(connection)
  }

  close () {
    this.#server.close()
    this.cut()
  }
}

exports.Wire = Wire
