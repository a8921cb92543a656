'use strict'
// Makes a sidecar of sums that are at hand: aside, synced, and renamed into place. So it is there whole, or not at all.

const path = require('node:path')
const { writeWhole } = require('@millrace/block-file')
const { eachInOrder } = require('../each-in-order')
const { BLOCK_SIZE, SUMS_PER_PAGE, pageCountOf, pagePosition, slotPosition } = require('./layout')
const { encodeSlot } = require('./slot')
const { encodePage } = require('./sums-page')

/**
 * @typedef {import('@millrace/block-file/lib/storage').Storage} Storage
 * @typedef {import('@millrace/block-file/lib/storage').StorageHandle} StorageHandle
 * @typedef {import('./slot').Slot} Slot
 * @typedef {import('./sums').Sums} Sums
 * @typedef {(err: Error | null) => void} Done
 */

/**
 * @param {Storage} storage
 * @param {string} logPath
 * @param {string} sidecarPath
 * @param {import('./judge').FileState} log  as it is now, synced
 * @param {Sums} sums  of all of it
 * @param {(err: Error | null, slot?: Slot) => void} cb
 */
function createSidecar (storage, logPath, sidecarPath, log, sums, cb) {
  const aside = `${sidecarPath}.new`
  const slot = firstSlot(log, sums)
  storage.open(aside, { flags: 'r+', createFolder: false }, (err, handle) => {
    if (err || !handle) return cb(err)
    fill(handle, slot, sums, (err) => handle.close((closeErr) => {
      const error = err ?? closeErr
      if (error) return storage.unlink(aside, () => cb(error))
      install(storage, aside, sidecarPath, logPath, (err) => cb(err, slot))
    }))
  })
}

/**
 * @param {import('./judge').FileState} log
 * @param {Sums} sums
 * @returns {Slot}
 */
function firstSlot ({ inode = 0n, modifiedNs = 0n }, sums) {
  const { end, tailSum } = sums
  const pending = sums.slice(pageCountOf(end) * SUMS_PER_PAGE, Math.floor(end / BLOCK_SIZE))
  return {
    sequence: 1,
    salt: Math.floor(Math.random() * 2 ** 32),
    isClean: true,
    end,
    tailSum,
    writtenMs: Date.now(),
    inode: BigInt.asUintN(64, inode),
    modifiedNs,
    sums: Uint32Array.from(pending),
    changing: []
  }
}

/**
 * @param {StorageHandle} handle
 * @param {Slot} slot
 * @param {Sums} sums
 * @param {Done} cb
 */
function fill (handle, slot, sums, cb) {
  const pages = Array.from({ length: pageCountOf(slot.end) }, (_, index) => index)
  const older = { ...slot, sequence: slot.sequence - 1 }
  eachInOrder([
    (/** @type {Done} */ done) => handle.truncate(0, done),
    (/** @type {Done} */ done) => writeWhole(handle, encodeSlot(older), slotPosition(older.sequence), done),
    (/** @type {Done} */ done) => writeWhole(handle, encodeSlot(slot), slotPosition(slot.sequence), done),
    // The second area is as long as the first.
    (/** @type {Done} */ done) => writeWhole(handle, Buffer.alloc(1), pagePosition(0, 0) - 1, done),
    (/** @type {Done} */ done) => eachInOrder(pages, (index, done) => {
      const first = index * SUMS_PER_PAGE
      const page = encodePage({ index, sequence: 0, sums: sums.slice(first, first + SUMS_PER_PAGE) }, slot.salt)
      writeWhole(handle, Buffer.concat([page, page]), pagePosition(index, 0), done)
    }, done),
    (/** @type {Done} */ done) => handle.sync(done)
  ], (step, done) => step(done), cb)
}

/**
 * @param {Storage} storage
 * @param {string} aside
 * @param {string} sidecarPath
 * @param {string} logPath
 * @param {Done} cb
 */
function install (storage, aside, sidecarPath, logPath, cb) {
  storage.rename(aside, sidecarPath, (err) => {
    if (err) return cb(err)
    // The log's name goes to stable storage with it.
    storage.syncFolder(path.dirname(logPath), (err) => cb(err))
  })
}

exports.createSidecar = createSidecar
