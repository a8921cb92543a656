'use strict'
// What reads take for the file of a log that is not one file.

const { WaitingStreams } = require('./stream')

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {LogFile & { noteDeletion: () => void }} ComposedFile
 * @typedef {import('./load').OpenedRange} OpenedRange
 * @typedef {(err: Error | null, found?: import('./getter').Found) => void} FoundCallback
 *
 * @typedef {object} Peek  finds a record without waiting, if it can, and then has its bytes
 * @property {(seq: number) => boolean} find
 * @property {() => import('@millrace/flow').Piece} take
 * @property {Buffer} bytes
 * @property {number} start
 * @property {number} end
 *
 * @typedef {object} FileParts
 * @property {string} path  of the log, for messages
 * @property {'r' | 'r+'} flags
 * @property {Pick<LogFile, 'codec' | 'isStrict' | 'skipsDamage'>} options
 * @property {LogFile['lifecycle']} lifecycle
 * @property {LogFile['since']} since
 * @property {Peek | Pick<Peek, 'find'>} peek
 * @property {(seq: unknown, cb: FoundCallback) => void} readRecord
 * @property {() => number} findEnd  the lowest seq above all readable records
 * @property {(range: import('./range').Range, cb: OpenedRange) => void} openRange
 */

/**
 * Gives a file that the calls of `BaseLog` and the streams read. `noteDeletion` is called when a deletion begins and
 * when it ends: streams then read again what they hold.
 * @param {FileParts} parts
 * @returns {ComposedFile}
 */
function composeFile ({ path, flags, options, lifecycle, since, peek, readRecord, findEnd, openRange }) {
  const { codec, isStrict, skipsDamage } = options
  const blocks = { path, flags, rewriteCount: 0 }
  // Each file may have skipped seqs, and so has the log between its files.
  const store = { peek, readRecord, hasSkippedSeqs: true, get logEnd () { return findEnd() } }
  /** @type {unknown} */
  const file = {
    codec,
    isStrict,
    skipsDamage,
    lifecycle,
    since,
    waitingStreams: new WaitingStreams(),
    follower: null,
    failure: null,
    replacement: { readable: store, wait: (/** @type {(err: null) => void} */ run) => run(null) },
    blocks,
    store,
    get logEnd () { return findEnd() },
    /** @type {import('./load').OpenRange} */
    openRange: (_, range, cb) => openRange(range, cb),
    noteDeletion: () => { blocks.rewriteCount++ }
  }
  return /** @type {ComposedFile} */ (file)
}

exports.composeFile = composeFile
