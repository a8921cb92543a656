'use strict'
// Changes the bytes of run files: without knowing what they mean; or knowing it, and with checksums that fit again.

const { mutateBytes } = require('../mutate-bytes')
const { hostileNumber } = require('../numbers')
const { pickWeighted } = require('../../torture/seeded')
const { GROUP_SIZE, PAGE_SIZE, WORD_SIZE, headSizeOf } = require('../../../packages/index/lib/run-format')
const { endOfTable } = require('../../../packages/index/lib/seqs')
const { putTogether, takeApart } = require('../../../packages/index/test/run-bytes')

/**
 * @typedef {(limit: number) => number} Random
 * @typedef {import('./make-base').RunFile} RunFile
 * @typedef {{ data: Buffer, footer: any }} Opened
 */

const EDITS_MAX = 20
const HEAD_SIZE = 24

/** By how often each is done. @type {Array<[number, (random: Random, bytes: Buffer, others: RunFile[]) => Buffer]>} */
const DAMAGES = [
  [10, flipBits],
  [5, (random, bytes) => mutateBytes(random, bytes)],
  [3, (random, bytes) => bytes.subarray(0, random(bytes.length))],
  [3, zero],
  [3, spliceOther],
  [1, (random, bytes, others) => others[random(others.length)].bytes],
  [1, (random, bytes) => Buffer.concat([bytes, bytes.subarray(random(bytes.length))])],
  // A page that was written in the place of another one.
  [1, (random, bytes) => {
    const [from, to] = [random(bytes.length), random(bytes.length)].map((at) => at - at % PAGE_SIZE)
    Buffer.from(bytes).copy(bytes, to, from, from + PAGE_SIZE)
    return bytes
  }]
]

/**
 * @param {Random} random
 * @param {Buffer} bytes  of a run
 * @param {RunFile[]} others
 * @returns {Buffer}
 */
function damageRun (random, bytes, others) {
  return pickWeighted(random, DAMAGES)(random, Buffer.from(bytes), others)
}

/** @type {(random: Random, bytes: Buffer) => Buffer} */
function flipBits (random, bytes) {
  // The end, where the footer is, is a small part of the file; and most pages are zeros for the most part.
  const inEnd = () => bytes.length - 1 - random(Math.min(1500, bytes.length))
  const inHead = () => random(Math.min(1500, bytes.length))
  for (let left = 1 + random(random(2) === 0 ? 3 : EDITS_MAX); left > 0; left--) {
    const at = [inEnd, inHead, () => random(bytes.length)][random(3)]()
    bytes[at] ^= random(4) === 0 ? 1 + random(255) : 1 << random(8)
  }
  return bytes
}

/** @type {(random: Random, bytes: Buffer) => Buffer} */
function zero (random, bytes) {
  const at = random(bytes.length)
  const isPage = random(2) === 0
  const start = isPage ? at - at % PAGE_SIZE : at
  return bytes.fill(0, start, Math.min(bytes.length, start + (isPage ? PAGE_SIZE : 1 + random(600))))
}

/**
 * Bytes of another file at the same place, as of an older copy, or anywhere.
 * @type {(random: Random, bytes: Buffer, others: RunFile[]) => Buffer}
 */
function spliceOther (random, bytes, others) {
  const { bytes: other } = others[random(others.length)]
  if (random(3) === 0) {
    // From the end, where the footers are.
    const size = random(Math.min(other.length, bytes.length, 3 * PAGE_SIZE))
    return Buffer.concat([bytes.subarray(0, bytes.length - size), other.subarray(other.length - size)])
  }
  const at = random(Math.min(bytes.length, other.length))
  const size = 1 + random(2 * PAGE_SIZE)
  other.copy(bytes, at, random(2) === 0 ? at : random(other.length), at + size)
  return bytes
}

/** By how often each is done. @type {Array<[number, (random: Random, run: Opened, others: RunFile[]) => void]>} */
const FORGERIES = [
  [6, forgeFooter],
  [6, forgeWord],
  [6, forgeEntry],
  [6, forgeList],
  [4, forgeSeqs],
  [3, (random, run) => { run.data = mutateBytes(random, run.data) }],
  [1, (random, run, others) => { run.footer = takeApart(others[random(others.length)].bytes).footer }]
]

/**
 * Changes a run, and computes its checksums again.
 * @param {Random} random
 * @param {Buffer} bytes  of a run
 * @param {RunFile[]} others
 * @returns {Buffer}
 */
function forgeRun (random, bytes, others) {
  const run = takeApart(bytes)
  for (let left = 1 + random(3); left > 0; left--) pickWeighted(random, FORGERIES)(random, run, others)
  return putTogether(run, random(8) > 0)
}

const STRANGE = () => [null, true, '', 'x', [], {}, -1, 0.5, 1e300, 2 ** 53, '00', [[]], { start: 0 }]

/** Made anew: it may be changed. @param {Random} random */
function pickStrange (random) {
  const values = STRANGE()
  return values[random(values.length)]
}

