'use strict'
// `log.view`, and what closing the log does with it.

const fs = require('node:fs')
const { promisify } = require('node:util')
const tape = require('tape')
const { SimulatedDisk, failureOf, newPath } = require('@millrace/testkit')
const { createView, open, SegmentedLog } = require('..')

const sum = { name: 'sum', initial: 0, reduce: (state, { n }) => state + n }

tape('view: close of the log saves its views, with a promise or a callback', async (t) => {
  const file = newPath('events.log')
  let total = 0
  for (const close of [(log) => log.close(), (log) => promisify(log.close)(), (log) => log[Symbol.asyncDispose]()]) {
    const log = open(file)
    let calls = 0
    const views = [log.view({ ...sum, reduce: (state, { n }) => { calls++; return state + n } }), log.view({ ...sum, name: 'other' })]
    await log.append([{ n: 1 }, { n: 2 }])
    total += 3
    t.deepEqual(await Promise.all(views.map((view) => view.get())), [total, total])
    t.equal(calls, 2, 'only the new records')
    t.equal((await failureOf(() => log.view(sum))).code, 'ERR_INVALID_ARGUMENT', 'one of a name')
    await close(log)
    t.ok(fs.existsSync(`${file}.sum.view`))
    t.equal((await failureOf(() => views[0].get())).code, 'ERR_VIEW_CLOSED')
    t.equal((await failureOf(() => log.append({ n: 1 }))).code, 'ERR_LOG_CLOSED')
    await close(log)
  }
})

tape('view: a view that cannot be saved does not keep the log from being closed', async (t) => {
  const log = open(newPath('events.log'))
  const view = log.view({ name: 'map', initial: {}, reduce: () => new Map() })
  await log.append({ n: 1 })
  await view.get()
  await log.close()
  t.equal((await failureOf(() => log.append({ n: 1 }))).code, 'ERR_LOG_CLOSED')
})

tape('view: its file has the mode of its log, and is where the files of the log are', async (t) => {
  const modeOf = (file) => fs.statSync(file).mode & 0o777
  const before = process.umask(0)
  try {
    for (const [options, mode] of [[{}, 0o600], [{ mode: 0o640 }, 0o640], [{ mode: '660', maxSize: 1e9 }, 0o660]]) {
      const log = open(newPath('events'), options)
      const view = log.view(sum)
      await log.append({ n: 1 })
      await view.get()
      await log.close()
      if (process.platform !== 'win32') t.equal(modeOf(`${log.filename}.sum.view`).toString(8), mode.toString(8))
    }
  } finally {
    process.umask(before)
  }
  const disk = new SimulatedDisk()
  const log = open('/folder/events.log', { storage: disk.storage })
  await log.append({ n: 1 })
  await log.view(sum).get()
  await log.close()
  t.ok(disk.list().includes('/folder/events.log.sum.view'), disk.list().join())
})

tape('createView: of a segmented log', async (t) => {
  const log = new SegmentedLog(newPath('events'), { codec: require('..').jsonCodec })
  const view = createView(log, sum)
  await log.append({ n: 1 })
  t.equal(await view.get(), 1)
  await view.close()
  await log.close()
})
