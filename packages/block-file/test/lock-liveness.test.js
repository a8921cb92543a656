'use strict'
// Whether a thread still runs, told from what /proc says, or hides.

const { spawn } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const tape = require('tape')
const { checkLiveness, parseTask, readTaskSync, thisThread } = require('../lib/lock/liveness')
const { Holder } = require('./lock-holder')

const NOT_LINUX = process.platform !== 'linux'
const self = thisThread()
const FIRST = 'pid:[4026531836]'

/** @returns {Promise<string>}  the liveness, or `unknown` with the code of the error */
function livenessOf (holder, asker = self) {
  return checkLiveness(holder, asker).catch((err) => `unknown: ${err.code}`)
}

/** Lets process.kill and what reads /proc answer as told; undefined lets them do it themselves. */
async function pretend ({ kill, read, list }, run) {
  const real = { kill: process.kill, readFile: fs.readFile, readdir: fs.readdir }
  const answer = (make, run) => (...args) => {
    const told = make?.(String(args[0]))
    if (told === undefined) return run(...args)
    const isCode = typeof told === 'string' && /^E[A-Z]+$/.test(told)
    process.nextTick(args.pop(), isCode ? Object.assign(new Error(told), { code: told }) : null, told)
  }
  if (kill) process.kill = () => { if (kill !== 'ok') throw Object.assign(new Error(kill), { code: kill }) }
  fs.readFile = answer(read, real.readFile)
  fs.readdir = answer(list, real.readdir)
  try {
    return await run()
  } finally {
    process.kill = real.kill
    Object.assign(fs, { readFile: real.readFile, readdir: real.readdir })
  }
}

const statOf = (state, started, flags = 0) => `1 (a (b) c) ${state} ${'0 '.repeat(5)}${flags} ${'0 '.repeat(12)}${started} 0 0\n`

tape('checkLiveness: the name of a process may have anything in it', (t) => {
  t.deepEqual(parseTask(statOf('S', 123)), { started: '123', hasEnded: false })
  t.deepEqual(parseTask('7 (x) Z 1 (y) S 1) R 1 2'), { started: '', hasEnded: false }, 'its end is the last parenthesis')
  for (const state of ['Z', 'X', 'x']) t.ok(parseTask(statOf(state, 1)).hasEnded, state)
  t.end()
})

tape('checkLiveness: a thread that is on its way out has ended, though it still has to run for that', { skip: NOT_LINUX }, async (t) => {
  // As Linux 6.18 said of a worker after terminate() had called back.
  t.ok(parseTask(statOf('R', 1, 0x40004c)).hasEnded)
  t.notOk(parseTask(statOf('R', 1, 0x400048)).hasEnded)
  const holder = { ...self, pid: 700, thread: 701, started: '5' }
  const read = (flags) => (path) => statOf('R', 5, path.includes('/701/') ? flags : 0)
  t.equal(await pretend({ read: read(0x40004c) }, () => livenessOf(holder)), 'dead')
  t.equal(await pretend({ read: read(0x400048) }, () => livenessOf(holder)), 'alive')
})

tape('checkLiveness: this thread knows itself', { skip: NOT_LINUX }, async (t) => {
  t.equal(self.pid, process.pid)
  t.equal(self.thread, process.pid)
  t.match(self.started, /^\d+$/)
  t.match(self.boot, /^[0-9a-f-]{36}$/)
  t.equal(self.started, readTaskSync(process.pid, process.pid).started)
  t.equal(readTaskSync(process.pid, 2 ** 22 + 1), null)
  t.equal(await livenessOf(self), 'alive')
  const id = fs.existsSync('/etc/machine-id') ? fs.readFileSync('/etc/machine-id', 'utf8').trim() : ''
  if (id) t.notOk(JSON.stringify(self).includes(id), 'the id of the machine is kept to itself')
})

