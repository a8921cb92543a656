'use strict'
// `open`: a log with good defaults. It knows codecs by their names, and refuses options that do not exist.

const { binaryCodec } = require('@millrace/binary-codec')
const { misuse } = require('@millrace/errors')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')

/** @type {Readonly<{ json: typeof jsonCodec, binary: typeof binaryCodec, bytes: undefined }>} */
const codecs = Object.freeze({ json: jsonCodec, binary: binaryCodec, bytes: undefined })

/**
 * @typedef {keyof typeof codecs} CodecName
 * @typedef {Omit<import('@millrace/offset-log').OffsetLogOptions, 'codec'>} LogOptions
 */

/**
 * @template [T=any]
 * @typedef {import('@millrace/offset-log').Codec<T>} Codec
 */

/**
 * @typedef {LogOptions & { codec?: CodecName | Codec }} OpenOptions  `codec` is `'json'` by default
 */

/**
 * Opens a log, or creates it. Calls may be made at once: they wait until it is loaded.
 * @param {string} path
 * @param {OpenOptions} [options]
 * @returns {import('@millrace/offset-log').OffsetLog<any>}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function open (path, options = {}) {
  const { codec = 'json', ...others } = options
  return OffsetLog(path, { ...others, codec: typeof codec === 'string' ? codecOf(codec) : codec })
}

/**
 * @param {string} name
 * @returns {Codec | undefined}  undefined is bytes as they are
 */
function codecOf (name) {
  if (Object.hasOwn(codecs, name)) return codecs[/** @type {CodecName} */ (name)]
  throw misuse(`open: there is no codec ${name}; there are ${Object.keys(codecs).join(', ')}, or give a codec of your own`)
}

exports.codecs = codecs
exports.open = open
