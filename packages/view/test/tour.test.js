'use strict'
// What a view is: a fold that follows its log, is saved, and goes on after the next open. Begin to read here.

const fs = require('node:fs')
const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { MergedLog, SlotLog } = require('@millrace/merged-log')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { failureOf, newPath, until } = require('@millrace/testkit')
const { createView } = require('..')
const { listing } = require('./helpers')

const openLog = (file = newPath('log'), options = {}) => OffsetLog(file, { codec: jsonCodec, ...options })
const sum = { name: 'sum', initial: 0, reduce: (state, { n }) => state + n }
/** Counts how often it is called, to see what is folded again. */
function counting (options = {}) {
  const view = { calls: 0, ...sum, reduce: (state, { n }) => { view.calls++; return state + n }, ...options }
  return view
}
const optionsOf = ({ calls, ...options }) => options

tape('get: has what was appended before the call', async (t) => {
  const log = openLog()
  const view = createView(log, sum)
  t.equal(await view.get(), 0, 'nothing yet')
  for (let n = 1; n <= 100; n++) {
    await log.append({ n })
    t.equal(await view.get(), n * (n + 1) / 2)
  }
  t.equal(view.since.value, log.since.value)
  await log.append([{ n: 1 }, { n: 2 }])
  const [a, b] = await Promise.all([view.get(), view.get()])
  t.deepEqual([a, b], [5053, 5053])
  await view.close()
  await log.close()
})

tape('value: follows the log without a call', async (t) => {
  const log = openLog()
  const view = createView(log, sum)
  const seen = []
  view.since((seq) => { seen.push(seq) })
  await log.append({ n: 1 })
  await until(() => view.value === 1)
  await log.append({ n: 2 })
  await until(() => view.value === 3 && view.since.value === log.since.value)
  t.equal(seen.at(-1), log.since.value)
  await view.close()
  await log.append({ n: 4 })
  t.equal(view.value, 3, 'and no more once it is closed')
  await log.close()
})

tape('close: the next one goes on where this one ended', async (t) => {
  const log = openLog()
  const first = counting()
  const view = createView(log, optionsOf(first))
  await log.append([{ n: 1 }, { n: 2 }])
  await view.get()
  await view.close()
  await view.close()
  t.equal((await failureOf(() => view.get())).code, 'ERR_VIEW_CLOSED')
  await log.close()

  const again = openLog(log.filename)
  await again.append({ n: 4 })
  const second = counting()
  const next = createView(again, optionsOf(second))
  t.equal(await next.get(), 7)
  t.deepEqual([first.calls, second.calls], [2, 1])
  await next.close()
  await again.close()
})

tape('version: another one builds the view again', async (t) => {
  const log = openLog()
  await log.append([{ n: 1 }, { n: 2 }])
  for (const [version, calls] of [[1, 2], [1, 0], [2, 2], ['2', 2], ['2', 0], [1, 2]]) {
    const counted = counting({ version })
    const view = createView(log, optionsOf(counted))
    t.equal(await view.get(), 3)
    t.equal(counted.calls, calls, `version ${version}`)
    await view.close()
  }
  await log.close()
})

tape('where: the filter of the log', async (t) => {
  const log = openLog()
  await log.append([{ n: 1, type: 'a' }, { n: 2, type: 'b' }, { n: 4, type: 'a' }, { n: 8, type: 'b' }])
  const view = createView(log, { ...sum, where: { path: 'type', equals: 'a' } })
  t.equal(await view.get(), 5)
  t.equal(view.since.value, log.since.value, 'it is past what does not match')
  await view.close()
  await log.close()
})

tape('state: in place, with a codec of its own, and with the initial state copied for each start', async (t) => {
  const log = openLog()
  const codec = {
    buffer: true,
    encode: (map) => binaryCodec.encode([...map]),
    decode: (bytes) => new Map(binaryCodec.decode(bytes))
  }
  const initial = new Map()
  const options = { name: 'map', codec, initial, reduce: (map, { n }, seq) => map.set(seq, n) }
  const seq = await log.append({ n: 1 })
  for (let round = 0; round < 2; round++) {
    const view = createView(log, options)
    t.deepEqual([...await view.get()], [[seq, 1]])
    await view.rebuild()
    t.deepEqual([...await view.get()], [[seq, 1]])
    await view.close()
  }
  t.equal(initial.size, 0)
  await log.close()
})

