'use strict'
// The lock that the kernel holds on the file itself: no path, namespace or container gets around it, and a process that
// has ended does not keep it.

const { execFileSync, spawn, spawnSync } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { setTimeout: wait } = require('node:timers/promises')
const tape = require('tape')
const { failureOf, newPath, temporaryFolder } = require('@millrace/testkit')
const { BlockFile, fileStorage } = require('..')
const { thisThread } = require('../lib/lock/liveness')
const { Holder } = require('./lock-holder')
const { promises } = require('./open-blocks')
const { recordStorage } = require('./record-storage')

const HAS_FLOCK = process.platform === 'linux' && spawnSync('flock', ['--version']).error === undefined
const skip = !HAS_FLOCK && 'there is no program flock here'
const skipUnlessRoot = skip || (spawnSync('unshare', ['-pfm', 'true']).status !== 0 && 'needs root, and unshare')
const newFolder = temporaryFolder
const lockedOpen = (file, options) => promises(BlockFile(file, { lock: true, cache: 0, ...options }))
const readLock = (file) => JSON.parse(fs.readFileSync(`${file}.lock`, 'utf8'))
const leave = (lockPath, record) => fs.writeFileSync(lockPath, typeof record === 'string' ? record : JSON.stringify(record))

/** A record as this thread would write it, but for the changes. */
function recordOf (file, changes) {
  const since = '2020-01-01T00:00:00.000Z'
  return { ...thisThread(), file: { path: file, device: null, inode: null }, since, nonce: '0123456789abcdef', ...changes }
}

function identityOf (file) {
  const { dev, ino } = fs.statSync(file, { bigint: true })
  return { path: file, device: String(dev), inode: String(ino) }
}

/** @returns {Promise<string>}  the code of the failure, or `none` */
async function codeOfOpening (file, options) {
  const blocks = lockedOpen(file, options)
  const err = await failureOf(blocks.ready)
  await blocks.close().catch(() => {})
  return err === null ? 'none' : err.code ?? String(err)
}

tape('kernel lock: one that another is slow to make is refused at once, and says by whom', { skip }, async (t) => {
  const file = newPath('blocks')
  let isReached
  const reached = new Promise((resolve) => { isReached = resolve })
  let rename
  const holdRename = (...args) => {
    rename = () => fileStorage.rename(...args)
    isReached()
  }
  const slowly = { ...fileStorage, rename: holdRename }
  const making = lockedOpen(file, { storage: slowly, initial: () => Buffer.from('made') })
  const made = making.ready()
  await reached
  const err = await failureOf(lockedOpen(file, { initial: () => Buffer.from('other') }).ready)
  t.equal(err.code, 'ERR_LOG_LOCKED')
  t.equal(err.holder?.pid, process.pid, err.message)
  rename()
  await made
  t.equal(String(fs.readFileSync(file)), 'made')
  await making.close()
})

tape('kernel lock: is in force, and says so', { skip }, async (t) => {
  const file = newPath('blocks')
  const blocks = lockedOpen(file)
  await blocks.ready()
  t.deepEqual(blocks.blocks.lock, { kind: 'kernel', blindSpot: null })
  t.equal(readLock(file).lock, 'kernel')
  await blocks.close()
  const byRecord = lockedOpen(file, { storage: recordStorage })
  await byRecord.ready()
  t.equal(byRecord.blocks.lock.kind, 'file')
  t.match(byRecord.blocks.lock.blindSpot, /another path/)
  await byRecord.close()
  const reader = lockedOpen(file, { flags: 'r' })
  await reader.ready()
  t.deepEqual(reader.blocks.lock, { kind: 'none', blindSpot: null })
  await reader.close()
})

