'use strict'
// What happens at once: reads while records are deleted, closing while others work, callers that throw or never stop.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { fileStorage } = require('@millrace/block-file')
const { failureOf, faultyStorage, newPath, stopClock } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const FRAMINGS = ['checked', 'offset32']
const read = (source) => new Promise((resolve) => source(null, (end, item) => resolve({ end, item })))
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * The same test on the default framing and on a legacy one.
 * @param {string} title
 * @param {(t: object, create: (options?: object) => OffsetLog) => Promise<void>} run
 */
function test (title, run) {
  for (const framing of FRAMINGS) {
    const create = ({ file = newPath('log'), ...options } = {}) => OffsetLog(file, { framing, ...options })
    tape(`${framing}: ${title}`, (t) => run(t, create))
  }
}

/** Runs with exceptions that nobody catches collected instead of fatal. */
async function collectUncaught (run) {
  const listeners = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  const caught = []
  const collect = (err) => caught.push(err)
  process.on('uncaughtException', collect)
  await run()
  await sleep(5)
  process.removeListener('uncaughtException', collect)
  for (const listener of listeners) process.on('uncaughtException', listener)
  return caught
}

for (const mayBlock of [true, false]) {
  test(`del: a stream or a get beside it sees all of a record or nothing (blocking: ${mayBlock})`, async (t, create) => {
    for (const size of [20000, 100000, 600000]) {
      const log = create()
      log._file.blocks._file.adaptiveIo.mayBlock = () => mayBlock
      await log.append(Buffer.from('small'))
      const seq = await log.append(Buffer.alloc(size, 'x'))
      const stream = log.stream()
      await read(stream)
      await failureOf(() => log.get(seq))
      const deletion = log.del(seq)
      const [streamed, got] = await Promise.all([read(stream), log.get(seq).catch((err) => err)])
      await deletion
      if (streamed.item) t.notOk(streamed.item.value.includes(0), `stream, ${size} bytes`)
      if (got instanceof Error) t.equal(got.code, 'flumelog:deleted')
      else t.notOk(got.includes(0), `get, ${size} bytes`)
      await log.close()
    }
  })
}

test('del: once it has called back, no stream delivers the record, in either direction', async (t, create) => {
  const log = create()
  const seqs = []
  for (const text of ['a', 'b', 'c', 'd']) seqs.push(await log.append(Buffer.from(text)))
  for (const reverse of [false, true]) {
    const stream = log.stream({ reverse, values: false })
    const order = reverse ? [...seqs].reverse() : seqs
    t.equal((await read(stream)).item, order[0])
    if (!reverse) await log.del(seqs[1])
    t.equal((await read(stream)).item, reverse ? seqs[2] : seqs[2])
    if (reverse) await log.del(seqs[0])
    t.equal((await read(stream)).item, reverse ? undefined : seqs[3])
  }
  await log.close()
})

test('stream: a reversed one begins where the log ended at the call', async (t, create) => {
  const log = create()
  await log.append(Buffer.from('a'))
  const stream = log.stream({ reverse: true, seqs: false })
  await log.append(Buffer.from('b'))
  t.equal(String((await read(stream)).item), 'a')
  await log.close()
})

test('stream: a record that does not decode passes no filter, compiled or not', async (t, create) => {
  const file = newPath('log')
  const asItIs = (/** @type {Buffer} */ bytes) => bytes
  const writer = create({ file, codec: { name: 'json', buffer: true, encode: asItIs, decode: asItIs } })
  for (const text of ['{"n":1}', '{oops', '{"n":1}']) await writer.append(Buffer.from(text))
  await writer.close()
  for (const codec of [jsonCodec, { ...jsonCodec, compile: undefined }]) {
    const log = create({ file, codec })
    const values = []
    for await (const value of log.stream({ where: { path: ['n'], equals: 1 }, seqs: false })) values.push(value)
    t.deepEqual(values, [{ n: 1 }, { n: 1 }])
    await log.close()
  }
})

test('close: ends a live stream whose consumer is busy', async (t, create) => {
  const log = create()
  await log.append(Buffer.from('a'))
  const loop = (async () => {
    for await (const item of log.stream({ live: true })) await sleep(item ? 20 : 0)
  })()
  await sleep(5)
  await log.close()
  await loop
  t.pass('the loop ended')
})

