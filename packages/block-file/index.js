'use strict'
// One file as aligned blocks: read ranges through a bounded cache, append, overwrite, truncate, scan with read-ahead.

const { Admission } = require('./lib/admission')
const { BlockFile } = require('./lib/block-file')
const { BlockCache } = require('./lib/block-cache')
const { SpanReader } = require('./lib/span-reader')
const { Piece } = require('./lib/piece')
const { Slab } = require('./lib/slab')
const { Slice } = require('./lib/slice')
const { fileStorage, resolvePath } = require('./lib/storage')
const integers = require('./lib/integers')
const { Lifecycle, setIsolated } = require('./lib/lifecycle')
const { createObservable } = require('./lib/observable')
const { call, toCallback } = require('./lib/promises')
const { trampoline } = require('./lib/trampoline')
const { Turns } = require('./lib/turns')
const { readWhole, readWholeSync, writeWhole, writeWholeSync } = require('./lib/whole-io')

/**
 * @typedef {import('./lib/options').BlockFileOptions} BlockFileOptions
 * @typedef {import('./lib/file-watch').FileWatch} FileWatch
 * @typedef {import('./lib/storage').Storage} Storage
 * @typedef {import('./lib/storage').StorageHandle} StorageHandle
 * @typedef {import('./lib/storage').StorageLock} StorageLock
 * @typedef {import('./lib/storage').Watcher} Watcher
 * @typedef {import('./lib/storage').FileState} FileState
 */

/**
 * @template T
 * @typedef {import('./lib/obz').Obz<T>} Obz
 */

/**
 * @template T
 * @typedef {import('./lib/obz').Observable<T>} Observable
 */

exports.Admission = Admission
exports.BlockFile = BlockFile
exports.BlockCache = BlockCache
exports.SpanReader = SpanReader
exports.Piece = Piece
exports.Slab = Slab
exports.Slice = Slice
exports.fileStorage = fileStorage
exports.integers = integers
exports.createObservable = createObservable
exports.call = call
exports.toCallback = toCallback
exports.trampoline = trampoline
exports.Lifecycle = Lifecycle
exports.setIsolated = setIsolated
exports.Turns = Turns
exports.resolvePath = resolvePath
exports.readWhole = readWhole
exports.readWholeSync = readWholeSync
exports.writeWhole = writeWhole
exports.writeWholeSync = writeWholeSync
