'use strict'
// Worker threads write through the log writer of another thread.

const { ThreadWriter } = require('./lib/thread-writer')
const { shareWriter } = require('./lib/shared-writer')

/**
 * @typedef {import('./lib/shared-writer').Channel} Channel
 * @typedef {import('./lib/shared-writer').SharedWriter} SharedWriter
 * @typedef {import('./lib/thread-writer').ThreadWriterOptions} ThreadWriterOptions
 */

exports.shareWriter = shareWriter
exports.ThreadWriter = ThreadWriter
