// @ts-nocheck
'use strict'
// Hurts small logs of the checked framing in every way that a disk may, one way at a time, and judges what becomes of
// them: damage is noticed, no record is ever read with wrong bytes, and nothing that was durable is ever cut.
//
// `checkDamage({ exhaustive: true })` tries every single bit; without it a sample, by a seed.

const { SimulatedDisk, createRandom, failureOf } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const FILE = '/folder/log'
const SECTOR_SIZE = 512
const HEAD_SIZE = 32768
const JOURNALS_START = 16384
const SLOTS = [4096, 12288]
const SLOT_SIZE = 512
const AREA_SIZE = 4096

/**
 * A log to be hurt, and what is right to read from it.
 * @typedef {object} Image
 * @property {string} name
 * @property {Buffer} bytes
 * @property {Array<{ seq: number, data: Buffer, isErased: boolean, commit: number }>} records  in order
 * @property {number} durableEnd  all of the file before it is known to be durable
 * @property {Buffer[]} earlier  what was on the medium at syncs before
 * @property {boolean} hasSlots
 * @property {boolean} hasCount  it is known how many records were deleted
 */

/**
 * @typedef {object} Injury
 * @property {string} label
 * @property {Buffer} bytes
 * @property {boolean} [isFlip]  of one bit
 * @property {boolean} [mayBeUnnoticed]  as long as all reads right
 * @property {boolean} [isOld]  records that were deleted may be there again, until the count of them tells
 */

/**
 * @typedef {object} Tally
 * @property {number} cases
 * @property {number} noticed  at open, or by whoever reads all of the log
 * @property {number} mended  opening put the bytes right again
 * @property {number} harmless  everything reads right: old bytes of what says how the log was before
 * @property {string[]} faults
 */

/**
 * @param {object} [options]
 * @param {boolean} [options.exhaustive]
 * @param {number} [options.seed]
 * @param {number} [options.samples]  how many injuries of each kind, in each log
 * @param {{ index: number, count: number }} [options.share]  only every so many
 * @param {(tally: Tally) => void} [options.onProgress]
 * @returns {Promise<Tally>}
 */
async function checkDamage (options = {}) {
  const { exhaustive = false, seed = 1, samples = 100, share = { index: 0, count: 1 }, onProgress } = options
  const random = createRandom(seed)
  /** @type {Tally} */
  const tally = { cases: 0, noticed: 0, mended: 0, harmless: 0, faults: [] }
  let number = 0
  for (const image of await makeImages()) {
    const healthy = await examine(image, image.bytes)
    if (healthy.fault || !healthy.isComplete) tally.faults.push(`${image.name}, unhurt: ${healthy.fault ?? 'incomplete'}`)
    for (const injuries of [flips, lostSectors, staleSectors, swaps, misdirected, stalePages]) {
      const all = injuries(image)
      const count = exhaustive ? all.count : Math.min(samples, all.count)
      for (let index = 0; index < count; index++) {
        if (number++ % share.count !== share.index) continue
        const injury = all.make(exhaustive ? index : all.pick(random))
        if (injury === null) continue
        await judge(image, healthy, injury, tally)
        if (tally.cases % 10000 === 0) onProgress?.(tally)
      }
    }
  }
  return tally
}

/** @returns {Promise<Image[]>} */
async function makeImages () {
  const closed = await makeImage('closed', { isClosed: true })
  const killed = await makeImage('killed', { isClosed: false })
  return [closed, withoutSlots(closed), killed, withoutSlots(killed)]
}

/**
 * A log of at least four pages with a split record, a record over three pages, a batch of many chunks, and deletions.
 * One that was not closed has journals, and two commits that were never synced.
 * @param {string} name
 * @param {{ isClosed: boolean }} options
 * @returns {Promise<Image>}
 */
