'use strict'
// A reader of a folder of which somebody replaces, cuts or removes the newest segment, or that is moved: what waits for
// more is told why nothing comes.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { createIndex } = require('@millrace/index')
const { jsonCodec: codec } = require('@millrace/json-codec')
const { collect, failureOf, newPath, until } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const skip = process.platform === 'win32' && 'nothing that is open can be moved there'
const options = { codec, segmentSize: 64 * 1024 }
const TOLD = ['ERR_LOG_REPLACED', 'ERR_LOG_CORRUPT']

/** What happens to the newest segment. @type {Record<string, (file: string, older: string) => void>} */
const changes = {
  'is replaced by an older copy': (file, older) => fs.renameSync(older, file),
  'is removed': (file) => fs.rmSync(file),
  'is cut': (file) => fs.truncateSync(file, fs.statSync(file).size - 60)
}

/** @type {(folder: string) => string} */
function newest (folder) {
  return path.join(folder, fs.readdirSync(folder).filter((name) => /\.(log|jsonl)$/.test(name)).sort().at(-1) ?? '')
}

for (const framing of ['checked', 'lines']) {
  for (const [what, change] of Object.entries(changes)) {
    tape(`replaced: ${framing}: the newest segment ${what}: live streams are told, they waited forever (segment-replaced)`, { skip }, async (t) => {
      const folder = newPath('log')
      let count = 0
      const append = async (times) => {
        const log = SegmentedLog(folder, { ...options, framing })
        for (let left = times; left > 0; left--) await log.append({ n: count++, text: 'x'.repeat(2000) })
        await log.close()
      }
      await append(70)
      const older = newPath('older')
      fs.copyFileSync(newest(folder), older)
      await append(3)
      const reader = SegmentedLog(folder, { ...options, flags: 'r' })
      let got = 0
      let failure = null
      const reading = (async () => {
        for await (const { n } of reader.stream({ live: true, seqs: false })) got = n + 1
      })().catch((err) => { failure = err })
      await until(() => got === count)
      fs.copyFileSync(older, `${older}.copy`)
      change(newest(folder), older)
      await until(() => failure !== null)
      t.ok(TOLD.includes(failure.code), String(failure))
      const late = await failureOf(() => collect(reader.stream({ live: true, gt: reader.since.value })))
      t.ok(TOLD.includes(late?.code), `one that begins later: ${late}`)
      t.ok(TOLD.includes((await failureOf(() => reader.refresh()))?.code), 'and so does a refresh')
      await reader.close()
      await reading
    })
  }
}

tape('replaced: once its folder was moved, a reader gets its own records, and says what is none (moved-follower)', { skip }, async (t) => {
  const folder = newPath('log')
  const log = SegmentedLog(folder, { ...options, index: createIndex(['n']) })
  const seqs = []
  for (let n = 0; n < 70; n++) seqs.push(await log.append({ n, text: 'x'.repeat(2000) }))
  await log.close()
  const reader = SegmentedLog(folder, { ...options, flags: 'r', index: createIndex(['n']) })
  await reader.ready()
  fs.renameSync(folder, `${folder}.away`)
  fs.mkdirSync(folder)
  await until(async () => (await failureOf(() => reader.refresh()))?.code === 'ERR_FILE_MOVED')
  for (const seq of [seqs[0], seqs[69]]) t.equal((await reader.get(seq)).n, seqs.indexOf(seq))
  t.equal((await failureOf(() => reader.get(seqs[1] + 1)))?.code, 'ERR_RECORD_NOT_FOUND')
  t.equal(await reader.count({ where: { path: 'n', equals: 5 } }), 1, 'it counts')
  await reader.close()
})
