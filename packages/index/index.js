'use strict'
// An index of fields for a log: which records may fulfil a filter, without a scan.

const { checkOptions } = require('@millrace/errors')
const { createFlumeView } = require('./lib/flume-view')
const { LogIndex: OpenIndex } = require('./lib/log-index')
const { parsePaths } = require('./lib/paths')
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
 * @param {{ tuning?: import('./lib/log-index').Tuning }} [options]  `tuning`: for tests and tools
 * @returns {Index}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function createIndex (paths, options = {}) {
  checkOptions('createIndex', options, ['tuning'])
  const { tuning = {} } = options
  const declared = parsePaths(paths)
  return {
    paths: declared.map(({ name }) => name),
    open: (host) => new OpenIndex(declared, host, tuning)
  }
}

exports.createFlumeView = createFlumeView
exports.createIndex = createIndex
exports.listRuns = listRuns
exports.removeRuns = removeRuns
