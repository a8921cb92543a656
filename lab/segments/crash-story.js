// @ts-nocheck
'use strict'
// A life of a log, with a power cut and a kill before every step that changes the disk. For the crash test, and for the
// torture. With the rules of Windows, too: then a log must never be in its own way. Some have an index, whose answers
// are those of a scan, whichever of its files are there.

const { setTimeout: sleep } = require('node:timers/promises')
const { patientStorage } = require('@millrace/block-file')
const { createIndex } = require('@millrace/index')
const { SimulatedDisk, collect, createRandom, windowsStorage } = require('@millrace/testkit')
const { SegmentedLog } = require('@millrace/segmented-log')

const FOLDER = '/logs'
const NAMES = /^\/logs\/(times|\d{16}-\d{8}T\d{9}Z\.log(\.gz|\.cut-\d+|\.kept-\d{8}T\d{9}Z)?|h\.\d{16}\.hold)$/
const RUN = /^\/logs\/index\/(\d{16})-(\d{16})-[0-9a-f]{12}\.run(\.new)?$/
const codec = { name: 'text', encode: (text) => Buffer.from(text), decode: (text) => text }
/** The records that stay longer: those whose number begins with 1. */
const chosen = { path: [], prefix: '1' }
const isChosen = (/** @type {number} */ number) => String(number).startsWith('1')

/** What the program that is to crash has done and was promised. Records are known by their numbers. */
class Story {
  /** @type {string[]} */
  appended = []
  calledBack = 0
  promised = 0
  /** Records below this number may be dropped. */
  droppable = 0
  /** The number of the record from which on a hold keeps them; null if there is none. */
  held = null
  /** Deletions that were asked for, that have called back, and that are promised. @type {Set<number>[]} */
  deleted = [new Set(), new Set(), new Set()]

  clone () {
    const deleted = this.deleted.map((numbers) => new Set(numbers))
    return Object.assign(new Story(), this, { appended: [...this.appended], deleted })
  }

  /** What a kill must leave, which loses nothing that has called back. */
  afterKill () {
    const [asked, calledBack] = this.deleted
    return Object.assign(this.clone(), { promised: this.calledBack, deleted: [asked, calledBack, calledBack] })
  }

  promise ({ calledBack, deleted: [, done] }) {
    this.promised = Math.max(this.promised, calledBack)
    for (const number of done) this.deleted[2].add(number)
  }
}

/**
 * @type {(storage: object, story: Story, random: (limit: number) => number, options: object) => Promise<void>}
 */
async function live (storage, story, random, options) {
  const log = SegmentedLog(FOLDER, { ...options, storage })
  const seqs = []
  // Opening may have begun to drop what an earlier session was to drop.
  for await (const { seq, value } of log.stream({ onRetained: 'skip' })) seqs[numberOf(value)] = seq
  const sync = async () => {
    const before = story.clone()
    await log.sync()
    story.promise(before)
  }
  const append = async () => {
    const first = story.appended.length
    const texts = Array.from({ length: 1 + random(3) }, (_, i) => `${first + i} `.padEnd(random(900), 'x'))
    story.appended.push(...texts)
    await log.append(texts)
    for (let i = texts.length; i > 0; i--) seqs.push(log.since.value)
    // The seqs of a batch are not told.
    for await (const { seq, value } of log.stream({ reverse: true, limit: texts.length })) seqs[numberOf(value)] = seq
    story.calledBack = story.appended.length
  }
  const del = async () => {
    const numbers = Array.from({ length: 1 + random(4) }, () => random(seqs.length + 1))
      .filter((number) => number >= story.droppable && seqs[number] !== undefined && !story.deleted[0].has(number))
    const [asked, calledBack] = story.deleted
    for (const number of numbers) asked.add(number)
    const dropped = await log.del([...new Set(numbers)].map((number) => seqs[number])).catch((err) => {
      if (!options.keep || err.code !== 'ERR_LOG_SEQ_RETAINED') throw err
      return true
    })
    if (!dropped) for (const number of numbers) calledBack.add(number)
  }
  const dropBefore = async () => {
    const number = random(story.appended.length + 1)
    if (number >= seqs.length || seqs[number] === undefined) return
    story.droppable = Math.max(story.droppable, Math.min(number, story.held ?? Infinity))
    await log.dropBefore(seqs[number])
  }
  const hold = async () => {
    const number = random(seqs.length + 1)
    if (number < story.droppable || number >= seqs.length || seqs[number] === undefined) return
    story.held = null
    await log.hold('h', seqs[number])
    story.held = number
  }
  const release = async () => {
    story.held = null
    await log.release('h')
  }
  const actions = [append, append, append, append, sync, async () => log.roll(), del, dropBefore, hold, release,
    () => sleep(2)]
  if (options.keep) actions.push(async () => log.roll(), () => log.dropBefore(0))
  for (let step = 0; step < 20; step++) await actions[random(actions.length)]()
  if (options.compress) await sleep(10)
  const before = story.clone()
  await log.close()
  story.promise(before)
}

