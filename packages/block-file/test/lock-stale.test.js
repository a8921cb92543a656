'use strict'
// Records that somebody left, where they are the lock: who takes them over, and when nobody does. Those beside the
// kernel's lock are in kernel-lock.test.js.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { failureOf, newPath } = require('@millrace/testkit')
const { BlockFile, fileStorage } = require('..')
const { thisThread } = require('../lib/lock/liveness')
const { Holder } = require('./lock-holder')
const { promises } = require('./open-blocks')
const { recordStorage } = require('./record-storage')

const NOT_LINUX = process.platform !== 'linux'
const identity = thisThread()
const NONCE = '0123456789abcdef'
const lockedOpen = (file) => promises(BlockFile(file, { lock: true, cache: 0, storage: recordStorage }))

/** A record as this thread would write it, but for the changes. */
function recordOf (file, changes) {
  const since = '2020-01-01T00:00:00.000Z'
  return { ...identity, file: { path: file, device: null, inode: null }, since, nonce: NONCE, ...changes }
}

function leave (lockPath, record) {
  fs.writeFileSync(lockPath, typeof record === 'string' ? record : `${JSON.stringify(record)}\n`)
}

/** What a process that was killed left: a record of its lock. */
async function recordOfKilled (file) {
  const other = new Holder('process')
  await other.open(file, { isByRecord: true })
  await other.kill()
  const record = JSON.parse(fs.readFileSync(`${file}.lock`, 'utf8'))
  fs.rmSync(`${file}.lock`)
  return record
}

/** Whether the lock is taken over; and if not, that it is left as it was. */
async function isTakenOver (t, file) {
  const before = fs.readFileSync(`${file}.lock`, 'utf8')
  const blocks = lockedOpen(file)
  const err = await failureOf(blocks.ready)
  if (err && err.code !== 'ERR_LOG_LOCKED') throw err
  const after = fs.readFileSync(`${file}.lock`, 'utf8')
  if (err) t.equal(after, before, 'it is left as it was')
  else t.equal(JSON.parse(after).pid, process.pid)
  await blocks.close()
  // A holder that lives has a socket.
  const names = fs.readdirSync(path.dirname(file)).filter((name) => name !== 'blocks' && !(err && name.endsWith('.sock')))
  t.deepEqual(names, err ? ['blocks.lock'] : [], 'and nothing else is left')
  return { taken: err === null, err }
}

/** @param {string} what  @param {object} changes  @param {boolean} expected */
function stale (what, changes, expected, options = {}) {
  tape(`lock: one of ${what} is ${expected ? '' : 'not '}taken over`, options, async (t) => {
    const file = newPath('blocks')
    fs.writeFileSync(file, 'some')
    leave(`${file}.lock`, recordOf(file, typeof changes === 'function' ? changes() : changes))
    const { taken, err } = await isTakenOver(t, file)
    t.equal(taken, expected)
    if (err) t.match(err.message, /is open for writing, by .*process \d+ on .+, since 2020-01-01T00:00:00.000Z; /)
  })
}

const OTHER_BOOT = '00000000-1111-2222-3333-444444444444'

stale('a thread that was started at another time, with the same number', { started: '12' }, true, { skip: NOT_LINUX })
const LOCAL = { localFileSystem: 'ext4' }
stale('a machine that was started anew', { ...LOCAL, boot: OTHER_BOOT }, true, { skip: NOT_LINUX })
stale('a machine that was started anew, and did not say what it saw', { boot: OTHER_BOOT }, false, { skip: NOT_LINUX })
stale('a machine that saw a file system which others may have mounted', { localFileSystem: null, boot: OTHER_BOOT }, false)
stale('a container, after another start of the machine', { ...LOCAL, boot: OTHER_BOOT, pidNamespace: 'pid:[4026532000]' },
  true, { skip: NOT_LINUX })
stale('another host', { host: 'elsewhere', machine: 'f'.repeat(32), boot: OTHER_BOOT, pid: 2 ** 22 + 1 }, false)
stale('another machine with the same name', { machine: 'f'.repeat(32), boot: OTHER_BOOT, pid: 2 ** 22 + 1 }, false)
stale('another pid namespace', { pidNamespace: 'pid:[4026532000]', pid: 2 ** 22 + 1 }, false)
stale('a process that is not there', { pid: 2 ** 22 + 1, thread: NOT_LINUX ? null : 2 ** 22 + 1 }, true)
stale('a kernel that was given another name', { host: 'renamed', pid: 2 ** 22 + 1, thread: 2 ** 22 + 1 }, true, { skip: NOT_LINUX })

