// @ts-nocheck
'use strict'
// Checked logs of many pages that a reader can be made to read again and again: whose work is more than linear, shows
// it here.

const { LogBuilder } = require('../../../packages/framing/test/checked-builder')
const { makeNoise } = require('../mutate-bytes')
const { writeNumber } = require('../numbers')
const { CHUNK_FIELDS, CheckedImage, HEAD_SIZE, JOURNAL_SIZE, PAGE_SIZE } = require('./checked-image')

const PIECE_SIZE = PAGE_SIZE - 40
const PAGE_COUNTS = [4, 16, 48]
const SMALL_PAGE_COUNTS = [2, 4, 8]

/**
 * @typedef {(limit: number) => number} Random
 * @typedef {import('./checked-image').Chunk} Chunk
 */

/** @type {Array<(random: Random, image: CheckedImage) => void>} */
const CRAFTS = [
  pushClaims, pushClaims, pushHeaders, pushEmptyChunks, pushTinyFrames, pushGiantRecord, pushPages, crowdJournals
]

/**
 * @param {Random} random
 * @returns {Buffer}
 */
function craftChecked (random) {
  const image = new CheckedImage(new LogBuilder({ hasGaps: random(2) === 0 }).build())
  // After a clean close, or all of it after the last checkpoint.
  image.wasClean = random(2) === 0
  for (let parts = 1 + random(2); parts > 0; parts--) CRAFTS[random(CRAFTS.length)](random, image)
  return image.build()
}

/** Each page ends with a record that seems to go on to the end of the file. */
function pushClaims (random, image) {
  const pageCount = PAGE_COUNTS[random(PAGE_COUNTS.length)]
  const isRest = random(3) === 0
  for (let page = 0; page < pageCount; page++) {
    const left = pageCount - page - 1
    const payload = Buffer.alloc(PIECE_SIZE)
    const claimAt = random(2) === 0 ? 16000 : 16
    writeNumber(payload, 0, 4, claimAt - 4)
    writeNumber(payload, claimAt, 4, PIECE_SIZE - claimAt - 4 + Math.max(0, left * PIECE_SIZE - 44 * random(3)))
    push(image, payload, isRest && page % 3 > 0 ? { continued: PIECE_SIZE } : {})
  }
}

/** Chunks that do not verify, full of headers that do. */
function pushHeaders (random, image) {
  const pageCount = SMALL_PAGE_COUNTS[random(SMALL_PAGE_COUNTS.length)]
  const inner = new CheckedImage(image.build())
  for (let page = 0; page < pageCount; page++) {
    // As they are where they will lie, but for what they say of their payload.
    const count = Math.floor(PIECE_SIZE / 40)
    const start = inner.chunks.length
    for (let index = 0; index < count; index++) push(inner, Buffer.alloc(0))
    const built = inner.build()
    const from = built.length - built.length % PAGE_SIZE
    const payload = Buffer.alloc(PIECE_SIZE)
    built.copy(payload, 0, Math.max(HEAD_SIZE, from))
    inner.chunks.length = start
    push(inner, payload)
    push(image, payload, { payloadCrc: random(2 ** 32) })
  }
}

/** 409 a page. */
function pushEmptyChunks (random, image) {
  const flags = random(2)
  for (let count = 409 * SMALL_PAGE_COUNTS[random(2)]; count > 0; count--) push(image, Buffer.alloc(0), { flags })
}

/** Records without a byte, gaps, or both. */
function pushTinyFrames (random, image) {
  const types = [[0], [3], [0, 3], [2]][random(4)]
  for (let page = SMALL_PAGE_COUNTS[random(3)]; page > 0; page--) {
    const payload = Buffer.alloc(PIECE_SIZE)
    for (let at = 0; at + 4 <= PIECE_SIZE; at += 4) writeNumber(payload, at, 4, types[random(types.length)] * 2 ** 30)
    push(image, payload)
  }
}

/** One record over many pages, perhaps with a page that does not verify. */
function pushGiantRecord (random, image) {
  const pageCount = PAGE_COUNTS[random(PAGE_COUNTS.length)]
  const damagedPage = random(2) === 0 ? pageCount - 1 : random(2 * pageCount)
  for (let page = 0; page < pageCount; page++) {
    const payload = makeNoise(random, PIECE_SIZE)
    if (page === 0) writeNumber(payload, 0, 4, pageCount * PIECE_SIZE - 4)
    const forced = { continued: page === 0 ? 0 : PIECE_SIZE, flags: Number(page < pageCount - 1) }
    push(image, payload, page === damagedPage ? { ...forced, payloadCrc: 0 } : forced)
  }
}

/** Ordinary ones, in one commit or in many. */
function pushPages (random, image) {
  const flags = random(2)
  for (let page = PAGE_COUNTS[random(3)]; page > 0; page--) {
    const payload = makeNoise(random, PIECE_SIZE)
    const size = 4 + random(500)
    let at = 0
    for (; at + 4 + size <= PIECE_SIZE; at += 4 + size) writeNumber(payload, at, 4, size)
    payload.fill(0, at)
    if (at + 4 <= PIECE_SIZE) writeNumber(payload, at, 4, 2 ** 30 + PIECE_SIZE - at - 4)
    push(image, payload, { flags })
  }
}

/** As many entries and patches as fit, all of one chunk. */
function crowdJournals (random, image) {
  push(image, Buffer.alloc(PIECE_SIZE))
  const perEntry = random(2) === 0 ? 0 : random(1000)
  for (const index of [0, 1]) {
    const bytes = Buffer.alloc(JOURNAL_SIZE)
    writeNumber(bytes, 4, 6, 2 + index)
    let count = 0
    for (let at = 20; at + 48 + 8 * perEntry <= JOURNAL_SIZE; at += 48 + 8 * perEntry) {
      writeNumber(bytes, at, 6, HEAD_SIZE)
      writeNumber(bytes, at + 6 + 8, 2, PIECE_SIZE)
      writeNumber(bytes, at + 46, 2, perEntry)
      for (let patch = 0; patch < perEntry; patch++) writeNumber(bytes, at + 48 + 8 * patch + 2, 2, PIECE_SIZE)
      count++
    }
    writeNumber(bytes, 16, 2, count)
    image.setJournal(index, bytes)
  }
}

/**
 * @param {CheckedImage} image
 * @param {Buffer} payload
 * @param {Record<string, number>} [forced]
 */
function push ({ chunks }, payload, forced = {}) {
  const header = Buffer.alloc(40)
  writeNumber(header, ...CHUNK_FIELDS.epoch, 1)
  chunks.push({ header, payload, forced })
}

exports.craftChecked = craftChecked
