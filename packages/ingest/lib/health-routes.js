'use strict'
// GET /healthz, /readyz and /metrics: for whoever starts, watches and measures the server.

const path = require('node:path')
const { setTimeout } = require('node:timers')
const { writeWhole } = require('@millrace/block-file')
const { promisesOf, toPromise } = require('@millrace/flow')
const { whatIsWrong } = require('./access')
const { unavailable } = require('./problem')
const { docs } = require('./schemas')

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'
const PROBE_FILE = 'probe'
const PROBE_SIZE = 64 * 1024
/** A probe counts for so long, so that nobody can keep the disk busy with them. */
const PROBE_MS = 1000
/** A disk that takes longer does not answer. */
const PROBE_MS_MAX = 3000

/** @type {(routes: any, context: import('./plugin').Context) => void} */
function addHealthRoutes (routes, { options, keys, logs, metrics }) {
  const disk = new DiskProbe(options.folder, logs.storage)
  const probed = { action: 'none', byAddress: true }
  routes.add('GET', '/healthz', probed, () => ({ status: 'alive' }), { doc: docs.healthz })
  routes.add('GET', '/readyz', probed, async () => {
    if (!logs.isOpen) throw unavailable('the server is starting, is stopping, or another one has its folder')
    const failure = await disk.check()
    if (failure === 'ERR_FILE_MOVED') throw unavailable('the folder of the server was moved, removed or replaced')
    if (failure !== null) throw unavailable(`the disk fails (${failure})`)
    const wrong = whatIsWrong(keys, options)
    // Paths are nobody's business.
    if (wrong?.isClosed) throw unavailable('no API key is valid: every request is refused')
    return { status: 'ready', ...(wrong && { warning: wrong.text }) }
  }, { doc: docs.readyz })
  routes.add('GET', '/metrics', { action: 'read', log: '*', byAddress: true }, async (/** @type {any} */ request, /** @type {any} */ reply) => {
    const text = await metrics.format()
    return reply.header('Content-Type', METRICS_TYPE).send(text)
  }, { doc: docs.metrics })
}

/** Whether the disk takes a file and syncs it. Logs are opened when they are used, so they do not show it. */
class DiskProbe {
  #file
  #storage
  #endMs = -Infinity
  /** @type {Promise<string | null>} */
  #probing = Promise.resolve(null)

  /** @param {string} folder  @param {import('@millrace/block-file').Storage} storage */
  constructor (folder, storage) {
    this.#file = path.join(folder, PROBE_FILE)
    this.#storage = storage
  }

  /** @returns {Promise<string | null>}  the code of the failure; null if there is none */
  check () {
    const now = performance.now()
    if (now < this.#endMs) return this.#probing
    this.#endMs = Infinity
    const probe = this.#write().then(() => null, (err) => err.code ?? err.message)
    const again = () => { this.#endMs = performance.now() + PROBE_MS }
    // While the disk does not answer, no further probe is begun.
    probe.then(again)
    /** @type {Promise<string>} */
    const late = new Promise((resolve) => setTimeout(resolve, PROBE_MS_MAX, 'it does not answer').unref())
    this.#probing = Promise.race([probe, late])
    return this.#probing
  }

  async #write () {
    const handle = await promisesOf(this.#storage).open(this.#file, { flags: 'r+', createFolder: false })
    try {
      await toPromise((cb) => writeWhole(handle, Buffer.alloc(PROBE_SIZE, 1), 0, cb))
      await promisesOf(handle).sync()
    } finally {
      await promisesOf(handle).close().catch(() => {})
      await promisesOf(this.#storage).unlink(this.#file)
    }
  }
}

exports.addHealthRoutes = addHealthRoutes
