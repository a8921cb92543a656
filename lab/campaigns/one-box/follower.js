// @ts-nocheck
'use strict'
// A follower of the box: it reads by filters, live, and by seq, and has a view.

const { setTimeout: sleep } = require('node:timers/promises')
const { isRight } = require('./records')
const { checkRead, checkView, listView, scan } = require('./reads')
const { openLog } = require('./settings')

const LOOK_MS = 20

async function run (life) {
  for (let isOver = false; !isOver;) isOver = await follow(life)
}

/** @returns whether it is over: a log whose end was cut is opened again */
async function follow (life) {
  const log = await openReader(life)
  if (log === null) return true
  await life.tell({ opened: true })
  const state = { life, log, live: [], from: log.since.value, skips: false, isOver: false, isReplaced: false }
  const reading = readLive(state)
  try {
    await readOn(state)
  } catch (err) {
    if (!life.isCut(err)) throw err
    state.isReplaced = true
  }
  state.isOver = true
  await life.step('close', log.close())
  await life.step('live end', reading)
  return !state.isReplaced
}

async function readOn (state) {
  const { life, log } = state
  const { random } = life
  const view = random(2) === 0 ? log.view(listView) : null
  const asked = []
  life.onMessage = ({ ask }) => { asked.push(...ask) }
  while (!life.isStopping && !state.isReplaced) {
    const seqs = asked.splice(0)
    if (seqs.length > 0) await answer(state, seqs)
    await life.step('read', checkRead(life, log))
    if (view && random(4) === 0) await life.step('view', checkView(life, log, view))
    await sleep(random(30))
  }
  await life.step('refresh', log.refresh())
  await life.step('live', checkLive(state))
}

/** @returns an open log; null if it was stopped before there was one */
async function openReader (life) {
  const { folder, setting, options } = life
  while (!life.isStopping) {
    const log = openLog(folder, setting, options, { flags: 'r' })
    try {
      await life.step('open', log.ready())
      return log
    } catch (err) {
      if (err.code !== 'ENOENT' || !life.isFirstRound) throw err
      await sleep(20)
    }
  }
  return null
}

/** Says what becomes of seqs that the writer has told of. */
async function answer ({ life, log }, seqs) {
  await life.step('refresh', log.refresh())
  const found = await life.step('get', Promise.all(seqs.map(async (seq) => {
    try {
      const value = await log.get(seq)
      return { seq, n: isRight(value) ? value.n : -1 }
    } catch (err) {
      if (life.isCut(err)) throw err
      return { seq, code: err.code ?? String(err.stack), message: err.message }
    }
  })))
  await life.tell({ found })
}

async function readLive (state) {
  const { life, log, live } = state
  while (!state.isOver) {
    try {
      const onRetained = state.skips ? 'skip' : 'error'
      for await (const { seq, value } of log.stream({ gt: live.at(-1)?.seq ?? state.from, live: true, onRetained })) {
        if (!isRight(value)) await life.fault(`the live record ${seq} is wrong`)
        if (seq <= (live.at(-1)?.seq ?? -1)) await life.fault(`live: ${seq} came after ${live.at(-1).seq}`)
        live.push({ seq, n: value.n })
      }
    } catch (err) {
      if (life.isCut(err)) {
        state.isReplaced = true
        return
      }
      // It was closed while there was more to read.
      if (state.isOver && err.code === 'ERR_LOG_CLOSED') return
      if (err.code !== 'ERR_LOG_SEQ_RETAINED' || life.setting.drops === 'none') throw err
      // It goes on with what is left.
      state.skips = true
    }
  }
}

/**
 * Passes the log on to somebody else, until it is stopped.
 * @param {(life, log) => Promise<void>} pass
 * @param {(err) => boolean} [isOver]  whether it cannot go on, rightly. Nor can it after a cut: what was passed on of a
 *   batch that was cut, no other one finds again
 */
async function passOn (life, pass, isOver = () => false) {
  const log = await openReader(life)
  if (log === null) return
  await life.tell({ opened: true })
  try {
    await pass(life, log)
  } catch (err) {
    if (!life.isCut(err) && !isOver(err)) throw err
    await untilStopped(life)
  }
  await life.step('close', log.close())
}

async function untilStopped (life) {
  while (!life.isStopping) await sleep(LOOK_MS)
}

/** It has all that is in the log, once it has come so far. */
async function checkLive (state) {
  const { life, log, live, from } = state
  const entries = (await scan(life, log, log.since.value)).filter(({ seq }) => seq > from)
  const last = entries.at(-1)?.seq ?? -1
  while ((live.at(-1)?.seq ?? -1) < last && !state.isReplaced) await sleep(10)
  if (state.isReplaced) return
  const seen = new Set(live.map(({ seq }) => seq))
  const missing = entries.filter(({ seq }) => !seen.has(seq))
  if (missing.length > 0) await life.fault(`live: ${missing.length} records are missing, from ${missing[0].seq} on; after ${from}`)
}

exports.openReader = openReader
exports.passOn = passOn
exports.run = run
exports.untilStopped = untilStopped
