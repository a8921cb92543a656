'use strict'
// Reads many records in order, from a consumer on the server: one that keeps no state, acknowledges nothing, and is
// forgotten once nobody asks it any more. If it is lost, with the server that had it, another one continues.

const { performance } = require('node:perf_hooks')
const { clearInterval, setInterval } = require('node:timers')
const { createInbox, TimeoutError, NoRespondersError } = require('@nats-io/transport-node')

/** The server forgets the consumer if nobody has asked it for so long. */
const FORGOTTEN_MS = 10_000
const ANSWER_MS_MAX = 5000
const SILENT_MS = 100
/** Of a reply subject: the parts from the end, whatever comes before them. */
const TOKENS = { short: { count: 9, seq: 5, delivered: 6, pending: 8 }, long: { seq: 7, delivered: 8, pending: 10 } }

/**
 * @typedef {import('./core').Core} Core
 * @typedef {import('./reader').Found} Found
 * @typedef {{ found: Found[], isWhole: boolean }} Answer
 */

class Puller {
  #core
  /** The name of the consumer; empty if there is none. */
  #consumer = ''
  /** The seq from which the consumer continues. */
  #next = 0
  /** How many records it has delivered. */
  #delivered = 0

  /** @param {Core} core */
  constructor (core) {
    this.#core = core
  }

  /** @param {number} from */
  async #make (from) {
    this.#consumer = await this.#core.connection.makeConsumer(from, FORGOTTEN_MS)
    this.#next = from
    this.#delivered = 0
  }

  /**
   * @param {number} from
   * @param {number} stop
   * @param {number} count  at most
   * @returns {Promise<Found[]>}  the next records, perhaps fewer than there are
   */
  async pull (from, stop, count) {
    if (this.#consumer === '' || this.#next !== from) await this.#make(from)
    const { found, isWhole } = await this.#ask(stop, count).catch((err) => {
      this.#consumer = ''
      throw err
    })
    if (found.length > 0) this.#next = found[found.length - 1].seq + 1
    // It may have sent more, which nobody waits for any more. If it has nothing, its replica may be behind for long, or
    // it has sent the rest to a request that had ended: another one is asked the next time.
    if (!isWhole || found.length === 0) this.#consumer = ''
    return found.filter(({ seq }) => seq < stop)
  }

  /** `isWhole`: the consumer has nothing more to send. @type {(stop: number, count: number) => Promise<Answer>} */
  #ask (stop, count) {
    const { connection, options: { stream, timeoutMs } } = this.#core
    return new Promise((resolve, reject) => {
      /** @type {Found[]} */
      const found = []
      const inbox = createInbox()
      const deadlineMs = performance.now() + Math.min(ANSWER_MS_MAX, timeoutMs)
      let countBefore = 0
      const end = (/** @type {Error | null} */ err, isWhole = true) => {
        clearInterval(timer)
        subscription.unsubscribe()
        if (err) reject(err)
        else resolve({ found, isWhole })
      }
      const subscription = connection.nc.subscribe(inbox, {
        callback: (err, message) => {
          if (err) return end(err)
          const { reply, data } = message
          if (!reply) return end(whyEnded(message.headers?.code, stream))
          const { seq, delivered, pending } = parseReply(reply)
          // One was lost on the way.
          if (delivered !== ++this.#delivered) return end(new TimeoutError())
          found.push({ seq, data, message })
          const isWhole = found.length === count || pending === 0
          if (isWhole || seq >= stop - 1) end(null, isWhole)
        }
      })
      const timer = setInterval(() => {
        // Records that it had still counted as pending were deleted, and it says nothing.
        if (found.length > 0 && found.length === countBefore) end(null, false)
        else if (found.length === 0 && performance.now() > deadlineMs) end(new TimeoutError())
        countBefore = found.length
      }, SILENT_MS)
      connection.askConsumer(this.#consumer, inbox, { batch: count, no_wait: true })
    })
  }
}

/** What a message without a record says. @type {(code: number | undefined, stream: string) => Error | null} */
function whyEnded (code, stream) {
  if (code === 404 || code === 408) return null
  return code === 503 ? new NoRespondersError(stream) : new TimeoutError()
}

/**
 * `$JS.ACK.<stream>.<consumer>.<attempts>.<seq>.<delivered>.<time>.<pending>`; newer servers may put the domain and the
 * account before the stream, and a random text after.
 * @param {string} reply
 */
function parseReply (reply) {
  const tokens = reply.split('.')
  const at = tokens.length === TOKENS.short.count ? TOKENS.short : TOKENS.long
  return { seq: Number(tokens[at.seq]), delivered: Number(tokens[at.delivered]), pending: Number(tokens[at.pending]) }
}

exports.Puller = Puller
exports.parseReply = parseReply
