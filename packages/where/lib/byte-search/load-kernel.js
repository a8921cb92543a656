'use strict'
// The kernel of a search: WebAssembly, since JavaScript cannot compare sixteen bytes at once. Its source is find.wat;
// `node scripts/build-kernels.js` makes find-wasm.js of it.

const BYTES = require('./find-wasm')

/** As find.wat lays out its memory. */
const NEEDLE_SIZE = 16
const NEEDLES_AT = 0
const WINDOW_AT = 1024
const WINDOW_SIZE = 16384
const PLACES_AT = 32768

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
 * Whoever searches is done before anybody else does: there is one for all.
 * @returns {Kernel | null}  null where WebAssembly is not there, or has no vectors
 */
function loadKernel () {
  if (kernel === undefined) kernel = instantiate()
  return kernel
}

/** @returns {Kernel | null} */
function instantiate () {
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(BYTES, 'base64')))
    const { memory, find, findEither } = exports
    return {
      needles: new Uint8Array(memory.buffer, NEEDLES_AT, 4 * NEEDLE_SIZE),
      window: new Uint8Array(memory.buffer, WINDOW_AT, WINDOW_SIZE),
      places: new Uint32Array(memory.buffer, PLACES_AT, WINDOW_SIZE),
      find,
      findEither
    }
  } catch {
    return null
  }
}

exports.loadKernel = loadKernel
exports.NEEDLE_SIZE = NEEDLE_SIZE
exports.WINDOW_SIZE = WINDOW_SIZE
