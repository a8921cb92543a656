'use strict'
// A log shipped into another one: each record once, whatever happens to the shipper, the target and the source.

const fs = require('node:fs')
const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { SegmentedLog } = require('@millrace/segmented-log')
const { OffsetLog } = require('@millrace/offset-log')
const { collect, createRandom, failureOf, temporaryFolder, until } = require('@millrace/testkit')
const { ship, verifyShipped } = require('..')
const { fill, kindsOf, makeLog, range } = require('./helpers')
const { numbersOf, shipAll, shipTo } = require('./ship-helpers')

const close = (...logs) => Promise.all(logs.map((log) => log.close()))

/** A log that passes calls on, but for those that a test replaces. @type {(log: any, replaced: any) => any} */
function around (log, replaced) {
  return new Proxy(log, { get: (inner, name) => replaced[name] ?? inner[name] })
}

tape('ship: each record is in the target once, with the id of the source and its seq there', async (t) => {
  const [source, target] = [makeLog(), makeLog()]
  await fill(source, 1200)
  const shipper = shipTo(source, target)
  await shipper.drained()
  await fill(source, 10, 1200)
  await shipper.drained()
  t.deepEqual(await numbersOf(target), range(0, 1210))
  const { id } = await source.stats()
  const { seq } = await source.last()
  t.deepEqual((await target.last()).value, { log: id, seq, value: { n: 1209 } })
  t.equal(shipper.stats().forwarded, 1210)
  t.equal((await shipper.verify()).isSame, true)
  await shipper.close()
  t.deepEqual(await shipAll(source, target), [], 'another shipper goes on')
  t.equal(await target.count(), 1210)
  await close(source, target)
})

tape('ship: between framings, segments and codecs', async (t) => {
  const makeSegmented = () => SegmentedLog(temporaryFolder(), { codec: binaryCodec, segmentSize: 2 ** 16 })
  for (const source of [makeLog({ framing: 'offset32' }), makeLog({ codec: binaryCodec }), makeSegmented()]) {
    await fill(source, 700)
    for (const target of [makeLog(), makeLog({ framing: 'offset53' }), makeLog({ codec: binaryCodec }), makeSegmented()]) {
      t.deepEqual(await shipAll(source, target, { name: 'x', path: `${temporaryFolder()}/x` }), [])
      t.equal((await verifyShipped(source, target)).isSame, true)
      await close(target)
    }
    await close(source)
  }
})

tape('ship: bytes stay bytes, and have a head', async (t) => {
  const [source, target] = [makeLog({ codec: undefined }), makeLog({ codec: undefined })]
  await source.append([Buffer.from('first'), Buffer.alloc(0), Buffer.from([0xff, 0])])
  await shipAll(source, target)
  const { seq, value } = await target.last()
  t.equal(value.toString('hex', 0, 16), (await source.stats()).id)
  t.equal(Number(value.readBigUInt64BE(16)), source.since.value)
  t.deepEqual([...value.subarray(24)], [0xff, 0])
  t.ok(seq > 0)
  t.deepEqual(await shipAll(source, target), [])
  const { isSame, source: count } = await verifyShipped(source, target)
  t.deepEqual([isSame, count], [true, 3])
  await close(source, target)
})

tape('ship: without its cursor it goes on behind the target\'s last record', async (t) => {
  const [source, target] = [makeLog(), makeLog()]
  await fill(source, 50)
  await shipAll(source, target)
  fs.unlinkSync(`${source.filename}.ship.cursor`)
  await fill(source, 50, 50)
  t.deepEqual(await shipAll(source, target, { start: 'next' }), [], 'whatever start says')
  t.deepEqual(await numbersOf(target), range(0, 100))
  fs.writeFileSync(`${source.filename}.ship.cursor`, 'x'.repeat(8192))
  t.deepEqual((await shipAll(source, target)).map(({ what }) => what), ['cursor'])
  t.equal(await target.count(), 100)
  await close(source, target)
})

tape('ship: records that were deleted from the end of the target, which was opened again, are not shipped again', async (t) => {
  const [source, target] = [makeLog(), makeLog()]
  await fill(source, 5)
  await shipAll(source, target)
  const seqs = await collect(target.stream({ values: false }))
  await target.del(seqs.slice(3))
  await close(target)
  const reopened = makeLog({}, target.filename)
  await reopened.ready()
  t.equal(reopened.since.value, seqs[2])
  const shipper = shipTo(source, reopened)
  await shipper.drained()
  await fill(source, 2, 5)
  await shipper.drained()
  await shipper.close()
  t.deepEqual(shipper.reports, [])
  t.deepEqual(await numbersOf(reopened), [0, 1, 2, 5, 6])
  await close(source, reopened)
})

