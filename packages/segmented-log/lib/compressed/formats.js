'use strict'
// The two formats of compressed segments. A compressed file is a sequence of members, each of which inflates alone:
// first those with the bytes of the segment, then the index, in members without content. So `gunzip` and `zstd -d` give
// the segment byte for byte.
//
// gzip: the index is in extra fields of empty members (RFC 1952). zstd: it is in skippable frames (RFC 8878).

const { promisify } = require('node:util')
const zlib = require('node:zlib')
const { LogError } = require('@millrace/errors')

/** Node.js has zstd since 22.15. @type {any} */
const { zstdCompress, zstdDecompress, zstdDecompressSync } = /** @type {any} */ (zlib)
const {
  ZSTD_e_flush: ZSTD_FLUSH, ZSTD_c_checksumFlag: CHECKSUM,
  ZSTD_c_windowLog: WINDOW_LOG, ZSTD_d_windowLogMax: INFLATING_WINDOW_LOG_MAX
} = /** @type {any} */ (zlib.constants)
/** The logarithm of the largest member. A frame that asks for more memory is hostile. */
const WINDOW_LOG_MAX = 18

/** Of Node.js, for its buffers. */
const CHUNK_SIZE_MIN = 64

// A gzip member with one extra subfield and no content.
const GZIP_HEAD = Buffer.from('1f8b08040000000000ff', 'hex')
const GZIP_SUBFIELD = Buffer.from('ML')
/** The lengths of the field and its subfield are numbers of two bytes, after the head and after the name. */
const GZIP_PREFIX_SIZE = GZIP_HEAD.length + 2 + GZIP_SUBFIELD.length + 2
/** An empty block, a checksum of nothing, and a size of 0. */
const GZIP_REST = Buffer.from('03000000000000000000', 'hex')

const ZSTD_SKIPPABLE = 0x184D2A5D
const ZSTD_PREFIX_SIZE = 8

/**
 * @typedef {object} Format
 * @property {'gzip' | 'zstd'} name
 * @property {string} suffix  of the file
 * @property {number} prefixSize  bytes before the data of an empty member
 * @property {number} restSize  bytes after them
 * @property {(data: Buffer) => Buffer} wrap  an empty member that carries up to 64,000 bytes of data
 * @property {(bytes: Buffer) => Promise<Buffer>} compress
 * @property {(bytes: Buffer, size: number) => Promise<Buffer>} inflate  `size`: what comes out; more is an error
 * @property {(bytes: Buffer, size: number, isCutOff?: boolean) => Buffer} inflateSync  `isCutOff`: it may lack its end
 */

/** @type {Format} */
const gzip = {
  name: 'gzip',
  suffix: '.gz',
  prefixSize: GZIP_PREFIX_SIZE,
  restSize: GZIP_REST.length,
  wrap (data) {
    const sizes = [GZIP_SUBFIELD.length + 2 + data.length, data.length]
    const [fieldSize, subfieldSize] = sizes.map((size) => Buffer.from([size & 255, size >> 8]))
    return Buffer.concat([GZIP_HEAD, fieldSize, GZIP_SUBFIELD, subfieldSize, data, GZIP_REST])
  },
  compress: promisify(zlib.gzip),
  inflate: (bytes, size) => gunzip(bytes, sizesFor(size)),
  inflateSync: (bytes, size, isCutOff = false) => {
    return zlib.gunzipSync(bytes, { ...sizesFor(size), ...(isCutOff && { finishFlush: zlib.constants.Z_SYNC_FLUSH }) })
  }
}

/** @type {(bytes: Buffer, options: zlib.ZlibOptions) => Promise<Buffer>} */
const gunzip = promisify(zlib.gunzip)

/** @type {Format} */
const zstd = {
  name: 'zstd',
  suffix: '.zst',
  prefixSize: ZSTD_PREFIX_SIZE,
  restSize: 0,
  wrap (data) {
    const prefix = Buffer.alloc(ZSTD_PREFIX_SIZE)
    prefix.writeUInt32LE(ZSTD_SKIPPABLE, 0)
    prefix.writeUInt32LE(data.length, 4)
    return Buffer.concat([prefix, data])
  },
  compress: (bytes) => promisify(zstdCompress)(bytes, {
    pledgedSrcSize: bytes.length,
    params: { [CHECKSUM]: 1, [WINDOW_LOG]: WINDOW_LOG_MAX }
  }),
  inflate: (bytes, size) => promisify(zstdDecompress)(bytes, zstdOptions(size)),
  inflateSync: (bytes, size, isCutOff = false) => {
    return zstdDecompressSync(bytes, { ...zstdOptions(size), ...(isCutOff && { finishFlush: ZSTD_FLUSH }) })
  }
}

/** @param {number} size */
function sizesFor (size) {
  return { maxOutputLength: size, chunkSize: Math.max(size, CHUNK_SIZE_MIN) }
}

/** @param {number} size */
function zstdOptions (size) {
  return { ...sizesFor(size), params: { [INFLATING_WINDOW_LOG_MAX]: WINDOW_LOG_MAX } }
}

const formats = [gzip, zstd]

/** @param {string} path @returns {Format | undefined}  of a compressed file, by its name */
function formatOf (path) {
  return formats.find(({ suffix }) => path.endsWith(suffix))
}

/**
 * What a damaged member still has: all that comes out before the damage, then zeros.
 * @type {(format: Format, bytes: Buffer, size: number) => Buffer}
 */
function inflateDamaged (format, bytes, size) {
  /** @type {Buffer} */
  let found = Buffer.alloc(0)
  // The longest part that is sound.
  for (let low = 0, high = bytes.length; low < high;) {
    const middle = (low + high + 1) >>> 1
    try {
      found = format.inflateSync(bytes.subarray(0, middle), size, true)
      low = middle
    } catch {
      high = middle - 1
    }
  }
  return Buffer.concat([found], size)
}

/** Whether inflating failed because of the bytes, and would fail again. @param {{ code?: string }} err */
function isDamage ({ code = '' }) {
  return /^(Z|ZSTD)_/i.test(code) ? !/mem/i.test(code) : code === 'ERR_BUFFER_TOO_LARGE'
}

/** @param {Format} format */
function isSupported (format) {
  return format === gzip || zstdCompress !== undefined
}

/** @type {(format: Format, path: string) => void} throws ERR_NOT_SUPPORTED */
function checkSupported (format, path) {
  if (isSupported(format)) return
  throw new LogError('ERR_NOT_SUPPORTED', `${path} is compressed with zstd, which this Node.js (${process.version}) lacks; use 22.15 ` +
    'or later', { path })
}

exports.formatOf = formatOf
exports.formats = formats
exports.inflateDamaged = inflateDamaged
exports.isDamage = isDamage
exports.isSupported = isSupported
exports.checkSupported = checkSupported
