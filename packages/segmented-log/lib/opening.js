'use strict'
// Opens the folder: finds the segments, and opens the newest one. Its lock is the lock of the whole log: a writer holds
// the lock of the newest segment, and makes the next segment before it releases this one.

const path = require('node:path')
const { fileStorage } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { abortError, call, pause } = require('@millrace/flow')
const { OffsetLog } = require('@millrace/offset-log')
const { HINT_FILE, isKeptMark, parseNames, segmentName } = require('./names')

/** Two processes that make the first segment at the same time both give up, and try again after a random time. */
const BACKOFF_MS_MAX = 30
/** How often to look again while other processes open, close or replace the newest segment. */
const ATTEMPT_COUNT_MAX = 50
/** Behind a damaged segment, more seqs are skipped than any record can have had that was shown and is lost. */
const DAMAGE_DISTANCE = 2 ** 33

/**
 * A segment's base is this much above the end of the segment before. While the next segment is made, `flushSync` may
 * still append to the one before.
 */
const SLACK = 2 ** 26

/** Processes that make a first segment together. */
const TWIN_COUNT_MAX = 100
/** To list fewer segments takes no time worth saving. */
const HINTED_COUNT_MIN = 100
const HINT_SIZE_MAX = 100

/**
 * @typedef {ReturnType<typeof import('./options').parseOptions>} Options
 * @typedef {import('./names').SegmentName} SegmentName
 * @typedef {import('./names').Listing} Listing
 *
 * @typedef {object} Opened
 * @property {SegmentName[]} segments  the last one is open
 * @property {Map<string, number>} kept  as in the listing
 * @property {any} log  of the last one
 * @property {any} recovery  what opening found wrong; null if nothing
 */

/** @type {(folder: string, options: Options) => Promise<Opened>} */
async function openFolder (folder, options) {
  const { signal, isWriter, mustExist, errorIfExists } = options
  const hint = isWriter && !errorIfExists ? await readHint(folder, options) : null
  const listing = hint === null ? await list(folder, options) : { ...parseNames([]), segments: [hint] }
  const { segments } = listing
  if (signal?.aborted) throw abortError('open', signal)
  const isMissing = segments.length === 0
  if (isMissing && (!isWriter || mustExist)) {
    throw new LogError('ENOENT', `open: there is no segment of a log in ${folder}; nothing was made`, { path: folder })
  }
  if (!isMissing && errorIfExists) {
    throw new LogError('EEXIST', `open: ${folder} has a log, and errorIfExists was given; nothing was changed`,
      { path: folder })
  }
  if (!isWriter) return openForReading(folder, options, listing)
  const opened = await openForWriting(folder, options, segments)
  if (opened.segments[opened.segments.length - 1].name !== hint?.name) await writeHint(folder, options, opened.segments)
  return opened
}

/** @type {(folder: string, options: Pick<Options, 'storage' | 'isWriter'>) => Promise<Listing>} */
async function list (folder, { storage, isWriter }) {
  if (!storage.listFolder) {
    throw new LogError('ERR_NOT_SUPPORTED', 'SegmentedLog: the storage cannot list a folder; give it the function listFolder')
  }
  try {
    return parseNames(await call(storage, 'listFolder', folder))
  } catch (err) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (err)
    if (code === 'ENOENT' && isWriter) return parseNames([])
    if (code !== 'ENOTDIR') throw err
    throw new LogError('ENOTDIR', `open: ${folder} is a file, and a segmented log is a folder. To go on with a log of ` +
      `one file, make a folder and move the file into it, as ${segmentName(0, 0)}`, { cause: err, path: folder })
  }
}

/**
 * Lists the segments without opening the log, however damaged it is. They may be dropped or compressed meanwhile.
 * @param {string} folder
 * @param {import('@millrace/block-file').Storage} [storage]  the file system by default
 * @returns {Promise<string[]>}  the paths of their files, in order
 */
async function listSegments (folder, storage = fileStorage) {
  const { segments } = await list(folder, { storage, isWriter: false })
  return segments.map(({ name, format }) => path.join(folder, name + (format?.suffix ?? '')))
}

/** @type {(folder: string, options: Options, found: Listing) => Promise<Opened>} */
async function openForReading (folder, options, found) {
  for (let attempt = 1; ; attempt++) {
    const { segments, kept } = attempt === 1 ? found : await list(folder, options)
    const last = segments[segments.length - 1]
    if (last === undefined) throw new LogError('ENOENT', `open: there is no segment of a log in ${folder}`, { path: folder })
    const log = OffsetLog(path.join(folder, last.name), options.active)
    try {
      await log.ready()
      return { segments, kept, log, recovery: log.recovery }
    } catch (err) {
      // The writer may have dropped it.
      if (/** @type {NodeJS.ErrnoException} */ (err).code !== 'ENOENT' || attempt === ATTEMPT_COUNT_MAX) throw err
    }
  }
}

