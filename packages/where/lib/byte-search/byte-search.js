'use strict'
// Where one of a few short byte strings stands, in the bytes of many records at once. What a long text allows, to look
// at a few bytes only, a short one does not: all are looked at, sixteen at a time.

const { NEEDLE_SIZE, WINDOW_SIZE, loadKernel } = require('./load-kernel')

const NEEDLES_MAX = 2
/** How many bytes of what is searched are counted, to know which of a needle's bytes are rare there. */
const SAMPLE_SIZE = 4096

/** @typedef {import('../select-records').Search} Search */

/**
 * @param {Buffer[]} needles  one or two, of at least a byte each; of longer ones the last 16 bytes are searched for
 * @returns {Search | null}  for any of them; null where there is no kernel, or nothing to search for
 */
function createByteSearch (needles) {
  const kernel = loadKernel()
  if (kernel === null || needles.length < 1 || needles.length > NEEDLES_MAX) return null
  const ends = needles.map((needle) => needle.subarray(-NEEDLE_SIZE))
  if (ends.some(({ length }) => length === 0)) return null
  const layout = layOut(ends)
  const sizes = ends.map(({ length }) => length)
  const [sizeMin, sizeMax] = [Math.min(...sizes), Math.max(...sizes)]
  /** @type {number[] | null} */
  let probes = null

  /** @type {Search['find']} */
  const find = (buf, from, to, places) => {
    if (probes === null) probes = ends.flatMap((needle) => chooseProbes(needle, buf.subarray(from, to)))
    const [first, second, third, fourth] = probes
    kernel.needles.set(layout)
    let count = 0
    for (let at = from, isLast = false; !isLast;) {
      const end = Math.min(at + WINDOW_SIZE, to)
      isLast = end === to
      kernel.window.set(buf.subarray(at, end))
      // What reaches beyond the window is met again, in the next one; in the last one only what is short has room.
      const positions = Math.max(0, end - at - (isLast ? sizeMin : sizeMax) + 1)
      const found = probes.length === 2
        ? kernel.find(positions, first, second)
        : kernel.findEither(positions, first, second, third, fourth)
      for (let index = 0; index < found; index++) {
        if (count === places.length) return count
        places[count++] = at + kernel.places[index]
      }
      at += positions
    }
    return count
  }
  return { find }
}

/**
 * @param {Buffer[]} needles
 * @returns {Uint8Array}  as the kernel wants them
 */
function layOut (needles) {
  const bytes = new Uint8Array(NEEDLES_MAX * 2 * NEEDLE_SIZE)
  for (const [index, needle] of needles.entries()) {
    const at = index * 2 * NEEDLE_SIZE
    bytes.set(needle, at)
    bytes.fill(0xff, at + NEEDLE_SIZE + needle.length, at + 2 * NEEDLE_SIZE)
  }
  return bytes
}

/**
 * @param {Buffer} needle
 * @param {Buffer} bytes  that are searched
 * @returns {number[]}  the offsets of its rarest byte, and of the rarest one that does not adjoin it: what adjoins it
 *   does so elsewhere too
 */
function chooseProbes (needle, bytes) {
  const counts = new Uint32Array(256)
  for (const byte of bytes.subarray(0, SAMPLE_SIZE)) counts[byte]++
  const offsets = Array.from(needle, (_, offset) => offset).sort((a, b) => counts[needle[a]] - counts[needle[b]])
  const [first] = offsets
  return [first, offsets.find((offset) => Math.abs(offset - first) > 1) ?? offsets[offsets.length - 1]]
}

exports.createByteSearch = createByteSearch