tape('del: a fold is not undone; rebuild folds what is left', async (t) => {
  for (const framing of ['checked', 'offset48']) {
    const log = openLog(newPath('log'), { framing })
    const seqs = await log.append([{ n: 1 }, { n: 2 }, { n: 4 }, { n: 8 }], { seqs: true })
    const view = createView(log, sum)
    t.equal(await view.get(), 15)
    await log.del([seqs[1], seqs[3]])
    t.equal(await view.get(), 15)
    await view.close()
    const counted = counting()
    const next = createView(log, optionsOf(counted))
    t.equal(await next.get(), 15, 'also if the record at the cursor is deleted')
    if (framing === 'checked') await log.compact()
    await next.close()
    const last = createView(log, sum)
    t.equal(await last.get(), 15, 'and after a compaction')
    t.equal(counted.calls, 0)
    await last.rebuild()
    t.equal(await last.get(), 5)
    await last.close()
    const after = createView(log, sum)
    t.equal(await after.get(), 5, 'which is saved')
    await after.close()
    await log.close()
  }
})

tape('del: of the last record, which the log no longer counts when it is opened again', async (t) => {
  const open = [(file) => openLog(file), (file) => SegmentedLog(file, { codec: jsonCodec })]
  for (const openAgain of open) {
    let log = openAgain(newPath('log'))
    const seqs = await log.append([{ n: 1 }, { n: 2 }, { n: 4 }], { seqs: true })
    for (const total of [7, 7 + 8]) {
      const view = createView(log, sum)
      t.equal(await view.get(), total)
      await view.close()
      await log.del(seqs.pop())
      await log.close()
      log = openAgain(log.filename)
      const counted = counting()
      const next = createView(log, optionsOf(counted))
      t.equal(await next.get(), total)
      t.equal(counted.calls, 0)
      await next.close()
      seqs.push(await log.append({ n: 8 }))
    }
    await log.close()
  }
})

tape('an older copy of the log: the view is built again, also if the log is as long as it was', async (t) => {
  for (const framing of ['checked', 'lines', 'offset48']) {
    for (const more of [[], [{ n: 5 }, { n: 6 }]]) {
      const file = newPath('log')
      let log = openLog(file, { framing })
      await log.append([{ n: 1 }, { n: 2 }])
      await log.close()
      const beside = [file, `${file}.sums`].filter((name) => fs.existsSync(name))
      const copies = beside.map((name) => [name, fs.readFileSync(name)])
      log = openLog(file)
      await log.append([{ n: 3 }, { n: 4 }])
      const view = createView(log, sum)
      t.equal(await view.get(), 10)
      await view.close()
      const end = log.since.value
      await log.close()
      for (const [name, bytes] of copies) fs.writeFileSync(name, bytes)
      log = openLog(file)
      await log.append(more)
      t.equal(log.since.value === end, more.length > 0, framing)
      const next = createView(log, sum)
      t.equal(await next.get(), more.length > 0 ? 14 : 3)
      await next.close()
      await log.close()
    }
  }
})

tape('rebuild: while the state before is being saved', async (t) => {
  const log = openLog()
  const seqs = await log.append([{ n: 1 }, { n: 2 }, { n: 4 }], { seqs: true })
  const view = createView(log, sum)
  await view.get()
  await log.del(seqs[1])
  await Promise.all([view.save(), view.rebuild(), view.save()])
  t.equal(await view.get(), 5)
  await view.close()
  const next = createView(log, { ...sum, reduce: () => { throw new Error('folded again') } })
  t.equal(await next.get(), 5, 'the new one is saved')
  await next.close()
  await log.close()
})

