'use strict'
// A log whose file is removed, replaced or renamed while it is open, and the owner and mode of one that is compacted.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { failureOf, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const IS_WINDOWS = process.platform === 'win32'
const bytes = (text) => Buffer.from(text)

const moves = {
  removed: (file) => fs.rmSync(file),
  renamed: (file) => fs.renameSync(file, `${file}2`),
  'replaced by another log': (file, other) => fs.renameSync(other, file),
  'in a folder that was renamed': (file) => fs.renameSync(path.dirname(file), `${path.dirname(file)}2`)
}

/** A closed log of one record. */
async function makeOther (file) {
  const other = OffsetLog(file)
  await other.append(bytes('of the other'))
  await other.close()
  return file
}

for (const [what, move] of Object.entries(moves)) {
  for (const framing of ['checked', 'offset48']) {
    tape(`moved, ${framing}: a log that is ${what} takes nothing more, and is unlocked by close`, { skip: IS_WINDOWS }, async (t) => {
      for (const fsync of ['always', 'interval', 'never']) {
        const file = newPath('folder', 'log')
        const log = OffsetLog(file, { framing, fsync })
        const seq = await log.append(bytes('first'))
        await log.sync()
        const other = await makeOther(`${file}-other`)
        move(file, other)
        const err = await failureOf(async () => {
          await log.append(bytes('into nowhere'))
          await log.sync()
        })
        t.equal(err?.code, 'ERR_LOG_POISONED', fsync)
        t.equal(err?.cause?.code, 'ERR_FILE_MOVED')
        t.equal((await failureOf(() => log.append(bytes('more')))).code, 'ERR_LOG_POISONED')
        t.equal(String(await log.get(seq)), 'first', 'what was written can be read still')
        await failureOf(() => log.close())
        const root = path.dirname(path.dirname(file))
        t.deepEqual(fs.readdirSync(root, { recursive: true }).filter((name) => name.includes('.lock')), [])
        if (what !== 'replaced by another log') continue
        const there = OffsetLog(file)
        await there.ready()
        t.equal(String(await there.get(there.since.value)), 'of the other')
        await there.close()
      }
    })
  }

  tape(`moved: a compaction of a log that is ${what} replaces nothing`, { skip: IS_WINDOWS }, async (t) => {
    const file = newPath('folder', 'log')
    const log = OffsetLog(file)
    const seqs = []
    for (let index = 0; index < 20; index++) seqs.push(await log.append(Buffer.alloc(5000, index)))
    await log.del(seqs.slice(0, 10))
    await log.sync()
    const other = await makeOther(`${file}-other`)
    const before = fs.readFileSync(other)
    move(file, other)
    t.ok(['ERR_LOG_POISONED', 'ENOENT'].includes((await failureOf(() => log.compact()))?.code))
    await failureOf(() => log.close())
    if (what === 'replaced by another log') t.ok(fs.readFileSync(file).equals(before), 'the other log is as it was')
    const names = fs.readdirSync(path.dirname(path.dirname(file)), { recursive: true })
    t.deepEqual(names.filter((name) => /compacting|\.lock/.test(name)), [])
  })
}

tape('compact: keeps the owner and the mode of the file', { skip: IS_WINDOWS }, async (t) => {
  const file = newPath('folder', 'log')
  const log = OffsetLog(file)
  const seqs = []
  for (let index = 0; index < 100; index++) seqs.push(await log.append(Buffer.alloc(300, index)))
  fs.chmodSync(file, 0o664)
  if (process.getuid() === 0) fs.chownSync(file, 1000, 1001)
  const { mode, uid, gid } = fs.statSync(file)
  await log.del(seqs.slice(0, 50))
  await log.compact()
  const after = fs.statSync(file)
  t.deepEqual({ mode: after.mode, uid: after.uid, gid: after.gid }, { mode, uid, gid })
  await log.close()
})
