'use strict'
// Logs of the legacy framings, taken apart and put together again with sizes and ends that agree where they should not.

const { makeNoise, mutateBytes } = require('../mutate-bytes')
const { hostileNumber, writeNumber } = require('../numbers')

/** @type {Record<string, number>} */
const END_SIZES = { offset32: 4, offset48: 6, offset53: 8 }

/**
 * @typedef {(limit: number) => number} Random
 * @typedef {object} Frame
 * @property {Buffer} data
 * @property {number} [head]  what the size before the data says, if not what it is
 * @property {number} [tail]  the one after it
 * @property {number} [end]
 */

/**
 * @param {Frame[]} frames
 * @param {number} endSize
 * @returns {Buffer}
 */
function buildFrames (frames, endSize) {
  let position = 0
  return Buffer.concat(frames.flatMap(({ data, head = data.length, tail = data.length, end }) => {
    position += 8 + endSize + data.length
    const [before, after] = [Buffer.alloc(4), Buffer.alloc(4 + endSize)]
    writeNumber(before, 0, 4, head)
    writeNumber(after, 0, 4, tail)
    writeNumber(after, 4, endSize, end ?? position)
    return [before, data, after]
  }))
}

/**
 * @param {Buffer} bytes
 * @param {number} endSize
 * @returns {Frame[]}  as far as they agree
 */
function parseFrames (bytes, endSize) {
  /** @type {Frame[]} */
  const frames = []
  for (let at = 0; at + 8 + endSize <= bytes.length;) {
    const size = bytes.readUInt32BE(at)
    const end = at + 8 + endSize + size
    if (end > bytes.length || bytes.readUInt32BE(at + 4 + size) !== size) break
    frames.push({ data: Buffer.from(bytes.subarray(at + 4, at + 4 + size)) })
    at = end
  }
  return frames
}

/**
 * @param {Random} random
 * @param {Buffer} bytes  a log as a writer left it
 * @param {string} framing
 * @returns {Buffer}
 */
function tamperWithOffset (random, bytes, framing) {
  const endSize = END_SIZES[framing]
  const frames = parseFrames(bytes, endSize)
  for (let edits = 1 + random(3); edits > 0 && frames.length > 0; edits--) {
    tamperOnce(random, frames, endSize, [bytes.length, ...frames.map(({ data }) => data.length)])
  }
  const tampered = Buffer.concat([buildFrames(frames, endSize), makeTail(random)])
  return random(8) === 0 ? mutateBytes(random, tampered, { edits: 1 }) : tampered
}

/**
 * @param {Random} random
 * @param {Frame[]} frames
 * @param {number} endSize
 * @param {number[]} near
 */
function tamperOnce (random, frames, endSize, near) {
  const at = random(frames.length)
  const frame = frames[at]
  switch (random(9)) {
    case 0: frame.head = hostileNumber(random, near); break
    case 1: frame.tail = hostileNumber(random, near); break
    case 2: frame.head = frame.tail = hostileNumber(random, near); break
    case 3: frame.end = hostileNumber(random, near); break
    case 4: frames.splice(at, 1); break
    case 5: frames.splice(at, 0, { ...frames[random(frames.length)] }); break
    case 6: frame.data = random(2) === 0 ? Buffer.alloc(random(20)) : Buffer.alloc(0); break
    // Frames in a frame: imitations, which seem to lie where they do.
    case 7: frame.data = imitate(random, frames.slice(0, at), endSize); break
    default: mergeWithNext(frames, at, endSize)
  }
}

/**
 * Data of frames that end where they would in the file.
 * @param {Random} random
 * @param {Frame[]} before
 * @param {number} endSize
 */
function imitate (random, before, endSize) {
  const start = buildFrames(before, endSize).length
  const inner = Array.from({ length: 1 + random(3) }, () => ({ data: makeNoise(random, 1 + random(20)) }))
  // As deep in the file as the frames before it, and a size.
  const lead = 4 + random(2)
  const parts = buildFrames([{ data: Buffer.alloc(Math.max(0, start + lead - 8 - endSize)) }, ...inner], endSize)
  return Buffer.concat([Buffer.alloc(lead - 4), parts.subarray(Math.min(parts.length, start + lead))])
}

/**
 * One frame whose data are two.
 * @param {Frame[]} frames
 * @param {number} at
 * @param {number} endSize
 */
function mergeWithNext (frames, at, endSize) {
  const pair = buildFrames(frames.slice(at, at + 2), endSize)
  frames.splice(at, 2, { data: pair })
}

/** @param {Random} random */
function makeTail (random) {
  switch (random(5)) {
    case 0: return makeNoise(random, random(40))
    case 1: return Buffer.alloc(random(40))
    default: return Buffer.alloc(0)
  }
}

/**
 * A whole frame, and then words of which each may be an end, or a size.
 * @param {Random} random
 * @param {number} wordCount
 */
function craftOffset (random, wordCount) {
  const framings = Object.keys(END_SIZES)
  const endSize = END_SIZES[framings[random(framings.length)]]
  const first = buildFrames([{ data: makeNoise(random, 1 + random(30)) }], endSize)
  const rest = Buffer.alloc(wordCount * 4 + random(4))
  const style = random(4)
  for (let at = 0; at + 4 <= rest.length; at += 4) {
    const here = first.length + at
    const words = [here, here + 4, random(rest.length), random(40)]
    writeNumber(rest, at, 4, style === 3 ? words[random(4)] : words[style])
  }
  return Buffer.concat([first, rest])
}

exports.END_SIZES = END_SIZES
exports.craftOffset = craftOffset
exports.tamperWithOffset = tamperWithOffset
