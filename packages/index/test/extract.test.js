'use strict'
// The keys that are found in the bytes of a record are those that a decoded record has.

const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom, isLongRun, makeValue } = require('@millrace/testkit')
const { Block } = require('../lib/block')
const { addRecords, createKeys } = require('../lib/extract')
const { Hasher } = require('../lib/hash')
const { parsePaths } = require('../lib/paths')

const hasher = new Hasher(Buffer.alloc(16, 7))
const PATHS = parsePaths(['a', 'b', { path: 'key', range: true }, { path: 'a', each: true }, { path: ['a', 0], range: true }, ['a', '0'],
  { path: 'a', each: 'b' }, { path: 'b', each: 'a.0' }, { path: [], range: true }, ['__proto__', 'a'], ['é'], ['"'], ['\\'], ['0'], [''],
  { path: [], each: true }, ['a.b'], { path: 'b.key', each: true, range: true }, ['x'.repeat(40)], 'time', { path: 'root', range: true }])
const WITH_HALF_PAIRS = parsePaths(['a', ['\ufffd'], { path: ['\ud800'], range: true }])

/** Of all records at once WebAssembly scans the usual ones, unless a path has an index of an array. */
const USUAL_PATHS = PATHS.filter(({ steps, each }) => ![...steps, ...each ?? []].some((step) => typeof step === 'number'))

/** What is in the columns of a block, as text. */
function describe (block) {
  const column = ({ short, low, ordinals, count }) => {
    return Array.from({ length: count }, (_, at) => `${ordinals[at]}:${short[at]}:${low[at]}`).sort()
  }
  const values = (column) => {
    return column && Array.from({ length: column.count }, (_, at) => `${column.ordinals[at]}:${column.values[at] + 0}`).sort()
  }
  const { keys, numbers, times, odd } = block
  return JSON.stringify({ keys: keys.map(column), numbers: numbers.map(values), times: times.map(values), odd })
}

function extract (codec, paths, records) {
  const block = new Block(paths, 0)
  const buffer = Buffer.concat(records.flatMap((record) => [record, Buffer.from('"x')]))
  const starts = []
  let at = 0
  for (const record of records) {
    starts.push(at)
    at += record.length + 2
  }
  const ends = starts.map((start, index) => start + records[index].length)
  const run = { buffer, count: records.length, seqs: starts, starts, ends }
  const added = addRecords(createKeys(codec, paths, hasher), run, 0, block)
  if (added !== records.length) throw new Error(`added ${added}`)
  return block
}

/** By decoding. @param {{ decode: (buf: Buffer) => any }} codec */
function asOther (codec) {
  return { name: 'other', decode: codec.decode }
}

/** Not every value can be encoded. */
function encodeOne (codec, random) {
  while (true) {
    const value = makeValue(random)
    try {
      return codec.encode(value)
    } catch {}
  }
}

const count = isLongRun ? 200_000 : 3000
for (const [name, codec] of [['JSON', jsonCodec], ['binary', binaryCodec]]) {
  tape(`extract: from ${name} in place, the keys are those of the decoded records`, (t) => {
    const seed = Date.now() & 0xffff
    const random = createRandom(seed)
    for (const paths of [PATHS, USUAL_PATHS, WITH_HALF_PAIRS]) {
      for (let round = 0; round < count / 100; round++) {
        const records = Array.from({ length: 100 }, () => encodeOne(codec, random))
        const [found, expected] = [codec, asOther(codec)].map((codec) => describe(extract(codec, paths, records)))
        if (found !== expected) {
          const isWrong = (record) => {
            return describe(extract(codec, paths, [record])) !== describe(extract(asOther(codec), paths, [record]))
          }
          const wrong = records.find(isWrong)
          t.fail(`seed ${seed}: ${wrong}`)
          return t.end()
        }
      }
    }
    t.pass(`seed ${seed}`)
    t.end()
  })
}

const keysOf = (text, paths = ['a']) => extract(jsonCodec, parsePaths(paths), [Buffer.isBuffer(text) ? text : Buffer.from(text)])
const hashOf = (value) => {
  hasher.hashValue(value)
  return hasher.short
}