/** @param {string} value */
function numberOf (value) {
  return Number.parseInt(value, 10)
}

/** What is wrong with the log; null if it is what the story allows, can go on, and leaves nothing behind. */
async function check (disk, story, { keep, maxCount, ...options }, storageOf, random) {
  const storage = storageOf(disk)
  const log = SegmentedLog(FOLDER, { ...options, storage })
  const seqs = []
  const numbers = []
  for await (const { seq, value } of log.stream()) {
    seqs.push(seq)
    numbers.push(numberOf(value))
    if (value !== story.appended[numbers.at(-1)]) return `not what was appended: ${value.slice(0, 20)}`
  }
  const fault = compare(numbers, story, keep) ?? (options.time && await checkPeriod(log, numbers))
  if (fault) return fault
  const wrong = options.index && await checkIndex(log, disk, story, numbers, random)
  if (wrong) return wrong
  if (log.recovery?.damage.length > 0) return `called damaged: ${JSON.stringify(log.recovery)}`
  if (log.since.value < (seqs.at(-1) ?? -1)) return `since is ${log.since.value}, not ${seqs.at(-1)}`
  const last = await log.append(String(story.appended.length))
  if (last <= (seqs.at(-1) ?? -1)) return 'a seq that is too low'
  await log.roll()
  await log.append('end')
  if (await log.count() !== numbers.length + 2) return 'what was appended afterwards is not there'
  await log.close()
  const files = disk.list()
  const isMarkOfNothing = (/** @type {string} */ file) => {
    const [, of] = /^(.*)\.kept-/.exec(file) ?? []
    return of !== undefined && !files.includes(of) && !files.includes(`${of}.gz`)
  }
  const strange = files.filter((file) => !(NAMES.test(file) || (options.index && RUN.test(file))) || files.includes(`${file}.gz`) || isMarkOfNothing(file))
  if (strange.length > 0) return `left behind: ${strange}`
  const again = SegmentedLog(FOLDER, { ...options, storage: storageOf(disk.crash(() => 0)) })
  const count = await again.count()
  await again.close()
  if (count !== numbers.length + 2) return `${count} records after a second crash`
  return keep ? checkKept(numbers.filter(isChosen), { keep, maxCount, storage, ...options }) : null
}

/** Goes on as before the crash, and drops what has to go. */
async function checkKept (expected, options) {
  const log = SegmentedLog(FOLDER, options)
  await log.release('h')
  await log.dropBefore(0)
  const segments = await log.segments()
  const numbers = (await collect(log.stream({ seqs: false, where: chosen }))).map(numberOf)
  const others = await log.count({ where: { not: chosen }, lt: segments.at(-options.maxCount)?.base ?? 0 })
  await log.close()
  const found = numbers.slice(0, expected.length)
  if (found.join() !== expected.join()) return `the chosen records are ${found}, not ${expected}`
  return others === 0 ? null : `${others} records are left that are not chosen`
}

/** Asks for some records by their texts, before the index is whole and after. */
async function checkIndex (log, disk, { appended }, numbers, random) {
  const ask = async (/** @type {string} */ when) => {
    for (let left = 2; left > 0; left--) {
      const chosen = Array.from({ length: 1 + random(3) }, () => random(appended.length + 1))
      const where = { path: [], in: [...chosen.map((number) => appended[number] ?? 'none'), ''] }
      const expected = numbers.filter((number) => chosen.includes(number))
      const [forward, backward] = [{ where, seqs: false }, { where, seqs: false, reverse: true }]
      const found = (await collect(log.stream(forward))).map(numberOf)
      if (found.join() !== expected.join()) return `${when} the index finds ${found}, not ${expected}`
      const last = (await collect(log.stream(backward))).map(numberOf).reverse()
      if (last.join() !== expected.join()) return `${when} the index finds ${last} from the end on, not ${expected}`
      const count = await log.count({ where })
      if (count !== expected.length) return `${when} the index counts ${count}, not ${expected}`
    }
    return null
  }
  const early = await ask('at once')
  if (early) return early
  await log.index.ready()
  const late = await ask('once it is ready,')
  if (late) return late
  const { isReady, failure } = await log.index.status()
  if (!isReady || failure) return `the index is not ready: ${failure}`
  const [{ base }] = await log.segments()
  const dropped = disk.list().filter((/** @type {string} */ file) => Number(RUN.exec(file)?.[2] ?? Infinity) <= base)
  return dropped.length === 0 ? null : `runs of dropped segments are left: ${dropped}`
}