tape('rebuild: begins anew if records are dropped meanwhile, but not for ever', async (t) => {
  for (const [failures, total] of [[4, 7], [5, null]]) {
    const log = openLog()
    await log.append([{ n: 1 }, { n: 2 }, { n: 4 }])
    let left = failures
    const stream = (options) => left-- > 0 ? dropping(log.stream(options)) : log.stream(options)
    const view = createView({ ...log, stream, since: log.since, filename: log.filename }, sum)
    if (total === null) t.equal((await failureOf(() => view.get())).code, 'ERR_VIEW_STALE')
    else t.equal(await view.get(), total)
    await view.close()
    await log.close()
  }
})

/** The first record, and then what a log says that has dropped the next one. */
async function * dropping (source) {
  for await (const entry of source) {
    if (entry.value.n > 1) throw Object.assign(new Error('dropped'), { code: 'ERR_LOG_SEQ_RETAINED' })
    yield entry
  }
}

tape('reduce: what throws, or gives no state, stops the view before the record', async (t) => {
  const faults = [() => { throw new Error('no such account') }, () => undefined, async () => 1]
  for (const fault of faults) {
    const log = openLog()
    let isBroken = false
    const reduce = (state, value) => isBroken && value.n === 2 ? fault() : { total: state.total + value.n }
    const view = createView(log, { name: 'sum', initial: { total: 0 }, reduce })
    await log.append({ n: 1 })
    await view.get()
    await view.save()
    isBroken = true
    const seq = await log.append({ n: 2 })
    const err = await failureOf(() => view.get())
    t.deepEqual([err.code, err.seq], ['ERR_VIEW_REDUCE', seq])
    await log.append({ n: 4 })
    t.equal(await failureOf(() => view.get()), err, 'it stays so')
    t.equal(view.status().failure, err)
    t.deepEqual(view.value, { total: 1 })
    isBroken = false
    t.equal(await failureOf(() => view.get()), err, 'until it is opened or built again')
    await view.close()
    const next = createView(log, { name: 'sum', initial: { total: 0 }, reduce })
    t.deepEqual(await next.get(), { total: 7 })
    isBroken = true
    t.equal((await failureOf(() => next.rebuild())).code, 'ERR_VIEW_REDUCE')
    isBroken = false
    await next.rebuild()
    t.deepEqual(await next.get(), { total: 7 })
    await next.close()
    await log.close()
  }
})

tape('state: what cannot be saved is refused, and not saved as something else', async (t) => {
  const log = openLog()
  const view = createView(log, { name: 'map', initial: {}, reduce: () => new Map() })
  await log.append({ n: 1 })
  await view.get()
  t.equal((await failureOf(() => view.save())).code, 'ERR_CODEC_ENCODE')
  t.equal((await failureOf(() => view.get())).code, 'ERR_CODEC_ENCODE')
  t.notOk(fs.existsSync(`${log.filename}.map.view`))
  await view.close()
  await log.close()
})

tape('saveMs: the state is saved while it changes, and the log is synced before', async (t) => {
  const log = openLog(newPath('log'), { fsync: 'never' })
  const view = createView(log, { ...sum, saveMs: 1 })
  await log.append({ n: 1 })
  await until(() => view.status().saved === log.since.value)
  t.ok(log.durable.value >= view.status().saved)
  await view.close()
  await log.close()
})

tape('a long build: is saved on the way, and goes on from there', async (t) => {
  for (const action of ['save', 'close']) {
    const log = openLog()
    await log.append(Array.from({ length: 5000 }, (_, n) => ({ n })))
    let acted = null
    const view = createView(log, {
      ...listing,
      saveMs: 3_600_000,
      reduce: (state, value, seq) => {
        if (value.n === 2500) acted = view[action]()
        return listing.reduce(state, value, seq)
      }
    })
    const got = failureOf(() => view.get())
    await until(() => acted !== null)
    await acted
    const { saved } = view.status()
    t.ok(saved > 0 && saved < log.since.value, `${action}: in the middle`)
    t.equal((await got)?.code, action === 'close' ? 'ERR_VIEW_CLOSED' : undefined)
    await log.close()
    await view.close()
    const again = openLog(log.filename)
    let folded = 0
    const next = createView(again, {
      ...listing,
      reduce: (state, value, seq) => {
        folded++
        return listing.reduce(state, value, seq)
      }
    })
    t.deepEqual((await next.get()).map(([, n]) => n), Array.from({ length: 5000 }, (_, n) => n))
    t.ok(folded > 0 && folded < 2600, `${folded} were left`)
    await next.close()
    await again.close()
  }
})

