'use strict'
// One writer: who opens a locked file a second time fails at once and learns why; who only reads needs no lock.

const fs = require('node:fs')
const path = require('node:path')
const { promisify } = require('node:util')
const tape = require('tape')
const { failureOf, faultyStorage, newPath, temporaryFolder } = require('@millrace/testkit')
const { BlockFile, fileStorage } = require('..')
const { Holder } = require('./lock-holder')
const { promises } = require('./open-blocks')

const IS_WINDOWS = process.platform === 'win32'
const EIO = Object.assign(new Error('bad disk'), { code: 'EIO' })

// Without the symlinks that lead to temporary folders on some systems.
const newFolder = temporaryFolder
const lockedOpen = (file, options) => promises(BlockFile(file, { lock: true, cache: 0, ...options }))
const readLock = (file) => JSON.parse(fs.readFileSync(`${file}.lock`, 'utf8'))

/** Opens and closes; fails as opening does. */
async function visit (file, options) {
  const blocks = lockedOpen(file, options)
  try {
    await blocks.ready()
  } finally {
    await blocks.close()
  }
}

tape('lock: a second open in the same process fails at once, until the first is closed', async (t) => {
  const file = newPath('blocks')
  const first = lockedOpen(file)
  await first.append(Buffer.from('one'))
  const second = lockedOpen(file)
  const err = await failureOf(second.ready)
  t.equal(err.code, 'ERR_LOG_LOCKED')
  t.equal(err.path, file)
  t.equal(err.holder.pid, process.pid)
  t.equal(err.holder.host, readLock(file).host)
  t.match(err.message, /is open for writing, by this process \(\d+\) on .+, since 20.+; close it there, or open it with flags "r"/)
  t.equal((await failureOf(() => second.append(Buffer.from('lost')))).code, 'ERR_LOG_LOCKED', 'so does every call')
  await second.close()
  t.ok(fs.existsSync(`${file}.lock`), 'who failed to open does not take the lock away')
  await first.append(Buffer.from('two'))
  await first.close()
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'], 'close leaves nothing')
  await visit(file)
  t.equal(fs.readFileSync(file, 'utf8'), 'onetwo')
})

for (const kind of ['process', 'thread']) {
  tape(`lock: it keeps out another ${kind}, and is kept by one`, async (t) => {
    const file = newPath('blocks')
    const other = new Holder(kind)
    const blocks = lockedOpen(file)
    await blocks.ready()
    const refused = await other.open(file)
    t.equal(refused.code, 'ERR_LOG_LOCKED')
    t.equal(refused.holder.pid, process.pid)
    t.ok(refused.message.includes(String(process.pid)), refused.message)
    await blocks.close()
    t.equal((await other.open(file)).code, 'none')
    const err = await failureOf(() => visit(file))
    t.equal(err.code, 'ERR_LOG_LOCKED')
    t.equal(err.holder.pid, other.pid)
    if (process.platform === 'linux') {
      t.match(err.message, kind === 'process' ? /, by process \d+ on / : /, by thread \d+ of this process \(\d+\) on /)
    }
    t.equal((await other.close()).code, 'none')
    await visit(file)
    await other.kill()
  })

  // Elsewhere a thread that is gone cannot be told from its process, which is there.
  const canBeSeen = kind === 'process' || process.platform === 'linux'
  tape(`lock: that of a ${kind} that was killed is taken over`, { skip: !canBeSeen }, async (t) => {
    const file = newPath('blocks')
    const other = new Holder(kind)
    t.equal((await other.open(file)).code, 'none')
    const before = readLock(file)
    await other.kill()
    t.deepEqual(readLock(file), before, 'it has left its lock')
    const blocks = lockedOpen(file)
    await blocks.ready()
    t.notEqual(readLock(file).nonce, before.nonce)
    t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks', 'blocks.lock'])
    await blocks.close()
    t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
  })
}