async function makeImage (name, { isClosed }) {
  const disk = new SimulatedDisk({ defer: queueMicrotask })
  const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'never' })
  const random = createRandom(4711)
  const records = []
  const earlier = []
  const append = async (...sizes) => {
    const batch = sizes.map((size) => Buffer.from(Array.from({ length: size }, () => random(256))))
    const before = records.at(-1)?.seq ?? -1
    await log.append(batch)
    const commit = (records.at(-1)?.commit ?? -1) + 1
    let index = 0
    for await (const seq of log.stream({ gt: before, values: false })) {
      records.push({ seq, data: batch[index++], isErased: false, commit })
    }
  }
  const erase = async (...indexes) => {
    await log.del(indexes.map((index) => records[index].seq))
    for (const index of indexes) records[index].isErased = true
  }
  const sync = async () => {
    await log.sync()
    earlier.push(disk.crash(() => 0).read(FILE))
  }
  await append(100)
  await append(700, 0, 300)
  await sync()
  await append(16000)
  await append(...Array.from({ length: 16 }, (_, index) => 400 * index))
  await sync()
  await append(20000, 50)
  await erase(1, 4)
  await sync()
  await append(5)
  await erase(2, 21)
  await sync()
  await erase(10, 11, 22)
  await sync()
  // The slot of the last sync.
  await sync()
  const durableEnd = disk.read(FILE).length
  if (isClosed) {
    await log.close()
  } else {
    await append(20, 2000)
    await append(3000)
  }
  const bytes = disk.read(FILE)
  if (!isClosed) await log.close()
  return { name, bytes, records, durableEnd, earlier, hasSlots: true, hasCount: true }
}

/**
 * @param {Image} image
 * @returns {Image}  all of it counts as durable then
 */
function withoutSlots (image) {
  const bytes = Buffer.from(image.bytes)
  for (const position of SLOTS) bytes.fill(0, position, position + SLOT_SIZE)
  const earlier = image.earlier.map((old) => {
    const copy = Buffer.from(old)
    for (const position of SLOTS) copy.fill(0, position, position + SLOT_SIZE)
    return copy
  })
  // The journals of a log that was not closed have the count.
  const hasCount = !bytes.subarray(JOURNALS_START, HEAD_SIZE).every((byte) => byte === 0)
  const name = `${image.name}, without slots`
  return { ...image, name, bytes, earlier, durableEnd: bytes.length, hasSlots: false, hasCount }
}

/** @param {Image} image */
function flips ({ bytes }) {
  return {
    count: bytes.length * 8,
    // Most bits are some record's; those of the structure are worth as many tries.
    pick: (random) => (random(2) ? random(bytes.length) : structuralOffset(bytes, random)) * 8 + random(8),
    make: (index) => {
      const offset = index >>> 3
      const hurt = Buffer.from(bytes)
      hurt[offset] ^= 1 << (index & 7)
      return { label: `bit ${index & 7} of byte ${offset}`, bytes: hurt, isFlip: true }
    }
  }
}

/**
 * Somewhere in the head, or in the 48 bytes where a chunk begins.
 * @param {Buffer} bytes
 * @param {(limit: number) => number} random
 */
function structuralOffset (bytes, random) {
  if (random(3) === 0) return [0, 4096, 8192, 12288, 16384, 24576][random(6)] + random(64)
  const starts = []
  for (let at = HEAD_SIZE; at < bytes.length;) {
    if (16384 - at % 16384 < 44) {
      at += 16384 - at % 16384
      continue
    }
    starts.push(at)
    at += 40 + bytes.readUInt16BE(at + 8)
  }
  return Math.min(bytes.length - 1, starts[random(starts.length)] + random(48))
}

function sectorCount (bytes) {
  return Math.ceil(bytes.length / SECTOR_SIZE)
}

/**
 * @param {Image} image
 * @param {number} sector
 * @param {Buffer} content
 * @param {string} label
 * @returns {Injury | null}  null when nothing is different
 */
