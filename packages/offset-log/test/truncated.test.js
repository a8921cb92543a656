'use strict'
// A checked log that lost its end, which was on stable storage: every way to read it says so, in both directions.

const fs = require('node:fs')
const tape = require('tape')
const { newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const PAGE_SIZE = 16384

async function makeLog (isCompacted) {
  const file = newPath('log')
  const log = OffsetLog(file)
  const seqs = []
  for (let i = 0; i < 300; i++) seqs.push(await log.append(Buffer.alloc(300, i)))
  if (isCompacted) {
    await log.del(seqs.splice(10, 100))
    await log.compact()
  }
  await log.close()
  return { file, seqs, bytes: fs.readFileSync(file) }
}

/** How many records a read gives, what it ends with, and what it has skipped. */
async function read (log, options) {
  const stream = log.stream({ ...options, values: false })
  const seqs = []
  let code = null
  try {
    for await (const seq of stream) seqs.push(seq)
  } catch (err) {
    code = err.code
  }
  return { seqs, code, lost: { ...stream.lost } }
}

for (const isCompacted of [false, true]) {
  tape(`truncated: reverse reads say so, at any length${isCompacted ? ', of a compacted log' : ''}`, async (t) => {
    const { file, seqs, bytes } = await makeLog(isCompacted)
    const cuts = [bytes.length - 1]
    for (let cut = PAGE_SIZE; cut < bytes.length; cut += PAGE_SIZE) cuts.push(cut, cut + 1, cut - 1, cut + 5000)
    for (const cut of cuts.filter((cut) => cut < bytes.length)) {
      fs.writeFileSync(file, bytes.subarray(0, cut))
      const log = OffsetLog(file, { flags: 'r' })
      await log.ready()
      const forward = await read(log, {})
      const reverse = await read(log, { reverse: true })
      t.deepEqual([forward.code, reverse.code], ['ERR_LOG_CORRUPT', 'ERR_LOG_CORRUPT'], `cut at ${cut}`)
      if (reverse.seqs.length > 0) t.fail(`${cut}: what is missing comes first`)
      for (const options of [{ limit: 1 }, { gt: seqs[0] }, { lte: seqs[seqs.length - 1] }]) {
        const { code } = await read(log, { reverse: true, ...options })
        if (code !== 'ERR_LOG_CORRUPT') t.fail(`${cut}: ${JSON.stringify(options)}`)
      }
      const skipping = [false, true].map((reverse) => read(log, { reverse, onCorrupt: 'skip' }))
      const [skipped, skippedBack] = await Promise.all(skipping)
      t.deepEqual([skippedBack.code, skippedBack.lost], [null, skipped.lost])
      t.ok(String(skippedBack.seqs) === String([...skipped.seqs].reverse()), `${skippedBack.seqs.length} records`)
      t.ok(skipped.lost.count > 0 && skipped.lost.size > 0)
      const { length } = forward.seqs
      // Its pages are found by looking into some of them, and into those at the end first.
      if (length > 5 && !isCompacted) {
        const before = await read(log, { reverse: true, lt: forward.seqs[length - 2] })
        t.deepEqual([before.code, before.lost], [null, { count: 0, size: 0 }])
        t.ok(String(before.seqs) === String(forward.seqs.slice(0, -2).reverse()), 'what lies before can be read')
      }
      await log.close()
    }
  })
}

tape('reverse: damage in the last page of a compacted log is skipped as it is forward, and since is right', async (t) => {
  const { file, seqs, bytes } = await makeLog(true)
  const lastPage = bytes.length - 1 - (bytes.length - 1) % PAGE_SIZE
  for (const at of [5, 500]) {
    bytes[lastPage + at] ^= 1
    fs.writeFileSync(file, bytes)
    bytes[lastPage + at] ^= 1
    const log = OffsetLog(file, { flags: 'r', onCorrupt: 'skip' })
    await log.ready()
    const forward = await read(log, {})
    const reverse = await read(log, { reverse: true })
    t.ok(forward.seqs.length > 100 && String(reverse.seqs) === String([...forward.seqs].reverse()))
    t.deepEqual(reverse.lost, forward.lost)
    t.equal(log.since.value, forward.seqs[forward.seqs.length - 1])
    t.ok(log.since.value < seqs[seqs.length - 1])
    await log.close()
  }
})
