'use strict'
// Starts NATS servers for tests: one, or a cluster, on free ports of the loopback, with a temporary store. The tests
// run only under `npm run test:jetstream`; `npm test` skips them.

const { spawn } = require('node:child_process')
const fs = require('node:fs')
const net = require('node:net')
const os = require('node:os')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')

const HOW_TO_GET = 'NATS server 2.12 or later is needed: `go install github.com/nats-io/nats-server/v2@v2.12.1`, or the ' +
  'binary from https://github.com/nats-io/nats-server/releases, in the PATH, or named by NATS_SERVER. Debian has 2.9, ' +
  'which is too old'

const PLACES = [process.env.NATS_SERVER, ...(process.env.PATH ?? '').split(path.delimiter).map(inFolder),
  inFolder(process.env.GOBIN), inFolder(path.join(process.env.GOPATH ?? path.join(os.homedir(), 'go'), 'bin'))]

/**
 * Below the ports that systems give to connections: one of those may take a port between the moment when it is chosen
 * and the moment when a server listens there, and while a server is down that is to be started again.
 */
const PORTS = { first: 20_000, count: 12_000 }
/** Processes that run at the same time begin at different ones. */
let portIndex = process.pid * 40

/** The tests are about what is said and done, not about a disk. */
const FAST_FOLDER = fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir()

/** @param {string | undefined} folder */
function inFolder (folder) {
  return folder ? path.join(folder, process.platform === 'win32' ? 'nats-server.exe' : 'nats-server') : undefined
}

/** The path of the binary; throws if there is none. */
function findServer () {
  const found = PLACES.find((place) => place !== undefined && fs.existsSync(place))
  if (found === undefined) throw new Error(HOW_TO_GET)
  return found
}

/**
 * Declares a test that needs a server; `npm test` skips it.
 * @type {(tape: any, title: string, run: (t: any) => Promise<void>) => void}
 */
function serverTest (tape, title, run) {
  if (process.env.MILLRACE_JETSTREAM) return tape(title, run)
  tape(title, (/** @type {any} */ t) => {
    t.skip('needs a NATS server: npm run test:jetstream')
    t.end()
  })
}

/** @returns {Promise<number>}  a port of the loopback that is free now, and another one with each call */
async function freePort () {
  for (;;) {
    const port = PORTS.first + portIndex++ % PORTS.count
    if (await isFree(port)) return port
  }
}

/** @type {(port: number) => Promise<boolean>} */
function isFree (port) {
  return new Promise((resolve) => {
    const server = net.createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

/**
 * @typedef {object} ServerOptions
 * @property {string} [syncInterval]  of the store; without it the server's default, two minutes
 * @property {string} [config]  more lines of the configuration
 * @property {string} [folder]  in which the store is made; by default one in memory, if there is one
 * @property {string} [name]
 * @property {{ port: number, routes: string[] }} [cluster]
 */

/** @type {Set<Server>} */
const running = new Set()
// First of the listeners, because tape's listener ends the process.
process.prependListener('exit', () => { for (const server of running) server.killNow() })

/** One server. It keeps its ports and its store when it is started again. */
class Server {
  /** @type {import('node:child_process').ChildProcess | null} */
  #child = null
  output = ''

  /** @param {number} port  @param {number} monitorPort  @param {ServerOptions} options */
  constructor (port, monitorPort, options) {
    const { syncInterval, config = '', cluster, folder } = options
    this.name = options.name ?? 'solo'
    this.port = port
    this.url = `nats://127.0.0.1:${port}`
    this.monitor = `http://127.0.0.1:${monitorPort}`
    this.folder = fs.mkdtempSync(path.join(folder ?? FAST_FOLDER, 'millrace-nats-'))
    this.store = path.join(this.folder, 'store')
    const lines = [
      `server_name: ${this.name}`,
      `listen: "127.0.0.1:${port}"`,
      `http: "127.0.0.1:${monitorPort}"`,
      `jetstream { store_dir: "${this.store}"${syncInterval ? `, sync_interval: "${syncInterval}"` : ''} }`,
      config
    ]
    if (cluster) {
      lines.push(`cluster { name: millrace, listen: "127.0.0.1:${cluster.port}", no_advertise: true, pool_size: -1, ` +
        `routes: [${cluster.routes.map((route) => `"${route}"`).join(', ')}] }`)
    }
    fs.writeFileSync(path.join(this.folder, 'nats.conf'), lines.join('\n'))
  }

  async start () {
    const child = spawn(findServer(), ['-c', path.join(this.folder, 'nats.conf')], { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    const note = (/** @type {Buffer} */ chunk) => { this.output = (this.output + chunk).slice(-100_000) }
    child.stdout.on('data', note)
    child.stderr.on('data', note)
    // A test that fails must still end, and take its servers with it.
    for (const handle of [child, child.stdout, child.stderr]) /** @type {any} */ (handle).unref()
    running.add(this)
    for (let round = 0; !/Server is ready/.test(this.output.split('Starting nats-server').pop() ?? ''); round++) {
      if (child.exitCode !== null || round > 400) throw new Error(`the server did not start: ${this.output}`)
      await sleep(25)
    }
  }

  /** @param {NodeJS.Signals} signal */
  async #end (signal) {
    const child = this.#child
    this.#child = null
    running.delete(this)
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    child.ref()
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await ended
  }

  /** At the end of the process. */
  killNow () {
    this.#child?.kill('SIGKILL')
    fs.rmSync(this.folder, { recursive: true, force: true })
  }

  kill () {
    return this.#end('SIGKILL')
  }

  stop () {
    return this.#end('SIGTERM')
  }

  /** Ends it, and removes its store. */
  async remove () {
    await this.kill()
    fs.rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Starts one server. @param {ServerOptions} [options] */
async function startServer (options = {}) {
  const server = new Server(await freePort(), await freePort(), options)
  await server.start()
  return server
}

/**
 * Starts three servers that know each other by their routes. `routeOf` may lead a route over a proxy.
 * @param {ServerOptions & { routeOf?: (from: number, to: number, port: number) => Promise<number> | number }} [options]
 */
async function startCluster ({ routeOf = (from, to, port) => port, ...options } = {}) {
  const ports = [await freePort(), await freePort(), await freePort()]
  const servers = []
  for (const from of ports.keys()) {
    const routes = []
    for (const to of ports.keys()) {
      if (to !== from) routes.push(`nats-route://127.0.0.1:${await routeOf(from, to, ports[to])}`)
    }
    servers.push(new Server(await freePort(), await freePort(), { ...options, name: `n${from}`, cluster: { port: ports[from], routes } }))
  }
  await Promise.all(servers.map((server) => server.start()))
  await Promise.all(servers.map((server) => waitForMeta(server)))
  return servers
}

/** Waits until the cluster has a leader that can place streams. @param {Server} server */
async function waitForMeta (server) {
  for (let round = 0; round < 400; round++) {
    const answer = await fetch(`${server.monitor}/healthz`).then((response) => response.ok, () => false)
    if (answer) return
    await sleep(50)
  }
  throw new Error(`${server.name} is not ready: ${server.output}`)
}

exports.findServer = findServer
exports.freePort = freePort
exports.serverTest = serverTest
exports.startCluster = startCluster
exports.startServer = startServer