function replaceSector ({ bytes }, sector, content, label) {
  const start = sector * SECTOR_SIZE
  const end = Math.min(bytes.length, start + SECTOR_SIZE)
  const hurt = Buffer.from(bytes)
  hurt.fill(0, start, end)
  content.copy(hurt, start, 0, end - start)
  return hurt.equals(bytes) ? null : { label, bytes: hurt }
}

/** Sectors that were never written. @param {Image} image */
function lostSectors (image) {
  const count = sectorCount(image.bytes)
  return {
    count,
    pick: (random) => random(count),
    make: (index) => replaceSector(image, index, Buffer.alloc(0), `sector ${index} is zeros`)
  }
}

/** Sectors as they were at some sync before. @param {Image} image */
function staleSectors (image) {
  const sectors = sectorCount(image.bytes)
  const count = sectors * image.earlier.length
  return {
    count,
    pick: (random) => random(count),
    make: (index) => {
      const sector = index % sectors
      const age = Math.floor(index / sectors)
      const content = image.earlier[age].subarray(sector * SECTOR_SIZE, (sector + 1) * SECTOR_SIZE)
      const injury = replaceSector(image, sector, content, `sector ${sector} as it was at sync ${age}`)
      // An older slot or journal tells less, and nothing wrong.
      return injury && { ...injury, mayBeUnnoticed: sector * SECTOR_SIZE < HEAD_SIZE }
    }
  }
}

/** @param {Image} image */
function swaps (image) {
  const sectors = sectorCount(image.bytes)
  const contentOf = (sector) => image.bytes.subarray(sector * SECTOR_SIZE, (sector + 1) * SECTOR_SIZE)
  return {
    count: sectors * (sectors - 1) / 2,
    pick: (random) => {
      const second = 1 + random(sectors - 1)
      return second * (second - 1) / 2 + random(second)
    },
    make: (index) => {
      let second = Math.floor((1 + Math.sqrt(1 + 8 * index)) / 2)
      while (second * (second - 1) / 2 > index) second--
      const first = index - second * (second - 1) / 2
      const once = replaceSector(image, first, contentOf(second), '')
      if (once === null) return null
      const label = `sectors ${first} and ${second} are swapped`
      const injury = replaceSector({ ...image, bytes: once.bytes }, second, contentOf(first), label)
      // Each slot says itself which one is the newer.
      const isOfSlots = first * SECTOR_SIZE === SLOTS[0] && second * SECTOR_SIZE === SLOTS[1]
      return injury && { ...injury, mayBeUnnoticed: isOfSlots }
    }
  }
}

/** One sector's write went to another one. @param {Image} image */
function misdirected (image) {
  const sectors = sectorCount(image.bytes)
  const count = sectors * sectors
  return {
    count,
    pick: (random) => random(count),
    make: (index) => {
      const from = index % sectors
      const to = Math.floor(index / sectors)
      const content = image.bytes.subarray(from * SECTOR_SIZE, (from + 1) * SECTOR_SIZE)
      const injury = replaceSector(image, to, content, `sector ${to} is that of ${from}`)
      const isOfSlots = SLOTS.includes(from * SECTOR_SIZE) && SLOTS.includes(to * SECTOR_SIZE)
      return injury && { ...injury, mayBeUnnoticed: isOfSlots }
    }
  }
}

/** Whole pages from before a deletion: each of their chunks verifies. @param {Image} image */
function stalePages (image) {
  const pages = Math.ceil((image.bytes.length - HEAD_SIZE) / 16384)
  const count = pages * image.earlier.length
  return {
    count,
    pick: (random) => random(count),
    make: (index) => {
      const start = HEAD_SIZE + index % pages * 16384
      const age = Math.floor(index / pages)
      const old = image.earlier[age].subarray(start, start + 16384)
      const hurt = Buffer.from(image.bytes)
      hurt.fill(0, start, Math.min(hurt.length, start + 16384))
      old.copy(hurt, start)
      if (hurt.equals(image.bytes)) return null
      const label = `page at ${start} as it was at sync ${age}`
      return { label, bytes: hurt, isOld: true, mayBeUnnoticed: !image.hasCount }
    }
  }
}

