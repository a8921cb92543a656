'use strict'
// A log closes all that it has open, and unlocks its file, also if one of its files fails to close.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk } = require('@millrace/testkit')
const { createIndex } = require('@millrace/index')
const { OffsetLog } = require('..')

const INDEX = createIndex(['a'], { tuning: { recordsMax: 50, waitMs: 1 } })

/** @returns {Promise<SimulatedDisk>}  with a log, and its index */
async function makeDisk (framing) {
  const disk = new SimulatedDisk()
  const log = OffsetLog('/log', { codec: jsonCodec, framing, storage: disk.storage, index: INDEX })
  for (let a = 0; a < 300; a++) await log.append({ a: a % 5 })
  await log.sync()
  await log.index.ready()
  await log.close()
  return disk
}

/** A storage that counts what is open, and whose files may fail when they are closed. */
function countOpen (inner, failsToClose) {
  const open = new Map()
  const note = (file, change) => open.set(file, (open.get(file) ?? 0) + change)
  return {
    open,
    storage: {
      ...inner,
      open: (file, options, cb) => inner.open(file, options, (err, handle) => {
        if (err) return cb(err)
        note(file, 1)
        const close = (done) => handle.close(() => {
          note(file, -1)
          done(failsToClose(file) ? Object.assign(new Error(`${file} failed`), { code: 'EIO' }) : null)
        })
        cb(null, { ...handle, close })
      })
    }
  }
}

for (const framing of ['lines', 'checked']) {
  for (const suffix of ['.run', '.sums', '/log']) {
    tape(`left open: a close that fails at ${suffix} closes all the same, and unlocks the log (${framing})`, async (t) => {
      const disk = await makeDisk(framing)
      // Before it is closed, the index opens and closes files, too.
      let isClosing = false
      const { storage, open } = countOpen(disk.storage, (file) => isClosing && file.endsWith(suffix))
      const options = { codec: jsonCodec, framing, storage, index: INDEX }
      const log = OffsetLog('/log', options)
      await log.append({ a: 1 })
      await log.index.ready()
      isClosing = true
      await log.close().catch(({ code }) => t.equal(code, 'EIO'))
      t.deepEqual([...open].filter(([, count]) => count !== 0).map(([file]) => file), [])
      const again = OffsetLog('/log', { ...options, storage: disk.storage })
      t.equal(await again.count(), 301)
      t.equal(again.recovery, null, 'it was finished')
      await again.close()
    })
  }
}
