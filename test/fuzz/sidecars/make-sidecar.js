'use strict'
// Hostile sidecars, of logs that are sound or damaged: damaged ones, and those that say something else under checksums
// that were made to fit.

const { crc32 } = require('node:zlib')
const { MemoryStorage } = require('../memory-storage')
const { makeNoise, mutateBytes } = require('../mutate-bytes')
const { hostileNumber, writeNumber } = require('../numbers')
const { describe } = require('../logs/make-bases')
const { END_SIZES, tamperWithOffset } = require('../logs/offset-image')

/**
 * @typedef {(limit: number) => number} Random
 * @typedef {object} Pair  a log and its sidecar, as a writer left them
 * @property {string} framing
 * @property {Buffer} log
 * @property {Buffer} sidecar
 * @property {import('../logs/make-bases').Known[]} known  the records that were ever in it
 */

const FILE = '/log'
const SIDECAR = '/log.sidecar'
const SLOT_POSITIONS = [0, 8192]
const SLOT_HEADER_SIZE = 64
/** Where fields of a slot are, and how wide. @type {Array<[offset: number, width: number]>} */
const SLOT_FIELDS = [
  [0, 2], [8, 2], [10, 2], [16, 4], [20, 6], [26, 6], [32, 8], [40, 4], [44, 2], [46, 2], [48, 8], [56, 8]
]

/**
 * @param {Random} random
 * @param {import('../library').Library} library
 * @param {string} framing
 * @returns {Promise<Pair[]>}  at some moments of a session, and at its end
 */
async function recordPairs (random, library, framing) {
  const { OffsetLog } = library.load('offset-log')
  /** @type {Pair[]} */
  const pairs = []
  /** @type {Pair['known']} */
  const known = []
  const keep = () => {
    if (![FILE, SIDECAR].every((path) => storage.list().includes(path))) return
    pairs.push({ framing, log: storage.read(FILE), sidecar: storage.read(SIDECAR), known })
  }
  const storage = new MemoryStorage({ hasState: true, onWritten: () => { if (random(6) === 0) keep() } })
  let log = OffsetLog(FILE, { framing, storage, sidecar: true, cache: 65536 })
  for (let steps = 2 + random(6); steps > 0; steps--) {
    switch (random(6)) {
      case 0: await log.sync(); break
      case 1: if (known.length > 0) await log.del(known[random(known.length)][0]); break
      case 2: await log.close(); log = OffsetLog(FILE, { framing, storage, sidecar: true, cache: 65536 }); break
      default: {
        const size = random(12) === 0 ? random(90_000) : random(100)
        const data = Buffer.concat([Buffer.from([1]), makeNoise(random, size)])
        known.push(describe(await log.append(data), data))
      }
    }
  }
  await log.close()
  keep()
  return pairs.filter(({ log }) => log.length > 0)
}

/**
 * @param {Random} random
 * @param {Pair} pair
 * @returns {{ log: Buffer, sidecar: Buffer, isSealed: boolean }}  sealed: under right checksums wrong things are said
 */
function makeHostilePair (random, { framing, log, sidecar }) {
  const isSealed = random(2) === 0
  const hostile = { log, sidecar, isSealed }
  if (random(2) === 0) {
    const isMutated = random(2) === 0 || !isSealed
    hostile.log = isMutated ? mutateBytes(random, log) : tamperWithOffset(random, log, framing)
  }
  if (isSealed) hostile.sidecar = tamperWithSidecar(random, sidecar, log.length)
  else if (random(3) > 0) hostile.sidecar = mutateBytes(random, sidecar)
  if (random(30) === 0) {
    const size = random(20_000)
    hostile.sidecar = random(2) === 0 ? makeNoise(random, size) : Buffer.alloc(size)
  }
  return hostile
}

/**
 * @param {Random} random
 * @param {Buffer} sidecar
 * @param {number} logSize
 */
function tamperWithSidecar (random, sidecar, logSize) {
  const bytes = random(3) === 0 ? Buffer.concat([sidecar, makePages(random, sidecar)]) : Buffer.from(sidecar)
  const near = [logSize, 65536, 2 * 65536, 1020, 1020 * 65536]
  for (let edits = 1 + random(3); edits > 0; edits--) {
    const [offset, width] = SLOT_FIELDS[random(SLOT_FIELDS.length)]
    const value = hostileNumber(random, near)
    const slots = random(2) === 0 ? SLOT_POSITIONS : [SLOT_POSITIONS[random(2)]]
    for (const start of slots) {
      writeNumber(bytes, start + offset, width, value)
      if (random(4) === 0) writeRanges(random, bytes, start, near)
      if (random(4) === 0) makeNoise(random, 16).copy(bytes, start + SLOT_HEADER_SIZE)
    }
  }
  for (const start of SLOT_POSITIONS) sealSlot(bytes, start)
  return random(12) === 0 ? mutateBytes(random, bytes, { edits: 1 }) : bytes
}

/**
 * Blocks that are said to be changing.
 * @param {Random} random
 * @param {Buffer} bytes
 * @param {number} start  of the slot
 * @param {number[]} near
 */
function writeRanges (random, bytes, start, near) {
  const count = random(3) === 0 ? 405 : random(5)
  const at = start + SLOT_HEADER_SIZE + 4 * (bytes.length >= start + 46 ? bytes.readUInt16BE(start + 44) : 0)
  writeNumber(bytes, start + 46, 2, count)
  for (let index = 0; index < count; index++) {
    writeNumber(bytes, at + 10 * index, 6, random(2) === 0 ? 0 : hostileNumber(random, near))
    writeNumber(bytes, at + 10 * index + 6, 4, random(2) === 0 ? 2 ** 32 - 1 : hostileNumber(random, near))
  }
}

/**
 * Pages as they come with logs of more than 64 MB, whole or not.
 * @param {Random} random
 * @param {Buffer} sidecar
 */
function makePages (random, sidecar) {
  const salt = sidecar.length >= 20 ? sidecar.readUInt32BE(16) : 0
  return Buffer.concat(Array.from({ length: 2 * (1 + random(2)) }, (_, index) => {
    const page = Buffer.alloc(4096, random(256))
    writeNumber(page, 4, 4, random(6) === 0 ? random(2 ** 32) : index >> 1)
    writeNumber(page, 8, 6, random(50))
    if (random(4) > 0) page.writeUInt32BE(crc32(page.subarray(4), salt), 0)
    return page
  }))
}

/**
 * @param {Buffer} bytes
 * @param {number} start
 */
function sealSlot (bytes, start) {
  if (bytes.length < start + SLOT_HEADER_SIZE) return
  const size = SLOT_HEADER_SIZE + 4 * bytes.readUInt16BE(start + 44) + 10 * bytes.readUInt16BE(start + 46)
  const slot = bytes.subarray(start, start + Math.min(size, 8192))
  bytes.writeUInt32BE(crc32(slot.subarray(16), crc32(slot.subarray(0, 12))), start + 12)
}

exports.FILE = FILE
exports.FRAMINGS = Object.keys(END_SIZES)
exports.SIDECAR = SIDECAR
exports.makeHostilePair = makeHostilePair
exports.recordPairs = recordPairs
