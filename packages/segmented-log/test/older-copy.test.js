'use strict'
// Older copies of segments that came back over newer ones, as `cp -r` of a backup puts them: what they lack is
// reported, by each way of reading, and a compressed file that has it stays.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { createIndex } = require('@millrace/index')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, failureOf, newPath, until } = require('@millrace/testkit')
const { SegmentedLog, findMissingSegments } = require('..')

const PER_SEGMENT = 4
const LEFT = 2
const SEGMENT_COUNT = 4
/** A segment without it is not worth compressing. */
const TEXT = 'x'.repeat(200)
const NUMBERS = Array.from({ length: SEGMENT_COUNT * PER_SEGMENT }, (_, n) => n)

/** Fills a folder; a backup is made when the segment at a place has half of its records. */
async function fill (place, options) {
  const folder = newPath('logs')
  const backup = newPath('backup')
  const seqs = []
  let log = SegmentedLog(folder, { codec: jsonCodec, ...options })
  for (const n of NUMBERS) {
    if (n > 0 && n % PER_SEGMENT === 0) await log.roll()
    if (n === place * PER_SEGMENT + LEFT) {
      await log.close()
      fs.cpSync(folder, backup, { recursive: true })
      log = SegmentedLog(folder, { codec: jsonCodec, ...options })
    }
    seqs.push(await log.append({ n, text: TEXT }))
  }
  const isDone = async () => (await log.segments()).slice(0, -1).every(({ compressed }) => compressed)
  if (options.compress) await until(isDone)
  await log.close()
  return { folder, backup, seqs }
}

const isSegment = (name) => /\.(log|jsonl)(\.gz)?$/.test(name)

for (const [name, options] of Object.entries({ 'no index': {}, 'an index': { index: createIndex(['n']) } })) {
  for (const [place, flags] of [[0, 'r+'], [1, 'r+'], [2, 'r+'], [0, 'r'], [2, 'r']]) {
    tape(`older copy: of segment ${place}, read with ${flags} and ${name}: what it lacks is damage`, async (t) => {
      const { folder, backup, seqs } = await fill(place, options)
      fs.cpSync(backup, folder, { recursive: true })
      const first = place * PER_SEGMENT + LEFT
      const gone = NUMBERS.slice(first, first + PER_SEGMENT - LEFT)
      const left = NUMBERS.filter((n) => !gone.includes(n))
      const log = SegmentedLog(folder, { codec: jsonCodec, flags, ...options })
      await log.index?.ready()
      const isCorrupt = async (read, what) => t.equal((await failureOf(read))?.code, 'ERR_LOG_CORRUPT', what)
      for (const range of [{}, { reverse: true }, { live: true }, { lt: seqs[gone[0]] + 1 }, { gte: seqs[gone[1]] }]) {
        await isCorrupt(() => collect(log.stream(range)), `stream ${JSON.stringify(range)}`)
        if (!range.live) await isCorrupt(() => log.scan(range, () => {}), `scan ${JSON.stringify(range)}`)
      }
      const skipped = log.stream({ seqs: false, onCorrupt: 'skip' })
      t.deepEqual((await collect(skipped)).map(({ n }) => n), left, 'all others')
      t.ok(skipped.lost.count === 1 && skipped.lost.size > 0, JSON.stringify(skipped.lost))
      await isCorrupt(() => log.count(), 'count')
      for (const n of gone) {
        const where = { path: 'n', equals: n }
        await isCorrupt(() => log.count({ where }), `how many are ${n}`)
        await isCorrupt(() => log.first({ where }), `the first ${n}`)
        await isCorrupt(() => log.get(seqs[n]), `get ${n}`)
      }
      for (const n of left) t.equal((await log.get(seqs[n])).n, n)
      t.equal(await log.count({ lte: seqs[gone[0] - 1] }), gone[0], 'before it, nothing is wrong')
      t.equal(await log.count({ gte: seqs[(place + 1) * PER_SEGMENT] }), NUMBERS.length - (place + 1) * PER_SEGMENT, 'after it')
      await log.close()
      const [missing, ...others] = await findMissingSegments(folder)
      t.deepEqual(others, [])
      t.ok(missing.error.message.startsWith(`the end of ${path.join(folder, '')}`), missing.error.message)
    })
  }
}

for (const framing of ['checked', 'lines']) {
  tape(`older copy: ${framing}: beside one that lacks its end, the compressed file stays, and is not written over`, async (t) => {
    const options = { framing, compress: 'gzip' }
    const { folder, backup, seqs } = await fill(1, options)
    const before = fs.readdirSync(folder).filter((name) => name.endsWith('.gz'))
    const [, fuller] = before.map((name) => path.join(folder, name))
    const bytes = fs.readFileSync(fuller)
    fs.cpSync(backup, folder, { recursive: true })
    const log = SegmentedLog(folder, { codec: jsonCodec, ...options })
    await log.ready()
    const plain = [fuller.slice(0, -3), (await log.segments())[SEGMENT_COUNT - 1].path]
    const isCompressed = ({ path: file, compressed }) => compressed || plain.includes(file)
    await until(async () => (await log.segments()).every(isCompressed))
    await log.close()
    t.ok(fs.readFileSync(fuller).equals(bytes), 'the compressed file is as it was')
    // As the message says.
    fs.rmSync(fuller.slice(0, -3))
    const again = SegmentedLog(folder, { codec: jsonCodec, flags: 'r' })
    t.deepEqual((await collect(again.stream({ seqs: false }))).map(({ n }) => n), NUMBERS)
    t.equal((await again.get(seqs[7])).n, 7)
    await again.close()
    t.deepEqual(await findMissingSegments(folder), [])
  })
}

tape('older copy: a compressed file that a crash has left beside a whole one is removed', async (t) => {
  const { folder } = await fill(1, {})
  const [first] = fs.readdirSync(folder).filter(isSegment)
  fs.writeFileSync(path.join(folder, `${first}.gz`), 'what a crash has left')
  const log = SegmentedLog(folder, { codec: jsonCodec })
  t.equal(await log.count(), NUMBERS.length)
  await log.close()
  t.notOk(fs.existsSync(path.join(folder, `${first}.gz`)))
})

tape('older copy: a sealed text that an editor has shortened is read as it is', async (t) => {
  const { folder } = await fill(1, { framing: 'lines' })
  const [first] = fs.readdirSync(folder).filter(isSegment).map((name) => path.join(folder, name))
  fs.writeFileSync(first, fs.readFileSync(first, 'utf8').replace(/^.*"n":3,.*\n/m, ''))
  const log = SegmentedLog(folder, { codec: jsonCodec })
  t.deepEqual((await collect(log.stream({ seqs: false }))).map(({ n }) => n), NUMBERS.filter((n) => n !== 3))
  await log.close()
})
