'use strict'
// What a sidecar says of a log that is not open here, and whether the log is as it says: for those who verify and
// repair.
//
//   readSidecar(storage, 'log', (err, sidecar) => {
//     if (sidecar) checkBlocks(storage, 'log', sidecar, ({ start, end }) => {}, (err, { comparedCount }) => {})
//   })

const { readWhole } = require('@millrace/block-file')
const { eachInOrder } = require('../each-in-order')
const { crc32 } = require('../framing/checked/crc32')
const { damaged, judge } = require('./judge')
const { BLOCK_SIZE } = require('./layout')
const { loadSidecar, readState } = require('./load-sidecar')
const { proveSums } = require('./prove-sums')
const { Sums } = require('./sums')

// A writer beside may change a block in between, and says so before; it will not do so every time.
const LOOK_COUNT_MAX = 5

/**
 * @typedef {import('@millrace/block-file/lib/storage').Storage} Storage
 * @typedef {import('@millrace/block-file/lib/storage').StorageHandle} StorageHandle
 * @typedef {import('./judge').Verdict} Verdict
 * @typedef {{ start: number, end: number }} Range  positions in the log's file
 */

/**
 * @typedef {object} SidecarReport
 * @property {boolean} isBelieved  whether what does not match it is damage. If it is not, it may still turn out that
 *   all of the log matches: then it is right all the same
 * @property {Verdict['name']} verdict  trusted, or why it is not: stale, moved, replaced or damaged
 * @property {string} why  it is not believed, for people; empty when it is
 * @property {boolean} isClean  whether the log was closed, or was open when the sidecar was written
 * @property {number} end  how many bytes of the log it covers: they were on stable storage
 * @property {number} logSize  of the log when the sidecar was read: if it is below `end`, bytes are missing
 * @property {number} blockCount  how many blocks of 64 KiB that is, the last of which may be cut off
 * @property {(index: number) => (Range & { sum: number }) | null} block  the CRC-32 of a block, up to the end of what
 *   is covered; null when it is not known, because the block was being changed
 * @property {number} sequence  rises whenever the sidecar is written
 */

/**
 * Writes nothing.
 * @param {Storage} storage
 * @param {string} path  of the log
 * @param {(err: Error | null, sidecar?: SidecarReport | null) => void} cb  null when the log has none
 */
function readSidecar (storage, path, cb) {
  withPath(storage, path, (realPath) => {
    withFile(storage, realPath, (log, done) => readState(log, done), (err, logState) => {
      if (err || !logState) return cb(err)
      withFile(storage, `${realPath}.sidecar`, (handle, done) => {
        loadSidecar(handle, (err, parsed) => {
          if (err || !parsed) return done(err, { parsed: null, state: { size: 0 } })
          readState(handle, (err, state) => err || !state ? done(err) : done(null, { parsed, state }))
        })
      }, (err, found) => {
        if (err || !found) return cb(/** @type {any} */ (err)?.code === 'ENOENT' ? null : err, null)
        const { parsed, state } = found
        const verdict = parsed ? judge(parsed.slot, logState, state) : damaged()
        cb(null, report(verdict, parsed, logState.size))
      })
    })
  })
}

/**
 * Reads all of a log, in little memory, and compares its blocks with what the sidecar says of them. Writes nothing, and
 * may be done beside a writer.
 * @param {Storage} storage
 * @param {string} path  of the log
 * @param {SidecarReport} sidecar  what `readSidecar` gave
 * @param {(range: Range) => void} onDamage  called in order for each block that is not as it should be, and for what is
 *   missing at the end of the file
 * @param {(err: Error | null, result?: { comparedCount: number, damagedCount: number }) => void} cb  how many blocks
 *   there were sums for, and how many of them are damaged
 */
function checkBlocks (storage, path, sidecar, onDamage, cb) {
  withFile(storage, path, (log, /** @type {typeof cb} */ done) => {
    log.size((err, size = 0) => {
      if (err) return done(err)
      proveSums(log, size, sumsOf(sidecar), (err, proof) => {
        if (err || !proof) return done(err)
        confirm({ storage, path, log, sidecar }, proof.differing, 0, (err, damage = []) => {
          if (err) return done(err)
          damage.forEach(onDamage)
          if (size < sidecar.end) onDamage({ start: size, end: sidecar.end })
          done(null, { comparedCount: proof.comparedCount, damagedCount: damage.length })
        })
      })
    })
  }, cb)
}

/**
 * @param {{ storage: Storage, path: string, log: StorageHandle, sidecar: SidecarReport }} check
 * @param {Range[]} ranges  of blocks that did not match
 * @param {number} looks  how often this was done before
 * @param {(err: Error | null, ranges?: Range[]) => void} cb  those that still do not
 */
function confirm (check, ranges, looks, cb) {
  const { storage, path, log, sidecar } = check
  if (ranges.length === 0) return cb(null, ranges)
  readSidecar(storage, path, (err, newer) => {
    if (err || !newer || newer.sequence === sidecar.sequence || looks === LOOK_COUNT_MAX) return cb(err, ranges)
    /** @type {Range[]} */
    const damage = []
    eachInOrder(ranges, ({ start }, done) => {
      const block = newer.block(start / BLOCK_SIZE)
      if (block === null) return done(null)
      const bytes = Buffer.allocUnsafe(block.end - start)
      readWhole(log, bytes, start, (err, count) => {
        if (!err && (count < bytes.length || crc32(bytes) !== block.sum)) damage.push({ start, end: block.end })
        done(err)
      })
    }, (err) => err ? cb(err) : confirm({ ...check, sidecar: newer }, damage, looks + 1, cb))
  })
}

/**
 * @param {Verdict} verdict
 * @param {import('./parse-sidecar').Parsed | null} parsed
 * @param {number} logSize
 * @returns {SidecarReport}
 */
function report ({ name, why }, parsed, logSize) {
  const sums = parsed?.sums ?? new Sums()
  return {
    isBelieved: name === 'trusted',
    verdict: name,
    why,
    isClean: parsed?.slot.isClean ?? false,
    end: sums.end,
    logSize,
    blockCount: sums.blockCount,
    block: (index) => {
      if (!sums.isKnown(index)) return null
      return { start: index * BLOCK_SIZE, end: sums.blockEnd(index), sum: sums.at(index) }
    },
    sequence: parsed?.slot.sequence ?? -1
  }
}

/**
 * @param {SidecarReport} sidecar
 * @returns {Sums}
 */
function sumsOf ({ end, blockCount, block }) {
  const sums = new Sums()
  sums.end = end
  for (let index = 0; index < blockCount; index++) {
    const known = block(index)
    if (known) sums.take(index, known.sum)
  }
  return sums
}

/**
 * @param {Storage} storage
 * @param {string} path
 * @param {(realPath: string) => void} run
 */
function withPath ({ realPath }, path, run) {
  // If the log is not there, opening it will say so.
  if (realPath) realPath(path, (err, found) => run(err || found === undefined ? path : found))
  else run(path)
}

/**
 * @template T
 * @param {Storage} storage
 * @param {string} path
 * @param {(handle: StorageHandle, done: (err: Error | null, result?: T) => void) => void} use
 * @param {(err: Error | null, result?: T) => void} cb  the file is closed
 */
function withFile (storage, path, use, cb) {
  storage.open(path, { flags: 'r', createFolder: false }, (err, handle) => {
    if (err || !handle) return cb(err)
    use(handle, (err, result) => handle.close((closeErr) => cb(err ?? closeErr ?? null, result)))
  })
}

exports.readSidecar = readSidecar
exports.checkBlocks = checkBlocks
