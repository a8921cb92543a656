'use strict'
// Writes the records of an application into one log: in batches, with policies for flushing and for a full queue.

const { LogWriter } = require('./lib/log-writer')
const { optionNames, parseOptions, warnOnce } = require('./lib/options')
const { lines, preEncoded } = require('./lib/pre-encoded')

/**
 * @typedef {import('./lib/options').LogWriterOptions} LogWriterOptions
 * @typedef {import('./lib/options').WhenFull} WhenFull
 * @typedef {import('./lib/options').Eagerness} Eagerness
 * @typedef {import('./lib/levels').Counts} Counts
 * @typedef {import('./lib/gap').Gap} Gap
 * @typedef {import('./lib/log-writer').Counters} Counters
 * @typedef {import('./lib/log-writer').Log} Log
 * @typedef {import('./lib/options').StandardError} StandardError
 */

/**
 * @template {Log} [L=Log]
 * @typedef {import('./lib/log-writer').OpenWriter<L>} OpenWriter
 */

exports.LogWriter = LogWriter
exports.lines = lines
exports.preEncoded = preEncoded
exports.optionNames = optionNames
exports.parseOptions = parseOptions
exports.warnOnce = warnOnce
