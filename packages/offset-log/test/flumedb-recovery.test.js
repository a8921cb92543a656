'use strict'
// flumedb's views after a log is not what it was: put back from a copy, or cut off by recovery. The kills are in
// lab/test/flume-kills.test.js.

const fs = require('node:fs')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { flip, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { FlumeDatabase, collect } = require('./flume/database')

const FRAMINGS = ['checked', 'offset32', 'offset48', 'offset53']

/** Views that have seen ten records, and the log's file as it was after five of them. */
async function makeViewsAhead (framing, cutSize) {
  const file = newPath('flume', 'log')
  const db = new FlumeDatabase(file, { framing, fsync: 'never' })
  for (let n = 0; n < 5; n++) await db.append({ n, text: 'x'.repeat(50) })
  await db.log.sync()
  let bytes = fs.readFileSync(file)
  if (cutSize > 0) {
    await db.append({ n: 5, text: 'x'.repeat(50) })
    bytes = fs.readFileSync(file).subarray(0, -cutSize)
  }
  for (let n = 6; n < 10; n++) await db.append({ n, text: 'x'.repeat(50) })
  await db.settled()
  const seen = db.db.since.value
  await db.close()
  fs.writeFileSync(file, bytes)
  return { file, seen }
}

const losses = { 'put back from an older copy': 0, 'whose tail recovery cut off': 20 }

for (const framing of FRAMINGS) {
  for (const [what, cutSize] of Object.entries(losses)) {
    tape(`flumedb on ${framing}: views that are ahead of a log ${what} are built again`, async (t) => {
      const { file, seen } = await makeViewsAhead(framing, cutSize)
      const db = new FlumeDatabase(file, { framing })
      await db.settled()
      t.ok(db.db.since.value < seen)
      t.equal((await collect(db.log.stream())).length, 5)
      t.equal(await db.findFault(), null)
      t.equal(db.log.recovery?.size > 0, cutSize > 0)
      for (let n = 20; n < 40; n++) await db.append({ n })
      t.ok(db.db.since.value > seen)
      t.equal(await db.findFault(), null, 'and follow it past where they had been')
      await db.close()
      const again = new FlumeDatabase(file, { framing })
      t.equal(await again.findFault(), null)
      await again.close()
    })

    tape(`flumedb on ${framing}: views of a log ${what}, grown past them meanwhile, need rebuild`, async (t) => {
      const { file, seen } = await makeViewsAhead(framing, cutSize)
      const log = OffsetLog(file, { codec: jsonCodec })
      for (let n = 20; n < 40; n++) await log.append({ n })
      t.ok(log.since.value > seen)
      if (cutSize > 0) t.ok(fs.existsSync(log.recovery.keptAt), 'what was cut off is kept, and says so')
      await log.close()
      const db = new FlumeDatabase(file, { framing })
      await db.settled()
      await db.rebuild()
      t.equal(await db.findFault(), null)
      await db.close()
    })
  }

  tape(`flumedb on ${framing}: a damaged log does not overflow the stack, nor keep flumedb from closing`, async (t) => {
    const file = newPath('flume', 'log')
    const db = new FlumeDatabase(file, { framing })
    const seqs = []
    for (let n = 0; n < 10; n++) seqs.push(await db.append({ n, text: 'x'.repeat(50) }))
    await db.close()
    flip(file, seqs[8] - 1)
    fs.rmSync(path.join(path.dirname(file), 'sum.json'), { force: true }) // flumedb may not have written it yet
    const messages = []
    const { error } = console
    console.error = ({ message }) => messages.push(message)
    const damaged = new FlumeDatabase(file, { framing }, ['sum'])
    while (messages.length < 3) await sleep(1)
    await damaged.close()
    console.error = error
    t.ok(/rebuilding sum/.test(messages[2]), 'flumedb builds the view again and again, and can be closed')
  })
}

tape('flumedb: a log that cannot be opened fails appends with a code, and does not keep flumedb from closing', async (t) => {
  const file = newPath('flume', 'log')
  fs.mkdirSync(path.dirname(file))
  fs.writeFileSync(file, 'this is no log but some text, and long enough to be taken for one at first sight')
  const db = new FlumeDatabase(file)
  await db.append({ n: 1 }).then(() => t.fail('appended'), (err) => t.equal(err.code, 'ERR_LOG_UNKNOWN_FORMAT'))
  t.equal(db.db.since.value, undefined)
  await db.close().catch((err) => t.equal(err.code, 'ERR_LOG_UNKNOWN_FORMAT'))
  t.equal(String(fs.readFileSync(file)).slice(0, 15), 'this is no log ')
})
