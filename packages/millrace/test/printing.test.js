'use strict'
// What cat, export and count print from the bytes of a log, compared with the records one by one.

const { randomInt } = require('node:crypto')
const fs = require('node:fs')
const { setTimeout: wait } = require('node:timers/promises')
const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { SlotLog } = require('@millrace/merged-log')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { createRandom, newPath } = require('@millrace/testkit')
const { levelFilter } = require('@millrace/where')
const { isOfBytes, printAll, printBytes } = require('../lib/cli/printing')
const { printRecords, toReadOptions } = require('../lib/cli/records')
const { openSource } = require('../lib/cli/source')
const { parseFilter } = require('../lib/cli/filter')
const { callCommand, runCommand } = require('./run-command')

/** Numbers below a bound, and the seed that gives them again. */
function seededRandom (seed = Number(process.env.MILLRACE_SEED) || randomInt(2 ** 31)) {
  return { seed, below: createRandom(seed) }
}

/** Bytes as they are, under the name of the codec that reads them. */
const asJson = { name: 'json', buffer: true, encode: (bytes) => bytes, decode: (bytes) => bytes }
const START_MS = Date.parse('2026-01-01T00:00:00Z')

// What a string of a record may hold: what a terminal obeys, what turns a text around, what ends a line, what lies next
// to these in Unicode, and bytes that are no UTF-8.
const PIECES = [
  'word ', 'connection refused', 'ä', '漢字', '😀', '\u2027', '\u2028', '\u2029', '\u202e', '\u202f', '\u200d', '\u200e', '\u2065',
  '\u2066', '\u2069', '\u206a', '\u061b', '\u061c', '\u007e', '\u007f', '\u0080', '\u009f', '\u00a0', '\ufeff', '\ufffd', '\\n',
  '\\u001b[31m', '\\"', '/', 'x'.repeat(300)
].map((text) => Buffer.from(text))
const BAD_PIECES = [[0xff], [0xc3], [0xe2, 0x80], [0xed, 0xa0, 0x80], [0xc0, 0x8a], [0xf4, 0x90, 0x80, 0x80]]
  .map((bytes) => Buffer.from(bytes))
const GREPS = [
  'word', 'refused', 'connection refused', 'n', '"n": 1', '" ', '": ', 'ä', '😀', '\ufffd', '\t', '\u202e', 'x'.repeat(40), '\\u001b',
  '"type":"post","level"', 'nothing of that', '}'
]

function makeRecords (random, count, { isStrict, hasBad }) {
  // In some logs only a few records are not lines already, and all others around them are.
  const kinds = random.below(2) ? 40 : 4000
  return Array.from({ length: count }, (_, n) => {
    const kind = random.below(kinds)
    if (!isStrict && kind === 0) return Buffer.from(` {"n":${n}}`)
    if (!isStrict && kind === 1) return Buffer.from(`{\n\t"n": ${n},\r\n "text":\t"with  breaks"\n}`)
    if (!isStrict && kind === 2) return Buffer.from(String(n))
    if (kind === 3) return Buffer.from(`"text ${n} word"`)
    if (kind === 4) return Buffer.from(`[${n},null]`)
    if (hasBad && kind === 5 && random.below(40) === 0) return Buffer.from('no JSON at all')
    const pieces = kind > 6 && kind < 12 ? PIECES : PIECES.slice(0, 2)
    const text = Array.from({ length: random.below(8) }, () => pieces[random.below(pieces.length)])
    if (!isStrict && kind === 6) text.push(BAD_PIECES[random.below(BAD_PIECES.length)])
    if (kind === 7 && random.below(20) === 0) text.push(Buffer.alloc(20_000 + random.below(400_000), 'long '))
    const time = random.below(5) === 0 ? '' : `"time":${START_MS + n},`
    return Buffer.concat([
      Buffer.from(`{${time}"type":"${n % 3 === 0 ? 'post' : 'vote'}","level":${10 * (1 + n % 6)},"n":${n},"text":"`), ...text, Buffer.from('"}')
    ])
  })
}

