'use strict'
// The cursor: how far a forwarder has come, in a file that a crash cannot tear. It has two slots, each with a checksum
// and a number that rises. One slot has what was last synced, and is not touched. All writes go to the other one until
// it is synced; then the slots change places. So a power cut spoils at most the slot that is not synced.
//
// A slot is a line of text, so that a person can read it: `millrace-cursor 1 <crc32 of the JSON, in hex> <JSON>`,
// filled up with spaces.

const { BlockFile, seal, unseal } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { promisesOf } = require('@millrace/flow')

// No sector of a disk reaches over two slots.
const SLOT_SIZE = 4096
const FILE_SIZE = 2 * SLOT_SIZE
const MAGIC = 'millrace-cursor 1'
const NEW_LINE = Buffer.from('\n')
/** How many points fit into a slot beside the rest. */
const POINT_COUNT_MAX = 60

/**
 * A record that was passed: the how-manieth step of the cursor it was, its seq, the checksum of its bytes, and what
 * stands for it and all before it, if the log has that.
 * @typedef {[step: number, seq: number, crc: number, proof?: number]} Point
 */

/**
 * @typedef {object} Position
 * @property {string | null} log  the id of the log; null if it has none
 * @property {number | null} [epoch]  of the log; null if it has none
 * @property {number} [moves]  how often the cursor went back in a log whose seqs may get other records
 * @property {string} id  of this cursor, random
 * @property {number} seq  of the last record that is done with; -1 if none
 * @property {number} [from]  where the log began when the cursor was made: if no record is done with, what was dropped
 *   since at or above this seq is missing. A cursor of an earlier version does not say it
 * @property {number | null} end  the last seq of the batch that is being sent; null if none is
 * @property {number} step  how often `seq` has advanced
 * @property {Point[]} points  newest first
 * @property {number} forwarded  records
 * @property {number} refused  records
 * @property {object | null} [sink]  what the sink wants to have noted with it
 */

class Cursor {
  #blocks
  #generation
  /** The slot that is not synced. */
  #slot
  #isDirty = false

  /**
   * @param {import('@millrace/block-file').BlockFileHandle} blocks  synced
   * @param {{ generation: number, slot: number }} newest
   */
  constructor (blocks, { generation, slot }) {
    this.#blocks = blocks
    this.#generation = generation
    this.#slot = 1 - slot
  }

  /** Whether the last write may not be on stable storage. */
  get isDirty () {
    return this.#isDirty
  }

  /**
   * The bytes are in the kernel when this resolves: they survive the process.
   * @param {Position} position
   */
  async write (position) {
    this.#isDirty = true
    await promisesOf(this.#blocks).write(encodeSlot(++this.#generation, position), this.#slot * SLOT_SIZE)
  }

  /** The last write is on stable storage when this resolves. Do not write meanwhile. */
  async sync () {
    if (!this.#isDirty) return
    await promisesOf(this.#blocks).sync()
    this.#isDirty = false
    this.#slot = 1 - this.#slot
  }

  async close () {
    await promisesOf(this.#blocks).close()
  }
}

/**
 * Opens the cursor and keeps other forwarders out of it.
 * @param {string} path
 * @param {import('@millrace/block-file').Storage} storage
 * @param {{ what: 'name' | 'path', value: string }} [key]  the option by which forwarders differ
 * @returns {Promise<{ cursor: Cursor, position: Position | null, isDamaged: boolean }>}  `position` is null if the file
 *   says none; `isDamaged` if it should
 * @throws ERR_LOG_LOCKED
 */
async function openCursor (path, storage, key = { what: 'path', value: path }) {
  const blocks = BlockFile(path, { storage, lock: true, createFolder: true, cache: 0, initial: createFile })
  try {
    await promisesOf(blocks).ready()
    const size = blocks.size.value
    const bytes = await promisesOf(blocks).read(0, Math.min(size, FILE_SIZE))
    // Somebody has cut the file off.
    if (size < FILE_SIZE) await promisesOf(blocks).append(Buffer.alloc(FILE_SIZE - size, ' '))
    // A process that was killed may not have synced what was just read.
    await promisesOf(blocks).sync()
    const slots = [0, 1].flatMap((slot) => decodeSlot(bytes, slot) ?? [])
    const [newest] = slots.sort((a, b) => b.generation - a.generation)
    if (newest) return { cursor: new Cursor(blocks, newest), position: newest.position, isDamaged: false }
    return { cursor: new Cursor(blocks, { generation: 0, slot: 0 }), position: null, isDamaged: true }
  } catch (err) {
    await promisesOf(blocks).close().catch(() => {})
    throw /** @type {any} */ (err).code === 'ERR_LOG_LOCKED' ? takenError(/** @type {any} */ (err), key) : err
  }
}

/**
 * Says what to do, in the place of the advice for logs. That is in the cause: it names the record of a holder that
 * cannot be seen from here.
 * @type {(err: LogError, key: { what: string, value: string }) => LogError}
 */
function takenError (err, { what, value }) {
  const { holder, path } = err
  const who = holder ? `process ${holder.pid}${holder.host === '' ? '' : ` on ${holder.host}`}, since ${holder.since}` : err.message
  const message = `open: another forwarder has the ${what} "${value}"; close it, or give this one another ${what}: ${who}`
  return new LogError('ERR_LOG_LOCKED', message, { path, cause: err, holder })
}

/** A new file: it says that there is no position yet. If it says nothing later, it is damaged. */
function createFile () {
  return Buffer.concat([encodeSlot(0, null), Buffer.alloc(SLOT_SIZE, ' ')])
}

/** @type {(generation: number, position: Position | null) => Buffer} */
function encodeSlot (generation, position) {
  let count = POINT_COUNT_MAX
  for (;;) {
    const points = position?.points.slice(0, count)
    const line = seal(MAGIC, Buffer.from(JSON.stringify({ generation, position: position && { ...position, points } })))
    if (line.length < SLOT_SIZE) return Buffer.concat([line, Buffer.alloc(SLOT_SIZE - 1 - line.length, ' '), NEW_LINE])
    if (count === 0) throw new LogError('ERR_INVALID_ARGUMENT', `the cursor takes ${line.length} bytes, more than its slot has`)
    // Beside much that the sink has noted, only the newest ones fit.
    count >>= 1
  }
}

/**
 * Null if the slot is empty, torn or damaged.
 * @type {(bytes: Buffer, slot: number) => { generation: number, slot: number, position: Position | null } | null}
 */
function decodeSlot (bytes, slot) {
  const filled = bytes.subarray(slot * SLOT_SIZE, (slot + 1) * SLOT_SIZE)
  const json = unseal(MAGIC, filled.subarray(0, filled.lastIndexOf('}') + 1))
  if (json === null) return null
  try {
    const { generation, position } = JSON.parse(json.toString())
    if (!Number.isSafeInteger(generation) || !(position === null || isPosition(position))) return null
    return { generation, slot, position }
  } catch {
    return null
  }
}

/** @type {(position: any) => position is Position} */
function isPosition ({ log, epoch, moves = 0, id, seq, from = 0, end, step, points, forwarded, refused }) {
  return (log === null || typeof log === 'string') && typeof id === 'string' && (end === null || Number.isSafeInteger(end)) &&
    [seq, from, step, forwarded, refused, moves, epoch ?? 0].every(Number.isSafeInteger) && Array.isArray(points) &&
    points.every(isPoint)
}

/** @param {unknown} point */
function isPoint (point) {
  return Array.isArray(point) && (point.length === 3 || point.length === 4) && point.every(Number.isSafeInteger)
}

exports.Cursor = Cursor
exports.openCursor = openCursor
