'use strict'
// Opens the folder: takes its lock, finds the segments, and opens the newest one. The lock covers all of them, so only
// the holder makes, renames or removes files in the folder until it closes the log.

const path = require('node:path')
const { fileStorage, isHeld, keepOwnership, resolveFolder } = require('@millrace/block-file')
const { LogError, misuse } = require('@millrace/errors')
const { abortError, promisesOf } = require('@millrace/flow')
const { OffsetLog } = require('@millrace/offset-log')
const { createNewFile, openFixed, openNew, sourceOf } = require('@millrace/offset-log/composing')
const { remove, removeUnlessHeld } = require('./files')
const { NO_KEEP, framingError, kindError } = require('./kind')
const { DAMAGE_DISTANCE, SLACK, countMissing } = require('./missing')
const { EXTENSIONS, TIMES_FILE, isKeptMark, parseNames, segmentName } = require('./names')
const { forgetTimes } = require('./record-times')
const { HEAD_SIZE, createStandIn, findLike } = require('./stand-in')

/** How often to look again while the writer drops the newest segment that was found. */
const ATTEMPT_COUNT_MAX = 50

/** What the file of a log becomes as the first segment. */
const FIRST_NAMES = /** @type {Framing[]} */ (Object.keys(EXTENSIONS))
  .map((framing) => `one of the framing ${framing} as ${segmentName(0, 0, framing)}`).join(', ')

/** Errors of opening that say that there is no segment in the file: it is damaged, is another file, or is gone. */
const BROKEN_CODES = new Set(['ERR_LOG_CORRUPT', 'ERR_LOG_UNKNOWN_FORMAT', 'EISDIR', 'ENOENT', 'ERR_INVALID_ARGUMENT'])

/**
 * @typedef {ReturnType<typeof import('./options').parseOptions>} Options
 * @typedef {import('./names').SegmentName} SegmentName
 * @typedef {import('./names').Framing} Framing
 * @typedef {import('./names').Listing} Listing
 * @typedef {import('@millrace/offset-log/composing').Source} Source
 *
 * @typedef {object} Opened
 * @property {SegmentName[]} segments  the last one is open
 * @property {Map<string, number>} kept  as in the listing
 * @property {any} log  of the last one
 * @property {any} recovery  what opening found wrong; null if nothing
 * @property {object} [logOptions]  of the last one, if it is a stand-in
 */

/** @type {(folder: string, options: Options) => Promise<Opened>} */
async function openFolder (folder, options) {
  const { signal, isWriter, mustExist, errorIfExists, lockTimeout, place } = options
  // Nothing may be made before it is known that the log may be opened.
  if (!isWriter || mustExist || errorIfExists) await listLog(folder, options)
  if (signal?.aborted) throw abortError('open', signal)
  try {
    await place.open(isWriter ? { createFolder: !mustExist, lock: true, lockTimeout, signal } : {})
  } catch (err) {
    // A file at this path has a message of its own.
    await list(folder, options)
    throw err
  }
  try {
    return await (isWriter ? openForWriting : openForReading)(folder, options)
  } catch (err) {
    await place.close().catch(() => {})
    throw err
  }
}

/**
 * Lists the folder, if what is there can be opened as the options say. The options get the framing of the segments.
 * @type {(folder: string, options: Options) => Promise<Listing>}
 * @throws {LogError} ENOENT, EEXIST, ERR_LOG_UNKNOWN_FORMAT, ERR_NOT_SUPPORTED
 */
async function listLog (folder, options) {
  const { isWriter, mustExist, errorIfExists } = options
  const listing = await list(folder, options)
  const wrong = kindError(folder, listing, 'segments') ?? framingError(folder, listing.segments, options.framing)
  if (wrong !== null) throw wrong
  const isMissing = listing.segments.length === 0
  if (isMissing && (!isWriter || mustExist)) {
    throw new LogError('ENOENT', `open: there is no segment of a log in ${folder}; nothing was made. To begin a log there, ` +
      'open it with SegmentedLog, without flags "r" and mustExist', { path: folder })
  }
  if (!isMissing && errorIfExists) {
    throw new LogError('EEXIST', `open: ${folder} has a log, and errorIfExists was given; nothing was changed`,
      { path: folder })
  }
  settleFraming(folder, options, listing)
  return listing
}

