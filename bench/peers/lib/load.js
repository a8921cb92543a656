'use strict'
// Requires packages that may be absent or have no types, which the type checker must not look for; and the sizes that
// all are told.

const { createRequire } = require('node:module')

/** @type {(name: string) => any} */
exports.load = createRequire(__filename)

// Of the logs of the flume family, and what they keep of their blocks by themselves: 1024 of them, or twice as many.
exports.BLOCK_SIZE = 64 * 1024
// What those that are told may keep of what they have read.
exports.CACHE_SIZE = 128 * 1024 * 1024
