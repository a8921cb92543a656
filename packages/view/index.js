'use strict'
// A view of a log: a value that is folded from its records, kept up to date, and saved.

const { View: OpenView } = require('./lib/view')
const { parseOptions } = require('./lib/options')

/** @typedef {import('./lib/options').ViewLog} ViewLog */
/** @typedef {import('./lib/view').ViewStatus} ViewStatus */
/** @template [S=any] @typedef {import('./lib/view').View<S>} View */

/**
 * @template [S=any]
 * @template [T=any]
 * @typedef {import('./lib/options').ViewOptions<S, T>} ViewOptions
 */

/**
 * Opens a view of a log, and returns it at once. It follows the log by itself. Close it before the log, so that its
 * state is saved; if you do not, it goes on from the state that was saved before.
 * @template [S=any]
 * @template [T=any]
 * @param {ViewLog} log  of one order of seqs: an OffsetLog or a SegmentedLog
 * @param {ViewOptions<S, T>} options
 * @returns {View<S>}
 * @throws {TypeError} ERR_INVALID_ARGUMENT; or ERR_NOT_SUPPORTED for a MergedLog
 */
function createView (log, options) {
  return new OpenView(log, parseOptions(log, options))
}

exports.createView = createView