tape('lock: who is told that it is held elsewhere learns what to do', async (t) => {
  const file = newPath('blocks')
  leave(`${file}.lock`, recordOf(file, { host: 'elsewhere', boot: OTHER_BOOT, machine: null, pid: 77, thread: 78 }))
  const { err } = await isTakenOver(t, file)
  t.equal(err.message, `open: ${file} is open for writing, by thread 78 of process 77 on elsewhere, since ` +
    '2020-01-01T00:00:00.000Z; that is another machine or another container, whose processes cannot be seen from here: ' +
    `close it there, or, if that process is surely gone, remove ${file}.lock`)
  t.deepEqual(err.holder, { host: 'elsewhere', pid: 77, thread: 78, since: '2020-01-01T00:00:00.000Z' })
})

const whole = JSON.stringify(recordOf('/file', {}))
const unreadable = {
  'no JSON': 'locked!\n',
  'half a record': whole.slice(0, 100),
  'a list': '[]',
  nothing: 'null',
  'a record without a nonce': whole.replace(NONCE, ''),
  'a record with the nonce that no record has': whole.replace(NONCE, '0'.repeat(16)),
  'a record of a group of processes': JSON.stringify(recordOf('/file', { pid: -1 })),
  'a record of no file': JSON.stringify(recordOf('/file', { file: null })),
  'a record of no thread': JSON.stringify(recordOf('/file', { thread: 'main' }))
}

for (const [what, text] of Object.entries(unreadable)) {
  tape(`lock: one that says ${what} is not taken over`, async (t) => {
    const file = newPath('blocks')
    leave(`${file}.lock`, text)
    const { taken, err } = await isTakenOver(t, file)
    t.notOk(taken)
    t.equal(err.message, `open: ${file} may be open for writing: ${file}.lock exists and does not name the holder ` +
      `(what is in it is no record of a lock); if no process has the file open, remove ${file}.lock`)
  })
}

for (const [what, text] of Object.entries({ nothing: '', zeros: '\0'.repeat(400) })) {
  tape(`lock: one with ${what} in it, as a power cut leaves it, is taken over`, async (t) => {
    const file = newPath('blocks')
    leave(`${file}.lock`, text)
    t.ok((await isTakenOver(t, file)).taken)
    leave(`${file}.lock`, text)
    leave(`${file}.lock.${'0'.repeat(16)}`, '')
    t.ok((await isTakenOver(t, file)).taken, 'and so is a claim on it')
  })

  tape(`lock: one with ${what} in it may be just being made where files cannot be linked`, async (t) => {
    await withoutLinks(async () => {
      const file = newPath('blocks')
      leave(`${file}.lock`, text)
      t.notOk((await isTakenOver(t, file)).taken)
    })
  })
}

tape('lock: a name that leads nowhere or to no file is not taken over', { skip: process.platform === 'win32' }, async (t) => {
  for (const make of [(name) => fs.symlinkSync('nowhere', name), (name) => fs.mkdirSync(name)]) {
    const file = newPath('blocks')
    make(`${file}.lock`)
    const err = await failureOf(() => lockedOpen(file).ready())
    t.equal(err.code, 'ERR_LOG_LOCKED')
    t.ok(err.cause, err.message)
    t.ok(fs.lstatSync(`${file}.lock`))
    t.notOk(fs.existsSync(file))
  }
})

for (const [name, storage] of [['the record', recordStorage], ['the kernel', fileStorage]]) {
  for (const [what, text] of [['was there', 'some'], ['was empty', ''], ['was made', null]]) {
    tape(`lock: by ${name}, in a folder that was copied while its file was open, which ${what}, it is nobody's`, async (t) => {
      const open = (file) => promises(BlockFile(file, { lock: true, cache: 0, storage }))
      const file = newPath('blocks')
      if (text !== null) fs.writeFileSync(file, text)
      const blocks = open(file)
      await blocks.ready()
      await blocks.append(Buffer.from('more'))
      const copy = newPath('blocks')
      const filter = (name) => !name.endsWith('.sock')
      fs.cpSync(path.dirname(file), path.dirname(copy), { recursive: true, filter })
      const other = open(copy)
      t.equal(await failureOf(other.ready), null)
      await other.close()
      t.deepEqual(fs.readdirSync(path.dirname(copy)), ['blocks'], 'and nothing else is left')
      t.equal((await failureOf(open(file).ready))?.code, 'ERR_LOG_LOCKED', 'that of the original stays')
      await blocks.close()
      t.notOk(fs.existsSync(`${file}.lock`))
    })
  }
}

