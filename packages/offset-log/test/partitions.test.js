'use strict'
// Partitions of a log: the reads of all of them, one after the other, against a read of the whole log and against what
// was appended. MILLRACE_SEED=N MILLRACE_ROUNDS=1 repeats a random case that failed.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { SimulatedDisk, createRandom, failureOf, flip, garble, inQuickRuns, swap, temporaryFolder, zero } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const HEAD_SIZE = 32768
const PAGE_SIZE = 16384
const FRAMINGS = ['checked', 'offset32', 'offset48', 'offset53']
const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const rounds = Number(process.env.MILLRACE_ROUNDS) || inQuickRuns(400, 20)

/** A log of 400 records of about 1 KB. */
async function makeLog (options = {}, count = 400) {
  const file = path.join(temporaryFolder(), 'log')
  const log = OffsetLog(file, options)
  await log.ready()
  const seqs = []
  for (let index = 0; index < count; index++) seqs.push(await log.append(Buffer.from(String(index).padStart(900 + index % 200, 'x'))))
  return { file, log, seqs }
}

/** What a read delivers, with the error that ended it. */
async function readRange (log, options = {}) {
  const records = []
  try {
    const { lost } = await log.scan(options, ({ buffer, count, seqs, starts, ends }) => {
      for (let i = 0; i < count; i++) records.push(`${seqs[i]} ${buffer.toString('latin1', starts[i], ends[i])}`)
    })
    return { records, lost, err: null }
  } catch (err) {
    return { records, lost: { count: 0, size: 0 }, err }
  }
}

async function seqsOf (log, ranges) {
  const found = []
  for (const range of ranges) for await (const seq of log.stream({ ...range, values: false })) found.push(seq)
  return found
}

function checkBounds (t, ranges, { seqs, end }) {
  const known = new Set(seqs)
  t.equal(ranges[0].gte, 0)
  t.ok(ranges.every(({ lt }, index) => lt === (ranges[index + 1]?.gte ?? end)), 'no gap, no overlap')
  t.ok(ranges.slice(1).every(({ gte }) => known.has(gte)), 'each begins at a record')
}

for (const framing of ['checked', 'offset32']) {
  tape(`partitions: about equal in size, and together the whole log (${framing})`, async (t) => {
    const { log, seqs } = await makeLog({ framing })
    for (const count of [1, 2, 3, 7]) {
      const ranges = await log.partitions(count)
      t.equal(ranges.length, count)
      checkBounds(t, ranges, { seqs, end: log._file.logEnd })
      const parts = await Promise.all(ranges.map((range) => readRange(log, range)))
      const records = parts.flatMap((part) => part.records)
      t.deepEqual(records.map((record) => parseInt(record)), seqs)
      const sizes = parts.map((part) => part.records.join('').length)
      const mean = records.join('').length / count
      t.ok(sizes.every((size) => Math.abs(size - mean) < 3000), `${sizes}, not ${mean}`)
    }
    const answer = await new Promise((resolve) => log.partitions(2, (err, ranges) => resolve([err, ranges])))
    t.deepEqual(answer, [null, await log.partitions(2)])
    await log.close()
    t.equal((await failureOf(() => log.partitions(2))).code, 'ERR_LOG_CLOSED')
  })

  tape(`partitions: of an empty log there are none, and of a few records only so many (${framing})`, async (t) => {
    const { log } = await makeLog({ framing }, 0)
    t.deepEqual(await log.partitions(4), [])
    const seqs = []
    for (const text of ['one', 'two', 'three']) {
      seqs.push(await log.append(Buffer.from(text)))
      const ranges = await log.partitions(1000)
      t.equal(ranges.length, seqs.length)
      checkBounds(t, ranges, { seqs, end: log._file.logEnd })
      t.deepEqual(await seqsOf(log, ranges), seqs)
    }
    await log.del(seqs)
    t.deepEqual(await seqsOf(log, await log.partitions(2)), [])
    await log.close()
  })

  tape(`partitions: a few records that fill many pages (${framing})`, async (t) => {
    const { log } = await makeLog({ framing }, 0)
    const seqs = []
    for (let index = 0; index < 5; index++) seqs.push(await log.append(Buffer.alloc(300_000, 1 + index)))
    for (const count of [2, 100]) {
      const ranges = await log.partitions(count)
      t.equal(ranges.length, Math.min(count, 5))
      checkBounds(t, ranges, { seqs, end: log._file.logEnd })
      t.deepEqual(await seqsOf(log, ranges), seqs)
    }
    await log.close()
  })

  tape(`partitions: they stay valid while records are appended and deleted (${framing})`, async (t) => {
    const { log, seqs } = await makeLog({ framing })
    const asked = log.partitions(5)
    const appended = log.append(Buffer.alloc(50_000, 7))
    const ranges = await asked
    await appended
    const gone = new Set([seqs[0], ...ranges.slice(1).map(({ gte }) => gte), seqs[399]])
    await log.del([...gone])
    const left = seqs.filter((seq) => !gone.has(seq))
    t.deepEqual(await seqsOf(log, ranges), left, 'also if the records that they begin with are gone')
    if (log.supports.compact) await log.compact()
    t.deepEqual(await seqsOf(log, ranges), left)
    await log.close()
  })

  tape(`partitions: a log that another handle writes is followed (${framing})`, async (t) => {
    const { file, log, seqs } = await makeLog({ framing })
    const reader = OffsetLog(file, { flags: 'r' })
    for (let round = 0; round < 4; round++) {
      t.deepEqual(await seqsOf(reader, await reader.partitions(3)), seqs)
      seqs.push(await log.append(Buffer.alloc(30_000, 1 + round)))
      const [gone] = seqs.splice(round * 50, 1)
      await log.del(gone)
      if (log.supports.compact && round % 2 === 0) await log.compact()
    }
    await reader.close()
    await log.close()
  })
}

