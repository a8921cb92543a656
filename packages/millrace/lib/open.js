'use strict'
// `open`: a log with good defaults. It knows codecs by their names, and refuses options that do not exist.

const { binaryCodec } = require('@millrace/binary-codec')
const { misuse } = require('@millrace/errors')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')

/** @type {Readonly<{ json: typeof jsonCodec, binary: typeof binaryCodec, bytes: undefined }>} */
const codecs = Object.freeze({ json: jsonCodec, binary: binaryCodec, bytes: undefined })

/** @typedef {keyof typeof codecs} CodecName */

/**
 * @template [T=any]
 * @typedef {import('@millrace/offset-log').Codec<T>} Codec
 */

/**
 * Those of OffsetLog, and `codec` also by its name: `'json'` by default. `strict` is true by default: a read with an
 * option that there is not fails.
 * @template [T=any]
 * @typedef {Omit<import('@millrace/offset-log').OffsetLogOptions<T>, 'codec'> & { codec?: CodecName | Codec<T> }
 *   } OpenOptions
 */

/**
 * Opens a log, or creates it. Calls may be made at once: they wait until it is loaded.
 * @template [T=any]
 * @param {string | URL} path
 * @param {OpenOptions<T>} [options]
 * @returns {import('@millrace/offset-log').OffsetLog<T>}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function open (path, options = {}) {
  if (options === null || typeof options !== 'object') throw misuse(`open: expected options, got ${String(options)}`)
  const { codec = 'json', ...others } = options
  const chosen = /** @type {Codec<T>} */ (typeof codec === 'string' ? codecOf(codec) : codec)
  return OffsetLog(path, { strict: true, ...others, codec: chosen })
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
