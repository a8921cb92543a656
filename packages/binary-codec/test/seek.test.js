'use strict'

const tape = require('tape')
const { inQuickRuns } = require('@millrace/testkit')
const fc = require('fast-check')
const { isDeepStrictEqual } = require('node:util')
const {
  encode, decode, validate, seekKey, seekPath, createSeekPath, iterate, slice, pluck, getEncodedType, getEncodedLength,
  types
} = require('..')
const { createRandom, mutate, listPaths } = require('./random-values')
const { thrownBy, throwsWith } = require('./helpers')

const ERR = 'ERR_CODEC_DECODE'
const random = createRandom()

tape('seekKey: a short last field is found', (t) => {
  for (const value of [{ a: null }, { a: 1, b: '' }, { long: 'x'.repeat(300), z: null }]) {
    const bytes = encode(value)
    for (const key of Object.keys(value)) t.deepEqual(decode(bytes, seekKey(bytes, 0, key)), value[key])
  }
  t.end()
})

tape('seekKey: takes strings and Buffers, of any length', (t) => {
  const value = { '': 1, é: 2, ['k'.repeat(100)]: 3, __proto__x: 4 }
  const bytes = encode(value)
  for (const key of Object.keys(value)) {
    t.equal(decode(bytes, seekKey(bytes, 0, key)), value[key])
    t.equal(decode(bytes, seekKey(bytes, 0, Buffer.from(key))), value[key])
  }
  t.equal(seekKey(bytes, 0, 'absent'), -1)
  t.equal(seekKey(bytes, -1, 'a'), -1, 'what was not found has no fields')
  t.equal(seekKey(bytes, NaN, 'a'), -1)
  t.equal(seekKey(bytes, 1000, 'a'), -1)
  t.equal(seekKey(encode([1]), 0, '0'), -1, 'arrays have no keys')
  for (const key of [5, null, undefined, {}]) throwsWith(t, () => seekKey(bytes, 0, key), { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})

tape('seekKey: __proto__ and the like are keys as all others', (t) => {
  const bytes = encode(JSON.parse('{"a":1,"__proto__":2,"constructor":3}'))
  t.equal(decode(bytes, seekKey(bytes, 0, '__proto__')), 2)
  t.equal(decode(bytes, seekKey(bytes, 0, 'constructor')), 3)
  t.equal(seekKey(bytes, 0, 'toString'), -1)
  t.end()
})

tape('seekKey: thousands of different keys do not pile up', (t) => {
  const bytes = encode({ last: 1 })
  for (let i = 0; i < 3000; i++) seekKey(bytes, 0, `key ${i}`)
  t.equal(decode(bytes, seekKey(bytes, 0, 'last')), 1)
  t.end()
})

tape('seekPath: keys, Buffers and indexes', (t) => {
  const value = { a: [{ b: [10, 20] }, 'x'], n: 5 }
  const bytes = encode(value)
  t.equal(decode(bytes, seekPath(bytes, 0, ['a', 0, 'b', 1])), 20)
  t.equal(decode(bytes, seekPath(bytes, 0, [Buffer.from('a'), 1])), 'x')
  t.equal(decode(bytes, createSeekPath(['a', 0, 'b', 1])(bytes)), 20)
  t.equal(seekPath(bytes, 0, encode(['a', 1])), seekPath(bytes, 0, ['a', 1]))
  t.equal(seekPath(bytes, 0, Buffer.concat([Buffer.alloc(3), encode(['a', 1])]), 3), seekPath(bytes, 0, ['a', 1]))
  t.equal(seekPath(bytes, 0, []), 0, 'the empty path is the value itself')
  t.equal(seekPath(bytes, 4000, []), -1)
  t.equal(seekPath(bytes, -1, []), -1)
  t.equal(seekPath(bytes, -1, [0]), -1)
  t.equal(seekPath(Buffer.from([0x10]), 0, []), -1, 'which must be whole')
  for (const path of [['a', 2], ['a', '0'], ['n', 0], ['n', 'x'], [0], ['absent', 'b']]) t.equal(seekPath(bytes, 0, path), -1)
  for (const path of ['a', null, [-1], [1.5], [null], encode({ a: 1 })]) {
    throwsWith(t, () => seekPath(bytes, 0, path), { code: 'ERR_INVALID_ARGUMENT' })
    throwsWith(t, () => createSeekPath(path), { code: 'ERR_INVALID_ARGUMENT' })
  }
  t.end()
})

tape('seekPath: a changed key Buffer does not change a compiled path', (t) => {
  const key = Buffer.from('a')
  const seek = createSeekPath([key])
  key[0] = 0x62
  t.ok(seek(encode({ a: 1 }), 0) > 0)
  t.end()
})

tape('seekKey: damage is never followed', (t) => {
  const hex = ['15 06 06', '15 10 61', '15 08 61', '25 08 61 10 62', '25 80 80 80 80', '25 08 61 80 00', 'ff ff ff ff 7f',
    '80', '']
  for (const text of hex) t.equal(seekKey(Buffer.from(text.replace(/ /g, ''), 'hex'), 0, 'a'), -1, text)
  t.equal(seekPath(Buffer.from('14186162', 'hex'), 0, [0]), -1)
  t.equal(seekPath(Buffer.from('2c18', 'hex'), 0, [0]), -1, 'an array longer than the buffer')
  t.equal(seekKey(Buffer.from('3d08610e010862', 'hex'), 0, 'a'), -1, 'an object longer than the buffer')
  t.end()
})

tape('iterate: visits the only, short child of an array', (t) => {
  const seen = []
  t.equal(iterate(encode([null]), 0, (buf, start, key) => { seen.push([start, key]) }), 0)
  t.deepEqual(seen, [[1, 0]])
  t.end()
})

tape('iterate: stops at something truthy, and gives -1 for what has no children', (t) => {
  let calls = 0
  t.equal(iterate(encode([1, 2, 3]), 0, () => ++calls === 2), 0)
  t.equal(calls, 2)
  t.equal(iterate(encode('text'), 0, () => t.fail()), -1)
  throwsWith(t, () => iterate(encode([1]), -1, () => {}), { code: 'ERR_INVALID_ARGUMENT', message: /not found/ })
  t.end()
})

tape('iterate: a damaged child is an error, after those before it', (t) => {
  const keys = []
  const array = Buffer.from('1c06186162', 'hex')
  t.deepEqual(thrownBy(() => iterate(array, 0, () => {})).code, ERR)
  const object = Buffer.from('250861060662', 'hex').subarray(0, 5)
  object[0] = 0x25
  throwsWith(t, () => iterate(object, 0, (buf, start, key) => { keys.push(key) }), { code: ERR, offset: 4 })
  t.deepEqual(keys, [1])
  t.end()
})

tape('slice, pluck, getEncodedType, getEncodedLength: views of one value', (t) => {
  const bytes = encode({ a: 'text', b: [1] })
  const a = seekKey(bytes, 0, 'a')
  t.equal(slice(bytes, a).toString(), 'text')
  t.equal(slice(bytes, a).buffer, bytes.buffer)
  t.equal(decode(pluck(bytes, a)), 'text')
  t.equal(getEncodedType(bytes, a), types.string)
  t.equal(getEncodedLength(bytes, a), 4)
  t.equal(pluck(bytes).length, bytes.length)
  t.equal(slice(bytes).length, getEncodedLength(bytes))
  t.equal(getEncodedType(bytes), types.object)
  for (const call of [slice, pluck, getEncodedType, getEncodedLength]) {
    throwsWith(t, () => call(bytes, -1), { code: 'ERR_INVALID_ARGUMENT' })
    throwsWith(t, () => call(Buffer.from([0x10]), 0), { code: ERR, offset: 0 })
  }
  t.end()
})

const jsonLike = fc.object({ maxDepth: 3, withBigInt: true, withDate: true, withNullPrototype: false })
const seed = random.seed & 0x7fffffff

tape(`seekPath: finds every path that decode has, of fast-check's objects (seed ${seed})`, (t) => {
  fc.assert(fc.property(jsonLike, (value) => {
    const bytes = encode(value)
    const isFound = (part) => pluck(bytes, seekPath(bytes, 0, part.path)).equals(encode(part.value))
    return listPaths(decode(bytes)).every(isFound)
  }), { seed, numRuns: inQuickRuns(2000) })
  t.pass('2000 objects')
  t.end()
})

tape(`seek and iterate: on 50,000 damaged records they stay inside and only throw coded errors (seed ${random.seed})`, (t) => {
  const failures = []
  for (let i = 0; i < 50_000 && failures.length === 0; i++) {
    const value = random.value()
    const record = mutate(random, encode(value))
    const followed = Buffer.concat([record, Buffer.alloc(20)])
    const found = listPaths(value).map(({ path }) => createSeekPath(path)(record, 0))
    if (found.some((pos) => pos < -1 || pos >= record.length)) failures.push(record.toString('hex'))
    const err = thrownBy(() => walk(record, 0))
    if (err !== undefined && err.code !== ERR) failures.push(err)
    const isSound = thrownBy(() => validate(record)) === undefined
    if (isSound && err !== undefined) failures.push(err)
    if (isSound && !isDeepStrictEqual(decode(followed), decode(record))) failures.push(record.toString('hex'))
  }
  t.deepEqual(failures, [])
  t.end()
})

/** Visits everything that iterate gives, and counts: each visit is of bytes of its own, so they come to an end. */
function walk (record, start, left = { visits: record.length + 1 }, depth = 0) {
  if (left.visits-- === 0) throw new Error('more visits than bytes')
  slice(record, start)
  pluck(record, start)
  if (depth < 50) iterate(record, start, (buf, child) => walk(buf, child, left, depth + 1))
}
