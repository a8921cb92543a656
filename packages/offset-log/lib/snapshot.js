'use strict'
// Copies a log while it is in use: everything that was readable when the copy began, as a cleanly closed log. Every
// byte is verified, so damage is never copied.

const { BlockFile } = require('@millrace/block-file')
const { LogError, misuse } = require('@millrace/errors')
const { abortError, parseSignal, promisesOf, toCallback } = require('@millrace/flow')
const { RecordRun } = require('./record-run')
const { SeqReservation, readHead } = require('@millrace/framing')
const { writeAside } = require('./copy/aside')
const { DamageList, describeSource, encodeHeadOf } = require('@millrace/framing/survey')
const { readHeadBytes, surveyFile } = require('./copy/survey-file')
const { LinesStore } = require('./lines-store')
const { OffsetStore } = require('./offset-store')

// A compaction may replace the file during the copy. Then the copy begins again.
const ATTEMPTS_MAX = 5

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./checked-store').CheckedStore} CheckedStore
 * @typedef {import('./copy/aside').Output} Output
 */

/** @typedef {{ position: number, size: number }} CopyProgress  bytes that are copied, and bytes of the log */

/**
 * @typedef {object} SnapshotOptions
 * @property {AbortSignal | undefined} [signal]  An abort ends the copy: the call fails with ABORT_ERR and leaves
 *   nothing.
 * @property {((progress: CopyProgress) => void) | undefined} [onProgress]  Gets the progress now and then, in bytes.
 *   What it throws ends the copy.
 */

/**
 * @param {LogFile} file  loaded
 * @param {import('./load').Recovery | null} recovery  what opening found
 * @param {string} path  of the copy; nothing may exist there
 * @param {SnapshotOptions | undefined} options
 * @param {(err: Error | null) => void} cb  the copy is durable. EEXIST; ERR_LOG_CORRUPT if the log is damaged; after
 *   an abort ABORT_ERR, and nothing is left of the copy
 */
function snapshot (file, recovery, path, options, cb) {
  let onPosition
  try {
    onPosition = createListener(file, options)
    onPosition(0)
  } catch (err) {
    return cb(/** @type {Error} */ (err))
  }
  const [damage] = recovery?.damage ?? []
  if (damage) return cb(corrupt(file.blocks.path, damage.offset))
  toCallback(writeAside(path, file.storage, (output) => copy(file, output, onPosition)), cb)
}

/**
 * @param {LogFile} file
 * @param {SnapshotOptions} [options]
 * @returns {(position: number) => void}  tells how far the copy is, and throws to end it
 */
function createListener (file, options = {}) {
  if (typeof options !== 'object' || options === null) throw misuse(`snapshot: expected options, got ${String(options)}`)
  const { signal: given, onProgress = () => {}, ...others } = options
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw misuse(`snapshot: there is no option ${unknown}; there are onProgress and signal`)
  if (typeof onProgress !== 'function') throw misuse('snapshot: onProgress must be a function')
  const signal = parseSignal('snapshot', given)
  return (position) => {
    if (signal?.aborted) throw abortError('snapshot', signal)
    if (position > 0) onProgress({ position, size: file.store.end })
  }
}

/** @type {(file: LogFile, output: Output, onPosition: (position: number) => void) => Promise<void>} */
async function copy (file, output, onPosition) {
  for (let attempt = 1; ; attempt++) {
    await new Promise((resolve) => file.replacement.wait(() => resolve(null)))
    const { store } = file
    try {
      if (store instanceof OffsetStore) await copyOffset(store, output, onPosition)
      else if (store instanceof LinesStore) await copyLines(store, output, onPosition)
      else await copyChecked(file, store, output, onPosition)
      return
    } catch (err) {
      const isReplaced = file.store !== store || store.isReplaced
      if (attempt === ATTEMPTS_MAX || !isOfChange(err) || !(file.follower || isReplaced)) throw err
      output.cut(0)
      // Another process may have replaced the file.
      if (file.follower) await promisesOf(file.follower).refresh().catch(() => {})
    }
  }
}

