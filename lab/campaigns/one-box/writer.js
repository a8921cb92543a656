// @ts-nocheck
'use strict'
// The writer of the box. What it is about to remove it says before, and what was done after.

const { setTimeout: sleep } = require('node:timers/promises')
const { collect } = require('@millrace/testkit')
const { createValue } = require('./records')
const { checkRead, checkView, listView } = require('./reads')
const { openLog } = require('./settings')

const RECENT_COUNT = 3000

async function run (life) {
  const { folder, setting, options, random } = life
  const log = openLog(folder, setting, options, { lockTimeout: 5000 })
  await life.step('open', log.ready())
  const { damage = [], flaws = [] } = log.recovery ?? {}
  if (damage.length + flaws.length > 0) await life.fault(`recovery found ${JSON.stringify(log.recovery)}`)
  const recent = (await life.step('stream', collect(log.stream({ reverse: true, limit: 100, values: false })))).reverse()
  const state = { life, log, view: log.view({ ...listView, saveMs: 300 }), recent, next: life.first }
  await life.tell({ opened: true })
  const fitting = Object.keys(ACTIONS).filter((name) => !UNFIT[setting.kind].includes(name))
  const actions = fitting.flatMap((name) => Array(ACTIONS[name][0]).fill(name))
  while (!life.isStopping) {
    const name = actions[random(actions.length)]
    await life.step(name, ACTIONS[name][1](state))
    if (random(20) === 0) await sleep(random(30))
  }
  await life.step('close', log.close())
}

/** @returns the seqs of the records; undefined if a condition refused them */
async function append ({ life, log, recent }, ns, options) {
  const seqs = await log.append(ns.map(createValue), { seqs: true, ...options })
  life.tell({ appended: ns.map((n, i) => [n, seqs[i]]) })
  recent.push(...seqs)
  if (recent.length > RECENT_COUNT) recent.splice(0, recent.length - RECENT_COUNT)
}

const take = (state, count) => Array.from({ length: count }, () => state.next++)

/** By name: how often, and what. */
const ACTIONS = {
  append: [12, (state) => append(state, take(state, 1))],
  batch: [12, (state) => append(state, take(state, 1 + state.life.random(60)))],
  many: [6, (state) => {
    const batches = Array.from({ length: 1 + state.life.random(30) }, () => take(state, 1 + state.life.random(3)))
    return Promise.all(batches.map((ns) => append(state, ns)))
  }],
  condition: [4, async (state) => {
    const { life, log } = state
    const [n] = take(state, 1)
    const { user } = createValue(n)
    const where = { path: 'user', equals: user }
    const last = await log.last({ where, onRetained: 'skip' })
    const since = life.random(2) === 0 ? log.since.value : Math.max((last?.seq ?? -1) - life.random(2), -1)
    const isFree = last === undefined || last.seq <= since
    try {
      await append(state, [n], { if: { where, since } })
      if (!isFree) await life.fault(`a condition since ${since} was not refused, though ${user} is in ${last.seq}`)
    } catch (err) {
      if (err.code !== 'ERR_APPEND_CONDITION') throw err
      if (isFree) await life.fault(`a condition since ${since} was refused, the last of ${user} is ${last?.seq}: ${err.message}`)
    }
  }],
  del: [3, async ({ life, log, recent }) => {
    const seqs = Array.from({ length: 1 + life.random(8) }, () => recent.splice(life.random(recent.length), 1)[0])
      .filter((seq) => seq !== undefined)
    await life.tell({ deleting: seqs })
    try {
      await log.del(seqs)
      life.tell({ deleted: seqs })
    } catch (err) {
      // One of them was dropped: others may be deleted.
      if (err.code !== 'ERR_LOG_SEQ_RETAINED') throw err
    }
  }],
  compact: [1, ({ log }) => log.compact()],
  roll: [1, ({ log }) => log.roll()],
  drop: [1, async ({ life, log, recent }) => {
    if (life.setting.drops !== 'before' || recent.length === 0) return
    const seq = recent[life.random(recent.length)]
    await life.tell({ dropping: seq })
    await log.dropBefore(seq)
  }],
  second: [1, async ({ life }) => {
    const second = openLog(life.otherFolder, life.setting, life.options)
    const code = await second.ready().then(() => 'no code', (err) => err.code)
    if (code !== 'ERR_LOG_LOCKED') await life.fault(`a second writer, by another path, was answered with ${code}`)
    await second.close()
  }],
  sync: [1, ({ log }) => log.sync()],
  flush: [1, ({ life, log }) => log.flushSync({ sync: life.random(2) === 0 })],
  read: [3, ({ life, log }) => checkRead(life, log)],
  view: [1, ({ life, log, view }) => checkView(life, log, view)]
}

/** What each kind cannot do. */
const UNFIT = {
  checked: ['roll', 'drop'],
  lines: ['roll', 'drop', 'del', 'compact'],
  segments: ['compact', 'flush'],
  'line-segments': ['compact', 'del', 'flush']
}

exports.run = run
