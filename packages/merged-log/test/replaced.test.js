'use strict'
// The newest segment of a slot is replaced, cut or removed: live streams are told why nothing more comes of it.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec: codec } = require('@millrace/json-codec')
const { collect, failureOf, newPath, until } = require('@millrace/testkit')
const { MergedLog, SlotLog } = require('..')

const skip = process.platform === 'win32' && 'nothing that is open can be moved there'

/** @type {Record<string, { change: (file: string, older: string) => void, codes: string[], isLasting: boolean }>} */
const changes = {
  'is replaced by an older copy': { change: (file, older) => fs.renameSync(older, file), codes: ['ERR_LOG_REPLACED'], isLasting: true },
  'is removed': { change: (file) => fs.rmSync(file), codes: ['ERR_LOG_REPLACED', 'ERR_LOG_CORRUPT'], isLasting: false },
  'is cut': { change: (file) => fs.truncateSync(file, fs.statSync(file).size - 60), codes: ['ERR_LOG_CORRUPT'], isLasting: false }
}

for (const [what, { change, codes, isLasting }] of Object.entries(changes)) {
  tape(`replaced: the newest segment of a slot ${what}: live streams are told, they waited forever (segment-replaced)`, { skip }, async (t) => {
    const folder = newPath('logs')
    const append = async (...values) => {
      const log = SlotLog(folder, { codec, slots: 1 })
      for (const value of values) await log.append({ value })
      await log.close()
    }
    await append(1, 2, 3)
    const slot = path.join(folder, '0')
    const [name] = fs.readdirSync(slot).filter((name) => name.endsWith('.log'))
    const file = path.join(slot, name)
    const older = newPath('older')
    fs.copyFileSync(file, older)
    await append(4, 5, 6)
    const log = MergedLog(folder, { codec, latenessMs: 10 })
    let count = 0
    let failure = null
    const reading = (async () => {
      for await (const { value: { value } } of log.stream({ live: true })) count = value
    })().catch((err) => { failure = err })
    await until(() => count === 6)
    change(file, older)
    await until(() => failure !== null)
    t.ok(codes.includes(failure.code), String(failure))
    if (isLasting) t.equal((await failureOf(() => collect(log.stream({ live: true }))))?.code, codes[0], 'one that begins later')
    await log.close()
    await reading
  })
}
