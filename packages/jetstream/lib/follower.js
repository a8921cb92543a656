'use strict'
// Follows the stream, so that `since` moves with the appends of others too: asks a consumer for the headers of new
// records. A consumer that falls silent, with its server or because somebody deleted it, is replaced by another one.

const { clearTimeout, setTimeout } = require('node:timers')
const { pause } = require('@millrace/flow')
const { createInbox, nanos } = require('@nats-io/transport-node')
const { parseReply } = require('./pulling')

/** The consumer is asked for so many at a time, and answers for so long. */
const WINDOW_COUNT = 1000
const ASKED_MS = 10_000
/** It sends a heartbeat so often; after that much silence it is lost. */
const HEARTBEAT_MS = 1000
const SILENT_MS_MAX = 2500
/** The servers keep the consumer for so long while this client is away. */
const KEPT_MS = 30_000
const PAUSE_MS = 250
const HEARTBEAT = 100
/** In a heartbeat: how many records the consumer has sent. */
const LAST_DELIVERED = 'Nats-Last-Consumer'
/** The request has ended: nothing more has come, or its time is over. */
const ENDED = [404, 408]

/** @typedef {import('./core').Core} Core */

class Follower {
  #core
  /** The seq after the last one that was delivered. It may be below what the log knows by other ways. */
  #next = 0
  #isClosed = false
  /** Ends the request that is waiting. */
  #stop = () => {}

  /** @param {Core} core */
  constructor (core) {
    this.#core = core
  }

  async open () {
    this.#next = this.#core.lastSeq + 1
    const consumer = await this.#make()
    // It fails only when the log has failed, and then the log says why.
    this.#follow(consumer).catch(() => {})
  }

  /** @returns {Promise<string>}  the name of the consumer */
  #make () {
    const { connection } = this.#core
    return this.#core.ask('follow', () => connection.makeConsumer(this.#next, KEPT_MS, { headers_only: true }))
  }

  /** @param {string} consumer */
  async #follow (consumer) {
    while (!this.#isClosed) {
      await this.#listen(consumer)
      if (this.#isClosed) return
      await pause(PAUSE_MS)
      // The stream may be gone, or another one.
      await this.#core.look('follow').catch(() => {})
      this.#core.checkUsable()
      consumer = await this.#make().catch(() => consumer)
    }
  }

  /** Until the consumer is lost. @type {(consumer: string) => Promise<void>} */
  #listen (consumer) {
    const { connection } = this.#core
    return new Promise((resolve) => {
      const inbox = createInbox()
      let delivered = 0
      let left = 0
      const ask = () => {
        left = WINDOW_COUNT
        const request = { batch: left, expires: nanos(ASKED_MS), idle_heartbeat: nanos(HEARTBEAT_MS) }
        connection.askConsumer(consumer, inbox, request)
      }
      const subscription = connection.nc.subscribe(inbox, {
        callback: (err, message) => {
          if (err) return end()
          silence.refresh()
          const { reply, headers } = message
          const status = headers?.code ?? 0
          if (!reply && status === HEARTBEAT) {
            if (Number(headers?.get(LAST_DELIVERED)) > delivered) end()
            return
          }
          if (!reply && !ENDED.includes(status)) return end()
          if (!reply) {
            if (left === WINDOW_COUNT) this.#hasMore().then((hasMore) => { if (hasMore) end() })
            return ask()
          }
          const { seq, delivered: count } = parseReply(reply)
          // One was lost on the way.
          if (count !== ++delivered) return end()
          this.#next = seq + 1
          this.#core.show(seq)
          if (--left === 0) ask()
        }
      })
      const end = this.#stop = () => {
        clearTimeout(silence)
        subscription.unsubscribe()
        resolve()
      }
      const silence = setTimeout(end, SILENT_MS_MAX)
      ask()
    })
  }

  /** Whether the leader has records that did not come: the replica of the consumer may be behind for long. */
  async #hasMore () {
    const { connection, options: { stream, subject } } = this.#core
    const request = { seq: this.#next, next_by_subj: subject }
    return this.#core.ask('follow', () => connection.ask(`STREAM.MSG.GET.${stream}`, request)).then(() => true, () => false)
  }

  close () {
    this.#isClosed = true
    this.#stop()
  }
}

exports.Follower = Follower