tape('checkLiveness: a process that has ended is dead before its parent has asked how', { skip: NOT_LINUX }, async (t) => {
  // The shell becomes a program that never asks.
  const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const [line] = await once(parent.stdout, 'data')
  const pid = Number(String(line))
  const holder = { ...self, pid, thread: pid, started: readTaskSync(pid, pid).started }
  t.equal(await livenessOf(holder), 'alive')
  process.kill(pid, 'SIGKILL')
  while (!readTaskSync(pid, pid).hasEnded) await new Promise((resolve) => setTimeout(resolve, 10))
  t.doesNotThrow(() => process.kill(pid, 0), 'it still has its number')
  t.equal(await livenessOf(holder), 'dead')
  parent.kill('SIGKILL')
  await once(parent, 'exit')
  t.equal(await livenessOf(holder), 'dead')
})

tape('checkLiveness: a killed process whose last write is under way is not dead yet', { skip: NOT_LINUX }, async (t) => {
  const holder = { ...self, pid: 700, thread: 700, started: '5' }
  const read = (states) => (path) => {
    const thread = /task\/(\d+)\//.exec(path)?.[1]
    return states[thread] ? statOf(states[thread], 5) : 'ENOENT'
  }
  const list = () => [700, 701, 702]
  const liveness = (states) => pretend({ list, read: read(states) }, () => livenessOf(holder))
  t.equal(await liveness({ 700: 'Z', 701: 'D' }), 'alive')
  t.equal(await liveness({ 700: 'Z', 701: 'Z', 702: 'R' }), 'alive')
  t.equal(await liveness({ 700: 'Z', 701: 'Z', 702: 'X' }), 'dead')
  t.equal(await liveness({ 700: 'Z', 701: 'Z' }), 'dead', 'one that is gone meanwhile')
  t.equal(await pretend({ list: () => 'ESRCH', read: read({ 700: 'Z' }) }, () => livenessOf(holder)), 'dead')
  const cannotList = { list: () => 'EMFILE', read: read({ 700: 'Z' }) }
  t.equal(await pretend(cannotList, () => livenessOf(holder)), 'unknown: EMFILE')
  const cannotRead = { list, read: (path) => path.includes('/701/') ? 'EIO' : statOf('Z', 5) }
  t.equal(await pretend(cannotRead, () => livenessOf(holder)), 'unknown: EIO')
})

tape('checkLiveness: a worker that has ended is dead, its process is not', { skip: NOT_LINUX }, async (t) => {
  t.equal(await livenessOf({ ...self, thread: 2 ** 22 + 1, started: '1' }), 'dead')
  t.equal(await livenessOf({ ...self, started: '1' }), 'dead', 'nor is one whose number another has now')
})

tape('checkLiveness: whom /proc hides lives, unless the system knows of nobody', { skip: NOT_LINUX }, async (t) => {
  const holder = { ...self, pid: 700, thread: 701, started: '5' }
  const hidden = (kill) => pretend({ read: () => 'ENOENT', kill }, () => livenessOf(holder))
  t.equal(await hidden('EPERM'), 'alive', 'it is another user\'s')
  t.equal(await hidden('ok'), 'alive')
  t.equal(await hidden('ESRCH'), 'dead')
  for (const code of ['EACCES', 'EPERM', 'EMFILE']) {
    t.equal(await pretend({ read: () => code }, () => livenessOf(holder)), `unknown: ${code}`, 'what cannot be read')
    const read = (path) => path.includes('/701/') ? 'ENOENT' : code
    t.equal(await pretend({ read }, () => livenessOf(holder)), `unknown: ${code}`)
  }
})

tape('checkLiveness: start times that cannot be compared prove nothing', { skip: NOT_LINUX }, async (t) => {
  t.equal(await livenessOf({ ...self, started: '1', timeNamespace: 'time:[1]' }), 'alive')
  t.equal(await livenessOf({ ...self, started: null }), 'alive')
})

