'use strict'
// A tour of the package, in the order of its README.

const fs = require('node:fs')
const tape = require('tape')
const { OffsetLog } = require('@millrace/offset-log')
const { failureOf, newPath, zero } = require('@millrace/testkit')
const { repair, verify } = require('..')

/** A log of a hundred records, with a sector that the disk has lost. */
async function makeDamaged () {
  const file = newPath('pages.log')
  const log = OffsetLog(file)
  const seqs = []
  for (let page = 0; page < 100; page++) seqs.push(await log.append(Buffer.alloc(1000, `${page} `)))
  await log.close()
  const sound = await verify(file)
  zero(file, 65536, 66048)
  return { file, seqs, sound }
}

tape('tour: verify says whether a log is sound, and changes nothing', async (t) => {
  const { file, sound } = await makeDamaged()
  t.equal(sound.isSound, true)
  t.equal(sound.records, 100)
  const before = fs.readFileSync(file)
  const report = await verify(file)
  t.equal(report.isSound, false)
  t.equal(report.records, 99)
  t.equal(report.damage.length, 1)
  t.equal(report.framing, 'checked')
  t.deepEqual(JSON.parse(JSON.stringify(report)), report, 'the report is plain JSON')
  t.ok(fs.readFileSync(file).equals(before))
})

tape('tour: repair is a dry run, unless it may write', async (t) => {
  const { file } = await makeDamaged()
  const { recovered, isDryRun, lostCount } = await repair(file, `${file}.repaired`)
  t.deepEqual([recovered, isDryRun, lostCount], [99, true, 1])
  t.notOk(fs.existsSync(`${file}.repaired`))
})

tape('tour: repair makes a new log of the good records, with their seqs', async (t) => {
  const { file, seqs } = await makeDamaged()
  const before = fs.readFileSync(file)
  await repair(file, `${file}.repaired`, { write: true })
  t.ok(fs.readFileSync(file).equals(before), 'the damaged one is not changed')
  const log = OffsetLog(`${file}.repaired`)
  t.equal(await log.count(), 99)
  t.ok((await log.get(seqs[99])).equals(Buffer.alloc(1000, '99 ')))
  await log.close()
  t.equal((await verify(`${file}.repaired`)).isSound, true)
})

tape('tour: repair replaces nothing', async (t) => {
  const { file } = await makeDamaged()
  const out = newPath('other')
  fs.writeFileSync(out, 'something else')
  t.equal((await failureOf(() => repair(file, out, { write: true }))).code, 'EEXIST')
  t.equal(fs.readFileSync(out, 'utf8'), 'something else')
})
