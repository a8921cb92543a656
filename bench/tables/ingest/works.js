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
const { LogWriter, lines } = require('@millrace/log-writer')
const { SegmentedLog } = require('@millrace/segmented-log')
const { loadPeer } = require('../../engine/install')
const { median } = require('../../lib/report')
const { hostile } = require('./hostile')
const { createEvent, requests } = require('./requests')
const { startServer } = require('./servers')

/** @typedef {import('./servers').Peer} Peer */
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
const DIRECT_BATCH = 100
const KIB = 1024
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

/** @type {Record<string, (peer: Peer, setting: Setting) => Promise<Figures>>} */
const WORKS = {
  /** As many requests as the server answers. */
  async load (peer, setting) {
    const { folder, options: { isFull, ...options }, stored = 0, seconds } = setting
    if (isFull) await peer.fill?.(folder, stored)
    const server = await startServer(peer.name, folder, options)
    const warm = await send(server.url, setting, Math.min(WARM_SECONDS, seconds))
    const { answered, ...figures } = await send(server.url, setting, seconds)
    await server.stop()
    await check(peer, folder, (isFull ? stored : 0) + warm.answered + answered)
    return figures
  },

  /** PUTs of users who come and go, by k6. */
  async stages (peer, { folder, options, seconds }) {
    const server = await startServer(peer.name, folder, options)
    const summary = path.join(folder, 'summary.json')
    const env = { ...process.env, URL: server.url, SECONDS: String(seconds) }
    await run('k6', ['run', '--quiet', '--no-usage-report', '--summary-mode', 'full', '--summary-export', summary, STAGES], { env })
    await server.stop()
    const { http_reqs: { count, rate }, http_req_duration: ms, http_req_failed: failed } = JSON.parse(fs.readFileSync(summary, 'utf8')).metrics
    await check(peer, folder, count - failed.passes)
    return { rate, p95: ms['p(95)'], p99: ms['p(99)'], max: ms.max, failed: failed.value }
  },

  /** The memory of the server under load: how much it grows after the first seconds, and its most. */
  async endure (peer, setting) {
    const server = await startServer(peer.name, setting.folder, setting.options)
    const sizes = sampleMemory(server.pid)
    const { answered, ...figures } = await send(server.url, setting, setting.seconds)
    const all = sizes.stop()
    await server.stop()
    await check(peer, setting.folder, answered)
    // A run that is shortened has fewer such seconds.
    const from = Math.floor(all.length * Math.min(0.5, GROWING_SECONDS / setting.seconds))
    const third = Math.ceil((all.length - from) / 3)
    const [early, late] = [all.slice(from, from + third), all.slice(-third)]
    return { ...figures, peak: Math.max(...all), growth: Math.max(0, median(late) - median(early)) }
  },

  /** Live readers to which nothing happens; of a server without live streams, connections that are kept. */
  async readers (peer, { folder, count = 0, options }) {
    const server = await startServer(peer.name, folder, options)
    await post(`${server.url}/v1/logs/a`)
    const before = await settle(server.pid)
    const agent = new http.Agent({ keepAlive: true })
    const headers = { accept: 'text/event-stream' }
    const isOurs = peer.kind === 'millrace'
    const open = () => new Promise((resolve, reject) => {
      const request = http.request(`${server.url}/v1/${isOurs ? 'logs/a' : 'se/a/b'}`, { agent, headers }, (response) => {
        if (isOurs) response.once('data', resolve)
        else response.resume().once('end', resolve)
      })
      request.once('error', reject).end()
    })
    await Promise.all(Array.from({ length: count }, open))
    const after = await settle(server.pid)
    agent.destroy()
    await server.stop()
    return { memory: Math.max(0, after - before) }
  },

  /** Many logs with one event each. */
  async names (peer, { folder, count = 0, options }) {
    const server = await startServer(peer.name, folder, options)
    await post(`${server.url}/v1/logs/first`)
    const before = await settle(server.pid)
    const agent = new http.Agent({ keepAlive: true })
    let next = 0
    let files = 0
    const began = performance.now()
    await Promise.all(Array.from({ length: NAMES_AT_ONCE }, async () => {
      while (next < count) {
        const name = next++
        await post(`${server.url}/v1/logs/n${name}`, agent)
        if (name % 100 === 0) files = Math.max(files, countFiles(server.pid))
      }
    }))
    const rate = count / (performance.now() - began) * 1000
    const after = await settle(server.pid)
    agent.destroy()
    await server.stop()
    await check(peer, folder, count + 1)
    return { rate, memory: Math.max(0, after - before), files }
  },

  /** Writes, one after the other, beside requests that make the server work hard. */
  async beside (peer, { folder, seconds, count = 0, hostile: kind = '', options }) {
    await peer.fill?.(folder, BESIDE_COUNT, 'big')
    const server = await startServer(peer.name, folder, options)
    const agent = new http.Agent({ keepAlive: true })
    await post(`${server.url}/v1/logs/a`, agent)
    await lagOf(server.url)
    const list = hostile[kind]()
    const endMs = performance.now() + 1000 * seconds
    const load = Array.from({ length: count }, async (_, index) => {
      for (let n = index; performance.now() < endMs; n++) {
        const { path, ...how } = list[n % list.length]
        await fetch(server.url + path, /** @type {any} */ (how)).then((answer) => answer.arrayBuffer())
      }
    })
    const times = []
    while (performance.now() < endMs) {
      const began = performance.now()
      await post(`${server.url}/v1/logs/a`, agent)
      times.push(performance.now() - began)
      await wait(PAUSE_MS)
    }
    const lag = await lagOf(server.url)
    await Promise.all(load)
    agent.destroy()
    await server.stop()
    times.sort((one, other) => one - other)
    return { p50: times[times.length >> 1], p99: times[Math.floor(times.length * 0.99)], lag }
  },

  /** Without HTTP: a program with a log, or a database, of its own. Batches of 100 records. */
  async direct (peer, { folder, count = 0 }) {
    const events = Array.from({ length: 1000 }, (_, n) => createEvent(n))
    const rates = []
    for (let sample = 0; sample < 4; sample++) {
      const own = path.join(folder, String(sample))
      fs.mkdirSync(own)
      const outlet = await (peer.kind === 'millrace' ? openWriter(own) : openTransactions(own))
      const began = performance.now()
      for (let n = 0; n < count; n++) outlet.write(events[n % events.length])
      outlet.flush()
      rates.push(count / (performance.now() - began) * 1000)
      await outlet.close()
      await check(peer, own, count)
    }
    // The first one compiles the code.
    return { rate: median(rates.slice(1)) }
  }
}

