'use strict'
// Reads the log formats of the flume family, and converts any log into a checked one.

const { convert } = require('./lib/convert')
const { formats } = require('./lib/formats')
const { openSource } = require('./lib/source')

/**
 * @typedef {import('./lib/options').ConvertOptions} ConvertOptions
 * @typedef {import('./lib/options').Progress} Progress
 * @typedef {import('./lib/options').SourceOptions} SourceOptions
 * @typedef {import('./lib/options').Format} Format
 * @typedef {import('./lib/convert').Result} Result
 * @typedef {import('./lib/record-reader').LostRange} LostRange
 * @typedef {import('./lib/source').RecordStream} RecordStream
 * @typedef {ReturnType<typeof openSource>} Source
 */

exports.convert = convert
exports.formats = formats
exports.openSource = openSource