tape('lock: only where the path and the file are others is it that of another file', async (t) => {
  const file = newPath('blocks')
  fs.writeFileSync(file, 'some')
  const { dev, ino } = fs.statSync(file, { bigint: true })
  const [device, inode] = [String(dev), String(ino)]
  const cases = [
    [{ path: '/elsewhere', device, inode: '1' }, true, 'a copy'],
    [{ path: '/elsewhere', device, inode }, false, 'the same file by another name, or in a folder that was moved'],
    [{ path: '/elsewhere', device: '1', inode }, false, 'the same file seen through another mount'],
    [{ path: '/elsewhere', device: null, inode: null }, false, 'a file that was not there yet'],
    [{ path: file, device, inode: '1' }, false, 'a file that has been replaced']
  ]
  for (const [identity, expected, what] of cases) {
    leave(`${file}.lock`, recordOf(file, { file: identity }))
    t.equal((await isTakenOver(t, file)).taken, expected, what)
    leave(`${file}.lock`, recordOf(file, { file: identity, host: 'elsewhere', boot: OTHER_BOOT, machine: null }))
    t.notOk((await isTakenOver(t, file)).taken, `${what}; but from elsewhere`)
  }
})

tape('lock: what those leave who were killed while they took it over is taken over, and removed', async (t) => {
  const file = newPath('blocks')
  const record = await recordOfKilled(file)
  const claim = `${file}.lock.${NONCE}`
  leave(`${file}.lock`, { ...record, nonce: NONCE })
  leave(claim, { ...record, nonce: 'aaaaaaaaaaaaaaaa' })
  leave(`${claim}.aaaaaaaaaaaaaaaa`, { ...record, nonce: 'bbbbbbbbbbbbbbbb' })
  leave(`${claim}.bbbbbbbbbbbbbbbb.new`, '')
  leave(`${file}.lock.cccccccccccccccc.new`, { ...record, nonce: 'cccccccccccccccc' })
  leave(`${file}.lock.dddddddddddddddd`, { ...record, nonce: 'eeeeeeeeeeeeeeee' })
  t.ok((await isTakenOver(t, file)).taken)
})

tape('lock: nothing else is removed, whatever its name begins with', async (t) => {
  const file = newPath('blocks')
  const names = ['blocks.lock.old', 'blocks.lock.0123', `blocks.lock.${NONCE}.newer`, `blocks.lock.${NONCE}x`, `blocks.locks.${NONCE}`]
  const record = await recordOfKilled(file)
  leave(`${file}.lock`, record)
  for (const name of names) leave(path.join(path.dirname(file), name), 'mine')
  const blocks = lockedOpen(file)
  await blocks.ready()
  await blocks.close()
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks', ...names].sort())
})

tape('lock: who finds a claim of a live one fails, and is told by whom', async (t) => {
  const file = newPath('blocks')
  const record = await recordOfKilled(file)
  leave(`${file}.lock`, record)
  const claim = `${file}.lock.${record.nonce}`
  leave(claim, recordOf(file, { nonce: NONCE }))
  const ours = await failureOf(() => lockedOpen(file).ready())
  t.equal(ours.code, 'ERR_LOG_LOCKED')
  t.equal(ours.holder.pid, process.pid)
  leave(claim, recordOf(file, { host: 'elsewhere', boot: OTHER_BOOT, machine: null }))
  const foreign = await failureOf(() => lockedOpen(file).ready())
  t.ok(foreign.message.endsWith(`remove ${claim}`), foreign.message)
  fs.rmSync(claim)
  t.ok((await isTakenOver(t, file)).taken)
})

tape('lock: works where files cannot be linked', async (t) => {
  const file = newPath('blocks')
  const record = await recordOfKilled(file)
  await withoutLinks(async () => {
    const blocks = lockedOpen(file)
    await blocks.ready()
    t.notOk((await isTakenOver(t, file)).taken)
    await blocks.close()
    leave(`${file}.lock`, record)
    t.ok((await isTakenOver(t, file)).taken, 'that of a dead one')
  })
})