tape('lock: symlinks lead to the same lock, also those to what is not there yet', { skip: IS_WINDOWS }, async (t) => {
  const folder = newFolder()
  fs.mkdirSync(path.join(folder, 'real'))
  fs.symlinkSync('real', path.join(folder, 'linked'))
  fs.symlinkSync(path.join('linked', 'blocks'), path.join(folder, 'link'))
  fs.symlinkSync('link', path.join(folder, 'link to link'))
  const real = path.join(folder, 'real', 'blocks')
  const names = [real, path.join(folder, 'linked', 'blocks'), path.join(folder, 'link'), path.join(folder, 'link to link'),
    path.relative(process.cwd(), real), path.join(folder, 'real', '..', 'real', 'blocks')]
  for (const isThere of [false, true]) {
    for (const first of names) {
      if (!isThere) fs.rmSync(real, { force: true })
      const blocks = lockedOpen(first, { initial: () => Buffer.from('head') })
      await blocks.ready()
      t.equal(blocks.blocks.realPath, real)
      for (const second of names) {
        if ((await failureOf(() => visit(second)))?.code !== 'ERR_LOG_LOCKED') t.fail(`${second} after ${first}`)
      }
      await blocks.close()
      t.equal(fs.readFileSync(real, 'utf8'), 'head', 'what a link leads to is made')
      t.deepEqual(fs.readdirSync(folder), ['link', 'link to link', 'linked', 'real'], 'beside it, not beside the link')
      t.ok(fs.lstatSync(path.join(folder, 'link')).isSymbolicLink())
      t.deepEqual(fs.readdirSync(path.join(folder, 'real')), ['blocks'])
    }
  }
})

tape('lock: is taken before anything is made or changed', async (t) => {
  const folder = path.join(newFolder(), 'new')
  const file = path.join(folder, 'blocks')
  const blocks = lockedOpen(file, { createFolder: true })
  await blocks.ready()
  fs.rmSync(file)
  const initial = () => Buffer.from('head')
  t.equal((await failureOf(() => visit(file, { createFolder: true, initial }))).code, 'ERR_LOG_LOCKED')
  t.deepEqual(fs.readdirSync(folder), ['blocks.lock'], 'no file')
  fs.writeFileSync(file, '')
  t.equal((await failureOf(() => visit(file, { initial }))).code, 'ERR_LOG_LOCKED')
  t.equal(fs.readFileSync(file, 'utf8'), '', 'nor is an empty one replaced')
  await blocks.close()
})

tape('lock: flags "r" need none and make none', async (t) => {
  const file = newPath('blocks')
  const writer = lockedOpen(file)
  await writer.append(Buffer.from('some'))
  const before = fs.readdirSync(path.dirname(file))
  const reader = lockedOpen(file, { flags: 'r' })
  t.equal(String(await reader.read(0, 4)), 'some', 'beside a writer')
  t.deepEqual(fs.readdirSync(path.dirname(file)), before)
  await writer.close()
  await reader.close()
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
  const missing = path.join(path.dirname(file), 'missing', 'blocks')
  t.equal((await failureOf(() => visit(missing, { flags: 'r', createFolder: true }))).code, 'ENOENT')
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
})

tape('lock: is an option; without it nothing is locked', async (t) => {
  const file = newPath('blocks')
  const blocks = promises(BlockFile(file))
  await blocks.ready()
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
  await visit(file)
  await blocks.close()
  t.throws(() => BlockFile(file, { lock: 'yes' }), { code: 'ERR_INVALID_ARGUMENT' })
})

tape('lock: is given back when opening fails', async (t) => {
  for (const failing of ['open', 'size', 'noteFile']) {
    const file = newPath('blocks')
    const storage = faultyStorage(fileStorage, ({ name }) => name === failing ? { error: EIO } : {})
    t.equal(await failureOf(() => visit(file, { storage })), EIO, failing)
    await visit(file)
    t.notOk(fs.existsSync(`${file}.lock`))
  }
  const folder = newFolder()
  t.equal((await failureOf(() => visit(folder))).code, 'EISDIR')
  t.notOk(fs.existsSync(`${folder}.lock`))
  const file = newPath('blocks')
  const initial = () => { throw EIO }
  t.ok(await failureOf(() => visit(path.join(file, 'blocks'), { createFolder: false })), 'a missing folder')
  t.equal(await failureOf(() => visit(file, { initial })), EIO)
  t.notOk(fs.existsSync(`${file}.lock`), 'also when the caller throws')
})

