// @ts-nocheck
'use strict'
// Changes what a checked log says of itself, and makes all checksums fit again: what a reader does behind them.

const { crc32 } = require('node:zlib')
const { makeNoise, mutateBytes } = require('../mutate-bytes')
const { hostileNumber, writeNumber } = require('../numbers')
const { CHUNK_FIELDS, CheckedImage, HEADER_FIELDS, SLOT_FIELDS, readField } = require('./checked-image')
const { makeJournal } = require('./make-journal')

/**
 * @typedef {(limit: number) => number} Random
 * @typedef {import('./checked-image').Chunk} Chunk
 */

/** By how often each is done. */
const TAMPERS = [
  [20, tamperWithChunkField], [25, tamperWithFrame], [8, tamperWithPayload], [6, resizePayload], [6, reorderChunks],
  [6, appendChunk], [4, tamperWithHeader], [12, tamperWithSlot], [12, tamperWithJournal], [3, tamperWithRest]
]
const TAMPER_TOTAL = TAMPERS.reduce((total, [weight]) => total + Number(weight), 0)

/**
 * @param {Random} random
 * @param {Buffer} bytes  a checked log as a writer left it
 * @returns {Buffer}
 */
function tamperWithChecked (random, bytes) {
  const image = new CheckedImage(bytes)
  const near = [bytes.length, ...placesOf(image)]
  for (let edits = 1 + random(3); edits > 0; edits--) pickTamper(random)(random, image, near)
  const tampered = image.build()
  return random(12) === 0 ? mutateBytes(random, tampered, { edits: 1 }) : tampered
}

/**
 * @param {Random} random
 * @returns {(random: Random, image: CheckedImage, near: number[]) => void}
 */
function pickTamper (random) {
  let left = random(TAMPER_TOTAL)
  const found = TAMPERS.find(([weight]) => (left -= Number(weight)) < 0)
  return /** @type {any} */ (found)[1]
}

/** @param {CheckedImage} image */
function placesOf ({ chunks }) {
  return chunks.map(({ header }) => readField(header, 0, CHUNK_FIELDS.position))
}

/**
 * @param {Random} random
 * @param {CheckedImage} image
 * @returns {Chunk | null}
 */
function pickChunk (random, { chunks }) {
  return chunks.length === 0 ? null : chunks[random(chunks.length)]
}

function tamperWithChunkField (random, image, near) {
  const chunk = pickChunk(random, image)
  if (chunk === null) return
  const names = Object.keys(CHUNK_FIELDS)
  const name = names[random(names.length)]
  const field = CHUNK_FIELDS[name]
  const value = random(3) === 0 ? readField(chunk.header, 0, field) ^ 1 << random(8) : hostileNumber(random, near)
  chunk.forced[name] = Math.abs(value)
  if (name === 'flags' && random(2) === 0) chunk.forced.flags = random(8)
}

/** The length of a record, or what kind of frame it is. */
function tamperWithFrame (random, image, near) {
  const chunk = pickChunk(random, image)
  if (chunk === null || chunk.payload.length < 4) return
  const { payload, header } = chunk
  const offsets = []
  for (let at = readField(header, 0, CHUNK_FIELDS.continued); at + 4 <= payload.length;) {
    offsets.push(at)
    at += 4 + (payload.readUInt32BE(at) & 0x3fffffff)
  }
  const offset = offsets.length === 0 ? 0 : offsets[random(offsets.length)]
  const left = payload.length - offset - 4
  const size = random(3) === 0 ? left - 2 + random(5) : hostileNumber(random, [...near, left])
  const type = random(4)
  writeNumber(payload, offset, 4, Math.max(0, size) % 2 ** 30 + type * 2 ** 30)
  if (random(3) === 0) payload.fill(0, offset + 4)
  // As an eraser would leave it.
  if (type === 2 && random(2) === 0) {
    Object.assign(chunk.forced, { flags: 2 + random(8), erased: 1, originalCrc: random(2 ** 32) })
  }
}

