'use strict'
// From an open block file to a log that can be read and appended to: tells the framing, and lets it find its end. Says
// what the parts of one open log share, too.

const { call, pause, toPromise } = require('@millrace/flow')
const { openChecked } = require('./recover/open-checked')
const { detectFraming } = require('./recover/identify')
const { offsetFramings } = require('@millrace/framing')
const { openOffset } = require('./recover/open-offset')
const { removeLeftover } = require('./maintenance')

// A change that was under way when the log was looked at is over after this.
const CHANGE_MS_MAX = 10
const ATTEMPT_COUNT_MAX = 50

/**
 * @typedef {import('@millrace/block-file').BlockFile} BlockFile
 * @typedef {import('./codec').RecordCodec} RecordCodec
 * @typedef {import('./checked-store').CheckedStore} CheckedStore
 * @typedef {import('./offset-store').OffsetStore} OffsetStore
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
 * @property {import('@millrace/block-file').Storage | undefined} storage
 * @property {number} end  the seq that comes after all that can be read
 * @property {number} writtenSince  seq of the last record written, synced or not
 * @property {import('@millrace/flow').Obz<number>} since
 * @property {import('./durability').Durability} durability
 * @property {import('@millrace/flow').Lifecycle} lifecycle
 * @property {Set<import('./stream').RecordStream>} waitingStreams  live streams that wait for the next append
 * @property {import('./follower').Replacement} replacement  of the file by a compacted one
 * @property {import('./stream').KeepAlive} keepAlive
 * @property {import('./follower').Follower | null} follower  of a log that another process may write
 */

/**
 * What a sync covers.
 * @typedef {object} Mark
 * @property {number} since  seq of the last record
 * @property {number} end  position in the file
 * @property {number} shift  what to add for the seq there
 * @property {number} chainCrc  of the chunk before
 * @property {number} last  seq of the last record that is not deleted
 */

/**
 * Where a log can be read on from.
 * @typedef {object} PartitionStart
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

/**
 * @param {LogFile} file  gets its `store`, `end` and `since`
 * @param {string} framing  of a file that is empty
 * @returns {Promise<Recovery | null>}
 */
async function load (file, framing) {
  const { blocks, durability, since } = file
  await call(blocks, 'ready')
  const { store, recovery } = await (blocks.flags === 'r' ? openSteadily : openStore)(file, framing)
  file.store = store
  file.writtenSince = store.last
  const mayWrite = blocks.flags === 'r+' && !recovery?.damage.length && !recovery?.uncopied
  if (mayWrite) await removeLeftover(file)
  if (mayWrite && durability.mode === 'always') {
    blocks.reserve(store.reserveSize)
    // Only what is on stable storage may be seen: first of all, what a crash left must be put there.
    if (store.durableLast !== store.last) {
      await toPromise((cb) => durability.sync(cb, () => since.set(store.last)))
      return recovery
    }
  }
  since.set(store.last)
  durability.begin(store.durableLast)
  return recovery
}

/**
 * Another process may be writing what is read here: what looks wrong is believed once it looks the same twice.
 * @param {LogFile} file
 * @param {string} framing
 * @returns {Promise<{ store: Store, recovery: Recovery | null }>}
 */
async function openSteadily (file, framing) {
  let before = ''
  for (let attempt = 1; ; attempt++) {
    const { fault, answer } = await openStore(file, framing).then((opened) => {
      return { fault: describeFault(opened.recovery), answer: () => opened }
    }, (err) => {
      return { fault: String(err.message), answer: () => { throw err } }
    })
    if (fault === '' || fault === before || attempt === ATTEMPT_COUNT_MAX) return answer()
    before = fault
    await pause(CHANGE_MS_MAX)
    await call(file.blocks, 'refresh')
  }
}

/** @param {Recovery | null} recovery */
function describeFault (recovery) {
  const { damage = [], flaws = [] } = recovery ?? {}
  return damage.length + flaws.length === 0 ? '' : JSON.stringify({ damage, flaws })
}

/**
 * @param {LogFile} file
 * @param {string} framing
 * @returns {Promise<{ store: Store, recovery: Recovery | null }>}
 */
async function openStore (file, framing) {
  // A checked log is never empty; a file that is, opened for reading, has no framing yet: any one can read it.
  if (file.blocks.size.value === 0) {
    return openOffset(file, offsetFramings[framing] ?? offsetFramings.offset32)
  }
  const found = await toPromise((cb) => detectFraming(file.blocks, cb))
  return found === 'checked' ? openChecked(file) : openOffset(file, found)
}

exports.load = load
exports.openSteadily = openSteadily
