'use strict'
// Half a surrogate pair is a text that UTF-8 cannot say. JSON keeps it, as an escape; the binary codec stores U+FFFD.
// Scan, index and the condition of an append agree about it: a record that is to be there once is there once, or the
// condition is refused.

const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { createIndex } = require('@millrace/index')
const { jsonCodec } = require('@millrace/json-codec')
const { failureOf, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const TEXTS = ['\ud800', '\udc00', 'a\udfffb', '\udc00\ud800', '\ufffd', '\ud83d\ude00', 'plain']
const isWhole = (text) => text.isWellFormed()
/** Of a record with a text, those that match it. */
const WHERES = {
  equals: (text) => ({ path: 'id', equals: text }),
  in: (text) => ({ path: 'id', in: ['none', text] }),
  any: (text) => ({ any: [{ path: 'id', equals: 'none' }, [{ path: 'id', equals: text }]] }),
  prefix: (text) => ({ path: 'id', prefix: text }),
  includes: (text) => ({ path: 'tags', includes: text }),
  'a key': (text) => ({ path: ['at', text], exists: true })
}
const makeRecord = (text) => ({ id: text, tags: ['x', text], at: { [text]: 1 } })

for (const [name, options] of Object.entries({
  json: { codec: jsonCodec }, lines: { codec: jsonCodec, framing: 'lines' }, binary: { codec: binaryCodec }
})) {
  for (const hasIndex of [false, true]) {
    tape(`half pairs: ${name}, ${hasIndex ? 'with' : 'without'} an index`, async (t) => {
      for (const [kind, whereOf] of Object.entries(WHERES)) {
        for (const text of TEXTS) {
          const index = hasIndex ? { index: createIndex(['id', { path: 'tags', each: true }]) } : {}
          const log = OffsetLog(newPath('log'), { ...options, ...index })
          const where = whereOf(text)
          const [first, second] = [
            await failureOf(() => log.append(makeRecord(text), { if: { where } })),
            await failureOf(() => log.append(makeRecord(text), { if: { where } }))
          ].map((err) => err?.code)
          await log.index?.ready()
          const count = await log.count()
          const title = `${kind} ${JSON.stringify(text)}`
          const keeps = name !== 'binary' || isWhole(text)
          t.deepEqual([first, second], keeps ? [undefined, 'ERR_APPEND_CONDITION'] : Array(2).fill('ERR_INVALID_ARGUMENT'), title)
          t.equal(count, keeps ? 1 : 0, 'it is there once, or was refused')
          if (!keeps) await log.append(makeRecord(text))
          t.equal(await log.count({ where }), keeps ? 1 : 0, 'a scan, or the index, says what decoded values are')
          await log.close()
        }
      }
    })
  }
}

tape('half pairs: the condition says what to do', async (t) => {
  const log = OffsetLog(newPath('log'), { codec: binaryCodec })
  const { message } = await failureOf(() => log.append({ id: '\ud800' }, { if: { where: { path: 'id', equals: '\ud800' } } }))
  t.match(message, /^append: if: where has half a surrogate pair\. The codec binary stores U\+FFFD .* give text\.toWellFormed\(\)/)
  await log.close()
})
