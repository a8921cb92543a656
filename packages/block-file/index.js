'use strict'
// One file as aligned blocks: read ranges through a bounded cache, append, overwrite, truncate, scan with read-ahead.

const { BlockFile } = require('./lib/block-file')
const { BlockCache } = require('./lib/block-cache')
const { SpanReader } = require('./lib/span-reader')
const { fileStorage } = require('./lib/storage')
const integers = require('./lib/integers')
const { Lifecycle, setIsolated } = require('./lib/lifecycle')
const { trampoline } = require('./lib/trampoline')
const { Turns } = require('./lib/turns')

exports.BlockFile = BlockFile
exports.BlockCache = BlockCache
exports.SpanReader = SpanReader
exports.fileStorage = fileStorage
exports.integers = integers
exports.trampoline = trampoline
exports.Lifecycle = Lifecycle
exports.setIsolated = setIsolated
exports.Turns = Turns
