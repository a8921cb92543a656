'use strict'
// What disks, crashes and careless programs do to a file, one way at a time.

const SECTOR_SIZE = 512
const PAGE_SIZE = 16384
const HEAD_SIZE = 32768

/**
 * @typedef {object} Injury
 * @property {string} label
 * @property {Buffer} bytes
 * @property {boolean} [isMoved]  bytes are not where they were
 * @property {boolean} [isOld]  some of the bytes are older ones: what was deleted may be there again
 */

/** @typedef {(limit: number) => number} Random */

/** Every kind, by name: from an image and random numbers one injury, or null when nothing was changed. */
const kinds = {
  /** @param {any} image @param {Random} random */
  flip: ({ bytes }, random) => flipOf(bytes, random(bytes.length), random(8)),
  flipOfStructure: (image, random) => flipOf(image.bytes, structuralOffset(image, random), random(8)),
  twoFlips: (image, random) => {
    const once = flipOf(image.bytes, structuralOffset(image, random), random(8))
    return flipOf(once.bytes, random(image.bytes.length), random(8))
  },
  hurtHeader: (image, random) => {
    const { bytes, starts } = image
    if (starts.length === 0) return null
    const offset = random(36)
    const start = starts[random(starts.length)] + offset
    return fill(bytes, start, 1 + random(40 - offset), () => random(2) && random(256), 'garbled')
  },
  zeroedSector: ({ bytes }, random) => fill(bytes, sectorOf(bytes, random), SECTOR_SIZE, () => 0, 'zeros'),
  garbledSector: ({ bytes }, random) => fill(bytes, sectorOf(bytes, random), SECTOR_SIZE, () => random(256), 'garbled'),
  zeroedBlock: ({ bytes }, random) => fill(bytes, 4096 * random(Math.ceil(bytes.length / 4096)), 4096, () => 0, 'zeros'),
  zeroedPage: ({ bytes }, random) => fill(bytes, PAGE_SIZE * random(Math.ceil(bytes.length / PAGE_SIZE)), PAGE_SIZE, () => 0, 'zeros'),
  garbledPage: ({ bytes }, random) => {
    return fill(bytes, PAGE_SIZE * random(Math.ceil(bytes.length / PAGE_SIZE)), PAGE_SIZE, () => random(256), 'garbled')
  },
  zeroedRange: ({ bytes }, random) => fill(bytes, random(bytes.length), 1 + random(random(2) ? 100 : 40000), () => 0, 'zeros'),
  garbledRange: (image, random) => {
    const start = random(2) ? random(image.bytes.length) : structuralOffset(image, random)
    return fill(image.bytes, start, 1 + random(random(2) ? 60 : 40000), () => random(256), 'garbled')
  },
  truncated: ({ bytes }, random) => {
    const size = 1 + random(bytes.length - 1)
    return { label: `cut to ${size}`, bytes: bytes.subarray(0, size) }
  },
  spliced: ({ bytes }, random) => {
    const start = random(bytes.length)
    const inserted = Buffer.from(Array.from({ length: random(50) }, () => random(256)))
    const end = Math.min(bytes.length, start + random(50))
    const label = `${end - start} bytes at ${start} replaced by ${inserted.length}`
    const hurt = Buffer.concat([bytes.subarray(0, start), inserted, bytes.subarray(end)])
    return { label, bytes: hurt, isMoved: true }
  },
  extended: ({ bytes }, random) => {
    const more = Buffer.from(Array.from({ length: 1 + random(20000) }, () => random(2) && random(256)))
    return { label: `${more.length} bytes more`, bytes: Buffer.concat([bytes, more]) }
  },
  swapped: ({ bytes }, random) => {
    const size = [SECTOR_SIZE, 4096, PAGE_SIZE][random(3)]
    const [a, b] = [size * random(Math.ceil(bytes.length / size)), size * random(Math.ceil(bytes.length / size))]
    return swap(bytes, size, a, b)
  },
  misdirected: ({ bytes }, random) => {
    const size = [SECTOR_SIZE, 4096, PAGE_SIZE][random(3)]
    const [from, to] = [size * random(Math.ceil(bytes.length / size)), size * random(Math.ceil(bytes.length / size))]
    return misdirect(bytes, size, from, to)
  },
  stale: ({ bytes, earlier }, random) => {
    if (earlier.length === 0) return null
    const size = [SECTOR_SIZE, 4096, PAGE_SIZE][random(3)]
    const age = random(earlier.length)
    const start = size * random(Math.ceil(bytes.length / size))
    const old = replace(bytes, start, earlier[age].subarray(start, start + size), size)
    const injury = changed(bytes, `${size} bytes at ${start} as they were at ${age}`, old)
    return injury && { ...injury, isOld: true }
  },
  headersLost: ({ bytes }, random) => {
    if (bytes.length < HEAD_SIZE) return null
    const hurt = Buffer.from(bytes)
    const size = [4096, 512, 8][random(3)]
    hurt.fill(0, 0, size)
    hurt.fill(0, 8192, 8192 + size)
    return { label: `both headers, ${size} bytes of each`, bytes: hurt }
  },
  slotsLost: (image, random) => {
    if (image.bytes.length < HEAD_SIZE) return null
    const hurt = Buffer.from(image.bytes)
    hurt.fill(0, 4096, 4608)
    hurt.fill(0, 12288, 12800)
    const { label, bytes } = flipOf(hurt, structuralOffset(image, random), random(8))
    return { label: `both slots, and ${label}`, bytes }
  }
}

/** @param {Buffer} bytes @param {number} offset @param {number} bit @returns {Injury} */
function flipOf (bytes, offset, bit) {
  const hurt = Buffer.from(bytes)
  hurt[offset] ^= 1 << bit
  return { label: `bit ${bit} of byte ${offset}`, bytes: hurt }
}

/** @param {Buffer} bytes @param {number} size @param {number} a @param {number} b */
function swap (bytes, size, a, b) {
  const once = replace(bytes, a, bytes.subarray(b, b + size), size)
  const label = `${size} bytes at ${a} and ${b} are swapped`
  return changed(bytes, label, replace(once, b, bytes.subarray(a, a + size), size))
}

/** @param {Buffer} bytes @param {number} size @param {number} from @param {number} to */
function misdirect (bytes, size, from, to) {
  return changed(bytes, `${size} bytes of ${from} are at ${to} too`, replace(bytes, to, bytes.subarray(from, from + size), size))
}

/** Somewhere in the head, or where a chunk begins or ends. */
function structuralOffset ({ bytes, structure }, random) {
  const offset = structure[random(structure.length)] + random(48) - 4
  return Math.min(Math.max(0, offset), bytes.length - 1)
}

function sectorOf (bytes, random) {
  return SECTOR_SIZE * random(Math.ceil(bytes.length / SECTOR_SIZE))
}

function fill (bytes, start, size, make, label) {
  const hurt = Buffer.from(bytes)
  const end = Math.min(bytes.length, start + size)
  for (let at = start; at < end; at++) hurt[at] = make()
  return changed(bytes, `${label} from ${start} to ${end}`, hurt)
}

/** Other bytes in place of some, zeros where they are too few. */
function replace (bytes, start, other, size) {
  const hurt = Buffer.from(bytes)
  const end = Math.min(bytes.length, start + size)
  hurt.fill(0, start, end)
  other.copy(hurt, start, 0, end - start)
  return hurt
}

function changed (before, label, bytes) {
  return before.equals(bytes) ? null : { label, bytes }
}

exports.kinds = kinds
exports.flipOf = flipOf
exports.misdirect = misdirect
exports.swap = swap
