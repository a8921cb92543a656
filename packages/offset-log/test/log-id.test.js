'use strict'
// The id of a log, as stats gives it: what remembers a place in a log tells by it whether this is still the same log.

const path = require('node:path')
const tape = require('tape')
const { newPath, temporaryFolder } = require('@millrace/testkit')
const { repair } = require('@millrace/repair')
const { OffsetLog } = require('..')

/** @type {(file: string, options?: object) => Promise<string | null>} */
async function idOf (file, options) {
  const log = OffsetLog(file, options)
  const { id } = await log.stats()
  await log.close()
  return id
}

tape('id: a log keeps it when it is opened again, compacted, copied and repaired', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'log')
  const log = OffsetLog(file)
  const { id } = await log.stats()
  t.match(id, /^[0-9a-f]{32}$/)
  const seqs = await Promise.all(['one', 'two', 'three'].map((text) => log.append(Buffer.from(text))))
  await log.del(seqs[0])
  await log.compact()
  t.equal((await log.stats()).id, id, 'compacted')
  await log.snapshot(path.join(folder, 'copy'))
  await log.close()
  await repair(file, path.join(folder, 'repaired'), { write: true })
  for (const name of ['log', 'copy', 'repaired']) t.equal(await idOf(path.join(folder, name), { flags: 'r' }), id, name)
  t.notEqual(await idOf(path.join(folder, 'other')), id, 'another log has another')
})

tape('id: null in the offset framings', async (t) => {
  for (const framing of ['offset32', 'offset48', 'offset53']) t.equal(await idOf(newPath('log'), { framing }), null)
})