tape('kernel lock: without its record too, a second open is refused: here, in a thread, in a process', { skip }, async (t) => {
  const file = newPath('blocks')
  const blocks = lockedOpen(file)
  await blocks.ready()
  fs.rmSync(`${file}.lock`)
  t.equal(await codeOfOpening(file), 'ERR_LOG_LOCKED')
  for (const kind of ['thread', 'process']) {
    const other = new Holder(kind)
    const { code, message } = await other.open(file)
    t.equal(code, 'ERR_LOG_LOCKED', kind)
    t.match(message, /the kernel holds a lock on it, and no record beside it says for whom/)
    await other.kill()
  }
  await blocks.close()
  t.equal(await codeOfOpening(file), 'none')
})

tape('kernel lock: two paths to one file: a hard link, and a new name', { skip }, async (t) => {
  const file = newPath('blocks')
  const blocks = lockedOpen(file)
  await blocks.append(Buffer.from('some'))
  fs.linkSync(file, `${file}-linked`)
  t.equal(await codeOfOpening(`${file}-linked`), 'ERR_LOG_LOCKED')
  t.notOk(fs.existsSync(`${file}-linked.lock`))
  fs.unlinkSync(`${file}-linked`)
  fs.renameSync(file, `${file}-renamed`)
  t.equal(await codeOfOpening(`${file}-renamed`), 'ERR_LOG_LOCKED')
  fs.renameSync(`${file}-renamed`, file)
  await blocks.close()
  t.equal(await codeOfOpening(file), 'none')
})

tape('kernel lock: two paths to one file: a bind mount of the file', { skip: skipUnlessRoot }, async (t) => {
  const file = newPath('blocks')
  const other = path.join(newFolder(), 'other')
  fs.writeFileSync(file, 'some')
  fs.writeFileSync(other, '')
  execFileSync('mount', ['--bind', file, other])
  try {
    const blocks = lockedOpen(file)
    await blocks.ready()
    t.equal(await codeOfOpening(other), 'ERR_LOG_LOCKED')
    await blocks.close()
    t.equal(await codeOfOpening(other), 'none')
    const through = lockedOpen(other)
    await through.ready()
    t.equal(await codeOfOpening(file), 'ERR_LOG_LOCKED')
    await through.close()
  } finally {
    execFileSync('umount', [other])
  }
})

tape('kernel lock: a holder that is stopped keeps it, one that was killed does not', { skip }, async (t) => {
  const file = newPath('blocks')
  const holder = new Holder('process')
  await holder.open(file)
  process.kill(holder.pid, 'SIGSTOP')
  t.equal(await codeOfOpening(file), 'ERR_LOG_LOCKED')
  process.kill(holder.pid, 'SIGKILL')
  t.equal(await codeOfOpening(file, { lockTimeout: 20_000 }), 'none')
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
})

/** A program that opens a log file, in a pid and mount namespace of its own, and ends as it is told. */
const PROGRAM = `
  const { BlockFile, fileStorage } = require(${JSON.stringify(require.resolve('..'))})
  const { recordStorage } = require(${JSON.stringify(require.resolve('./record-storage'))})
  const [file, end, isByRecord] = process.argv.slice(1)
  const blocks = BlockFile(file, { lock: true, storage: isByRecord === 'record' ? recordStorage : fileStorage })
  blocks.ready((err) => {
    console.log(err ? err.code : 'open')
    if (err || end === 'stays') return
    if (end === 'is killed') setInterval(() => {}, 1000)
    if (end === 'exits') process.exit()
  })
  if (end === 'stays') setInterval(() => {}, 1000)
`