tape('ship: an append that fails after it has written adds nothing twice', async (t) => {
  const [source, target] = [makeLog(), makeLog()]
  await fill(source, 400)
  let calls = 0
  const flaky = around(target, {
    append: async (values) => {
      calls++
      // Nothing, all of it, or a first part arrives; nobody says so.
      if (calls % 4 === 1) throw new Error('not arrived')
      if (calls % 4 === 2) await target.append(values.slice(0, 7))
      if (calls % 4 === 3) await target.append(values)
      if (calls % 4 === 0) return target.append(values)
      throw new Error('the answer was lost')
    }
  })
  const shipper = shipTo(source, flaky, { batch: { count: 20, ageMs: 0 } })
  await shipper.drained()
  t.deepEqual(await numbersOf(target), range(0, 400))
  t.equal(shipper.stats().forwarded, 400)
  t.deepEqual(kindsOf(shipper).sort(), ['recovered', 'retry'])
  await shipper.close()
  await close(source, target)
})

tape('ship: a try that arrives late, after the next one was begun, is recognised', async (t) => {
  const [source, target] = [makeLog(), makeLog()]
  await fill(source, 30)
  let late = null
  const slow = around(target, {
    append: async (values) => {
      if (late === null) {
        late = values
        throw new Error('timeout')
      }
      if (late !== values && late.length > 0) {
        await target.append(late)
        late = []
        throw Object.assign(new Error('wrong last sequence'), { code: 'ERR_SHIP_TARGET_TAKEN' })
      }
      return target.append(values)
    }
  })
  const shipper = shipTo(source, slow, { batch: { count: 10, ageMs: 0 } })
  await shipper.drained()
  t.deepEqual(await numbersOf(target), range(0, 30))
  await shipper.close()
  await close(source, target)
})

tape('ship: tries of which nothing, a part or all arrives, at once or later, add each record once', async (t) => {
  const taken = () => Object.assign(new Error('wrong last sequence'), { code: 'ERR_SHIP_TARGET_TAKEN' })
  const lost = () => new Error('the answer was lost')
  for (let round = 0; round < 40; round++) {
    const random = createRandom(round)
    const [source, target] = [makeLog(), makeLog()]
    await fill(source, 300)
    /** A try that arrives before the next one. */
    let late = []
    const append = async (values) => {
      const [arrived, begun] = [late, random(2) === 0 ? values.length : 1 + random(values.length)]
      late = []
      if (arrived.length > 0) {
        await target.append(arrived)
        throw taken()
      }
      switch (random(6)) {
        case 0: throw lost()
        case 1: throw taken()
        case 2: late = values.slice(0, begun); throw lost()
        case 3: await target.append(values.slice(0, begun)); throw lost()
        default: return target.append(values)
      }
    }
    const shipper = shipTo(source, around(target, { append }), { batch: { count: 20, ageMs: 0 } })
    t.equal(await failureOf(() => shipper.drained()), null, `seed ${round}`)
    t.deepEqual(await numbersOf(target), range(0, 300))
    await shipper.close()
    await close(source, target)
  }
})

tape('ship: a target that was reset, or restored from an older copy, is noticed, said and filled again', async (t) => {
  const [source, first] = [makeLog(), makeLog()]
  await fill(source, 100)
  await shipAll(source, first)
  const copy = `${first.filename}.copy`
  await first.snapshot(copy)
  await fill(source, 100, 100)
  await shipAll(source, first)
  await close(first)

  fs.copyFileSync(copy, first.filename)
  const older = makeLog({}, first.filename)
  const { isSame, counts, differences } = await verifyShipped(source, older)
  t.deepEqual([isSame, counts.missing, differences.length], [false, 100, 1], 'the check finds it')
  const refusing = shipTo(source, older, { refill: false })
  t.equal((await failureOf(() => refusing.drained()))?.code, 'ERR_SHIP_TARGET_LOST')
  await refusing.close()
  t.deepEqual(refusing.reports.map(({ what }) => what), ['stopped'])
  t.equal(await older.count(), 100, 'nothing was shipped')
  const [report, ...others] = await shipAll(source, older)
  t.deepEqual([report.what, others], ['target', []])
  t.match(report.message, /was reset, or restored from an older copy: it had the record \d+ at \d+, and now ends with/)
  t.deepEqual(await numbersOf(older), range(0, 200))
  await close(older)

  fs.unlinkSync(first.filename)
  const empty = makeLog({}, first.filename)
  t.deepEqual((await verifyShipped(source, empty)).counts.missing, 200)
  t.match((await shipAll(source, empty))[0].message, /and has no record now; going on with the first record/)
  t.deepEqual(await numbersOf(empty), range(0, 200))
  await close(source, empty)
})

