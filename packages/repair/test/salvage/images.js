'use strict'
// Logs of many shapes, to be hurt: what is in each, and how much of it was promised.

const fs = require('node:fs')
const path = require('node:path')
const { SimulatedDisk, createRandom } = require('@millrace/testkit')
const { OffsetLog } = require('@millrace/offset-log')
const { buildRandomLog } = require('../../../framing/test/checked-builder')
const { decodeLog } = require('../../../framing/test/checked-oracle')
const { compare, expectedOf, modelOf } = require('./checked-model')

const FILE = '/folder/log'
const HEAD_SIZE = 32768

/**
 * @typedef {object} Image
 * @property {string} name
 * @property {Buffer} bytes
 * @property {number} end  where the log ends in them
 * @property {number} promisedEnd
 * @property {ReturnType<typeof modelOf>} model
 * @property {Buffer[]} earlier  what was on the medium before
 * @property {Map<number, Buffer[]>} appended  by seq all records that the log ever had there
 */

/** @param {number} seed */
function randomBytes (seed) {
  const random = createRandom(seed)
  return (size) => Buffer.from(Array.from({ length: size }, () => random(256)))
}

/**
 * @param {string} name
 * @param {object} options
 * @param {number[][][]} options.sessions  of each the appends, and of each append the sizes of its records
 * @param {string} [options.fsync]
 * @param {boolean} [options.isClosed]  whether the last session was
 * @param {number[]} [options.erased]  indexes of records that are deleted after half of the first session
 */
async function makeImage (name, { sessions, fsync = 'never', isClosed = true, erased = [] }) {
  const bytesOf = randomBytes(name.length * 7919)
  const earlier = []
  const appended = new Map()
  let disk = new SimulatedDisk({ defer: queueMicrotask })
  let promisedEnd = HEAD_SIZE
  for (const [index, appends] of sessions.entries()) {
    const log = OffsetLog(FILE, { storage: disk.storage, fsync })
    const seqs = []
    const half = Math.floor(appends.length / 2)
    for (const [number, sizes] of appends.entries()) {
      const before = log.since.value ?? -1
      await log.append(sizes.map(bytesOf))
      for await (const { seq, value } of log.stream({ gt: before })) {
        seqs.push(seq)
        appended.set(seq, [...appended.get(seq) ?? [], value])
      }
      if (number !== half) continue
      await log.sync()
      earlier.push(disk.read(FILE))
      if (index > 0 || erased.length === 0) continue
      await log.del(erased.map((index) => seqs[index]))
      await log.sync()
      earlier.push(disk.read(FILE))
    }
    const isLast = index === sessions.length - 1
    if (isLast && isClosed) await log.close()
    promisedEnd = isLast && isClosed ? disk.read(FILE).length : promisedEndOf(disk.read(FILE))
    if (isLast && !isClosed) {
      const bytes = disk.read(FILE)
      const image = finish(name, bytes, promisedEnd, { earlier, appended })
      await log.close()
      return image
    }
    if (!isLast) {
      // The power goes: of what was not synced some sectors arrived, and the file has grown.
      const random = createRandom(name.length + index)
      const after = disk.crash((count, what) => what.startsWith('sector') ? random(count) : count - 1)
      await log.close().catch(() => {})
      disk = after
      earlier.push(disk.read(FILE))
    }
  }
  return finish(name, disk.read(FILE), promisedEnd, { earlier, appended })
}

/** By the newest slot and by every chunk. */
function promisedEndOf (bytes) {
  let end = Math.max(...[4096, 12288].map((at) => bytes.readUIntBE(at + 14, 6)))
  for (let at = HEAD_SIZE; at + 40 <= bytes.length;) {
    const room = 16384 - at % 16384
    if (room < 44) {
      at += room
      continue
    }
    const ahead = bytes.readUIntBE(at + 16, 6) - at
    if (ahead < 0 || ahead % 2 ** 32 !== 0) break
    end = Math.max(end, bytes.readUIntBE(at + 22, 6) - ahead)
    at += 40 + bytes.readUInt16BE(at + 8)
  }
  return end
}

/** Where the chunks end: behind it there are zeros, or nothing. */
function endOf (bytes) {
  let end = HEAD_SIZE
  for (let at = HEAD_SIZE; at + 40 <= bytes.length;) {
    const room = 16384 - at % 16384
    if (room < 44) {
      at += room
      continue
    }
    if (bytes.readUInt32BE(at) === 0) break
    at += 40 + bytes.readUInt16BE(at + 8)
    end = at
  }
  return end
}

function finish (name, bytes, promisedEnd, { earlier = [], appended = new Map(), isOfWriter = true }) {
  const end = endOf(bytes)
  const model = modelOf(bytes, end)
  const slotEnd = Math.max(...[4096, 12288].map((at) => bytes.readUIntBE(at + 14, 6)))
  const image = { name, bytes, end, promisedEnd, slotEnd, model, earlier, appended, isOfWriter }
  const starts = model.chunks.map(({ at }) => at)
  return {
    ...image,
    starts,
    structure: [0, 4096, 8192, 12288, 16384, 24576, ...starts, ...starts],
    expect: (hurt) => expectedOf(model, image, hurt),
    read: (out) => readRecords(out),
    areSlotsWhole: (hurt) => !compare(bytes, hurt).isHit(4096, 16384),
    mayDiffer: () => false,
    isHopeless: (hurt) => isHopeless(image, hurt),
    isUnseen: (at, hurt, report, isMoved) => isUnseen(image, at, hurt, report, isMoved)
  }
}

/** By an oracle that takes nothing but what docs/internals/format.md allows. */
function readRecords (out) {
  const { frames } = decodeLog(out)
  return new Map(frames.filter(({ isErased }) => !isErased).map(({ seq, data }) => [seq, data]))
}

