'use strict'
// Records whose bytes are sound and that do not decode: one bad value must not wall off a log.

const tape = require('tape')
const { collect, failureOf, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const codec = {
  encode: (value) => Buffer.from(value),
  decode (text) {
    if (text.startsWith('bad')) throw new Error('mine')
    return text
  }
}

/** @param {(index: number) => boolean} isBad */
async function makeLog (count, isBad, options = {}) {
  const log = OffsetLog(newPath('log'), { codec, ...options })
  const values = Array.from({ length: count }, (_, index) => `${isBad(index) ? 'bad' : 'good'} ${index}`)
  for (let index = 0; index < count; index += 1000) await log.append(values.slice(index, index + 1000))
  return { log, good: values.filter((value) => value.startsWith('good')), bad: values.filter((value) => value.startsWith('bad')) }
}

const sizeOf = (values) => values.reduce((sum, { length }) => sum + length, 0)

tape('undecodable: skip goes on behind it, and counts it apart', async (t) => {
  for (const reverse of [false, true]) {
    for (const [what, isBad] of Object.entries({
      first: (index) => index === 0,
      last: (index) => index === 2999,
      some: (index) => index % 7 === 3,
      most: (index) => index % 700 !== 3,
      none: () => false,
      all: () => true
    })) {
      const { log, good, bad } = await makeLog(3000, isBad)
      const stream = log.stream({ seqs: false, reverse, onCorrupt: 'skip' })
      t.deepEqual(stream.undecodable, { count: 0, size: 0 })
      const found = await collect(stream)
      if (reverse) found.reverse()
      t.ok(String(found) === String(good), `${what}, reverse: ${reverse}`)
      t.deepEqual([stream.undecodable, stream.lost], [{ count: bad.length, size: sizeOf(bad) }, { count: 0, size: 0 }])
      const few = await collect(log.stream({ seqs: false, reverse, onCorrupt: 'skip', limit: 2 }))
      t.equal(few.length, Math.min(2, good.length), 'a limit counts what is delivered')
      await log.close()
    }
  }
})

tape('undecodable: without skip it ends the stream, and get names it', async (t) => {
  const { log } = await makeLog(10, (index) => index === 4)
  const stream = log.stream({ seqs: false })
  t.equal((await failureOf(() => collect(stream)))?.code, 'ERR_CODEC_DECODE')
  t.deepEqual(stream.undecodable, { count: 0, size: 0 })
  const [, , , , seq] = await collect(log.stream({ values: false }))
  const err = await failureOf(() => log.get(seq))
  t.deepEqual([err?.code, err?.offset], ['ERR_CODEC_DECODE', seq])
  await log.close()
})

tape('undecodable: a log that was opened with skip, and a live stream', async (t) => {
  const { log } = await makeLog(10, (index) => index < 8, { onCorrupt: 'skip' })
  const stream = log.stream({ seqs: false, live: true })
  const iterator = stream[Symbol.asyncIterator]()
  t.equal((await iterator.next()).value, 'good 8')
  t.equal((await iterator.next()).value, 'good 9')
  const next = iterator.next()
  await log.append(['bad', 'bad', 'bad'])
  await log.append('good 10')
  t.equal((await next).value, 'good 10')
  t.equal(stream.undecodable.count, 11)
  await iterator.return()
  await log.close()
})

tape('undecodable: tens of thousands in a row', async (t) => {
  const { log } = await makeLog(20_000, (index) => index < 19_999)
  const stream = log.stream({ seqs: false, onCorrupt: 'skip' })
  t.deepEqual(await collect(stream), ['good 19999'])
  t.equal(stream.undecodable.count, 19_999)
  await log.close()
})
