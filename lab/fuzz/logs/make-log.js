'use strict'
// Hostile logs: sound ones that were damaged, or tampered with so that their checksums fit again; and files that are
// none.

const { mixSeed, pickWeighted, seededRandom } = require('../../torture/seeded')
const { makeNoise, mutateBytes } = require('../mutate-bytes')
const { craftChecked } = require('./craft-checked')
const { buildByHand, recordSession } = require('./make-bases')
const { END_SIZES, craftOffset, tamperWithOffset } = require('./offset-image')
const { tamperWithChecked } = require('./tamper-checked')

/**
 * @typedef {(limit: number) => number} Random
 * @typedef {import('./make-bases').Base} Base
 */

/**
 * @typedef {object} HostileLog
 * @property {Buffer} bytes
 * @property {'sound' | 'damaged' | 'tampered' | 'foreign'} origin
 * @property {Base} base  what it was made of, unless it is foreign
 * @property {boolean} mayHaveGaps  whether it says that positions may be ahead of where they are
 */

// Sessions and logs made by hand that the cases of a batch begin with.
const LEGACY = Object.keys(END_SIZES)
const SESSIONS = [...Array(6).fill('checked'), ...LEGACY, ...LEGACY, ...LEGACY]
const HAND_MADE_COUNT = 30
/** Where the parts of a head begin. */
const HEAD_PARTS = [0, 4096, 8192, 12288, 16384, 24576]
const HEAD_SIZE = 32768

/**
 * @param {number} seed
 * @param {import('../library').Library} library
 * @returns {Promise<Base[][]>}  sound logs: in one list each those of one origin
 */
async function prepareBases (seed, library) {
  const seeds = Array.from({ length: HAND_MADE_COUNT }, (_, index) => mixSeed(seed, 1, index))
  const bases = [seeds.map((seed) => buildByHand(seededRandom(seed)))]
  for (const [index, framing] of SESSIONS.entries()) {
    bases.push(await recordSession(seededRandom(mixSeed(seed, 2, index)), library, framing))
  }
  return bases.filter((list) => list.length > 0)
}

/** By how often each is made. @type {Array<[number, HostileLog['origin'], (random: Random, base: Base) => Buffer]>} */
const MAKERS = [
  [40, 'sound', (random, { bytes }) => Buffer.from(bytes)],
  [800, 'damaged', damage],
  [1120, 'tampered', tamper],
  [30, 'foreign', makeFile],
  [1, 'foreign', (random) => random(4) === 0 ? craftOffset(random, random(20000)) : craftChecked(random)]
]
const CHOICES = MAKERS.map(([weight, origin, make]) => /** @type {const} */ ([weight, { origin, make }]))

/**
 * @param {Random} random
 * @param {Base[][]} bases
 * @returns {HostileLog}
 */
function makeLog (random, bases) {
  const list = bases[random(5) === 0 ? 0 : random(bases.length)]
  const base = list[random(list.length)]
  const { origin, make } = pickWeighted(random, /** @type {any[]} */ (CHOICES))
  const bytes = make(random, base)
  const mayHaveGaps = [10, 8192 + 10].some((offset) => bytes.length >= offset + 2 && bytes.readUInt16BE(offset) !== 0)
  return { bytes, origin, base, mayHaveGaps }
}

/**
 * @param {Random} random
 * @param {Base} base
 */
function damage (random, { bytes, framing }) {
  if (framing !== 'checked') return mutateBytes(random, bytes)
  // Most of a head is zeros that say nothing.
  if (random(4) > 0) return mutateBytes(random, bytes, { from: HEAD_SIZE })
  const damaged = Buffer.from(bytes)
  const at = HEAD_PARTS[random(HEAD_PARTS.length)] + random(random(4) === 0 ? 4096 : 64)
  mutateBytes(random, damaged.subarray(at, at + 16)).copy(damaged, at)
  return random(2) === 0 ? mutateBytes(random, damaged, { edits: 1, from: HEAD_SIZE }) : damaged
}

/**
 * @param {Random} random
 * @param {Base} base
 */
function tamper (random, { bytes, framing }) {
  return framing === 'checked' ? tamperWithChecked(random, bytes) : tamperWithOffset(random, bytes, framing)
}

/** @param {Random} random */
function makeFile (random) {
  switch (random(4)) {
    case 0: return makeNoise(random, random(3000))
    case 1: return Buffer.alloc(random(40000))
    case 2: return craftOffset(random, random(400))
    default: return Buffer.concat([Buffer.from('89464c470d0a1a0a', 'hex'), makeNoise(random, random(40000))])
  }
}

exports.makeLog = makeLog
exports.prepareBases = prepareBases
