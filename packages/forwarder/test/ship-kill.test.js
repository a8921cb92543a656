'use strict'
// A shipping process is killed again and again in mid-run. Every record is in the target once, in order.

const { fork } = require('node:child_process')
const path = require('node:path')
const tape = require('tape')
const { createRandom } = require('@millrace/testkit')
const { verifyShipped } = require('..')
const { fill, makeLog, range } = require('./helpers')
const { numbersOf } = require('./ship-helpers')

const seed = Date.now() % 2 ** 31
const KILLS = 20
/** Appended for each run: enough for a run that lasts. */
const COUNT = 2000

/**
 * Runs the process; kills it some ms after its first record.
 * @type {(files: string[], killMs: number | null) => Promise<number | null>}
 */
function run (files, killMs) {
  const child = fork(path.join(__dirname, 'shipping-process.js'), files)
  child.once('message', () => { if (killMs !== null) setTimeout(() => child.kill('SIGKILL'), killMs) })
  return new Promise((resolve) => child.once('exit', resolve))
}

tape(`ship: killed ${KILLS} times in mid-run, every record in the target once, seed ${seed}`, async (t) => {
  const random = createRandom(seed)
  const source = makeLog()
  const target = makeLog()
  await target.close()
  const files = [source.filename, target.filename]
  let [kills, runs, count] = [0, 0, 0]
  for (; kills < KILLS && runs < 4 * KILLS; runs++) {
    await fill(source, COUNT, count)
    count += COUNT
    if (await run(files, random(40)) === null) kills++
  }
  t.equal(kills, KILLS, `${runs} runs`)
  t.equal(await run(files, null), 0, 'the last run ends, and its check finds no difference')
  const shipped = makeLog({ flags: 'r' }, target.filename)
  t.deepEqual(await numbersOf(shipped), range(0, count))
  t.equal((await verifyShipped(source, shipped)).isSame, true)
  await shipped.close()
  await source.close()
})