/** @returns {Promise<string>}  what it has printed */
async function runInNamespace (file, end, lock = '') {
  const args = ['-pf', '--kill-child', '--mount-proc', process.execPath, '-e', PROGRAM, file, end, lock]
  const child = spawn('unshare', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const hasEnded = once(child, 'exit')
  const [text] = await once(child.stdout, 'data')
  const program = childOf(child.pid)
  if (end === 'is killed') child.kill('SIGKILL')
  await hasEnded
  // The program dies with `unshare`, but after it: on a busy machine some hundred ms later.
  for (let round = 0; round < 1000 && runs(program); round++) await wait(10)
  return String(text).trim()
}

/** @returns {string}  the pid of the process that another one has started, as seen from here; empty if it has ended */
function childOf (pid) {
  return readProc(`${pid}/task/${pid}/children`).trim()
}

/**
 * A process that has ended stays as a zombie until its parent asks for its status. Its other threads
 * may end after its first.
 */
function runs (pid) {
  return pid !== '' && tasksOf(pid).some((task) => /^\d+ \(.*\) [^ZX]/s.test(readProc(`${pid}/task/${task}/stat`)))
}

function tasksOf (pid) {
  try {
    return fs.readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** @returns {string}  empty if there is no such file any more */
function readProc (name) {
  try {
    return fs.readFileSync(`/proc/${name}`, 'latin1')
  } catch {
    return ''
  }
}

for (const end of ['ends by itself', 'exits', 'is killed']) {
  tape(`kernel lock: in a container, one that ${end} without close keeps nobody out`, { skip: skipUnlessRoot }, async (t) => {
    const file = newPath('blocks')
    for (let round = 0; round < 3; round++) t.equal(await runInNamespace(file, end), 'open')
    t.equal(await codeOfOpening(file, { lockTimeout: 20_000 }), 'none')
  })

  tape(`record: in a container without flock, one that ${end} without close keeps nobody out`, { skip: skipUnlessRoot }, async (t) => {
    const file = newPath('blocks')
    for (let round = 0; round < 3; round++) t.equal(await runInNamespace(file, end, 'record'), 'open')
    t.equal(await codeOfOpening(file, { storage: recordStorage, lockTimeout: 20_000 }), 'none')
    t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
  })
}

for (const lock of ['kernel', 'record']) {
  tape(`${lock}: a holder in another container keeps others out`, { skip: skipUnlessRoot }, async (t) => {
    const file = newPath('blocks')
    const holder = spawn('unshare', ['-pf', '--kill-child', '--mount-proc', process.execPath, '-e', PROGRAM, file, 'stays', lock])
    await once(holder.stdout, 'data')
    t.equal(await codeOfOpening(file), 'ERR_LOG_LOCKED')
    t.equal(await codeOfOpening(file, { storage: recordStorage }), 'ERR_LOG_LOCKED')
    t.equal(await runInNamespace(file, 'exits'), 'ERR_LOG_LOCKED', 'from a third')
    t.equal(await runInNamespace(file, 'exits', 'record'), 'ERR_LOG_LOCKED')
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    t.equal(await codeOfOpening(file, { lockTimeout: 20_000 }), 'none')
  })
}

tape('record: a socket shows that its holder lives, however long the path', { skip: skipUnlessRoot }, async (t) => {
  const folder = path.join(newFolder(), 'f'.repeat(120))
  fs.mkdirSync(folder)
  const file = path.join(folder, 'l'.repeat(200))
  const holder = spawn('unshare', ['-pf', '--kill-child', '--mount-proc', process.execPath, '-e', PROGRAM, file, 'stays', 'record'])
  await once(holder.stdout, 'data')
  t.match(readLock(file).socket, /^\.millrace-[0-9a-f]{16}\.sock$/)
  t.equal(await codeOfOpening(file, { storage: recordStorage }), 'ERR_LOG_LOCKED')
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  t.equal(await codeOfOpening(file, { storage: recordStorage, lockTimeout: 20_000 }), 'none', 'nobody listens any more')
  t.deepEqual(fs.readdirSync(folder), [path.basename(file)])
})

tape('record: only a socket that refuses, under the same kernel, proves its holder dead', { skip }, async (t) => {
  const file = newPath('blocks')
  fs.writeFileSync(file, 'some')
  const elsewhere = { pidNamespace: 'pid:[1]', pid: 1, thread: 1, started: '1' }
  const codeWith = async (changes) => {
    leave(`${file}.lock`, recordOf(file, { ...elsewhere, ...changes }))
    return codeOfOpening(file, { storage: recordStorage })
  }
  const name = '.millrace-00000000000000aa.sock'
  t.equal(await codeWith({ socket: null }), 'ERR_LOG_LOCKED', 'none was made')
  t.equal(await codeWith({ socket: name }), 'ERR_LOG_LOCKED', 'it is gone')
  t.equal(await codeWith({ socket: '../../etc/passwd' }), 'ERR_LOG_LOCKED', 'not a name of ours')
  const server = spawn(process.execPath, ['-e', `require('net').createServer().listen(${JSON.stringify(path.join(path.dirname(file), name))}, () => console.log('on'))`])
  await once(server.stdout, 'data')
  t.equal(await codeWith({ socket: name }), 'ERR_LOG_LOCKED', 'somebody listens')
  server.kill('SIGKILL')
  await once(server, 'exit')
  t.equal(await codeWith({ socket: name, boot: '00000000-1111-2222-3333-444444444444' }), 'ERR_LOG_LOCKED', 'another kernel')
  t.equal(await codeWith({ socket: name }), 'none')
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
})

tape('kernel lock: a holder that has only the record keeps out those who have flock, and the other way round', { skip }, async (t) => {
  const file = newPath('blocks')
  const byRecord = lockedOpen(file, { storage: recordStorage })
  await byRecord.ready()
  t.equal(await codeOfOpening(file), 'ERR_LOG_LOCKED')
  t.equal(readLock(file).lock, 'file')
  await byRecord.close()
  const byKernel = lockedOpen(file)
  await byKernel.ready()
  t.equal(await codeOfOpening(file, { storage: recordStorage }), 'ERR_LOG_LOCKED')
  await byKernel.close()
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
})

tape('kernel lock: whoever holds it need not heed the record of another that held it', { skip }, async (t) => {
  const file = newPath('blocks')
  fs.writeFileSync(file, 'some')
  const OTHER_BOOT = '00000000-1111-2222-3333-444444444444'
  const cases = [
    ['of another container', { lock: 'kernel', pidNamespace: 'pid:[1]' }, 'none'],
    ['of another container that had no flock', { lock: 'file', pidNamespace: 'pid:[1]' }, 'ERR_LOG_LOCKED'],
    ['of an earlier boot', { lock: 'kernel', boot: OTHER_BOOT, localFileSystem: 'ext4' }, 'none'],
    ['of another machine, over a network', { lock: 'kernel', boot: OTHER_BOOT, localFileSystem: null }, 'ERR_LOG_LOCKED'],
    ['of one that lives here, with a file that was replaced', { lock: 'kernel' }, 'ERR_LOG_LOCKED'],
    ['of one that lives here, and closed this file', { lock: 'kernel', file: identityOf(file) }, 'none']
  ]
  for (const [what, changes, expected] of cases) {
    leave(`${file}.lock`, recordOf(file, changes))
    t.equal(await codeOfOpening(file), expected, what)
  }
})

tape('kernel lock: a record that cannot be read keeps nobody out', { skip }, async (t) => {
  const file = newPath('blocks')
  for (const text of ['', '\0'.repeat(300), 'locked!\n', '{"host":', '[]']) {
    leave(`${file}.lock`, text)
    t.equal(await codeOfOpening(file), 'none', JSON.stringify(text.slice(0, 10)))
    t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
  }
  for (const make of [(name) => fs.symlinkSync('nowhere', name), (name) => fs.mkdirSync(name)]) {
    make(`${file}.lock`)
    t.equal(await codeOfOpening(file), 'none')
    t.ok(fs.lstatSync(`${file}.lock`), 'what is no record is left alone')
    fs.rmSync(`${file}.lock`, { recursive: true })
  }
})

tape('kernel lock: what a power cut leaves of a record is gone after the next open', { skip }, async (t) => {
  const file = newPath('blocks')
  const once = lockedOpen(file)
  await once.ready()
  await once.close()
  // Nobody syncs a record, so the power may leave a name without its bytes. The next one meets it.
  let aside = ''
  const { link } = fs
  t.teardown(() => { fs.link = link })
  fs.link = (from, to, cb) => {
    aside = path.join(path.dirname(file), path.basename(from))
    link(from, to, cb)
  }
  const another = lockedOpen(file)
  await another.ready()
  await another.close()
  for (const left of ['', '\0\0\0', '{"host":']) {
    leave(aside, left)
    const blocks = lockedOpen(file)
    await blocks.ready()
    t.equal(readLock(file).pid, process.pid)
    await blocks.close()
    t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
  }
})

tape('kernel lock: no record is needed where none can be made', { skip: skipUnlessRoot }, async (t) => {
  const folder = newFolder()
  const file = path.join(folder, 'blocks')
  fs.writeFileSync(file, 'some')
  fs.chmodSync(file, 0o666)
  fs.chmodSync(folder, 0o555)
  const child = spawnSync(process.execPath, ['-e', `process.setuid(65534)\n${PROGRAM}`, file, 'exits'], { encoding: 'utf8' })
  t.equal(child.stdout.trim(), 'open', child.stderr)
  t.deepEqual(fs.readdirSync(folder), ['blocks'])
})

tape('lockTimeout: an open waits for a lock that is given back in time', async (t) => {
  for (const storage of [fileStorage, recordStorage]) {
    const file = newPath('blocks')
    const first = lockedOpen(file, { storage })
    await first.ready()
    const beganMs = performance.now()
    t.equal(await codeOfOpening(file, { storage, lockTimeout: 50 }), 'ERR_LOG_LOCKED')
    t.ok(performance.now() - beganMs >= 50)
    const second = lockedOpen(file, { storage, lockTimeout: 60_000 })
    setTimeout(() => first.close(), 50)
    await second.ready()
    t.pass('it got it')
    await second.close()
  }
  for (const lockTimeout of [-1, NaN, '1', null]) {
    t.throws(() => BlockFile('any', { lock: true, lockTimeout }), { code: 'ERR_INVALID_ARGUMENT' })
  }
})

for (const storage of [fileStorage, recordStorage]) {
  const title = storage === fileStorage ? 'kernel lock' : 'record'
  tape(`${title}: many make one file at once: one gets it, with its first bytes`, async (t) => {
    for (let round = 0; round < 10; round++) {
      const file = newPath('blocks')
      if (round % 2) fs.writeFileSync(file, '')
      const all = Array.from({ length: 6 }, (_, index) => lockedOpen(file, { storage, initial: () => Buffer.from(`by ${index}`) }))
      const errors = await Promise.all(all.map(({ ready }) => failureOf(ready)))
      t.equal(errors.filter((err) => err === null).length, 1, errors.map((err) => err?.message).join('\n'))
      t.equal(fs.readFileSync(file, 'utf8'), `by ${errors.indexOf(null)}`)
      await Promise.all(all.map(({ close }) => close()))
      t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
    }
  })
}

const change = (blocks, name, ...args) => new Promise((resolve, reject) => {
  blocks.blocks[name](...args, (err, result) => err ? reject(err) : resolve(result))
})

tape('moved: a file that is removed, replaced, or whose folder is renamed, takes no more syncs', async (t) => {
  const moves = {
    removed: (file) => fs.rmSync(file),
    replaced: (file) => { fs.writeFileSync(`${file}2`, 'other'); fs.renameSync(`${file}2`, file) },
    renamed: (file) => fs.renameSync(file, `${file}2`),
    'in a folder that was renamed': (file) => fs.renameSync(path.dirname(file), `${path.dirname(file)}2`)
  }
  for (const [what, move] of Object.entries(moves)) {
    const file = path.join(newFolder(), 'folder', 'blocks')
    const blocks = lockedOpen(file, { createFolder: true })
    await blocks.append(Buffer.from('some'))
    await blocks.sync()
    move(file)
    await blocks.append(Buffer.from('more'))
    t.equal((await failureOf(blocks.sync)).code, 'ERR_FILE_MOVED', what)
    if (fs.existsSync(path.dirname(file))) {
      fs.writeFileSync(`${file}.compacted`, 'new')
      t.equal((await failureOf(() => change(blocks, 'replaceWith', `${file}.compacted`))).code, 'ERR_FILE_MOVED')
      if (what === 'replaced') t.equal(fs.readFileSync(file, 'utf8'), 'other', 'what took its place is not harmed')
      fs.rmSync(`${file}.compacted`)
    }
    await blocks.close()
    const root = path.dirname(path.dirname(file))
    const left = fs.readdirSync(root, { recursive: true }).filter((name) => name.includes('.lock'))
    t.deepEqual(left, [], 'and is unlocked')
  }
})

tape('moved: the file is looked at ten times a second, and in between the kernel is asked for its path', { skip: process.platform !== 'linux' }, async (t) => {
  const file = path.join(newFolder(), 'blocks')
  const blocks = lockedOpen(file)
  await blocks.ready()
  const { stat, statSync, readlinkSync } = fs
  t.teardown(() => Object.assign(fs, { stat, statSync, readlinkSync }))
  let looks = 0
  let asked = 0
  fs.stat = (...args) => { looks++; stat(...args) }
  fs.statSync = (...args) => { looks++; return statSync(...args) }
  fs.readlinkSync = (...args) => { asked++; return readlinkSync(...args) }
  const beganMs = performance.now()
  let syncs = 0
  for (; syncs < 100 || performance.now() - beganMs < 300; syncs++) {
    await blocks.append(Buffer.from('some'))
    await blocks.sync()
  }
  const most = 2 + (performance.now() - beganMs) / 100
  t.ok(looks >= 2 && looks <= most, `${looks} looks of ${most}`)
  t.ok(looks + asked >= syncs, `${asked} questions for ${syncs} syncs`)
  // As if something was mounted over the folder: the kernel goes on knowing the file by its path.
  fs.readlinkSync = () => file
  fs.renameSync(file, `${file}2`)
  const err = await failureOf(async () => { for (;;) await blocks.sync() })
  t.equal(err.code, 'ERR_FILE_MOVED', 'found by a look')
  fs.readlinkSync = () => { throw new Error('there is no /proc') }
  t.equal((await failureOf(blocks.sync)).code, 'ERR_FILE_MOVED')
  await blocks.close()
})

tape('replaceWith: the new file is locked before it gets the name, and has the owner and mode of the old one', { skip }, async (t) => {
  const file = newPath('blocks')
  const blocks = lockedOpen(file)
  await blocks.append(Buffer.from('some'))
  fs.chmodSync(file, 0o664)
  if (process.getuid() === 0) fs.chownSync(file, 1000, 1001)
  const before = fs.statSync(file)
  fs.writeFileSync(`${file}.other`, 'other', { mode: 0o600 })
  await change(blocks, 'replaceWith', `${file}.other`)
  const { mode, uid, gid } = fs.statSync(file)
  t.deepEqual({ mode, uid, gid }, { mode: before.mode, uid: before.uid, gid: before.gid })
  fs.rmSync(`${file}.lock`)
  t.equal(await codeOfOpening(file), 'ERR_LOG_LOCKED')
  await blocks.close()
})

tape('replaceWith: a file that cannot be given to the same owner takes no one\'s place', { skip }, async (t) => {
  const file = newPath('blocks')
  const denied = Object.assign(new Error('denied'), { code: 'EPERM' })
  const storage = { ...fileStorage, copyOwnership: (from, to, cb) => process.nextTick(cb, denied) }
  const blocks = lockedOpen(file, { storage })
  await blocks.append(Buffer.from('some'))
  fs.writeFileSync(`${file}.other`, 'other')
  t.equal(await failureOf(() => change(blocks, 'replaceWith', `${file}.other`)), denied)
  t.equal(fs.readFileSync(file, 'utf8'), 'some')
  await blocks.append(Buffer.from(' more'))
  t.equal(fs.readFileSync(file, 'utf8'), 'some more', 'and it goes on as it was')
  await blocks.close()
})
