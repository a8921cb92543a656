'use strict'
// Faults that were found, each by its name.

const fs = require('node:fs')
const { setTimeout: sleep } = require('node:timers/promises')
const v8 = require('node:v8')
const tape = require('tape')
const { seal } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { failureOf, newPath } = require('@millrace/testkit')
const { createView } = require('..')
const { codeOf } = require('./helpers')

const sum = { name: 'sum', initial: 0, saveMs: 3_600_000, reduce: (state, { n }) => state + n }
const openLog = (options = {}, file = newPath('log')) => OffsetLog(file, { codec: jsonCodec, ...options })
const openSegments = () => SegmentedLog(newPath('log'), { codec: jsonCodec })

/** A log of which each sync takes its time. */
function withSlowSync (log) {
  const calls = ['ready', 'stream', 'scan', 'get', 'stats', 'hold', 'release']
  const bound = Object.fromEntries(calls.map((call) => [call, log[call]?.bind(log)]))
  return { ...bound, filename: log.filename, since: log.since, sync: () => sleep(60).then(() => log.sync()) }
}

tape('drop: a save whose time comes meanwhile does not bring the view back', async (t) => {
  const log = openSegments()
  const view = createView(withSlowSync(log), { ...sum, saveMs: 20 })
  await view.get()
  await log.append({ n: 1 })
  await view.get()
  await view.drop()
  await sleep(200)
  t.notOk(fs.existsSync(`${log.filename}.sum.view`))
  t.deepEqual(await log.holds(), [])
  await log.close()
})

tape('drop: save and get fail afterwards, and nothing is made again', async (t) => {
  const log = openSegments()
  await log.append({ n: 1 })
  const view = createView(log, sum)
  await view.get()
  const [saved] = await Promise.all([codeOf(() => view.save()), view.drop()])
  t.ok([null, 'ERR_VIEW_CLOSED'].includes(saved))
  t.equal(await codeOf(() => view.save()), 'ERR_VIEW_CLOSED')
  t.equal(await codeOf(() => view.get()), 'ERR_VIEW_CLOSED')
  t.notOk(fs.existsSync(`${log.filename}.sum.view`))
  t.deepEqual(await log.holds(), [])
  await log.close()
})

tape('state: what JSON would change is refused, with its path', async (t) => {
  const changed = [new Date(0), undefined, -0, Object(1), new (class A {})(), { [Symbol('s')]: 1 }, Object.assign([1], { a: 1 })]
  for (const value of changed) {
    const log = openLog()
    await log.append({ n: 1 })
    const view = createView(log, { ...sum, initial: {}, reduce: () => ({ deep: [1, { value }] }) })
    await view.get()
    const err = await failureOf(() => view.save())
    t.equal(err.code, 'ERR_CODEC_ENCODE')
    t.match(err.message, /deep.*1.*value/)
    await view.close()
    await log.close()
  }
  t.throws(() => createView(openLog(), { ...sum, initial: { at: new Date(0) } }), { code: 'ERR_INVALID_ARGUMENT' })
})

tape('state: one that cannot be saved for a moment does not stop the view', async (t) => {
  const log = openLog()
  await log.append({ n: 1 })
  const view = createView(log, { ...sum, initial: { n: 0 }, reduce: (state, { n }) => ({ n: n / (n - 1) }) })
  await view.get()
  t.equal(await codeOf(() => view.save()), 'ERR_CODEC_ENCODE')
  t.equal(view.status().failure.code, 'ERR_CODEC_ENCODE')
  t.equal(await codeOf(() => view.get()), 'ERR_CODEC_ENCODE')
  await log.append({ n: 3 })
  t.deepEqual(await view.get(), { n: 1.5 })
  await view.save()
  t.equal(view.status().failure, null)
  await view.close()
  await log.close()
})

