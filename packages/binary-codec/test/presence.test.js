'use strict'

const tape = require('tape')
const { binaryCodec, encode } = require('..')
const { createRandom, mutate } = require('./random-values')
const { runPresenceCases } = require('./presence-cases')

const holds = (where, bytes) => binaryCodec.compile(where)(bytes, 0, bytes.length)
const bytesOf = (hex) => Buffer.from(hex.replace(/ /g, ''), 'hex')

tape('presence: whatever is there exists, undefined too', (t) => {
  const value = { nil: null, undef: undefined, no: false, list: [], bytes: Buffer.from('x'), date: new Date(0), big: 1n }
  const record = encode(value)
  for (const key of Object.keys(value)) {
    t.ok(holds({ path: [key], exists: true }, record), key)
    t.notOk(holds({ path: [key], exists: false }, record))
  }
  for (const path of [['other'], ['nil', 'x'], ['list', '0'], ['list', 'length'], ['bytes', '0'], ['__proto__'], ['date', 'x']]) {
    t.ok(holds({ path, exists: false }, record), `no ${path.join('/')}`)
    t.notOk(holds({ path, exists: true }, record))
  }
  t.ok(holds({ path: [], exists: true }, encode(undefined)), 'the record itself')
  t.notOk(holds({ path: [], exists: false }, encode(undefined)))
  t.end()
})

tape('presence: a key with half a surrogate pair is nowhere, one with U+FFFD in every spelling', (t) => {
  t.ok(holds({ path: ['\ud800'], exists: false }, encode({ '\ud800': 1 })))
  t.notOk(holds({ path: ['\ud800'], exists: true }, encode({ '\ud800': 1 })))
  t.notOk(holds([{ path: ['\ud800'], exists: false }, { path: ['b'], exists: true }], encode({ a: 1 })))
  const invalid = bytesOf('1d 08ff 06')
  t.ok(holds({ path: ['\ufffd'], exists: true }, invalid))
  t.notOk(holds({ path: ['\ufffd'], exists: false }, invalid))
  t.end()
})

tape('presence: what one condition did not find is not there for the next', (t) => {
  const isWanted = binaryCodec.compile([{ path: ['a', 'b'], exists: false }, { path: ['a', 'b', 'c'], exists: false }])
  const both = binaryCodec.compile([{ path: ['a', 'b'], exists: false }, { path: ['a', 'b', 'c'], exists: true }])
  // The same filters for record after record: nothing may be left over from the one before.
  const cases = [[{ a: { b: { c: 1 } } }, false], [{ a: 1 }, true], [{ a: { b: 2 } }, false], [{}, true]]
  for (const [value, expected] of cases) {
    const record = encode(value)
    t.equal(isWanted(record, 0, record.length), expected, JSON.stringify(value))
    t.notOk(both(record, 0, record.length))
  }
  t.end()
})

tape('presence: where a walk meets damage it finds neither presence nor absence', (t) => {
  const where = { path: ['z'], exists: false }
  t.notOk(holds(where, bytesOf('')), 'nothing at all')
  t.notOk(holds(where, bytesOf('1d 0861')), 'an object that is cut off')
  t.notOk(holds(where, bytesOf('15 0861')), 'a key without a value')
  t.notOk(holds(where, bytesOf('15 06 06')), 'a key that is no string')
  t.notOk(holds(where, bytesOf('1d 0861 0e')), 'a value that reaches past its object')
  t.notOk(holds(where, bytesOf('0d 88')), 'a length that is cut off')
  t.ok(holds(where, bytesOf('1d 0861 06')), 'and what is whole')
  t.end()
})

tape('presence: damage does not make bytes beside the record count', (t) => {
  const random = createRandom()
  const isWanted = binaryCodec.compile([{ path: ['a'], exists: true }, { path: ['a', 'b'], exists: false }])
  for (let index = 0; index < 3000; index++) {
    const record = mutate(random, encode({ a: random.value(2), b: random.value(1) }))
    const [one, other] = [Buffer.alloc(30), random.bytes(30)].map((after) => Buffer.concat([record, after]))
    if (isWanted(one, 0, record.length) !== isWanted(other, 0, record.length)) t.fail(`${record.toString('hex')} (seed ${random.seed})`)
  }
  t.pass('3,000 damaged records')
  t.end()
})

tape('presence: the answer is that of decoding and looking, on 8,000 records', (t) => {
  const { failure, hits, refused, seed } = runPresenceCases({ cases: 8000 })
  t.equal(failure, null, `seed ${seed}`)
  t.ok(hits > 1000, `${hits} fulfilled their filters`)
  t.ok(refused > 100, `${refused} do not decode`)
  t.end()
})
