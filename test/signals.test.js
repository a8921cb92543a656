'use strict'
// Every call of a log that takes `signal`: one that is aborted before ends it, one that is aborted later ends it too or
// comes too late, and no listener is left.

const tape = require('tape')
const { createIndex } = require('@millrace/index')
const { jsonCodec } = require('@millrace/json-codec')
const { MergedLog, SlotLog } = require('@millrace/merged-log')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { collect, newPath } = require('@millrace/testkit')

const where = { path: 'n', equals: 1 }
/** @type {Record<string, (log: any, options: object, seq: any) => Promise<unknown>>} */
const CALLS = {
  get: (log, options, seq) => log.get(seq, options),
  getMany: (log, options, seq) => log.getMany([seq, seq], options),
  first: (log, options) => log.first({ where, ...options }),
  last: (log, options) => log.last({ where, ...options }),
  count: (log, options) => log.count({ where, ...options }),
  explain: (log, options) => log.explain({ where, ...options }),
  stream: (log, options) => collect(log.stream({ where, ...options })),
  scan: (log, options) => log.scan?.({ where, ...options }, () => {})
}
const fill = async (log) => {
  const seq = await log.append([{ n: 1 }, { n: 2 }])
  await log.sync()
  return seq
}
const options = () => ({ codec: jsonCodec, index: createIndex(['n']) })
const LOGS = {
  'a log': async () => {
    const log = OffsetLog(newPath('log'), options())
    return { log, seq: await fill(log) }
  },
  'a segmented log': async () => {
    const log = SegmentedLog(newPath('log'), options())
    return { log, seq: await fill(log) }
  },
  'a merged log': async () => {
    const folder = newPath('slots')
    const slot = SlotLog(folder, options())
    const seq = await fill(slot)
    await slot.close()
    return { log: MergedLog(folder, options()), seq: `0:${seq}` }
  }
}

/** Counts its listeners. */
function createSignal () {
  const controller = new AbortController()
  const { signal } = controller
  let count = 0
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)]
  signal.addEventListener = (name, listener, given) => {
    count++
    add(name, listener, given)
  }
  signal.removeEventListener = (name, listener) => {
    count--
    remove(name, listener)
  }
  return { signal, abort: () => controller.abort(), countListeners: () => count }
}

for (const [title, open] of Object.entries(LOGS)) {
  tape(`signals: ${title}`, async (t) => {
    const { log, seq } = await open()
    await log.ready()
    for (const [name, call] of Object.entries(CALLS)) {
      if (name === 'scan' && title === 'a merged log') continue
      const before = createSignal()
      before.abort()
      const { code } = await call(log, { signal: before.signal }, seq).then(() => ({ code: 'it went on' }), (err) => err)
      t.equal(code, 'ABORT_ERR', `${name}: aborted before`)
      const during = createSignal()
      const ending = call(log, { signal: during.signal }, seq).then(() => undefined, (err) => err.code)
      during.abort()
      t.ok([undefined, 'ABORT_ERR'].includes(await ending), `${name}: aborted meanwhile`)
      const after = createSignal()
      await call(log, { signal: after.signal }, seq)
      t.equal(after.countListeners(), 0, `${name}: no listener is left`)
      t.equal(before.countListeners(), 0, `${name}: none is left of the first`)
    }
    await log.close()
  })
}
