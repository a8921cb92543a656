'use strict'
// A filter that searches many records at once, against the same filter asked of each.

const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom } = require('@millrace/testkit')
const { Chunk } = require('../lib/chunk')

const seed = Date.now() % 2 ** 31
const ROOTS = ['%k2LlB5vHH2Bs3ute/9D9kB0oGu+t2megqxdFxT2HYR4=.sha256', '%k2LlB5vHH2Bs3ute/9D9kB0oGu+t2megqxdFxT2HYR5=.sha256',
  'a'.repeat(70), 'a'.repeat(69), 'aé"\\/'.repeat(9)]

/** Records in a buffer, with other bytes between them: some of these hold what is searched for. */
function makeChunk (codec, random) {
  const chunk = new Chunk()
  for (let grown = 0; grown < 3; grown++) {
    chunk.take(chunk.seqs.length)
    chunk.clear()
  }
  const parts = []
  let size = 0
  const put = (bytes) => {
    parts.push(bytes)
    size += bytes.length
  }
  const pick = () => ROOTS[random(ROOTS.length)]
  const makeRecord = () => codec.encode({
    key: random(99), value: { content: { root: pick(), text: pick().slice(random(60)) } }
  })
  for (let left = random(60); left > 0; left--) {
    const between = random(4) === 0 ? makeRecord() : Buffer.alloc(random(20), random(256))
    put(between.subarray(random(3) === 0 ? random(between.length + 1) : 0))
    const record = random(12) === 0 ? makeRecord().subarray(random(30)) : makeRecord()
    chunk.add(1000 + size, size, size + record.length)
    put(record)
  }
  put(Buffer.from(ROOTS[0]))
  chunk.buffer = Buffer.concat(parts)
  return chunk
}

function filterWith (chunk, isWanted) {
  const copy = Object.assign(new Chunk(), chunk)
  for (const name of ['seqs', 'starts', 'ends']) copy[name] = chunk[name].slice()
  copy.filter(isWanted)
  return [...copy.seqs.subarray(0, copy.count)].map((seq, index) => [seq, copy.starts[index], copy.ends[index]])
}

for (const codec of [jsonCodec, binaryCodec]) {
  tape(`chunk, ${codec.name}: what a search over all finds is what each record is asked for (seed ${seed})`, (t) => {
    const random = createRandom(seed)
    let hits = 0
    let searched = 0
    for (let round = 0; round < 1500; round++) {
      const chunk = makeChunk(codec, random)
      const isWanted = codec.compile({ path: ['value', 'content', 'root'], equals: ROOTS[random(ROOTS.length)] })
      if (isWanted.search) searched++
      const expected = filterWith(chunk, (buf, start, end) => isWanted(buf, start, end))
      const found = filterWith(chunk, isWanted)
      hits += found.length
      if (JSON.stringify(found) !== JSON.stringify(expected)) {
        t.deepEqual(found, expected)
        break
      }
    }
    t.ok(hits > 1000 && searched > 1000, `${hits} found, ${searched} searches`)
    t.end()
  })
}

tape('chunk: a search that goes back, or gives nonsense, does not go on for ever', (t) => {
  const chunk = makeChunk(jsonCodec, createRandom(5))
  const all = filterWith(chunk, () => true)
  for (const place of [0, NaN, undefined, 1e9]) {
    const isWanted = Object.assign(() => true, { search: () => place })
    const found = filterWith(chunk, isWanted)
    t.deepEqual(found, place === 1e9 ? [] : all, String(place))
  }
  t.deepEqual(filterWith(chunk, Object.assign(() => true, { search: () => -1 })), [])
  t.end()
})
