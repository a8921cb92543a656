// @ts-nocheck
'use strict'
// A process that does what programs do with a folder, until it is killed. It tells a line of each thing that is done.

const fs = require('node:fs')
const { setTimeout: sleep } = require('node:timers/promises')
const { createRandom } = require('@millrace/testkit')
const { K_COUNT, beginForwarder, listing, noteSent, openLog } = require('./setting')

const { folder, sentFile, setting, life, number } = JSON.parse(process.argv[2])
const random = createRandom(life.seed)
const DAY_MS = 86_400_000
const BEGIN_MS = Date.UTC(2026, 0, 1)

/** Before it goes on, the parent can read it. */
const tell = (message) => fs.writeSync(1, `${JSON.stringify(message)}\n`)

const state = { next: 0, view: null, forwarder: null, seqs: [] }

async function main () {
  tell({ begins: true })
  const log = openLog(folder, setting, life, { lockTimeout: 2000 })
  await log.ready()
  if (log.recovery) tell({ recovery: log.recovery })
  const last = await log.last(setting.isFolder ? { onRetained: 'skip' } : {})
  state.next = (last?.value.n ?? -1) + 1
  tell({ opened: state.next })
  if (life.parts.includes('view')) state.view = log.view({ ...listing, saveMs: life.saveMs })
  if (life.parts.includes('forwarder')) state.forwarder = begin(log)
  for (let count = 20 + random(400); count > 0; count--) {
    await ACTIONS[random(ACTIONS.length)](log)
    if (random(10) === 0) await sleep(random(5))
  }
  await state.forwarder?.close()
  tell({ closing: true })
  await log.close()
  tell({ closed: true })
}

function begin (log) {
  return beginForwarder(log, async (records) => {
    if (random(8) === 0) throw new Error('the sink is down')
    noteSent(sentFile, records)
  })
}

function make () {
  const n = state.next++
  const at = new Date(BEGIN_MS + number * DAY_MS + n * 1000).toISOString()
  return { n, k: n % K_COUNT, life: number, at, text: 'x'.repeat(random(life.textSize)) }
}

/** @returns {boolean} false if the log has no room before it has waited */
function appendNow (log, values) {
  try {
    log.appendSync(values)
    return true
  } catch (err) {
    if (err.code === 'ERR_LOG_NOT_READY') return false
    throw err
  }
}

async function append (log, count) {
  const values = Array.from({ length: count }, make)
  if (random(3) > 0 || !appendNow(log, values)) await log.append(values)
  state.seqs.push(log.since.value)
  tell({ acked: values.at(-1).n })
}

const ACTIONS = [
  (log) => append(log, 1),
  (log) => append(log, 1 + random(5)),
  (log) => append(log, 1 + random(80)),
  (log) => Promise.all([append(log, 1), append(log, 2), append(log, 1 + random(20))]),
  async (log) => {
    const { next } = state
    await log.sync()
    tell({ acked: next - 1 })
  },
  async () => {
    try {
      if (random(4) === 0) await state.view?.save()
      else await state.view?.get()
    } catch (err) {
      if (err.code !== 'ERR_VIEW_STALE' || !setting.drop) throw err
      await state.view.rebuild()
    }
  },
  async (log) => {
    if (!setting.isFolder) return
    if (random(3) === 0) await log.roll()
    else if (setting.isHeld && random(2) === 0) {
      const { seq, value: { n } } = await log.last() ?? { seq: 0, value: { n: 0 } }
      tell({ holding: n })
      await log.hold('mine', seq)
      tell({ held: n })
    }
  },
  async (log) => {
    if (setting.drop !== 'before' || random(3) > 0 || state.seqs.length === 0) return
    await log.dropBefore(state.seqs[random(state.seqs.length)])
  },
  async (log) => {
    if (!log.supports.compact || random(10) > 0) return
    await log.compact()
  },
  async (log) => {
    const where = { path: 'k', equals: random(K_COUNT) }
    await log.count({ where, onRetained: 'skip' })
  },
  async () => {
    if (random(8) === 0) await state.forwarder?.drained()
  }
]

const fail = (err) => {
  tell({ failed: err.code ?? 'no code', text: `${err.stack}; cause: ${err.cause?.stack}` })
  process.exit(3)
}
process.on('uncaughtException', fail)
process.on('unhandledRejection', fail)
main().catch(fail)
