'use strict'
// The front door of Millrace: opens a log with good defaults, and hands out the parts that it is made of.

const { binaryCodec } = require('@millrace/binary-codec')
const { LogError, codes } = require('@millrace/errors')
const { jsonCodec } = require('@millrace/json-codec')
const { convert, openSource } = require('@millrace/migrate')
const { OffsetLog } = require('@millrace/offset-log')
const { repair, verify } = require('@millrace/repair')
const { open } = require('./lib/open')

/**
 * @typedef {import('./lib/open').OpenOptions} OpenOptions
 * @typedef {import('./lib/open').CodecName} CodecName
 */

exports.open = open
exports.OffsetLog = OffsetLog
exports.jsonCodec = jsonCodec
exports.binaryCodec = binaryCodec
exports.verify = verify
exports.repair = repair
exports.convert = convert
exports.openSource = openSource
exports.LogError = LogError
exports.codes = codes