tape('partitions: what cannot be asked for is refused', async (t) => {
  const log = OffsetLog('/folder/log', { storage: new SimulatedDisk().storage })
  for (const count of [0, -1, 1.5, NaN, Infinity, 1025, '2', null, undefined, [2]]) {
    const err = await failureOf(() => log.partitions(count))
    t.equal(err?.code, 'ERR_INVALID_ARGUMENT', `${String(count)}: ${err?.message}`)
  }
  await log.append([Buffer.from('a'), Buffer.from('b')])
  t.equal((await log.partitions(1024)).length, 2)
  await log.close()
})

tape('partitions: bytes that imitate frames are not taken for a record', async (t) => {
  const log = OffsetLog(path.join(temporaryFolder(), 'log'), { framing: 'offset32' })
  // Each record has frames in it, one behind the other, with the ends that they would have in the file.
  const seqs = []
  for (let index = 0; index < 6; index++) {
    const data = Buffer.alloc(40_000, 1)
    const start = index * (data.length + 12) + 4
    for (let at = 0; at + 62 <= data.length; at += 62) {
      data.writeUInt32BE(50, at)
      data.writeUInt32BE(50, at + 54)
      data.writeUInt32BE(start + at + 62, at + 58)
    }
    seqs.push(await log.append(data))
  }
  for (const count of [2, 5, 100]) {
    const ranges = await log.partitions(count)
    checkBounds(t, ranges, { seqs, end: log._file.logEnd })
    t.deepEqual(await seqsOf(log, ranges), seqs)
  }
  await log.close()
})

for (const framing of ['checked', 'offset32']) {
  tape(`partitions: the last one reports what is missing behind the end (${framing})`, async (t) => {
    const { file, log } = await makeLog({ framing })
    await log.close()
    fs.truncateSync(file, fs.statSync(file).size - 2 * PAGE_SIZE)
    // The end of an offset log does not say that more was there.
    if (framing !== 'checked') flip(file, fs.statSync(file).size - 100 * 1024)
    const hurt = OffsetLog(file, { flags: 'r' })
    const whole = await readRange(hurt)
    const parts = []
    for (const range of await hurt.partitions(3)) parts.push(await readRange(hurt, range))
    t.deepEqual(parts.flatMap(({ records }) => records), whole.records)
    t.equal(parts.at(-1).err?.code, whole.err?.code)
    if (framing === 'checked') t.equal(whole.err?.code, 'ERR_LOG_CORRUPT')
    await hurt.close()
  })
}

