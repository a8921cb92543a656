'use strict'
// A stream of NATS JetStream, by its address: `nats://127.0.0.1:4222/orders`. The package that talks to servers is
// loaded only for such an address, and need not be installed otherwise.

const { LogError, misuse } = require('@millrace/errors')
const { createLineCodec, createTally } = require('./line-codecs')
const { loadPackage } = require('./packages')

/** For calls while no server answers. A command is run again; it need not wait for as long as a service does. */
const TIMEOUT_MS = 10_000
const ADDRESS = /^(nats|tls):\/\//

/**
 * @typedef {import('../open').CodecName} CodecName
 * @typedef {ReturnType<typeof import('@millrace/jetstream').JetStreamLog>} StreamLog
 * @typedef {Record<string, any> & { stream: string, place: string }} Address  options of a JetStreamLog, and what
 *   messages call it
 */

/** @param {string} text  of a command line */
function isAddress (text) {
  return ADDRESS.test(text)
}

/**
 * @param {string} text  such as `nats://token@host:4222/orders?subject=orders.new`
 * @returns {Address}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseAddress (text) {
  const url = isAddress(text) && URL.canParse(text) ? new URL(text) : null
  const stream = decodeURIComponent(url?.pathname.slice(1) ?? '')
  const unknown = [...url?.searchParams.keys() ?? []].filter((name) => name !== 'subject')
  if (url === null || url.hostname === '' || !/^[^/]+$/.test(stream) || unknown.length > 0) {
    // A password must not get into a message.
    const shown = text.replace(/\/\/.*@/, '//')
    throw misuse(`${shown} is not the address of a stream; expected nats://HOST:PORT/STREAM, or tls://... for TLS, with ` +
      '?subject=SUBJECT after it if the stream takes another subject than its name')
  }
  const [user, pass] = [url.username, url.password].map(decodeURIComponent)
  return {
    place: `${url.protocol}//${url.host}/${stream}`,
    servers: url.host,
    stream,
    ...(url.protocol === 'tls:' && { tls: {} }),
    ...(user !== '' && (pass === '' ? { token: user } : { user, pass })),
    ...(url.searchParams.has('subject') && { subject: url.searchParams.get('subject') }),
    timeout: TIMEOUT_MS
  }
}

/**
 * @param {Address} address
 * @param {Record<string, any>} options  more of a JetStreamLog
 * @returns {Promise<StreamLog>}  ready
 */
async function openLog ({ place, ...address }, options) {
  const { JetStreamLog } = loadPackage('@millrace/jetstream', 'an address of a stream')
  const log = JetStreamLog({ ...address, ...options })
  try {
    await log.ready()
    return log
  } catch (/** @type {any} */ err) {
    await log.close().catch(() => {})
    if (err.code !== 'ENOENT') throw err
    throw new LogError('ENOENT', `there is no stream ${place}; check the name and the server`, { cause: err })
  }
}

/**
 * Opens a stream for reading, as `openSource` opens a file.
 * @param {string} text
 * @param {import('./source').SourceOptions} options
 * @returns {Promise<import('./source').OpenedSource>}
 */
async function openStream (text, { codec, raw = false }) {
  const { guessCodec, whole } = require('./source')
  const address = parseAddress(text)
  const bare = await openLog(address, { mustExist: true, follow: false })
  const stats = await bare.stats()
  const first = await bare.first({ seqs: false })
  await bare.close()
  const chosen = codec ?? named(stats.codec) ?? (first === undefined ? 'json' : guessCodec(first))
  const tally = createTally()
  const log = await openLog(address, { mustExist: true, codec: createLineCodec(chosen, raw, tally) })
  const identity = { path: address.place, size: stats.size, framing: null, codec: stats.codec }
  return { ...whole(/** @type {any} */ (log)), tally, identity, codec: chosen, close: () => log.close() }
}

/** @param {string | null} name @returns {CodecName | null} */
function named (name) {
  return name === 'json' || name === 'binary' || name === 'bytes' ? name : null
}

exports.isAddress = isAddress
exports.openLog = openLog
exports.openStream = openStream
exports.parseAddress = parseAddress
