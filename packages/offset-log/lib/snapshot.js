'use strict'
// Copies a log while it is in use: everything that was readable when the copy began, or the records of it that a filter
// chooses, as a cleanly closed log. Every byte is verified, so damage is never copied.

const { BlockFile } = require('@millrace/block-file')
const { LogError, checkOptions, misuse } = require('@millrace/errors')
const { abortError, parseSignal, promisesOf, toCallback, toPromise } = require('@millrace/flow')
const { packChosen } = require('./compactor')
const { RangeReader, parseRange } = require('./range')
const { RecordRun } = require('./record-run')
const { SUMMED_SIZE, SeqReservation, encodeHead, readHead } = require('@millrace/framing')
const { writeAside } = require('./copy/aside')
const { DamageList, describeSource, encodeHeadOf } = require('@millrace/framing/survey')
const { surveyFile } = require('./copy/survey-file')
const { readBytes } = require('./recover/identify')
const { LinesStore } = require('./lines-store')
const { OffsetStore } = require('./offset-store')

// A compaction may replace the file during the copy. Then the copy begins again.
const ATTEMPTS_MAX = 5
const LINE_FEED = 10
const LINE_BREAK = Buffer.from([LINE_FEED])

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./checked-store').CheckedStore} CheckedStore
 * @typedef {import('./copy/aside').Output} Output
 * @typedef {import('./codec').RecordFilter} RecordFilter
 *
 * @typedef {(position: number) => void} OnPosition  gets how far the copy is, and throws to end it
 * @typedef {{ isWanted: RecordFilter, onPosition: OnPosition }} Chosen
 * @typedef {{ isWanted: RecordFilter | null, onPosition: OnPosition }} Wanted  null for all records
 */

/** @typedef {{ position: number, size: number }} CopyProgress  bytes that are copied, and bytes of the log */

/**
 * @typedef {object} SnapshotOptions
 * @property {AbortSignal | undefined} [signal]  An abort ends the copy: the call fails with ABORT_ERR and leaves
 *   nothing.
 * @property {((progress: CopyProgress) => void) | undefined} [onProgress]  Gets the progress now and then, in bytes.
 *   What it throws ends the copy.
 * @property {import('@millrace/where').Where | undefined} [where]  Copies only the records that match this filter. In
 *   the checked framing each keeps its seq, and the log its id. In the other framings a seq is a place in the file, so
 *   the records get new ones.
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
  /** @type {Wanted} */
  let wanted
  try {
    wanted = parseWanted(file, options)
    wanted.onPosition(0)
  } catch (err) {
    return cb(/** @type {Error} */ (err))
  }
  const [damage] = recovery?.damage ?? []
  if (damage) return cb(corrupt(file.blocks.path, damage.offset))
  toCallback(makeCopy(file, path, wanted), cb)
}

/** @type {(file: LogFile, options?: SnapshotOptions) => Wanted} */
function parseWanted (file, options = {}) {
  checkOptions('snapshot', options)
  const { signal: given, onProgress = () => {}, where, ...others } = options
  checkOptions('snapshot', others, ['onProgress', 'signal', 'where'])
  if (typeof onProgress !== 'function') throw misuse('snapshot: onProgress must be a function')
  const signal = parseSignal('snapshot', given)
  const isWanted = where === undefined ? null : file.codec.compile(require('@millrace/where').parseWhere(where))
  const onPosition = (/** @type {number} */ position) => {
    if (signal?.aborted) throw abortError('snapshot', signal)
    if (position > 0) onProgress({ position, size: file.store.end })
  }
  return { isWanted, onPosition }
}

/** @type {(file: LogFile, path: string, wanted: Wanted) => Promise<void>} */
async function makeCopy (file, path, wanted) {
  await writeAside(path, file.storage, (output) => copy(file, output, wanted))
}

/** @type {(file: LogFile, output: Output, wanted: Wanted) => Promise<void>} */
async function copy (file, output, wanted) {
  for (let attempt = 1; ; attempt++) {
    await toPromise((cb) => file.replacement.wait(cb))
    const { store } = file
    try {
      return await copyOnce(file, output, wanted)
    } catch (err) {
      const isReplaced = store !== file.replacement.readable
      if (attempt === ATTEMPTS_MAX || !isOfChange(err) || !(file.follower || isReplaced)) throw err
      output.cut(0)
      // Another process may have replaced the file.
      if (file.follower) await promisesOf(file.follower).refresh().catch(() => {})
    }
  }
}

/** @type {(file: LogFile, output: Output, wanted: Wanted) => Promise<void>} */
async function copyOnce (file, output, { isWanted, onPosition }) {
  const { store } = file
  if (store instanceof OffsetStore) {
    if (isWanted === null) return copyOffset(store, output, onPosition)
    return copyEach(file, isWanted, onPosition, output, (buffer, start, end) => {
      const frame = Buffer.allocUnsafe(end - start + store.frameOverhead)
      store.writeFrame(buffer.subarray(start, end), output.end, frame, 0)
      output.append(frame)
    })
  }
  if (store instanceof LinesStore) {
    if (isWanted === null) return copyLines(store, output, onPosition)
    return copySomeLines(file, store, output, { isWanted, onPosition })
  }
  if (isWanted === null) return copyChecked(file, store, output, onPosition)
  return copySome(file, store, output, { isWanted, onPosition })
}

/**
 * Reads through a handle of its own, which stays with the same file even if that is replaced.
 * @type {(file: LogFile, store: CheckedStore, output: Output, onProgress: (position: number) => void) => Promise<void>}
 */
