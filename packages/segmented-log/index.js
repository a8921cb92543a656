'use strict'
// One append-only log over many files.

const { SharedCache } = require('@millrace/block-file')
const { createPlainStorage } = require('./lib/compressed/storage')
const { sizeOf } = require('./lib/files')
const { slotsError } = require('./lib/kind')
const { parseNames } = require('./lib/names')
const { listSegments } = require('./lib/opening')
const { checkSegmentedOptions, optionNames } = require('./lib/options')
const { SegmentedLog, findMissingSegments, setMaxSize } = require('./lib/segmented-log')

/**
 * @template [T=any]
 * @typedef {import('./lib/options').SegmentedLogOptions<T>} SegmentedLogOptions
 */

/** @typedef {import('./lib/retention').Dropped} Dropped */
/** @typedef {import('./lib/holds').Hold} Hold */
/** @typedef {import('./lib/contract').SegmentInfo} SegmentInfo */

exports.SharedCache = SharedCache
exports.SegmentedLog = SegmentedLog
exports.checkSegmentedOptions = checkSegmentedOptions
exports.createPlainStorage = createPlainStorage
exports.findMissingSegments = findMissingSegments
exports.optionNames = optionNames
exports.listSegments = listSegments
// For @millrace/merged-log.
exports.parseNames = parseNames
exports.setMaxSize = setMaxSize
exports.sizeOf = sizeOf
exports.slotsError = slotsError
