'use strict'
// The front door of Millrace: opens a log with good defaults, and hands out the parts that it is made of.

const { binaryCodec } = require('@millrace/binary-codec')
const { LogError, codes } = require('@millrace/errors')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { open } = require('./lib/open')

/**
 * @typedef {import('./lib/open').OpenOptions} OpenOptions
 * @typedef {import('./lib/open').CodecName} CodecName
 * @typedef {import('./lib/open').OpenedLog} OpenedLog
 * @typedef {import('./lib/open').OpenFolderOptions} OpenFolderOptions
 */

/**
 * A function of a package that most programs do not use: it is loaded with the first call.
 * @template {(...args: any[]) => any} Call
 * @param {() => Call} load
 * @returns {Call}
 */
function late (load) {
  // No arrow function: some of them may be called with `new`.
  return /** @type {any} */ (function (/** @type {any[]} */ ...args) { return load()(...args) })
}

exports.open = open
exports.OffsetLog = OffsetLog
exports.jsonCodec = jsonCodec
exports.binaryCodec = binaryCodec
/** A log over a folder of segments. @type {typeof import('@millrace/segmented-log').SegmentedLog} */
exports.SegmentedLog = late(() => require('@millrace/segmented-log').SegmentedLog)
/** A view of any log; one that `open` gave has `log.view`. @type {typeof import('@millrace/view').createView} */
exports.createView = late(() => require('@millrace/view').createView)
/** @type {typeof import('@millrace/repair').verify} */
exports.verify = late(() => require('@millrace/repair').verify)
/** @type {typeof import('@millrace/repair').repair} */
exports.repair = late(() => require('@millrace/repair').repair)
/** @type {typeof import('@millrace/repair').accept} */
exports.accept = late(() => require('@millrace/repair').accept)
/** @type {typeof import('@millrace/migrate').convert} */
exports.convert = late(() => require('@millrace/migrate').convert)
/** @type {typeof import('@millrace/migrate').openSource} */
exports.openSource = late(() => require('@millrace/migrate').openSource)
exports.LogError = LogError
exports.codes = codes
