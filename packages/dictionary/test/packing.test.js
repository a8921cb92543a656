'use strict'
// Records packed and unpacked by words, beside the bytes that they must be.

const fc = require('fast-check')
const tape = require('tape')
const { LogError } = require('@millrace/errors')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom, testCodec } = require('@millrace/testkit')
const {
  Dictionary, WORDS_RECORD_SIZE_MAX, WORD_COUNT_MAX, encodeWords, isWordsRecord, learnWords, maxWordId, packRecord,
  unpackRecord, withDictionary
} = require('..')

const seed = Date.now() % 2 ** 31

/** @type {(dictionary: Dictionary, record: Uint8Array) => Buffer} */
function pack (dictionary, record) {
  const target = Buffer.alloc(record.length + 10, 0xee)
  const end = packRecord(dictionary, record, target, 3)
  if (end > 3 + record.length + 1) throw new Error(`${record.length} bytes were packed into ${end - 3}`)
  if (target.subarray(0, 3).some((byte) => byte !== 0xee) || target[end] !== 0xee) throw new Error('it wrote outside its range')
  return Buffer.from(target.subarray(3, end))
}

/** @type {(dictionary: Dictionary, packed: Uint8Array) => Buffer} */
function unpack (dictionary, packed) {
  const output = { bytes: Buffer.alloc(0), end: 0 }
  unpackRecord(dictionary, packed, 0, packed.length, output)
  return Buffer.from(output.bytes.subarray(0, output.end))
}

/** All words of a dictionary, as another process learns them. @param {Dictionary} dictionary */
function relearn (dictionary) {
  const copy = new Dictionary()
  for (const record of encodeWords(dictionary, 0)) learnWords(copy, record, 0, record.length)
  return copy
}

// The codec suite, on packed bytes. Every value is packed several times, so that its texts become words.
for (const base of [undefined, 150, 12440]) {
  const dictionary = new Dictionary()
  const fillers = Buffer.from(Array.from({ length: base ?? 0 }, (_, index) => `"filler ${index}"`).join())
  for (let at = 0; at < (base ?? 0); at++) dictionary.add(fillers, at, at + 1 + at % 9)
  /** @type {(packed: Buffer) => Buffer} */
  const unpackKnown = (packed) => unpack(dictionary, packed)
  testCodec(tape, {
    name: `packed JSON behind ${base ?? 0} words`,
    buffer: true,
    encode (value) {
      const bytes = jsonCodec.encode(value)
      for (let time = 0; time < 2; time++) pack(dictionary, bytes)
      return pack(dictionary, bytes)
    },
    decode: (packed) => jsonCodec.decode(unpackKnown(packed)),
    compile (where) {
      const test = jsonCodec.compile(where)
      return (buf, start, end) => {
        try {
          const bytes = unpackKnown(buf.subarray(start, end))
          return test(bytes, 0, bytes.length)
        } catch (err) {
          if (err instanceof LogError) return false
          throw err
        }
      }
    }
  }, { runs: 200 })
}

tape(`pack: any bytes come back, with the words of another process too (seed ${seed})`, (t) => {
  const piece = fc.constantFrom('"', '\\', ':', ',', '{', '}', '[', ']', '"a":', '"a"', '"\\""',
    '0', '00', '12', '-1', '1.5e3', '999999999999999', '1000000000000000', 'true', ' ', 'x'.repeat(40), '"' + 'y'.repeat(64) + '"', 'z'.repeat(300), '\ufffd', '😀')
  const text = fc.array(piece, { maxLength: 30 }).map((pieces) => Buffer.from(pieces.join('')))
  const record = fc.oneof(text, fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)))
  fc.assert(fc.property(fc.array(record, { maxLength: 20 }), (records) => {
    const dictionary = new Dictionary()
    const packed = [...records, ...records, ...records].map((bytes) => pack(dictionary, bytes))
    const copy = relearn(dictionary)
    packed.forEach((bytes, index) => {
      if (isWordsRecord(bytes, 0, bytes.length)) throw new Error('a packed record looks like words')
      if (maxWordId(bytes, 0, bytes.length) >= dictionary.count) throw new Error('a word without an id')
      for (const known of [dictionary, copy]) {
        if (!unpack(known, bytes).equals(records[index % records.length])) throw new Error(`record ${index}`)
      }
    })
  }), { seed, numRuns: 500 })
  t.end()
})

tape(`unpack: damaged bytes give an error with a code, or bytes (seed ${seed})`, (t) => {
  const dictionary = new Dictionary()
  for (let time = 0; time < 3; time++) pack(dictionary, Buffer.from('{"source":"one","event":"two"}'))
  let refused = 0
  fc.assert(fc.property(fc.uint8Array({ maxLength: 20 }), (bytes) => {
    const learn = () => learnWords(new Dictionary(), bytes, 0, bytes.length)
    for (const run of [() => unpack(dictionary, bytes), () => maxWordId(bytes, 0, bytes.length), learn]) {
      try {
        run()
      } catch (err) {
        if (!(err instanceof LogError) || err.code !== 'ERR_CODEC_DECODE') throw err
        refused++
      }
    }
  }), { seed, numRuns: 2000 })
  t.ok(refused > 100)
  t.end()
})