/** @type {(folder: string, options: Options, found: SegmentName[]) => Promise<Opened>} */
async function openForWriting (folder, options, found) {
  const { storage, signal, lockTimeout } = options
  const beganMs = performance.now()
  for (let attempt = 1; ; attempt++) {
    if (signal?.aborted) throw abortError('open', signal)
    const before = attempt === 1 ? found : (await list(folder, options)).segments
    const isNew = before.length === 0
    const name = isNew ? nameAt(0) : before[before.length - 1]
    const left = Math.max(0, lockTimeout - (performance.now() - beganMs))
    const watched = listOnLock(folder, options, isNew)
    const own = { lockTimeout: left, mustExist: !isNew, signal: signal ?? undefined, storage: watched.storage }
    const log = OffsetLog(path.join(folder, name.name), { ...options.active, ...own })
    const isGone = await log.ready().then(() => false, (/** @type {NodeJS.ErrnoException} */ err) => {
      // Another writer that has just made the first segment has removed the unfinished file of this one.
      const isPassing = err.code === 'ENOENT' && attempt < ATTEMPT_COUNT_MAX
      if (!isPassing) throw err
      return true
    })
    // Another writer may have made the next segment before this one got the lock, or a first segment of another name.
    const listing = await watched.list()
    const { segments } = listing
    const last = segments[segments.length - 1]
    // Segments with the same base are the last ones.
    const isTwin = (/** @type {SegmentName} */ other) => other.base === name.base && other.name !== name.name
    const twins = segments.slice(-TWIN_COUNT_MAX).filter(isTwin)
    if (!isGone && last?.base === name.base && twins.length === 0) return settle(folder, options, listing, log)
    if (!isGone) await call(log, 'close')
    if (isNew) await call(storage, 'unlink', path.join(folder, name.name)).catch(ignoreMissing)
    else for (const twin of twins) await removeEmpty(path.join(folder, twin.name), options).catch(ignoreMissing)
    if (attempt === ATTEMPT_COUNT_MAX) {
      throw new LogError('ERR_LOG_LOCKED', `open: other processes open and close ${folder} again and again; stop them, ` +
        'or wait', { path: folder })
    }
    await pause(Math.random() * BACKOFF_MS_MAX)
  }
}

/**
 * Lists the folder as soon as a lock is held, while the log is still being opened: for a large folder that takes as
 * long. A new file has no name yet when it is locked.
 * @type {(folder: string, options: Options, isNew: boolean) => { storage: any, list: () => Promise<Listing> }}
 */
function listOnLock (folder, options, isNew) {
  const { storage } = options.active
  /** @type {Promise<Listing> | null} */
  let listing = null
  const lock = storage.lock && !isNew && ((/** @type {[...any[], any]} */ ...args) => {
    const cb = args.pop()
    storage.lock(...args, (/** @type {Error | null} */ err, /** @type {any} */ held) => {
      if (!err) listing = list(folder, options)
      listing?.catch(() => {})
      cb(err, held)
    })
  })
  return { storage: lock ? { ...storage, lock } : storage, list: () => listing ?? list(folder, options) }
}

// A large folder also has the file `newest`, with the name of the newest segment. With it, a writer need not list the
// folder twice. It is only a hint: the folder is listed once the lock is held, and tells if the hint is old.

/** @type {(folder: string, options: Options) => Promise<SegmentName | null>} */
async function readHint (folder, { storage }) {
  try {
    const handle = await call(storage, 'open', path.join(folder, HINT_FILE), { flags: 'r', createFolder: false })
    const bytes = Buffer.alloc(HINT_SIZE_MAX)
    const size = await call(handle, 'read', bytes, 0, bytes.length, 0).finally(() => call(handle, 'close'))
    return parseNames([bytes.toString('latin1', 0, size)]).segments[0] ?? null
  } catch {
    return null
  }
}

/**
 * Writes the hint of a large folder.
 * @type {(folder: string, options: Options, segments: SegmentName[]) => Promise<void>}
 */
async function writeHint (folder, { storage }, segments) {
  const { length, [length - 1]: newest } = segments
  if (length < HINTED_COUNT_MIN) return
  const file = path.join(folder, HINT_FILE)
  try {
    const handle = await call(storage, 'open', file, { flags: 'r+', createFolder: false })
    // All names have the same size, so there is nothing to cut off.
    const bytes = Buffer.from(newest.name)
    await call(handle, 'write', bytes, 0, bytes.length, 0).finally(() => call(handle, 'close'))
  } catch {
    await call(storage, 'unlink', file).catch(() => {})
  }
}

