'use strict'
// What a measuring process does: it starts the server of a peer, sends requests, and counts afterwards what is stored.
// A server that has answered more events than it stores fails.

const { execFile } = require('node:child_process')
const fs = require('node:fs')
const http = require('node:http')
const path = require('node:path')
const { setTimeout: wait } = require('node:timers/promises')
const { promisify } = require('node:util')
const autocannon = require('autocannon')
const { shareAt } = require('../../engine/tail')
const { memoryOf } = require('../../lib/measure')
const { median } = require('../../lib/report')
const { hostile } = require('./hostile')
const { createEvent, requests } = require('./requests')
const { startServer } = require('./servers')

/** @typedef {import('./servers').Peer} Peer */
/** @typedef {Awaited<ReturnType<typeof startServer>>} Server */
/** @typedef {Record<string, number>} Figures */

/**
 * @typedef {object} Setting
 * @property {string} folder  of this case
 * @property {number} seconds  of load
 * @property {number} connections
 * @property {string} request  of requests.js
 * @property {number} [stored]  events that are stored before
 * @property {number} [count]  of readers, logs or records
 * @property {string} [hostile]  of hostile.js
 * @property {any} options  of the peer
 */

const WARM_SECONDS = 2
/** The first seconds of a server are those of its compilation and its heap. */
const GROWING_SECONDS = 10
const SAMPLE_MS = 250
const SETTLE_MS = 3000
const NAMES_AT_ONCE = 30
/** Events that a heavy read goes through, and how long a writer rests between two events. */
const BESIDE_COUNT = 500_000
const PAUSE_MS = 5
const STAGES = path.join(__dirname, 'stages.mjs')
const run = promisify(execFile)

/** @type {(order: any) => Promise<import('../../engine/row').Reading>} */
async function measure ({ row, peer, side, setting, folder }) {
  const own = { ...setting, folder, options: side }
  return { figures: await (peer.measure ? peer.measure(own) : WORKS[row.work](peer, own)) }
}

/**
 * Runs the server of a peer, and checks that it has stored what it has answered, if `use` says how much that is.
 * @type {(peer: Peer, setting: Pick<Setting, 'folder' | 'options'>, use: (server: Server) => Promise<Figures>) =>
 *   Promise<Figures>}
 */
async function serve (peer, { folder, options }, use) {
  const server = await startServer(peer.name, folder, options)
  const { answered = 0, ...figures } = await use(server)
  await server.stop()
  if (answered > 0) await check(peer, folder, answered)
  return figures
}

