'use strict'
// Three servers, one of which fails while records are appended: afterwards all are there, once, in order.

const { setTimeout: sleep } = require('node:timers/promises')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, failureOf, until } = require('@millrace/testkit')
const { jetstreamManager } = require('@nats-io/jetstream')
const { connect } = require('@nats-io/transport-node')
const { JetStreamLog } = require('..')
const { Proxy } = require('./proxy')
const { serverTest, startCluster } = require('./server')

const COUNT = 10_000
const FAILS_AT = 3000

/** @type {(servers: Array<{ url: string }>, options?: object) => any} */
function open (servers, options) {
  const urls = servers.map(({ url }) => url)
  return JetStreamLog({ servers: urls, stream: 'numbers', replicas: 3, codec: jsonCodec, timeout: 60_000, ...options })
}

/** Three servers, with a proxy between each and each, by `<from>-<to>`. */
async function startOverProxies () {
  /** @type {Map<string, Proxy>} */
  const proxies = new Map()
  const servers = await startCluster({
    routeOf: (from, to, port) => {
      const proxy = new Proxy(port)
      proxies.set(`${from}-${to}`, proxy)
      return proxy.listen()
    }
  })
  return { servers, proxies }
}

/**
 * Appends numbers, alone and in batches, without waiting for each. At the 3,000th something fails.
 * @type {(log: any, fail: () => Promise<unknown>) => Promise<void>}
 */
async function appendThrough (log, fail) {
  /** @type {unknown[]} */
  let appended = []
  /** @type {Promise<unknown> | null} */
  let failing = null
  for (let n = 0, size = 1; n < COUNT; size = size % 17 + 1) {
    if (failing === null && n >= FAILS_AT) failing = fail()
    const numbers = Array.from({ length: Math.min(size, COUNT - n) }, (_, i) => n + i)
    n += numbers.length
    appended.push(log.append(numbers.length === 1 ? numbers[0] : numbers))
    if (appended.length >= 20) {
      await Promise.all(appended)
      appended = []
    }
  }
  await Promise.all(appended)
  await failing
}

/** @type {(t: any, servers: import('./server').Server[]) => Promise<void>} */
async function check (t, servers) {
  const log = open(servers)
  let next = 0
  let wrong = 0
  for await (const { seq, value } of log.stream()) {
    if (value !== next || seq !== next + 1) wrong++
    next++
  }
  t.deepEqual([next, wrong], [COUNT, 0], 'all there, once, in order')
  await log.close()
}

serverTest(tape, 'cluster: the leader of the stream is killed while 10,000 records are appended', async (t) => {
  const servers = await startCluster()
  const log = open(servers)
  const { leader, acknowledged } = await log.stats()
  t.equal(acknowledged, 'replicated')
  const killed = /** @type {import('./server').Server} */ (servers.find(({ name }) => name === leader))
  await appendThrough(log, () => killed.kill())
  await log.close()
  await check(t, servers.filter((server) => server !== killed))
  await killed.start()
  await check(t, servers)
  for (const server of servers) await server.remove()
})

serverTest(tape, 'cluster: the network between two of three is cut while 10,000 records are appended', async (t) => {
  const { servers, proxies } = await startOverProxies()
  const log = open(servers)
  const { leader } = await log.stats()
  const first = servers.findIndex(({ name }) => name === leader)
  const other = (first + 1) % 3
  const between = [proxies.get(`${first}-${other}`), proxies.get(`${other}-${first}`)]
  let isCut = false
  await appendThrough(log, async () => {
    for (const proxy of between) proxy?.cut()
    isCut = true
    await sleep(5000)
    for (const proxy of between) proxy?.mend()
  })
  t.ok(isCut)
  await log.close()
  await check(t, servers)
  for (const server of servers) await server.remove()
  for (const proxy of proxies.values()) proxy.close()
})

serverTest(tape, 'cluster: a leader that was cut off is not believed by who knows more, as long as it answers', async (t) => {
  const { servers, proxies } = await startOverProxies()
  const writer = open(servers)
  await writer.append([1, 2, 3])
  const { leader } = await writer.stats()
  await writer.close()
  const alone = servers.findIndex(({ name }) => name === leader)
  const others = servers.filter((server) => server.name !== leader)
  const cut = [...proxies].filter(([name]) => name.split('-').includes(`${alone}`)).map(([, proxy]) => proxy)
  const way = new Proxy(others[0].port)
  const url = `nats://127.0.0.1:${await way.listen()}`
  const reader = open([{ url }, servers[alone]], { noRandomize: true, ignoreClusterUpdates: true })
  await reader.ready()
  for (const proxy of cut) proxy.cut()
  const after = open(others, { ignoreClusterUpdates: true })
  t.equal(await after.append([4, 5, 6]), 6)
  await until(() => reader.since.value === 6)
  // Now it is connected to the old leader.
  way.cut()
  const read = collect(reader.stream({ seqs: false, reverse: true }))
  const answered = Promise.allSettled([reader.get(6), reader.idOf(6), read, reader.stats()])
  await sleep(15_000)
  for (const proxy of cut) proxy.mend()
  const [get, id, stream] = await answered
  t.equal(get.value, 6, get.reason?.message)
  t.equal(typeof id.value, 'string', id.reason?.message)
  t.deepEqual(stream.value, [6, 5, 4, 3, 2, 1], stream.reason?.message)
  t.equal(await reader.append(7), 7)
  for (const log of [reader, after]) await log.close()
  for (const server of servers) await server.remove()
  for (const proxy of [...proxies.values(), way]) proxy.close()
})

serverTest(tape, 'cluster: a stream that is deleted is noticed', async (t) => {
  const servers = await startCluster()
  const log = open(servers)
  await log.append(1)
  const nc = await connect({ servers: servers[0].url })
  await (await jetstreamManager(nc)).streams.delete('numbers')
  // Not at once, which a test without a cluster shows.
  await until(async () => (await failureOf(() => log.append(2)))?.code === 'ERR_LOG_REPLACED')
  t.equal((await failureOf(() => log.get(1)))?.code, 'ERR_LOG_REPLACED')
  await log.close()
  await nc.close()
  for (const server of servers) await server.remove()
})

serverTest(tape, 'cluster: all three are killed and started again while 10,000 records are appended', async (t) => {
  const servers = await startCluster()
  const log = open(servers)
  await log.ready()
  await appendThrough(log, async () => {
    await Promise.all(servers.map((server) => server.kill()))
    await Promise.all(servers.map((server) => server.start()))
  })
  await log.close()
  await check(t, servers)
  for (const server of servers) await server.remove()
})
