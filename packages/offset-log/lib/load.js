'use strict'
// Turns an open block file into a loaded log: identifies its framing and opens the store. Also declares what the parts
// of one open log share.

const { abortError, pause, promisesOf, toPromise } = require('@millrace/flow')
const { openChecked, openNewChecked, removeLeftover } = require('./recover/open-checked')
const { detectFraming, hasSums, readBytes, removeSums } = require('./recover/identify')
const { HEADER_SIZE, hasMagic, offsetFramings } = require('@millrace/framing')
const { openOffset } = require('./recover/open-offset')

// A change to the file takes less than this.
const CHANGE_MS_MAX = 10
const ATTEMPT_COUNT_MAX = 50

/** Most programs have no log of lines, so what opens one is loaded with the first. */
const lines = () => require('./recover/open-lines')

/**
 * Open a file that was just made, without waiting, by framing.
 * @type {Readonly<Record<string, (file: LogFile, bytes: Buffer) => Store>>}
 */
const newStores = Object.freeze({ checked: openNewChecked, lines: (file) => lines().openNewLines(file) })

/**
 * @typedef {import('@millrace/block-file').BlockFile} BlockFile
 * @typedef {import('./codec').RecordCodec} RecordCodec
 * @typedef {import('./checked-store').CheckedStore} CheckedStore
 * @typedef {import('./offset-store').OffsetStore} OffsetStore
 * @typedef {import('./lines-store').LinesStore} LinesStore
 * @typedef {CheckedStore | OffsetStore | LinesStore} Store
 */

/**
 * @typedef {object} LogFile
 * @property {BlockFile} blocks
 * @property {Store} store  set by `load`
 * @property {RecordCodec} codec
 * @property {Buffer | null} newId  the id of a new log; null for any
 * @property {number} maxRecordSize  in bytes
 * @property {number} maxPendingSize  in bytes
 * @property {boolean} verify  whether to check checksums
 * @property {boolean} skipsDamage  the default for streams and scans
 * @property {boolean} isStrict  whether unknown options of reads are refused
 * @property {import('@millrace/block-file').Storage | undefined} storage
 * @property {number} logEnd  the lowest seq above all readable records, as the store has it
 * @property {number} writtenSince  seq of the last record written, synced or not
 * @property {import('@millrace/flow').Obz<number>} since  seq of the last record that can be read
 * @property {import('@millrace/flow').Obz<number>} durable  the same of those that are known to be on stable storage
 * @property {import('./durability').Durability} durability
 * @property {import('@millrace/flow').Lifecycle} lifecycle
 * @property {import('./stream').WaitingStreams} waitingStreams
 * @property {import('./replacement').Replacement} replacement  of the file by a compacted one
 * @property {import('./follower').Follower | null} follower  of a read-only log
 * @property {Error | null} [failure]  of a log of several files that another process writes: why nothing can follow, as
 *   that of a follower; null if something can
 * @property {OpenRange} [openRange]  of a log of several files, or with an index: opens its readers
 * @property {CountSure} [countSure]  of a log with an index
 */

/**
 * @typedef {import('./range').RangeReader} RangeReader
 * @typedef {Pick<RangeReader, 'next' | 'isDone' | 'lost' | 'applyFilter' | 'rewindTo' | 'stopKeepingBytes'> &
 *   Releasing} Reader
 * @typedef {{ release?: () => void }} Releasing  no more is read, and nothing that it has delivered is used any more
 * @typedef {(err: Error | null, reader?: Reader) => void} OpenedRange
 * @typedef {(file: LogFile, range: import('./range').Range, cb: OpenedRange) => void} OpenRange  the range is the
 *   reader's own from then on
 * @typedef {{ sure: number, openRest: OpenRange | null }} Counted  how many records match for certain, and what opens a
 *   reader of others that may; null if there are none, as always if the range has a limit
 * @typedef {(range: import('./range').Range) => Counted | null} CountSure  null if all is to be read
 */

/**
 * What a sync covers.
 * @typedef {object} Mark
 * @property {number} since  seq of the last record
 * @property {number} end  position in the file
 * @property {number} shift  logical less physical position, there
 * @property {number} chainCrc  of the last chunk
 * @property {number} last  seq of the last record that is not deleted
 */

