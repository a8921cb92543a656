'use strict'
// A pull consumer in memory. It runs on one replica, which may be behind.

class FakeConsumer {
  #stream
  #send
  #delivered = 0
  #next
  /** Requests that wait for records, the oldest first. */
  #waiting = []
  #visibleTo
  #timer
  /** So many of the next records are lost on their way. */
  losing = 0
  /** Whether its replica is behind for good. */
  isStuck = false

  /** `visibleTo`: how much of the stream its replica has; `send(connection, inbox, message)` */
  constructor (stream, name, config, { send, visibleTo }) {
    this.#stream = stream
    this.name = name
    this.config = config
    this.#send = send
    this.#visibleTo = visibleTo
    this.#next = config.deliver_policy === 'by_start_sequence' ? config.opt_start_seq : 1
  }

  pull ({ connection, reply, data }) {
    const { batch = 1, expires = 0, no_wait: noWait = false, idle_heartbeat: heartbeat = 0 } = JSON.parse(data)
    const request = { connection, reply, left: batch, timers: [] }
    this.#waiting.push(request)
    this.deliver()
    if (request.left === 0) return
    if (noWait) return this.#end(request, '404 No Messages')
    request.timers.push(setTimeout(() => this.#end(request, '408 Request Timeout'), expires / 1e6))
    if (heartbeat > 0) request.timers.push(setInterval(() => this.#beat(request), heartbeat / 1e6))
  }

  /** Sends what there is to those who wait. */
  deliver () {
    for (const request of [...this.#waiting]) {
      while (request.left > 0) {
        const to = this.isStuck ? 0 : this.#visibleTo()
        const message = this.#stream.next(this.#next, to)
        if (message === undefined) return this.#catchUp()
        this.#next = message.seq + 1
        request.left--
        this.#sendTo(request, message, this.#stream.next(this.#next, to) === undefined ? 0 : 1)
      }
      this.#forget(request)
    }
  }

  /** If its replica is behind, it is not for long. */
  #catchUp () {
    if (this.isStuck || this.#stream.next(this.#next) === undefined || this.#waiting.length === 0) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.deliver(), 2)
  }

  #sendTo ({ connection, reply: inbox }, { seq, headers, data, time }, pending) {
    const { name } = this.#stream.config
    const reply = `$JS.ACK.${name}.${this.name}.1.${seq}.${++this.#delivered}.${time}000000.${pending}`
    if (this.losing-- > 0) return
    const body = this.config.headers_only ? { headers: 'NATS/1.0\r\nNats-Msg-Size: 1\r\n\r\n' } : { headers, data }
    this.#send(connection, inbox, { shown: this.#stream.config.subjects[0], reply, ...body })
  }

  #status ({ connection, reply }, status) {
    this.#send(connection, reply, { headers: `NATS/1.0 ${status}\r\n\r\n` })
  }

  #beat (request) {
    this.#status(request, `100 Idle Heartbeat\r\nNats-Last-Consumer: ${this.#delivered}\r\nNats-Last-Stream: ${this.#next - 1}`)
  }

  #end (request, status) {
    if (!this.#waiting.includes(request)) return
    this.#forget(request)
    this.#status(request, status)
  }

  #forget (request) {
    this.#waiting = this.#waiting.filter((each) => each !== request)
    for (const timer of request.timers) clearTimeout(timer)
  }

  /** It was deleted. `status`: what those who wait are told; null if the server that had it is gone. */
  end (status = '409 Consumer Deleted') {
    clearTimeout(this.#timer)
    for (const request of [...this.#waiting]) {
      if (status === null) this.#forget(request)
      else this.#end(request, status)
    }
  }
}

exports.FakeConsumer = FakeConsumer
