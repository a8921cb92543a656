'use strict'
// Functions of the user's may throw anything, also what has no text: it comes through as an error with a code.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, failureOf, flip, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { verify } = require('@millrace/repair')

const THROWN = [Object.create(null), undefined, null, 0, 'text', Symbol('symbol'), new Proxy({}, { get () { throw Object.create(null) } }),
  Object.defineProperty(new Error('no'), 'message', { get () { throw Object.create(null) } })]

async function makeLog () {
  const file = newPath('log')
  const log = OffsetLog(file, { codec: jsonCodec })
  const seqs = [await log.append({ a: 1 }), await log.append({ a: 2 })]
  await log.close()
  return { file, seqs }
}

async function drain (stream) {
  return collect(stream)
}

for (const [index, thrown] of THROWN.entries()) {
  const boom = () => { throw thrown }

  tape(`thrown: a codec throws what is no error, ${index}`, async (t) => {
    const { file, seqs: [seq] } = await makeLog()
    const log = OffsetLog(file, { codec: { ...jsonCodec, encode: boom, decode: boom, decodeRange: boom } })
    t.equal((await failureOf(() => log.append(1))).code, 'ERR_CODEC_ENCODE')
    t.equal((await failureOf(() => log.get(seq))).code, 'ERR_CODEC_DECODE')
    t.equal((await failureOf(() => drain(log.stream()))).code, 'ERR_CODEC_DECODE')
    await log.close()
    for (const compile of [boom, () => boom, () => Object.assign(() => true, { select: boom })]) {
      const log = OffsetLog(file, { codec: { ...jsonCodec, compile } })
      t.equal((await failureOf(() => drain(log.stream({ where: { path: ['a'], equals: 1 } })))).code, 'ERR_CODEC_DECODE')
      await log.close()
    }
  })

  tape(`thrown: a function of a scan, an option or a listener throws what is no error, ${index}`, async (t) => {
    const { file, seqs: [seq] } = await makeLog()
    const log = OffsetLog(file, { codec: jsonCodec })
    const isError = thrown instanceof Error
    const ways = {
      scan: () => log.scan({}, boom),
      stream: () => drain(log.stream({ get gt () { return boom() } })),
      verify: () => verify(file, { onDamage: boom })
    }
    flip(file, seq + 4)
    for (const [name, way] of Object.entries(ways)) {
      if (name === 'scan') flip(file, seq + 4)
      const err = await failureOf(way)
      t.ok(isError ? err === thrown : err?.code === 'ERR_INVALID_ARGUMENT', name)
      if (name === 'scan') flip(file, seq + 4)
    }
    await log.close()
  })
}