tape('extract: however JSON is spelled, a value has one key', (t) => {
  const spellings = [['{"a":"é/"}', 'é/'], ['{"\\u0061":"\\u00e9\\/"}', 'é/'], [' { "a" : -0 } ', 0], ['{"a":0.0}', 0], ['{"a":1e2}', 100],
    ['{"a":12345678901234567890}', Number('12345678901234567890')], ['{"a":9007199254740993}', 2 ** 53], ['{"a":-5}', -5],
    ['{"a":"\\ud83d\\ude00"}', '😀'], ['{"a":"\\ud800"}', '\ud800'], ['{"x":[1,{"a":2}],"a":true}', true], ['{"a":null}', null],
    ['{"a":1E400}', Infinity], [Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]), '\ufffd']]
  for (const [text, value] of spellings) {
    const block = keysOf(text)
    t.deepEqual([block.keys[0].count, block.keys[0].short[0], block.odd], [1, hashOf(value), []], String(text))
  }
  t.end()
})

tape('extract: a record that is no JSON, or has a key twice, is odd', (t) => {
  const texts = ['{"a":1,"a":2}', '{"a":{"b":1},"a":{"b":2}}', '{"a":1', '{"a":1}}', '', ' ', '{"a":01}', '{"a":1.}', '{"a":.5}', '{"a":+1}', '{"a":1e}',
    '{"a":"\n"}', '{"a":"\\x"}', '{"a":"\\u12g4"}', '{"a":"\\u12', "{'a':1}", '{"a":tru}', '{"a":nul', '{"a":undefined}', '{"a":1,}', '[1,]', '[,]',
    '{a:1}', '{"a"}', '\ufeff{"a":1}', '{"a":1}\0', '"', '-', '[1 2]', '{"a":1 "b":2}', '{"a":NaN}', '{"a":\u00a01}']
  for (const text of texts) t.deepEqual(keysOf(text).odd, [0], text)
  t.deepEqual(keysOf('{"b":1,"b":2,"a":[{"c":1},{"c":1}]}', ['a', { path: 'a', each: 'c' }]).odd, [], 'keys of no path do not matter')
  t.deepEqual(keysOf('['.repeat(2000) + ']'.repeat(2000)).odd, [0], 'nor what is nested too deep')
  t.end()
})

tape('extract: JSON that was damaged is odd exactly if it does not parse', (t) => {
  const seed = Date.now() & 0xffff
  const random = createRandom(seed)
  const alphabet = Buffer.from('{}[],:"\\ue0129.-+tfn\n \ta')
  for (let round = 0; round < count; round++) {
    const text = jsonCodec.encode(makeValue(random))
    for (let left = random(3); left >= 0; left--) {
      if (text.length > 0) text[random(text.length)] = alphabet[random(alphabet.length)]
    }
    let isValid = true
    try {
      jsonCodec.decode(text)
    } catch {
      isValid = false
    }
    const isOdd = keysOf(text, ['%']).odd.length > 0
    if (isOdd === isValid) return t.end(t.fail(`seed ${seed}: ${text}`))
  }
  t.pass(`seed ${seed}`)
  t.end()
})

/** One record after the other; as appends are noted, if `isAlone`. */
function extractSingly (codec, paths, buffer, starts, ends, isAlone = false) {
  const block = new Block(paths, 0)
  const keys = createKeys(codec, paths, hasher)
  const words = new DataView(buffer.buffer, buffer.byteOffset, buffer.length)
  for (const [index, start] of starts.entries()) {
    block.begin(index)
    keys.add(buffer, words, start, ends[index], block, isAlone ? buffer.subarray(start, ends[index]) : undefined)
  }
  return block
}

/** Records, one after the other in a buffer, with other bytes between them. */
function layOut (random, records, between) {
  const [starts, ends] = [[], []]
  const parts = [Buffer.alloc(random(3), 0x20)]
  let at = parts[0].length
  for (const record of records) {
    const gap = Buffer.from(between[random(between.length)])
    starts.push(at)
    ends.push(at += record.length)
    at += gap.length
    parts.push(record, gap)
  }
  return { buffer: Buffer.concat(parts), count: records.length, seqs: starts.map((_, index) => index), starts, ends }
}