/** Reads a period of the log: its records have their numbers as times. */
async function checkPeriod (log, numbers) {
  const [gte, lt] = [numbers[Math.floor(numbers.length / 3)], numbers[Math.floor(numbers.length / 2)]]
  const found = (await collect(log.stream({ time: { gte, lt }, seqs: false }))).map(numberOf)
  const expected = numbers.filter((number) => number >= gte && number < lt)
  return found.join() === expected.join() ? null : `the period has ${found}, not ${expected}`
}

/** @type {(numbers: number[], story: Story, keep?: object) => string | null} */
function compare (numbers, { appended, promised, droppable, deleted: [asked,, mustBeGone] }, keep) {
  if (numbers.some((number, i) => i > 0 && number <= numbers[i - 1])) return `not in order: ${numbers}`
  const back = numbers.find((number) => mustBeGone.has(number))
  if (back !== undefined) return `record ${back} was deleted, and is there`
  const isThere = new Set(numbers)
  // Before it, retention has left only chosen records.
  const whole = keep ? numbers.find((number) => !isChosen(number)) ?? Infinity : 0
  const lacks = (/** @type {number} */ number) => {
    return !isThere.has(number) && !asked.has(number) && (number >= whole || isChosen(number))
  }
  const missing = appended.findIndex((_, number) => number >= droppable && number < promised && lacks(number))
  if (missing !== -1) return `record ${missing} was promised, and is missing; there are ${numbers}`
  const [first = 0] = numbers
  const last = numbers.at(-1) ?? 0
  const hole = appended.findIndex((_, number) => number > first && number < last && lacks(number))
  return hole === -1 ? null : `record ${hole} is missing in the middle`
}

/**
 * @param {(limit: number) => number} random
 * @param {{ imageEvery?: number, isWindows?: boolean }} [options]  one step in so many is an image
 * @returns {Promise<{ imageCount: number, faults: string[] }>}
 */
async function runRound (random, { imageEvery = 3, isWindows = false } = {}) {
  const faults = []
  const storageOf = isWindows ? createWindows(random, faults) : (disk) => disk.storage
  const compress = random(3) > 0 ? 'gzip' : false
  const time = random(2) === 0 ? (value) => numberOf(value) : undefined
  const keeping = random(2) === 0 ? { keep: { where: chosen }, maxCount: 1 + random(3) } : {}
  const segmentSize = 34_000 + random(3) * 4000
  const tuning = { recordsMax: 2 + random(20), fanOut: 2 + random(3), waitMs: 1 }
  const indexed = random(2) === 0 ? { index: createIndex([[]], { tuning }) } : {}
  const options = { codec, segmentSize, openSegments: 1 + random(2), compress, time, ...keeping, ...indexed }
  const images = []
  const story = new Story()
  const take = (/** @type {string} */ name) => {
    images.push({ disk: disk.clone({ onChange: null }), story: story.clone(), name })
  }
  const disk = new SimulatedDisk({
    onChange: (call) => {
      if (random(imageEvery) === 0) take(`${call.name} of ${call.path}`)
    }
  })
  const storage = storageOf(disk)
  const warnings = []
  const noteWarning = (/** @type {Error} */ { message }) => { warnings.push(message) }
  process.on('warning', noteWarning)
  // A second session compresses at once what the first one has inflated.
  for (let session = 0; session < 2; session++) await live(storage, story, random, options)
  process.off('warning', noteWarning)
  take('the end')
  for (const { disk, story, name } of images) {
    for (const [kind, after, expected] of [['power cut', disk.crash(random), story], ['kill', disk, story.afterKill()]]) {
      const fault = await check(after, expected, options, storageOf, random).catch((err) => err.stack)
      if (fault) faults.push(`${kind} before ${name} (${JSON.stringify(options)}): ${fault}${warnings.map((text) => `; warned: ${text}`)}`)
    }
  }
  return { imageCount: 2 * images.length, faults }
}

/**
 * @param {(limit: number) => number} random
 * @param {string[]} faults  gets those of a log that is in its own way
 * @returns {(disk: SimulatedDisk) => object}  makes the storage of a disk that nobody has open
 */
function createWindows (random, faults) {
  return ({ storage }) => patientStorage(windowsStorage(storage, {
    random: createRandom(random(2 ** 31)),
    onViolation: ({ message }) => faults.push(message)
  }))
}

exports.runRound = runRound
