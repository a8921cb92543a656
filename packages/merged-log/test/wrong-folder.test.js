'use strict'
// wrong-folder: the path of the slots leads to other slots. Whoever has a slot drops nothing there, not even in slots
// that nobody has.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { setTimeout: sleep } = require('node:timers/promises')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, failureOf, newPath, temporaryFolder, until } = require('@millrace/testkit')
const { MergedLog, SlotLog } = require('..')

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

tape('wrong-folder: once another folder is in the place of a slot, live streams are told: they missed what was appended there', { skip }, async (t) => {
  const at = newPath('logs')
  const other = newPath('logs')
  for (const folder of [at, other]) {
    for (const slot of [SlotLog(folder, options), SlotLog(folder, options)]) {
      await slot.append({ time: Date.now() })
      await slot.close()
    }
  }
  const log = MergedLog(at, { codec: jsonCodec, latenessMs: 10 })
  const got = []
  const reading = failureOf(async () => {
    for await (const { seq } of log.stream({ live: true })) got.push(seq)
  })
  await until(() => got.length > 0)
  const count = got.length
  fs.renameSync(path.join(at, '0'), path.join(at, '0.old'))
  const own = SlotLog(at, { ...options, slots: 1 })
  await own.append({ time: Date.now() })
  t.equal((await reading)?.code, 'ERR_FILE_MOVED')
  t.equal((await failureOf(() => collect(log.stream({ live: true }))))?.code, 'ERR_FILE_MOVED')
  t.equal(await log.count(), count, 'what it has open can be read')
  await log.close()
  await own.close()
})