/** @returns {Promise<string>}  the path of a log */
const makers = {
  async json (random, { hasBad = random.below(4) === 0 } = {}) {
    const file = newPath('json.log')
    const log = OffsetLog(file, { codec: asJson })
    const seqs = await appendAll(log, makeRecords(random, 1500, { hasBad }))
    await log.del(seqs.filter(() => random.below(20) === 0))
    await log.close()
    return file
  },
  async damaged (random) {
    const file = await makers.json(random)
    const bytes = fs.readFileSync(file)
    for (let i = 0; i < 3; i++) bytes[40_000 + random.below(bytes.length - 40_000)] ^= 1 << random.below(8)
    fs.writeFileSync(file, bytes)
    return file
  },
  async binary (random) {
    const file = newPath('binary.log')
    const log = OffsetLog(file, { codec: binaryCodec })
    await appendAll(log, makeRecords(random, 300, { isStrict: true }).map((bytes) => JSON.parse(String(bytes))))
    await log.close()
    return file
  },
  async offset (random) {
    const file = newPath('old.offset')
    const log = OffsetLog(file, { codec: asJson, framing: 'offset48' })
    await appendAll(log, makeRecords(random, 300, {}))
    await log.close()
    return file
  },
  async nameless (random) {
    const file = newPath('nameless.log')
    const log = OffsetLog(file, { codec: { ...asJson, name: undefined } })
    await appendAll(log, makeRecords(random, 300, { hasBad: true }))
    await log.close()
    return file
  },
  async segments (random) {
    const folder = newPath('segments')
    const log = SegmentedLog(folder, { codec: asJson, segmentSize: 256 * 1024, compress: random.below(2) ? 'gzip' : false })
    const seqs = await appendAll(log, makeRecords(random, 1500, {}))
    await log.del(seqs.filter(() => random.below(50) === 0))
    // Some are compressed by then, perhaps.
    await wait(20)
    await log.close()
    return folder
  },
  async slots (random) {
    const folder = newPath('slots')
    const logs = [0, 1].map(() => SlotLog(folder, { codec: jsonCodec }))
    for (const log of logs) {
      await log.ready()
      await appendAll(log, makeRecords(random, 100, { isStrict: true }).map((bytes) => JSON.parse(String(bytes))))
    }
    for (const log of logs) await log.close()
    return folder
  }
}

async function appendAll (log, records) {
  const seqs = []
  for (let i = 0; i < records.length; i += 100) {
    await log.append(records.slice(i, i + 100))
  }
  if (log.scan === undefined) return seqs
  await log.scan({}, (run) => { seqs.push(...run.seqs.subarray(0, run.count)) })
  return seqs
}

function chooseOptions (random, { hasOrder }) {
  const sometimes = (part, make) => random.below(part) === 0 ? make() : undefined
  const options = {
    reverse: sometimes(3, () => true),
    limit: sometimes(3, () => random.below(400)),
    seqs: sometimes(3, () => true),
    raw: sometimes(5, () => true),
    pretty: sometimes(12, () => true),
    full: sometimes(3, () => true),
    grep: sometimes(2, () => GREPS[random.below(GREPS.length)]),
    where: sometimes(3, () => [parseFilter(random.below(2) ? 'type=post' : 'level>=40')]),
    since: sometimes(6, () => new Date(START_MS + random.below(1500))),
    level: sometimes(6, () => levelFilter('warn')),
    skipDamage: sometimes(2, () => true),
    gt: hasOrder ? sometimes(6, () => random.below(300_000)) : undefined
  }
  for (const [name, value] of Object.entries(options)) if (value === undefined) delete options[name]
  return options
}

/** What one way of printing says, wrote and threw. */
async function record (file, options, isTerminal, print) {
  const source = await openSource(/** @type {any} */ ({}), file, options)
  const chunks = []
  const late = []
  const output = {
    isTerminal,
    signal: new AbortController().signal,
    // As a stream of Node.js: it waits while there is too much, and what it has taken must not change until it is out.
    async write (text) {
      const index = chunks.push(text) - 1
      const taken = wait(index % 3).then(() => { chunks[index] = Buffer.from(text) })
      late.push(taken)
      if (text.length >= 16_384) await taken
    }
  }
  const told = await print(output, source, options).catch(({ code, message, offset }) => ({ code, message, offset }))
  await Promise.all(late)
  const { tally } = source
  await source.close()
  return { told, tally, bytes: Buffer.concat(chunks), isFast: isOfBytes(output, source, options) }
}

async function printOne (output, { log }, options) {
  const stream = log.stream({ ...toReadOptions(options), signal: output.signal })
  const count = await printRecords(output, stream, options)
  return { count, lost: stream.lost, undecodable: stream.undecodable }
}