tape('close of the log first: the view goes on from what was saved', async (t) => {
  const log = openLog()
  const view = createView(log, sum)
  await log.append({ n: 1 })
  await view.get()
  await view.save()
  await log.append({ n: 2 })
  await view.get()
  await log.close()
  t.equal((await failureOf(() => view.get())).code, 'ERR_LOG_CLOSED')
  await view.close()
  const again = openLog(log.filename)
  const counted = counting()
  const next = createView(again, optionsOf(counted))
  t.equal(await next.get(), 3)
  t.equal(counted.calls, 1)
  await next.close()
  await again.close()
})

tape('drop: removes the file', async (t) => {
  const log = openLog()
  const view = createView(log, sum)
  await log.append({ n: 1 })
  await view.get()
  await view.save()
  t.ok(fs.existsSync(`${log.filename}.sum.view`))
  await view.drop()
  t.notOk(fs.existsSync(`${log.filename}.sum.view`))
  const next = createView(log, sum)
  t.equal(await next.get(), 1)
  await next.drop()
  await log.close()
})

tape('a reader: begins with what the writer has saved, goes on, and writes nothing', async (t) => {
  const log = openLog()
  const view = createView(log, sum)
  await log.append([{ n: 1 }, { n: 2 }])
  await view.get()
  await view.save()
  const counted = counting()
  const reader = openLog(log.filename, { flags: 'r' })
  const seen = createView(reader, { ...optionsOf(counted), saveMs: 1 })
  t.equal(await seen.get(), 3)
  t.equal(counted.calls, 0)
  await log.append({ n: 4 })
  await until(async () => await seen.get() === 7)
  const before = fs.readFileSync(`${log.filename}.sum.view`)
  await seen.save()
  t.equal((await failureOf(() => seen.drop())).code, 'ERR_LOG_READ_ONLY')
  t.deepEqual(fs.readFileSync(`${log.filename}.sum.view`), before)
  t.equal(await seen.get(), 7, 'a drop that was refused leaves it open')
  await seen.close()
  const other = createView(reader, { ...sum, version: 2 })
  t.equal(await other.get(), 7, 'another version is built in memory')
  await other.close()
  t.deepEqual(fs.readFileSync(`${log.filename}.sum.view`), before)
  await reader.close()
  await view.close()
  await log.close()
})

tape('misuse: is thrown at once', async (t) => {
  const log = openLog()
  const wrong = [
    [{ reduce: undefined }, /reduce must be a function/],
    [{ reduce: async () => 1 }, /async/],
    [{ name: 'a/b' }, /name must be/],
    [{ name: undefined }, /name must be/],
    [{ initial: undefined }, /initial cannot be encoded/],
    [{ initial: new Map() }, /initial cannot be encoded/],
    [{ version: NaN }, /version/],
    [{ where: { path: 'n', equal: 1 } }, /equal/],
    [{ saveMS: 1 }, /saveMs/],
    [{ saveMs: -1 }, /saveMs/],
    [{ codec: {} }, /codec/],
    [{ path: '' }, /path/],
    [{ mode: 640 }, /mode/],
    [{ storage: {} }, /storage/]
  ]
  for (const [options, message] of wrong) {
    const err = await failureOf(() => createView(log, { ...sum, ...options }))
    t.equal(err?.code, 'ERR_INVALID_ARGUMENT', String(message))
    t.match(err?.message ?? '', message)
  }
  t.equal((await failureOf(() => createView({}, sum))).code, 'ERR_INVALID_ARGUMENT')
  t.equal((await failureOf(() => createView(log))).code, 'ERR_INVALID_ARGUMENT')
  const view = createView(log, sum)
  const twice = await failureOf(() => createView(log, sum))
  t.equal(twice.code, 'ERR_INVALID_ARGUMENT')
  t.match(twice.message, /already/)
  await view.close()
  await createView(log, sum).close()
  await log.close()
})

