'use strict'
// A filter that selects from many records at once, against the same filter asked of each.

const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom, inQuickRuns } = require('@millrace/testkit')
const { matches, parseWhere } = require('@millrace/where')
const { RecordRun } = require('../lib/record-run')

const seed = Date.now() % 2 ** 31
const ROOTS = ['%k2LlB5vHH2Bs3ute/9D9kB0oGu+t2megqxdFxT2HYR4=.sha256', '%k2LlB5vHH2Bs3ute/9D9kB0oGu+t2megqxdFxT2HYR5=.sha256',
  'a'.repeat(70), 'a'.repeat(69), 'aé"\\/'.repeat(9)]
const TYPES = ['pub', 'post', 'é', '']

/** Records in a buffer, with other bytes between them: some of these hold what is searched for. */
function makeChunk (codec, random) {
  const chunk = new RecordRun()
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
    key: random(99),
    value: {
      sequence: [0, 1.5, random(20), -random(2 ** 31)][random(4)],
      content: random(9) === 0 ? 'private' : makeContent()
    }
  })
  const makeContent = () => ({
    type: TYPES[random(TYPES.length)],
    root: pick(),
    text: pick().slice(random(60)),
    ...random(3) === 0 && { channel: null }
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

/** The same records, last first. */
function reverse (chunk) {
  const copy = copyOf(chunk)
  for (const name of ['seqs', 'starts', 'ends']) copy[name].subarray(0, copy.count).reverse()
  return copy
}

function copyOf (chunk) {
  const copy = Object.assign(new RecordRun(), chunk)
  for (const name of ['seqs', 'starts', 'ends']) copy[name] = chunk[name].slice()
  return copy
}

function filterWith (chunk, isWanted) {
  const copy = copyOf(chunk)
  copy.filter(isWanted)
  return [...copy.seqs.subarray(0, copy.count)].map((seq, index) => [seq, copy.starts[index], copy.ends[index]])
}

function makeWhere (random) {
  const content = (key) => ['value', 'content', key]
  const conditions = [
    { path: content('root'), equals: ROOTS[random(ROOTS.length)] },
    { path: content('type'), equals: TYPES[random(TYPES.length)] },
    { path: content('channel'), exists: true },
    { path: content('channel'), equals: null },
    { path: content('channel'), exists: false },
    { path: ['value', 'sequence'], equals: [0, 1.5, random(20)][random(3)] },
    { path: ['key'], equals: random(99) }
  ]
  return Array.from({ length: 1 + random(2) }, () => conditions[random(conditions.length)])
}

function passes (codec, where) {
  return (buf, start, end) => {
    let value
    try {
      value = codec.decodeRange ? codec.decodeRange(buf, start, end) : codec.decode(buf.toString('utf8', start, end))
    } catch {
      return false
    }
    return matches(parseWhere(where), value)
  }
}

for (const codec of [jsonCodec, binaryCodec]) {
  tape(`chunk, ${codec.name}: what is selected from all is what each record is asked for (seed ${seed})`, (t) => {
    const random = createRandom(seed)
    let hits = 0
    let searched = 0
    for (let round = 0; round < inQuickRuns(1500); round++) {
      const where = makeWhere(random)
      const isWanted = codec.compile(where)
      if (isWanted.select) searched++
      // More than once: what was learned from one chunk is used in the next.
      for (let more = random(12); more >= 0; more--) {
        const chunk = random(3) === 0 ? reverse(makeChunk(codec, random)) : makeChunk(codec, random)
        const expected = filterWith(chunk, (buf, start, end) => isWanted(buf, start, end))
        const found = filterWith(chunk, isWanted)
        hits += found.length
        const message = JSON.stringify(where)
        if (JSON.stringify(found) !== JSON.stringify(expected)) return t.end(t.deepEqual(found, expected, message))
        // Bytes that are cut off may have the answer before they end: binary filters look no further than that.
        const whole = filterWith(chunk, passes(codec, where))
        const isMissed = ([seq]) => !found.some(([other]) => other === seq)
        if (whole.some(isMissed)) return t.end(t.deepEqual(found, whole, message))
      }
    }
    t.ok(hits > inQuickRuns(1000) && searched > inQuickRuns(1000), `${hits} found, ${searched} searches`)
    t.end()
  })
}

tape('chunk: a select that gives nonsense is refused, and no record twice', (t) => {
  const chunk = makeChunk(jsonCodec, createRandom(5))
  const select = (...indexes) => {
    return Object.assign(() => true, { select: (records, picked) => picked.set(indexes) ?? indexes.length })
  }
  t.deepEqual(filterWith(chunk, select(1, 3)), filterWith(chunk, (buf, start, end, seq) => {
    return seq === chunk.seqs[1] || seq === chunk.seqs[3]
  }))
  t.deepEqual(filterWith(chunk, select()), [])
  for (const indexes of [[1, 1], [2, 1], [chunk.count]]) {
    t.throws(() => filterWith(chunk, select(...indexes)), { code: 'ERR_INVALID_ARGUMENT' }, String(indexes))
  }
  t.end()
})
