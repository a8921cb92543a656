'use strict'
// Files that begin with bytes of their own: they exist with all of these or not at all; and names that are durable.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { SimulatedDisk, failureOf, faultyStorage, newPath, temporaryFolder } = require('@millrace/testkit')
const { BlockFile, fileStorage } = require('..')
const { promises } = require('./open-blocks')

const FILE = '/folder/file'
const HEAD = Buffer.alloc(1300, 'head')
const initial = () => Buffer.from(HEAD)

tape('initial: a new file begins with it, and nothing else is left behind', async (t) => {
  const file = newPath('folder', 'blocks')
  const { ready, size, append, read, close } = promises(BlockFile(file, { initial, createFolder: true }))
  await ready()
  t.equal(size.value, HEAD.length)
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
  if (process.platform !== 'win32') t.equal(fs.statSync(file).mode & 0o777, 0o600)
  await append(Buffer.from('more'))
  t.equal(String(await read(HEAD.length - 4, HEAD.length + 4)), 'headmore')
  await close()
})

tape('initial: is for a file that is missing or empty; any other one stays as it is', async (t) => {
  const file = newPath('folder', 'blocks')
  fs.mkdirSync(path.dirname(file))
  fs.writeFileSync(file, 'x')
  let count = 0
  const counted = () => {
    count++
    return initial()
  }
  const blocks = promises(BlockFile(file, { initial: counted }))
  await blocks.ready()
  t.equal(blocks.size.value, 1)
  await blocks.close()
  t.equal(count, 0)
  fs.writeFileSync(file, '')
  const again = promises(BlockFile(file, { initial: counted }))
  await again.ready()
  t.equal(again.size.value, HEAD.length)
  await again.close()
  t.equal(count, 1)
})

tape('initial: with flags "r" nothing is made', async (t) => {
  const file = newPath('folder', 'blocks')
  const blocks = promises(BlockFile(file, { initial, flags: 'r', createFolder: true }))
  t.equal((await failureOf(blocks.ready)).code, 'ENOENT')
  await blocks.close()
  t.notOk(fs.existsSync(path.dirname(file)))
})

tape('initial: without createFolder a missing folder is an error', async (t) => {
  const blocks = promises(BlockFile(newPath('folder', 'blocks'), { initial }))
  t.equal((await failureOf(blocks.ready)).code, 'ENOENT')
  await blocks.close()
})

tape('initial: what a crash left of an earlier attempt does no harm', async (t) => {
  const file = newPath('folder', 'blocks')
  fs.mkdirSync(path.dirname(file))
  fs.writeFileSync(`${file}.new`, Buffer.alloc(5000, 'old'))
  const blocks = promises(BlockFile(file, { initial }))
  await blocks.ready()
  await blocks.close()
  t.ok(fs.readFileSync(file).equals(HEAD))
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
})

tape('initial: after a crash at any moment the file has all of it, or is not there, or is as empty as it was', async (t) => {
  for (const wasEmpty of [false, true]) {
    const states = []
    const disk = new SimulatedDisk({ onChange: () => states.push(disk.clone()) })
    if (wasEmpty) disk.put(FILE, Buffer.alloc(0))
    const blocks = promises(BlockFile(FILE, { initial, storage: disk.storage }))
    await blocks.ready()
    t.ok(disk.crash(() => 0).read(FILE).equals(HEAD), 'once it is open it is durable')
    await blocks.close()
    const sizes = new Set()
    for (const state of states) {
      for (const pick of [() => 0, (count) => count - 1, (count) => Math.floor(count / 2), (count, what) => Number(what.startsWith('names'))]) {
        const after = state.crash((count, what) => Math.min(count - 1, pick(count, what)))
        const found = after.list().includes(FILE) ? after.read(FILE) : null
        if (found === null ? wasEmpty : found.length > 0 && !found.equals(HEAD)) t.fail(`${found?.length} bytes`)
        sizes.add(found === null ? 'missing' : found.length)
        const again = promises(BlockFile(FILE, { initial, storage: after.storage }))
        await again.ready()
        if (!after.crash(() => 0).read(FILE).equals(HEAD)) t.fail('the next open does not make it whole')
        await again.close()
      }
    }
    t.deepEqual(sizes, new Set([wasEmpty ? 0 : 'missing', HEAD.length]))
  }
})

