'use strict'
// The one real storage, where the file system fails or is another one.

const fs = require('node:fs')
const { promisify } = require('node:util')
const tape = require('tape')
const { failureOf, newPath, temporaryFolder } = require('@millrace/testkit')
const { fileStorage } = require('..')

const open = promisify(fileStorage.open)

tape('storage: a folder that cannot be synced is an error, a missing one too', async (t) => {
  const syncFolder = promisify(fileStorage.syncFolder)
  await syncFolder(temporaryFolder())
  t.equal((await failureOf(() => syncFolder(newPath('missing')))).code, 'ENOENT')
  const error = Object.assign(new Error('bad disk'), { code: 'EIO' })
  const { fsync, fsyncSync } = fs
  fs.fsync = (fd, cb) => process.nextTick(cb, error)
  fs.fsyncSync = () => { throw error }
  try {
    t.equal(await failureOf(() => syncFolder(temporaryFolder())), error)
    const file = newPath('new', 'newer', 'file')
    t.equal(await failureOf(() => open(file, { flags: 'r+', createFolder: true })), error, 'nor is a folder made then')
  } finally {
    Object.assign(fs, { fsync, fsyncSync })
  }
})

tape('storage: on Windows, where folders cannot be synced, nothing is done', async (t) => {
  const { platform } = process
  Object.defineProperty(process, 'platform', { value: 'win32' })
  try {
    await promisify(fileStorage.syncFolder)(newPath('missing'))
    t.pass('no error')
  } finally {
    Object.defineProperty(process, 'platform', { value: platform })
  }
})

tape('storage: a handle that is closed fails with a code', async (t) => {
  const handle = await open(newPath('file'), { flags: 'r+', createFolder: false })
  await promisify(handle.close)()
  for (const name of ['size', 'sync']) t.equal((await failureOf(() => promisify(handle[name])())).code, 'EBADF')
})
