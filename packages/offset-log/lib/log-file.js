'use strict'
// What the parts of one open log share, and what each framing does for them.

/**
 * @typedef {import('@millrace/block-file').BlockFile} BlockFile
 * @typedef {import('./codec').RecordCodec} RecordCodec
 * @typedef {import('./framing/checked/checked-store').CheckedStore} CheckedStore
 * @typedef {import('./framing/offset/offset-store').OffsetStore} OffsetStore
 * @typedef {CheckedStore | OffsetStore} Store  the log as its framing has it
 */

/**
 * @typedef {object} LogFile
 * @property {BlockFile} blocks
 * @property {Store} store  set once the log is loaded
 * @property {RecordCodec} codec
 * @property {number} maxRecordSize  in bytes
 * @property {boolean} verify  whether checksums are checked
 * @property {boolean} skipsDamage  what streams and scans do unless they say otherwise
 * @property {number} cacheSize  bytes that records may be kept in
 * @property {import('@millrace/block-file/lib/storage').Storage | undefined} storage
 * @property {number} end  the seq that comes after all that can be read
 * @property {number} writtenSince  seq of the last record written, synced or not
 * @property {import('@millrace/flow').Obz<number>} since
 * @property {import('./durability').Durability} durability
 * @property {import('@millrace/flow').Lifecycle} lifecycle
 * @property {Set<import('./stream').RecordStream>} waitingStreams  live streams that wait for the next append
 * @property {import('./replacement').Replacement} replacement  of the file by a compacted one
 * @property {import('./keep-alive').KeepAlive} keepAlive
 * @property {import('./follower').Follower | null} follower  of a log that another process may write
 */

/**
 * The bytes of one write, and what to do with it.
 * @typedef {object} Framed
 * @property {Buffer} bytes
 * @property {() => void} written  call it once they are in the file
 * @property {() => void} settle  call it to make them readable
 */

/**
 * What a sync covers.
 * @typedef {object} Mark
 * @property {number} since  seq of the last record
 * @property {number} end  position in the file
 * @property {number} shift  what to add for the seq there
 * @property {number} identity  of the chunk before
 * @property {number} last  seq of the last record that is not deleted
 */

/**
 * Where a log can be read on from.
 * @typedef {object} Cut
 * @property {number} seq  the lowest that may come behind it
 * @property {number} at  position in the file
 */

/**
 * Where in the file the records of a range are, but for what of the last one may reach further.
 * @typedef {{ start: number, end: number }} Extent
 */

/**
 * @typedef {object} Recovery  what opening found, and what it did about it
 * @property {number} offset  where the log ends now, when its end was cut off
 * @property {number} size  how many bytes past it were no whole commit; 0 when there were none
 * @property {string | null} keptAt  the file they were copied to before they were cut; null when nothing was cut
 * @property {{ offset: number, size: number, cause: Error } | null} [uncopied]  an end that an earlier session left
 *   unsynced, and that may be in the page cache only, could not be copied and made durable: the log is read-only
 * @property {{ offset: number, size: number, path: string } | null} [unrestored]  of a log that is open for reading:
 *   the end that only the file `path` has, since an open for writing was cut off while it wrote these bytes anew
 * @property {Array<{ what: string, offset: number, size: number }>} damage  what is not as it was when it was on stable
 *   storage: the log is read-only
 * @property {Array<{ what: string, offset: number, size: number }>} flaws  parts of the head that cannot be used, and
 *   that there is another copy of: the next close mends them
 */

module.exports = {}
