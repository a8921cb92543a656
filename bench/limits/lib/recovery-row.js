'use strict'
// The rows of recovery: a log whose process was killed is opened again, beside the least that this can cost: to read
// the bytes that no sync had covered, and to work out their checksums. Nothing is torn, so nothing is cut and kept.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { OffsetLog } = require('@millrace/offset-log')
const { crc32 } = require('@millrace/offset-log/lib/framing/checked/crc32')
const { PAGE_SIZE } = require('@millrace/offset-log/lib/framing/checked/layout')
const { BLOCK_SIZE } = require('./scan-log')

const CRASH = path.join(__dirname, 'crash.js')
const MIB = 1024 * 1024
const DURABLE_SIZE = 16 * MIB
const TAIL_SIZE = 64 * MIB

/**
 * @param {Pick<import('./shapes').Row, 'name' | 'order' | 'what' | 'env' | 'needs'>} row
 * @returns {import('./shapes').Row}
 */
function createRecoveryRow (row) {
  return {
    ...row,
    unit: 'ms',
    goal: 2,
    samples: 4,
    prepare ({ folder }) {
      const file = path.join(folder, 'crashed.log')
      const order = { file, durableSize: DURABLE_SIZE, tailSize: TAIL_SIZE }
      const { signal, stderr } = spawnSync(process.execPath, [CRASH, JSON.stringify(order)], { encoding: 'utf8' })
      if (signal !== 'SIGKILL') throw new Error(`crash.js ended by itself: ${stderr}`)
      return { folder, file }
    },
    ours: { open: ({ folder, file }) => openRecovery(folder, file) },
    peer: { open: ({ file }) => openReadAndChecksum(file) }
  }
}

/**
 * @param {string} folder
 * @param {string} crashed
 * @returns {import('./shapes').Runner}
 */
function openRecovery (folder, crashed) {
  const own = fs.mkdtempSync(path.join(folder, 'recover-'))
  const file = path.join(own, 'copy.log')
  let since = -1
  return {
    async sample () {
      copyDurably(crashed, file)
      const started = performance.now()
      const log = OffsetLog(file)
      await log.ready()
      const ms = performance.now() - started
      since = log.since.value ?? -1
      await log.close()
      if (since < DURABLE_SIZE + TAIL_SIZE) throw new Error(`recovery kept no more than ${since} bytes`)
      return ms
    },
    finish () {
      fs.rmSync(own, { recursive: true })
      return { since }
    }
  }
}

/**
 * On stable storage before the clock starts: what the kernel has yet to write would be written within it.
 * @param {string} from
 * @param {string} to
 */
function copyDurably (from, to) {
  fs.copyFileSync(from, to)
  const fd = fs.openSync(to, 'r+')
  fs.fsyncSync(fd)
  fs.closeSync(fd)
}

/**
 * @param {string} file
 * @returns {import('./shapes').Runner}
 */
function openReadAndChecksum (file) {
  const fd = fs.openSync(file, 'r')
  const buf = Buffer.alloc(BLOCK_SIZE)
  const end = fs.fstatSync(fd).size
  return {
    sample () {
      const started = performance.now()
      for (let position = end - TAIL_SIZE; position < end; position += BLOCK_SIZE) {
        fs.readSync(fd, buf, 0, BLOCK_SIZE, position)
        for (let start = 0; start < BLOCK_SIZE; start += PAGE_SIZE) crc32(buf.subarray(start, start + PAGE_SIZE))
      }
      return performance.now() - started
    },
    finish () {
      fs.closeSync(fd)
      return {}
    }
  }
}

exports.createRecoveryRow = createRecoveryRow
