'use strict'
// What `info` says about a folder that several processes write: each slot, and who writes it.

const fs = require('node:fs')
const path = require('node:path')
const { LOCK_FILE } = require('@millrace/block-file')
const { inWordsOfCommand } = require('./failures')
const { findBroken } = require('./folder')
const { countRecords, describeRange, describeSize } = require('./report')
const { describeWriter, readWriter } = require('./writer-record')

/** @typedef {import('./source').Part} Part */

/**
 * @param {import('./source').OpenedSource} source
 * @param {boolean} isFull  whether to count the records
 */
async function describeSlots ({ identity: { path, codec }, codec: readAs, parts }, isFull) {
  const slots = await Promise.all(parts.map((part) => describeSlot(part, isFull)))
  const size = slots.reduce((sum, slot) => sum + slot.size, 0)
  const [damage, broken] = [slots.flatMap(({ damage }) => damage), slots.flatMap(({ broken }) => broken)]
  return { path, codec, readAs, size, slots, damage, broken }
}

/** @param {Part} part @param {boolean} isFull */
async function describeSlot ({ slot, log }, isFull) {
  /** @type {Array<{ path: string }>} */
  const segments = await /** @type {any} */ (log).segments()
  const first = await log.first({ values: false })
  return {
    slot,
    segments: segments.length,
    size: segments.reduce((sum, segment) => sum + sizeOf(segment.path), 0),
    first: first ?? -1,
    since: Number(log.since.value),
    writer: readWriter(path.join(path.dirname(segments[0].path), LOCK_FILE)),
    damage: log.recovery?.damage ?? [],
    broken: await findBroken(path.dirname(segments[0].path)),
    ...(isFull ? { records: await log.count() } : {})
  }
}

/** Another process may have dropped the segment. @param {string} path */
function sizeOf (path) {
  return fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/**
 * @param {Awaited<ReturnType<typeof describeSlots>>} info
 * @returns {Array<[name: string, value: string | null]>}
 */
function toSlotFields ({ path, codec, readAs, size, slots, damage, broken }) {
  return [
    ['path', path],
    ['codec', codec ?? `the log names none; its records are read as ${readAs}`],
    ['size', `${describeSize(size)} in ${slots.length} slots`],
    ...slots.map((slot) => /** @type {[string, string]} */ ([`slot ${slot.slot}`, describeOne(slot)])),
    ...damage.map((range) => /** @type {[string, string]} */ (['damage', describeRange(range)])),
    ...broken.map(({ error }) => /** @type {[string, string]} */ (['damage', inWordsOfCommand(error)]))
  ]
}

/** @param {Awaited<ReturnType<typeof describeSlot>>} slot */
function describeOne ({ segments, size, first, since, writer, records }) {
  const parts = [`${describeSize(size)} in ${segments} segment${segments === 1 ? '' : 's'}`]
  parts.push(first === -1 ? 'no records' : `seqs ${first} to ${since}`)
  if (records !== undefined) parts.push(countRecords(records))
  parts.push(writer === null ? 'no writer' : `writer: ${describeWriter(writer)}`)
  return parts.join('; ')
}

exports.describeSlots = describeSlots
exports.toSlotFields = toSlotFields
