'use strict'
// A folder that is opened once: whatever its path leads to later, nothing is changed there, and whoever has it open is
// told. Each way of losing a folder meets each call that changes names.

const { execFileSync, spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { promisesOf } = require('@millrace/flow')
const { failureOf, temporaryFolder } = require('@millrace/testkit')
const { BlockFile, Folder, LOCK_FILE, fileStorage } = require('..')
const { promises } = require('./open-blocks')
const { recordStorage } = require('./record-storage')

const SEGMENT = '0000000000000000-20260101T000000000Z.log'
const OWN = { a: 'own a', b: 'own b' }
const OTHER = { a: 'other a', b: 'other b', c: 'other c' }
const CAN_MOUNT = process.platform === 'linux' && spawnSync('unshare', ['-m', 'true']).status === 0 && process.getuid() === 0

function fill (folder, files) {
  fs.mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, name), text)
}

/** What is in a folder; the files of the lock are left out. */
function contents (folder) {
  const names = fs.readdirSync(folder).filter((name) => !name.startsWith(LOCK_FILE))
  return Object.fromEntries(names.map((name) => [name, fs.readFileSync(path.join(folder, name), 'utf8')]))
}

/** Each makes another folder appear at a path, and returns where the first one is now; null if it is gone. */
const misfortunes = {
  'moved away, and another put in its place': (at) => {
    fs.renameSync(at, `${at}.old`)
    fill(at, OTHER)
    return `${at}.old`
  },
  'removed, and made anew': (at) => {
    fs.rmSync(at, { recursive: true })
    fill(at, OTHER)
    return null
  },
  'replaced by a link to another': (at) => {
    fs.renameSync(at, `${at}.old`)
    fill(`${at}.other`, OTHER)
    fs.symlinkSync(`${at}.other`, at)
    return `${at}.old`
  },
  'below a link that leads elsewhere': (at) => {
    const link = path.dirname(at)
    const before = fs.realpathSync(at)
    fill(path.join(`${link}.release`, path.basename(at)), OTHER)
    fs.unlinkSync(link)
    fs.symlinkSync(`${link}.release`, link)
    return before
  },
  'moved away, with nothing in its place': (at) => {
    fs.renameSync(at, `${at}.old`)
    return `${at}.old`
  },
  'replaced by a file': (at) => {
    fs.renameSync(at, `${at}.old`)
    fs.writeFileSync(at, 'a file')
    return `${at}.old`
  }
}
if (CAN_MOUNT) {
  misfortunes['covered by a mount'] = (at, t) => {
    fill(`${at}.other`, OTHER)
    execFileSync('mount', ['--bind', `${at}.other`, at])
    t.teardown(() => execFileSync('umount', [at]))
    return null
  }
}

const inFolder = (at) => (name) => path.join(at, name)
const changes = {
  open: (storage, of) => promisesOf(storage).open(of('new'), { flags: 'r+', createFolder: true }),
  openSync: async (storage, of) => storage.openSync(of('new'), { flags: 'r+', createFolder: false }),
  rename: (storage, of) => promisesOf(storage).rename(of('a'), of('b')),
  renameSync: async (storage, of) => storage.renameSync(of('a'), of('b')),
  unlink: (storage, of) => promisesOf(storage).unlink(of('a')),
  unlinkSync: async (storage, of) => storage.unlinkSync(of('a')),
  syncFolder: (storage, of) => promisesOf(storage).syncFolder(path.dirname(of('a'))),
  syncFolderSync: async (storage, of) => storage.syncFolderSync(path.dirname(of('a'))),
  makeFolderSync: async (storage, of) => storage.makeFolderSync(of('inner/a'))
}

/** Without paths through an open folder, as outside Linux. */
const unreached = {
  ...fileStorage,
  openFolder: (folder, cb) => fileStorage.openFolder(folder, (err, handle) => {
    cb(err, handle && { ...handle, reach: null })
  })
}

