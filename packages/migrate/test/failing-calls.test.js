'use strict'
// Whatever call of the storage fails, it is told once, with its code; nothing stays open; and the next run goes on.

const fs = require('node:fs')
const { isDeepStrictEqual } = require('node:util')
const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, collect } = require('@millrace/testkit')
const { convert, openSource } = require('..')
const { newPath } = require('./helpers')
const { writers } = require('./old-packages')

const values = Array.from({ length: 40 }, (_, n) => ({ n, text: 'x'.repeat(n * 13 % 100) }))

/** A storage that counts what is open. */
function watched (storage) {
  const open = { count: 0 }
  const watch = (handle) => {
    open.count++
    const close = (cb) => handle.close((err) => {
      open.count--
      cb(err)
    })
    return { ...handle, close }
  }
  const openFile = (path, options, cb) => storage.open(path, options, (err, handle) => cb(err, handle && watch(handle)))
  return { open, storage: { ...storage, open: openFile } }
}

/** A disk with a log that fails once, at the given call. */
function failingDisk (bytes, callIndex) {
  let index = 0
  const disk = new SimulatedDisk({ decide: () => index++ === callIndex ? { code: 'EIO' } : undefined })
  disk.put('/from', bytes)
  return { disk, wasReached: () => index > callIndex }
}

/** @returns {Promise<{ err: any, result: any, count: number }>}  when it has had time to call back twice */
function run (options) {
  return new Promise((resolve) => {
    let count = 0
    convert('/from', '/to', options, (err, result) => {
      count++
      setImmediate(() => setImmediate(() => resolve({ err, result, count })))
    })
  })
}

for (const format of ['offset32', 'flumelog-aligned-offset', 'async-append-only-log']) {
  tape(`failing calls: ${format}: each ends the conversion with its code, and the next one goes on`, async (t) => {
    const file = newPath()
    await writers[format](file, values.map((value) => jsonCodec.encode(value)), { deleted: [3, 4, 39] })
    const kept = values.filter(({ n }) => ![3, 4, 39].includes(n))
    const bytes = fs.readFileSync(file)
    const options = { fromCodec: jsonCodec, toCodec: binaryCodec, format, batchSize: 10 }
    let failedCount = 0
    for (let callIndex = 0; ; callIndex++) {
      const { disk, wasReached } = failingDisk(bytes, callIndex)
      const { open, storage } = watched(disk.storage)
      const { err, result, count } = await run({ ...options, storage })
      if (!wasReached()) {
        t.ok(failedCount > 40, `${callIndex} calls, of which ${failedCount} must not fail`)
        break
      }
      if (count !== 1) t.fail(`call ${callIndex}: called back ${count} times`)
      if (open.count !== 0) t.fail(`call ${callIndex}: ${open.count} files are open still`)
      if (err) failedCount++
      if (err && typeof err.code !== 'string') t.fail(`call ${callIndex}: ${err.stack}`)
      if (!err && result.records !== kept.length) t.fail(`call ${callIndex}: ${result.records}`)
      // Where the very last calls failed all is done; what is told then is that.
      const again = await run({ ...options, storage })
      if (again.err && !(again.err.code === 'EEXIST' && disk.list().includes('/to'))) t.fail(`call ${callIndex}: ${again.err.stack}`)
      const source = openSource('/to', { storage })
      const found = (await collect(source.stream())).map(({ bytes }) => binaryCodec.decode(bytes))
      await source.close()
      if (!isDeepStrictEqual(found, kept)) t.fail(`call ${callIndex}: another log, of ${found.length} records`)
      if (open.count !== 0) t.fail(`call ${callIndex}: ${open.count} files are open after the next run`)
    }
  })
}