/** Whether the keys are others if all are scanned at once, or each alone. */
function isOther (codec, paths, records) {
  const { buffer, starts, ends } = records
  const keys = createKeys(codec, paths, hasher)
  // The first block gets full.
  const blocks = [new Block(paths, 0, 1 + records.count >> 1), new Block(paths, 0)]
  addRecords(keys, records, addRecords(keys, records, 0, blocks[0]), blocks[1])
  return [[0, blocks[0].count], [blocks[0].count]].some((range, index) => {
    const [alone, expected] = [true, false].map((isAlone) => {
      return describe(extractSingly(codec, paths, buffer, starts.slice(...range), ends.slice(...range), isAlone))
    })
    return describe(blocks[index]) !== expected || alone !== expected
  })
}

/** @returns {number}  the first record with other keys; -1 if there is none */
function findOther (paths, records, codec = jsonCodec) {
  if (!isOther(codec, paths, records)) return -1
  return records.starts.findIndex((start, index) => {
    return isOther(codec, paths, { ...records, count: 1, seqs: [0], starts: [start], ends: [records.ends[index]] })
  })
}

tape('extract: of many records of JSON at once the keys are those of each by itself, also of damaged ones', (t) => {
  const seed = Date.now() & 0xffff
  const random = createRandom(seed)
  const alphabet = Buffer.from('{}[],:"\\ue0129.-+tfn\n \ta\xff\0')
  const damage = (bytes) => {
    for (let left = random(3); left > 0; left--) bytes[random(bytes.length)] = alphabet[random(alphabet.length)]
    return random(8) === 0 ? bytes.subarray(0, random(bytes.length)) : bytes
  }
  const make = () => {
    const some = () => makeValue(random, 1)
    const value = random(3) === 0 ? makeValue(random) : { a: makeValue(random, 2), key: some(), b: [{ key: some() }] }
    const bytes = Buffer.from(JSON.stringify(value, null, random(3)) ?? 'null')
    return random(2) === 0 ? damage(bytes) : bytes
  }
  for (let round = 0; round < count / 100; round++) {
    const records = layOut(random, Array.from({ length: 50 }, make), ['', ' ', '5', '.5', 'e1', '\n\n', '"', '}', ',', '\0', 'x'])
    const index = findOther(USUAL_PATHS, records)
    if (index >= 0) return t.end(t.fail(`seed ${seed}: ${records.buffer.subarray(records.starts[index], records.ends[index])}`))
  }
  t.pass(`seed ${seed}`)
  t.end()
})

tape('extract: of many binary records at once the keys are those of each by itself, also of damaged ones', (t) => {
  const seed = Date.now() & 0xffff
  const random = createRandom(seed)
  const texts = [...[7, 8, 15, 16, 17, 40].map((size) => 'x'.repeat(size)), 'é', 'x'.repeat(70_000)]
  const make = () => {
    const some = () => random(4) === 0 ? texts[random(texts.length - (random(20) > 0 ? 1 : 0))] : makeValue(random, 1)
    const value = random(3) === 0 ? makeValue(random) : { a: some(), ['x'.repeat(38 + random(4))]: 1, key: some(), b: [{ key: some() }, { a: some() }] }
    let bytes
    try {
      bytes = binaryCodec.encode(value)
    } catch {
      return make()
    }
    if (random(2) === 0) return bytes
    const damaged = Buffer.from(bytes)
    // Mostly of tags: they tell where all the rest is.
    for (let left = random(3); left > 0; left--) damaged[random(Math.min(damaged.length, 30))] = random(256)
    return random(8) === 0 ? damaged.subarray(0, random(damaged.length)) : damaged
  }
  for (let round = 0; round < count / 100; round++) {
    const records = layOut(random, Array.from({ length: 50 }, make), ['', '\0', '\x08a', 'x'.repeat(20), '\xff\xff'])
    const index = findOther(USUAL_PATHS, records, binaryCodec)
    if (index >= 0) return t.end(t.fail(`seed ${seed}: ${records.buffer.toString('hex', records.starts[index], records.ends[index])}`))
  }
  t.pass(`seed ${seed}`)
  t.end()
})

tape('extract: binary records with more values than are found at once', (t) => {
  const values = [1000, 1536, 1537, 3000].map((count) => ({ a: Array.from({ length: count }, (_, index) => `item ${index}`), b: 'after' }))
  const records = layOut(createRandom(7), [...values, ...values, { a: 1, b: true }].map((value) => binaryCodec.encode(value)), [''])
  t.equal(findOther(USUAL_PATHS, records, binaryCodec), -1)
  t.end()
})

