'use strict'
// Every mistake a caller can make is told by a code, through the callback or the promise, once and never before the
// call returns; and the log works on as if it had not been made.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, failureOf, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const FRAMINGS = ['checked', 'offset32', 'offset48', 'offset53']

function open (framing, options = {}) {
  return OffsetLog(newPath('log'), { framing, codec: jsonCodec, ...options })
}

/**
 * @param {(cb?: Function) => any} call
 * @returns {Promise<string>}  the code it fails with, the same through callback and promise
 */
async function codeOf (call) {
  const promised = (await failureOf(() => call()))?.code ?? 'no failure'
  const answers = []
  let hasReturned = false
  call((...answer) => answers.push({ code: answer[0]?.code ?? 'no failure', hasReturned, count: answer.length }))
  hasReturned = true
  while (answers.length === 0) await new Promise(setImmediate)
  await new Promise(setImmediate)
  const [{ code, hasReturned: isLater, count }] = answers
  if (answers.length > 1) return `called back ${answers.length} times`
  if (!isLater) return 'called back before it returned'
  if (count > 1) return 'called back with an error and a result'
  return code === promised ? code : `${code} through the callback, ${promised} through the promise`
}

/** Appends, reads and streams, as if nothing had happened. */
async function checkWorks (t, log, seqs) {
  const seq = await log.append('good')
  seqs.push(seq)
  const found = await collect(log.stream({ values: false }))
  if (await log.get(seq) !== 'good' || found.join() !== seqs.join()) t.fail(`found ${found}, not ${seqs}`)
}