/**
 * @param {Image} image
 * @param {Awaited<ReturnType<typeof examine>>} healthy
 * @param {Injury} injury
 * @param {Tally} tally
 */
async function judge (image, healthy, injury, tally) {
  tally.cases++
  const found = await examine(image, injury.bytes, injury.isOld)
  const isNoticed = found.openError !== null || found.isCorrupt || found.report !== healthy.report
  let { fault } = found
  // Zeros behind all that was durable are no more than a write of which nothing arrived.
  const isUnwritten = injury.bytes.subarray(image.durableEnd).every((byte) => byte === 0)
  if (isNoticed) tally.noticed++
  else if (isUnwritten && image.bytes.length > image.durableEnd) tally.harmless++
  else if (!found.isComplete && !(injury.isOld && injury.mayBeUnnoticed)) fault ??= 'records are missing, and nobody is told'
  else if (found.after.equals(healthy.after)) tally.mended++
  else if (injury.mayBeUnnoticed || isOfNoUse(image, injury, found.after, healthy.after)) tally.harmless++
  else fault ??= 'nobody is told'
  if (fault) tally.faults.push(`${image.name}: ${injury.label}: ${fault}; ${found.report}, ${found.openError?.code}`)
}

/**
 * What is lost already can be hurt no more, and a whole sector of a journal can go when all is right without it.
 * @param {Image} image
 * @param {Injury} injury
 * @param {Buffer} after  the file, once it was opened
 * @param {Buffer} healthy  the same of the one that was not hurt
 */
function isOfNoUse (image, { isFlip = false }, after, healthy) {
  const lost = image.hasSlots ? [] : SLOTS.map((start) => ({ start, end: start + AREA_SIZE }))
  const areas = isFlip ? lost : [...lost, { start: JOURNALS_START, end: HEAD_SIZE }]
  const rest = Buffer.from(after)
  for (const { start, end } of areas) healthy.copy(rest, start, start, end)
  return rest.equals(healthy)
}

/**
 * Opens the log and reads it every way.
 * @param {Image} image
 * @param {Buffer} bytes
 * @param {boolean} [isOld]  whether records that were deleted may be there again
 */
async function examine (image, bytes, isOld = false) {
  const disk = new SimulatedDisk({ defer: queueMicrotask })
  disk.put(FILE, bytes)
  const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'never', cache: 2 ** 17 })
  const openError = await failureOf(() => log.ready())
  const result = { openError, isCorrupt: false, isComplete: false, report: '', fault: null, after: bytes }
  const wrong = (what) => { result.fault ??= what }
  if (openError) {
    if (!['ERR_LOG_CORRUPT', 'ERR_LOG_UNKNOWN_FORMAT'].includes(openError.code)) wrong(openError.stack)
    if (!disk.read(FILE).equals(bytes)) wrong('it was refused, and changed')
    return result
  }
  result.after = disk.read(FILE)
  result.report = JSON.stringify(log.recovery)
  checkFile(image, bytes, result.after, log.recovery, wrong)
  const reading = await readEveryWay(image, log, isOld, wrong)
  result.isCorrupt = reading.isCorrupt
  result.isComplete = reading.count === image.records.filter(({ isErased }) => !isErased).length
  if (!reading.isCorrupt && !(log.recovery?.damage.length > 0)) checkPrefix(image, reading.seqs, isOld, wrong)
  const closeError = await failureOf(() => log.close())
  if (closeError) wrong(`close: ${closeError.stack}`)
  return result
}

