'use strict'
// Workers of a cluster, restarted one after the other, and killed. MILLRACE_ROUNDS=20 makes it longer.

const { fork } = require('node:child_process')
const { once } = require('node:events')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, newPath, until } = require('@millrace/testkit')
const { MergedLog } = require('..')

const WORKER = path.join(__dirname, 'worker.js')
const WORKER_COUNT = 8
const ROUND_COUNT = Number(process.env.MILLRACE_ROUNDS ?? 1)

class Cluster {
  workers = []
  /** What each worker that ever ran has acknowledged, by its name. */
  acknowledged = new Map()
  slots = new Set()
  children = []
  /** How they ended. */
  endings = new Set()

  constructor (folder) {
    this.folder = folder
  }

  async start () {
    const name = `w${this.acknowledged.size}`
    this.acknowledged.set(name, -1)
    const child = fork(WORKER, [this.folder, name])
    this.children.push(child)
    // A worker that fails says why, and ends. Whoever waits for its message must not wait forever.
    child.ended = once(child, 'exit').then(([code, signal]) => signal ?? code)
    const [{ slot }] = await Promise.race([once(child, 'message'), child.ended.then((how) => [{ how }])])
    if (slot === undefined) throw new Error(`${name} has no slot`)
    this.slots.add(slot)
    child.on('message', ({ acknowledged }) => this.acknowledged.set(name, acknowledged))
    this.workers.push(child)
  }

  /** The new worker runs before the old one ends, as in a rolling restart. */
  async replace (isKilled) {
    const old = this.workers.shift()
    if (isKilled) old.kill('SIGKILL')
    await this.start()
    if (!isKilled) old.send('end')
    this.endings.add(await old.ended)
  }

  async end () {
    await Promise.all(this.workers.map(async (worker) => {
      worker.send('end')
      this.endings.add(await worker.ended)
    }))
  }

  kill () {
    for (const child of this.children) child.kill('SIGKILL')
  }
}

/** Whether the records of every worker are there, once, in order. */
function check (t, values, acknowledged, what) {
  const counts = new Map()
  let wrongCount = 0
  for (const { name, n } of values) {
    const expected = counts.get(name) ?? 0
    if (n !== expected) wrongCount++
    counts.set(name, n + 1)
  }
  const lost = [...acknowledged].filter(([name, last]) => (counts.get(name) ?? 0) <= last)
  t.equal(wrongCount, 0, `${what}: each process in order, nothing doubled (${values.length} records)`)
  t.deepEqual(lost, [], `${what}: nothing acknowledged is lost`)
}

tape('cluster: eight workers, rolling restarts and kills lose nothing, and keep the order of each process', async (t) => {
  const folder = newPath('logs')
  const cluster = new Cluster(folder)
  t.teardown(() => cluster.kill())
  await Promise.all(Array.from({ length: WORKER_COUNT }, () => cluster.start()))
  t.deepEqual([...cluster.slots].sort(), [0, 1, 2, 3, 4, 5, 6, 7], 'each has a slot of its own')

  const log = MergedLog(folder, { codec: jsonCodec })
  const followed = []
  const following = (async () => {
    for await (const value of log.stream({ live: true, seqs: false })) followed.push(value)
  })()
  for (let round = 0; round < ROUND_COUNT; round++) {
    for (let i = 0; i < WORKER_COUNT; i++) {
      await cluster.replace((round + i) % 2 === 0)
      await sleep(10)
    }
  }
  await cluster.end()
  t.deepEqual([...cluster.endings].sort(), [0, 'SIGKILL'], 'none failed')
  t.ok(cluster.slots.size <= WORKER_COUNT + 2, `slots were used again: ${cluster.slots.size}`)

  // A log that follows its writers may be a moment behind them.
  const whole = MergedLog(folder, { codec: jsonCodec })
  const values = await collect(whole.stream({ seqs: false }))
  check(t, values, cluster.acknowledged, 'read')
  t.equal(await whole.count(), values.length)
  await whole.close()
  const disorder = values.filter(({ time }, index) => index > 0 && time < values[index - 1].time)
  t.equal(disorder.length, 0, 'merged by time')
  await until(() => followed.length >= values.length)
  check(t, followed, cluster.acknowledged, 'followed')
  await log.close()
  await following
})
