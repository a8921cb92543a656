'use strict'
// Clients that come back by themselves, over restarts, hand-overs, limits, cut connections and retention: Chromium's
// EventSource and that of npm. Each sees every record once, and none is ever closed.

const { once } = require('node:events')
const net = require('node:net')
const { setTimeout: sleep } = require('node:timers/promises')
const { EventSource } = require('eventsource')
const tape = require('tape')
const { createRandom, isLongRun, temporaryFolder, until } = require('@millrace/testkit')
const { browserTest } = require('../../../test/browser')
const { startProcess } = require('./helpers')

const ROUND_COUNT = isLongRun ? 24 : 6
const BATCHES = 12
const PER_BATCH = 5
const RARE = 40
const OPTIONS = { log: { segmentSize: 65_536, maxSize: 1.5 * 2 ** 20 }, limits: { liveReaders: 8, heartbeatMs: 300 } }
const rare = encodeURIComponent(JSON.stringify({ path: 'rare', equals: true }))
/** By name: the path, and which records it shows. All begin before the log has a record. */
const STREAMS = {
  all: ['/v1/logs/a?gt=-1', () => true],
  now: ['/v1/logs/a', () => true],
  rare: [`/v1/logs/a?where=${rare}`, (n) => n % RARE === 0],
  late: ['/v1/logs/b', (n) => n % RARE === 1]
}