/**
 * Reads through a handle of its own, which stays with the same file even if that is replaced.
 * @type {(file: LogFile, store: CheckedStore, output: Output, onProgress: (position: number) => void) => Promise<void>}
 */
async function copyChecked (file, store, output, onProgress) {
  const { end, tail } = store
  const { path } = file.blocks
  const blocks = BlockFile(file.blocks.realPath, { flags: 'r', cache: 0, storage: file.storage })
  await promisesOf(blocks).ready()
  try {
    const isReplaced = file.store !== store || store.isReplaced
    if (isReplaced || blocks.size.value < end) throw moved(path)
    const head = readHead(await readHeadBytes(blocks), path)
    if (head instanceof LogError) throw head
    if (!head.header.id.equals(store.header.id)) throw moved(path)
    /** @type {LogError | null} */
    let damaged = null
    const damage = new DamageList({ onRange: ({ offset }) => { damaged ??= corrupt(path, offset) } })
    const { survey: { found } } = await surveyFile(blocks, describeSource(head, end), { damage, output, onProgress })
    if (damaged) throw damaged
    // `end` may be that of a file which was replaced meanwhile.
    if (found.end !== end || found.shift !== tail.shift) throw moved(path)
    await output.flush()
    // The copy of another process's log may be all that survives a power cut, so it keeps the reserved end.
    const reservation = file.blocks.flags === 'r' ? new SeqReservation(head, false) : store.reservation
    output.put(0, encodeHeadOf(head, found, reservation.reservedEndFor(end + found.shift, true)))
    await output.flush()
  } finally {
    await promisesOf(blocks).close()
  }
}

/**
 * Reads as the log's own readers do, so that it never sees a half-erased record.
 * @type {(store: OffsetStore, output: Output, onProgress: (position: number) => void) => Promise<void>}
 */
async function copyOffset ({ blocks, framing, end }, output, onProgress) {
  const window = blocks.createSpanReader()
  const records = new RecordRun()
  /** @type {import('@millrace/framing').Walk} */
  const walk = { position: 0, need: framing.overhead, error: null, maxRecordSize: Infinity }
  while (walk.position < end && !walk.error) {
    await promisesOf(window).loadForward(walk.position, Math.max(walk.need, framing.overhead), end)
    // The window's bytes are all from before an overwrite or all from after it, as long as nothing waits here.
    do {
      const { position } = walk
      records.clear()
      framing.walkForward(window, new DataView(window.buffer.buffer), walk, Infinity, end, records)
      output.append(window.buffer.subarray(position - window.start, walk.position - window.start))
    } while (records.count > 0 && walk.position < end)
    onProgress(walk.position)
    await output.drain()
  }
  if (walk.error) throw walk.error
  await output.flush()
}

/**
 * Copies the bytes as they are: lines are never changed.
 * @type {(store: LinesStore, output: Output, onProgress: (position: number) => void) => Promise<void>}
 */
async function copyLines ({ blocks, end }, output, onProgress) {
  const window = blocks.createSpanReader()
  for (let at = 0; at < end; at = window.end) {
    await promisesOf(window).loadForward(at, 1, end)
    output.append(window.buffer.subarray(at - window.start, window.end - window.start))
    onProgress(window.end)
    await output.drain()
  }
  await output.flush()
}

/** @param {unknown} err */
function isOfChange (err) {
  return err instanceof LogError && ['ERR_LOG_CORRUPT', 'ERR_FILE_SHORT_READ'].includes(err.code)
}

/** @param {string} path */
function moved (path) {
  return new LogError('ERR_LOG_CORRUPT', `snapshot: ${path} is not the file that this log reads any more; open the log again`,
    { path })
}

/** @type {(path: string, offset: number) => LogError} */
function corrupt (path, offset) {
  return new LogError('ERR_LOG_CORRUPT', `snapshot: ${path} is damaged at ${offset}, and a snapshot copies no damage; \`repair\` ` +
    'makes a new log of its good records', { offset, path })
}

exports.snapshot = snapshot
