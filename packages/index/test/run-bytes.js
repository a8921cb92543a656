'use strict'
// The bytes of a run file: taken apart, and put together with checksums that fit.

const { crc32 } = require('node:zlib')
const { MAGIC, PAGE_SIZE, TRAILER_SIZE, WORD_SIZE } = require('../lib/run-format')

/**
 * @param {Buffer} bytes  as they were written
 * @returns {{ data: Buffer, footer: any }}
 */
function takeApart (bytes) {
  const end = bytes.length - TRAILER_SIZE
  const footer = JSON.parse(bytes.toString('utf8', end - bytes.readUInt32LE(end), end))
  return { data: Buffer.from(bytes.subarray(0, footer.dataSize)), footer }
}

/**
 * @param {{ data: Buffer, footer: any }} run
 * @param {boolean} [isFitting]  whether the footer says how much data there is; otherwise it says what it says
 */
function putTogether ({ data: given, footer }, isFitting = true) {
  const data = Buffer.concat([given, Buffer.alloc((PAGE_SIZE - given.length % PAGE_SIZE) % PAGE_SIZE)])
  const checksums = Buffer.alloc(data.length / PAGE_SIZE * WORD_SIZE)
  for (let at = 0; at < data.length; at += PAGE_SIZE) {
    checksums.writeUInt32LE(crc32(data.subarray(at, at + PAGE_SIZE)), at / PAGE_SIZE * WORD_SIZE)
  }
  const known = { checksum: crc32(checksums), ...isFitting && { dataSize: data.length } }
  const isObject = footer !== null && typeof footer === 'object' && !Array.isArray(footer)
  const text = Buffer.from(JSON.stringify(isObject ? { ...footer, ...known } : footer))
  const trailer = Buffer.alloc(TRAILER_SIZE)
  trailer.writeUInt32LE(text.length, 0)
  trailer.writeUInt32LE(crc32(text), WORD_SIZE)
  MAGIC.copy(trailer, 2 * WORD_SIZE)
  return Buffer.concat([data, checksums, text, trailer])
}

exports.putTogether = putTogether
exports.takeApart = takeApart
