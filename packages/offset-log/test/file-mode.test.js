'use strict'
// The option `mode`: every file that a log makes has it, also copies.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { failureOf, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const isWindows = process.platform === 'win32'
const modeOf = (file) => fs.statSync(file).mode & 0o777

for (const framing of ['checked', 'offset32']) {
  tape(`mode: a log, its lock, the copy of a torn end, a compacted file and a snapshot have it (${framing})`, { skip: isWindows }, async (t) => {
    const folder = newPath('folder')
    const file = path.join(folder, 'log')
    const before = process.umask(0o022)
    try {
      const first = OffsetLog(file, { framing, mode: '640' })
      const seqs = []
      for (let i = 0; i < 20; i++) seqs.push(await first.append(Buffer.alloc(2000, i + 1)))
      await first.close()
      fs.appendFileSync(file, framing === 'checked' ? 'torn' : Buffer.from([0, 0, 1, 0, 1, 2, 3]))
      const log = OffsetLog(file, { framing, mode: 0o640 })
      await log.ready()
      t.ok(fs.readdirSync(folder).some((name) => name.includes('.cut-')), 'a torn end was cut')
      await log.del(seqs[3])
      if (log.supports.compact) await log.compact()
      if (log.supports.snapshot) await log.snapshot(path.join(folder, 'copy'))
      const names = fs.readdirSync(folder)
      t.ok(names.includes('log') && names.includes('log.lock'))
      for (const name of names) t.equal(modeOf(path.join(folder, name)), 0o640, name)
      await log.close()
    } finally {
      process.umask(before)
    }
  })
}

tape('mode: a file that exists keeps its own, also when it is compacted', { skip: isWindows }, async (t) => {
  const file = newPath('log')
  const first = OffsetLog(file)
  const seq = await first.append(Buffer.alloc(2000, 1))
  await first.append(Buffer.alloc(2000, 2))
  await first.close()
  t.equal(modeOf(file), 0o600)
  fs.chmodSync(file, 0o660)
  const log = OffsetLog(file, { mode: 0o644 })
  await log.del(seq)
  await log.compact()
  t.equal(modeOf(file), 0o660)
  await log.close()
})

tape('mode: sums that are made beside a text have its owner and mode, or its owner could not open it any more', { skip: isWindows }, async (t) => {
  const file = newPath('log')
  fs.writeFileSync(file, '{"n":1}\n', { mode: 0o600 })
  fs.chmodSync(file, 0o640)
  if (process.getuid() === 0) fs.chownSync(file, 1000, 1001)
  const ownershipOf = (name) => (({ mode, uid, gid }) => ({ mode, uid, gid }))(fs.statSync(name))
  const append = async () => {
    const log = OffsetLog(file, { framing: 'lines' })
    await log.append(Buffer.from('{"n":2}'))
    await log.close()
  }
  await append()
  t.deepEqual(ownershipOf(`${file}.sums`), ownershipOf(file))
  fs.chmodSync(`${file}.sums`, 0o600)
  await append()
  t.equal(modeOf(`${file}.sums`), 0o600, 'those that are there keep theirs')
})

tape('mode: what is no mode is refused', async (t) => {
  for (const mode of [640, 0o200, '0888', null]) {
    t.equal((await failureOf(async () => OffsetLog(newPath('log'), { mode })))?.code, 'ERR_INVALID_ARGUMENT')
  }
})

tape('mode: a storage with methods of a class keeps them', async (t) => {
  class Storage {
    open (path, options, cb) {
      t.equal(options.mode, 0o640)
      process.nextTick(cb, Object.assign(new Error('not here'), { code: 'EIO' }))
    }

    rename () {}
    unlink () {}
    syncFolder () {}
  }
  const log = OffsetLog('/log', { mode: 0o640, storage: new Storage() })
  t.equal((await failureOf(() => log.ready()))?.code, 'EIO')
})