tape('lock: one that comes and goes without end is given up', async (t) => {
  const { link, open } = fs
  const fail = (code) => Object.assign(new Error(code), { code })
  fs.link = (from, to, cb) => process.nextTick(cb, fail('EEXIST'))
  fs.open = (name, ...args) => String(name).endsWith('.lock') ? process.nextTick(args.pop(), fail('ENOENT')) : open(name, ...args)
  try {
    const err = await failureOf(() => lockedOpen(newPath('blocks')).ready())
    t.equal(err.code, 'ERR_LOG_LOCKED')
    t.match(err.message, /it comes and goes/)
  } finally {
    Object.assign(fs, { link, open })
  }
})

tape('lock: a link that was made though it was said to have failed is ours', async (t) => {
  const { link } = fs
  fs.link = (from, to, cb) => link(from, to, (err) => cb(err ?? Object.assign(new Error('asked again'), { code: 'EEXIST' })))
  try {
    const file = newPath('blocks')
    const blocks = lockedOpen(file)
    await blocks.ready()
    t.notOk((await isTakenOver(t, file)).taken)
    await blocks.close()
    t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
  } finally {
    fs.link = link
  }
})

tape('lock: one that was removed by hand, and taken by another, is not given back', async (t) => {
  const file = newPath('blocks')
  const blocks = lockedOpen(file)
  await blocks.ready()
  const others = recordOf(file, {})
  leave(`${file}.lock`, others)
  await blocks.close()
  t.deepEqual(JSON.parse(fs.readFileSync(`${file}.lock`, 'utf8')), others)
  fs.rmSync(`${file}.lock`)
  const again = lockedOpen(file)
  await again.ready()
  fs.rmSync(`${file}.lock`)
  await again.close()
  t.pass('nor is it missed')
})

/** @param {() => Promise<void>} run */
async function withoutLinks (run) {
  const { link } = fs
  fs.link = (from, to, cb) => link(from, to, (err) => {
    if (err) return cb(err)
    fs.unlink(to, () => cb(Object.assign(new Error('no links here'), { code: 'EPERM' })))
  })
  try {
    await run()
  } finally {
    fs.link = link
  }
}

tape('lock: Windows is asked again while somebody looks at a file that is to go', async (t) => {
  const file = newPath('blocks')
  const record = await recordOfKilled(file)
  leave(`${file}.lock`, record)
  const { rename, unlink } = fs
  const { platform } = process
  let busyCount = 0
  const busy = (run) => (...args) => {
    if (busyCount++ % 3 === 2) run(...args)
    else process.nextTick(args.pop(), Object.assign(new Error('busy'), { code: ['EBUSY', 'EPERM'][busyCount % 2] }))
  }
  const blocks = lockedOpen(file)
  Object.assign(fs, { rename: busy(rename), unlink: busy(unlink) })
  Object.defineProperty(process, 'platform', { value: 'win32' })
  try {
    await blocks.ready()
    await blocks.close()
    t.deepEqual(fs.readdirSync(path.dirname(file)), ['blocks'])
    t.ok(busyCount > 5)
    fs.unlink = (name, cb) => process.nextTick(cb, Object.assign(new Error('busy'), { code: 'EBUSY' }))
    // The record of an empty file is written once more.
    fs.writeFileSync(file, 'some')
    const again = lockedOpen(file)
    await again.ready()
    t.equal((await failureOf(again.close)).code, 'EBUSY', 'but not for ever')
  } finally {
    Object.assign(fs, { rename, unlink })
    Object.defineProperty(process, 'platform', { value: platform })
  }
})

for (const failing of ['writeFile', 'link', 'read', 'rename', 'unlink']) {
  tape(`lock: a failing ${failing} is told, and harms nothing`, async (t) => {
    const file = newPath('blocks')
    fs.writeFileSync(file, 'some')
    const record = await recordOfKilled(file)
    leave(`${file}.lock`, record)
    const { [failing]: run } = fs
    const EIO = Object.assign(new Error('bad disk'), { code: 'EIO' })
    fs[failing] = (...args) => process.nextTick(args.pop(), EIO)
    const blocks = lockedOpen(file)
    const err = await failureOf(blocks.ready)
    await failureOf(blocks.close)
    fs[failing] = run
    if (failing === 'unlink') t.equal(err, null, 'what cannot be removed is removed the next time')
    else if (failing === 'link') t.equal(err, null, 'then it is copied')
    else t.ok(err === EIO || err.cause === EIO, String(err))
    if (err) t.ok((await isTakenOver(t, file)).taken, 'the next one gets it')
  })
}
