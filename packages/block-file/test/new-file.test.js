'use strict'
// A file that gets its bytes under another name, and its own name and handle later, without waiting.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { promisesOf } = require('@millrace/flow')
const { SimulatedDisk, failureOf, temporaryFolder, windowsStorage } = require('@millrace/testkit')
const { BlockFile, Folder, NewFile, fileStorage } = require('..')

const BYTES = Buffer.from('the first bytes')

/** The call that a new file needs for each step, in turn, fails. */
const steps = ['openSync', 'writeSync', 'syncSync', 'renameSync', 'reopen']

/** @returns {any} a storage on which one step fails */
function failingAt (step) {
  const fail = () => { throw Object.assign(new Error('EIO: planted'), { code: 'EIO' }) }
  return {
    ...fileStorage,
    openSync: (file, options) => {
      if (options.flags === 'r+' && step === (options.mustExist ? 'reopen' : 'openSync')) fail()
      const handle = fileStorage.openSync(file, options)
      return step in handle ? { ...handle, [step]: fail } : handle
    },
    ...(step === 'renameSync' && { renameSync: fail })
  }
}

for (const isPrepared of [true, false]) {
  const how = isPrepared ? 'prepared' : 'not prepared'
  tape(`new file, ${how}: has its bytes once it has its name, and is open at once`, async (t) => {
    const folder = temporaryFolder()
    const file = path.join(folder, 'file')
    const made = new NewFile(fileStorage, path.join(folder, 'other.new'), BYTES)
    t.ok(NewFile.isPossible(fileStorage, false))
    if (isPrepared) await made.prepare()
    t.deepEqual(fs.readdirSync(folder), isPrepared ? ['other.new'] : [])
    const blocks = BlockFile(file, { made, storage: fileStorage })
    t.deepEqual(fs.readdirSync(folder), ['file'])
    t.equal(blocks.size.value, BYTES.length, 'the size is known')
    await promisesOf(blocks).append(Buffer.from(', and more'))
    await promisesOf(blocks).sync()
    t.equal(String(await promisesOf(blocks).read(0, blocks.size.value)), 'the first bytes, and more')
    await promisesOf(blocks).close()
    t.equal(fs.readFileSync(file, 'utf8'), 'the first bytes, and more')
  })

  tape(`new file, ${how}: never takes the place of another one`, async (t) => {
    const folder = temporaryFolder()
    const file = path.join(folder, 'file')
    fs.writeFileSync(file, 'precious')
    const made = new NewFile(fileStorage, `${file}.new`, BYTES)
    if (isPrepared) await made.prepare()
    t.equal((await failureOf(() => BlockFile(file, { made })))?.code, 'EEXIST')
    t.equal(fs.readFileSync(file, 'utf8'), 'precious')
    await made.discard()
    await made.discard()
    t.deepEqual(fs.readdirSync(folder), ['file'])
  })
}

for (const step of steps) {
  tape(`new file: if ${step} fails, there is no file, and another attempt works`, async (t) => {
    const folder = temporaryFolder()
    const file = path.join(folder, 'file')
    const made = new NewFile(failingAt(step), `${file}.new`, BYTES)
    t.equal((await failureOf(() => made.openNow(file, false)))?.code, 'EIO')
    await made.discard()
    t.deepEqual(fs.readdirSync(folder), [])
    const { handle, size } = new NewFile(fileStorage, `${file}.new`, BYTES).openNow(file, false)
    t.equal(size, BYTES.length)
    await promisesOf(handle).close()
  })
}

tape('new file: a power cut leaves it whole, under one of its names, or leaves nothing', async (t) => {
  for (let at = 0, isDone = false; !isDone; at++) {
    const images = []
    const disk = new SimulatedDisk()
    disk.onChange = () => images.push(disk.clone({ onChange: null }))
    const { handle } = new NewFile(disk.storage, '/f/other.new', BYTES).openNow('/f/file', false)
    handle.syncSync()
    disk.storage.syncFolderSync('/f')
    images.push(disk.clone({ onChange: null }))
    isDone = at >= images.length - 1
    for (let pick = 0; pick < 4; pick++) {
      const after = images[at].crash((count) => pick % count)
      const files = after.list()
      t.ok(!files.includes('/f/file') || after.read('/f/file').equals(BYTES), `${at}, ${pick}: ${files}`)
      if (isDone) t.deepEqual(files, ['/f/file'])
    }
  }
})

tape('new file: the lock of its folder covers it; a folder that was replaced is not touched', async (t) => {
  const at = path.join(fs.realpathSync.native(temporaryFolder()), 'logs')
  const folder = new Folder(fileStorage, at)
  await folder.open({ createFolder: true, lock: true })
  t.ok(NewFile.isPossible(folder.storage, folder.lock))
  const first = new NewFile(folder.storage, path.join(at, 'a.new'), BYTES)
  const opened = first.openNow(path.join(at, 'a'), folder.lock)
  t.equal(opened.lock.kind, folder.lock.kind)
  t.ok(opened.lock.isOfFolder)
  t.ok(opened.handle.isAtSync(path.join(at, 'a')))
  const second = new NewFile(folder.storage, path.join(at, 'b.new'), BYTES)
  await second.prepare()
  fs.renameSync(at, `${at}.moved`)
  fs.mkdirSync(at)
  t.notOk(opened.handle.isAtSync(path.join(at, 'a')))
  t.equal((await failureOf(() => second.openNow(path.join(at, 'b'), folder.lock)))?.code, 'ERR_FILE_MOVED')
  t.deepEqual(fs.readdirSync(at), [])
  await promisesOf(opened.handle).close()
  await folder.close()
})

tape('new file: not possible where open files keep their names, or calls are missing', async (t) => {
  t.notOk(NewFile.isPossible(windowsStorage(fileStorage), false))
  t.notOk(NewFile.isPossible({ ...fileStorage, replacesOpenFiles: false }, false))
  t.notOk(NewFile.isPossible(fileStorage, true), 'a lock of its own takes waiting')
  for (const name of ['openSync', 'renameSync', 'unlinkSync', 'syncFolderSync']) {
    const { [name]: missing, ...storage } = fileStorage
    t.notOk(NewFile.isPossible(storage, false), name)
  }
})