for (const framing of FRAMINGS) {
  tape(`misuse: a seq that names no record (${framing})`, async (t) => {
    const log = open(framing)
    const seqs = [await log.append('a'), await log.append('bbbb')]
    const nowhere = [-1, 0.5, NaN, Infinity, -Infinity, 2 ** 53, seqs[0] + 1, seqs[1] - 1, seqs[1] + 1, 1e15]
    const noNumber = ['0', null, undefined, {}, true, 0n, () => {}, new Date()]
    for (const seq of nowhere) {
      t.equal(await codeOf((cb) => log.get(seq, cb)), 'ERR_RECORD_NOT_FOUND', `get ${seq}`)
      t.equal(await codeOf((cb) => log.del(seq, cb)), 'ERR_RECORD_NOT_FOUND', `del ${seq}`)
      t.equal(await codeOf((cb) => log.del([seqs[0], seq], cb)), 'ERR_RECORD_NOT_FOUND', `del, among others, ${seq}`)
    }
    for (const seq of noNumber) {
      t.equal(await codeOf((cb) => log.get(seq, cb)), 'ERR_INVALID_ARGUMENT', `get ${String(seq)}`)
      t.equal(await codeOf((cb) => log.del(seq, cb)), 'ERR_INVALID_ARGUMENT', `del ${String(seq)}`)
      t.equal(await codeOf((cb) => log.del([seqs[0], seq], cb)), 'ERR_INVALID_ARGUMENT', `del, among others, ${String(seq)}`)
    }
    t.equal(await codeOf((cb) => log.del([seqs], cb)), 'ERR_INVALID_ARGUMENT', 'del of a list in a list')
    t.equal(await codeOf((cb) => log.del(new Set(seqs), cb)), 'ERR_INVALID_ARGUMENT', 'del of a set')
    await checkWorks(t, log, seqs)
    await log.del([seqs[0], seqs[0]])
    await log.del(seqs.shift())
    await checkWorks(t, log, seqs)
    await log.close()
  })

  tape(`misuse: a codec that cannot encode, or makes no bytes (${framing})`, async (t) => {
    const results = [undefined, null, 5, true, {}, [1], Symbol('s'), Promise.resolve('late'), new ArrayBuffer(4), new Date()]
    const codec = {
      ...jsonCodec,
      encode: (value) => {
        if (value.throws) throw value.throws.what
        return value.gives ? value.gives.what : jsonCodec.encode(value)
      }
    }
    const log = open(framing, { codec, maxRecordSize: 100 })
    const seqs = []
    for (const what of results) {
      t.equal(await codeOf((cb) => log.append({ gives: { what } }, cb)), 'ERR_CODEC_ENCODE', `gives ${String(what)}`)
    }
    for (const what of [new Error('mine'), 'mine', undefined, null]) {
      t.equal(await codeOf((cb) => log.append({ throws: { what } }, cb)), 'ERR_CODEC_ENCODE', `throws ${String(what)}`)
      t.equal(await codeOf((cb) => log.append(['a', { throws: { what } }], cb)), 'ERR_CODEC_ENCODE', 'within a batch')
    }
    t.equal(await codeOf((cb) => log.append('x'.repeat(100), cb)), 'ERR_RECORD_TOO_LARGE')
    for (const what of ['', Buffer.alloc(0), Buffer.alloc(3), new Uint8Array(2)]) {
      if (framing === 'checked') break
      t.equal(await codeOf((cb) => log.append({ gives: { what } }, cb)), 'ERR_RECORD_UNREPRESENTABLE', 'all zeros')
    }
    await checkWorks(t, log, seqs)
    await log.close()
  })

  tape(`misuse: a batch whose items throw when they are read (${framing})`, async (t) => {
    const log = open(framing, { codec: jsonCodec })
    const seqs = []
    for (const what of ['mine', undefined, null]) {
      const batch = Object.defineProperty(['a'], 1, { get () { throw what } })
      t.equal(await codeOf((cb) => log.append(batch, cb)), 'ERR_CODEC_ENCODE', `throws ${String(what)}`)
    }
    t.equal((await failureOf(() => log.append(new Proxy([], { get () { throw new TypeError('mine') } })))).message, 'mine')
    await checkWorks(t, log, seqs)
    await log.close()
  })

  tape(`misuse: a codec that cannot decode (${framing})`, async (t) => {
    const decode = (text) => {
      if (text === 'good') return text
      throw text
    }
    const log = open(framing, { codec: { name: 'picky', encode: (text) => text, decode } })
    const bad = await log.append('bad')
    t.equal(await codeOf((cb) => log.get(bad, cb)), 'ERR_CODEC_DECODE')
    for (const options of [{}, { live: true }, { reverse: true }]) {
      const iterator = log.stream(options)[Symbol.asyncIterator]()
      t.equal((await failureOf(() => iterator.next())).code, 'ERR_CODEC_DECODE', JSON.stringify(options))
      t.ok((await iterator.next()).done)
    }
    await checkWorks(t, log, [bad])
    await log.close()
  })

  tape(`misuse: a codec whose compiled filter throws, or is none (${framing})`, async (t) => {
    const makers = {
      'throws an error': () => () => { throw new Error('mine') },
      'throws something else': () => () => { throw undefined }, // eslint-disable-line no-throw-literal
      'is no function': () => 5,
      'cannot be made': () => { throw new Error('mine') }
    }
    for (const [name, compile] of Object.entries(makers)) {
      const log = open(framing, { codec: { ...jsonCodec, compile } })
      const seqs = [await log.append('a')]
      const where = { path: ['a'], equals: 1 }
      for (const options of [{ where }, { where, live: true }, { where, reverse: true }]) {
        const err = await failureOf(() => log.stream(options)[Symbol.asyncIterator]().next())
        t.equal(err?.code, 'ERR_CODEC_DECODE', `${name}: ${JSON.stringify(options)}`)
      }
      t.equal(await codeOf((cb) => log.scan({ where }, () => t.fail('scanned'), cb)), 'ERR_CODEC_DECODE', `scan: ${name}`)
      await checkWorks(t, log, seqs)
      await log.close()
    }
  })
}

