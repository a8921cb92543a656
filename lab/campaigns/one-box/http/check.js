// @ts-nocheck
'use strict'
// Looks at the logs of the server at rest.

const fs = require('node:fs')
const path = require('node:path')
const { command } = require('../command')
const records = require('../records')
const { Caller } = require('./caller')
const { serve } = require('./server')

async function checkServed (life) {
  const folder = path.join(life.folder, 'http')
  if (!fs.existsSync(folder)) return
  const server = serve(life)
  life.url = await life.step('listen', server.listen())
  await life.step('ready', server.ready())
  const caller = new Caller(life)
  const all = await life.step('read all', caller.read('/v1/logs/events?gt=-1'))
  const wrong = all.find(({ value }) => !records.isRight(value))
  if (wrong) await life.fault(`the server has ${JSON.stringify(wrong).slice(0, 300)}`)
  await life.step('check counts', checkCounts(life, caller))
  await life.step('close the server', server.close())
  const logs = fs.readdirSync(folder).filter((name) => name.startsWith('log-'))
  for (const name of logs) await command(life, 'verify', path.join(folder, name))
  await life.tell({ served: all.map(({ seq, value: { n } }) => ({ seq, n })) })
}

/** They are those of the log, but for days that it no longer has. */
async function checkCounts (life, caller) {
  const { text } = await caller.send('/v1/se/counts')
  const isStale = text.includes('counts_stale')
  if (isStale && !life.isChanged) await life.fault(`the counts are stale: ${text}`)
  if (isStale) await caller.send('/v1/se/counts', { method: 'POST' })
  const counts = await caller.read('/v1/se/counts?')
  const expected = new Map()
  for (const { time, value: { source, event } } of await caller.read('/v1/logs/se?gt=-1')) {
    const key = `${new Date(time).toISOString().slice(0, 10)} ${source} ${event}`
    expected.set(key, (expected.get(key) ?? 0) + 1)
  }
  const days = new Set(Array.from(expected.keys(), (key) => key.split(' ')[0]))
  const counted = new Map(counts.map(({ day, source, event, count }) => [`${day} ${source} ${event}`, count]))
  const mayBeMore = life.setting.http.drops
  const isRight = ([key, count]) => mayBeMore ? counted.get(key) >= count : counted.get(key) === count
  const wrong = [...expected].filter((entry) => !isRight(entry))
  const mayStay = (key) => expected.has(key) || (life.isChanged && !days.has(key.split(' ')[0]))
  const surplus = mayBeMore ? [] : [...counted].filter(([key]) => !mayStay(key))
  if (wrong.length + surplus.length === 0) return
  const told = wrong.slice(0, 3).map(([key, count]) => `${key} is ${counted.get(key)}, not ${count}`)
  await life.fault(`${wrong.length} counts are wrong: ${told}; ${surplus.length} are too much: ${surplus.slice(0, 3)}`)
}

exports.checkServed = checkServed