tape('lock: when it cannot be taken or given back, that is told', async (t) => {
  const file = newPath('blocks')
  const cannotLock = faultyStorage(fileStorage, ({ name }) => name === 'lock' ? { error: EIO } : {})
  t.equal(await failureOf(() => visit(file, { storage: cannotLock })), EIO)
  t.notOk(fs.existsSync(file), 'and nothing is made')
  const cannotRelease = faultyStorage(fileStorage, ({ name }) => name === 'release' ? { error: EIO } : {})
  const blocks = lockedOpen(file, { storage: cannotRelease })
  await blocks.ready()
  t.equal(await failureOf(blocks.close), EIO)
})

tape('lock: a storage that has none does without', async (t) => {
  const { lock, realPath, ...storage } = fileStorage
  t.ok(lock && realPath)
  const file = newPath('blocks')
  const blocks = lockedOpen(file, { storage })
  await blocks.ready()
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
  await blocks.close()
})

tape('lock: says which file it is about, once that is there and is not replaced', async (t) => {
  const file = newPath('blocks')
  const identity = () => {
    const { dev, ino } = fs.statSync(file, { bigint: true })
    return { path: file, device: String(dev), inode: String(ino) }
  }
  const head = Buffer.from('head')
  const blocks = lockedOpen(file, { initial: () => head })
  await blocks.ready()
  t.deepEqual(readLock(file).file, identity(), 'a new one')
  const { nonce } = readLock(file)
  fs.writeFileSync(`${file}.other`, 'other')
  await promisify(blocks.blocks.replaceWith.bind(blocks.blocks))(`${file}.other`)
  t.deepEqual(readLock(file).file, identity(), 'one that took its place')
  t.equal(readLock(file).nonce, nonce)
  await blocks.close()
  const broken = lockedOpen(file, { storage: faultyStorage(fileStorage, ({ name }) => name === 'forgetFile' ? { error: EIO } : {}) })
  await broken.ready()
  fs.writeFileSync(`${file}.other`, 'another')
  t.equal(await failureOf(() => promisify(broken.blocks.replaceWith.bind(broken.blocks))(`${file}.other`)), EIO)
  t.equal(fs.readFileSync(file, 'utf8'), 'other', 'nothing takes its place while the lock says that it is this one')
  await broken.close()
  const again = lockedOpen(file)
  await again.ready()
  t.deepEqual(readLock(file).file, identity(), 'one that was there')
  await again.close()
  fs.writeFileSync(file, '')
  const empty = lockedOpen(file)
  await empty.ready()
  t.deepEqual(readLock(file).file, identity(), 'an empty one, which nobody replaces now')
  await empty.close()
})

tape('lock: others may see who has it, though not what is in the file', { skip: IS_WINDOWS }, async (t) => {
  const file = newPath('blocks')
  const blocks = lockedOpen(file)
  await blocks.ready()
  t.equal(fs.statSync(file).mode & 0o777, 0o600)
  t.equal(fs.statSync(`${file}.lock`).mode & 0o444, 0o444 & ~process.umask())
  await blocks.close()
})

tape('lock: many at once in one process: one gets it', async (t) => {
  const file = newPath('blocks')
  for (let round = 0; round < 20; round++) {
    const all = Array.from({ length: 8 }, () => lockedOpen(file))
    const errors = await Promise.all(all.map(({ ready }) => failureOf(ready)))
    if (errors.filter((err) => err === null).length !== 1) t.fail(`round ${round}: ${errors.map(String)}`)
    if (errors.some((err) => err && err.code !== 'ERR_LOG_LOCKED')) t.fail(`round ${round}: ${errors.map(String)}`)
    await Promise.all(all.map(({ close }) => close()))
  }
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
})

tape('lock: what fails names the record by its folder, and not by the descriptor that reaches it', { skip: IS_WINDOWS }, async (t) => {
  const folder = newFolder()
  // The record's name is too long: its file cannot be made.
  const file = path.join(folder, 'a'.repeat(250))
  const lock = promisify(fileStorage.lock)
  const err = await failureOf(() => lock(file, { createFolder: false }))
  t.equal(err.code, 'ENAMETOOLONG')
  t.ok(err.path.startsWith(`${file}.lock`), err.path)
  t.ok(err.message.includes(`${file}.lock`), err.message)
  t.notOk(err.message.includes('/proc/'), 'a path of the caller')
})
