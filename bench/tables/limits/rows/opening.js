'use strict'
// Rows about opening a log. After a clean close, the time must not depend on the log's size. After a crash, it must
// depend only on how much was unsynced.

const fs = require('node:fs')
const path = require('node:path')
const { OffsetLog } = require('@millrace/offset-log')
const { time } = require('../../../lib/measure')
const { BLOCK_SIZE } = require('../../../lib/readers')
const { runTask } = require('../../../lib/run')
const { syncFile } = require('../../../lib/work-file')
const { packFarCommit, sumPages } = require('../least')
const { RECORD_SIZE, createRecords, readSpans, writeCommits } = require('../runners')
const { needs, toRow } = require('../shared')

const SMALL_SIZE = 10 * 1000 ** 2
const LARGE_SIZE = 10 * 1000 ** 3
const BATCH_SIZE = 1000
const RECORDS_PER_COMMIT = 87
const MIB = 1024 * 1024
const DURABLE_SIZE = 16 * MIB
const TAIL_SIZE = 64 * MIB

const least = { what: 'sync the bytes, read them, and work out their checksums', open: openSyncReadAndSum }
const recoverySides = { millrace: openRecovery, 'read-and-sum': openReadAndSum }

exports.parts = [
  toRow('open-size', 'open after a clean close, 10 GB : 10 MB', { within: 1.5, samples: 100 }, prepareSizes,
    { millrace: ({ large }) => openAgain(large, LARGE_SIZE), 'log-10MB': ({ small }) => openAgain(small, SMALL_SIZE) }),
  // Recovery must read the unsynced bytes and compute their checksums. Nothing is torn, so nothing is cut or kept. It
  // also syncs before it shows a record: that is in the least work. One row is for a plain Node.js, one for the faster
  // checksum.
  toRow('recover-zlib', 'recover 64 MiB, zlib : read, checksum',
    { within: 2, samples: 4, least, env: { MILLRACE_CRC32: 'zlib' } }, prepareCrash, recoverySides),
  toRow('recover-node-rs', 'recover 64 MiB, node-rs : read, checksum',
    { within: 2, samples: 4, least, needs: needs.nodeRsCrc32 }, prepareCrash, recoverySides)
]

/**
 * The part of the large log that opening does not read is a hole in the file.
 * @param {import('../../../engine/row').Context} context
 */
async function prepareSizes ({ folder }) {
  const [small, large] = ['small.log', 'large.log'].map((name) => path.join(folder, name))
  const commitCount = Math.ceil(SMALL_SIZE / (RECORD_SIZE * BATCH_SIZE))
  await writeCommits(small, { commitCount, recordsPerCommit: BATCH_SIZE })
  writeLargeLog(large, LARGE_SIZE, small)
  return { small, large }
}

/** @param {import('../../../engine/row').Context} context */
async function prepareCrash ({ folder }) {
  const file = path.join(folder, 'crashed.log')
  await leaveCrashed(file)
  return { file }
}

/** @param {string} file  made anew, with the lock of a killed process */
async function leaveCrashed (file) {
  fs.rmSync(file, { force: true })
  const end = await runTask({ module: __filename, task: 'crash', file }, {}).catch((err) => err)
  if (end.reason !== 'was ended by SIGKILL') throw new Error(`the process that was to crash ended by itself: ${end.message}`)
}

/**
 * In a process of its own. Leaves a log as a killed process does: durable up to a point, followed by whole commits that
 * were never synced.
 * @param {{ file: string }} order
 */
async function crash ({ file }) {
  const log = OffsetLog(file, { framing: 'checked', fsync: 'never' })
  const records = createRecords(RECORDS_PER_COMMIT)
  const fill = async (/** @type {number} */ size) => {
    for (let written = 0; written < size; written += records.length * RECORD_SIZE) await log.append(records)
  }
  await fill(DURABLE_SIZE)
  await log.sync()
  await fill(TAIL_SIZE)
  process.kill(process.pid, 'SIGKILL')
}

/**
 * Writes the head and the last commit of a large log, and a hole between them.
 * @param {string} file
 * @param {number} size  in bytes, at least
 * @param {string} small  a log that was closed cleanly
 */
function writeLargeLog (file, size, small) {
  const { head, end, bytes } = packFarCommit(small, size, createRecords(3))
  const fd = fs.openSync(file, 'w', 0o600)
  fs.writeSync(fd, head, 0, head.length, 0)
  fs.writeSync(fd, bytes, 0, bytes.length, end)
  fs.closeSync(fd)
  syncFile(file)
}

/**
 * @param {string} path
 * @param {number} sizeMin  the log must be at least this large
 * @param {object} [options]  of the log
 * @returns {import('../runners').Runner}
 */
function openAgain (path, sizeMin, options = {}) {
  return {
    async sample () {
      const started = performance.now()
      const log = OffsetLog(path, options)
      await log.ready()
      const ms = performance.now() - started
      const { recovery } = log
      await log.close()
      if (recovery === null && fs.statSync(path).size >= sizeMin) return ms
      throw new Error(`${path}: not a clean log of ${sizeMin} bytes`)
    }
  }
}

/**
 * Recovers the original file: a copy would lack the lock, which says how the session ended.
 * @param {{ folder: string }} setting
 * @returns {import('../runners').Runner}
 */
function openRecovery ({ folder }) {
  const file = path.join(folder, 'killed.log')
  let since = -1
  return {
    async sample () {
      await leaveCrashed(file)
      /** @type {any} */
      let log
      const ms = await time(() => {
        log = OffsetLog(file)
        return log.ready()
      })
      since = log.since.value ?? -1
      await log.close()
      if (since < DURABLE_SIZE + TAIL_SIZE) throw new Error(`recovery kept no more than ${since} bytes`)
      return ms
    },
    finish: () => ({ since })
  }
}

/** Reads what was not synced, and sums it up. @type {(log: { file: string }) => import('../runners').Runner} */
function openReadAndSum ({ file }) {
  const fd = fs.openSync(file, 'r')
  const buf = Buffer.alloc(BLOCK_SIZE)
  const start = fs.fstatSync(fd).size - TAIL_SIZE
  return { sample: () => time(() => readSpans(fd, buf, (size) => sumPages(buf, size), start)) }
}

/** @type {(setting: { folder: string }) => import('../runners').Runner} */
function openSyncReadAndSum ({ folder }) {
  const fd = fs.openSync(path.join(folder, 'bytes'), 'w+')
  const buf = Buffer.alloc(BLOCK_SIZE)
  return {
    sample () {
      fs.ftruncateSync(fd, 0)
      for (let at = 0; at < TAIL_SIZE; at += buf.length) fs.writeSync(fd, buf, 0, buf.length, at)
      return time(() => {
        fs.fdatasyncSync(fd)
        readSpans(fd, buf, (size) => sumPages(buf, size), 0)
      })
    }
  }
}

exports.crash = crash
exports.openAgain = openAgain
exports.writeLargeLog = writeLargeLog
