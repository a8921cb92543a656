'use strict'
// Binary records that are read in place: the bipf wire format, checked at every step.

const { binaryCodec, canonicalCodec, rawCodec } = require('./lib/codecs')
const { compare, compareString, createCompareAt } = require('./lib/compare')
const { decode, validate } = require('./lib/decode')
const { encode, encodeCanonical, encodeIdempotent, encodingLength, isCanonical } = require('./lib/encode')
const { getEncodedLength, getEncodedType, iterate, pluck, slice } = require('./lib/iterate')
const { getValueType, isIdempotent, markIdempotent } = require('./lib/kinds')
const { createSeekPath, seekKey, seekPath } = require('./lib/seek')
const { types } = require('./lib/wire-format')

exports.binaryCodec = binaryCodec
exports.canonicalCodec = canonicalCodec
exports.rawCodec = rawCodec
exports.encode = encode
exports.encodeIdempotent = encodeIdempotent
exports.encodeCanonical = encodeCanonical
exports.isCanonical = isCanonical
exports.encodingLength = encodingLength
exports.decode = decode
exports.validate = validate
exports.seekKey = seekKey
exports.seekPath = seekPath
exports.createSeekPath = createSeekPath
exports.iterate = iterate
exports.slice = slice
exports.pluck = pluck
exports.compare = compare
exports.compareString = compareString
exports.createCompareAt = createCompareAt
exports.markIdempotent = markIdempotent
exports.isIdempotent = isIdempotent
exports.getEncodedType = getEncodedType
exports.getEncodedLength = getEncodedLength
exports.getValueType = getValueType
exports.types = types