tape('ship: a target that is reset while the shipper runs', async (t) => {
  const source = makeLog()
  let target = makeLog()
  const first = target
  const replaced = new Proxy({}, { get: (_, name) => target[name] })
  await fill(source, 100)
  const shipper = shipTo(source, replaced)
  await shipper.drained()
  target = makeLog()
  await fill(source, 100, 100)
  await shipper.drained()
  t.deepEqual(kindsOf(shipper), ['target'])
  t.deepEqual(await numbersOf(target), range(0, 200))
  await shipper.close()
  await close(source, first, target)
})

tape('ship: a source that was restored from an older copy, or replaced, stops the shipper', async (t) => {
  const [source, target] = [makeLog(), makeLog()]
  await fill(source, 50)
  await source.snapshot(`${source.filename}.copy`)
  await fill(source, 50, 50)
  await shipAll(source, target)
  await close(source)
  fs.copyFileSync(`${source.filename}.copy`, source.filename)
  for (const [title, first] of [['shorter', null], ['with other records at the same seqs', 1050]]) {
    const restored = makeLog({}, source.filename)
    if (first !== null) await fill(restored, 50, first)
    const shipper = shipTo(restored, target)
    t.equal((await failureOf(() => shipper.drained()))?.code, 'ERR_SHIP_SOURCE_CHANGED', title)
    await shipper.close()
    t.equal((await verifyShipped(restored, target)).isSame, false, `${title}: the check finds it`)
    await close(restored)
  }
  const other = makeLog()
  await fill(other, 10)
  const shipper = shipTo(other, target)
  t.equal((await failureOf(() => shipper.drained()))?.code, 'ERR_SHIP_TARGET_TAKEN', 'another log')
  await shipper.close()
  t.equal(await target.count(), 100)
  await close(other, target)
})

tape('ship: two shippers, and other writers, never interleave silently', async (t) => {
  const [one, two, target] = [makeLog(), makeLog(), makeLog()]
  await fill(one, 100)
  await fill(two, 100, 1000)
  const small = { batch: { count: 5, ageMs: 0 } }
  const shippers = [shipTo(one, target, small), shipTo(two, target, small)]
  const failures = await Promise.all(shippers.map((shipper) => failureOf(() => shipper.drained())))
  t.deepEqual(failures.map((err) => err?.code).sort(), ['ERR_SHIP_TARGET_TAKEN', undefined])
  const origins = new Set()
  for await (const { log } of target.stream({ seqs: false })) origins.add(log)
  t.equal(origins.size, 1)
  for (const shipper of shippers) await shipper.close()

  const third = makeLog()
  const same = shipTo(one, third, { name: 'a', ...small })
  await same.drained()
  await same.pause()
  await fill(one, 1, 100)
  t.deepEqual(await shipAll(one, third, { name: 'b', ...small }), [], 'another shipper of the same log goes on')
  await same.resume()
  t.equal((await failureOf(() => same.drained()))?.code, 'ERR_SHIP_TARGET_TAKEN', 'and the first one stops')
  t.deepEqual(await numbersOf(third), range(0, 101))
  await same.close()

  const fourth = makeLog()
  const shipper = shipTo(one, fourth)
  await shipper.drained()
  await fourth.append({ n: 'mine' })
  await fill(one, 1, 101)
  t.equal((await failureOf(() => shipper.drained()))?.code, 'ERR_SHIP_TARGET_TAKEN', 'a program that appends')
  await shipper.close()
  await close(one, two, target, third, fourth)
})

tape('ship: what the source no longer has is told', async (t) => {
  const source = SegmentedLog(temporaryFolder(), { codec: jsonCodec })
  const target = makeLog()
  await fill(source, 20)
  const seqs = await collect(source.stream({ values: false }))
  await source.roll()
  await fill(source, 20, 20)
  const shipper = shipTo(source, target, { fsync: 'always', path: `${temporaryFolder()}/cursor` })
  await shipper.drained()
  await shipper.pause()
  for (let first = 40; first < 100; first += 20) {
    await source.roll()
    await fill(source, 20, first)
  }
  t.ok((await source.holds())[0].seq > 0, 'held')
  t.equal((await source.dropBefore(seqs[0])).count, 0)
  await source.release('ship')
  await source.dropBefore(source.since.value)
  await shipper.resume()
  await shipper.drained()
  await source.del(source.since.value)
  const numbers = await numbersOf(target)
  t.deepEqual(numbers, [...range(0, 40), ...range(80, 100)])
  t.deepEqual(kindsOf(shipper), ['skipped'])
  t.equal(shipper.stats().skipped, 1)
  const { isSame, counts } = await shipper.verify()
  t.deepEqual([isSame, counts.retained, counts.deleted], [true, 40, 1], 'the check tells what the source has given up')
  await shipper.close()
  await close(source, target)
})

