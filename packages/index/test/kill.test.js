'use strict'
// Processes that are killed at any moment while they append, build, merge, delete, compact and drop: the log that is
// opened again answers as a scan does, at once and when its index is ready.

const { fork } = require('node:child_process')
const { once } = require('node:events')
const path = require('node:path')
const tape = require('tape')
const { OffsetLog } = require('@millrace/offset-log')
const { createRandom, inQuickRuns } = require('@millrace/testkit')
const { compare, createState, openLog } = require('./real-log')

const KILL_COUNT = Number(process.env.KILL_COUNT ?? inQuickRuns(200, 20))
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
/** Kills of one log. */
const ROUND = 4
/** Time to do something, after the log was opened. */
const MS_MAX = 150

/** @returns {Promise<void>}  once the child is dead */
async function runUntilKilled ({ kind, framing, file, tuning, hasBuilder, paths }, random) {
  const child = fork(path.join(__dirname, 'kill-child.js'))
  const gone = once(child, 'exit')
  child.send({ given: { kind, framing, file, tuning, hasBuilder, paths }, seed: random(1e6) })
  await Promise.race([once(child, 'message'), gone])
  await Promise.race([new Promise((resolve) => setTimeout(resolve, random(MS_MAX))), gone])
  child.kill('SIGKILL')
  const [code] = await gone
  if (code !== null) throw new Error(`the child ended with ${code}`)
}

/** @returns {Promise<string[]>}  what is wrong with the log */
async function examine (state, random) {
  const log = openLog(state, { fsync: 'never' })
  await log.ready()
  const plain = OffsetLog(state.file, { framing: state.framing, codec: state.codec, flags: 'r' })
  const wrong = await compare(log, plain, random)
  if (random(3) > 0) {
    await log.index.ready()
    wrong.push(...await compare(log, plain, random))
    const { isReady, failure } = await log.index.status()
    if (!isReady || failure !== null) wrong.push(`the index is not ready: ${failure}`)
  }
  await plain.close()
  await log.close()
  return wrong
}

tape(`kill: a log whose process was killed answers as a scan does (seed ${seed})`, async (t) => {
  for (let kill = 0, state = null; kill < KILL_COUNT; kill++) {
    const random = createRandom(seed + kill)
    if (kill % ROUND === 0) {
      state = createState(random, kill / ROUND % 3)
      await state.log.append({ n: 0 })
      await state.log.close()
    }
    await runUntilKilled(state, random)
    const wrong = await examine(state, random)
    for (const difference of wrong) t.fail(`seed ${seed}, kill ${kill}, ${state.framing} ${state.codec.name}: ${difference}`.slice(0, 600))
    if (wrong.length > 0) return
  }
  t.pass(`${KILL_COUNT} kills`)
})
