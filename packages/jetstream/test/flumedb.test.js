'use strict'
// The log below flumedb 2: a view follows, also the appends of others, and continues after reopening.

const fs = require('node:fs')
const path = require('node:path')
const { promisify } = require('node:util')
const tape = require('tape')
const Flume = require('flumedb')
const Reduce = require('flumeview-reduce')
const { jsonCodec } = require('@millrace/json-codec')
const { newPath, until } = require('@millrace/testkit')
const { JetStreamLog } = require('..')
const { serverTest, startServer } = require('./server')

/** @type {(target: any, name: string, ...args: unknown[]) => Promise<any>} */
const call = (target, name, ...args) => promisify(target[name])(...args)

serverTest(tape, 'flumedb: a view follows the log, and continues after reopening', async (t) => {
  const server = await startServer()
  const folder = newPath('flume')
  fs.mkdirSync(folder, { recursive: true })
  const options = { servers: server.url, stream: 'events', codec: jsonCodec }
  const open = () => Flume(JetStreamLog({ ...options, filename: path.join(folder, 'log') }))
    .use('sum', Reduce(1, (/** @type {number} */ total, /** @type {any} */ { n }) => total + n, null, null, 0))
  /** @type {(db: any, sum: number) => Promise<void>} */
  const reaches = async (db, sum) => {
    await until(async () => await call(db.sum, 'get', {}) === sum)
    t.equal(await call(db.sum, 'get', {}), sum)
  }
  let db = open()
  for (let n = 1; n <= 10; n++) await call(db, 'append', { n })
  await reaches(db, 55)
  t.equal((await call(db, 'get', 3)).n, 3)
  await call(db, 'close')
  db = open()
  await reaches(db, 55)
  const other = JetStreamLog(options)
  await other.append([{ n: 100 }, { n: 1000 }])
  await reaches(db, 1155)
  await call(db, 'close')
  await other.close()
  await server.remove()
})
