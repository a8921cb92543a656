'use strict'
// The folder stays within `maxSize` at every moment, however a program appends and however often it yields. What does
// not fit without waiting is refused with a code, so nothing is lost silently.

const fs = require('node:fs')
const path = require('node:path')
const { setImmediate: nextTurn } = require('node:timers/promises')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { SimulatedDisk, createRandom, failureOf, slowStorage, temporaryFolder } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const MIB = 2 ** 20
const RECORD_SIZE = 2000

/** Each record begins with its number. */
function record (i) {
  const buf = Buffer.alloc(RECORD_SIZE, 'r')
  buf.writeUInt32BE(i)
  return buf
}

async function collectNumbers (log) {
  const numbers = []
  for await (const value of log.stream({ seqs: false })) numbers.push(value.readUInt32BE())
  return numbers
}

/** How programs append, each with the numbers of the records that the log took. */
const programs = {
  'appendSync that never yields': async (log, append) => {
    for (let i = 0; i < 3000; i++) append.now(i)
  },
  'appendSync that yields rarely': async (log, append) => {
    for (let i = 0; i < 3000; i++) {
      append.now(i)
      if (i % 250 === 0) await nextTurn()
    }
  },
  'appendSync that yields often': async (log, append) => {
    for (let i = 0; i < 3000; i++) {
      append.now(i)
      if (i % 5 === 0) await nextTurn()
    }
  },
  'appendSync, and append if that is refused, as a logger does': async (log, append) => {
    for (let i = 0; i < 3000; i++) {
      if (!append.now(i)) await append.later(i)
      if (i % 100 === 0) await nextTurn()
    }
  },
  'appends that nobody awaits': async (log, append) => {
    const appends = []
    for (let i = 0; i < 3000; i++) {
      appends.push(append.later(i))
      if (i % 100 === 0) await nextTurn()
    }
    await Promise.all(appends)
  },
  'batches, and a flush after each': async (log, append) => {
    const appends = []
    for (let i = 0; i < 3000; i += 20) {
      appends.push(append.batch(i, 20))
      await failureOf(() => log.flushSync())
      if (i % 300 === 0) await nextTurn()
    }
    await Promise.all(appends)
  },
  'batches of many small records': async (log, append) => {
    for (let i = 0; i < 40; i++) await log.append(Array.from({ length: 4000 }, () => Buffer.from('small')))
    for (let i = 0; i < 100; i++) await append.later(i)
  }
}

/** Appends, and notes what was taken. */
function createAppend (log, taken, codes) {
  const refused = (err) => {
    codes.add(err.code)
    return false
  }
  const noteAll = (first, count) => {
    for (let i = first; i < first + count; i++) taken.push(i)
    return true
  }
  return {
    now: (i) => {
      try {
        log.appendSync([record(i)])
      } catch (err) {
        return refused(err)
      }
      return noteAll(i, 1)
    },
    later: (i) => log.append(record(i)).then(() => noteAll(i, 1), refused),
    batch: (first, count) => {
      const records = Array.from({ length: count }, (_, i) => record(first + i))
      return log.append(records).then(() => noteAll(first, count), refused)
    }
  }
}

async function run (t, name, storage, folder, watch) {
  for (const maxSize of [MIB, 2 * MIB]) {
    const log = SegmentedLog(`${folder}-${maxSize}`, { storage, maxSize })
    await log.ready()
    const stop = watch(log.filename)
    const taken = []
    const codes = new Set()
    await programs[name](log, createAppend(log, taken, codes))
    codes.delete('ERR_LOG_NOT_READY')
    t.deepEqual([...codes], [], 'what was refused says that it can be tried again')
    await log.append(record(9999))
    taken.push(9999)
    const most = stop()
    t.ok(most <= maxSize, `${name}: ${most} bytes at most of ${maxSize}`)
    const kept = (await collectNumbers(log)).filter((number) => number < 10_000)
    taken.sort((a, b) => a - b)
    t.deepEqual(kept, taken.slice(-kept.length), `the newest ${kept.length} of ${taken.length} are kept`)
    t.ok(kept.length > 0)
    await log.close()
  }
}

for (const name of Object.keys(programs)) {
  tape(`quota: ${name}, watched at each change of the disk`, async (t) => {
    const disk = new SimulatedDisk()
    await run(t, name, disk.storage, '/logs', (folder) => {
      let most = 0
      disk.onChange = () => {
        const files = disk.list().filter((file) => path.dirname(file) === folder)
        most = Math.max(most, files.reduce((sum, file) => sum + disk.size(file), 0))
      }
      return () => {
        disk.onChange = null
        return most
      }
    })
  })
}

/** @param {string} folder */
function sizeOf (folder) {
  return fs.readdirSync(folder).reduce((sum, name) => {
    return sum + (fs.statSync(path.join(folder, name), { throwIfNoEntry: false })?.size ?? 0)
  }, 0)
}

const slow = slowStorage(fileStorage, createRandom(7), { isBlocking: false })
for (const [disk, storage] of [['a', fileStorage], ['a slow', slow]]) {
  tape(`2-quota-exceeded: a program that yields every few hundred records, on ${disk} real disk`, async (t) => {
    const maxSize = 2 * MIB
    const log = SegmentedLog(path.join(temporaryFolder(), 'logs'), { maxSize, storage })
    await log.ready()
    let most = 0
    const codes = new Set()
    for (let i = 0; i < 2500; i++) {
      const err = await failureOf(() => log.appendSync([record(i)]))
      if (err !== null) {
        codes.add(err.code)
        await log.append(record(i))
      }
      most = Math.max(most, sizeOf(log.filename))
      if (i % 300 === 0) await nextTurn()
    }
    t.ok(most <= maxSize, `${most} bytes at most`)
    codes.delete('ERR_LOG_NOT_READY')
    t.deepEqual([...codes], [])
    const kept = await collectNumbers(log)
    t.equal(kept.at(-1), 2499)
    t.equal(kept.at(-1) - kept[0], kept.length - 1, `the newest ${kept.length} are there`)
    await log.close()
  })
}
