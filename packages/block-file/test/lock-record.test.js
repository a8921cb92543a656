'use strict'
// The record of a lock on a disk that fails, in a folder that is moved, and where none can be made: who is kept out
// afterwards. Each with the kernel's lock, and where the record is the lock.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { failureOf, newPath, until } = require('@millrace/testkit')
const { BlockFile, fileStorage } = require('..')
const { Holder } = require('./lock-holder')
const { promises } = require('./open-blocks')
const { recordStorage } = require('./record-storage')

const storages = { 'kernel lock': fileStorage, record: recordStorage }
const options = { lock: true, cache: 0, createFolder: true }
const lockedOpen = (file, more) => promises(BlockFile(file, { ...options, ...more }))

/** Calls of `fs` on records fail with a code until the function is called that is returned. */
function failing (t, names, code) {
  const real = Object.fromEntries(names.map((name) => [name, fs[name]]))
  for (const name of names) {
    fs[name] = (file, ...args) => {
      if (!String(file).includes('.lock')) return real[name](file, ...args)
      process.nextTick(args.pop(), Object.assign(new Error(`${code}: ${name}`), { code }))
    }
  }
  const end = () => Object.assign(fs, real)
  t.teardown(end)
  return end
}

for (const [kind, storage] of Object.entries(storages)) {
  tape(`${kind}: lock-not-released: a record that could not be removed keeps nobody out`, async (t) => {
    for (const calls of [['unlink'], ['open'], ['read', 'unlink']]) {
      const file = newPath('inner', 'blocks')
      const first = lockedOpen(file, { storage, initial: () => Buffer.from('some') })
      await first.ready()
      const end = failing(t, calls, 'EIO')
      const isRead = calls.includes('open') || calls.includes('unlink')
      t.equal((await failureOf(first.close))?.code, isRead ? 'EIO' : undefined, 'the failure is told')
      end()
      for (let round = 0; round < 2; round++) {
        const again = lockedOpen(file, { storage })
        t.equal(await failureOf(again.ready), null, `${calls.join()}: this process opens it again`)
        await again.close()
      }
      t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
    }
  })

  tape(`${kind}: lock-moved: what is noted after the folder was moved goes where the record is`, async (t) => {
    const file = newPath('inner', 'blocks')
    const folder = path.dirname(file)
    const first = lockedOpen(file, { storage, initial: () => Buffer.from('some') })
    await first.ready()
    fs.renameSync(folder, `${folder}.old`)
    fs.mkdirSync(folder)
    fs.writeFileSync(file, 'a copy')
    await new Promise((resolve) => first.blocks.markIntact(true, resolve))
    await new Promise((resolve) => first.blocks.markIntact(false, resolve))
    t.deepEqual(fs.readdirSync(folder), ['blocks'], 'nothing is written to the other folder')
    await first.close()
    t.deepEqual(fs.readdirSync(`${folder}.old`), ['blocks'], 'and nothing stays in its own')
    const other = lockedOpen(file, { storage })
    t.equal(await failureOf(other.ready), null)
    await other.close()
  })
}

tape('kernel lock: lock-not-released: another process opens it, though the holder before is alive', async (t) => {
  const file = newPath('inner', 'blocks')
  const first = lockedOpen(file, { initial: () => Buffer.from('some') })
  await first.ready()
  const end = failing(t, ['unlink'], 'EIO')
  t.equal((await failureOf(first.close))?.code, 'EIO')
  end()
  const other = new Holder('process')
  t.equal((await other.open(file)).code, 'none')
  await other.kill()
})

tape('kernel lock: two-writers-full-disk: a record that could not be written is written later', async (t) => {
  const file = newPath('inner', 'blocks')
  fs.mkdirSync(path.dirname(file))
  fs.writeFileSync(file, 'some')
  const end = failing(t, ['writeFile'], 'ENOSPC')
  const first = lockedOpen(file)
  await first.ready()
  if (first.blocks.lock.kind !== 'kernel') return first.close()
  t.match(first.blocks.lock.blindSpot, /no lock of the kernel.*ENOSPC/, 'the log says whom it cannot keep out')
  t.equal((await failureOf(lockedOpen(file).ready))?.code, 'ERR_LOG_LOCKED', 'whoever has the kernel is kept out')
  end()
  await new Promise((resolve) => first.blocks.markIntact(true, resolve))
  t.equal(first.blocks.lock.blindSpot, null)
  t.equal((await failureOf(lockedOpen(file, { storage: recordStorage }).ready))?.code, 'ERR_LOG_LOCKED')
  t.equal(JSON.parse(fs.readFileSync(`${file}.lock`, 'utf8')).isIntact, true)
  await first.close()
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
})

tape('kernel lock: two-writers-full-disk: a holder that writes nothing tries again, too', async (t) => {
  const file = newPath('inner', 'blocks')
  fs.mkdirSync(path.dirname(file))
  fs.writeFileSync(file, 'some')
  const end = failing(t, ['writeFile'], 'ENOSPC')
  const first = lockedOpen(file)
  await first.ready()
  end()
  if (first.blocks.lock.kind === 'kernel') await until(() => fs.existsSync(`${file}.lock`))
  t.equal((await failureOf(lockedOpen(file, { storage: recordStorage }).ready))?.code, 'ERR_LOG_LOCKED')
  await first.close()
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
})

tape('kernel lock: lock-name-too-long: after a kill, a file opens whose name leaves no room for those of the lock', async (t) => {
  for (const size of [200, 212, 213, 229, 230, 240]) {
    const file = newPath('inner', 'b'.repeat(size))
    fs.mkdirSync(path.dirname(file))
    fs.writeFileSync(file, 'some')
    const holder = new Holder('process')
    t.equal((await holder.open(file)).code, 'none')
    await holder.kill()
    const next = lockedOpen(file)
    t.equal(await failureOf(next.ready), null, `${size} bytes`)
    if (next.blocks.lock.kind === 'kernel') {
      t.equal((await failureOf(lockedOpen(file, { lockTimeout: 100 }).ready))?.code, 'ERR_LOG_LOCKED', 'and is locked')
    }
    await new Promise((resolve) => next.blocks.markIntact(true, resolve))
    await next.close()
  }
})
