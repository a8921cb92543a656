'use strict'
// Changes a file of the checked framing as somebody would who can make checksums: fields say what they never say, and
// all verifies.

const { crc } = require('../../../framing/test/checked-oracle')

const SIZES = [0, 1, 2, 3, 4, 5, 39, 40, 16343, 16344, 16345, 32767, 65535]
const NUMBERS = [0, 1, 2, 2 ** 31, 2 ** 32 - 2, 2 ** 32 - 1]
const POSITIONS = [0, 1, 32767, 32768, 2 ** 31, 2 ** 32, 2 ** 40, 2 ** 47, 2 ** 48 - 2, 2 ** 48 - 1]
const LENGTHS = [0, 1, 4, 300, 16340, 2 ** 20, 2 ** 30 - 1]

/**
 * @param {any} image
 * @param {(limit: number) => number} random
 * @returns {Buffer}
 */
function forge ({ bytes: original, model: { chunks } }, random) {
  const bytes = Buffer.from(original)
  const salt = bytes.readUInt32BE(12)
  const pick = (list) => list[random(list.length)]
  if (random(3) === 0) forgeHeader(bytes, random(2) ? bytes.readUIntBE(32, 6) : pick(POSITIONS), 2 + random(2))
  const isLinked = random(3) > 0
  const hits = new Set(Array.from({ length: 1 + random(3) }, () => random(chunks.length)))
  let previous = salt
  for (const [index, { at, end }] of chunks.entries()) {
    const header = bytes.subarray(at, at + 40)
    for (let count = hits.has(index) ? 1 + random(3) : 0; count > 0; count--) forgeField(bytes, at, end, random, pick)
    if (isLinked) header.writeUInt32BE(previous, 32)
    header.writeUInt32BE(crc(bytes.subarray(at + 40, at + 40 + header.readUInt16BE(8))), 4)
    header.writeUInt32BE(crc(header.subarray(4), salt), 0)
    previous = header.readUInt32BE((header.readUInt16BE(10) & 2) ? 36 : 0)
  }
  for (const at of [4096, 12288]) forgeSlot(bytes.subarray(at, at + 512), salt, previous, random, pick)
  return bytes
}

function forgeHeader (bytes, base, flags) {
  for (const at of [0, 8192]) {
    bytes.writeUInt16BE(flags, at + 10)
    bytes.writeUIntBE(base, at + 32, 6)
    bytes.writeUInt32BE(crc(bytes.subarray(at, at + 60)), at + 60)
  }
}

/** One field of a chunk's header, or the length of something that may be a frame of it. */
function forgeField (bytes, at, end, random, pick) {
  const header = bytes.subarray(at, at + 40)
  const fields = [
    () => header.writeUInt16BE(pick(SIZES), 8),
    () => header.writeUInt16BE(random(8), 10),
    () => header.writeUInt32BE(pick(NUMBERS), 12),
    () => header.writeUIntBE(pick(POSITIONS), 16, 6),
    () => header.writeUIntBE(pick(POSITIONS), 22, 6),
    () => header.writeUInt16BE(pick(SIZES), 28),
    () => header.writeUInt16BE(pick(SIZES), 30),
    () => header.writeUInt32BE(pick(NUMBERS), 36),
    () => {
      const offset = at + 40 + 4 * random(Math.max(1, Math.floor((end - at - 44) / 4)))
      if (offset + 4 <= end) bytes.writeUInt32BE(random(4) * 2 ** 30 + pick(LENGTHS), offset)
    }
  ]
  pick(fields)()
}

function forgeSlot (slot, salt, chainCrc, random, pick) {
  if (random(3) === 0) slot.writeUInt32BE(pick(NUMBERS), 10)
  for (const offset of [14, 20, 26, 32]) if (random(4) === 0) slot.writeUIntBE(pick(POSITIONS), offset, 6)
  if (random(2)) slot.writeUInt32BE(chainCrc, 38)
  slot.writeUInt32BE(crc(slot.subarray(4), salt), 0)
}

exports.forge = forge