tape('ship: damage in the source is told and counted', async (t) => {
  const [source, target] = [makeLog(), makeLog()]
  for (let i = 0; i < 40; i++) await source.append({ n: i, text: 'x'.repeat(2000) })
  await close(source)
  const bytes = fs.readFileSync(source.filename)
  bytes[40000] ^= 1
  fs.writeFileSync(source.filename, bytes)
  const damaged = makeLog({ flags: 'r' }, source.filename)
  const shipper = shipTo(damaged, target)
  await shipper.drained()
  t.deepEqual(shipper.reports.map(({ what }) => what), ['skipped'])
  const { isSame, lost } = await shipper.verify()
  t.deepEqual([isSame, lost.count], [true, 1])
  t.equal(lost.size > 0 && await target.count() < 40, true)
  await shipper.close()
  await close(damaged, target)
})

tape('ship: a record that the target cannot hold is set aside, once', async (t) => {
  const [source, target] = [makeLog(), makeLog({ maxRecordSize: 1000 })]
  await source.append([{ n: 0 }, { n: 1, text: 'x'.repeat(2000) }, { n: 2 }, { n: 3, text: 'x'.repeat(2000) }])
  const aside = []
  const refused = async ({ value }) => { aside.push(value.n) }
  for (let round = 0; round < 2; round++) await shipAll(source, target, { refused })
  t.deepEqual([await numbersOf(target), aside], [[0, 2], [1, 3]])
  t.deepEqual((await verifyShipped(source, target)).counts.missing, 2)
  await close(source, target)
})

tape('ship: a target that cannot be used stops the shipper, and says why', async (t) => {
  const source = makeLog()
  await fill(source, 10)
  const [closed, locked] = [makeLog(), makeLog()]
  await close(closed)
  await locked.ready()
  for (const target of [closed, makeLog({}, locked.filename), OffsetLog(locked.filename, { flags: 'r' })]) {
    const shipper = shipTo(source, target)
    const err = await failureOf(() => shipper.drained())
    t.equal(err?.code, 'ERR_SHIP_TARGET_FAILED')
    t.ok(/LOG_(CLOSED|LOCKED|READ_ONLY)/.test(err.cause?.code), err.cause?.code)
    await shipper.close()
  }
  await close(source, locked)
})

tape('ship: lag is observable, and what waits is bounded by the target', async (t) => {
  const [source, target] = [makeLog(), makeLog()]
  await fill(source, 3000)
  let open = () => {}
  const gate = new Promise((resolve) => { open = resolve })
  const slow = around(target, { append: async (values) => gate.then(() => target.append(values)) })
  const shipper = shipTo(source, slow, { lagMs: 5 })
  await until(() => shipper.lag.value?.records === 3000 && shipper.state.value === 'sending')
  t.equal(await target.count(), 0)
  open()
  await shipper.drained()
  t.equal(shipper.lag.value.records, 0)
  await shipper.close()
  await close(source, target)
})

tape('ship: misuse', async (t) => {
  const [source, target] = [makeLog(), makeLog()]
  for (const call of [
    () => ship(source, source), () => ship(source), () => ship({}, target), () => ship(source, target, { refill: 1 }),
    () => ship(source, target, { sink: () => {} }), () => ship(source, target, { nmae: 'x' })
  ]) {
    t.equal((await failureOf(call))?.code, 'ERR_INVALID_ARGUMENT')
  }
  t.equal((await failureOf(() => verifyShipped(source, target, { rangeCount: 0 })))?.code, 'ERR_INVALID_ARGUMENT')
  await close(source, target)
})

tape('ship: a reader that is behind what another shipper has shipped is no other log', async (t) => {
  const file = `${temporaryFolder()}/log`
  const [writer, target] = [makeLog({}, file), makeLog()]
  await writer.append({ n: 0 })
  const reader = makeLog({ flags: 'r' }, file)
  await reader.ready()
  // It finds nothing by itself.
  const { value } = reader.since
  const notFound = Object.assign(new Error('not found'), { code: 'ERR_RECORD_NOT_FOUND' })
  let [isBehind, hasLooked] = [true, false]
  const get = async () => {
    hasLooked = true
    throw notFound
  }
  const behind = { since: Object.assign(() => () => {}, { value }), get }
  const late = new Proxy(reader, {
    get (log, name) {
      if (name === 'refresh') isBehind = false
      const property = (isBehind && behind[name]) || log[name]
      return typeof property === 'function' && name !== 'since' ? property.bind(log) : property
    }
  })
  await writer.append({ n: 1 })
  await shipAll(writer, target, { name: 'first' })
  const shipper = shipTo(late, target, { name: 'second' })
  await until(() => hasLooked || !isBehind)
  await shipper.drained()
  await shipper.close()
  t.deepEqual(await numbersOf(target), [0, 1])
  await close(reader, writer, target)
})
