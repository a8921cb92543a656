'use strict'
// A folder that several processes write, and a viewer of it, for tests.

const fs = require('node:fs')
const path = require('node:path')
const { jsonCodec } = require('@millrace/json-codec')
const { SlotLog } = require('@millrace/merged-log')
const { createRandom, newPath } = require('@millrace/testkit')
const { openViewed } = require('../lib/viewer/open')
const { serve } = require('../lib/viewer/server')

const START_MS = Date.parse('2026-01-01T00:00:00Z')
const SLOT_COUNT = 3

/** @returns {Promise<{ folder: string, logs: any[] }>}  of slots that share the numbers from 0 on */
async function makeSlots (count, { record = createRecord, segmentSize = 20_000 } = {}) {
  const folder = newPath('logs')
  const logs = Array.from({ length: SLOT_COUNT }, () => SlotLog(folder, { codec: jsonCodec, segmentSize }))
  for (const log of logs) await log.ready()
  logs.sort((a, b) => a.slot - b.slot)
  const random = createRandom(7)
  const batches = logs.map(() => [])
  for (let n = 0; n < count; n++) batches[random(SLOT_COUNT)].push(record(n))
  for (const [slot, batch] of batches.entries()) {
    for (let index = 0; index < batch.length; index += 10) await logs[slot].append(batch.slice(index, index + 10))
  }
  return { folder, logs }
}

/** Sizes vary, times rise. */
function createRecord (n) {
  return { n, timestamp: START_MS + n * 1000, level: n % 5 * 10, text: 'x'.repeat(n * 37 % 200) }
}

const closeAll = (logs) => Promise.all(logs.map((log) => log.close()))

/** Opens a viewer for a test, and gives what asks it. */
async function view (t, folder) {
  const { viewed, close: closeLog } = await openViewed(folder)
  const { url, close } = await serve(viewed)
  t.teardown(async () => {
    await close()
    await closeLog()
  })
  const ask = async (name, parameters = {}) => {
    const response = await fetch(`${url}${name}?${new URLSearchParams(parameters)}`)
    const text = await response.text()
    return text.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line))
  }
  const page = async (parameters) => (await ask('page', parameters))[0]
  return { url, ask, page }
}

/** Flips a bit in the second segment of slot 1. @returns {string}  its name in messages */
function hurt (folder) {
  const [, name] = fs.readdirSync(path.join(folder, '1')).filter((name) => name.endsWith('.log')).sort()
  const file = path.join(folder, '1', name)
  const bytes = fs.readFileSync(file)
  bytes[bytes.indexOf('"level":20') + 9] ^= 1
  fs.writeFileSync(file, bytes)
  return path.join('1', name)
}

exports.START_MS = START_MS
exports.SLOT_COUNT = SLOT_COUNT
exports.closeAll = closeAll
exports.createRecord = createRecord
exports.hurt = hurt
exports.makeSlots = makeSlots
exports.view = view