tape('checkLiveness: without a /proc of its own, who asks has only the number', { skip: NOT_LINUX }, async (t) => {
  const blind = { ...self, thread: null, started: null }
  const holder = { ...self, started: '1' }
  t.equal(await livenessOf(holder, blind), 'alive')
  t.equal(await livenessOf(blind, self), 'alive')
  t.equal(await livenessOf({ ...holder, pid: 2 ** 22 + 1 }, blind), 'dead')
  t.equal(await livenessOf({ ...holder, pid: 2 ** 40 }, blind), 'alive', 'a number that no process can have tells nothing')
})

tape('checkLiveness: where it runs decides whether it can be told', async (t) => {
  const machine = { ...self, host: 'a', machine: 'm'.repeat(32), boot: 'boot', pidNamespace: FIRST, thread: null, localFileSystem: 'ext4' }
  const gone = { pid: 2 ** 22 + 1 }
  const cases = [
    ['the same place', {}, {}, 'dead'],
    ['another name of the same kernel', { host: 'b', machine: null }, {}, 'dead'],
    ['another namespace', { pidNamespace: 'pid:[1]' }, {}, 'hidden'],
    ['namespaces that are not known', { pidNamespace: null }, { pidNamespace: null }, 'hidden'],
    ['an earlier boot', { boot: 'before' }, {}, 'dead'],
    ['an earlier boot, in a container', { boot: 'before', pidNamespace: 'pid:[1]' }, {}, 'dead'],
    ['an earlier boot, seen from a container', { boot: 'before' }, { pidNamespace: 'pid:[1]' }, 'dead'],
    ['an earlier boot, on a file system that others may have mounted', { boot: 'before', localFileSystem: null }, {}, 'foreign'],
    ['an earlier boot, of a version that did not say where', { boot: 'before', localFileSystem: undefined }, {}, 'foreign'],
    ['an earlier boot, seen where others may have it mounted', { boot: 'before' }, { localFileSystem: null }, 'foreign'],
    ['a disk that came from another machine', { boot: 'before', host: 'b', machine: 'n'.repeat(32) }, {}, 'dead'],
    ['another host, over the network', { boot: 'before', host: 'b', localFileSystem: null }, { localFileSystem: null }, 'foreign'],
    ['a host that tells no boot', { boot: null }, {}, 'foreign'],
    ['a host that tells no boot, seen from one like it', { boot: null }, { boot: null }, 'foreign']
  ]
  for (const [what, holder, asker, expected] of cases) {
    t.equal(await livenessOf({ ...machine, ...gone, ...holder }, { ...machine, ...asker }), expected, what)
  }
})

tape('checkLiveness: systems without boot ids and namespaces go by the name of the host', async (t) => {
  const { platform } = process
  Object.defineProperty(process, 'platform', { value: 'darwin' })
  try {
    const machine = { host: 'a', machine: null, boot: null, pidNamespace: null, timeNamespace: null, thread: null, started: null }
    const asker = { ...machine, pid: process.pid }
    t.equal(await livenessOf({ ...machine, pid: process.pid }, asker), 'alive')
    t.equal(await livenessOf({ ...machine, pid: 2 ** 22 + 1 }, asker), 'dead')
    t.equal(await livenessOf({ ...machine, pid: 2 ** 22 + 1, host: 'b' }, asker), 'foreign')
    t.equal(await livenessOf({ ...self, pid: 2 ** 22 + 1, host: 'a', boot: 'boot' }, asker), 'foreign')
  } finally {
    Object.defineProperty(process, 'platform', { value: platform })
  }
})

tape('checkLiveness: real processes and threads', async (t) => {
  for (const kind of ['process', 'thread']) {
    const holder = new Holder(kind)
    const file = `${fs.mkdtempSync(`${require('node:os').tmpdir()}/millrace-checkLiveness-`)}/file`
    await holder.open(file)
    const record = JSON.parse(fs.readFileSync(`${file}.lock`, 'utf8'))
    t.equal(await livenessOf(record), 'alive', kind)
    await holder.kill()
    if (kind === 'process' || !NOT_LINUX) t.equal(await livenessOf(record), 'dead', kind)
    fs.rmSync(file.slice(0, -5), { recursive: true })
  }
})
