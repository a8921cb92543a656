'use strict'
// An index of fields for a log: which records may fulfil a filter, without a scan.

const { checkOptions } = require('@millrace/errors')
const { createFlumeView } = require('./lib/flume-view')
const { LogIndex: OpenIndex } = require('./lib/log-index')
const { parsePaths } = require('./lib/paths')
const { checkPort } = require('./lib/remote-builder')
const { runBuilder } = require('./lib/run-builder')
const { listRuns, removeRuns } = require('./lib/run-list')

/**
 * @typedef {import('./lib/paths').PathOptions} PathOptions
 * @typedef {import('./lib/paths').AskedPath} AskedPath
 * @typedef {import('./lib/flume-view').FlumeView} FlumeView
 * @typedef {import('./lib/log-index').Host} Host
 * @typedef {import('./lib/log-index').LogIndex} LogIndex
 * @typedef {import('./lib/log-index').IndexStatus} IndexStatus
 * @typedef {import('./lib/explain').Explanation} Explanation
 * @typedef {import('./lib/parts').Part} Part
 * @typedef {import('./lib/remote-builder').Port} Port
 * @typedef {import('./lib/run-builder').BuilderSource} BuilderSource
 * @typedef {import('./lib/run-list').RunInfo} RunInfo
 */

/**
 * What a log is handed as its option `index`.
 * @typedef {object} Index
 * @property {string[]} paths  as people read them
 * @property {(host: Host) => LogIndex} open  for the log; it opens its files in the background
 */

/**
 * Declares an index. A filter uses it if it asks for a declared path, spelled the same: with `equals`, `in` and
 * `includes`, and with ranges and times of paths that have `range: true`.
 * @param {ReadonlyArray<AskedPath | PathOptions>} paths
 * @param {object} [options]
 * @param {Port} [options.builder]  A Worker that runs `runBuilder` for this log, or a MessagePort that leads to it: it
 *   reads what was appended, and writes the files, so the thread that appends does not. Until it is ready, and if it
 *   ends, throws, says nothing for 30 s or gets no further for 2 minutes, this thread does all, and the `failure` of
 *   the status says why. A log that is only read, or has an offset framing, has no use for it. It does not keep the
 *   process running; but the Worker that has the other end of a MessagePort does, unless you call its `unref`. When
 *   the log is closed, it stays.
 * @param {import('./lib/log-index').Tuning} [options.tuning]  for tests and tools
 * @returns {Index}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function createIndex (paths, options = {}) {
  checkOptions('createIndex', options, ['builder', 'tuning'])
  const { builder, tuning = {} } = options
  if (builder !== undefined) checkPort('createIndex: builder', builder)
  const declared = parsePaths(paths)
  // Not even if no log is opened with it.
  builder?.unref?.()
  return {
    paths: declared.map(({ name }) => name),
    open: (host) => new OpenIndex(declared, host, tuning, builder)
  }
}

exports.createFlumeView = createFlumeView
exports.createIndex = createIndex
exports.listRuns = listRuns
exports.removeRuns = removeRuns
exports.runBuilder = runBuilder
