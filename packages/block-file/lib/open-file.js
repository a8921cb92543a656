'use strict'
// What the reader, the writer and the span readers of one block file share.

/**
 * @typedef {import('./storage').StorageHandle} StorageHandle
 * @typedef {import('./block-cache').BlockCache} BlockCache
 * @typedef {import('./writer').RangeLock} RangeLock
 * @typedef {import('./whole-io').Pace} Pace
 */

/**
 * @typedef {object} OpenFile
 * @property {string} path  as it was given until the file is open for writing, then with no symlink in it
 * @property {StorageHandle | null} handle  null before the file is open and after it was closed
 * @property {import('@millrace/flow').Obz<number>} size  bytes that are readable; what lies past it is nobody's yet
 * @property {number} blockSize  in bytes
 * @property {BlockCache} cache
 * @property {RangeLock} lock
 * @property {Pace} pace
 * @property {import('./storage').Storage} storage
 * @property {boolean} hasUnsyncedName  its name may not be on stable storage yet
 * @property {import('./storage').StorageLock | null} lockHeld  what keeps other writers out
 * @property {number} rewriteCount  overwrites and truncations so far: bytes kept from before one may be stale
 */

module.exports = {}