/** @type {(folder: string, options: Pick<Options, 'storage' | 'isWriter'>) => Promise<Listing>} */
async function list (folder, { storage, isWriter }) {
  if (!storage.listFolder) {
    throw new LogError('ERR_NOT_SUPPORTED', 'SegmentedLog: the storage cannot list a folder; give it the function listFolder')
  }
  try {
    return parseNames(await promisesOf(storage).listFolder(folder))
  } catch (err) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (err)
    if (code === 'ENOENT' && isWriter) return parseNames([])
    if (code !== 'ENOTDIR') throw err
    throw new LogError('ENOTDIR', `open: ${folder} is a file, and a segmented log is a folder. To go on with a log of ` +
      `one file, make a folder and move the file into it: ${FIRST_NAMES}`, { cause: err, path: folder })
  }
}

/**
 * Lists the segments without opening the log, however damaged it is. They may be dropped or compressed meanwhile.
 * @param {string} folder
 * @param {import('@millrace/block-file').Storage} [storage]  the file system by default
 * @returns {Promise<string[]>}  the paths of their files, in order
 */
async function listSegments (folder, storage = fileStorage) {
  if (storage === null || typeof storage !== 'object') throw misuse(`listSegments: expected a storage, got ${typeof storage}`)
  const { segments } = await list(resolveFolder('listSegments', folder, storage), { storage, isWriter: false })
  return segments.map(({ file }) => path.join(folder, file))
}

/**
 * All segments have the framing of those that are there.
 * @type {(folder: string, options: Options, listing: Listing) => void}
 * @throws {LogError} ERR_NOT_SUPPORTED
 */
function settleFraming (folder, { framing, active, sealed, keep }, { segments }) {
  active.framing = sealed.framing = segments[0]?.framing ?? framing ?? 'checked'
  if (active.framing === 'lines' && keep !== null) throw new LogError('ERR_NOT_SUPPORTED', `open: ${folder}: ${NO_KEEP}`, { path: folder })
}

/** @type {(folder: string, options: Options) => Promise<Opened>} */
async function openForReading (folder, options) {
  for (let attempt = 1; ; attempt++) {
    // Another folder may have come to the path since it was looked at.
    const { segments, kept } = await listLog(folder, options)
    if (!options.skipsDamage) checkBases(folder, segments)
    const last = segments[segments.length - 1]
    // The writer may have begun the next segment while the folder was listed.
    if (kept.has(last.name) && attempt < ATTEMPT_COUNT_MAX) continue
    const log = OffsetLog(path.join(folder, last.name), options.active)
    try {
      await readySegment(log, options.active)
      return { segments, kept, log, recovery: log.recovery }
    } catch (err) {
      const { code = '' } = /** @type {NodeJS.ErrnoException} */ (err)
      // The writer may have dropped it.
      if (code === 'ENOENT' && attempt < ATTEMPT_COUNT_MAX) continue
      if (code === 'ENOENT' || !BROKEN_CODES.has(code)) throw err
      const recovery = recoveryOf(/** @type {Error} */ (err))
      return { ...await standInAfter(folder, options, segments), kept, recovery }
    }
  }
}

/**
 * The newest segment cannot be opened for reading: a stand-in is the newest one, so that others are read.
 * @type {(folder: string, options: Options, segments: SegmentName[]) =>
 *   Promise<{ segments: SegmentName[], log: any, logOptions: object }>}
 */
async function standInAfter (folder, options, segments) {
  const { size, logOptions } = await createStandIn(folder, options, segments)
  const next = nameAt(segments[segments.length - 1].base + size + SLACK, options)
  const log = OffsetLog(path.join(folder, next.name), logOptions)
  await log.ready()
  return { segments: [...segments, next], log, logOptions }
}