tape('get: answers while the log grows faster than the fold', async (t) => {
  const log = openLog()
  await log.append({ n: 1 })
  const max = 40
  let count = 1
  // Each read finds that the log has grown meanwhile.
  const growing = {
    ...withSlowSync(log),
    stream: async function * (range) {
      if (count++ < max) await log.append({ n: 1 })
      yield * log.stream(range)
    }
  }
  const view = createView(growing, sum)
  t.ok(await view.get() < max / 2)
  await view.close()
  await log.close()
})

tape('since: says how far the value is, also while the view is built', async (t) => {
  const log = openLog()
  await log.append(Array.from({ length: 500 }, (_, n) => ({ n })))
  const behind = []
  const view = createView(log, {
    ...sum,
    initial: -1,
    reduce: (state, value, seq) => {
      if (view.since.value !== state) behind.push(seq)
      return seq
    }
  })
  await view.get()
  t.deepEqual(behind, [])
  await view.close()
  await log.close()
})

tape('drop: one that is refused leaves the view open', async (t) => {
  const log = openLog()
  await log.append({ n: 1 })
  const reader = openLog({ flags: 'r' }, log.filename)
  const view = createView(reader, sum)
  t.equal(await codeOf(() => view.drop()), 'ERR_LOG_READ_ONLY')
  t.equal(await view.get(), 1)
  await view.close()
  await reader.close()
  await log.close()
})

tape('save: a hold that cannot be moved was told of at each save, and not tried again until a record came', async (t) => {
  const log = openSegments()
  const view = createView(log, { ...sum, saveMs: 1 })
  await view.ready()
  // The timers of a view keep no process running.
  const running = setInterval(() => {}, 1000)
  const warnings = []
  const listen = (warning) => warnings.push(warning)
  process.on('warning', listen)
  let tries = 0
  let isFull = true
  let tell = () => {}
  const triedTimes = (count) => new Promise((resolve) => { tell = () => { if (tries >= count) resolve() } })
  const { hold } = log
  log.hold = async (...given) => {
    tries++
    tell()
    if (isFull) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
    return hold.call(log, ...given)
  }
  const tried = triedTimes(3)
  await log.append({ n: 1 })
  await tried
  const { failure } = view.status()
  t.equal(failure?.code, 'ENOSPC')
  isFull = false
  const again = triedTimes(tries + 1)
  await again
  await view.save()
  const { saved, since, failure: last } = view.status()
  t.deepEqual([saved, last], [since, null])
  t.deepEqual(warnings.map(({ name, code }) => [name, code]), [['ViewWarning', 'ENOSPC']])
  t.match(warnings[0]?.message ?? '', /^view sum: .*could not be saved \(ENOSPC: .*\); it is tried again/)
  process.off('warning', listen)
  clearInterval(running)
  await view.close()
  await log.close()
})

tape('saveMs: more than a timer can wait does not save at once, and Infinity never', async (t) => {
  const warnings = []
  const listen = ({ name }) => warnings.push(name)
  process.on('warning', listen)
  for (const saveMs of [2 ** 31, Infinity]) {
    const log = openLog()
    const view = createView(log, { ...sum, saveMs })
    await log.append({ n: 1 })
    await view.get()
    await sleep(50)
    t.equal(view.status().saved, null)
    await view.close()
    t.equal(view.status().saved, log.since.value)
    await log.close()
  }
  process.off('warning', listen)
  t.notOk(warnings.includes('TimeoutOverflowWarning'))
})

tape('name: two views of one name or one file are refused, whatever else differs', async (t) => {
  const log = openLog()
  const view = createView(log, sum)
  t.throws(() => createView(log, { ...sum, path: newPath('view') }), /has a view sum already/)
  t.throws(() => createView(log, { ...sum, name: 'other', path: `${log.filename}.sum.view` }), /a view sum with the file of other/)
  await view.close()
  await createView(log, { ...sum, path: newPath('view') }).close()
  await log.close()
})