/**
 * Removes what a process left that made the first segment together with another one, and was killed.
 * @type {(file: string, options: Options) => Promise<void>}
 */
async function removeEmpty (file, { active, storage }) {
  const log = OffsetLog(file, { ...active, mustExist: true })
  await log.ready()
  const isEmpty = await log.first() === undefined
  await log.close()
  if (!isEmpty) {
    throw new LogError('ERR_LOG_CORRUPT', `open: ${file} has records, and so has another file with the same base; move ` +
      'one of them away', { path: file })
  }
  await call(storage, 'unlink', file)
}

/**
 * Cleans up. If the newest segment is damaged or compressed, it takes no appends, so another one is made behind it. A
 * compressed one is the newest only if somebody has removed those behind it.
 * @type {(folder: string, options: Options, listing: Listing, log: any) => Promise<Opened>}
 */
async function settle (folder, options, listing, log) {
  const cleaning = finishKept(folder, options, listing).then(() => cleanUp(folder, options, listing))
  await cleaning.catch((err) => call(log, 'close').then(() => { throw err }))
  const { recovery } = log
  const { segments, kept } = listing
  const { format } = segments[segments.length - 1]
  if (!recovery?.damage.length && format === null) return { segments, kept, log, recovery }
  const { blocks, store } = log._file
  const wholeSize = Math.max(blocks.size.value, store.missing?.end ?? 0)
  const end = Math.max(store.nextPosition, wholeSize + store.tail.shift) + DAMAGE_DISTANCE
  const next = nameAt(segments[segments.length - 1].base + end + SLACK)
  const made = await makeSegment(folder, next, options, log)
  await call(log, 'close')
  return { segments: [...segments, next], kept, log: made, recovery }
}

/** @type {(base: number) => SegmentName} */
function nameAt (base) {
  const createdMs = Date.now()
  return { name: segmentName(base, createdMs), format: null, base, createdMs }
}

/**
 * Makes a segment with the id of the log, which all of its segments share.
 * @type {(folder: string, name: SegmentName, options: Options, before: any) => Promise<any>} its open log, locked
 */
async function makeSegment (folder, { name }, { active }, before) {
  const { id } = await before.stats()
  const log = OffsetLog(path.join(folder, name), { ...active, id, errorIfExists: true })
  await log.ready()
  return log
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
  const { beside, kept, segments } = listing
  const copies = beside.filter(({ of, suffix }) => `.${suffix}` === CHOSEN_SUFFIX && kept.has(of))
  const isThere = (/** @type {string} */ of) => segments.some(({ name }) => name === of)
  const unfinished = copies.filter(({ of }) => isThere(of))
  for (const { name, of } of unfinished) await call(options.storage, 'rename', path.join(folder, name), path.join(folder, of))
  if (unfinished.length === 0) return
  await call(options.storage, 'syncFolder', folder)
  Object.assign(listing, await list(folder, options))
}

/** Files that are being made, or were not removed yet: the segment has all that is in them. */
const DISPOSABLE = /(^|\.)new$|^(gz|zst)$/

/**
 * Removes what a crash has left beside the segments. What a segment needs, and copies of torn ends, stay.
 * @type {(folder: string, options: Options, listing: Listing) => Promise<void>}
 */
async function cleanUp (folder, options, { segments, beside: all }) {
  const newest = segments[segments.length - 1].name
  const beside = all.filter(({ of, suffix }) => of !== newest && !suffix.startsWith('cut-'))
  if (beside.length === 0) return
  const names = new Set(segments.map(({ name }) => name))
  /** @type {Set<string>} */
  const unclean = new Set()
  let hasRemoved = false
  for (const { name, of, suffix } of beside) {
    if (names.has(of) && isKeptMark(suffix)) continue
    if (names.has(of) && !DISPOSABLE.test(suffix)) {
      unclean.add(of)
      continue
    }
    await call(options.storage, 'unlink', path.join(folder, name)).catch(ignoreMissing)
    hasRemoved = true
  }
  if (hasRemoved) await call(options.storage, 'syncFolder', folder)
  // To open and close a segment finishes what its writer could not.
  for (const name of unclean) {
    const log = OffsetLog(path.join(folder, name), { ...options.active, mustExist: true })
    await log.ready()
    await log.close()
  }
}

/** @param {NodeJS.ErrnoException} err */
function ignoreMissing (err) {
  if (err.code !== 'ENOENT') throw err
}

exports.CHOSEN_SUFFIX = CHOSEN_SUFFIX
exports.SLACK = SLACK
exports.openFolder = openFolder
exports.list = list
exports.listSegments = listSegments
exports.nameAt = nameAt
exports.writeHint = writeHint
exports.makeSegment = makeSegment
exports.ignoreMissing = ignoreMissing
