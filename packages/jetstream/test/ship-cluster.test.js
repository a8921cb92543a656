'use strict'
// A local log shipped to three servers, of which one is lost, or cut off, or all are started again.

const net = require('node:net')
const { setTimeout: sleep } = require('node:timers/promises')
const tape = require('tape')
const { serverTest, startCluster } = require('./server')
const { checkShipped, closeAll, kindsOf, makeSource, openTarget, shipTo } = require('./ship-helpers')

/** Three servers, a stream with three replicas, and what a test does to them while 10,000 records are shipped. */
function clusterTest (title, harm, { routeOf, end = () => {} } = {}) {
  serverTest(tape, `ship: 10,000 records to three servers, ${title}`, async (t) => {
    const servers = await startCluster({ routeOf })
    const log = await makeSource(10_000)
    const target = openTarget(servers.map(({ url }) => url), { replicas: 3 })
    await target.ready()
    const shipper = shipTo(log, target, { batch: { count: 50 } })
    while (shipper.stats().forwarded < 2000) await sleep(1)
    const before = shipper.stats().forwarded
    await harm({ servers, target, t })
    await shipper.drained()
    t.ok(before < 10_000, `${before} were shipped before`)
    t.deepEqual(kindsOf(shipper).filter((what) => what !== 'retry' && what !== 'recovered'), [], 'no loss')
    await checkShipped(t, log, target, 10_000)
    await closeAll(shipper, target, log)
    for (const server of servers) await server.remove()
    end()
  })
}

clusterTest('the leader is killed', async ({ servers, target, t }) => {
  const { leader } = await target.stats()
  await servers.find(({ name }) => name === leader).kill()
  t.pass(`killed ${leader}`)
})

clusterTest('all three are started again', async ({ servers }) => {
  for (const server of servers) {
    await server.kill()
    await server.start()
    await sleep(500)
  }
})

/**
 * Routes over proxies that can be cut. Until the cut ends, nothing passes, and nobody is told; then the connections
 * break.
 */
class Routes {
  /** @type {Set<{ from: number, to: number, end: () => void }>} */
  #links = new Set()
  #proxies = []
  #alone = -1

  over = async (from, to, port) => {
    const proxy = net.createServer((inner) => {
      const outer = net.connect(port, '127.0.0.1')
      const link = { from, to, end: () => [inner, outer].forEach((socket) => socket.destroy()) }
      this.#links.add(link)
      for (const [source, sink] of [[inner, outer], [outer, inner]]) {
        source.on('data', (chunk) => { if (!this.#isCut(link)) sink.write(chunk) })
        source.on('error', () => {}).on('close', () => { this.#links.delete(link); sink.destroy() })
      }
    })
    await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    this.#proxies.push(proxy)
    return proxy.address().port
  }

  #isCut ({ from, to }) {
    return from === this.#alone || to === this.#alone
  }

  cut (index) {
    this.#alone = index
  }

  mend () {
    for (const link of [...this.#links].filter((link) => this.#isCut(link))) link.end()
    this.#alone = -1
  }

  close () {
    for (const proxy of this.#proxies) proxy.close()
  }
}

const routes = new Routes()

clusterTest('the leader is cut off from the others for a while', async ({ servers, target, t }) => {
  const { leader } = await target.stats()
  routes.cut(servers.findIndex(({ name }) => name === leader))
  await sleep(8000)
  routes.mend()
  t.pass(`${leader} was alone`)
}, { routeOf: routes.over, end: () => routes.close() })