tape('codec: one of bytes needs buffer: true, and createView says so', async (t) => {
  const log = openLog()
  const codec = { encode: v8.serialize, decode: v8.deserialize }
  const options = { ...sum, initial: new Map(), reduce: (state) => state, codec }
  t.throws(() => createView(log, options), { code: 'ERR_INVALID_ARGUMENT', message: /buffer: true/ })
  const view = createView(log, { ...options, codec: { ...codec, buffer: true } })
  t.deepEqual(await view.get(), new Map())
  await view.close()
  await log.close()
})

tape('file: one with a right checksum and wrong contents is built again', async (t) => {
  const place = { version: 1, log: null, cursor: 0, points: [] }
  const heads = ['null', '{', '[]', JSON.stringify({ ...place, points: undefined }),
    JSON.stringify({ ...place, cursor: 'x' }), JSON.stringify({ ...place, cursor: -5 }),
    JSON.stringify({ ...place, points: [['x', 'y']] }), JSON.stringify({ ...place, points: [null] })]
  for (const head of heads) {
    const log = openLog()
    await log.append({ n: 1 })
    fs.writeFileSync(`${log.filename}.sum.view`, seal('millrace-view 1', Buffer.from(`${head}\n7`)))
    const view = createView(log, sum)
    t.equal(await view.get(), 1, head)
    await view.close()
    await log.close()
  }
})

tape('reduce: what it returns has a getter `then` that throws', async (t) => {
  const log = openLog()
  await log.append({ n: 1 })
  const view = createView(log, { ...sum, reduce: () => ({ get then () { throw new Error('then') } }) })
  t.equal(await codeOf(() => view.get()), 'ERR_VIEW_REDUCE')
  await view.close()
  await log.close()
})

for (const framing of ['checked', 'lines']) {
  tape(`close: the log is closed while its view is saved: it is saved, or the log is closed, ${framing}`, async (t) => {
    const codes = new Set()
    for (let turns = 0; turns < 30; turns++) {
      const log = OffsetLog(newPath('log'), { codec: jsonCodec, framing, fsync: 'never' })
      const view = createView(log, sum)
      await log.append([{ n: 1 }, { n: 2 }])
      await view.get()
      const saving = codeOf(() => view.save())
      for (let turn = 0; turn < turns; turn++) await (turns % 2 === 0 ? null : new Promise(setImmediate))
      await log.close()
      codes.add(await saving)
      codes.add(await codeOf(() => view.close()))
    }
    for (const code of codes) t.ok([null, 'ERR_LOG_CLOSED'].includes(code), String(code))
  })
}

tape('path: a view with the path of another file wrote its state over it, and drop removed it: a log was lost', async (t) => {
  for (const framing of ['checked', 'lines']) {
    const log = openLog({ framing })
    t.throws(() => createView(log, { ...sum, path: log.filename }), { code: 'ERR_INVALID_ARGUMENT' }, framing)
    await log.append({ n: 1 })
    const other = openLog({ framing })
    await other.append({ n: 2 })
    await other.close()
    const cursor = newPath('sum.cursor')
    fs.writeFileSync(cursor, seal('millrace-cursor 1', Buffer.from('{}')))
    const note = newPath('note')
    fs.writeFileSync(note, 'ab')
    for (const file of [other.filename, cursor, note]) {
      const before = fs.readFileSync(file)
      const view = createView(log, { ...sum, saveMs: 1, path: file })
      for (const call of ['get', 'save', 'rebuild', 'drop']) {
        const code = await codeOf(() => view[call]())
        t.equal(code, call === 'save' ? null : 'EEXIST', call)
      }
      await view.close()
      t.ok(fs.readFileSync(file).equals(before), 'it is as it was')
      fs.unlinkSync(file)
      const again = createView(log, { ...sum, path: file })
      t.equal(await again.get(), 1, 'in its place there is room')
      await again.drop()
    }
    await log.close()
  }
})