test('close: a stream that has more to read afterwards ends with ERR_LOG_CLOSED', async (t, create) => {
  const log = create()
  for (let i = 0; i < 5; i++) await log.append(Buffer.alloc(200000, 1))
  const stream = log.stream()
  await read(stream)
  await log.close()
  let last
  do last = await read(stream)
  while (!last.end)
  t.equal(last.end.code, 'ERR_LOG_CLOSED')
})

test('close: waits for a scan and a get that were asked before', async (t, create) => {
  const log = create({ blockSize: 1024 })
  log._file.blocks._file.adaptiveIo.mayBlock = () => false
  const seqs = []
  for (let i = 0; i < 20; i++) seqs.push(await log.append(Buffer.alloc(100000, 1)))
  let count = 0
  const scanned = log.scan({}, (chunk) => { count += chunk.count })
  const got = log.get(seqs[0])
  await log.close()
  await scanned
  t.equal(count, 20)
  t.equal((await got).length, 100000)
})

test('close: from the callback of a deletion closes once', async (t, create) => {
  const log = create()
  const seq = await log.append(Buffer.from('a'))
  await new Promise((resolve, reject) => {
    log.del(seq, (err) => err ? reject(err) : log.close((err) => err ? reject(err) : resolve()))
  })
  t.pass('closed')
})

test('abort: while a live stream loads, the read is answered', async (t, create) => {
  const log = create()
  log._file.blocks._file.adaptiveIo.mayBlock = () => false
  await log.del(await log.append(Buffer.from('a')))
  const stream = log.stream({ live: true })
  const answer = read(stream)
  await sleep(0)
  await new Promise((resolve) => stream(true, resolve))
  t.equal((await answer).end, true)
  t.equal(log._file.waitingStreams.size, 0)
  await log.close()
})

test('abort: while a read is under way it is answered, and so is the abort', async (t, create) => {
  for (const end of [true, new Error('mine')]) {
    const file = newPath('log')
    const writer = create({ file })
    await writer.append(Buffer.alloc(1000, 1))
    await writer.close()
    let release = null
    const storage = faultyStorage(fileStorage, ({ name }) => release && name === 'read' ? { after: gate } : {})
    const log = create({ file, storage })
    log._file.blocks._file.adaptiveIo.mayBlock = () => false
    await log.ready()
    const gate = new Promise((resolve) => { release = resolve })
    const stream = log.stream()
    const answer = read(stream)
    await sleep(1)
    const aborted = new Promise((resolve) => stream(end, resolve))
    t.equal(await aborted, end)
    release()
    t.equal((await answer).end, end)
    t.equal((await read(stream)).end, end)
    await log.close()
  }
})

test('del: a stream that has come to the end of what it read ahead reads it anew', async (t, create) => {
  for (const reverse of [false, true]) {
    const log = create()
    let seqs = []
    for (let index = 0; index < 300; index++) seqs.push(await log.append(Buffer.from(`record ${index}`)))
    for (const count of [1, 63, 64, 65, 128, 192]) {
      const stream = log.stream({ reverse, values: false })
      const found = []
      const order = reverse ? [...seqs].reverse() : seqs
      for (let index = 0; index < count; index++) found.push((await read(stream)).item)
      const erased = order[order.length - 1 - count % 7]
      await log.del(erased)
      for (;;) {
        const { end, item } = await read(stream)
        if (end) break
        found.push(item)
      }
      const isRight = found.join() === order.filter((seq) => seq !== erased).join()
      t.ok(isRight, `after ${count}, reverse: ${reverse}${found.includes(erased) ? ': the deleted one is there' : ''}`)
      seqs = [...seqs.filter((seq) => seq !== erased), await log.append(Buffer.from('another'))]
    }
    await log.close()
  }
})

test('live: whatever is left of a page, its reader finds the next one', async (t, create) => {
  const log = create({ blockSize: 512 })
  const found = []
  const reading = (async () => {
    for await (const { seq, value } of log.stream({ live: true })) found.push(`${seq}: ${value.length}`)
  })()
  const expected = []
  const append = async (size) => {
    const seq = await log.append(Buffer.alloc(size, 1))
    expected.push(`${seq}: ${size}`)
    while (found.length < expected.length) await sleep(0)
    return seq + 4 + size
  }
  for (let left = 0; left < 60; left++) {
    const end = await append(50)
    // In a chunk of its own, it ends so many bytes before the page does.
    await append(2 * 16384 - end % 16384 - 44 - left)
  }
  t.deepEqual(found, expected)
  await log.close()
  await reading
})

