'use strict'
// Opening, closing, options and misuse.

const fs = require('node:fs')
const path = require('node:path')
const { promisify } = require('node:util')
const tape = require('tape')
const { failureOf, faultyStorage, newPath, temporaryFolder } = require('@millrace/testkit')
const { BlockFile, fileStorage } = require('..')
const { counting, open, promises } = require('./open-blocks')

tape('BlockFile: works with and without new', async (t) => {
  const file = newPath('blocks')
  const blocks = new BlockFile(file)
  t.ok(blocks instanceof BlockFile)
  await promises(blocks).close()
  t.ok(fs.existsSync(file), 'r+ creates the file')
})

tape('BlockFile: refuses options that make no sense', (t) => {
  const wrong = [[''], [5], ['x', { blockSize: 0 }], ['x', { blockSize: 1.5 }], ['x', { flags: 'w' }],
    ['x', { cache: -1 }], ['x', { cache: 2 ** 33 }], ['x', null], ['x', { storage: {} }], ['x', { initial: 'bytes' }], ['x', { cache: { get () {}, set () {} } }], ['x', []],
    ['x', { blocksize: 4096 }]]
  for (const args of wrong) {
    t.throws(() => BlockFile(...args), (err) => err instanceof TypeError && err.code === 'ERR_INVALID_ARGUMENT')
  }
  t.end()
})

tape('open: a directory, a missing folder, a missing file and no permission each give a code', async (t) => {
  const folder = temporaryFolder()
  const codeOf = async (file, options) => {
    const { ready, read, append, close } = promises(BlockFile(file, options))
    const calls = [ready, () => read(0, 1), () => append(Buffer.from('a'))]
    const [err, readErr, appendErr] = await Promise.all(calls.map(failureOf))
    t.equal(readErr, err, 'a pending read fails alike')
    if (options?.flags !== 'r') t.equal(appendErr, err, 'a pending append too')
    t.equal(await failureOf(() => read(0, 1)), err, 'and a later read')
    await close()
    return err.code
  }
  t.equal(await codeOf(folder), 'EISDIR')
  t.equal(await codeOf(folder, { flags: 'r' }), 'EISDIR')
  t.equal(await codeOf(path.join(folder, 'missing', 'file')), 'ENOENT')
  t.equal(await codeOf(path.join(folder, 'missing'), { flags: 'r' }), 'ENOENT')
  t.deepEqual(fs.readdirSync(folder), [], 'nothing was created')
  if (process.platform === 'win32' || process.getuid() === 0) {
    const denied = Object.assign(new Error('denied'), { code: 'EACCES' })
    const storage = faultyStorage(fileStorage, ({ name }) => name === 'open' ? { error: denied } : {})
    t.equal(await codeOf(path.join(folder, 'denied'), { storage }), 'EACCES')
  } else {
    fs.writeFileSync(path.join(folder, 'denied'), '', { mode: 0 })
    t.equal(await codeOf(path.join(folder, 'denied')), 'EACCES')
  }
})

tape('open: what is neither a file nor a folder is refused', { skip: process.platform === 'win32' }, async (t) => {
  const err = await failureOf(() => promises(BlockFile('/dev/null')).ready())
  t.equal(err.code, 'ERR_INVALID_ARGUMENT')
})

tape('open: createFolder creates the folder', async (t) => {
  const file = newPath('a', 'b', 'blocks')
  const { ready, close } = promises(BlockFile(file, { createFolder: true }))
  await ready()
  t.ok(fs.existsSync(file))
  await close()
})

tape('open: a folder that cannot be created gives a code', async (t) => {
  const file = newPath('file')
  fs.writeFileSync(file, '')
  const err = await failureOf(() => promises(BlockFile(path.join(file, 'blocks'), { createFolder: true })).ready())
  t.ok(['ENOTDIR', 'EEXIST', 'ENOENT'].includes(err.code), err.code)
})

tape('open: a size that cannot be had gives its error and closes the file', async (t) => {
  const broken = new Error('no size')
  let closeCount = 0
  const storage = faultyStorage(fileStorage, ({ name }) => {
    if (name === 'close') closeCount++
    return name === 'size' ? { error: broken } : {}
  })
  const { ready, close } = open(Buffer.from('a'), { storage })
  t.equal(await failureOf(ready), broken)
  t.equal(closeCount, 1)
  await close()
})

tape('close: every caller is told when it is closed, with the same error', async (t) => {
  const error = new Error('no close')
  const storage = faultyStorage(fileStorage, ({ name }) => name === 'close' ? { error } : {})
  const { close, blocks } = open(Buffer.from('a'), { storage })
  const results = await Promise.all([failureOf(close), failureOf(close)])
  t.deepEqual(results, [error, error])
  t.equal(blocks._file.handle, null)
  t.equal(await failureOf(close), error)
})

tape('close: waits for a scan that was asked before', async (t) => {
  const { scan, close, blocks, ready } = open(Buffer.alloc(3000000), { blockSize: 1024 })
  await ready()
  blocks._file.adaptiveIo.mayBlock = () => false
  let count = 0
  const scanned = scan({}, () => { count++ })
  await close()
  await scanned
  t.equal(count, Math.ceil(3000000 / 1024))
})

tape('misuse: what is thrown on the way goes to the callback', async (t) => {
  const { scan, read, ready, close } = open(Buffer.from('a'))
  t.ok(await failureOf(() => scan(null, () => {})) instanceof TypeError)
  await ready()
  t.ok(await failureOf(() => scan(null, () => {})) instanceof TypeError)
  t.deepEqual(await read(0, 1), Buffer.from('a'))
  await close()
})

tape('close: waits for what was asked before, may be called twice, and ends everything after', async (t) => {
  const { append, read, close, scan, path } = open(counting(8))
  const appended = append(Buffer.from('last'))
  await Promise.all([close(), close()])
  t.equal(await appended, 12)
  t.equal(fs.statSync(path).size, 12)
  await close()
  for (const call of [() => read(0, 1), () => append(Buffer.from('x')), () => scan({}, () => {})]) {
    t.equal((await failureOf(call)).code, 'ERR_FILE_CLOSED')
  }
})

tape('close: a scan and a queued change that are under way end with a code', async (t) => {
  const { scan, close, blocks } = open(Buffer.alloc(2 * 1024 * 1024), { blockSize: 1024 })
  const closed = []
  const err = await failureOf(() => scan({}, () => { if (closed.length === 0) closed.push(close()) }))
  t.ok(err === null || err.code === 'ERR_FILE_CLOSED')
  await closed[0]
  const sync = promisify(blocks._writer.sync.bind(blocks._writer))
  t.equal((await failureOf(sync)).code, 'ERR_FILE_CLOSED')
})
