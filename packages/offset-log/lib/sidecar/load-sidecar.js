'use strict'
// Reads the file of a sidecar: the head first, since it says how much there is to read.

const { readWhole, readWholeSync } = require('@millrace/block-file')
const { PAGES_POSITION, SLOT_AREA_SIZE, pageCountOf, pagePosition } = require('./layout')
const { parseSidecar } = require('./parse-sidecar')
const { decodeSlot } = require('./slot')

/**
 * @typedef {import('@millrace/block-file/lib/storage').StorageHandle} StorageHandle
 * @typedef {import('./judge').FileState} FileState
 * @typedef {import('./parse-sidecar').Parsed} Parsed
 */

/**
 * @param {StorageHandle} handle
 * @param {(err: Error | null, parsed?: Parsed | null) => void} cb  null when no slot of it is whole
 */
function loadSidecar (handle, cb) {
  readState(handle, (err, state) => {
    if (err || !state) return cb(err)
    const head = Buffer.alloc(PAGES_POSITION)
    readWhole(handle, head, 0, (err) => {
      if (err) return cb(err)
      const bytes = Buffer.alloc(Math.min(state.size, sizeOf(head)))
      readWhole(handle, bytes, 0, (err, count) => err ? cb(err) : cb(null, parseSidecar(bytes.subarray(0, count))))
    })
  })
}

/**
 * The same, blocking: for whoever found a mismatch that a writer beside may explain.
 * @param {StorageHandle} handle
 * @returns {Parsed | null}
 */
function loadSidecarSync (handle) {
  const head = Buffer.alloc(PAGES_POSITION)
  readWholeSync(handle, head, 0)
  const bytes = Buffer.alloc(sizeOf(head))
  return parseSidecar(bytes.subarray(0, readWholeSync(handle, bytes, 0)))
}

/**
 * @param {StorageHandle} handle
 * @param {(err: Error | null, state?: FileState) => void} cb
 */
function readState (handle, cb) {
  if (handle.stat) handle.stat(cb)
  else handle.size((err, size = 0) => err ? cb(err) : cb(null, { size }))
}

/**
 * @param {Buffer} head
 * @returns {number}  bytes
 */
function sizeOf (head) {
  const ends = [0, SLOT_AREA_SIZE].map((position) => {
    return decodeSlot(head.subarray(position, position + SLOT_AREA_SIZE))?.end ?? 0
  })
  return pagePosition(pageCountOf(Math.max(...ends)), 0)
}

exports.loadSidecar = loadSidecar
exports.loadSidecarSync = loadSidecarSync
exports.readState = readState