/**
 * @typedef {object} Recovery  what opening found and did
 * @property {number} offset  Where the log ends now, if a torn end was found.
 * @property {number} size  Of the torn end, in bytes; 0 if there was none.
 * @property {string | null} keptAt  The file that has the torn bytes, which were copied before they were cut; null if
 *   nothing was cut.
 * @property {{ offset: number, size: number, cause: Error } | null} [uncopied]  An unsynced end of an earlier session
 *   that opening could not copy and make durable. The log is read-only. The next open for writing tries again.
 * @property {{ offset: number, size: number, path: string } | null} [unrestored]  Of a log opened for reading: an
 *   earlier open for writing was interrupted while it wrote these bytes anew from the file `path`. The log is read
 *   without them. The next open for writing restores them.
 * @property {string} [changed]  Of a log of lines: another program has changed the file, how that shows, and how to
 *   accept it. Until then every opening says so, and reads compare no checksums.
 * @property {Array<{ what: string, offset: number, size: number }>} damage  Ranges that have changed since they were on
 *   stable storage. The log is read-only.
 * @property {Array<{ what: string, offset: number, size: number }>} flaws  Unusable parts of the head that have another
 *   copy, so that opening can do without. Closing the log repairs them.
 */

/**
 * Sets `store`, `since` and `durable` of `file`.
 * @param {LogFile} file
 * @param {string} framing  used if the file is empty
 * @param {AbortSignal | null} signal  if aborted, loading fails before its next step
 * @returns {Promise<Recovery | null>}
 */
async function load (file, framing, signal) {
  const { blocks, durability, since, durable } = file
  await promisesOf(blocks).ready()
  if (signal?.aborted) throw abortError('open', signal)
  const { store, recovery } = await (blocks.flags === 'r' ? openSteadily : openStore)(file, framing)
  // What is beside the log is closed with it from here on, whatever fails.
  file.store = store
  if (signal?.aborted) throw abortError('open', signal)
  file.replacement.loaded(store)
  file.writtenSince = store.last
  const mayWrite = blocks.flags === 'r+' && !recovery?.damage.length && !recovery?.uncopied
  if (mayWrite) await removeLeftover(file)
  if (mayWrite && durability.mode === 'always') {
    blocks.reserve(store.reserveSize)
    // Only durable records may be shown here, so what a crash left unsynced must be made durable first.
    if (store.durableLast !== store.last) {
      const beside = store.isLines ? store.syncBeside() : null
      await Promise.all([beside, toPromise((cb) => blocks.sync(cb))]).catch((err) => { throw durability.poison(err) })
      store.checkpoints.synced(store.checkpoints.mark(), false)
      store.durableLast = store.last
    }
  }
  since.set(store.last)
  durable.set(store.durableLast)
  return recovery
}

/**
 * The same without waiting, for a file that was just made.
 * @type {(file: LogFile, framing: string, bytes: Buffer) => void} `bytes`: all that the file has
 */
function loadNew (file, framing, bytes) {
  const { blocks, durability, since, durable } = file
  const store = file.store = newStores[framing](file, bytes)
  file.replacement.loaded(store)
  file.writtenSince = store.last
  if (durability.mode === 'always') blocks.reserve(store.reserveSize)
  since.set(store.last)
  durable.set(store.durableLast)
}

/**
 * Another process may be writing the file, so a fault counts only if it looks the same twice.
 * @type {(file: LogFile, framing: string) => Promise<{ store: Store, recovery: Recovery | null }>}
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
    await toPromise((cb) => file.blocks.refresh(cb))
  }
}

/** @param {Recovery | null} recovery */
function describeFault (recovery) {
  const { damage = [], flaws = [] } = recovery ?? {}
  return damage.length + flaws.length === 0 ? '' : JSON.stringify({ damage, flaws })
}

/** @type {(file: LogFile, framing: string) => Promise<{ store: Store, recovery: Recovery | null }>} */
async function openStore (file, framing) {
  // A checked log is never empty. An empty file is open for reading. One of lines has its sums beside it; any other has
  // no framing yet, and any offset framing can read it.
  const { size: { value: size } } = file.blocks
  if (size === 0) {
    if (framing === 'lines' || (framing === 'checked' && await hasSums(file.blocks, file.storage))) return lines().openLines(file)
    if (file.blocks.flags === 'r+') await removeSums(file.blocks, file.storage)
    return openOffset(file, offsetFramings[framing] ?? offsetFramings.offset32)
  }
  const head = await readBytes(file.blocks)
  if (size >= HEADER_SIZE && hasMagic(head)) return openChecked(file, head)
  const found = await toPromise((cb) => detectFraming(file.blocks, file.storage, framing, cb))
  if (found === 'checked') return openChecked(file, head)
  return found === 'lines' ? lines().openLines(file) : openOffset(file, found)
}

exports.load = load
exports.newStores = newStores
exports.loadNew = loadNew
exports.openSteadily = openSteadily