/** @type {Record<string, (peer: Peer, setting: Setting) => Promise<Figures>>} */
const WORKS = {
  /** As many requests as the server answers. */
  async load (peer, setting) {
    const { folder, options: { isFull, ...options }, stored = 0, seconds } = setting
    if (isFull) await peer.fill?.(folder, stored)
    return serve(peer, { folder, options }, async ({ url }) => {
      const warm = await send(url, setting, Math.min(WARM_SECONDS, seconds))
      const { answered, ...figures } = await send(url, setting, seconds)
      return { ...figures, answered: (isFull ? stored : 0) + warm.answered + answered }
    })
  },

  /** PUTs of users who come and go, by k6. */
  stages: (peer, setting) => serve(peer, setting, async ({ url }) => {
    const summary = path.join(setting.folder, 'summary.json')
    const env = { ...process.env, URL: url, SECONDS: String(setting.seconds) }
    await run('k6', ['run', '--quiet', '--no-usage-report', '--summary-mode', 'full', '--summary-export', summary, STAGES], { env })
    const { http_reqs: { count, rate }, http_req_duration: ms, http_req_failed: failed } = JSON.parse(fs.readFileSync(summary, 'utf8')).metrics
    return { rate, p95: ms['p(95)'], p99: ms['p(99)'], max: ms.max, failed: failed.value, answered: count - failed.passes }
  }),

  /** The memory of the server under load: how much it grows after the first seconds, and its most. */
  endure: (peer, setting) => serve(peer, setting, async ({ url, pid }) => {
    /** @type {number[]} */
    const all = []
    const timer = setInterval(() => all.push(memoryOf(pid)), SAMPLE_MS)
    const figures = await send(url, setting, setting.seconds)
    clearInterval(timer)
    // A run that is shortened has fewer such seconds.
    const from = Math.floor(all.length * Math.min(0.5, GROWING_SECONDS / setting.seconds))
    const third = Math.ceil((all.length - from) / 3)
    const [early, late] = [all.slice(from, from + third), all.slice(-third)]
    return { ...figures, peak: Math.max(...all), growth: Math.max(0, median(late) - median(early)) }
  }),

  /** Live readers to which nothing happens; of a server without live streams, connections that are kept. */
  readers: (peer, { count = 0, ...setting }) => serve(peer, setting, ({ url, pid }) => {
    const headers = { accept: 'text/event-stream' }
    const isOurs = peer.kind === 'millrace'
    return measureGrowth(url, pid, async (agent) => {
      const open = () => new Promise((resolve, reject) => {
        const request = http.request(`${url}/v1/${isOurs ? 'logs/a' : 'se/a/b'}`, { agent, headers }, (response) => {
          if (isOurs) response.once('data', resolve)
          else response.resume().once('end', resolve)
        })
        request.once('error', reject).end()
      })
      await Promise.all(Array.from({ length: count }, open))
      return {}
    })
  }),

  /** Many logs with one event each. */
  names: (peer, { count = 0, ...own }) => serve(peer, own, ({ url, pid }) => measureGrowth(url, pid, async (agent) => {
    let [next, files] = [0, 0]
    const began = performance.now()
    await Promise.all(Array.from({ length: NAMES_AT_ONCE }, async () => {
      while (next < count) {
        const name = next++
        await post(`${url}/v1/logs/n${name}`, agent)
        if (name % 100 === 0) files = Math.max(files, fs.readdirSync(`/proc/${pid}/fd`).length)
      }
    }))
    return { rate: count / (performance.now() - began) * 1000, files, answered: count + 1 }
  })),

  /** Writes, one after the other, beside requests that make the server work hard. */
  async beside (peer, { seconds, count = 0, hostile: kind = '', ...setting }) {
    await peer.fill?.(setting.folder, BESIDE_COUNT, 'big')
    return serve(peer, setting, async ({ url }) => {
      const agent = new http.Agent({ keepAlive: true })
      await post(`${url}/v1/logs/a`, agent)
      await lagOf(url)
      const list = hostile[kind]()
      const endMs = performance.now() + 1000 * seconds
      const load = Array.from({ length: count }, async (_, index) => {
        for (let n = index; performance.now() < endMs; n++) {
          const { path, ...how } = list[n % list.length]
          await fetch(url + path, /** @type {any} */ (how)).then((answer) => answer.arrayBuffer())
        }
      })
      const times = []
      while (performance.now() < endMs) {
        const began = performance.now()
        await post(`${url}/v1/logs/a`, agent)
        times.push(performance.now() - began)
        await wait(PAUSE_MS)
      }
      const lag = await lagOf(url)
      await Promise.all(load)
      agent.destroy()
      const at = shareAt(times)
      return { p50: at(0.5), p99: at(0.99), lag }
    })
  },

  /** Without HTTP: a program with a log, or a database, of its own. */
  async direct (peer, { folder, count = 0 }) {
    const events = Array.from({ length: 1000 }, (_, n) => createEvent(n))
    const rates = []
    for (let sample = 0; sample < 4; sample++) {
      const own = path.join(folder, String(sample))
      fs.mkdirSync(own)
      const { write, flush, close } = await /** @type {Required<Peer>} */ (peer).direct(own)
      const began = performance.now()
      for (let n = 0; n < count; n++) write(events[n % events.length])
      flush()
      rates.push(count / (performance.now() - began) * 1000)
      await close()
      await check(peer, own, count)
    }
    // The first one compiles the code.
    return { rate: median(rates.slice(1)) }
  }
}

/**
 * How much more memory a server takes after some work, once it has had time to rest.
 * @type {(url: string, pid: number, work: (agent: http.Agent) => Promise<Figures>) => Promise<Figures>}
 */
async function measureGrowth (url, pid, work) {
  const agent = new http.Agent({ keepAlive: true })
  await post(`${url}/v1/logs/a`)
  await wait(SETTLE_MS)
  const before = memoryOf(pid)
  const figures = await work(agent)
  await wait(SETTLE_MS)
  const memory = Math.max(0, memoryOf(pid) - before)
  agent.destroy()
  return { ...figures, memory }
}

/** The longest turn of the server's event loop since this was asked last, in ms. @param {string} url */
async function lagOf (url) {
  const text = await (await fetch(`${url}/metrics`)).text()
  return 1000 * Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1])
}

/** @type {(url: string, setting: Setting, seconds: number) => Promise<Figures>} */
async function send (url, { connections, request }, seconds) {
  const { events, list } = requests[request]
  /** @type {number[]} */
  const times = []
  const loading = autocannon({ url, connections, duration: seconds, requests: list })
  // Its own percentiles are whole ms.
  loading.on('response', (/** @type {any[]} */ ...[, , , ms]) => { times.push(ms) })
  const result = await loading
  const at = shareAt(times)
  const failed = (result.non2xx + result.errors) / Math.max(1, times.length)
  const answered = result['2xx'] * events
  return { answered, rate: answered / result.duration, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1), failed }
}

/** @type {(peer: Peer, folder: string, answered: number) => Promise<void>} */
async function check ({ count }, folder, answered) {
  const stored = await count?.(folder)
  // The load ends with requests that were sent, but are not answered.
  if (stored !== undefined && stored < answered) throw new Error(`${answered} events were acknowledged, and ${stored} are stored`)
}

/** @type {(url: string, agent?: http.Agent) => Promise<void>} */
function post (url, agent) {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const request = http.request(url, { method: 'POST', headers, agent }, (response) => {
      response.resume().once('end', () => {
        if (response.statusCode === 200) resolve()
        else reject(new Error(`${url}: ${response.statusCode}`))
      })
    })
    request.once('error', reject).end(createEvent(1))
  })
}

exports.measure = measure
exports.WORKS = WORKS
