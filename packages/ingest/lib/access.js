'use strict'
// Who may do what: the name that the request was sent to, pages of other sites, API keys and their scopes, the rate.

const { isIP } = require('node:net')
const { isLoopbackName, whyForeign } = require('@millrace/flow/loopback')
const { allows } = require('./keys')
const { Problem, unauthorized, unavailable } = require('./problem')

/** Rates of so many clients are kept; then those that were not seen for longest are forgotten. */
const CLIENT_COUNT_MAX = 10_000
/** @type {Access} */
const ANY = { action: 'any' }

/**
 * @typedef {import('./keys').ActiveKey} Key
 * @typedef {string | ((key: Key) => string)} LogOf
 * @typedef {{ action: 'read' | 'write', log?: LogOf } | { action: 'any' | 'none' }} Action  `log`: if it is not the
 *   parameter `name`. `any`: any key will do
 * @typedef {Action & { byAddress?: boolean }} Access  `byAddress`: also for requests to an address in place of a name
 */

class AccessControl {
  #keys
  #isKnown
  #rate

  /**
   * @param {import('./keys').Keys} keys
   * @param {import('./options').Options} options
   */
  constructor (keys, { hosts, rate }) {
    this.#keys = keys
    this.#rate = rate === null ? null : new RateLimit(rate)
    const names = hosts === null ? null : new Set(hosts.map((name) => name.toLowerCase()))
    /** @type {(name: string) => boolean} */
    this.#isKnown = (name) => {
      // A page that reaches the server under another name has no key. Without keys, the name is the only guard.
      return isLoopbackName(name) || (names === null ? keys.areNeeded : names.has(name))
    }
  }

  /**
   * Probes are sent to the address of a machine or a container, by HTTP/1.0 without a `Host`. No page can make a
   * browser do that in place of a name: what it controls is what a name points to.
   * @param {string} name
   */
  #isKnownOrAddress = (name) => name === '' || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 || this.#isKnown(name)

  /**
   * @param {import('fastify').FastifyRequest} request
   * @param {import('fastify').FastifyReply} reply
   * @param {Access} [access]  what the route needs
   * @returns {Key | null}  null if none is needed
   * @throws {Problem}
   */
  check ({ headers, raw, params }, reply, access = ANY) {
    const foreign = whyForeign(headers, access.byAddress ? this.#isKnownOrAddress : this.#isKnown)
    if (foreign !== null) throw new Problem(403, foreign, { code: 'foreign' })
    if (access.action === 'none') return null
    const key = this.#keys.areNeeded ? this.#findKey(headers.authorization) : null
    this.#rate?.take(key?.id ?? raw.socket.remoteAddress ?? '', reply)
    if (key !== null && (access.action === 'read' || access.action === 'write')) {
      const { action, log = /** @type {{ name: string }} */ (params).name } = access
      checkScope(key, action, typeof log === 'function' ? log(key) : log)
    }
    return key
  }

  /** @param {string | undefined} authorization @returns {Key} */
  #findKey (authorization) {
    if (!this.#keys.isReadable) throw unavailable('the keys cannot be read')
    const key = this.#keys.find(authorization)
    if (key !== null) return key
    const detail = authorization === undefined ? 'send an API key: Authorization: Bearer mr_...' : 'this API key is not valid'
    throw unauthorized(detail)
  }
}

/** @type {(key: Key, action: 'read' | 'write', log: string) => void} throws a Problem */
function checkScope (key, action, log) {
  if (allows(key, action, log)) return
  throw new Problem(403, `this key may not ${action} ${log === '*' ? 'all logs' : JSON.stringify(log)}`, { code: 'scope' })
}

/**
 * What is wrong with the keys, for whoever runs the server.
 * @param {import('./keys').Keys} keys
 * @param {import('./options').Options} options
 * @returns {{ isClosed: boolean, text: string } | null}  `isClosed`: nobody is let in
 */
function whatIsWrong (keys, { hosts, keysFile }) {
  if (keys.areNeeded) {
    const reason = keys.isReadable ? `there is no key in ${keysFile}` : `${keysFile} cannot be read`
    return keys.count > 0 ? null : { isClosed: true, text: `${reason}: every request is refused. Make a key: millrace keys create` }
  }
  const names = (hosts ?? []).filter((name) => !isLoopbackName(name.toLowerCase()))
  if (names.length === 0) return null
  const text = `there are no keys: everybody who reaches ${names.join(', ')} may read and write. ` +
    'Make a key: millrace keys create; with --require-keys, nobody is let in without one'
  return { isClosed: false, text }
}

/** So many requests a client in each window of time. */
class RateLimit {
  #count
  #windowMs
  /** @type {Map<string, { used: number, endMs: number }>} */
  #clients = new Map()

  /** @param {import('./options').Rate} rate */
  constructor ({ count, windowMs }) {
    this.#count = count
    this.#windowMs = windowMs
  }

  /** @type {(client: string, reply: import('fastify').FastifyReply) => void} throws a Problem */
  take (client, reply) {
    const now = performance.now()
    let window = this.#clients.get(client)
    if (window === undefined || now >= window.endMs) {
      window = { used: 0, endMs: now + this.#windowMs }
      this.#clients.delete(client)
      this.#clients.set(client, window)
      const [oldest] = this.#clients.keys()
      if (this.#clients.size > CLIENT_COUNT_MAX) this.#clients.delete(oldest)
    }
    const seconds = Math.ceil((window.endMs - now) / 1000)
    const left = Math.max(0, this.#count - ++window.used)
    reply.header('RateLimit-Policy', `"default";q=${this.#count};w=${Math.ceil(this.#windowMs / 1000)}`)
    reply.header('RateLimit', `"default";r=${left};t=${seconds}`)
    if (window.used > this.#count) throw new Problem(429, `more than ${this.#count} requests in ${this.#windowMs} ms`, { code: 'rate', retryAfter: seconds })
  }
}

exports.AccessControl = AccessControl
exports.whatIsWrong = whatIsWrong