tape('a log that cannot be opened: get says why', async (t) => {
  const file = newPath('log')
  fs.writeFileSync(file, 'this is no log')
  const log = openLog(file)
  const view = createView(log, sum)
  t.equal((await failureOf(() => view.get())).code, 'ERR_LOG_UNKNOWN_FORMAT')
  await view.close()
  await log.close().catch(() => {})
})

tape('segments: retention waits for the view, and the view keeps what it has folded', async (t) => {
  const log = SegmentedLog(newPath('log'), { codec: jsonCodec })
  const view = createView(log, { ...sum, saveMs: 60_000 })
  await view.get()
  for (let n = 0; n < 5; n++) {
    await log.append({ n: 2 ** n })
    await log.roll()
  }
  t.equal((await log.dropBefore(log.since.value)).count, 0, 'nothing is saved yet')
  t.equal(await view.get(), 31)
  t.equal((await log.dropBefore(log.since.value)).count, 0)
  await view.save()
  t.ok((await log.dropBefore(log.since.value)).count > 0, 'what is in the saved state may go')
  await view.close()
  const next = createView(log, sum)
  t.equal(await next.get(), 31)
  await next.drop()
  t.deepEqual(await log.holds(), [])
  await log.close()
})

tape('segments: a view that cannot be built again as it was says so', async (t) => {
  const log = SegmentedLog(newPath('log'), { codec: jsonCodec })
  const view = createView(log, sum)
  for (let n = 0; n < 5; n++) {
    await log.append({ n: 2 ** n })
    await log.roll()
  }
  await view.get()
  await view.close()
  await log.dropBefore(log.since.value)
  const file = `${log.filename}.sum.view`
  const good = fs.readFileSync(file)
  fs.writeFileSync(file, good.subarray(0, -1))
  const damaged = createView(log, sum)
  t.equal((await failureOf(() => damaged.get())).code, 'ERR_VIEW_STALE')
  await damaged.close()
  t.equal(fs.readFileSync(file).length, good.length - 1, 'it is left as it was')
  fs.writeFileSync(file, good)
  const restored = createView(log, sum)
  t.equal(await restored.get(), 31)
  await restored.close()
  const left = createView(log, { ...sum, version: 2 })
  t.equal(await left.get(), 16, 'another version begins with what is left')
  await left.close()
  fs.writeFileSync(file, '')
  const rebuilt = createView(log, sum)
  t.equal((await failureOf(() => rebuilt.get())).code, 'ERR_VIEW_STALE')
  await rebuilt.rebuild()
  t.equal(await rebuilt.get(), 16)
  await rebuilt.close()
  await log.close()
})

tape('segments: records that are dropped in spite of the hold are missed, not passed over', async (t) => {
  const log = SegmentedLog(newPath('log'), { codec: jsonCodec })
  const view = createView(log, sum)
  await log.append({ n: 1 })
  await log.roll()
  await view.get()
  await view.close()
  await log.append({ n: 2 })
  await log.roll()
  await log.append({ n: 4 })
  await log.roll()
  await log.append({ n: 8 })
  await log.release('view-sum')
  await log.dropBefore(log.since.value)
  const next = createView(log, sum)
  t.equal((await failureOf(() => next.get())).code, 'ERR_VIEW_STALE')
  await next.rebuild()
  t.equal(await next.get(), 8)
  await next.close()
  await log.close()
})

tape('MergedLog: is refused, and each slot has a view', async (t) => {
  const folder = newPath('slots')
  const slot = SlotLog(folder, { codec: jsonCodec })
  await slot.append([{ n: 1 }, { n: 2 }])
  const log = MergedLog(folder, { codec: jsonCodec })
  await log.ready()
  t.equal((await failureOf(() => createView(log, sum))).code, 'ERR_NOT_SUPPORTED')
  t.match((await failureOf(() => createView(slot, sum))).message, /its property log/)
  const views = []
  log.eachSlot((slotLog) => { views.push(createView(slotLog, sum)) })
  t.deepEqual(await Promise.all(views.map((view) => view.get())), [3])
  await Promise.all(views.map((view) => view.close()))
  await log.close()
  await slot.close()
})