function tamperWithPayload (random, image) {
  const chunk = pickChunk(random, image)
  if (chunk === null) return
  const { payload } = chunk
  const mutated = mutateBytes(random, payload)
  mutated.copy(payload)
  if (random(4) === 0) {
    for (let at = 0; at + 4 <= payload.length; at += 4) {
      writeNumber(payload, at, 4, random(4) * 2 ** 30 + random(9))
    }
  }
}

function resizePayload (random, image) {
  const chunk = pickChunk(random, image)
  if (chunk === null) return
  const { payload } = chunk
  if (random(2) === 0) chunk.payload = payload.subarray(0, random(payload.length + 1))
  else {
    const rest = random(2) === 0 ? Buffer.alloc(random(20)) : makeNoise(random, random(2000))
    chunk.payload = Buffer.concat([payload, rest])
  }
}

function reorderChunks (random, { chunks }) {
  if (chunks.length === 0) return
  const at = random(chunks.length)
  const chunk = chunks[at]
  switch (random(3)) {
    case 0: chunks.splice(at, 1); break
    case 1: chunks.splice(random(chunks.length), 0, { ...chunk, forced: { ...chunk.forced } }); break
    default: chunks.splice(at, 1, chunks[random(chunks.length)]); break
  }
}

/** One that no writer would have made. */
function appendChunk (random, image, near) {
  const { chunks } = image
  const last = chunks[chunks.length - 1]
  const header = last ? Buffer.from(last.header) : Buffer.alloc(40)
  for (const name of ['flags', 'continued', 'erased', 'originalCrc']) writeNumber(header, ...CHUNK_FIELDS[name], 0)
  const payload = random(3) === 0 ? Buffer.alloc(random(60)) : makeNoise(random, random(60))
  for (let at = 0; at + 4 <= payload.length; at += 4 + random(12)) {
    writeNumber(payload, at, 4, random(4) * 2 ** 30 + (random(2) ? random(12) : hostileNumber(random, near) % 2 ** 30))
  }
  chunks.push({ header, payload, forced: random(3) === 0 ? { epoch: hostileNumber(random, []) } : {} })
}

function tamperWithHeader (random, image, near) {
  const names = Object.keys(HEADER_FIELDS)
  const name = names[random(names.length)]
  const value = hostileNumber(random, near)
  const copies = random(3) === 0 ? [random(2)] : [0, 1]
  for (const index of copies) image.setHeaderField(index, name, value)
  // What the salt seeds is sealed with the new one; so is what begins at the base.
  if (copies.length < 2 || random(2) === 0) return
  if (name === 'salt') image.salt = value % 2 ** 32
  if (name === 'base') image.shift = value - 32768
  if (name === 'salt') for (const index of [0, 1]) image.sealSlot(index)
}

function tamperWithSlot (random, image, near) {
  const names = Object.keys(SLOT_FIELDS)
  const index = random(2)
  const name = names[random(names.length)]
  image.slots[index][name] = hostileNumber(random, near)
  if (random(2) === 0) image.slots[1 - index][name] = hostileNumber(random, near)
  if (random(3) === 0) image.slots[index].sequence = random(2) === 0 ? 1000 : 2 ** 48 - 1
}

function tamperWithJournal (random, image, near) {
  const index = random(2)
  image.setJournal(index, makeJournal(random, image, index, near))
  if (random(4) === 0) image.setJournal(1 - index, makeJournal(random, image, 1 - index, near))
}

function tamperWithRest (random, image, near) {
  switch (random(3)) {
    case 0: image.rest = Buffer.alloc(random(2000)); break
    case 1: image.rest = makeNoise(random, random(200)); break
    default: image.rest = headerOf(image, hostileNumber(random, near))
  }
}

/**
 * Without a payload: but it says how much of the file was durable.
 * @param {CheckedImage} image
 * @param {number} durable
 */
function headerOf (image, durable) {
  const header = Buffer.alloc(40)
  const places = placesOf(image)
  writeNumber(header, ...CHUNK_FIELDS.size, 200)
  writeNumber(header, ...CHUNK_FIELDS.position, (places[places.length - 1] ?? 32768) + 44)
  writeNumber(header, ...CHUNK_FIELDS.durable, durable)
  header.writeUInt32BE(crc32(header.subarray(4), image.salt), 0)
  return header
}

exports.tamperWithChecked = tamperWithChecked
