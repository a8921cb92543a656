// @ts-nocheck
'use strict'
// Requests to a server that is killed and begun again at another address.

const { setTimeout: sleep } = require('node:timers/promises')

/** Of a server that is beginning, or that is handling a request whose client has gone. */
const LATER = new Set([409, 503])
const LATER_MS = 5

class Caller {
  #url

  constructor (life) {
    this.life = life
    this.#url = life.url
    life.onMessage = ({ url }) => { this.#url = url }
  }

  /**
   * @returns {Promise<{ status: number, text: string, headers: Headers } | null>} null if it is unknown what has become
   *   of a request that may not be sent again
   */
  async send (target, { isOnce = false, ...init } = {}) {
    for (;;) {
      const url = await this.url()
      try {
        const response = await fetch(url + target, init)
        const text = await response.text()
        const { status, headers } = response
        const isStale = text.includes('counts_stale')
        if (!LATER.has(status) || isStale) return { status, text, headers }
      } catch (err) {
        // The connection has ended, or there is none.
        if (!(err instanceof TypeError)) throw err
      }
      if (isOnce) return null
      await sleep(LATER_MS)
    }
  }

  /** @returns {Promise<string>} of the server that is there, once there is one */
  async url () {
    while (!this.#url) await sleep(LATER_MS)
    return this.#url
  }

  /** All lines of a range, also of one that takes several requests. */
  async read (target) {
    const records = []
    let next = {}
    for (;;) {
      const { status, text } = await this.send(boundBy(target, next))
      // The log begins with its first record.
      if (status === 404) return []
      if (status !== 200) throw new Error(`GET ${target}: ${status}: ${text.slice(0, 300)}`)
      const lines = text.split('\n').slice(0, -1).map((line) => JSON.parse(line))
      const last = lines.at(-1)
      // A server that is killed cuts the answer off. What was dropped meanwhile ends it.
      if (!last?.end && !last?.error && text !== '') continue
      if (last?.error && last.error.status !== 410) throw new Error(`GET ${target}: ${JSON.stringify(last)}`)
      if (last?.error || text === '') {
        records.length = 0
        next = {}
        continue
      }
      records.push(...lines.slice(0, -1))
      if (last.end.reason !== 'budget') return records
      next = last.end.next
    }
  }
}

/** In place of the lower or the upper bound. */
function boundBy (target, next) {
  const url = new URL(target, 'http://box')
  for (const [name, seq] of Object.entries(next)) {
    for (const other of name.startsWith('g') ? ['gt', 'gte'] : ['lt', 'lte']) url.searchParams.delete(other)
    url.searchParams.set(name, seq)
  }
  return url.pathname + url.search
}

exports.Caller = Caller
