'use strict'
// Text files and sums with any bytes: every call answers, nothing is invented, and what a log cuts is kept beside it.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom, failureOf, inQuickRuns, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUNDS = process.env.LONG ? 20_000 : inQuickRuns(150, 2)
const EXPECTED = ['ERR_LOG_CORRUPT', 'ERR_CODEC_DECODE', 'ERR_RECORD_NOT_FOUND', 'ERR_RECORD_TOO_LARGE']

/** Changes some bytes, or cuts, adds or zeroes some. */
function hurt (random, bytes) {
  let hurt = Buffer.from(bytes)
  for (let left = random(3); left >= 0; left--) {
    const at = random(hurt.length + 1)
    const size = random(random(3) === 0 ? 5000 : 20)
    const kind = random(6)
    if (kind === 0 && hurt.length > 0) hurt[at % hurt.length] ^= 1 << random(8)
    if (kind === 1) hurt = hurt.subarray(0, at)
    if (kind === 2) hurt = Buffer.concat([hurt.subarray(0, at), Buffer.alloc(size), hurt.subarray(at)])
    if (kind === 3) hurt = Buffer.concat([hurt.subarray(0, at), hurt.subarray(Math.min(hurt.length, at + size))])
    if (kind === 4) hurt = Buffer.concat([hurt.subarray(0, at), Buffer.from(['\n', '\r\n', '{}', '\n{"n":1}'][random(4)]), hurt.subarray(at)])
    if (kind === 5) hurt = Buffer.concat([hurt, hurt.subarray(at, at + size)])
  }
  return hurt
}

tape(`lines: any bytes in the file and in the sums (seed ${seed})`, async (t) => {
  const original = newPath('original.jsonl')
  const log = OffsetLog(original, { framing: 'lines', codec: jsonCodec })
  for (let n = 0; n < 40; n++) await log.append(n % 4 ? { n, text: 'x'.repeat(n * 9) } : [{ n }, { n, of: 2 }])
  const whileOpen = fs.readFileSync(`${original}.sums`)
  await log.close()
  const [text, closed] = [fs.readFileSync(original), fs.readFileSync(`${original}.sums`)]
  const tally = { changed: 0, cut: 0, lost: 0 }
  for (let round = 0; round < ROUNDS; round++) {
    const random = createRandom(seed + round)
    const file = newPath('events.jsonl')
    const bytes = random(4) === 0 ? text : hurt(random, text)
    const sums = random(2) === 0 ? closed : whileOpen
    fs.writeFileSync(file, bytes)
    if (random(5) > 0) fs.writeFileSync(`${file}.sums`, random(2) === 0 ? sums : hurt(random, sums))
    const flags = random(3) === 0 ? 'r' : 'r+'
    const opened = OffsetLog(file, { framing: 'lines', codec: jsonCodec, flags, maxRecordSize: random(4) === 0 ? 300 : undefined })
    const fail = (what) => t.fail(`seed ${seed + round}: ${what}`)
    const failure = await failureOf(() => opened.ready())
    if (failure) {
      fail(failure.stack)
      continue
    }
    const now = fs.readFileSync(file)
    if (!bytes.subarray(0, now.length).equals(now)) fail('opening has changed bytes')
    const { keptAt = null, changed } = opened.recovery ?? {}
    const kept = keptAt === null ? Buffer.alloc(0) : fs.readFileSync(keptAt)
    if (now.length + kept.length !== bytes.length || !bytes.subarray(now.length).equals(kept)) fail('what was cut is not kept')
    if (keptAt !== null) tally.cut++
    if (changed) tally.changed++
    for (const reverse of [false, true]) {
      const source = opened.stream({ onCorrupt: 'skip', reverse })
      const err = await failureOf(async () => {
        for await (const { seq, value } of source) {
          const line = now.toString('utf8', seq).split('\n', 1)[0]
          if (JSON.stringify(JSON.parse(line)) !== JSON.stringify(value)) fail(`${JSON.stringify(value)} is not at ${seq}`)
        }
      })
      if (err && !EXPECTED.includes(err.code)) fail(err.stack)
      tally.lost += source.lost?.count ?? 0
    }
    for (let n = 0; n < 10; n++) {
      const err = await failureOf(() => opened.get(random(now.length + 5)))
      if (err && !EXPECTED.includes(err.code)) fail(err.stack)
    }
    if (flags === 'r+') {
      const seq = await opened.append({ after: true })
      const after = fs.readFileSync(file)
      if (!after.subarray(0, now.length).equals(now)) fail('an append has changed earlier bytes')
      if (after.toString('utf8', seq) !== '{"after":true}\n') fail('the append is not a line of its own')
    }
    await opened.close()
    fs.rmSync(path.dirname(file), { recursive: true })
  }
  t.comment(JSON.stringify(tally))
  t.ok(Object.values(tally).every((count) => count > 0))
})
