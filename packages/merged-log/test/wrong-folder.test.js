'use strict'
// wrong-folder: the path of the slots leads to other slots. Whoever has a slot drops nothing there, not even in slots
// that nobody has.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { setTimeout: sleep } = require('node:timers/promises')
const { jsonCodec } = require('@millrace/json-codec')
const { failureOf, temporaryFolder } = require('@millrace/testkit')
const { SlotLog } = require('..')

const MiB = 2 ** 20
const options = { codec: jsonCodec, slots: 2, segmentSize: 64 * 1024 }
const skip = process.platform === 'win32' && 'an open folder cannot be moved there'

function contents (folder) {
  const names = fs.readdirSync(folder, { recursive: true }).sort()
  return names.map((name) => {
    const file = path.join(folder, name)
    return fs.statSync(file).isFile() ? `${name} ${fs.readFileSync(file).toString('base64')}` : name
  })
}

async function fill (log, size) {
  for (let left = size; left > 0; left -= 16_000) {
    await log.append(Array.from({ length: 16 }, () => ({ time: Date.now(), text: 'x'.repeat(960) })))
  }
}

tape('wrong-folder: the quota of a slot drops nothing in the slots that have its path now', { skip }, async (t) => {
  const root = fs.realpathSync.native(temporaryFolder())
  const at = path.join(root, 'logs')
  const other = [SlotLog(path.join(root, 'other'), options), SlotLog(path.join(root, 'other'), options)]
  for (const log of other) await fill(log, 1.4 * MiB)
  for (const log of other) await log.close()
  const own = SlotLog(at, { ...options, maxSize: 2 * MiB })
  await own.append({ time: 1 })
  fs.renameSync(at, `${at}.old`)
  fs.renameSync(path.join(root, 'other'), at)
  const before = contents(at)
  // The quota looks every two seconds, and gives the slots of others five more.
  await sleep(8500)
  t.equal((await failureOf(() => own.sync()))?.code, 'ERR_LOG_POISONED')
  t.equal((await failureOf(() => fill(own, 256 * 1024)))?.code, 'ERR_LOG_POISONED')
  await own.close().catch(() => {})
  t.deepEqual(contents(at), before)
})
