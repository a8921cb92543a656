'use strict'
// A log, as its index sees it: what it reads of the log, without the index, to be built and to answer.

const { toPromise } = require('@millrace/flow')

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./load').OpenRange} OpenRange
 * @typedef {import('./range').Range} Range
 */

/**
 * @typedef {(range: { from: number, to: number, reverse?: boolean }, onRecords: (run: any) => unknown,
 *   onDamage?: (range: { from: number, to: number }) => void) => Promise<void>} ScanRaw
 *
 * @typedef {object} HostParts  what differs between logs
 * @property {string} path  of the log: its file, or its folder
 * @property {string} folder  where the index may keep its files
 * @property {import('@millrace/block-file').Storage} storage
 * @property {() => string} findFile  the log's file, whose owner and mode those of the index get; of several the newest
 * @property {boolean} isReadOnly
 * @property {(seq: number) => Promise<number | null>} [findErasedCount]  of a log of several files: how many records
 *   were deleted from the one that has this seq; null if unknown
 * @property {(range: { from: number, to: number }) => Promise<number[]>} [findErased]  of a log of several files: see
 *   below. The range is in one of them
 * @property {(seq: number) => Promise<boolean>} [isErased]  of a log of several files: see below
 * @property {() => number} [findStart]  the lowest seq; 0 by default
 * @property {() => { id: Buffer | null, epoch: number }} [identity]  of a log that is not one file
 * @property {(seq: number) => Promise<number | null>} [prove]  of a log that is not one file: what stands for a record
 *   and all before it in its file
 * @property {() => Error | null} [findDoubt]  of a log of several files that is only read: why one cannot be followed
 * @property {(seq: number) => number} [nextBorder]  of a log of several files: the first seq of the file after the one
 *   that has this seq; Infinity if there is none
 */

/**
 * @type {(file: LogFile, parts: HostParts & { isDeleting: () => boolean },
 *   openRange: OpenRange) => { scanRaw: ScanRaw } & Record<string, any>}
 */
function createHost (file, parts, openRange) {
  const { path, folder, storage, findFile, isReadOnly, isDeleting } = parts
  const { findStart = () => 0, findErasedCount, nextBorder = () => Infinity } = parts
  const prove = async (/** @type {number} */ seq) => {
    return (await require('./read/prove-record').proveRecord(file, seq))?.crc ?? null
  }
  const { identity = () => identify(file), prove: findProof = prove } = parts
  // Reads of the index do not go through the index.
  const plain = Object.create(file, { openRange: { value: openRange } })
  return {
    path,
    folder,
    storage,
    findFile,
    isReadOnly,
    codec: {
      name: file.codec.name,
      compile: file.codec.codec.compile,
      decode: (/** @type {Buffer} */ bytes) => file.codec.decode(bytes, 0, bytes.length, -1)
    },
    // Without an id or a proof, the files of an index are not used again when the log is opened again.
    identity: () => isKnownByName(file.codec) ? identity() : { ...identity(), id: null },
    // Several files tell of none that another process makes. One file knows it if there were some.
    get tellsDeletions () { return !isDeleting() && (findErasedCount ? !isReadOnly : countErased(file) !== null) },
    erasedCountAt: async (/** @type {number} */ seq) => {
      if (isDeleting()) return null
      return findErasedCount ? await findErasedCount(seq) : countErased(file)
    },
    get start () { return findStart() },
    get end () { return file.logEnd },
    get since () { return file.since.value },
    nextBorder,
    findErased: parts.findErased ?? ((/** @type {any} */ range) => findErased(file, range)),
    isErased: parts.isErased ?? ((/** @type {number} */ seq) => isErased(file, seq)),
    lastOf: async (/** @type {number} */ seq) => await findProof(seq) !== null,
    proof: findProof,
    scanRaw: (range, onRecords, onDamage) => scanRaw(plain, openRange, range, { onRecords, onDamage })
  }
}

/**
 * Whether the codec of the next open, if it has the same name, decodes the same. It need not if there is no name, or if
 * it is that of another codec: one without a `compile` is none of this suite.
 * @param {import('./codec').RecordCodec} codec
 */