tape('range: a read of a compacted log fails if a page in front of it is from another place', async (t) => {
  const { file, log, seqs } = await makeLog()
  await log.del(seqs.splice(100, 30))
  await log.compact()
  await log.close()
  const pageCount = Math.floor((fs.statSync(file).size - HEAD_SIZE) / PAGE_SIZE)
  const original = fs.readFileSync(file)
  const failed = { errorfalse: 0, skipfalse: 0, errortrue: 0, skiptrue: 0 }
  for (let page = 0; page + 8 < pageCount; page++) {
    fs.writeFileSync(file, original)
    swap(file, HEAD_SIZE + page * PAGE_SIZE, HEAD_SIZE + (page + 7) * PAGE_SIZE, PAGE_SIZE)
    const hurt = OffsetLog(file, { flags: 'r' })
    for (let first = 0; first + 20 < seqs.length; first += 10) {
      const expected = seqs.slice(first, first + 10)
      const range = { gte: expected[0], lt: seqs[first + 10] }
      for (const [onCorrupt, reverse] of [['error', false], ['skip', false], ['error', true], ['skip', true]]) {
        const { records, lost, err } = await readRange(hurt, { ...range, onCorrupt, reverse })
        const found = records.map((record) => parseInt(record))
        if (reverse) found.reverse()
        if (err !== null || lost.count > 0) failed[onCorrupt + reverse]++
        else if (String(found) !== String(expected)) {
          t.fail(`pages ${page} and ${page + 7}, records from ${first} on, ${onCorrupt}, reverse ${reverse}: ${found.length} of 10`)
        }
      }
    }
    await hurt.close()
  }
  t.ok(Math.min(...Object.values(failed)) > 0, `reads that met damage: ${JSON.stringify(failed)}`)
})