/** One address in front of the server that is in use, which can cut all connections. */
async function startFront (t) {
  const sockets = new Set()
  const front = { port: 0, target: null, cut: () => sockets.forEach((socket) => socket.destroy()) }
  const server = net.createServer((client) => {
    const upstream = net.connect(front.target, '127.0.0.1')
    for (const [one, other] of [[client, upstream], [upstream, client]]) {
      sockets.add(one)
      one.on('error', () => {}).on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  front.port = server.address().port
  t.teardown(() => {
    server.close()
    front.cut()
  })
  return front
}

/** The servers of a folder, one after the other. */
class Servers {
  /** @param {any} front  @param {(bound: number) => number} random */
  constructor (front, random) {
    this.front = front
    this.random = random
    this.folder = temporaryFolder()
  }

  async start () {
    const server = await startProcess(this.folder, { ...OPTIONS, saysEarly: true })
    server.port = Number(new URL(server.url).port)
    return server
  }

  /** @param {any} server  which has the folder, or gets it soon */
  use (server) {
    this.current = server
    this.front.target = server.port
  }

  async end (server, signal) {
    server.child.kill(signal)
    await server.ended
  }

  /** What happens to them and their clients. */
  troubles = {
    handOver: async () => {
      const old = this.current
      const next = await this.start()
      this.front.target = next.port
      this.front.cut()
      // Clients wait for a server that has the folder, while the old one still does.
      await sleep(this.random(1500))
      await this.end(old, 'SIGTERM')
      this.use(next)
    },
    restart: async () => {
      await this.end(this.current, 'SIGTERM')
      await sleep(this.random(500))
      this.use(await this.start())
    },
    kill: async () => {
      await this.end(this.current, 'SIGKILL')
      this.use(await this.start())
    },
    cuts: async () => {
      for (let count = 0; count < 4; count++) {
        await sleep(this.random(700))
        this.front.cut()
      }
    },
    crowd: async () => {
      this.front.cut()
      const crowd = Array.from({ length: OPTIONS.limits.liveReaders }, () => {
        const socket = net.connect(this.current.port, '127.0.0.1').on('error', () => {})
        socket.write('GET /v1/logs/a HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n')
        return socket.resume()
      })
      await sleep(2500)
      crowd.forEach((socket) => socket.destroy())
      this.front.cut()
    },
    stop: async () => {
      const { child, port } = this.current
      child.kill('SIGSTOP')
      await sleep(this.random(400))
      child.kill('SIGCONT')
      this.front.target = port
    }
  }
}

/** Writes while the servers come and go; every record is stored once. */
async function write (servers, from, count) {
  const post = async (log, key, values) => {
    for (let attempt = 0; ; attempt++) {
      if (attempt === 2000) throw new Error(`${key} is not taken`)
      const headers = { 'Idempotency-Key': key, Prefer: 'ack=written' }
      const { post } = servers.current
      const answer = await post(`/v1/logs/${log}`, JSON.stringify(values), headers).catch(() => null)
      if (answer?.status === 200) return
      await sleep(20)
    }
  }
  for (let n = from; n < from + count; n += PER_BATCH) {
    const ns = Array.from({ length: PER_BATCH }, (_, index) => n + index)
    await post('a', `a${n}`, ns.map((n) => ({ n, rare: n % RARE === 0, pad: 'x'.repeat(4000) })))
    const late = ns.filter(STREAMS.late[1])
    if (late.length > 0) await post('b', `b${n}`, late.map((n) => ({ n })))
  }
}

/** Runs in the page and here. */
function listen (EventSource, base, paths) {
  return Object.fromEntries(Object.entries(paths).map(([name, path]) => {
    const source = new EventSource(base + path)
    const seen = { ns: [], isClosed: false, gone: 0, source }
    source.onmessage = ({ data }) => seen.ns.push(JSON.parse(data).value.n)
    source.onerror = () => { seen.isClosed ||= source.readyState === 2 }
    source.addEventListener('gone', () => seen.gone++)
    return [name, seen]
  }))
}

const paths = Object.fromEntries(Object.entries(STREAMS).map(([name, [path]]) => [name, path]))

/**
 * @param {import('tape').Test} t
 * @param {(port: number) => Promise<() => Promise<any>>} open  gives a function that says what was seen
 */
async function run (t, open) {
  const seed = Date.now() % 2 ** 31
  t.comment(`seed ${seed}`)
  const random = createRandom(seed)
  const front = await startFront(t)
  const servers = new Servers(front, random)
  servers.use(await servers.start())
  t.teardown(() => servers.current.child.kill('SIGKILL'))
  const look = await open(front.port)
  await sleep(500)
  let written = 0
  const kinds = Object.keys(servers.troubles)
  const expected = (isShown) => Array.from({ length: written }, (_, n) => n).filter(isShown)
  for (let round = 0; round < ROUND_COUNT; round++) {
    const kind = kinds[round % kinds.length]
    const writing = write(servers, written, BATCHES * PER_BATCH)
    await servers.troubles[kind]()
    await writing
    written += BATCHES * PER_BATCH
    // What nobody has seen yet is not dropped in this test, but what all have seen is.
    await until(async () => {
      const seen = await look()
      return Object.entries(STREAMS).every(([name, [, isShown]]) => seen[name].ns.length >= expected(isShown).length)
    }).catch(() => t.fail(`${kind}: something is missing`))
  }
  const seen = await look()
  for (const [name, [, isShown]] of Object.entries(STREAMS)) {
    const { ns, isClosed, gone } = seen[name]
    t.deepEqual(ns, expected(isShown), `${name}: ${ns.length} records, each once`)
    t.deepEqual([isClosed, gone], [false, 0], `${name}: never closed, nothing gone`)
  }
}

tape('eventsource: that of npm misses nothing', async (t) => {
  await run(t, async (port) => {
    const seen = listen(EventSource, `http://127.0.0.1:${port}`, paths)
    t.teardown(() => Object.values(seen).forEach(({ source }) => source.close()))
    return async () => seen
  })
})

browserTest('eventsource: that of Chromium misses nothing', (t, open) => run(t, async (port) => {
  const { page } = await open({ url: `http://127.0.0.1:${port}/healthz` })
  await page.evaluate(`window.seen = (${listen})(EventSource, '', ${JSON.stringify(paths)})`)
  return () => page.evaluate(() => {
    return Object.fromEntries(Object.entries(window.seen).map(([name, { source, ...seen }]) => [name, seen]))
  })
}))