tape('pack: whole numbers keep every digit', (t) => {
  const dictionary = new Dictionary()
  const powers = Array.from({ length: 50 }, (_, power) => 2 ** power)
  const numbers = powers.flatMap((number) => [number - 1, number, number + 1])
  for (const number of [...numbers, 1e7, 1e14, 1e15 - 1, 9999999, 10000001]) {
    const record = Buffer.from(String(number))
    t.equal(unpack(dictionary, pack(dictionary, record)).toString(), String(number))
  }
  t.equal(pack(dictionary, Buffer.from('1790000000000')).length, 7)
  t.end()
})

tape('dictionary: texts that never repeat take no ids, and others no more than 65,536', (t) => {
  const dictionary = new Dictionary()
  for (let index = 0; index < 100_000; index++) pack(dictionary, Buffer.from(`{"key":"unique ${index}"}`))
  t.ok(dictionary.count < 100, `${dictionary.count} words`)
  for (let index = 0; index < 2 * (WORD_COUNT_MAX + 5000); index++) {
    const record = Buffer.from(`{"key":"twice ${index >> 1}"}`)
    const packed = pack(dictionary, record)
    if (index % 5000 === 0) t.equal(unpack(dictionary, packed).toString(), record.toString())
  }
  t.equal(dictionary.count, WORD_COUNT_MAX)
  t.ok(dictionary.bytes.length <= 4 * 1024 * 1024)
  const records = encodeWords(dictionary, 0)
  t.ok(records.every(({ length }) => length <= WORDS_RECORD_SIZE_MAX))
  const copy = relearn(dictionary)
  t.equal(copy.count, WORD_COUNT_MAX)
  const late = Buffer.from('{"key":"twice 65000"}')
  t.ok(unpack(copy, pack(dictionary, late)).equals(late), 'a word of three bytes')
  t.end()
})

tape('dictionary: words that meet in the table are found, or stay texts', (t) => {
  const dictionary = new Dictionary()
  dictionary.hash = () => 77
  const random = createRandom(seed)
  for (let index = 0; index < 2000; index++) {
    const record = Buffer.from(`{"key":"${random(50)}"}`)
    if (!unpack(dictionary, pack(dictionary, record)).equals(record)) return t.end(new Error('another text'))
  }
  t.ok(dictionary.count < WORD_COUNT_MAX)
  t.end()
})

tape('dictionary: texts that come in turn become words, although only few of them are remembered at one time', (t) => {
  for (const groupSize of [2, 3, 6]) {
    const dictionary = new Dictionary()
    // Texts whose hashes agree in many low bits meet in every table that is indexed by them.
    const groups = new Map()
    let group = []
    for (let index = 0; group.length < groupSize; index++) {
      const text = Buffer.from(`"text ${index}"`)
      const hash = dictionary.hash(text, 0, text.length)
      const place = (hash ^ (hash >>> 15)) & 0xfff
      group = groups.get(place) ?? []
      group.push(text)
      groups.set(place, group)
    }
    let round = 0
    for (; round < 1000 && dictionary.count < groupSize; round++) {
      for (const text of group) dictionary.wordFor(text, 0, text.length)
    }
    t.equal(dictionary.count, groupSize, `${groupSize} texts are words after ${round} rounds`)
  }
  t.end()
})

tape('words records: what is lost has no meaning, nor has what got two', (t) => {
  const dictionary = new Dictionary()
  for (const word of ['one', 'two', 'three']) dictionary.add(Buffer.from(word), 0, word.length)
  const [last] = encodeWords(dictionary, 2)
  const copy = new Dictionary()
  learnWords(copy, last, 0, last.length)
  t.deepEqual([copy.count, ...copy.sizes.subarray(0, 3)], [3, 0, 0, 5])
  const other = new Dictionary()
  for (const word of ['one', 'too', 'three']) other.add(Buffer.from(word), 0, word.length)
  for (const record of encodeWords(other, 0)) learnWords(dictionary, record, 0, record.length)
  t.deepEqual([...dictionary.sizes.subarray(0, 3)], [3, 0, 5])
  t.throws(() => unpack(dictionary, Buffer.from([0x31])), /does not have its word 1/)
  t.end()
})

tape('words records: a word that is too long is refused', (t) => {
  const record = Buffer.concat([encodeWords(new Dictionary(), 0)[0], Buffer.from([65]), Buffer.alloc(65, 'x')])
  t.throws(() => learnWords(new Dictionary(), record, 0, record.length), { code: 'ERR_CODEC_DECODE' })
  t.end()
})

tape('withDictionary: it is the same codec', (t) => {
  const codec = withDictionary(jsonCodec)
  t.deepEqual({ ...codec }, { ...jsonCodec, dictionary: true })
  t.end()
})
