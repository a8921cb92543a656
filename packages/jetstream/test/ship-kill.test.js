'use strict'
// A process that ships into a stream is killed again and again in mid-run. Every record is in the stream once.

const { fork } = require('node:child_process')
const path = require('node:path')
const { createRandom } = require('@millrace/testkit')
const tape = require('tape')
const { serverTest, startServer } = require('./server')
const { checkShipped, closeAll, fill, makeSource, openTarget } = require('./ship-helpers')

const seed = Date.now() % 2 ** 31
const KILLS = Number(process.env.MILLRACE_KILLS ?? 20)
/** Appended for each run: enough for a run that lasts. */
const COUNT = 2000

/**
 * Runs the process; kills it some ms after its first record.
 * @type {(order: string[], killMs: number | null) => Promise<number | null>}
 */
function run (order, killMs) {
  const child = fork(path.join(__dirname, 'shipping-process.js'), order)
  child.once('message', () => { if (killMs !== null) setTimeout(() => child.kill('SIGKILL'), killMs) })
  return new Promise((resolve) => child.once('exit', resolve))
}

for (const way of ['atomic', 'single']) {
  serverTest(tape, `ship: killed ${KILLS} times in mid-run, ${way} messages, seed ${seed}`, async (t) => {
    const random = createRandom(seed)
    const server = await startServer()
    const source = await makeSource(0)
    let [kills, runs, count] = [0, 0, 0]
    for (; kills < KILLS && runs < 4 * KILLS; runs++) {
      await fill(source, COUNT, count)
      count += COUNT
      if (await run([source.filename, server.url, way], random(40)) === null) kills++
    }
    t.equal(kills, KILLS, `${runs} runs`)
    t.equal(await run([source.filename, server.url, way], null), 0, 'the last run ends, and its check agrees')
    const target = openTarget(server.url)
    await checkShipped(t, source, target, count)
    await closeAll(target, source)
    await server.remove()
  })
}