/** @param {Error} err  of the newest segment, which cannot be opened */
function recoveryOf ({ message }) {
  return { offset: 0, size: 0, keptAt: null, damage: [{ what: message, offset: 0, size: 0 }], flaws: [] }
}

/** The folder is locked. @type {(folder: string, options: Options) => Promise<Opened>} */
async function openForWriting (folder, options) {
  const { signal, place } = options
  const listing = await listLog(folder, options)
  const { segments } = listing
  if (signal?.aborted) throw abortError('open', signal)
  const isNew = segments.length === 0
  if (isNew) segments.push(nameAt(0, options))
  checkBases(folder, segments)
  options.active.lock = place.lock ?? false
  const own = { id: await findLostId(folder, options, listing), mustExist: !isNew, signal: signal ?? undefined }
  const { name, format } = segments[segments.length - 1]
  const log = (format === null ? OffsetLog : openFixed)(path.join(folder, name), { ...options.active, ...own })
  try {
    await readySegment(log, options.active)
  } catch (err) {
    if (isNew || !BROKEN_CODES.has(/** @type {any} */ (err).code)) throw err
    return beginAfter(folder, options, listing, /** @type {Error} */ (err))
  }
  return settle(folder, options, listing, log)
}

/**
 * What names a log of lines is beside its segments, and anybody may remove it. The newest segment then gets the id that
 * older ones have: else they would count as those of another log.
 * @type {(folder: string, options: Options, listing: Listing) => Promise<string | undefined>} undefined if it is there
 */
async function findLostId (folder, options, { segments, beside }) {
  if (options.active.framing === 'checked') return undefined
  const newest = segments[segments.length - 1].name
  const having = new Set(beside.filter(({ suffix }) => suffix === SUMS).map(({ of }) => of))
  if (having.has(newest) || having.size === 0) return undefined
  const { id } = await findLike(folder, options, segments.filter(({ name }) => having.has(name)))
  return id?.toString('hex')
}

/**
 * The newest segment cannot be opened. It stays as it is, and another one is made after it, with seqs that no record
 * in it can have had.
 * @type {(folder: string, options: Options, listing: Listing, err: Error) => Promise<Opened>}
 */
async function beginAfter (folder, options, listing, err) {
  await finishKept(folder, options, listing)
  await cleanUp(folder, options, listing)
  const { segments, kept } = listing
  const { id } = await findLike(folder, options, segments)
  const next = nameAt(segments[segments.length - 1].base + options.segmentSize + DAMAGE_DISTANCE + SLACK, options)
  const log = await makeSegment(folder, next, options, id)
  return { segments: [...segments, next], kept, log, recovery: recoveryOf(err) }
}

/**
 * Waits until the log of a segment is open.
 * @param {any} log
 * @param {{ framing: import('./names').Framing }} options  of the segment
 * @throws {LogError} ERR_LOG_CORRUPT if the file is no segment
 */
async function readySegment (log, { framing }) {
  try {
    await log.ready()
  } catch (err) {
    // If it was aborted, what it has begun to write is completed: only then may others write the folder.
    await log.close().catch(() => {})
    throw err
  }
  const { framing: found, fileSize } = sourceOf(log)
  const isExpected = found === framing
  if (isExpected && fileSize >= (framing === 'checked' ? HEAD_SIZE : 0)) return
  await log.close()
  const what = isExpected
    ? `ends at ${fileSize}, in its head`
    : `is a log in the framing ${found}, and the segments of this one are in the framing ${framing}; convert it with \`millrace ` +
      'convert` first'
  throw new LogError('ERR_LOG_CORRUPT', `open: ${log.filename} ${what}`, { path: log.filename })
}

/**
 * Finds segments that overlap, by their names: a log leaves more room between two of them.
 * @type {(folder: string, segments: SegmentName[]) => void}
 * @throws {LogError} ERR_LOG_CORRUPT
 */
