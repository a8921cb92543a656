'use strict'
// A frame says its size twice and its end once. Where two of the three agree with where it begins and ends, and the
// third differs by one bit, that bit was flipped, and the record is whole as far as anybody can tell.

const { HEAD_SIZE } = require('../offset-framing')

/**
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 * @typedef {import('../offset-framing').OffsetFraming} OffsetFraming
 */

/**
 * @typedef {object} Verdict
 * @property {number} agreeing  how many of the three fields are right, if this is one frame
 * @property {boolean} isMendable  whether the one that is wrong differs by a bit
 */

/**
 * @param {BlockFile} blocks
 * @param {OffsetFraming} framing
 * @param {number} start
 * @param {number} end
 * @param {(err: Error | null, verdict?: Verdict) => void} cb
 */
function judgeFrame (blocks, framing, start, end, cb) {
  const { overhead, trailerSize } = framing
  const size = end - start - overhead
  if (size < 0 || size > 0xffffffff) return cb(null, { agreeing: 0, isMendable: false })
  // With the byte of data beside each.
  const head = Buffer.alloc(HEAD_SIZE + Math.min(1, size))
  const tail = Buffer.alloc(trailerSize + Math.min(1, size))
  blocks.readInto(head, start, (err) => {
    if (err) return cb(err)
    blocks.readInto(tail, end - tail.length, (err) => {
      if (err) return cb(err)
      const trailer = tail.subarray(tail.length - trailerSize)
      const fields = [
        isFlipped(head.readUInt32BE(0), size, head[HEAD_SIZE]),
        isFlipped(trailer.readUInt32BE(0), size, tail[0]),
        isEndFlipped(trailer, end, framing)
      ]
      const agreeing = fields.filter((isFlipped) => isFlipped === null).length
      cb(null, { agreeing, isMendable: agreeing === 2 && fields.includes(true) })
    })
  })
}

/**
 * @param {number} found
 * @param {number} right
 * @param {number} beside  the byte of data beside it
 * @returns {boolean | null}  null when nothing is wrong
 */
function isFlipped (found, right, beside) {
  const difference = (found ^ right) >>> 0
  if (difference === 0) return null
  // Zeros over the data and over the field, where that has one bit set, look like a flipped bit.
  return isOneBit(difference) && !(beside === 0 && found < right)
}

/**
 * @param {Buffer} trailer
 * @param {number} end
 * @param {OffsetFraming} framing
 */
function isEndFlipped (trailer, end, framing) {
  const right = encodeEnd(framing, end)
  const found = trailer.subarray(trailer.length - framing.endSize)
  const differences = right.map((byte, index) => byte ^ found[index]).filter((difference) => difference !== 0)
  if (differences.length === 0) return null
  return differences.length === 1 && isOneBit(differences[0])
}

/** @param {number} number */
function isOneBit (number) {
  return (number & (number - 1)) === 0
}

/**
 * @param {OffsetFraming} framing
 * @param {number} end
 * @returns {Buffer}  the bytes of the field that says so
 */
function encodeEnd (framing, end) {
  const bytes = Buffer.alloc(framing.overhead)
  framing.writeFrame(Buffer.alloc(0), end - framing.overhead, bytes, 0)
  return bytes.subarray(framing.overhead - framing.endSize)
}

/**
 * @param {OffsetFraming} framing
 * @param {number} start
 * @param {number} end
 * @returns {{ head: Buffer, trailer: Buffer }}  of a frame that lies there
 */
function encodeFields (framing, start, end) {
  const head = Buffer.alloc(HEAD_SIZE)
  head.writeUInt32BE(end - start - framing.overhead)
  return { head, trailer: Buffer.concat([head, encodeEnd(framing, end)]) }
}

exports.judgeFrame = judgeFrame
exports.encodeFields = encodeFields
