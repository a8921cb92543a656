'use strict'
// Text files as logs, with the sums beside them: both hurt, or tampered with. What is read is compared with the lines
// that an independent reader finds.

const { crc32 } = require('node:zlib')
const { SUMS_POSITIONS, encodeSums, readSums } = require('@millrace/framing')
const { Failure, ensure, ensureSame, show } = require('../answers')
const { judgeLog } = require('../logs/judge-log')
const { makePlan } = require('../logs/make-plan')
const { FILE, questionLog } = require('../logs/question-log')
const { MemoryStorage } = require('../memory-storage')
const { makeNoise, mutateBytes } = require('../mutate-bytes')
const { hostileNumber } = require('../numbers')
const { mixSeed, pickWeighted, seededRandom } = require('../../torture/seeded')

/**
 * @typedef {(limit: number) => number} Random
 * @typedef {{ text: Buffer, sums: Buffer | null }} Base  what both files were at some moment
 * @typedef {import('../logs/question-log').Plan & { textSize: number, hasSums: boolean }} Plan  the bytes of a case are
 *   the text, and then the sums
 */

const SUMS = `${FILE}.sums`
const SESSION_COUNT = 30
const FSYNC_MODES = ['always', 'interval', 'never']
/** What may stand between lines, or in one. */
const PIECES = ['\n', '\r\n', '\n\n', '{}', '\n{"n":1}', '\r', ' ', '\u2028', '\ufeff'].map((text) => Buffer.from(text))

exports.name = 'lines'
exports.count = 1_000_000
exports.batchSize = 4000
exports.isSync = false
exports.limits = {
  steps: { fixed: 300_000, perByte: 60 },
  callCount: { fixed: 1000, perByte: 0.6 },
  transferred: { fixed: 1_000_000, perByte: 80 }
}
exports.isThere = (/** @type {import('../library').Library} */ library) => library.has('framing/lib/lines.js')

/**
 * @param {number} seed
 * @param {import('../library').Library} library
 * @returns {Promise<Base[]>}
 */
exports.prepare = async (seed, library) => {
  const { OffsetLog } = library.load('offset-log')
  /** @type {Base[]} */
  const bases = []
  for (let index = 0; index < SESSION_COUNT; index++) {
    await recordSession(seededRandom(mixSeed(seed, 5, index)), OffsetLog, bases)
  }
  return bases
}

/** @type {(random: Random, OffsetLog: any, bases: Base[]) => Promise<void>} */
async function recordSession (random, OffsetLog, bases) {
  const keep = () => {
    const files = storage.list()
    const sums = files.includes(SUMS) ? storage.read(SUMS) : null
    if (files.includes(FILE)) bases.push({ text: storage.read(FILE), sums })
  }
  const storage = new MemoryStorage({ onWritten: () => { if (random(4) === 0) keep() } })
  if (random(4) === 0) storage.put(FILE, makeText(random))
  const open = () => OffsetLog(FILE, { framing: 'lines', fsync: FSYNC_MODES[random(3)], storage, cache: 65536 })
  let log = open()
  for (let step = 2 + random(8); step > 0; step--) {
    if (random(5) === 0) await log.sync()
    if (random(6) === 0) {
      await log.close()
      log = open()
    }
    const lines = Array.from({ length: 1 + random(3) }, () => makeLine(random))
    await log.append(lines.length === 1 ? lines[0] : lines)
  }
  await log.close()
  keep()
}

/** @param {Random} random */
function makeLine (random) {
  const size = random(60) === 0 ? random(20_000) : random(100)
  const letters = Buffer.from(makeNoise(random, size).toString('base64'))
  const isText = random(5) === 0
  return isText ? Buffer.from(`x${letters}`) : Buffer.from(JSON.stringify({ size, text: `${letters}` }))
}

/** Of another program. @param {Random} random */
function makeText (random) {
  const makePart = () => random(3) === 0 ? PIECES[random(PIECES.length)] : makeLine(random)
  const parts = Array.from({ length: random(20) }, makePart)
  return Buffer.concat(random(3) === 0 ? [PIECES[8], ...parts] : parts)
}