/** Below a link, so that the link can be switched. */
function newFolder () {
  const root = fs.realpathSync.native(temporaryFolder())
  fs.mkdirSync(path.join(root, 'first'))
  fs.symlinkSync('first', path.join(root, 'current'))
  const at = path.join(root, 'current', 'logs')
  fill(at, OWN)
  return at
}

for (const [what, strike] of Object.entries(misfortunes)) {
  for (const [how, storage] of Object.entries({ 'through the open folder': fileStorage, 'by path': unreached })) {
    tape(`folder: ${what}: nothing is changed ${how}, and each call says so`, { skip: process.platform === 'win32' }, async (t) => {
      const at = newFolder()
      const folder = new Folder(storage, at)
      await folder.open({ lock: true })
      const real = fs.realpathSync.native(at)
      const before = strike(at, t)
      const other = fs.existsSync(at) && fs.statSync(at).isDirectory() ? contents(at) : null
      for (const [name, change] of Object.entries(changes)) {
        for (const base of [at, real]) {
          const err = await failureOf(() => change(folder.storage, inFolder(base)))
          t.equal(err?.code, 'ERR_FILE_MOVED', `${name} in ${base === at ? 'the given path' : 'the real one'}`)
          t.ok(err?.message.includes(at), 'it names the folder')
        }
      }
      t.equal((await failureOf(() => folder.prove()))?.code, 'ERR_FILE_MOVED')
      if (other !== null) t.deepEqual(contents(at), other, 'the other folder is as it was')
      if (before !== null) t.deepEqual(contents(before), OWN, 'and so is this one')
      await folder.close().catch(() => {})
      if (other !== null) t.deepEqual(fs.readdirSync(at).sort(), Object.keys(other).sort(), 'no record was made there')
      if (before !== null && storage === fileStorage) t.notOk(fs.existsSync(path.join(before, `${LOCK_FILE}.lock`)), 'the lock is released')
      const again = new Folder(storage, at)
      if (other !== null) {
        await again.open({ lock: true })
        await again.close()
        t.pass('the other one can be opened')
      }
    })
  }
}

tape('folder: once lost, it stays lost', async (t) => {
  const at = newFolder()
  const folder = new Folder(fileStorage, at)
  await folder.open()
  fs.renameSync(at, `${at}.old`)
  t.equal((await failureOf(() => folder.prove()))?.code, 'ERR_FILE_MOVED')
  fs.renameSync(`${at}.old`, at)
  t.equal((await failureOf(() => folder.prove()))?.code, 'ERR_FILE_MOVED', 'nobody knows what happened meanwhile')
  await folder.close()
})

tape('folder: what is not lost works, and a failure names the file by its path', async (t) => {
  for (const storage of [fileStorage, unreached]) {
    const at = newFolder()
    const folder = new Folder(storage, at)
    await folder.open({ lock: true })
    t.deepEqual((await promisesOf(folder.storage).listFolder(at)).filter((name) => !name.startsWith(LOCK_FILE)).sort(), ['a', 'b'])
    t.equal(await promisesOf(folder.storage).fileSize(path.join(at, 'a')), fs.statSync(path.join(at, 'a')).size)
    t.ok(await promisesOf(folder.storage).freeSize(at) > 0)
    for (const change of Object.values(changes)) {
      const result = await change(folder.storage, inFolder(at))
      if (result) await promisesOf(result).close()
      fill(at, OWN)
    }
    const err = await failureOf(() => promisesOf(folder.storage).unlink(path.join(at, 'missing')))
    t.equal(err.code, 'ENOENT')
    t.equal(err.path, path.join(at, 'missing'))
    t.ok(err.message.includes(path.join(at, 'missing')), err.message)
    await folder.close()
  }
})