/** One value anywhere in the footer. @type {(random: Random, run: Opened) => void} */
function forgeFooter (random, run) {
  if (random(40) === 0) {
    run.footer = pickStrange(random)
    return
  }
  let parent = run.footer
  if (parent === null || typeof parent !== 'object') return
  for (;;) {
    const keys = Object.keys(parent)
    if (keys.length === 0) return
    const key = keys[random(keys.length)]
    const value = parent[key]
    if (value !== null && typeof value === 'object' && random(8) > 0) {
      parent = value
      continue
    }
    if (random(12) === 0) delete parent[key]
    else if (typeof value === 'number' && random(4) > 0) parent[key] = forgeNumber(random, run, value)
    else if (random(8) === 0 && Array.isArray(value)) value.push(...value)
    else parent[key] = pickStrange(random)
    return
  }
}

/** @type {(random: Random, run: Opened, value: number) => number} */
function forgeNumber (random, { data, footer }, value) {
  const near = value + random(9) - 4
  const made = hostileNumber(random, [value, data.length, Number(footer?.records) || 0])
  return [near, near, made, -made, value * 2, value / 2, data.length][random(7)]
}

/** Any four bytes. @type {(random: Random, run: Opened) => void} */
function forgeWord (random, run) {
  changeWord(random, run, random(1 + run.data.length / WORD_SIZE >>> 0) * WORD_SIZE)
}

/** @type {(random: Random, run: Opened, at: number) => void} */
function changeWord (random, run, at) {
  const word = readWord(run, at)
  if (word !== undefined) run.data.writeUInt32LE(chooseWord(random, run, word), at)
}

/** @type {(run: Opened, at: number) => number | undefined} */
function readWord ({ data }, at) {
  return at >= 0 && at + WORD_SIZE <= data.length ? data.readUInt32LE(at) : undefined
}

/** @type {(random: Random, run: Opened, value: number) => number} */
function chooseWord (random, { data, footer }, value) {
  const records = Number(footer?.records) || 0
  const ends = [records, records - 1, data.length, 0, 0xffffffff, 0x80000000]
  const choices = [...ends, value ^ 1 << random(32), value + 1, value - 1, 2 * random(data.length) + 1, random(2 ** 32)]
  return choices[random(choices.length)] >>> 0
}

/** @type {(random: Random, run: Opened) => any} a section of keys that has some */
function chooseKeys (random, { data, footer }) {
  const sections = Array.isArray(footer?.keys) ? footer.keys : []
  const known = sections.filter((/** @type {any} */ section) => {
    const numbers = [section?.start, section?.fences, section?.count]
    const isWhole = numbers.every((number) => Number.isSafeInteger(number) && number >= 0)
    return isWhole && section.count > 0 && section.fences < data.length
  })
  return known[random(Math.max(1, known.length))]
}

/** A word of the table of seqs. @type {(random: Random, run: Opened) => void} */
function forgeSeqs (random, run) {
  const { seqTable, records } = run.footer ?? {}
  if (!Number.isSafeInteger(seqTable) || !(records >= 0)) return
  const words = (endOfTable(seqTable, records) - seqTable) / WORD_SIZE
  changeWord(random, run, seqTable + random(Math.min(words, 2 ** 20)) * WORD_SIZE)
}

/** Where the parts of a group are. @type {(run: Opened, section: any, group: number) => any} */
function findGroup (run, section, group) {
  const groups = Math.ceil(section.count / GROUP_SIZE)
  const word = readWord(run, section.fences + (groups + group) * WORD_SIZE) ?? 0
  const count = Math.min(GROUP_SIZE, section.count - group * GROUP_SIZE)
  const start = section.start + word - word % WORD_SIZE
  return { start, count, references: start + count * headSizeOf(section), size: word % WORD_SIZE + 1 }
}

/** What a key has, or a fence. @type {(random: Random, run: Opened) => void} */
function forgeEntry (random, run) {
  const section = chooseKeys(random, run)
  if (section === undefined) return
  const groups = Math.ceil(section.count / GROUP_SIZE)
  const { start, count, references, size } = findGroup(run, section, random(groups))
  const isFence = random(4) === 0
  const words = Math.ceil((references + count * size - start) / WORD_SIZE)
  changeWord(random, run, isFence ? section.fences + random(2 * groups) * WORD_SIZE : start + random(words) * WORD_SIZE)
}

/** The form, the count or the first ordinals of a list. @type {(random: Random, run: Opened) => void} */
function forgeList (random, run) {
  const section = chooseKeys(random, run)
  if (section === undefined) return
  /** @type {number[]} */
  const places = []
  const { count, references, size } = findGroup(run, section, random(Math.ceil(section.count / GROUP_SIZE)))
  for (let index = 0; index < count; index++) {
    const at = references + index * size
    const reference = at + size <= run.data.length ? run.data.readUIntLE(at, size) : 0
    const place = section.start + (reference >>> 1)
    if (reference % 2 === 1 && place < section.fences) places.push(place)
  }
  if (places.length === 0) return
  const list = places[random(places.length)]
  const at = list + random(random(2) === 0 ? 2 : HEAD_SIZE)
  if (at >= run.data.length) return
  run.data[at] = [random(256), random(8), 0, 0xff, 0x80, run.data[at] ^ 1 << random(8)][random(6)]
}

exports.damageRun = damageRun
exports.forgeRun = forgeRun