/** @type {Array<[number, (random: Random, text: Buffer) => Buffer]>} */
const TEXTS = [
  [3, (random, text) => text],
  [6, mutateBytes],
  [3, (random, text) => makeHole(random, Buffer.from(text))],
  [3, (random, text) => insert(random, text, PIECES[random(PIECES.length)])],
  [2, (random, text) => text.subarray(0, random(text.length + 1))],
  [2, (random, text) => Buffer.concat([text, makeText(random)])],
  [1, (random, text) => makeText(random)]
]

/** Zeros in place of what was written: a power cut leaves them. @type {(random: Random, text: Buffer) => Buffer} */
function makeHole (random, text) {
  const at = random(text.length + 1)
  const start = random(2) === 0 ? at - at % 512 : at
  text.fill(0, start, Math.min(text.length, start + (random(2) === 0 ? 512 * random(9) : random(100))))
  return random(4) === 0 ? Buffer.concat([text, Buffer.alloc(random(600))]) : text
}

/** @type {(random: Random, text: Buffer, piece: Buffer) => Buffer} */
function insert (random, text, piece) {
  const at = random(text.length + 1)
  return Buffer.concat([text.subarray(0, at), piece, text.subarray(at)])
}

/** @type {Array<[number, (random: Random, sums: Buffer, bases: Base[]) => Buffer | null]>} */
const CHANGES = [
  [8, (random, sums) => sums],
  [5, hurtSums],
  [5, tamperWithSums],
  [2, (random, sums, bases) => bases[random(bases.length)].sums],
  [1, (random, sums) => sums.subarray(0, random(sums.length))],
  [1, () => null]
]

/** Most of the sums are zeros that say nothing. @type {(random: Random, sums: Buffer) => Buffer} */
function hurtSums (random, sums) {
  const hurt = Buffer.from(sums)
  const at = random(2) === 0 ? SUMS_POSITIONS[random(SUMS_POSITIONS.length)] : random(sums.length)
  const part = hurt.subarray(at, at + 80)
  mutateBytes(random, part).copy(hurt, at)
  return hurt
}

/** Slots that verify, and say what cannot be. @type {(random: Random, sums: Buffer) => Buffer} */
function tamperWithSums (random, sums) {
  const slots = readSums(sums)
  if (slots.length === 0) return sums
  const tampered = Buffer.from(sums)
  for (let edits = 1 + random(3); edits > 0; edits--) {
    const slot = /** @type {Record<string, any>} */ ({ ...slots[random(slots.length)] })
    const names = Object.keys(slot).filter((name) => name !== 'place' && name !== 'id')
    const name = names[random(names.length)]
    const near = ['durable', 'base', 'start', 'end', 'sequence'].map((name) => slot[name])
    if (typeof slot[name] === 'boolean') slot[name] = !slot[name]
    else slot[name] = hostileNumber(random, near) % (/crc|epoch/i.test(name) ? 2 ** 32 : 2 ** 48)
    const place = random(4) === 0 ? random(SUMS_POSITIONS.length) : slot.place
    encodeSums(/** @type {any} */ (slot)).copy(tampered, SUMS_POSITIONS[place])
  }
  return tampered
}

/**
 * @param {Random} random
 * @param {Base[]} bases
 * @returns {{ bytes: Buffer, plan: Plan }}
 */
exports.make = (random, bases) => {
  const { text: sound, sums: before } = bases[random(bases.length)]
  const text = pickWeighted(random, TEXTS)(random, sound)
  const sums = before === null ? null : pickWeighted(random, CHANGES)(random, before, bases)
  const plan = { ...makePlan(random, [text.length]), textSize: text.length, hasSums: sums !== null }
  // An answer that another order of calls gives may differ after damage, as in checked logs.
  return { bytes: Buffer.concat([text, sums ?? Buffer.alloc(0)]), plan: { ...plan, order: 'whole' } }
}

/** @param {{ bytes: Buffer, plan: Plan }} sample */
function textOf ({ bytes, plan }) {
  return bytes.subarray(0, plan.textSize)
}

/**
 * @param {{ bytes: Buffer, plan: Plan }} sample
 * @param {import('../surroundings').Surroundings} surroundings
 */
