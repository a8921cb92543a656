'use strict'
// Noticing what another process does to a file: by announcements, and without.

const fs = require('node:fs')
const tape = require('tape')
const { failureOf, newPath, stopClock, until } = require('@millrace/testkit')
const { BlockFile, fileStorage } = require('..')

/** A watch that announces nothing. */
const silent = { ref () {}, unref () {}, close () {} }

/**
 * A file of ten bytes, watched; `events` counts, `announce` is what the storage announces by.
 * @param {Partial<import('../lib/storage').Storage>} [storage]
 */
async function createWatched (storage = {}) {
  const file = newPath('file')
  fs.writeFileSync(file, '0123456789')
  const blocks = BlockFile(file, { flags: 'r', storage: { ...fileStorage, ...storage } })
  await new Promise((resolve, reject) => blocks.ready((err) => err ? reject(err) : resolve()))
  const watched = { file, blocks, events: 0, watch: null, close: () => {} }
  watched.watch = blocks.watch((done) => {
    watched.events++
    blocks.refresh(done)
  })
  watched.close = () => {
    watched.watch.close()
    return new Promise((resolve) => blocks.close(resolve))
  }
  return watched
}

tape('watch: tells that the file grew, and the new size is known', async (t) => {
  const { file, blocks, close } = await createWatched()
  fs.appendFileSync(file, 'abc')
  await until(() => blocks.size.value === 13)
  t.equal(blocks.size.value, 13)
  await close()
})

tape('watch: tells that bytes changed though the size did not', async (t) => {
  const watched = await createWatched()
  await until(() => watched.events > 0)
  const { events } = watched
  const fd = fs.openSync(watched.file, 'r+')
  fs.writeSync(fd, 'x', 3)
  fs.closeSync(fd)
  await until(() => watched.events > events)
  t.pass()
  await watched.close()
})

for (const [name, watch] of Object.entries({
  'that has no watch': undefined,
  'whose watch fails': (path, onEvent, cb) => process.nextTick(cb, new Error('none left')),
  'whose watch is silent and not trusted': (path, onEvent, cb) => {
    process.nextTick(cb, null, { ...silent, isTrusted: false })
  },
  'whose watch is trusted and silent': (path, onEvent, cb) => process.nextTick(cb, null, { ...silent, isTrusted: true })
})) {
  tape(`watch: a storage ${name} is polled`, async (t) => {
    const { file, blocks, close } = await createWatched({ watch })
    for (let size = 10; size < 13; size++) {
      fs.appendFileSync(file, 'a')
      await until(() => blocks.size.value === size + 1)
    }
    t.equal(blocks.size.value, 13)
    await close()
  })
}

tape('watch: one that missed a change is not trusted any more', async (t) => {
  const watch = (path, onEvent, cb) => process.nextTick(cb, null, { ...silent, isTrusted: true })
  const watched = await createWatched({ watch })
  t.equal(watched.watch._pollMs === 1000 || !watched.watch._watcher, true, 'trusted at first')
  // The first look takes note of the file; a later one finds the change. On a busy machine looks are late.
  await until(async () => {
    await new Promise((resolve) => setTimeout(resolve, 1200))
    fs.appendFileSync(watched.file, 'a')
    return watched.watch._hasMissed
  })
  t.equal(watched.watch._pollMs, 20, 'then looked at often')
  await watched.close()
})

tape('watch: a change is announced once at a time, and none is lost', async (t) => {
  let announce = () => {}
  const watch = (path, onEvent, cb) => {
    announce = onEvent
    process.nextTick(cb, null, { ...silent, isTrusted: true })
  }
  const file = newPath('file')
  fs.writeFileSync(file, '')
  const blocks = BlockFile(file, { flags: 'r', storage: { ...fileStorage, watch } })
  await new Promise((resolve) => blocks.ready(resolve))
  const clock = stopClock(t)
  const timers = holdTimers(t)
  /** @type {Array<() => void>} */
  const running = []
  const watched = blocks.watch((done) => running.push(done))
  await until(() => running.length === 1)
  announce()
  announce()
  t.deepEqual(timers.map(({ ms }) => ms), [20], 'not before the first is done: only the timer of the next look')
  running[0]()
  t.equal(timers.length, 2, 'a moment later')
  clock.pass(timers[1].ms)
  timers[1].run()
  t.equal(running.length, 2)
  running[1]()
  t.deepEqual([running.length, timers.length], [2, 2], 'two that came meanwhile are one')
  watched.close()
  clock.pass(1000)
  announce()
  t.deepEqual([running.length, timers.length], [2, 2], 'none after close')
  timers.restore()
  await new Promise((resolve) => blocks.close(resolve))
})

/** Timers that are set from now on do not run. What `until` waits by goes on. */
function holdTimers (t) {
  const { setTimeout } = globalThis
  const restore = () => { globalThis.setTimeout = setTimeout }
  const timers = Object.assign([], { restore })
  globalThis.setTimeout = (run, ms) => {
    const timer = { run, ms, unref () {} }
    timers.push(timer)
    return timer
  }
  t.teardown(restore)
  return timers
}

tape('watch: closed before the system answered', async (t) => {
  let isClosed = false
  const late = { ...silent, isTrusted: true, close: () => { isClosed = true } }
  const watch = (path, onEvent, cb) => setTimeout(cb, 10, null, late)
  const { close } = await createWatched({ watch })
  await close()
  await until(() => isClosed)
  t.pass('what came too late is closed')
})

tape('refresh: a file that was cut off gives no bytes from before', async (t) => {
  const { file, blocks, close } = await createWatched()
  const read = (start, end) => new Promise((resolve, reject) => {
    blocks.read(start, end, (err, bytes) => err ? reject(err) : resolve(bytes.toString()))
  })
  t.equal(await read(0, 10), '0123456789')
  fs.truncateSync(file, 4)
  await until(() => blocks.size.value === 4)
  t.equal(await read(0, 4), '0123')
  t.equal((await failureOf(() => read(0, 10))).code, 'ERR_FILE_RANGE')
  fs.appendFileSync(file, 'xyz')
  await until(() => blocks.size.value === 7)
  t.equal(await read(0, 7), '0123xyz')
  await close()
})

tape('watch: one that begins late, after it was begun anew, is closed, and the last one counts', async (t) => {
  const answers = []
  let openCount = 0
  const watched = await createWatched({
    watch: (path, onEvent, cb) => answers.push(() => {
      openCount++
      cb(null, { isTrusted: true, close: () => { openCount-- } })
    })
  })
  watched.watch.restart()
  t.equal(answers.length, 2)
  for (const answer of answers) answer()
  t.equal(openCount, 1)
  await watched.close()
  t.equal(openCount, 0)
})