function checkBases (folder, segments) {
  let before = -Infinity
  for (const [index, { base, name }] of segments.entries()) {
    if (base - before <= SLACK) {
      const how = base === before ? 'have the same base' : 'overlap'
      throw new LogError('ERR_LOG_CORRUPT', `open: ${segments[index - 1].name} and ${name} in ${folder} ${how}, so they are ` +
        'not of one log; move one of them away', { path: folder })
    }
    before = base
  }
}

/**
 * Cleans up. If the newest segment is damaged or compressed, or has only chosen records, it takes no appends, so
 * another one is made after it. The latter two are the newest only if somebody has removed those after them.
 * @type {(folder: string, options: Options, listing: Listing, log: any) => Promise<Opened>}
 */
async function settle (folder, options, listing, log) {
  try {
    await finishKept(folder, options, listing)
    await cleanUp(folder, options, listing)
  } catch (err) {
    await log.close()
    throw err
  }
  const { recovery } = log
  const { segments, kept, others } = listing
  const { format, name } = segments[segments.length - 1]
  if (!recovery?.damage.length && format === null && !kept.has(name)) {
    if (others.includes(TIMES_FILE)) await forgetTimes(folder, options.storage, name)
    return { segments, kept, log, recovery }
  }
  const end = sourceOf(log).damagedEnd + DAMAGE_DISTANCE
  const next = nameAt(segments[segments.length - 1].base + end + SLACK, options)
  // Nothing was written to it, so nothing is lost if it fails to close.
  const made = await makeSegment(folder, next, options, sourceOf(log).id).finally(() => log.close().catch(() => {}))
  return { segments: [...segments, next], kept, log: made, recovery }
}

/** @type {(base: number, options: Options) => SegmentName} */
function nameAt (base, { active: { framing } }) {
  const createdMs = Date.now()
  const name = segmentName(base, createdMs, framing)
  return { name, file: name, format: null, framing, base, createdMs }
}

/**
 * Makes a segment with the id of the log, which all of its segments share.
 * @type {(folder: string, name: SegmentName, options: Options, id: Buffer | null) => Promise<any>} its open log
 */
async function makeSegment (folder, { name }, { active }, id) {
  const log = OffsetLog(path.join(folder, name), { ...active, id: id?.toString('hex'), errorIfExists: true })
  await log.ready()
  return log
}

/**
 * The file of the next segment, under a name that nobody takes for one: opening removes what a crash has left. Once it
 * is prepared, `openSegment` takes little time.
 * @param {Options} options
 * @param {import('./segments').Segment} before  the newest segment
 * @param {string} suffix  of this attempt: an earlier one may still be under way
 * @returns {import('@millrace/block-file').NewFile | null}  null if the storage cannot open it without waiting
 */
function createNext (options, { base, source, log }, suffix) {
  const { active } = options
  const { realPath, id } = /** @type {Source} */ (source)
  if (!log.supports.flushSync) return null
  const temporary = path.join(path.dirname(realPath), `${nameAt(base + 1, options).name}${suffix}.new`)
  return createNewFile(temporary, { ...active, id: id?.toString('hex') })
}

/**
 * Gives the next segment its name and opens it, before this returns. Its name is on stable storage before anybody sees
 * a record in it.
 * @param {string} folder
 * @param {SegmentName} name
 * @param {Options} options
 * @param {{ made: import('@millrace/block-file').NewFile, id: Buffer | null }} file  `id`: of the log
 * @returns {any}  a log of one file
 */
function openSegment (folder, { name }, { active }, { made, id }) {
  return openNew(path.join(folder, name), { ...active, id: id?.toString('hex') }, made)
}

/** Of the copy of a segment's chosen records: see keeping.js. */
const CHOSEN_SUFFIX = '.chosen.new'

/**
 * Puts copies of chosen records in their place, if a crash came just before.
 * @param {string} folder
 * @param {Options} options
 * @param {Listing} listing  becomes up to date
 */