/** Bytes that no framing takes for a deleted record; some of them imitate frames where they will be. */
function makeRecord (random, start, overhead) {
  const size = random(10) === 0 ? random(60_000) : 1 + random(random(3) === 0 ? 4000 : 300)
  const data = Buffer.alloc(size, 1 + random(255))
  if (random(3) > 0) return data
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
async function makeRandomLog (random, framing) {
  const overhead = { offset32: 12, offset48: 14, offset53: 16 }[framing] ?? 12
  let file = path.join(temporaryFolder(), 'log')
  let log = OffsetLog(file, { framing })
  await log.ready()
  const records = new Map()
  let isCompacted = false
  for (let batches = random(random(4) === 0 ? 3 : 80); batches > 0; batches--) {
    const batch = []
    let start = log._file.logEnd
    for (let left = 1 + random(4); left > 0; left--) {
      batch.push(makeRecord(random, start, overhead))
      start += batch[batch.length - 1].length + overhead
    }
    const seqs = await log.append(batch, { seqs: true })
    seqs.forEach((seq, index) => records.set(seq, batch[index].toString('latin1')))
    if (framing !== 'checked') continue
    if (random(60) === 0) isCompacted = await thin(random, log, records)
    if (random(40) > 0) continue
    // As after a power cut: what follows is further ahead.
    const copy = path.join(temporaryFolder(), 'log')
    await log.sync()
    fs.copyFileSync(file, copy)
    await log.close()
    log = OffsetLog(file = copy)
    await log.ready()
  }
  isCompacted = await thin(random, log, records, framing === 'checked' && random(3) === 0) || isCompacted
  await log.close()
  return { file, records, isCompacted }
}

/** Deletes some records. @returns {Promise<boolean>} whether the log was compacted */
async function thin (random, log, records, compacts = true) {
  const gone = [...records.keys()].filter(() => random(6) === 0)
  await log.del(gone)
  for (const seq of gone) records.delete(seq)
  if (compacts) await log.compact()
  return compacts
}

/** What a disk does to a file. */
function hurt (random, file) {
  const size = fs.statSync(file).size
  if (size <= HEAD_SIZE + 1) return
  const inPages = () => HEAD_SIZE + random(size - HEAD_SIZE)
  const pages = Math.floor((size - HEAD_SIZE) / PAGE_SIZE)
  const page = () => HEAD_SIZE + random(Math.max(1, pages)) * PAGE_SIZE
  const kind = random(4)
  if (kind === 0) {
    for (let flips = 1 + random(3); flips > 0; flips--) flip(file, inPages())
  } else if (kind === 1) {
    const start = inPages()
    garble(file, start, Math.min(size, start + 1 + random(40_000)), random(1e9))
  } else if (kind === 2) {
    const start = page()
    zero(file, start, Math.min(size, start + PAGE_SIZE * (1 + random(3))))
  } else if (pages > 2) swap(file, page(), page(), PAGE_SIZE)
}

/** What is wrong with reads of partitions; undefined if nothing is. */
function findFault (whole, parts, { isHurt, isCompacted, records }) {
  const found = parts.flatMap((part) => part.records)
  if (!isHurt) {
    const expected = [...records].map(([seq, text]) => `${seq} ${text}`)
    if (whole.err !== null || String(whole.records) !== String(expected)) return 'the whole read is wrong'
  }
  const failed = parts.findIndex(({ err }) => err !== null)
  if (whole.err !== null) {
    if (failed === -1) return `no part fails: ${whole.err.message}`
    const before = parts.slice(0, failed + 1).flatMap((part) => part.records)
    return before.every((record, index) => record === whole.records[index]) ? undefined : 'other records before the failure'
  }
  if (failed !== -1) return `a part fails: ${parts[failed].err.message}`
  const lost = parts.reduce((sum, part) => sum + part.lost.count, 0)
  if (whole.lost.count > 0 && lost === 0) return 'nothing is lost'
  if (String(found) === String(whole.records)) return
  const what = `other records: ${found.length} of ${whole.records.length}, lost ${lost}`
  // A page of a compacted log does not say where it belongs. So a read that begins after the damage may have to give up
  // more than one that comes there from the start; but it says so, and what it gives is right.
  if (!isCompacted || lost === 0) return what
  const texts = [...records].map(([seq, text]) => `${seq} ${text}`)
  const places = found.map((text) => texts.indexOf(text))
  return places.every((place, index) => place > (places[index - 1] ?? -1)) ? undefined : `${what}, and not in order`
}

tape(`partitions: together they read what one read does, whatever the file is like (seed ${seed})`, async (t) => {
  const tally = { reads: 0, parts: 0, failures: 0, lost: 0 }
  for (let round = 0; round < rounds; round++) {
    const random = createRandom(seed + round)
    const framing = FRAMINGS[random(2) === 0 ? 0 : random(4)]
    const { file, records, isCompacted } = await makeRandomLog(random, framing)
    const isHurt = random(2) === 0
    if (isHurt) hurt(random, file)
    const log = OffsetLog(file, { flags: random(2) === 0 ? 'r' : 'r+', framing })
    try {
      await log.ready()
    } catch {
      await log.close()
      continue
    }
    for (const onCorrupt of framing === 'checked' ? ['error', 'skip'] : ['error']) {
      const count = 1 + random(random(4) === 0 ? 1000 : 8)
      const whole = await readRange(log, { onCorrupt })
      const ranges = await log.partitions(count)
      const parts = []
      for (const range of ranges) parts.push(await readRange(log, { ...range, onCorrupt }))
      tally.reads++
      tally.parts += ranges.length
      if (whole.err !== null) tally.failures++
      else if (whole.lost.count > 0) tally.lost++
      const isContiguous = ranges.every(({ gte, lt }, index) => gte < lt && gte === (ranges[index - 1]?.lt ?? 0))
      const fault = isContiguous && ranges.length <= count ? findFault(whole, parts, { isHurt, isCompacted, records }) : 'the ranges have gaps'
      if (fault) t.fail(`seed ${seed + round}, ${framing}, hurt: ${isHurt}, compacted: ${isCompacted}, ${onCorrupt}, ${count} parts: ${fault}`)
    }
    await log.close()
  }
  t.comment(JSON.stringify(tally))
  t.pass(`${tally.reads} logs`)
})