test('since: a listener that throws stops neither appends nor close', async (t, create) => {
  const log = create()
  const thrown = new Error('mine')
  log.since((value) => {
    if (value >= 0) throw thrown
  })
  const caught = await collectUncaught(async () => {
    await log.append(Buffer.from('a'))
    await log.append(Buffer.from('b'))
    await log.close()
  })
  t.deepEqual(caught, [thrown, thrown])
})

test('ready: a callback that throws does not keep the others from theirs', async (t, create) => {
  const log = create()
  const thrown = new Error('mine')
  const caught = await collectUncaught(async () => {
    log.ready(() => { throw thrown })
    await log.append(Buffer.from('a'))
    await log.close()
  })
  t.deepEqual(caught, [thrown])
})

test('misuse: values without a string form, sparse arrays and broken codecs fail by their callbacks', async (t, create) => {
  const nothing = Object.create(null)
  const calls = (log) => [
    () => log.get(nothing), () => log.del(nothing), () => log.del([nothing]), () => log.append(new Array(2)),
    () => log.scan(nothing), () => log.scan({ gt: nothing }, () => {}),
    () => log.scan({ where: { path: [], equals: 1 } }, () => {}),
    () => read(log.stream({ where: { path: [], equals: 1 } })).then(({ end }) => { if (end) throw end })
  ]
  const codec = {
    encode: (value) => value,
    decode: (bytes) => bytes,
    buffer: true,
    compile () { throw new Error('broken') }
  }
  for (const isLoaded of [false, true]) {
    const log = create({ codec })
    if (isLoaded) await log.ready()
    for (const failure of await Promise.all(calls(log).map(failureOf))) t.ok(failure instanceof Error, failure?.message)
    await log.append(Buffer.from('a'))
    await log.close()
  }
})

test('append: a batch larger than one write can be is refused', async (t, create) => {
  const log = create()
  const large = Buffer.allocUnsafeSlow(2 ** 29)
  large[0] = 1
  t.equal((await failureOf(() => log.append([large, large, large, large]))).code, 'ERR_RECORD_TOO_LARGE')
  await log.append(Buffer.from('a'))
  await log.close()
})

test('append: a hundred thousand calls in one turn take time in proportion', async (t, create) => {
  const log = create()
  const seqs = []
  await new Promise((resolve) => {
    for (let i = 0; i < 100000; i++) {
      log.append(Buffer.from('x'), (err, seq) => {
        if (seqs.push(err ?? seq) === 100000) resolve()
      })
    }
  })
  t.equal(log.since.value, seqs[99999])
  t.ok(seqs.every((seq, index) => index === 0 || seq > seqs[index - 1]), 'in order, each with a seq of its own')
  let count = 0
  await log.scan({}, (chunk) => {
    for (let i = 0; i < chunk.count; i++) if (chunk.seqs[i] !== seqs[count++]) t.fail(`record ${count - 1}`)
  })
  t.equal(count, 100000)
  await log.close()
})

test('get: awaited in a loop, it lets timers have their turn', async (t, create) => {
  const log = create()
  const seq = await log.append(Buffer.from('a'))
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  for (let i = 0; i < 20000; i++) await log.get(seq)
  clearInterval(timer)
  t.ok(turns > 0, `${turns} turns`)
  await log.close()
})

test('get: a caller who recurses, on values or on errors, does not overflow the stack', async (t, create) => {
  const log = create()
  const seq = await log.append(Buffer.from('a'))
  for (const target of [seq, -1]) {
    await new Promise((resolve) => {
      let left = 20000
      const again = () => --left === 0 ? resolve() : log.get(target, again)
      again()
    })
  }
  t.pass('40,000 deep')
  await log.close()
})

test('append: a callback that throws keeps no other of the same write from being called', async (t, create) => {
  const log = create()
  await log.ready()
  const order = []
  const caught = await collectUncaught(async () => {
    await new Promise((resolve) => {
      for (let index = 0; index < 20; index++) {
        log.append(Buffer.from(`record ${index}`), (err, seq) => {
          order.push(err ?? index)
          if (index === 19) process.nextTick(resolve)
          if (index % 3 === 0) throw new Error(`thrown by ${index}`)
        })
      }
    })
    await log.append(Buffer.from('afterwards'))
  })
  t.deepEqual(order, Array.from({ length: 20 }, (_, index) => index), 'in order, each once')
  t.deepEqual(caught.map(({ message }) => message), [0, 3, 6, 9, 12, 15, 18].map((index) => `thrown by ${index}`))
  await log.close()
})

