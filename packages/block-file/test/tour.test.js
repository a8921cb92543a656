'use strict'
// A tour of the package, in the order of its README.

const fs = require('node:fs')
const tape = require('tape')
const { promisesOf } = require('@millrace/flow')
const { failureOf, faultyStorage, newPath } = require('@millrace/testkit')
const { BlockFile, SharedCache, fileStorage } = require('..')

/** The methods take a callback last; here they give promises. */
const ask = (file, name, ...args) => promisesOf(file)[name](...args)

tape('tour: append, and read any range', async (t) => {
  const file = BlockFile(newPath('numbers.bin'))
  t.equal(await ask(file, 'append', Buffer.from('00000007000000000102', 'hex')), 10, 'the size')
  t.equal(file.size.value, 10)
  t.equal(await ask(file, 'readUInt32BE', 0), 7)
  t.equal((await ask(file, 'read', 8, 10)).toString('hex'), '0102')
  await ask(file, 'close')
})

tape('tour: changes run in the order of the calls', async (t) => {
  const path = newPath('blocks')
  const file = BlockFile(path)
  await Promise.all([
    ask(file, 'append', Buffer.from('hello world')),
    ask(file, 'write', Buffer.from('HELLO'), 0),
    ask(file, 'truncate', 7),
    ask(file, 'sync')
  ])
  t.equal(fs.readFileSync(path, 'utf8'), 'HELLO w')
  await ask(file, 'close')
})

tape('tour: a write that fails leaves the file as it was, and the next one works', async (t) => {
  let isBroken = false
  const storage = faultyStorage(fileStorage, ({ name }) => {
    return name === 'write' && isBroken ? { error: Object.assign(new Error('full'), { code: 'ENOSPC' }) } : undefined
  })
  const file = BlockFile(newPath('blocks'), { storage })
  await ask(file, 'append', Buffer.from('before'))
  isBroken = true
  t.equal((await failureOf(() => ask(file, 'append', Buffer.from('lost')))).code, 'ENOSPC', 'its own code')
  isBroken = false
  t.equal(file.size.value, 6)
  await ask(file, 'append', Buffer.from(' after'))
  t.equal((await ask(file, 'read', 0, 12)).toString(), 'before after')
  await ask(file, 'close')
})

tape('tour: one cache for many files', async (t) => {
  const cache = SharedCache(2 ** 20)
  const files = [newPath('a'), newPath('b')].map((path) => BlockFile(path, { cache }))
  for (const file of files) await ask(file, 'append', Buffer.from('abc'))
  for (const file of files) t.equal((await ask(file, 'read', 0, 3)).toString(), 'abc')
  for (const file of files) await ask(file, 'close')
})

tape('tour: a file that cannot be opened fails every call with the reason', async (t) => {
  const file = BlockFile(newPath('missing'), { flags: 'r' })
  t.equal((await failureOf(() => ask(file, 'read', 0, 1))).code, 'ENOENT')
  t.equal((await failureOf(() => ask(file, 'readUInt32BE', 0))).code, 'ENOENT')
})

tape('tour: with a lock, a second open for writing is refused', async (t) => {
  const path = newPath('blocks')
  const file = BlockFile(path, { lock: true })
  await ask(file, 'append', Buffer.from('abc'))
  const second = BlockFile(path, { lock: true })
  t.equal((await failureOf(() => ask(second, 'append', Buffer.from('def')))).code, 'ERR_LOG_LOCKED')
  fs.renameSync(path, `${path}.other`)
  await ask(file, 'append', Buffer.from('ghi')).catch(() => {})
  t.equal((await failureOf(() => ask(file, 'sync'))).code, 'ERR_FILE_MOVED', 'it was renamed')
  await ask(file, 'close').catch(() => {})
})