async function finishKept (folder, options, listing) {
  const { storage } = options
  const { beside, kept, segments } = listing
  const copies = beside.filter(({ of, suffix }) => `.${suffix}` === CHOSEN_SUFFIX && kept.has(of))
  const segmentOf = (/** @type {string} */ of) => segments.find(({ name }) => name === of)
  const unfinished = copies.filter(({ of }) => segmentOf(of) !== undefined)
  for (const { name, of } of unfinished) {
    try {
      const before = path.join(folder, segmentOf(of)?.file ?? of)
      await keepOwnership(storage, before, path.join(folder, name))
      await promisesOf(storage).rename(path.join(folder, name), path.join(folder, of))
    } catch (err) {
      if (!isHeld(storage, err)) throw err
      // A reader has the segment open. All of it is there, so it needs no mark. The copy is removed with the rest.
      const marks = beside.filter((file) => file.of === of && isKeptMark(file.suffix))
      for (const mark of marks) await remove(storage, path.join(folder, mark.name))
    }
  }
  if (unfinished.length === 0) return
  await promisesOf(storage).syncFolder(folder)
  Object.assign(listing, await list(folder, options))
}

/** What a plain segment of lines has beside it. A compressed one has checksums of its own. */
const SUMS = 'sums'
/** Files that are being made, were not removed yet, or mean nothing beside the lock of the folder. */
const DISPOSABLE = /(^|\.)new$|^(gz|zst|lock)$/
const COMPRESSED = /^(gz|zst)$/
/** The same of the newest segment, which is open: what an append without waiting had begun. */
const BEGUN = 'sums.now.new'

/**
 * Removes what a crash has left beside the segments. What a segment needs, and copies of torn ends, stay.
 * @type {(folder: string, options: Options, listing: Listing) => Promise<void>}
 */
async function cleanUp (folder, options, { segments, beside: all }) {
  const newest = segments[segments.length - 1].name
  const beside = all.filter(({ of, suffix }) => (of !== newest || suffix === BEGUN) && !suffix.startsWith('cut-'))
  if (beside.length === 0) return
  const names = new Set(segments.map(({ name }) => name))
  const plain = new Set(segments.filter(({ format }) => format === null).map(({ name }) => name))
  /** @type {Set<string>} */
  const unclean = new Set()
  let hasRemoved = false
  for (const { name, of, suffix } of beside) {
    if (names.has(of) && isKeptMark(suffix)) continue
    if (suffix === SUMS && plain.has(of)) continue
    if (names.has(of) && suffix !== SUMS && !DISPOSABLE.test(suffix)) {
      unclean.add(of)
      continue
    }
    if (COMPRESSED.test(suffix) && await isPlainShort(folder, options, segments, of)) continue
    hasRemoved = await removeUnlessHeld(options.storage, path.join(folder, name)) || hasRemoved
  }
  if (hasRemoved) await promisesOf(options.storage).syncFolder(folder)
  // To open and close a segment finishes what its writer could not.
  for (const name of unclean) {
    const log = OffsetLog(path.join(folder, name), { ...options.active, mustExist: true })
    await log.ready()
    await log.close()
  }
}

/**
 * Whether the plain file of a segment lacks its end, as an older copy does: the compressed one beside it may have that.
 * @type {(folder: string, options: Options, segments: SegmentName[], of: string) => Promise<boolean>}
 */
async function isPlainShort (folder, { sealed }, segments, of) {
  const index = segments.findIndex(({ name }) => name === of)
  if (index === -1 || index === segments.length - 1) return false
  const log = OffsetLog(path.join(folder, of), { ...sealed, flags: 'r' })
  try {
    await log.ready()
    return countMissing(segments[index].base, sourceOf(log), segments[index + 1].base) > 0
  } catch {
    // What cannot be read there may be in the other one.
    return true
  } finally {
    await log.close().catch(() => {})
  }
}

exports.CHOSEN_SUFFIX = CHOSEN_SUFFIX
exports.SUMS = SUMS
exports.BROKEN_CODES = BROKEN_CODES
exports.openFolder = openFolder
exports.readySegment = readySegment
exports.standInAfter = standInAfter
exports.list = list
exports.listSegments = listSegments
exports.nameAt = nameAt
exports.makeSegment = makeSegment
exports.createNext = createNext
exports.openSegment = openSegment
