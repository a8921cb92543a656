'use strict'
// The parts of a checked head, and what tells one framing from another: decoded alone, millions of times.

const { crc32 } = require('node:zlib')
const { Failure, attempt, ensureSame } = require('../answers')
const { CheckedImage } = require('../logs/checked-image')
const { makeJournal } = require('../logs/make-journal')
const { craftOffset } = require('../logs/offset-image')
const { buildByHand } = require('../logs/make-bases')
const { tamperWithChecked } = require('../logs/tamper-checked')
const { makeNoise, mutateBytes } = require('../mutate-bytes')
const { hostileNumber, writeNumber } = require('../numbers')
const { mixSeed, pickWeighted, seededRandom } = require('../../torture/seeded')

/**
 * @typedef {(limit: number) => number} Random
 * @typedef {import('../library').Library} Library
 * @typedef {{ part: string, salt: number, shift: number }} Plan
 */

const BASE_COUNT = 20

exports.name = 'parts'
exports.count = 5_000_000
exports.batchSize = 20_000
exports.isSync = true
exports.limits = { steps: { fixed: 20_000, perByte: 20 } }

/** @param {number} seed */
exports.prepare = async (seed) => {
  return Array.from({ length: BASE_COUNT }, (_, index) => buildByHand(seededRandom(mixSeed(seed, 4, index))).bytes)
}

/**
 * By how often each is made.
 * @type {Array<[number, (random: Random, bases: Buffer[]) => { part: string, bytes: Buffer }]>}
 */
const MAKERS = [
  [40, (random) => ({ part: 'header', bytes: makeHeader(random) })],
  [40, (random) => ({ part: 'slot', bytes: makeSlot(random) })],
  [15, (random, bases) => ({ part: 'journal', bytes: makeJournalPart(random, bases) })],
  [2, (random, bases) => ({ part: 'head', bytes: fixSize(tamperWithChecked(random, pick(random, bases)), 32768) })],
  [15, (random) => ({ part: 'file', bytes: makeBeginning(random) })]
]

/** Seeds the checksums of all parts but the header. */
const SALT = 0x5a17

/**
 * @param {Random} random
 * @param {Buffer[]} bases
 * @returns {{ bytes: Buffer, plan: Plan }}
 */
exports.make = (random, bases) => {
  const { part, bytes } = pickWeighted(random, MAKERS)(random, bases)
  return { bytes, plan: { part, salt: SALT, shift: random(64) } }
}

/** @param {Random} random */
function makeHeader (random) {
  const bytes = Buffer.alloc(64)
  Buffer.from('89464c470d0a1a0a00010002', 'hex').copy(bytes)
  makeNoise(random, 20).copy(bytes, 12)
  writeNumber(bytes, 32, 6, 32768)
  bytes[38] = 1
  for (let edits = random(3); edits > 0; edits--) {
    writeNumber(bytes, random(60), 1 + random(6), hostileNumber(random, [32768]))
  }
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 60)), 60)
  return random(6) === 0 ? fixSize(mutateBytes(random, bytes, { edits: 1 }), 64) : bytes
}

/** @param {Random} random */
function makeSlot (random) {
  const bytes = Buffer.alloc(512)
  for (let edits = random(9); edits > 0; edits--) {
    writeNumber(bytes, 4 + random(40), 1 + random(6), hostileNumber(random, [32768]))
  }
  bytes.writeUInt32BE(crc32(bytes.subarray(4), SALT), 0)
  return random(6) === 0 ? fixSize(mutateBytes(random, bytes, { edits: 1 }), 512) : bytes
}

/**
 * @param {Random} random
 * @param {Buffer[]} bases
 */
function makeJournalPart (random, bases) {
  const image = new CheckedImage(pick(random, bases))
  const bytes = makeJournal(random, image, random(2), [32768])
  bytes.writeUInt32BE(crc32(bytes.subarray(4), SALT), 0)
  return random(6) === 0 ? fixSize(mutateBytes(random, bytes, { edits: 1 }), 8192) : bytes
}