/** @param {string} folder */
async function openWriter (folder) {
  const log = SegmentedLog(path.join(folder, 'log-a'), { codec: lines })
  await log.ready()
  const writer = LogWriter(log)
  return {
    write: (/** @type {string} */ text) => writer.write(text),
    flush: () => { writer.flushSync({ sync: false }) },
    async close () {
      await writer.close()
      await log.close()
    }
  }
}

/** @param {string} folder */
async function openTransactions (folder) {
  const db = new (loadPeer('better-sqlite3'))(path.join(folder, 'events.sqlite'))
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    CREATE TABLE events (time INTEGER, source TEXT, event TEXT, data TEXT)`)
  const insert = db.prepare('INSERT INTO events (time, data) VALUES (?, ?)')
  const store = db.transaction((/** @type {string[]} */ texts) => {
    for (const text of texts) insert.run(Date.now(), text)
  })
  /** @type {string[]} */
  let texts = []
  const flush = () => {
    if (texts.length > 0) store(texts)
    texts = []
  }
  return {
    write: (/** @type {string} */ text) => { if (texts.push(text) === DIRECT_BATCH) flush() },
    flush,
    close: async () => db.close()
  }
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
  times.sort((a, b) => a - b)
  const at = (/** @type {number} */ share) => times[Math.floor(share * (times.length - 1))] ?? 0
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

/** The resident memory of a process, in bytes. Only Linux says it of others. @param {number} pid */
function memoryOf (pid) {
  const [, size] = /^VmRSS:\s+(\d+) kB$/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(size) * KIB
}

/** @param {number} pid */
function countFiles (pid) {
  return fs.readdirSync(`/proc/${pid}/fd`).length
}

/** @param {number} pid */
function sampleMemory (pid) {
  /** @type {number[]} */
  const sizes = []
  const timer = setInterval(() => sizes.push(memoryOf(pid)), SAMPLE_MS)
  return {
    stop () {
      clearInterval(timer)
      return sizes
    }
  }
}

/** The memory of a server that has had time to rest. @param {number} pid */
async function settle (pid) {
  await wait(SETTLE_MS)
  return memoryOf(pid)
}

exports.measure = measure
exports.WORKS = WORKS
