'use strict'
// Reads by an index get the memory of reads that have ended. Whatever else reads, and however a read ends, each gives
// what a read without an index gives, and no value that was given changes later.

const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { createRandom, inQuickRuns, newPath } = require('@millrace/testkit')
const { createIndex } = require('..')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUNDS = inQuickRuns(40, 4)
const COUNT = 3000
const READS = 80

/** Its values are the bytes that it gets. */
const bytesCodec = {
  name: 'mine',
  buffer: true,
  encode: ({ user, text }) => Buffer.from(`${user} ${text}`),
  decode: (bytes) => ({ user: Number(bytes.toString().split(' ', 1)[0]), bytes })
}
const CODECS = [jsonCodec, binaryCodec, bytesCodec]

/** Small ones, and some that are larger than a page. */
const makeValue = (random, n) => ({ user: random(20), text: `${n} `.repeat(random(60) === 0 ? 6000 : random(100)) })

/** Begins a read, and gives a function that goes on with it: false once it has ended. */
function begin (log, codec, options, random) {
  const found = []
  const limit = options.limit ?? Infinity
  const kind = random(4)
  // A read may be given up at any record.
  const most = random(3) === 0 ? random(30) : Infinity
  if (kind === 0) {
    const done = log.scan(options, ({ buffer, starts, ends, seqs, count }) => {
      for (let at = 0; at < count; at++) {
        const bytes = Buffer.from(buffer.subarray(starts[at], ends[at]))
        found.push({ seq: seqs[at], value: codec.decode(bytes) })
      }
      return found.length < most
    })
    return { found, isWhole: () => most === Infinity, next: async () => { await done; return false } }
  }
  const stop = new AbortController()
  const items = log.stream({ ...options, ...kind === 1 && { signal: stop.signal } })[Symbol.asyncIterator]()
  const next = async () => {
    const { done, value } = await items.next()
    if (!done) found.push(value)
    if (done || (found.length < most && found.length < limit)) return !done
    if (found.length === limit && random(2) === 0) return !(await items.next()).done
    if (kind === 1) stop.abort()
    else if (kind === 2) await items.return()
    return false
  }
  return { found, isWhole: () => most === Infinity, next }
}

tape(`shared memory: reads in turn, and given up, give what reads without an index give (seed ${seed})`, async (t) => {
  let count = 0
  for (let round = 0; round < ROUNDS; round++) {
    const random = createRandom(seed + round)
    const codec = CODECS[round % CODECS.length]
    const path = newPath('log')
    const writer = OffsetLog(path, { codec, index: createIndex(['user'], { tuning: { recordsMax: 500 } }) })
    const seqs = await writer.append(Array.from({ length: COUNT }, (_, n) => makeValue(random, n)), { seqs: true })
    await writer.index.ready()
    const plain = OffsetLog(path, { codec, flags: 'r', cache: 0 })
    const reads = []
    const wrong = []
    const check = async ({ read: { found, isWhole }, options }) => {
      const wanted = []
      for await (const item of plain.stream(options)) wanted.push(item)
      const some = isWhole() ? wanted : wanted.slice(0, found.length)
      if (JSON.stringify(found) !== JSON.stringify(some)) wrong.push(JSON.stringify(options))
      count += found.length
    }
    const ended = []
    for (let begun = 0; begun < READS || reads.length > 0;) {
      if (begun < READS && reads.length < 6 && random(3) > 0) {
        const options = { where: { path: 'user', equals: random(22) }, reverse: random(2) === 0 }
        if (random(2) === 0) options.limit = 1 + random(40)
        if (random(4) === 0) options[options.reverse ? 'lt' : 'gte'] = seqs[random(COUNT)]
        reads.push({ read: begin(writer, codec, options, random), options })
        begun++
      } else if (reads.length > 0) {
        const at = random(reads.length)
        // Some calls of several reads are under way at once.
        const steps = reads.slice(at, at + 1 + random(2)).map(async (one) => [one, await one.read.next()])
        for (const [one, goesOn] of await Promise.all(steps)) {
          if (goesOn) continue
          reads.splice(reads.indexOf(one), 1)
          ended.push(one)
        }
      }
    }
    // Only now: what was given first must still be right.
    await plain.ready()
    for (const one of ended) await check(one)
    await plain.close()
    await writer.close()
    if (wrong.length > 0) return t.end(t.fail(`seed ${seed + round}, ${codec.name}: ${wrong.length} differ: ${wrong[0]}`))
  }
  t.ok(count > ROUNDS * READS, `${count} records were read`)
})
