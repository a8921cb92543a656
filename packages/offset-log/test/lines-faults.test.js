'use strict'
// A log of lines whose storage fails, or whose file another program has hurt in a way that public reports show.

const tape = require('tape')
const { SimulatedDisk, failureOf } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const FILE = '/folder/events.jsonl'

tape('lines: if the syncs of the log and of its sums both fail, the log is poisoned, and nothing is thrown elsewhere', async (t) => {
  let fails = false
  const disk = new SimulatedDisk({ decide: ({ name }) => fails && name === 'sync' ? { code: 'EIO' } : {} })
  const log = OffsetLog(FILE, { storage: disk.storage, framing: 'lines', fsync: 'never' })
  await log.append([Buffer.from('{"n":1}'), Buffer.from('{"n":2}')])
  const thrown = []
  const note = (err) => thrown.push(err)
  process.on('unhandledRejection', note)
  fails = true
  t.equal((await failureOf(() => log.sync())).code, 'ERR_LOG_POISONED')
  await new Promise(setImmediate)
  await new Promise(setImmediate)
  process.off('unhandledRejection', note)
  t.deepEqual(thrown, [])
  fails = false
  await log.close().catch(() => {})
})