function isKnownByName ({ name, codec: { compile } }) {
  return name !== '' && (Boolean(compile) || !['json', 'binary'].includes(name))
}

/**
 * What is damaged is told as ranges. One has what cannot be read, and perhaps a run of records before or after it.
 * @type {(file: LogFile, openRange: OpenRange, range: Parameters<ScanRaw>[0],
 *   listeners: { onRecords: Parameters<ScanRaw>[1], onDamage: Parameters<ScanRaw>[2] }) => Promise<void>}
 */
async function scanRaw (file, openRange, { from, to, reverse = false }, { onRecords, onDamage }) {
  const skipsDamage = onDamage !== undefined && canSkip(file)
  const limit = reverse ? from : to
  let reached = reverse ? to : from
  const tellDamage = (/** @type {number} */ next) => {
    if (reached !== next) onDamage?.({ from: Math.min(reached, next), to: Math.max(reached, next) })
  }
  try {
    const reader = await toPromise((cb) => openRange(file, { ...wholeRange(from, to), reverse, skipsDamage }, cb))
    for (let hasEnded = false; !hasEnded;) {
      const { count } = reader.lost
      const run = await toPromise((cb) => reader.next(file.logEnd, cb))
      hasEnded = run.count === 0
      const next = hasEnded ? limit : run.seqs[run.count - 1] + (reverse ? 0 : 1)
      if (reader.lost.count > count) tellDamage(next)
      else if (!hasEnded) {
        const answer = onRecords(run)
        // Most give none to wait for.
        if ((typeof answer === 'object' ? await answer : answer) === false) return
      }
      reached = next
    }
  } catch (/** @type {any} */ err) {
    const end = findLossEnd(err, reached, limit)
    if (end === null || onDamage === undefined) throw err
    tellDamage(end)
  }
}

/**
 * Up to where nothing can be read. Null for another failure.
 * @type {(err: any, reached: number, limit: number) => number | null}
 */
function findLossEnd ({ code, offset }, reached, limit) {
  if (code === 'ERR_LOG_CORRUPT') return limit
  // A record that is too large for this log: reads of it fail, with an index, too. None is found in a reversed range.
  return code === 'ERR_RECORD_TOO_LARGE' && offset >= reached && offset < limit ? offset + 1 : null
}

/** Whether reads can go on after damage. @param {any} file  one of several files may say nothing of it */
function canSkip ({ store }) {
  return store?.supports?.onCorrupt === true
}

/**
 * How many records, and pieces of records, were deleted; null if unknown.
 * @param {Pick<LogFile, 'store'>} file
 * @returns {number | null}
 */
function countErased ({ store }) {
  if (store.isChecked) return store.erasedCount
  return store.supports.del ? null : 0
}

/**
 * The deleted records of a range that are still in the file.
 * @param {Pick<LogFile, 'store'>} file
 * @param {{ from: number, to: number }} range
 * @returns {Promise<number[]>}  seqs, ascending
 */
async function findErased ({ store }, range) {
  return store.isChecked && store.erasedCount !== 0 ? await require('./read/find-erased').findErased(store, range) : []
}

/**
 * Whether no record can be read at a seq, for certain. It is asked about those that were deleted once.
 * @type {(file: Pick<LogFile, 'store'>, seq: number) => Promise<boolean>}
 */
async function isErased ({ store }, seq) {
  return store.isChecked && await require('./read/find-erased').isErased(store, seq)
}

/** @param {LogFile} file */
function identify (file) {
  const { store } = file
  return { id: store.id, epoch: store.isChecked ? 0 : store.epoch ?? 0 }
}

/** @type {(from: number, stop: number) => Range} */
function wholeRange (from, stop) {
  const rest = { reverse: false, live: false, old: true, limit: Infinity, where: null, signal: null }
  return { from, stop, skipsDamage: false, skipsRetained: true, ...rest }
}

exports.createHost = createHost
exports.countErased = countErased
exports.findErased = findErased
exports.isErased = isErased