/** Whether both copies of the header are lost, and no two checksums prove the salt. */
function isHopeless ({ bytes, model }, hurt) {
  const { isHit } = compare(bytes, hurt)
  if (!isHit(0, 64) || !isHit(8192, 8192 + 64)) return false
  const slots = [4096, 12288].filter((start) => !isHit(start, start + 512))
  const chunks = model.chunks.filter(({ at, end }) => !isHit(at, end) && end > at + 44)
  return slots.length + chunks.length < 2
}

/**
 * What is different, and cannot be seen, or need not: a slot or a journal that is an older one, and whole; what a
 * journal says is made right from it. Where positions have gaps what was moved is found where it is now.
 */
function isUnseen (image, at, hurt, { flaws, undeleted }, isMoved) {
  if (undeleted !== 0 || (isMoved && (image.bytes.readUInt16BE(10) & 1) !== 0)) return true
  const area = at < 16384 ? Math.floor(at / 4096) * 4096 : Math.floor(at / 8192) * 8192
  if (at < HEAD_SIZE) return area !== 0 && area !== 8192 && !flaws.some(({ offset }) => offset === area)
  const isJournaled = image.bytes.subarray(16384, HEAD_SIZE).some((byte) => byte !== 0)
  return isJournaled && image.model.chunks.some((chunk, index) => at >= chunk.at && at < chunk.end &&
    image.model.records.some((record) => record.isErased && record.chunks.includes(index)))
}

/** @returns {Promise<Image[]>} */
async function makeImages () {
  const mixed = [[100], [700, 0, 300], [16000], Array.from({ length: 16 }, (_, index) => 400 * index), [20000, 50], [5]]
  const small = Array.from({ length: 60 }, (_, index) => [20 + index * 37 % 700])
  const images = [
    await makeImage('empty', { sessions: [[]] }),
    await makeImage('one record', { sessions: [[[100]]] }),
    await makeImage('mixed', { sessions: [mixed], erased: [1, 4, 10] }),
    await makeImage('mixed, not closed', { sessions: [[...mixed, [20, 2000], [3000]]], erased: [2, 4, 10], isClosed: false }),
    await makeImage('small appends', { sessions: [small] }),
    await makeImage('small appends, each synced', { sessions: [small], fsync: 'always', isClosed: false }),
    await makeImage('a huge record', { sessions: [[[10], [90000], [10, 33000, 7]]], erased: [0] }),
    await makeImage('several crashes', { sessions: [mixed, small.slice(20), mixed, small.slice(0, 9)], erased: [0, 5] }),
    await makeImage('several crashes, not closed', { sessions: [small, mixed, [...mixed, [9000]]], isClosed: false })
  ]
  for (const hasGaps of [true, false]) {
    for (const seed of [1, 2]) {
      const builder = buildRandomLog(createRandom(seed), { steps: 40, hasGaps })
      images.push(finish(`built by hand ${seed}, gaps: ${hasGaps}`, builder.build(), builder.build().length, { isOfWriter: false }))
    }
  }
  images.push(await makeCompacted('compacted and appended to', true), await makeCompacted('compacted, not closed', false))
  const compacted = fs.readFileSync(path.join(__dirname, '..', '..', '..', 'offset-log', 'test', 'fixtures', 'v1', 'compacted.log'))
  images.push(finish('compacted', compacted, compacted.length, { isOfWriter: false }))
  images.push(await makeCrashed('compacted between crashes'))
  return images
}

/** A log that lost power, was compacted, lost power again, and went on. */
async function makeCrashed (name) {
  const bytesOf = randomBytes(name.length)
  const random = createRandom(name.length)
  const earlier = []
  const appended = new Map()
  let disk = new SimulatedDisk({ defer: queueMicrotask })
  for (let session = 0; session < 4; session++) {
    const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'never' })
    const seqs = []
    for (let count = 0; count < 25; count++) {
      const data = bytesOf(count % 8 === 0 ? 5000 : 40 * count)
      const seq = await log.append(data)
      seqs.push(seq)
      appended.set(seq, [...appended.get(seq) ?? [], data])
      if (count === 12) await log.sync()
    }
    if (session === 1) {
      await log.del(seqs.filter((_, index) => index % 3 === 0))
      await log.compact()
      // It is another file.
      earlier.length = 0
    }
    earlier.push(disk.read(FILE))
    if (session === 3) {
      await log.close()
      break
    }
    const after = disk.crash((count, what) => what.startsWith('sector') ? random(count) : count - 1)
    await log.close().catch(() => {})
    disk = after
  }
  const bytes = disk.read(FILE)
  return finish(name, bytes, bytes.length, { earlier, appended })
}

/** A log that was compacted, and went on. */
async function makeCompacted (name, isClosed) {
  const disk = new SimulatedDisk({ defer: queueMicrotask })
  const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'never' })
  const bytesOf = randomBytes(name.length)
  const seqs = []
  for (let count = 0; count < 50; count++) seqs.push(await log.append(bytesOf(count % 9 === 0 ? 9000 : 30 * count)))
  await log.del(seqs.filter((_, index) => index % 3 === 0))
  await log.compact()
  for (let count = 0; count < 20; count++) seqs.push(await log.append([bytesOf(50 * count), bytesOf(count)]))
  await log.del([seqs[7], seqs[60]])
  await log.sync()
  await log.append([bytesOf(700), bytesOf(20000)])
  if (isClosed) await log.close()
  const bytes = disk.read(FILE)
  if (!isClosed) await log.close()
  return finish(name, bytes, bytes.length, {})
}

exports.makeImages = makeImages