async function copyChecked (file, store, output, onProgress) {
  const { end, tail } = store
  const { path, realPath, flags } = file.blocks
  // A link may lead a reader to another place now, where its file was moved.
  const blocks = BlockFile(flags === 'r' ? path : realPath, { flags: 'r', cache: 0, storage: file.storage })
  await promisesOf(blocks).ready()
  try {
    if (store !== file.replacement.readable || blocks.size.value < end) throw moved(path)
    const head = readHead(await readBytes(blocks), path)
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
 * Packs the chosen records as a compaction does.
 * @type {(file: LogFile, store: CheckedStore, output: Output, chosen: Chosen) => Promise<void>}
 */
async function copySome (file, store, output, { isWanted, onPosition }) {
  const { blocks } = file
  const checkSame = () => {
    if (store !== file.replacement.readable) throw moved(blocks.path)
  }
  const { header, epoch } = store
  const logicalEnd = store.logEnd
  output.append(encodeHead({ ...header, hasGaps: true }))
  const onRun = async (/** @type {number} */ copiedEnd) => {
    checkSame()
    onPosition(Math.min(copiedEnd, store.end))
    await output.drain()
  }
  /** @type {Awaited<ReturnType<typeof packChosen>>} */
  let packed
  try {
    packed = await packChosen(store, logicalEnd, isWanted, { onPage: (page) => output.append(page), onRun })
  } finally {
    // If the file was replaced, any failure may come from reading two files as one.
    checkSame()
  }
  const { tail, last } = packed
  const reservedEnd = await reservationOf(file, store).then((it) => it.reservedEndFor(logicalEnd, true))
  await output.flush()
  output.put(0, encodeHead({ ...header, hasGaps: true }, {
    epoch: Math.max(1, epoch), end: tail.end, logicalEnd, last, erasedCount: 0, chainCrc: tail.chainCrc, reservedEnd
  }))
  await output.flush()
}

/** @type {(file: LogFile, store: CheckedStore) => Promise<SeqReservation>} */
async function reservationOf ({ blocks }, store) {
  if (blocks.flags !== 'r') return store.reservation
  const head = readHead(await readBytes(blocks), blocks.path)
  if (head instanceof LogError) throw head
  return new SeqReservation(head, false)
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
      framing.walkForward(window, walk, Infinity, end, records)
      output.append(window.buffer.subarray(position - window.start, walk.position - window.start))
    } while (records.count > 0 && walk.position < end)
    onProgress(walk.position)
    await output.drain()
  }
  if (walk.error) throw walk.error
  await output.flush()
}

/**
 * @param {LogFile} file
 * @param {RecordFilter} isWanted
 * @param {OnPosition} onPosition
 * @param {Output} output
 * @param {(buffer: Buffer, start: number, end: number, seq: number) => void} add  appends a record to the output
 */
async function copyEach (file, isWanted, onPosition, output, add) {
  const { codec, logEnd: end } = file
  const reader = new RangeReader(file, { ...parseRange('scan', { lt: end }, true), skipsDamage: false }, isWanted)
  await promisesOf(reader).open()
  for (let run = await promisesOf(reader).next(end); run.count > 0; run = await promisesOf(reader).next(end)) {
    const { buffer, seqs, starts, ends } = run
    const position = seqs[run.count - 1] + ends[run.count - 1] - starts[run.count - 1]
    const err = reader.applyFilter(run, codec)
    if (err) throw err
    for (let index = 0; index < run.count; index++) add(buffer, starts[index], ends[index], seqs[index])
    onPosition(position)
    await output.drain()
  }
  await output.flush()
}

/**
 * Copies the bytes of the chosen lines as they are, and the byte-order mark.
 * @type {(file: LogFile, store: LinesStore, output: Output, chosen: Chosen) => Promise<void>}
 */
async function copySomeLines (file, store, output, { isWanted, onPosition }) {
  const { blocks, start: first, end: logEnd } = store
  if (first > 0) output.append(await promisesOf(blocks).read(0, first))
  await copyEach(file, isWanted, onPosition, output, (buffer, start, end, seq) => {
    // The walk has seen the line break, or the end of the log.
    const size = buffer.subarray(start, start + logEnd - seq).indexOf(LINE_FEED, end - start) + 1
    if (size > 0) return output.append(buffer.subarray(start, start + size))
    output.append(buffer.subarray(start, end))
    output.append(LINE_BREAK)
  })
}

/**
 * Copies the bytes as they are: lines are never changed.
 * @type {(store: LinesStore, output: Output, onProgress: (position: number) => void) => Promise<void>}
 */
async function copyLines ({ blocks, end, pages }, output, onProgress) {
  const window = blocks.createSpanReader()
  for (let at = 0; at < end;) {
    await promisesOf(window).loadForward(at, SUMMED_SIZE, end)
    const stop = window.end < end ? window.end - window.end % SUMMED_SIZE : end
    if (pages !== null) await toPromise((cb) => pages.load(at, stop, cb))
    const bytes = window.buffer.subarray(0, stop - at)
    const damaged = findDamage(bytes, at, pages)
    if (damaged !== -1) throw corrupt(blocks.path, damaged)
    output.append(bytes)
    onProgress(stop)
    await output.drain()
    at = stop
  }
  await output.flush()
}

/**
 * Where zeros are in place of lines, or a page that does not have its checksum; -1 if there is none.
 * @type {(bytes: Buffer, start: number, pages: LinesStore['pages']) => number} `start`: of a page
 */
function findDamage (bytes, start, pages) {
  const zero = bytes.indexOf(0)
  if (zero !== -1 || pages === null) return zero === -1 ? -1 : start + zero
  for (let at = 0; at + SUMMED_SIZE <= bytes.length; at += SUMMED_SIZE) {
    if (!pages.check((start + at) / SUMMED_SIZE, bytes, at)) return start + at
  }
  return -1
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
