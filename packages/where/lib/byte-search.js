'use strict'
// Where one of a few short byte strings stands, in the bytes of many records at once. A long text allows to look at a
// few bytes only, a short one does not: all bytes are looked at, sixteen at a time. JavaScript cannot do that, so the
// kernel is WebAssembly. Its source is find.wat; `npm run kernels` makes find-wasm.js of it.

const BYTES = require('./find-wasm')

/** As find.wat lays out its memory. */
const NEEDLE_SIZE = 16
const NEEDLES_AT = 0
const WINDOW_AT = 1024
const WINDOW_SIZE = 16384
const PLACES_AT = 32768

const NEEDLES_MAX = 2
/** So many of the bytes to be searched are counted, to know which of a needle's bytes are rare among them. */
const SAMPLE_SIZE = 4096

/** @typedef {import('./select').Search} Search */

/**
 * Makes a search for one short byte string, or for either of two. It compares sixteen bytes at a time, in WebAssembly.
 * @param {Buffer[]} needles  one or two, of at least a byte each; of longer ones the last 16 bytes are searched for
 * @returns {Search | null}  for any of them; null without a kernel, or if there is nothing to search for
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
      // A needle that reaches beyond the window is found in the next one. The last window has no next one.
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

/**
 * @typedef {object} Kernel
 * @property {Uint8Array} needles  two of them: 16 bytes, and 0xff for each that is not there
 * @property {Uint8Array} window
 * @property {Uint32Array} places  as many as there are positions in the window
 * @property {(end: number, first: number, second: number) => number} find
 * @property {(end: number, first: number, second: number, third: number, fourth: number) => number} findEither
 */

/** @type {Kernel | null | undefined} */
let kernel

/**
 * One for all searches: each is done before the next one begins.
 * @returns {Kernel | null}  null without WebAssembly, or if that has no vectors
 */
function loadKernel () {
  if (kernel !== undefined) return kernel
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(BYTES, 'base64')))
    const { memory, find, findEither } = exports
    kernel = {
      needles: new Uint8Array(memory.buffer, NEEDLES_AT, 4 * NEEDLE_SIZE),
      window: new Uint8Array(memory.buffer, WINDOW_AT, WINDOW_SIZE),
      places: new Uint32Array(memory.buffer, PLACES_AT, WINDOW_SIZE),
      find,
      findEither
    }
  } catch {
    kernel = null
  }
  return kernel
}

exports.createByteSearch = createByteSearch