tape('folder: one writer at a time, in this process and however it is opened', async (t) => {
  for (const storage of [fileStorage, recordStorage]) {
    const at = path.join(newFolder(), 'made')
    t.equal((await failureOf(() => new Folder(storage, at).open({ lock: true })))?.code, 'ENOENT')
    const folder = new Folder(storage, at)
    await folder.open({ lock: true, createFolder: true })
    const second = await failureOf(() => new Folder(storage, at).open({ lock: true }))
    t.equal(second?.code, 'ERR_LOG_LOCKED')
    t.equal(second?.holder?.pid, process.pid)
    const file = path.join(at, SEGMENT)
    const initial = () => Buffer.from('some')
    const alone = promises(BlockFile(file, { storage, lock: true, initial }))
    t.equal((await failureOf(alone.ready))?.code, 'ERR_LOG_LOCKED', 'a segment of it')
    t.notOk(fs.existsSync(file), 'nothing is made')
    const member = promises(BlockFile(file, { storage: folder.storage, lock: folder.lock, initial }))
    await member.append(Buffer.from('more'))
    await member.close()
    t.notOk(fs.existsSync(`${file}.lock`), 'it has no lock of its own')
    t.equal((await failureOf(() => new Folder(storage, at).open({ lock: true })))?.code, 'ERR_LOG_LOCKED', 'and releases none')
    await folder.close()
    const later = promises(BlockFile(file, { storage, lock: true }))
    await later.ready()
    t.equal((await failureOf(() => new Folder(storage, at).open({ lock: true })))?.code, 'ERR_LOG_LOCKED', 'a segment locks its folder')
    await later.close()
    t.deepEqual(fs.readdirSync(at).sort(), [SEGMENT, LOCK_FILE].sort())
  }
})

tape('folder: moved while its lock is being taken: the error says so, at once', async (t) => {
  for (const storage of [fileStorage, recordStorage]) {
    const at = path.join(newFolder(), 'made')
    fs.mkdirSync(at)
    const moving = (file, options, cb) => storage.open(file, options, (err, handle) => {
      if (handle && options.flags === 'r+' && fs.existsSync(at)) fs.renameSync(at, `${at}.old`)
      cb(err, handle)
    })
    const began = performance.now()
    const folder = new Folder({ ...storage, open: moving }, at)
    const failure = await failureOf(() => folder.open({ lock: true, lockTimeout: 600_000 }))
    t.equal(failure?.code, 'ERR_FILE_MOVED')
    t.ok(performance.now() - began < 300_000)
    t.notOk(fs.existsSync(at), 'nothing is made')
    t.notOk(fs.readdirSync(`${at}.old`).some((name) => name.endsWith('.lock')), 'no lock is left')
  }
})

tape('folder: a segment that lies alone is locked, and nothing is left beside it', async (t) => {
  for (const storage of [fileStorage, recordStorage]) {
    const file = path.join(newFolder(), 'alone', SEGMENT)
    const open = (more) => promises(BlockFile(file, { storage, lock: true, createFolder: true, ...more }))
    const first = open()
    await first.append(Buffer.from('some'))
    t.equal((await failureOf(open().ready))?.code, 'ERR_LOG_LOCKED')
    await first.close()
    t.deepEqual(fs.readdirSync(path.dirname(file)), [SEGMENT])
    fs.unlinkSync(file)
    t.equal((await failureOf(open({ mustExist: true }).ready))?.code, 'ENOENT')
    t.deepEqual(fs.readdirSync(path.dirname(file)), [])
  }
})

tape('folder: a path within one that is open is proven, too', async (t) => {
  const at = newFolder()
  const outer = new Folder(fileStorage, at)
  await outer.open()
  const inner = new Folder(outer.storage, path.join(at, '0'))
  await inner.open({ createFolder: true, lock: true })
  fs.renameSync(at, `${at}.old`)
  fill(path.join(at, '0'), OTHER)
  t.equal((await failureOf(() => promisesOf(inner.storage).unlink(path.join(at, '0', 'a'))))?.code, 'ERR_FILE_MOVED')
  const late = new Folder(outer.storage, path.join(at, '1'))
  t.equal((await failureOf(() => late.open({ createFolder: true, lock: true })))?.code, 'ERR_FILE_MOVED')
  t.deepEqual(contents(path.join(at, '0')), OTHER)
  await inner.close()
  await outer.close()
  t.deepEqual(fs.readdirSync(at), ['0'])
})