tape('misuse: options that are none, and functions that are none', async (t) => {
  const log = open('checked')
  const seqs = [await log.append('a')]
  for (const options of [null, 5, 'gt', true, () => {}, { onCorrupt: 'no' }, { where: 5 }, { live: true, reverse: true }]) {
    const err = await failureOf(() => log.stream(options)[Symbol.asyncIterator]().next())
    t.equal(err?.code, 'ERR_INVALID_ARGUMENT', `stream ${String(options)}`)
    t.equal(await codeOf((cb) => log.scan(options, () => {}, cb)), 'ERR_INVALID_ARGUMENT', `scan ${String(options)}`)
  }
  for (const onRecords of [undefined, null, 5, {}]) {
    t.equal(await codeOf((cb) => log.scan({}, onRecords, cb)), 'ERR_INVALID_ARGUMENT', `scan with ${onRecords}`)
  }
  for (const nothing of [undefined, null, 0, '']) {
    const code = await codeOf((cb) => log.scan({}, () => { throw nothing }, cb))
    t.equal(code, 'ERR_INVALID_ARGUMENT', `scan with what throws ${nothing}`)
  }
  const throwing = { get seqs () { throw undefined } } // eslint-disable-line no-throw-literal
  for (const options of [{ seq: true }, { seqs: 1 }, { seqs: null }, throwing]) {
    t.equal(await codeOf((cb) => log.append('b', options, cb)), 'ERR_INVALID_ARGUMENT', `append ${Object.keys(options)}`)
  }
  for (const cb of [null, 5, 'cb', {}]) {
    for (const call of [() => log.append('b', {}, cb), () => log.get(seqs[0], {}, cb), () => log.del(seqs[0], cb), () => log.sync(cb),
      () => log.count({}, cb), () => log.first({}, cb), () => log.last({}, cb), () => log.getMany([], {}, cb),
      () => log.drained(cb), () => log.measureReclaimable(cb), () => log.toSink(cb),
      () => log.scan({}, () => {}, cb), () => log.stats(cb), () => log.ready(cb), () => log.close(cb)]) {
      t.equal((await failureOf(async () => call()))?.code, 'ERR_INVALID_ARGUMENT', `a callback that is ${cb}`)
    }
  }
  await checkWorks(t, log, seqs)
  await log.close()
})

tape('misuse: every call after close fails with a code, and closing again does not', async (t) => {
  for (const framing of FRAMINGS) {
    const log = open(framing)
    const seq = await log.append('a')
    const [closed, late] = await Promise.allSettled([log.close(), log.append('b')])
    t.equal(closed.status, 'fulfilled')
    t.equal(late.reason.code, 'ERR_LOG_CLOSED')
    const calls = [(cb) => log.append('b', cb), (cb) => log.append([], cb), (cb) => log.get(seq, cb),
      (cb) => log.del(seq, cb), (cb) => log.del([], cb), (cb) => log.sync(cb), (cb) => log.scan({}, () => {}, cb),
      (cb) => log.stats(cb), (cb) => log.ready(cb), (cb) => log.get(seq, {}, cb), (cb) => log.getMany([seq], cb),
      (cb) => log.first(cb), (cb) => log.last({}, cb), (cb) => log.count(cb), (cb) => log.drained(cb),
      (cb) => log.measureReclaimable(cb)]
    for (const call of calls) t.equal(await codeOf(call), 'ERR_LOG_CLOSED')
    for (const options of [{}, { live: true }, { old: false }, { reverse: true }, { limit: 0 }]) {
      const err = await failureOf(() => log.stream(options)[Symbol.asyncIterator]().next())
      t.equal(err?.code, 'ERR_LOG_CLOSED', `stream ${JSON.stringify(options)}`)
    }
    t.equal(await codeOf((cb) => log.close(cb)), 'no failure')
  }
})

tape('misuse: what a callback or a listener throws comes out once, and stops nobody else', async (t) => {
  const thrown = []
  const before = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (err) => thrown.push(err.message))
  const log = open('checked')
  await log.ready()
  let isFirst = true
  log.since(() => {
    if (isFirst) return
    isFirst = true
    throw new Error('since')
  })
  isFirst = false
  const seqs = []
  log.append('a', () => { throw new Error('append') })
  seqs.push(log.since.value, await log.append('b'))
  await log.get(seqs[1]).then(() => log.get(seqs[1], () => setImmediate(() => { throw new Error('get') })))
  const found = await collect(log.stream({ seqs: false }))
  await new Promise((resolve) => setTimeout(resolve, 5))
  process.removeAllListeners('uncaughtException')
  for (const listener of before) process.on('uncaughtException', listener)
  t.deepEqual(found, ['a', 'b'])
  t.deepEqual(thrown.sort(), ['append', 'get', 'since'])
  await log.close()
})