exports.run = async (sample, surroundings) => {
  const { bytes, plan } = sample
  const { OffsetLog } = surroundings.library.load('offset-log')
  const storage = surroundings.createStorage(plan.pick, plan.isSteady)
  storage.put(FILE, Buffer.from(textOf(sample)))
  if (plan.hasSums) storage.put(SUMS, Buffer.from(bytes.subarray(plan.textSize)))
  const how = { ...surroundings.choose(plan.pick, plan.isSteady), framing: 'lines' }
  const { files, ...answers } = await questionLog(OffsetLog, storage, how, plan)
  const keptAt = answers.recovery?.keptAt ?? null
  // How commits are grouped, and so what the sums say, may differ.
  return { ...answers, now: storage.read(FILE), kept: keptAt === null ? Buffer.alloc(0) : storage.read(keptAt) }
}

/**
 * @param {{ bytes: Buffer, plan: Plan }} sample
 * @param {Record<string, any>} answers
 */
exports.judge = (sample, answers) => {
  const { plan } = sample
  judgeLog(plan, answers)
  ensure(!(answers.opened instanceof Failure), () => `a text file does not open: ${show(answers.opened)}`)
  judgeFile(textOf(sample), answers)
  // Forged sums may say that the file is to be cut anywhere.
  const text = textOf(sample).subarray(0, plan.textSize - answers.kept.length)
  const lines = findLines(text)
  for (const name of ['forward', 'backward', 'skipping', 'range']) {
    const items = answers[name]?.items ?? []
    for (let at = 0; at < items.length; at += 3) {
      const [seq, size, crc] = items.slice(at, at + 3)
      ensureSame(`the line at ${seq}, as it is in the file, and ${name}`, lines.get(seq)?.slice(1), [size, crc])
    }
  }
  judgeWhole(plan, lines, text, answers)
}

/** Opening changes nothing but the end, and keeps what it cuts. @type {(text: Buffer, answers: any) => void} */
function judgeFile (text, { now, kept, recovery }) {
  const end = text.length - kept.length
  const isPrefix = now.length >= end && now.subarray(0, end).equals(text.subarray(0, end))
  ensure(isPrefix && kept.equals(text.subarray(end)), () => `the file has changed: ${show(recovery)}`)
}

/**
 * Where nothing is lost, every line of the file is a record.
 * @type {(plan: Plan, lines: Map<number, number[]>, text: Buffer, answers: any) => void}
 */
function judgeWhole ({ flags, maxRecordSize }, lines, text, { forward, recovery }) {
  const isCut = recovery !== null && flags === 'r'
  const { end, items } = forward
  if (text.includes(0) || end instanceof Failure || end.count > 0 || isCut) return
  const sizes = [...lines.values()].map(([, size]) => size)
  if (sizes.some((size) => size > maxRecordSize)) return
  // A reader leaves out a last line without a line break, which somebody may be writing now.
  const isLastOptional = text[text.length - 1] !== 10
  const missing = lines.size - items.length / 3
  ensure(missing === 0 || (isLastOptional && missing === 1), () => `${lines.size} lines are in the file, ${items.length / 3} are read`)
}

/**
 * As any other program finds them; after zeros, a line may begin anywhere.
 * @type {(text: Buffer) => Map<number, number[]>} seq, size and checksum, by seq
 */
function findLines (text) {
  const lines = new Map()
  const note = (/** @type {number} */ start, /** @type {number} */ end) => {
    const size = end > start && text[end - 1] === 13 ? end - start - 1 : end - start
    if (size > 0) lines.set(start, [start, size, crc32(text.subarray(start, start + size))])
  }
  let start = text.subarray(0, 3).equals(PIECES[8]) ? 3 : 0
  while (start < text.length) {
    const found = text.indexOf(10, start)
    const end = found === -1 ? text.length : found
    const zero = text.subarray(start, end).lastIndexOf(0)
    if (zero === -1) note(start, end)
    else if (text[start + zero + 1] === 0x7b) note(start + zero + 1, end)
    start = end + 1
  }
  return lines
}
