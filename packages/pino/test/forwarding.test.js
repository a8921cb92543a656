'use strict'
// A forwarder on the log of a destination, which replaces its log when that cannot be written any more.

const fs = require('node:fs')
const path = require('node:path')
const pino = require('pino')
const tape = require('tape')
const { Forwarder } = require('@millrace/forwarder')
const { createRandom, newPath, until } = require('@millrace/testkit')
const { destination } = require('..')
const { newFolder, upTo } = require('./helper')

/** Moves the newest segment away, as a script that rotates files does. */
function breakLog (folder, mark) {
  const newest = fs.readdirSync(folder).filter((name) => name.endsWith('.log')).sort().at(-1)
  fs.renameSync(path.join(folder, newest), path.join(folder, `${newest}.${mark}`))
}

function forward (log, seen) {
  const reports = []
  const forwarder = Forwarder(log, {
    name: 'sink',
    path: newPath('cursor'),
    batch: { ageMs: 5 },
    backoff: { minMs: 1, maxMs: 5 },
    sink: async (records) => { for (const { value } of records) seen.push(value.i) },
    onReport: (report) => reports.push(report)
  })
  return { forwarder, reports }
}

tape('forwarder: goes on with the log that takes the place of a broken one', async (t) => {
  const seed = Date.now() % 2 ** 31
  const random = createRandom(seed)
  const folder = newFolder()
  const to = destination(folder, { onReport: () => {} })
  const logger = pino(to)
  await to.ready()
  const seen = []
  const { forwarder } = forward(to.log, seen)
  let i = 0
  for (let round = 0; round < 3; round++) {
    for (const end = i + 1 + random(300); i < end; i++) logger.info({ i })
    await to.writer.flush()
    await forwarder.drained()
    t.equal(seen.at(-1), i - 1, `round ${round}, seed ${seed}`)
    const { log } = to
    breakLog(folder, round)
    await until(async () => {
      logger.info({ i: i++ })
      await to.writer.flush().catch(() => {})
      return to.log !== log
    })
  }
  for (const end = i + 100; i < end; i++) logger.info({ i })
  await to.writer.flush()
  await forwarder.drained()
  const missed = upTo(i).filter((n) => !seen.includes(n))
  // What was written into a file that was moved away before the forwarder read it is in that file only.
  t.ok(missed.length <= 3 * 2, `${missed.length} missed`)
  t.equal(seen.at(-1), i - 1)
  await forwarder.close()
  await to.close()
})

tape('forwarder: on a log that is closed before everything is sent, it says that it has stopped', async (t) => {
  const to = destination(newFolder())
  const logger = pino(to)
  await to.ready()
  const seen = []
  const { forwarder, reports } = forward(to.log, seen)
  await forwarder.drained()
  await forwarder.pause()
  logger.info({ i: 0 })
  await to.close()
  const failed = forwarder.drained().then(() => null, (err) => err)
  await forwarder.resume()
  t.equal((await failed)?.code, 'ERR_LOG_CLOSED')
  t.deepEqual(reports.map(({ what }) => what), ['stopped'])
  t.equal((await forwarder.drained().then(() => null, (err) => err))?.code, 'ERR_LOG_CLOSED')
  await forwarder.close()
})
