'use strict'
// A tour of the package, in the order of its README.

const pino = require('pino')
const tape = require('tape')
const { collect } = require('@millrace/testkit')
const { destination, levelFilter, preset, timeFilter } = require('..')
const { newFolder, readAll } = require('./helper')

tape('tour: a line is in the file when the call returns', async (t) => {
  const folder = newFolder()
  const to = destination(folder)
  await to.ready()
  const logger = pino(to)
  logger.info({ user: 'ada' }, 'login')
  t.deepEqual((await readAll(folder)).map(({ user, msg }) => [user, msg]), [['ada', 'login']])
  await to.close()
})

tape('tour: the log is queried by level, time and field', async (t) => {
  const to = destination(newFolder())
  const logger = pino(to)
  logger.info({ user: 'ada' }, 'login')
  logger.child({ job: 7 }).warn({ user: 'bob' }, 'wrong password')
  logger.warn({ user: 'ada' }, 'again')
  await to.ready()
  const where = [timeFilter({ since: Date.now() - 3600000 }), levelFilter('warn'), { path: 'user', equals: 'bob' }]
  const found = await collect(to.log.stream({ seqs: false, where }))
  t.deepEqual(found.map(({ job, msg }) => [job, msg]), [[7, 'wrong password']])
  await to.close()
})

tape('tour: fatal is synced when the call returns', async (t) => {
  const to = destination(newFolder())
  await to.ready()
  pino(to).fatal('the end')
  t.equal(to.log.durable.value, to.log.since.value)
  await to.close()
})

tape('tour: with handleSignals false, lines are written in batches, but an error at once', async (t) => {
  const folder = newFolder()
  const to = destination(folder, { handleSignals: false })
  await to.ready()
  const logger = pino(to)
  logger.info('waits')
  t.equal((await readAll(folder)).length, 0)
  logger.error('at once')
  t.deepEqual((await readAll(folder)).map(({ msg }) => msg), ['waits', 'at once'])
  await to.close()
})

tape('tour: the production preset redacts', async (t) => {
  const [options, to] = preset('production', newFolder())
  const logger = pino({ ...options, name: 'shop' }, to)
  logger.info({ password: 'secret', card: '4111 1111 1111 1111' }, 'mail to ada@example.com')
  await to.writer.flush()
  const { name, password, card, msg } = await to.log.last({ seqs: false })
  t.deepEqual({ name, password, card, msg }, { name: 'shop', password: '[Redacted]', card: '[Redacted]', msg: 'mail to [Redacted]' })
  await to.close()
})

tape('tour: slots let several processes share a folder', async (t) => {
  const folder = newFolder()
  const both = [destination(folder, { slots: 16 }), destination(folder, { slots: 16 })]
  for (const [index, to] of both.entries()) {
    await to.ready()
    pino(to).info(`from ${index}`)
  }
  for (const to of both) await to.close()
  const { MergedLog } = require('@millrace/merged-log')
  const { lines } = require('@millrace/log-writer')
  const log = MergedLog(folder, { codec: lines })
  t.deepEqual((await collect(log.stream())).map(({ value }) => value.msg).sort(), ['from 0', 'from 1'])
  await log.close()
})