test('append: a flood of appends is written in order, and closing waits for the last one', async (t, create) => {
  const file = newPath('log')
  const log = create({ file, fsync: 'never' })
  await log.ready()
  const count = 20000
  const seqs = []
  let closedAfter = -1
  const begun = Array.from({ length: count }, (_, index) => {
    const record = Buffer.from(`record ${index} ${'.'.repeat(index % 97)}`)
    log.append(index % 5 === 0 ? [record, record] : record, (err, seq) => seqs.push(err ?? seq))
    return index % 5 === 0 ? [String(record), String(record)] : [String(record)]
  })
  await log.close().then(() => { closedAfter = seqs.length })
  t.equal(closedAfter, count)
  t.ok(seqs.every((seq, index) => index === 0 || seq > seqs[index - 1]), 'their seqs rise')
  const again = create({ file, flags: 'r' })
  const found = []
  await again.scan({}, ({ buffer, count, starts, ends }) => {
    for (let index = 0; index < count; index++) found.push(buffer.toString('latin1', starts[index], ends[index]))
  })
  t.equal(found.join('\n') === begun.flat().join('\n'), true)
  await again.close()
})

test('append: bytes of a write that is over are not changed by the next ones', async (t, create) => {
  const log = create({ fsync: 'never' })
  const seqs = await Promise.all(['first', 'second'].map((text) => log.append(Buffer.from(text.repeat(50)))))
  const [first] = await Promise.all([log.get(seqs[0]), log.append(Buffer.alloc(5000, 'x'))])
  await log.append(Buffer.alloc(700000, 'y'))
  t.equal(String(first), 'first'.repeat(50))
  t.equal(String(await log.get(seqs[1])), 'second'.repeat(50))
  await log.close()
})

/** @returns {() => number}  ends it: how many turns the event loop has had */
function beginCountingTurns () {
  let [turns, isOver] = [0, false]
  const take = () => {
    turns++
    if (!isOver) setImmediate(take)
  }
  setImmediate(take)
  return () => {
    isOver = true
    return turns
  }
}

test('append: writes that are done at once leave a turn of the event loop to others', async (t, create) => {
  const clock = stopClock(t)
  const log = create({ fsync: 'never' })
  const record = Buffer.alloc(690, 1)
  await log.append(record)
  const countTurns = beginCountingTurns()
  await new Promise((resolve) => {
    let pending = 0
    const started = performance.now()
    // It goes on by itself, from callback to callback, and would end if nobody else had a turn.
    const next = () => {
      pending--
      clock.pass(0.01)
      if (performance.now() - started < 60) append()
      else if (pending === 0) resolve()
    }
    const append = () => {
      pending++
      log.append(record, next)
    }
    for (let index = 0; index < 100; index++) append()
  })
  const turns = countTurns()
  t.ok(turns >= 4, `${turns} turns in 60 ms`)
  await log.close()
})

test('stream: a codec that takes long lets the event loop have turns, and the rest comes all the same', async (t, create) => {
  const clock = stopClock(t)
  const log = create({
    codec: {
      encode: (value) => Buffer.from(value),
      decode: (buf) => {
        clock.pass(0.5)
        return buf.toString()
      }
    }
  })
  const values = Array.from({ length: 200 }, (_, index) => `record ${index}`)
  await log.append(values)
  const countTurns = beginCountingTurns()
  const delivered = await new Promise((resolve, reject) => {
    const items = []
    const read = log.stream({ seqs: false })
    // As a sink does that asks for more in the call that brings an item.
    read(null, function next (end, item) {
      if (end) return end === true ? resolve(items) : reject(end)
      items.push(item)
      read(null, next)
    })
  })
  const turns = countTurns()
  t.deepEqual(delivered, values)
  t.ok(turns > 10, `${turns} turns`)
  await log.close()
})

test('stream: no item comes before the first read has returned', async (t, create) => {
  const log = create()
  await log.append([Buffer.from('one'), Buffer.from('two')])
  for (const options of [{}, { reverse: true }, { live: true, limit: 2 }, { values: false }]) {
    const read = log.stream(options)
    let hasReturned = false
    // flumeview-reduce begins to read its log, and then sets the value that it begins with.
    await new Promise((resolve) => {
      read(null, () => {
        t.ok(hasReturned, JSON.stringify(options))
        resolve()
      })
      hasReturned = true
    })
    await new Promise((resolve) => read(true, resolve))
  }
  await log.close()
})