tape('extract: records of JSON that are large, deep, or have many keys', (t) => {
  const random = createRandom(5)
  const nested = (depth, text) => Buffer.from('{"a":['.repeat(depth) + text + ']}'.repeat(depth))
  const long = 'x'.repeat(40)
  const texts = [
    ...[15, 16, 17, 31, 32, 33, 60].map((size) => `{"a":"${'y'.repeat(size)}","b":"${'é'.repeat(size)}","key":"${'z'.repeat(size - 1)}\\n"}`),
    `{"${long}":1,"${long.slice(1)}y":2,"${long.slice(1)}":3,"y${long.slice(1)}":4}`, `{"${long}":1,"${long}":2}`,
    JSON.stringify({ a: Array.from({ length: 3000 }, (_, index) => index), b: 'after' }), JSON.stringify({ a: 'x'.repeat(70_000), b: 1 }),
    JSON.stringify({ a: 'x'.repeat(65_530 - 8) }), JSON.stringify({ a: 'x'.repeat(65_536 - 8) }), JSON.stringify({ a: 'x'.repeat(65_537 - 8) }),
    '1', '12', '"a"', 'true', '{"a":truE}', '{"a":falsE}', '{"a":nulL}', '{"\\u0061":1,"a":2}', '{"c":{"\\n":1},"a":2}', ' {"a":1} ', '{}', '[]'
  ]
  const records = [...texts.map((text) => Buffer.from(text)), ...[1, 31, 32, 33, 40, 600].map((depth) => nested(depth, '"x"'))]
  for (let round = 0; round < 20; round++) {
    const shuffled = Array.from({ length: 60 }, () => records[random(records.length)])
    t.equal(findOther(USUAL_PATHS, layOut(random, shuffled, ['', '1', ' ', '"'])), -1)
  }
  t.end()
})

tape('extract: two indexes in turn, with other paths and hashes', (t) => {
  const paths = [parsePaths(['a']), parsePaths(['b', 'a'])]
  const keys = paths.map((one, index) => createKeys(jsonCodec, one, new Hasher(Buffer.from(`key ${index}`.padEnd(16)))))
  const buffer = Buffer.from('{"a":"x","b":"y"}')
  const records = { buffer, count: 1, seqs: [0], starts: [0], ends: [buffer.length] }
  const found = [0, 1, 0, 1].map((index) => {
    const block = new Block(paths[index], 0)
    addRecords(keys[index], records, 0, block)
    return describe(block)
  })
  t.equal(found[0], found[2])
  t.equal(found[1], found[3])
  t.notEqual(JSON.parse(found[0]).keys[0][0], JSON.parse(found[1]).keys[1][0])
  t.end()
})

tape('extract: binary records whose tags lead out of them are odd', (t) => {
  const record = binaryCodec.encode({ b: 1, a: 'text' })
  const odd = (bytes) => extract(binaryCodec, parsePaths(['a']), [bytes]).odd
  t.deepEqual(odd(record), [])
  t.deepEqual(odd(record.subarray(0, -1)), [0])
  t.deepEqual(odd(Buffer.alloc(0)), [0])
  t.deepEqual(odd(Buffer.from([0x85, 0x00])), [0], 'a tag that is longer than it needs to be')
  t.end()
})

tape('extract: a binary record that has a key twice, and another key after it, is odd', (t) => {
  const parts = ['a', 1, 'a', 2, 'b', 3].map((part) => binaryCodec.encode(part))
  const size = Buffer.concat(parts).length
  const record = Buffer.concat([Buffer.from([(size << 3 | 5) & 0x7f | 0x80, size >> 4]), ...parts])
  t.throws(() => binaryCodec.decode(record), /for the second time/)
  // The filter reads it, and finds b.
  t.ok(binaryCodec.compile({ path: 'b', equals: 3 })(record, 0, record.length))
  t.deepEqual(extract(binaryCodec, parsePaths(['a', 'b']), [record]).odd, [0])
  t.end()
})

tape('extract: what cannot be decoded is odd', (t) => {
  const codec = { name: 'mine', decode: () => { throw new Error('no') } }
  t.deepEqual(extract(codec, parsePaths(['a']), [Buffer.from('x')]).odd, [0])
  t.end()
})