for (const [kind, make] of Object.entries(makers)) {
  const random = seededRandom()
  tape(`printing: bytes of a log are printed as its records are: ${kind} (seed ${random.seed})`, async (t) => {
    const file = await make(random)
    const failures = []
    let fastCount = 0
    for (let round = 0; round < 60; round++) {
      const options = chooseOptions(random, { hasOrder: kind !== 'slots' })
      const isTerminal = random.below(3) === 0
      const expected = await record(file, options, isTerminal, printOne)
      const found = await record(file, options, isTerminal, printAll)
      if (found.isFast && kind !== 'slots') fastCount++
      const [toldOf, toldOne] = [found, expected].map(({ told, tally }) => JSON.stringify([told, tally]))
      if (found.bytes.equals(expected.bytes) && toldOf === toldOne) continue
      failures.push({ options, isTerminal, found: summary(found), expected: summary(expected) })
    }
    t.deepEqual(failures.slice(0, 2), [])
    if (['json', 'damaged', 'segments'].includes(kind)) t.ok(fastCount > 20, 'most of them from bytes')
  })
}

function summary ({ told, tally, bytes }) {
  return JSON.stringify({ told, tally, size: bytes.length, end: bytes.subarray(-200).toString() })
}

tape('count --grep: counts what cat --grep prints, also in slots', async (t) => {
  const random = seededRandom()
  for (const kind of ['json', 'segments', 'slots', 'binary']) {
    const file = await makers[kind](random, { hasBad: false })
    for (const grep of ['word', 'connection refused', 'ä']) {
      const [cat, count] = await Promise.all(['cat', 'count'].map((name) => callCommand([name, file, '-g', grep])))
      t.equal(Number(count.stdout), cat.stdout.split('\n').length - 1, `${kind}: ${grep} (seed ${random.seed})`)
      t.equal(count.code, cat.code)
    }
  }
})

tape('cat: what is written is what comes out, with a reader that is slow, and in a file', async (t) => {
  const random = seededRandom()
  const file = newPath('large.log')
  const log = OffsetLog(file, { codec: asJson })
  await appendAll(log, makeRecords(random, 8000, {}))
  await log.close()
  const expected = await record(file, {}, false, printOne)
  let paused = 0
  const { bytes, code } = await runCommand(['cat', file], {
    onSpawn ({ stdout }) {
      stdout.on('data', () => {
        if (paused++ % 8 !== 0) return
        stdout.pause()
        setTimeout(() => stdout.resume(), 2)
      })
    }
  })
  t.equal(code, 0)
  t.ok(bytes.equals(expected.bytes), `seed ${random.seed}`)
  const target = `${file}.ndjson`
  await callCommand(['export', file, target])
  t.ok(fs.readFileSync(target).equals(expected.bytes))
})

for (const [name, print] of Object.entries({
  'one by one': (output, records) => printRecords(output, (async function * () {
    for (const { seq, bytes, ms } of records) {
      await wait(ms)
      yield { seq, value: bytes.toString() }
    }
  })(), {}),
  'from bytes': (output, records) => printBytes(output, {
    async scan (_, onRun) {
      for (const { seq, bytes, ms } of records) {
        await wait(ms)
        await onRun({ buffer: bytes, count: 1, seqs: [seq], starts: [0], ends: [bytes.length] })
      }
      return { lost: { count: 0, size: 0 } }
    }
  }, {})
})) {
  tape(`printing, ${name}: what comes slowly waits for a reader that is behind: it went into memory, a piece each 20 ms`, async (t) => {
    // Then many at once, which must not wait for a pause.
    const records = Array.from({ length: 300 }, (_, n) => ({ seq: n, bytes: Buffer.from(`{"n":${n},"x":"${'x'.repeat(2000)}"}`), ms: n < 20 ? 25 : 0 }))
    const written = []
    let [waiting, most] = [0, 0]
    let takeAll = () => {}
    const isTaken = new Promise((resolve) => { takeAll = resolve })
    const output = {
      isTerminal: false,
      signal: new AbortController().signal,
      async write (text) {
        written.push(Buffer.from(text))
        most = Math.max(most, ++waiting)
        // The reader goes on once the printer waits for it.
        if (text.length >= 64 * 1024) takeAll()
        await isTaken
        waiting--
      }
    }
    await print(output, records)
    t.ok(most <= 2, `${most} writes waited at once`)
    t.equal(Buffer.concat(written).toString(), records.map(({ bytes }) => `${bytes}\n`).join(''))
  })
}