/** What was durable is not cut, and nothing of a damaged log is changed. */
function checkFile ({ durableEnd, bytes: original }, before, after, recovery, wrong) {
  for (const { offset, size } of recovery?.damage ?? []) {
    if (!(offset >= 0 && size > 0)) wrong(`damage without a range: ${offset}, ${size}`)
  }
  if (after.length < durableEnd) wrong(`cut to ${after.length}, though ${durableEnd} bytes were durable`)
  if (after.subarray(HEAD_SIZE).equals(before.subarray(HEAD_SIZE, after.length))) {
    if (recovery?.damage.length > 0 && after.length < before.length) wrong('damaged, and cut')
    return
  }
  if (recovery?.damage.length > 0) wrong('damaged, and changed')
  for (let at = HEAD_SIZE; at < durableEnd; at++) {
    if (after[at] !== before[at] && after[at] !== original[at]) return wrong(`byte ${at} was changed`)
  }
}

/** Without damage, what is there is a prefix of the commits. */
function checkPrefix ({ records, durableEnd }, found, isOld, wrong) {
  const there = records.filter(({ isErased }) => !isErased)
  const seqs = isOld ? found.filter((seq) => there.some((record) => record.seq === seq)) : found
  const next = there[seqs.length]
  if (seqs.some((seq, index) => seq !== there[index]?.seq)) wrong('a record is missing in the middle')
  else if (next && next.seq < durableEnd) wrong(`the record ${next.seq} is missing, which was durable`)
  else if (next && seqs.length > 0 && next.commit === there[seqs.length - 1].commit) wrong('half a commit')
}

async function readEveryWay (image, log, isOld, wrong) {
  const known = new Map(image.records.map((record) => [record.seq, record]))
  const seqs = []
  const outcome = { isCorrupt: false, count: 0, seqs }
  const failed = (err, what) => {
    if (err === null) return
    if (err.code === 'ERR_LOG_CORRUPT') outcome.isCorrupt = true
    else wrong(`${what}: ${err.stack}`)
  }
  const check = (seq, data, what) => {
    const record = known.get(seq)
    if (!record) wrong(`${what}: a record at ${seq} that never was`)
    else if (record.isErased && !isOld) wrong(`${what}: the record at ${seq} was deleted`)
    else if (!record.data.equals(data)) wrong(`${what}: the record at ${seq} has wrong bytes`)
  }
  const visit = (what, note) => ({ buffer, count, seqs, starts, ends }) => {
    for (let index = 0; index < count; index++) {
      check(seqs[index], buffer.subarray(starts[index], ends[index]), what)
      note(seqs[index])
    }
  }
  failed(await failureOf(() => log.scan({}, visit('scan', (seq) => seqs.push(seq)))), 'scan')
  const backward = []
  failed(await failureOf(() => log.scan({ reverse: true }, visit('reverse', (seq) => backward.push(seq)))), 'reverse')
  const skipped = []
  if (outcome.isCorrupt) {
    failed(await failureOf(() => log.scan({ onCorrupt: 'skip' }, visit('skip', (seq) => skipped.push(seq)))), 'skip')
    if (seqs.some((seq) => !skipped.includes(seq))) wrong('skip: a record is missing that is there without it')
  }
  if (seqs.some((seq, index) => index > 0 && seq <= seqs[index - 1])) wrong('scan: not in order')
  if (backward.some((seq, index) => index > 0 && seq >= backward[index - 1])) wrong('reverse: not in order')
  if (skipped.some((seq, index) => index > 0 && seq <= skipped[index - 1])) wrong('skip: not in order')
  for (const { seq, isErased } of image.records) {
    const data = await log.get(seq).catch((err) => err)
    if (Buffer.isBuffer(data)) check(seq, data, 'get')
    else if (data.code === 'flumelog:deleted' && isErased) continue
    else if (data.code !== 'ERR_RECORD_NOT_FOUND') failed(data, 'get')
    else if (seqs.includes(seq)) wrong(`get: no record at ${seq}, which a scan delivers`)
  }
  outcome.count = backward.length === seqs.length ? seqs.length : -1
  return outcome
}

exports.checkDamage = checkDamage
