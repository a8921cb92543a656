'use strict'
// A scan over threads against a plain one of the same log, whatever the file is like: the same records in the same
// order, the same losses, or the same failure. Parts are as small as can be, so that there are many.
// MILLRACE_SEED=N MILLRACE_ROUNDS=1 repeats the one that failed.

const fs = require('node:fs')
const tape = require('tape')
const { createRandom, garble, inQuickRuns, newPath, swap, zero } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { SpreadScan } = require('../lib/threads/pool')
const createTask = require('./threads/list-records')

const TASK = require.resolve('./threads/list-records')
const HEAD_SIZE = 32768
const PAGE_SIZE = 16384
const FRAMINGS = ['checked', 'offset32', 'offset48', 'offset53']
const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const rounds = Number(process.env.MILLRACE_ROUNDS) || inQuickRuns(10, 3)

/** What the scan shows, or fails with, through one function for all of it. */
async function scanPlainly (log, options) {
  const { onRecords, end } = createTask()
  try {
    const { lost } = await log.scan(options, onRecords)
    return { lost, records: end() }
  } catch ({ code, message, offset }) {
    return { code, message, offset }
  }
}

/** The same, over threads. */
async function scanSpread (log, options, threads) {
  try {
    const { lost, results } = await log.scan({ ...options, threads }, TASK)
    return { lost, records: results.flat(), partCount: results.length }
  } catch ({ code, message, offset }) {
    return { code, message, offset }
  }
}

/** Bytes that no framing takes for a deleted record; some of them imitate frames where they will be. */
function makeRecord (random, start, overhead) {
  const size = random(10) === 0 ? random(60000) : 1 + random(random(3) === 0 ? 4000 : 300)
  const data = Buffer.alloc(size, 1 + random(255))
  if (random(3) > 0) return data
  // Frames within the record, one behind the other, with the ends that they would have.
  const endSize = overhead - 8
  const inner = 1 + random(200)
  for (let at = random(50); at + overhead + inner <= size; at += overhead + inner) {
    const end = start + 4 + at + overhead + inner
    data.writeUInt32BE(inner, at)
    data.writeUInt32BE(inner, at + 4 + inner)
    data.writeUIntBE(0, at + 8 + inner, endSize > 6 ? 6 : endSize)
    data.writeUInt32BE(end % 2 ** 32, at + 4 + inner + endSize)
  }
  return data
}

/** A log of a few records, or of many; some deleted, compacted, or appended behind an unclean end. */
async function makeLog (random, framing) {
  const overhead = { offset32: 12, offset48: 14, offset53: 16 }[framing] ?? 12
  let file = newPath('log')
  let log = OffsetLog(file, { framing })
  await log.ready()
  const seqs = []
  for (let batches = random(random(4) === 0 ? 3 : 80); batches > 0; batches--) {
    const records = []
    let start = log._file.end
    for (let left = 1 + random(4); left > 0; left--) {
      records.push(makeRecord(random, start, overhead))
      start += records[records.length - 1].length + overhead
    }
    seqs.push(await log.append(records))
    if (framing !== 'checked' || random(40) > 0) continue
    // As after a power cut: what follows is further ahead.
    const copy = newPath('log')
    await log.sync()
    fs.copyFileSync(file, copy)
    await log.close()
    log = OffsetLog(file = copy)
    await log.ready()
  }
  const gone = seqs.filter(() => random(6) === 0)
  const before = fs.readFileSync(file)
  await log.del(gone)
  const isCompacted = framing === 'checked' && random(3) === 0
  if (isCompacted) await log.compact()
  await log.close()
  return { file, seqs, before: isCompacted ? null : before }
}

/** What a disk does to a file. */
function hurt (random, file, before) {
  const size = fs.statSync(file).size
  if (size <= HEAD_SIZE + 1) return
  const inPages = () => HEAD_SIZE + random(size - HEAD_SIZE)
  const pages = Math.floor((size - HEAD_SIZE) / PAGE_SIZE)
  const page = () => HEAD_SIZE + random(Math.max(1, pages)) * PAGE_SIZE
  const kind = random(5)
  if (kind === 0) {
    const bytes = fs.readFileSync(file)
    bytes[inPages()] ^= 1 << random(8)
    fs.writeFileSync(file, bytes)
  } else if (kind === 1) {
    const start = inPages()
    garble(file, start, Math.min(size, start + 1 + random(40000)), random(1e9))
  } else if (kind === 2) {
    const start = page()
    zero(file, start, Math.min(size, start + PAGE_SIZE * (1 + random(3))))
  } else if (kind === 3 && pages > 2) {
    swap(file, page(), page(), PAGE_SIZE)
  } else if (before) {
    // A page from before the deletions.
    const bytes = fs.readFileSync(file)
    const start = page()
    before.copy(bytes, start, start, Math.min(start + PAGE_SIZE, bytes.length))
    fs.writeFileSync(file, bytes)
  }
}

function pickRange (random, seqs) {
  const bound = () => random(2) === 0 && seqs.length > 0 ? seqs[random(seqs.length)] : random(400000)
  return {
    ...(random(3) === 0 && { [random(2) === 0 ? 'gt' : 'gte']: bound() }),
    ...(random(3) === 0 && { [random(2) === 0 ? 'lt' : 'lte']: bound() })
  }
}

tape(`threads: the same as a plain scan, whatever the file is like (seed ${seed})`, async (t) => {
  const tally = { scans: 0, parts: 0, inOnePiece: 0, failures: 0, lost: 0 }
  const { _readRestInOnePiece: readRest } = SpreadScan.prototype
  SpreadScan.prototype._readRestInOnePiece = function () {
    tally.inOnePiece++
    readRest.call(this)
  }
  for (let round = 0; round < rounds; round++) {
    const random = createRandom(seed + round)
    const framing = FRAMINGS[random(2) === 0 ? 0 : random(4)]
    const { file, seqs, before } = await makeLog(random, framing)
    const isHurt = random(2) === 0
    if (isHurt) hurt(random, file, before)
    const log = OffsetLog(file, { flags: random(2) === 0 ? 'r' : 'r+', verify: random(8) > 0, framing })
    try {
      await log.ready()
    } catch {
      await log.close()
      continue
    }
    const size = framing === 'checked' ? PAGE_SIZE * (1 + random(4)) : 100 + random(30000)
    log._threads.partSizes = { min: size, max: size }
    for (let scans = 4; scans > 0; scans--) {
      const onCorrupt = framing === 'checked' && random(2) === 0 ? 'skip' : 'error'
      const options = { ...(random(3) === 0 ? {} : pickRange(random, seqs)), onCorrupt }
      const threads = 1 + random(5)
      const plain = await scanPlainly(log, options)
      const { partCount = 0, ...spread } = await scanSpread(log, options, threads)
      tally.scans++
      tally.parts += partCount
      if (plain.code) tally.failures++
      else if (plain.lost.count > 0) tally.lost++
      if (JSON.stringify(spread) === JSON.stringify(plain)) continue
      const short = ({ records, ...rest }) => JSON.stringify({ ...rest, count: records?.length })
      t.fail(`seed ${seed + round}, ${framing}, hurt: ${isHurt}, ${JSON.stringify(options)}, ${threads} threads, parts of ` +
        `${size}: ${short(spread)}, not ${short(plain)}`)
    }
    await log.close()
  }
  SpreadScan.prototype._readRestInOnePiece = readRest
  t.comment(JSON.stringify(tally))
  t.ok(tally.scans > 0)
})
