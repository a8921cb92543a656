'use strict'
// Whether a web page may have made a request to a server on the loopback. A page of another site can send requests to
// any address that its browser reaches, and with a name that is made to point here (DNS rebinding) it can read the
// answers too.

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * @typedef {object} Headers
 * @property {string | undefined} [host]  the name that the client has for the server
 * @property {string | undefined} [origin]  the site of the page that makes the request
 * @property {string | string[] | undefined} [sec-fetch-site]  how that site relates to the server, as the browser says
 */

/** Clients send the same header with each request. */
const last = { host: '', name: '' }

/** The name in a `Host` header, without the port. @param {string | undefined} host */
function nameOf (host = '') {
  if (host !== last.host) Object.assign(last, { host, name: host.replace(/:\d+$/, '').toLowerCase() })
  return last.name
}

/**
 * Says why a request to a server on this machine was made by a web page that should not have made it.
 * @param {Headers} headers
 * @param {(name: string) => boolean} [isKnown]  whether the server has this name; by default, names of the loopback
 * @returns {string | null}  the reason to refuse the request; null if there is none
 */
function whyForeign (headers, isKnown = (name) => LOOPBACK.has(name)) {
  const { host, origin } = headers
  if (!isKnown(nameOf(host))) return `this server has no name ${JSON.stringify(host ?? '')}`
  const site = headers['sec-fetch-site'] ?? 'none'
  if (site !== 'same-origin' && site !== 'none') return 'a page of another site has made this request'
  if (origin !== undefined && !isSameOrigin(origin, host)) return `a page of ${JSON.stringify(origin)} has made this request`
  return null
}

/** @type {(origin: string, host: string | undefined) => boolean} */
function isSameOrigin (origin, host) {
  return URL.canParse(origin) && new URL(origin).host === String(host).toLowerCase()
}

exports.whyForeign = whyForeign
/** Whether a name is one of the loopback. */
exports.isLoopbackName = (/** @type {string} */ name) => LOOPBACK.has(name)
