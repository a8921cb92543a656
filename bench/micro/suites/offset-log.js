'use strict'
// From values to frames and back, in memory: what an append and a scan do beside reaching for the file.

const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { AppendGroup } = require('@millrace/offset-log/lib/append-group')
const { Chunk } = require('@millrace/offset-log/lib/chunk')
const { RecordCodec } = require('@millrace/offset-log/lib/codec')
const { checkPage } = require('@millrace/offset-log/lib/framing/checked/check-page')
const { HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE } = require('@millrace/offset-log/lib/framing/checked/layout')
const { packCommit, packedSizeMax } = require('@millrace/offset-log/lib/framing/checked/pack-commit')
const { offsetFramings } = require('@millrace/offset-log/lib/framing/offset/offset-framing')

/** @typedef {import('@millrace/offset-log/lib/framing/offset/offset-framing').Walk} Walk */

const SALT = 7
const TAIL = { end: HEAD_SIZE, shift: 0, identity: 1 }
const WRITER = { salt: SALT, epoch: 1, durable: HEAD_SIZE }
// All that a log which was never compacted asks of a chunk.
const RULES = /** @type {any} */ ({ verify: true, salt: SALT, shift: 0, hasGaps: false, hasJumps: false })
const UNFINISHED = new Map()

/** @type {import('../shapes').Suite} */
module.exports = {
  name: 'offset-log',
  order: 10,
  createTasks ({ messages }) {
    const records = messages.map((message) => binaryCodec.encode(message))
    const bytes = records.reduce((total, { length }) => total + length, 0)
    const count = records.length
    return [
      ...[binaryCodec, jsonCodec].map((codec) => createEncodeTask(messages, codec)),
      { name: 'pack a commit, checked', count, bytes, run: createPacking(records) },
      createVerifyTask(records),
      ...createFrameTasks(records)
    ]
  }
}

/**
 * @param {Buffer[]} records
 * @returns {() => Buffer}  packs them as one commit, into the same bytes each time
 */
function createPacking (records) {
  const group = new AppendGroup()
  const size = records.reduce((total, { length }) => total + LENGTH_SIZE + length, 0)
  group.addBatch(records, size, () => {})
  const target = Buffer.alloc(packedSizeMax(size))
  return () => packCommit(group, TAIL, WRITER, target).bytes
}

/**
 * @param {any[]} messages
 * @param {import('@millrace/offset-log').Codec} codec
 * @returns {import('../shapes').Task}
 */
function createEncodeTask (messages, codec) {
  const recordCodec = new RecordCodec(codec)
  return {
    name: `encode for an append, ${codec.name}`,
    count: messages.length,
    run: () => messages.reduce((total, message) => total + recordCodec.encode(message).length, 0)
  }
}

/**
 * @param {Buffer[]} records
 * @returns {import('../shapes').Task}
 */
function createVerifyTask (records) {
  const bytes = createPacking(records)()
  const pages = Array.from({ length: Math.floor(bytes.length / PAGE_SIZE) }, (_, index) => {
    const offset = index * PAGE_SIZE
    return { bytes, offset, start: HEAD_SIZE + offset, end: HEAD_SIZE + offset + PAGE_SIZE }
  })
  return {
    name: 'verify a page, checked',
    count: pages.length,
    bytes: pages.length * PAGE_SIZE,
    run () {
      for (const page of pages) {
        const damage = checkPage(page, RULES, UNFINISHED)
        if (damage !== null) throw new Error(`the page at ${page.start} is damaged: ${damage.what}`)
      }
    }
  }
}

/**
 * @param {Buffer[]} records
 * @returns {import('../shapes').Task[]}
 */
function createFrameTasks (records) {
  const framing = offsetFramings.offset32
  const size = records.reduce((total, { length }) => total + length + framing.overhead, 0)
  const buffer = Buffer.alloc(size)
  const writeAll = () => {
    let position = 0
    for (const record of records) position += framing.writeFrame(record, position, buffer, position)
    return position
  }
  writeAll()
  const window = { buffer, start: 0, end: size }
  const view = new DataView(buffer.buffer, buffer.byteOffset, size)
  const chunk = new Chunk()
  const common = { count: records.length, bytes: size }
  const walkAll = (/** @type {(walk: Walk) => void} */ step, /** @type {number} */ from) => {
    const walk = { position: from, need: 0, error: null, maxRecordSize: size }
    let found = 0
    while (walk.position !== size - from) {
      chunk.clear()
      step(walk)
      found += chunk.count
    }
    if (found !== records.length) throw new Error(`${found} of ${records.length} records were found`)
  }
  return [
    { name: 'write frames, offset32', ...common, run: writeAll },
    {
      name: 'walk frames, offset32',
      ...common,
      run: () => walkAll((walk) => framing.walkForward(window, view, walk, size, size, chunk), 0)
    },
    {
      name: 'walk frames backwards, offset32',
      ...common,
      run: () => walkAll((walk) => framing.walkBackward(window, view, walk, 0, chunk), size)
    }
  ]
}