tape('initial: every call that fails is reported, and the next open works', async (t) => {
  let failed = 0
  for (let failAt = 0; ; failAt++) {
    let count = 0
    const disk = new SimulatedDisk({ decide: () => count++ === failAt ? { code: 'EIO' } : {} })
    const blocks = promises(BlockFile(FILE, { initial, storage: disk.storage }))
    const err = await failureOf(blocks.ready)
    await failureOf(blocks.close)
    if (count <= failAt) break
    if (err) failed++
    if (err && err.code !== 'EIO') t.fail(`call ${failAt}: ${err.stack}`)
    const again = promises(BlockFile(FILE, { initial, storage: disk.storage }))
    await again.ready()
    await again.append(Buffer.from('after'))
    await again.sync()
    if (!disk.crash(() => 0).read(FILE).subarray(0, HEAD.length).equals(HEAD)) t.fail(`call ${failAt}: not whole afterwards`)
    await again.close()
  }
  t.ok(failed > 6, `${failed} calls`)
})

tape('initial: a symlink that leads to nothing stays, and gets what it leads to', { skip: process.platform === 'win32' }, async (t) => {
  const folder = temporaryFolder()
  fs.mkdirSync(path.join(folder, 'real'))
  fs.symlinkSync(path.join('real', 'file'), path.join(folder, 'link'))
  const blocks = promises(BlockFile(path.join(folder, 'link'), { initial }))
  await blocks.append(Buffer.from('more'))
  await blocks.sync()
  await blocks.close()
  t.ok(fs.lstatSync(path.join(folder, 'link')).isSymbolicLink())
  t.equal(fs.readFileSync(path.join(folder, 'real', 'file')).length, HEAD.length + 4)
  t.deepEqual(fs.readdirSync(path.join(folder, 'real')), ['file'])
})

tape('initial: who may read an empty file may read what replaces it', { skip: process.platform === 'win32' }, async (t) => {
  const file = newPath('blocks')
  fs.writeFileSync(file, '')
  fs.chmodSync(file, 0o640)
  const blocks = promises(BlockFile(file, { initial }))
  await blocks.ready()
  await blocks.close()
  t.equal(fs.statSync(file).mode & 0o777, 0o640)
  const error = Object.assign(new Error('bad disk'), { code: 'EIO' })
  fs.writeFileSync(file, '')
  const storage = { ...fileStorage, copyOwnership: (from, to, cb) => process.nextTick(cb, error) }
  const failing = promises(BlockFile(file, { initial, storage }))
  t.equal(await failureOf(failing.ready), error)
  await failing.close()
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
})

tape('initial: short writes are continued', async (t) => {
  const storage = faultyStorage(fileStorage, ({ name, length }) => name === 'write' ? { length: Math.ceil(length / 3) } : {})
  const file = newPath('folder', 'blocks')
  const blocks = promises(BlockFile(file, { initial, storage, createFolder: true }))
  await blocks.ready()
  await blocks.close()
  t.ok(fs.readFileSync(file).equals(HEAD))
})

tape('sync: the first one after opening makes the name durable, whoever made the file', async (t) => {
  let folderSyncs = 0
  let isBroken = true
  const disk = new SimulatedDisk({
    decide: ({ name }) => {
      if (name !== 'syncFolder') return {}
      folderSyncs++
      return isBroken ? { code: 'EIO' } : {}
    }
  })
  const maker = promises(BlockFile(FILE, { storage: disk.storage }))
  await maker.append(Buffer.from('made'))
  await maker.close()
  const { append, sync, close } = promises(BlockFile(FILE, { storage: disk.storage }))
  await append(Buffer.from(' by another'))
  t.equal((await failureOf(sync)).code, 'EIO', 'bytes under a name that may be lost are not durable')
  t.deepEqual(disk.crash(() => 0).list(), [])
  isBroken = false
  await sync()
  t.equal(String(disk.crash(() => 0).read(FILE)), 'made by another')
  t.equal(folderSyncs, 2)
  await append(Buffer.from('!'))
  await sync()
  t.equal(folderSyncs, 2, 'once is enough')
  await close()
})

tape('createFolder: the folder is there when the constructor has returned, for who puts other files into it', async (t) => {
  const file = newPath('a', 'b', 'blocks')
  const { ready, close } = promises(BlockFile(file, { createFolder: true }))
  t.ok(fs.statSync(path.dirname(file)).isDirectory())
  await ready()
  await close()
  const blocked = newPath('file')
  fs.writeFileSync(blocked, '')
  const failing = promises(BlockFile(path.join(blocked, 'blocks'), { createFolder: true }))
  t.ok(['ENOTDIR', 'EEXIST'].includes((await failureOf(failing.ready)).code), 'a failure comes through the callback')
})
