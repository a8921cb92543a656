'use strict'
// One file as aligned blocks: read ranges through a bounded cache, append, overwrite, truncate, scan with read-ahead.

const { Admission, BlockCache, Slab } = require('./lib/block-cache')
const { BlockFile } = require('./lib/block-file')
const { parseFileMode, withFileMode } = require('./lib/file-mode')
const { FolderWatch } = require('./lib/file-watch')
const { Folder, LOCK_FILE, PLAIN_SEGMENT, SEGMENT_EXTENSIONS, SEGMENT_NAME } = require('./lib/folder')
const { NewFile } = require('./lib/new-file')
const { SharedCache } = require('./lib/shared-cache')
const { SpanReader } = require('./lib/span-reader')
const { isHeld, patientStorage } = require('./lib/patience')
const { withCalls } = require('./lib/replaced-calls')
const { room, withRoom } = require('./lib/room')
const { fileStorage, resolveFolder, resolvePath } = require('./lib/storage')
const { keepOwnership, listFiles, readFile, removeFiles, replaceFile, seal, unseal } = require('./lib/whole-file')
const { readWhole, readWholeSync, writeWhole, writeWholeSync } = require('./lib/whole-io')
const { writeOutSync } = require('./lib/write-out')

/**
 * @typedef {import('./lib/block-file').BlockFileHandle} BlockFileHandle
 * @typedef {import('./lib/block-file').BlockFileOptions} BlockFileOptions
 * @typedef {import('./lib/block-file').FileLook} FileLook
 * @typedef {import('./lib/file-watch').FileWatch} FileWatch
 * @typedef {import('./lib/shared-cache').SharedCacheHandle} SharedCacheHandle
 * @typedef {import('./lib/room').Keeper} Keeper
 * @typedef {import('./lib/storage').Storage} Storage
 * @typedef {import('./lib/storage').StorageHandle} StorageHandle
 * @typedef {import('./lib/storage').StorageLock} StorageLock
 * @typedef {import('./lib/storage').Watcher} Watcher
 * @typedef {import('./lib/storage').FileState} FileState
 */

exports.Admission = Admission
exports.BlockFile = BlockFile
exports.BlockCache = BlockCache
exports.SharedCache = SharedCache
exports.Folder = Folder
exports.FolderWatch = FolderWatch
exports.LOCK_FILE = LOCK_FILE
exports.PLAIN_SEGMENT = PLAIN_SEGMENT
exports.SEGMENT_EXTENSIONS = SEGMENT_EXTENSIONS
exports.SEGMENT_NAME = SEGMENT_NAME
exports.NewFile = NewFile
exports.SpanReader = SpanReader
exports.Slab = Slab
exports.fileStorage = fileStorage
exports.patientStorage = patientStorage
exports.isHeld = isHeld
exports.parseFileMode = parseFileMode
exports.withCalls = withCalls
exports.withFileMode = withFileMode
exports.room = room
exports.withRoom = withRoom
exports.resolveFolder = resolveFolder
exports.resolvePath = resolvePath
exports.keepOwnership = keepOwnership
exports.listFiles = listFiles
exports.readFile = readFile
exports.removeFiles = removeFiles
exports.replaceFile = replaceFile
exports.seal = seal
exports.unseal = unseal
exports.readWhole = readWhole
exports.readWholeSync = readWholeSync
exports.writeWhole = writeWhole
exports.writeWholeSync = writeWholeSync
exports.writeOutSync = writeOutSync