/**
 * Of a file whose framing is to be told.
 * @param {Random} random
 */
function makeBeginning (random) {
  const bytes = random(4) === 0 ? makeNoise(random, random(100)) : craftOffset(random, random(30))
  return random(2) === 0 ? mutateBytes(random, bytes) : bytes
}

/**
 * @template T
 * @param {Random} random
 * @param {T[]} list
 */
function pick (random, list) {
  return list[random(list.length)]
}

/**
 * @param {Buffer} bytes
 * @param {number} size
 */
function fixSize (bytes, size) {
  return Buffer.concat([bytes, Buffer.alloc(size)]).subarray(0, size)
}

/**
 * How each part is read.
 * @type {Record<string, (library: Library, bytes: Buffer, salt: number) => any>}
 */
const READERS = {
  header: (library, bytes) => library.load('framing/lib/head.js').decodeFileHeader(bytes),
  slot: (library, bytes, salt) => library.load('framing/lib/head.js').decodeSlot(bytes, salt),
  journal: (library, bytes, salt) => library.load('framing/lib/journal.js').decodeJournal(bytes, salt),
  head: (library, bytes) => describeHead(library.load('framing/lib/head.js').readHead(bytes, '/log')),
  file: (library, bytes) => detect(library, bytes)
}

/**
 * @param {{ bytes: Buffer, plan: Plan }} sample
 * @param {import('../surroundings').Surroundings} surroundings
 */
exports.run = ({ bytes, plan: { part, salt, shift } }, surroundings) => {
  const { memory, start, end } = surroundings.place(bytes, shift)
  return attempt(() => READERS[part](surroundings.library, memory.subarray(start, end), salt))
}

/** @param {any} head  or an error that is given, not thrown */
function describeHead (head) {
  return head instanceof Error ? { code: /** @type {any} */ (head).code } : { ...head, bytes: null }
}

/**
 * @param {import('../library').Library} library
 * @param {Buffer} bytes
 */
function detect (library, bytes) {
  const blocks = {
    path: '/log',
    size: { value: bytes.length },
    readInto: (/** @type {Buffer} */ target, /** @type {number} */ position, /** @type {Function} */ cb) => {
      if (position + target.length > bytes.length) throw new Error(`read to ${position + target.length} of ${bytes.length}`)
      bytes.copy(target, 0, position)
      cb(null)
    }
  }
  let answer
  let answerCount = 0
  const { detectFraming } = library.load('offset-log/lib/recover/identify.js')
  detectFraming(blocks, null, 'checked', (/** @type {any} */ err, /** @type {any} */ framing) => {
    answerCount++
    if (err) throw err
    answer = framing?.name ?? framing
  })
  return { answer, answerCount }
}

/**
 * What encodes what was decoded.
 * @type {Record<string, (library: Library, value: any, salt: number) => Buffer>}
 */
const WRITERS = {
  header: (library, value) => library.load('framing/lib/head.js').encodeFileHeader(value),
  slot: (library, value, salt) => library.load('framing/lib/head.js').encodeSlot(value, salt),
  journal: (library, value, salt) => library.load('framing/lib/journal.js').encodeJournal(value, salt)
}

/**
 * @param {{ bytes: Buffer, plan: Plan }} sample
 * @param {any} answer
 * @param {import('../library').Library} library
 */
exports.judge = ({ plan: { part, salt } }, answer, library) => {
  if (part === 'file' && !(answer instanceof Failure)) {
    return ensureSame('how often detectFraming calls back', answer.answerCount, 1)
  }
  const encode = WRITERS[part]
  if (encode === undefined || answer === null || answer instanceof Failure || 'unknown' in answer) return
  // What is not said in the format is lost on the way; what is, is not. The name of a codec is for people.
  const value = part === 'header' ? { ...answer, codec: 'codec' } : answer
  const again = READERS[part](library, encode(library, value, salt), salt)
  ensureSame(`a ${part} that was decoded and encoded again`, again, value)
}
