'use strict'
// The numbers that the writer and every reader share. The README's section "Wire format" is their document.

exports.STRING = 0
exports.BUFFER = 1
exports.INT = 2
exports.DOUBLE = 3
exports.ARRAY = 4
exports.OBJECT = 5
exports.BOOLNULL = 6
/** Reserved in bipf 1.x, which refuses to decode it: what JSON-like types cannot say lives here, under a subtype. */
exports.EXTENSION = 7

/** A tag is the payload's length shifted by this much, with the type in the low bits. */
exports.TYPE_BITS = 3
exports.TYPE_MASK = 7

/**
 * bipf computes a length as a signed 32-bit `tag >> 3`, so no payload that it can read back has 2^28 bytes or more.
 * The same bound keeps every tag here inside an int32.
 */
exports.PAYLOAD_SIZE_MAX = 2 ** 28 - 1

/** The bytes of the longest tag, and the largest value that a byte in its last place may have: 2^31 - 1 in all. */
exports.TAG_SIZE_MAX = 5
exports.TAG_LAST_BYTE_MAX = 7

/** Arrays and objects inside one another, counting the outermost. Keeps recursion far from the end of the stack. */
exports.DEPTH_MAX = 1000

/** The first payload byte of an extension. */
exports.DATE = 1
exports.BIGINT = 2
/** From here on there is one for each kind of typed array and the like: `binary.js` lists them. */
exports.FIRST_BINARY = 3

/** Bytes of a BigInt's magnitude. Engines differ in the largest one they hold; all of them hold this one. */
exports.BIGINT_SIZE_MAX = 2 ** 20

/** What `getEncodedType` and `getValueType` return, by name. `reserved` is bipf's name for the extension type. */
exports.types = Object.freeze({
  string: 0,
  buffer: 1,
  int: 2,
  double: 3,
  array: 4,
  object: 5,
  boolnull: 6,
  extension: 7,
  reserved: 7
})
