'use strict'

const { execFileSync } = require('node:child_process')
const { getEventListeners } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { pathToFileURL } = require('node:url')
const tape = require('tape')
const { LogError } = require('@millrace/errors')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, failureOf, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const FOLDER = path.join(__dirname, 'threads')
const COUNT = path.join(FOLDER, 'count-records.js')
const LIST = path.join(FOLDER, 'list-records.js')
const FAIL = path.join(FOLDER, 'fail-somehow.js')

/** A log of many parts: records of about 1 KB, 400 of them. */
async function makeLog (options = {}, count = 400) {
  const file = newPath('log')
  const log = OffsetLog(file, options)
  const seqs = []
  for (let index = 0; index < count; index++) {
    const text = String(index).padStart(900 + index % 200, 'x')
    seqs.push(await log.append(options.codec ? { index, text } : Buffer.from(text)))
  }
  makeSmall(log)
  return { file, log, seqs }
}

function makeSmall (log) {
  log._threads.partSizes = { min: 16384, max: 16384 }
}

const countOf = ({ results }) => results.reduce((sum, { count }) => sum + count, 0)
const seqsOf = ({ results }) => results.flat().map(([seq]) => seq)

for (const framing of ['checked', 'offset32']) {
  tape(`threads: each part comes to something, in the order of the log (${framing})`, async (t) => {
    const { log, seqs } = await makeLog({ framing })
    for (const threads of [1, 2, 3]) {
      const { results, lost } = await log.scan({ threads }, LIST)
      t.deepEqual(results.flat().map(([seq]) => seq), seqs)
      t.ok(threads === 1 ? results.length === 1 : results.length > 10, `${results.length} parts`)
      t.deepEqual(lost, { count: 0, size: 0 })
    }
    const some = await log.scan({ threads: 2, gt: seqs[20], lte: seqs[300] }, LIST)
    t.deepEqual(seqsOf(some), seqs.slice(21, 301))
    const parameters = { list: [1, 2], date: new Date(5), map: new Map([[1, 2]]) }
    const { results } = await log.scan({ threads: 2, parameters }, pathToFileURL(COUNT))
    for (const result of results) t.deepEqual(result.parameters, parameters)
    const answer = await new Promise((resolve) => {
      log.scan({ threads: 2 }, pathToFileURL(COUNT).href, (err, result) => resolve([err, countOf(result)]))
    })
    t.deepEqual(answer, [null, seqs.length])
    await log.close()
    t.equal((await failureOf(() => log.scan({ threads: 2 }, COUNT))).code, 'ERR_LOG_CLOSED')
  })

  tape(`threads: a log that is empty, or has one record (${framing})`, async (t) => {
    const { log } = await makeLog({ framing }, 0)
    t.deepEqual(await log.scan({ threads: 4 }, LIST), { lost: { count: 0, size: 0 }, results: [[]] })
    const seq = await log.append(Buffer.from('one'))
    t.deepEqual(seqsOf(await log.scan({ threads: 4 }, LIST)), [seq])
    t.deepEqual(seqsOf(await log.scan({ threads: 4, gt: seq }, LIST)), [])
    t.deepEqual((await log.scan({ threads: 4, gt: 9, lt: 3 }, LIST)).results, [[]])
    await log.close()
  })

  tape(`threads: false from a task leaves out what comes behind (${framing})`, async (t) => {
    const { log, seqs } = await makeLog({ framing })
    const { results } = await log.scan({ threads: 3, parameters: { seq: seqs[200] } }, path.join(FOLDER, 'first-records.js'))
    const seen = results.flat()
    t.deepEqual(seen.slice(0, 201), seqs.slice(0, 201))
    t.ok(seen.length < seqs.length)
    t.equal(countOf(await log.scan({ threads: 3 }, COUNT)), seqs.length, 'the threads go on')
    await log.close()
  })

  tape(`threads: what is appended meanwhile is not shown (${framing})`, async (t) => {
    const { log, seqs } = await makeLog({ framing })
    for (let round = 0; round < 5; round++) {
      const scan = log.scan({ threads: 2 }, LIST)
      const appended = log.append(Buffer.alloc(5000, 7))
      t.deepEqual(seqsOf(await scan), seqs)
      seqs.push(await appended)
    }
    await log.close()
  })

  tape(`threads: a record is seen whole, or not at all once its deletion has called back (${framing})`, async (t) => {
    const { log, seqs } = await makeLog({ framing })
    const sums = new Map((await log.scan({ threads: 2 }, LIST)).results.flat().map(([seq, size, sum]) => [seq, `${size} ${sum}`]))
    const gone = new Set()
    for (let round = 0; round < 15; round++) {
      const before = new Set(gone)
      const scan = log.scan({ threads: 2 }, LIST)
      const victims = [seqs[round * 7], seqs[390 - round * 9]]
      const deleted = log.del(victims)
      const found = (await scan).results.flat()
      if (found.some(([seq, size, sum]) => sums.get(seq) !== `${size} ${sum}`)) t.fail('half of a record was seen')
      if (found.some(([seq]) => before.has(seq))) t.fail('a deleted record was seen')
      await deleted
      for (const seq of victims) gone.add(seq)
    }
    t.deepEqual(seqsOf(await log.scan({ threads: 2 }, LIST)), seqs.filter((seq) => !gone.has(seq)))
    await log.close()
  })

  tape(`threads: a log that another handle writes is followed (${framing})`, async (t) => {
    const { file, log, seqs } = await makeLog({ framing })
    const reader = OffsetLog(file, { flags: 'r' })
    await reader.ready()
    makeSmall(reader)
    for (let round = 0; round < 4; round++) {
      t.deepEqual(seqsOf(await reader.scan({ threads: 2 }, LIST)), seqs)
      seqs.push(await log.append(Buffer.alloc(30000, 1 + round)))
      const [gone] = seqs.splice(round * 50, 1)
      await log.del(gone)
      if (framing === 'checked' && round % 2 === 0) await log.compact()
      while (reader.since.value !== seqs[seqs.length - 1]) await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await reader.close()
    await log.close()
  })
}

tape('threads: a page from before a deletion is noticed, and only such a page', async (t) => {
  const file = newPath('log')
  const log = OffsetLog(file)
  const seqs = []
  for (let index = 0; index < 20; index++) seqs.push(await log.append(Buffer.alloc(30000, 1 + index)))
  await log.sync()
  makeSmall(log)
  const before = fs.readFileSync(file)
  await log.del([seqs[7], seqs[19]])
  t.deepEqual(seqsOf(await log.scan({ threads: 2 }, LIST)), seqs.filter((seq, index) => index !== 7 && index !== 19))
  await log.close()
  const bytes = fs.readFileSync(file)
  for (const page of [1, 2, 3].map((index) => (Math.floor(seqs[7] / 16384) + index - 1) * 16384)) {
    before.copy(bytes, page, page, page + 16384)
  }
  fs.writeFileSync(file, bytes)
  const stale = OffsetLog(file)
  await stale.ready()
  makeSmall(stale)
  const expected = await failureOf(() => stale.scan({}, () => {}))
  const { code, message } = await failureOf(() => stale.scan({ threads: 2 }, COUNT))
  t.deepEqual([code, message], ['ERR_LOG_CORRUPT', expected.message])
  await stale.close()
})

tape('threads: a log that is compacted meanwhile', async (t) => {
  const { log, seqs } = await makeLog()
  for (let round = 0; round < 4; round++) {
    await log.del(seqs.splice(round * 40, 30))
    const [found] = await Promise.all([log.scan({ threads: 2 }, LIST), log.compact()])
    t.deepEqual(seqsOf(found), seqs)
    t.deepEqual(seqsOf(await log.scan({ threads: 2 }, LIST)), seqs)
  }
  await log.close()
})

tape('threads: bytes that imitate frames are not taken for a place to cut at', async (t) => {
  const file = newPath('log')
  const log = OffsetLog(file, { framing: 'offset32' })
  // One record behind the other, each with frames in it, and the ends that they would have in the file.
  const seqs = []
  for (let index = 0; index < 6; index++) {
    const data = Buffer.alloc(40000, 1)
    const start = index * (data.length + 12) + 4
    for (let at = 0; at + 62 <= data.length; at += 62) {
      data.writeUInt32BE(50, at)
      data.writeUInt32BE(50, at + 54)
      data.writeUInt32BE(start + at + 62, at + 58)
    }
    seqs.push(await log.append(data))
  }
  log._threads.partSizes = { min: 9000, max: 9000 }
  for (const threads of [2, 5]) t.deepEqual(seqsOf(await log.scan({ threads }, LIST)), seqs)
  await log.close()
})

tape('threads: a filter, by the codec that the task names', async (t) => {
  const { log, seqs } = await makeLog({ codec: jsonCodec })
  const codec = require.resolve('@millrace/json-codec')
  for (const where of [{ path: ['index'], equals: 77 }, { path: ['text'], exists: true }, { path: ['text'], equals: 'none' }]) {
    const plain = []
    await log.scan({ where }, ({ count, seqs }) => { plain.push(...seqs.subarray(0, count)) })
    t.deepEqual(seqsOf(await log.scan({ threads: 2, where, parameters: { codec } }, LIST)), plain)
  }
  t.equal(countOf(await log.scan({ threads: 2 }, COUNT)), seqs.length)
  const err = await failureOf(() => log.scan({ threads: 2, where: { path: ['index'], equals: 1 } }, COUNT))
  t.equal(err.code, 'ERR_INVALID_ARGUMENT')
  t.match(err.message, /the log's codec, json/)
  await log.close()
})

tape('threads: what cannot be asked for is refused', async (t) => {
  const { log, seqs } = await makeLog({}, 3)
  const wrong = [[{ threads: 0 }], [{ threads: 1.5 }], [{ threads: '2' }], [{ threads: null }], [{ threads: 1e9 }],
    [{ threads: 2, limit: 5 }], [{ threads: 2, limit: 0 }], [{ threads: 2, reverse: true }],
    [{ threads: 2, live: true }], [{ threads: 2, old: false }], [{ threads: 2, gt: 'a' }], [{ threads: 2, parameters: () => {} }], [{ threads: 2 }, Date],
    [{ threads: 2 }, undefined], [{ threads: 2 }, 5], [{ threads: 2 }, './count.js'], [{ threads: 2 }, 'http://a/b.js'],
    [{ threads: 2 }, new URL('http://a/b.js')], [{ threads: 2 }, path.join(FOLDER, 'no-function.js')], [{}, COUNT]]
  for (const [options, task = COUNT] of wrong.map((call) => call.length === 1 ? call : [call[0], call[1] ?? null])) {
    const err = await failureOf(() => log.scan(options, task))
    t.equal(err?.code, 'ERR_INVALID_ARGUMENT', `${JSON.stringify(options)}, ${String(task)}: ${err?.message}`)
  }
  t.equal(countOf(await log.scan({ threads: 2, limit: -1 }, COUNT)), seqs.length)
  await log.close()
  const simulated = OffsetLog('/folder/log', { storage: new SimulatedDisk().storage })
  t.equal((await failureOf(() => simulated.scan({ threads: 2 }, COUNT))).code, 'ERR_NOT_SUPPORTED')
  await simulated.close()
})

tape('threads: a task that fails fails the scan, and nothing else', async (t) => {
  const { log, seqs } = await makeLog()
  const from = seqs[150]
  const ways = ['made', 'throw', 'throw text', 'exit', 'later', 'end', 'function']
  for (const how of ways) {
    const err = await failureOf(() => log.scan({ threads: 2, parameters: { how, from } }, FAIL))
    t.equal(err?.code, 'ERR_SCAN_TASK', `${how}: ${err?.message}`)
    t.equal(err?.path, FAIL)
    if (how === 'throw') t.deepEqual([err.cause.message, err.cause.code], ['mine', 'ERR_MINE'])
    t.equal(countOf(await log.scan({ threads: 2 }, COUNT)), seqs.length)
  }
  const missing = await failureOf(() => log.scan({ threads: 2 }, path.join(FOLDER, 'missing.js')))
  t.deepEqual([missing.code, missing.cause.code], ['ERR_SCAN_TASK', 'MODULE_NOT_FOUND'])
  t.equal((await failureOf(() => log.scan({ threads: 2, parameters: { how: 'no task' } }, FAIL))).code, 'ERR_INVALID_ARGUMENT')
  await log.close()
})

tape('threads: what a task posts through the port of its thread is no answer', async (t) => {
  const { log, seqs } = await makeLog()
  const post = path.join(FOLDER, 'post-messages.js')
  for (const threads of [1, 2]) {
    for (const closes of [false, true]) {
      t.equal(countOf(await log.scan({ threads, parameters: { closes } }, post)), seqs.length)
      t.equal(countOf(await log.scan({ threads }, COUNT)), seqs.length, 'nothing is left for the next scan')
    }
  }
  await log.close()
})

tape('threads: what a task has left in a thread does not fail the next scan', async (t) => {
  const { log, seqs } = await makeLog({}, 100)
  for (const how of ['throw', 'exit']) {
    for (let round = 0; round < 3; round++) {
      log._threads.partSizes = { min: 1e9, max: 1e9 }
      const { results } = await log.scan({ threads: 2, parameters: { how } }, path.join(FOLDER, 'leave-behind.js'))
      t.ok(results.every((result) => result === how))
      makeSmall(log)
      const slow = { parameters: { waitMs: 20 }, threads: 2 }
      t.equal(countOf(await log.scan(slow, path.join(FOLDER, 'count-slowly.js'))), seqs.length)
    }
  }
  await log.close()
})

tape('threads: the cause of a failed task arrives whole', async (t) => {
  const { log } = await makeLog({}, 2)
  const causeOf = async (parameters) => {
    const err = await failureOf(() => log.scan({ threads: 1, parameters }, path.join(FOLDER, 'fail-with-cause.js')))
    t.equal(err?.code, 'ERR_SCAN_TASK', parameters)
    return err.cause
  }
  const highest = await causeOf('chain')
  const { cause: middle } = highest
  t.deepEqual([highest.message, middle.message, middle.code, middle.offset, middle.path],
    ['highest', 'middle', 'ERR_LOG_CORRUPT', 7, ['a', 1]])
  t.ok(middle instanceof LogError)
  const { cause: lowest } = middle
  t.ok(lowest instanceof RangeError)
  t.deepEqual({ ...lowest }, { code: 'ENOSPC', errno: -28, syscall: 'write', dest: ['a', 'b'] })
  t.match(lowest.stack, /fail-with-cause\.js/)
  t.notOk(Object.keys(highest).includes('cause'))
  t.deepEqual(await causeOf('value'), { some: new Map([[1, 2]]) })
  const text = await causeOf('text')
  t.ok(text instanceof TypeError)
  t.equal(text.cause, 'a text')
  const uncloneable = await causeOf('function')
  t.deepEqual([uncloneable.message, typeof uncloneable.cause, uncloneable.kept], ['highest', 'string', 1])
  const circle = await causeOf('circle')
  t.deepEqual([circle.message, circle.cause.message], ['highest', 'middle'])
  const many = await causeOf('many')
  t.ok(many instanceof AggregateError)
  t.deepEqual([many.errors[0].message, many.errors[1]], ['one', 'two'])
  t.equal((await causeOf('hostile')).message, 'highest')
  t.deepEqual({ ...await causeOf('no prototype') }, {})
  await log.close()
})

tape('threads: a signal ends an endless task', async (t) => {
  const { log, seqs } = await makeLog()
  const endless = (signal, from = 0) => log.scan({ threads: 2, signal, parameters: { how: 'hang', from: seqs[from] } }, FAIL)
  for (const from of [0, 200]) {
    const controller = new AbortController()
    const reason = new Error('enough')
    setTimeout(() => controller.abort(reason), 50)
    const err = await failureOf(() => endless(controller.signal, from))
    t.deepEqual([err?.code, err?.name, err?.cause], ['ABORT_ERR', 'AbortError', reason])
    t.equal(countOf(await log.scan({ threads: 2 }, COUNT)), seqs.length, 'the next scan is whole')
  }
  const aborted = await failureOf(() => endless(AbortSignal.abort('text')))
  t.deepEqual([aborted?.code, aborted?.cause], ['ABORT_ERR', 'text'])
  const early = new AbortController()
  const scan = failureOf(() => endless(early.signal))
  early.abort()
  t.equal((await scan)?.code, 'ABORT_ERR')
  const unused = new AbortController()
  t.equal(countOf(await log.scan({ threads: 2, signal: unused.signal }, COUNT)), seqs.length)
  unused.abort()
  t.equal(getEventListeners(unused.signal, 'abort').length, 0)
  const last = new AbortController()
  const endlessScan = failureOf(() => endless(last.signal))
  const closed = log.close()
  last.abort()
  t.equal((await endlessScan)?.code, 'ABORT_ERR')
  await closed
})

tape('scan: a signal ends it between chunks', async (t) => {
  const { log, seqs } = await makeLog()
  const controller = new AbortController()
  let count = 0
  const err = await failureOf(() => log.scan({ signal: controller.signal }, (chunk) => {
    count += chunk.count
    controller.abort()
  }))
  t.deepEqual([err?.code, err?.cause], ['ABORT_ERR', controller.signal.reason])
  t.ok(count < seqs.length, `${count} of ${seqs.length}`)
  for (const signal of [null, 1, {}, 'abort']) {
    t.equal((await failureOf(() => log.scan({ signal }, () => {})))?.code, 'ERR_INVALID_ARGUMENT')
    t.equal((await failureOf(() => log.scan({ signal, threads: 1 }, COUNT)))?.code, 'ERR_INVALID_ARGUMENT')
  }
  await log.close()
})

tape('threads: of several failures the first in the log counts, and nobody waits for the others', async (t) => {
  const { log, file, seqs } = await makeLog()
  const parameters = { how: 'hang', from: seqs[200] }
  // The damage lies before the records at which the others hang.
  await log.close()
  const bytes = fs.readFileSync(file)
  bytes[seqs[150] + 100] ^= 1
  fs.writeFileSync(file, bytes)
  const hurt = OffsetLog(file)
  await hurt.ready()
  hurt._threads.partSizes = { min: 131072, max: 131072 }
  const err = await failureOf(() => hurt.scan({ threads: 3, parameters }, FAIL))
  t.equal(err.code, 'ERR_LOG_CORRUPT')
  t.equal(err.offset, (await failureOf(() => hurt.scan({}, () => {}))).offset)
  await hurt.close()
  t.pass('closed')
})

tape('threads: a file that is another log by now is not read', async (t) => {
  for (const framing of ['checked', 'offset32']) {
    const { file, log } = await makeLog({ framing })
    await log.close()
    const reader = OffsetLog(file, { flags: 'r' })
    await reader.ready()
    const { file: other, log: otherLog } = await makeLog({ framing }, 10)
    await otherLog.close()
    fs.renameSync(other, file)
    const err = await failureOf(() => reader.scan({ threads: 2 }, COUNT))
    t.equal(err?.code, 'ERR_LOG_CORRUPT', framing)
    await reader.close()
  }
})

tape('threads: they are kept for the next scan, and end with the log or the process', async (t) => {
  const { file, log, seqs } = await makeLog()
  await Promise.all([log.scan({ threads: 2 }, COUNT), log.scan({ threads: 2 }, COUNT)])
  const pool = log._threads._pool
  t.equal(pool._threads.size, 4)
  const before = new Set(pool._threads)
  await log.scan({ threads: 2 }, COUNT)
  t.ok([...pool._threads].every((thread) => before.has(thread)))
  const scan = log.scan({ threads: 2 }, COUNT)
  await log.close()
  t.equal(countOf(await scan), seqs.length, 'closing waits for it')
  t.ok([...before].every(({ isDead }) => isDead))
  const run = (...args) => execFileSync(process.execPath, [path.join(FOLDER, 'scan-and-stay.js'), file, ...args],
    { encoding: 'utf8', timeout: 120_000 })
  t.equal(run(), `${seqs.length}\n`)
  t.equal(run('close'), `${seqs.length}\nclosed\n`)
})
