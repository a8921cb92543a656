'use strict'
// The answers of an index beside those of a scan: the keys are taken from the records themselves, and counted by a
// slow, obvious walk through all of them.

const { createMatch, parseWhere } = require('@millrace/where')
const { openIdentified } = require('./source')
const { codecs } = require('../open')

/** Of each path. */
const SAMPLE_COUNT = 100
const WINDOW_COUNT = 5

/**
 * @typedef {import('./source').Identity} Identity
 * @typedef {import('./source').Log} Log
 * @typedef {import('../open').CodecName} CodecName
 * @typedef {import('@millrace/index').PathOptions} PathOptions
 * @typedef {{ where: any, found: number, expected: number, seq: number | null }} Difference  `seq`: of the first record
 *   that the index misses
 * @typedef {import('./log-index').CommandIndex} CommandIndex
 * @typedef {{ index: CommandIndex, codec: CodecName, paths: PathOptions[], isAll: boolean }} Asked
 * @typedef {{ count: number, sum: number }} Tally  of the seqs
 * @typedef {Tally & { where: any }} Key
 */

/** Sums stay exact. */
const SUM_MODULUS = 2 ** 40

/**
 * @param {import('./shell').Shell} shell
 * @param {Identity} identity
 * @param {Asked} asked
 * @returns {Promise<{ keys: number, runs: number, differences: Difference[] }>}
 */
async function compareWithScan (shell, identity, { index, codec, paths, isAll }) {
  const plain = openIdentified(identity, codecs[codec])
  const indexed = openIdentified(identity, codecs[codec], index)
  const progress = shell.progress('verifying')
  try {
    await Promise.all([plain.ready(), indexed.ready()])
    await index.loaded()
    // A log that is being written grows.
    const lte = Math.min(Number(plain.since.value), Number(indexed.since.value))
    const walk = createWalk(shell, plain, lte, codec, (seq) => progress.update(seq, lte))
    const sample = isAll ? null : await takeSample(walk, paths)
    const windows = await countAll(walk, paths, sample)
    const differences = []
    for (const key of windows) {
      shell.throwIfAborted()
      const found = await tally(indexed, key.where, lte)
      if (!isSame(found, key) || await indexed.count({ where: key.where, lte }) !== key.count) {
        const difference = await lookAgain(plain, indexed, key.where, lte)
        if (difference !== null) differences.push(difference)
      }
    }
    return { keys: windows.length, runs: index.index?.status().runs ?? 0, differences }
  } finally {
    progress.end()
    await indexed.close()
    await plain.close()
  }
}

/** @typedef {(visit: (seq: number, value: any) => void) => Promise<void>} Walk  through all records that decode */

/**
 * @type {(shell: import('./shell').Shell, log: Log, lte: number, codec: CodecName,
 *   onProgress: (seq: number) => void) => Walk}
 */
function createWalk ({ signal }, log, lte, codec, onProgress) {
  const { decode } = /** @type {any} */ (codecs[codec])
  return async (visit) => {
    await log.scan({ lte, onCorrupt: 'skip', signal }, ({ buffer, count, seqs, starts, ends }) => {
      for (let index = 0; index < count; index++) {
        let value
        try {
          value = decode(buffer.subarray(starts[index], ends[index]))
        } catch {
          // It fulfils no filter.
          continue
        }
        visit(seqs[index], value)
      }
      if (count > 0) onProgress(seqs[count - 1])
    })
  }
}

/**
 * The keys that a record has at a path: what `equals` and `includes` compare with.
 * @param {any} value
 * @param {PathOptions} options
 * @returns {unknown[]}  each once
 */
function keysOf (value, { path, each = false }) {
  const found = follow(value, path)
  if (each === false) return isKey(found) ? [found] : []
  if (!Array.isArray(found)) return []
  return [...new Set(found.map((element) => each === true ? element : follow(element, each)).filter(isKey))]
}

/** @type {(value: any, steps: any) => unknown} */
function follow (value, steps) {
  for (const step of steps) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, step)) return undefined
    value = value[step]
  }
  return value
}

/** @param {unknown} value */
function isKey (value) {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
}

/** @type {(options: PathOptions, key: any) => any} */
function filterOf ({ path, each = false }, key) {
  if (each === false) return { path, equals: key }
  return { path, includes: each === true ? key : { path: each, equals: key } }
}

/**
 * Some keys of each path: the more records have one, the likelier it is among them.
 * @type {(walk: Walk, paths: PathOptions[]) => Promise<Array<Set<unknown>>>}
 */
async function takeSample (walk, paths) {
  const samples = paths.map(() => ({ seen: 0, keys: /** @type {unknown[]} */ ([]) }))
  await walk((seq, value) => {
    for (const [slot, options] of paths.entries()) {
      const sample = samples[slot]
      for (const key of keysOf(value, options)) {
        const isFull = sample.keys.length === SAMPLE_COUNT
        const place = isFull ? Math.floor(Math.random() * (sample.seen + 1)) : sample.keys.length
        if (place < SAMPLE_COUNT) sample.keys[place] = key
        sample.seen++
      }
    }
  })
  return samples.map(({ keys }) => new Set(keys))
}

/** @type {(walk: Walk, paths: PathOptions[], sample: Array<Set<unknown>> | null) => Promise<Key[]>} */
async function countAll (walk, paths, sample) {
  const found = paths.map(() => /** @type {Map<unknown, Key>} */ (new Map()))
  const windows = paths.flatMap((options, slot) => createWindows(options, sample?.[slot] ?? new Set()))
  const tests = windows.map(({ where }) => createMatch(parseWhere(where)))
  await walk((seq, value) => {
    for (const [slot, options] of paths.entries()) {
      for (const key of keysOf(value, options)) {
        if (sample !== null && !sample[slot].has(key)) continue
        const known = found[slot].get(key)
        if (known === undefined) found[slot].set(key, { where: filterOf(options, key), count: 1, sum: seq })
        else add(known, seq)
      }
    }
    for (const [place, isIn] of tests.entries()) if (isIn(value)) add(windows[place], seq)
  })
  return [...found.flatMap((keys) => [...keys.values()]), ...windows]
}

/**
 * Ranges between numbers of a path.
 * @type {(options: PathOptions, keys: Set<unknown>) => Key[]}
 */
function createWindows ({ path, each = false, range = false }, keys) {
  if (!range || each !== false) return []
  const numbers = [...keys].filter((key) => typeof key === 'number').sort((a, b) => a - b)
  const step = Math.max(1, Math.floor(numbers.length / WINDOW_COUNT))
  return numbers.slice(0, -1).filter((_, index) => index % step === 0).map((gte, index) => {
    return { where: { path, gte, lt: numbers[Math.min(index * step + 1, numbers.length - 1)] }, count: 0, sum: 0 }
  })
}

/** @param {Tally} tally @param {number} seq */
function add (tally, seq) {
  tally.count++
  tally.sum = (tally.sum + seq) % SUM_MODULUS
}

/** @type {(log: Log, where: any, lte: number) => Promise<Tally>} */
async function tally (log, where, lte) {
  const found = { count: 0, sum: 0 }
  await log.scan({ where, lte, onCorrupt: 'skip' }, ({ count, seqs }) => {
    for (let index = 0; index < count; index++) add(found, seqs[index])
  })
  return found
}

/** @type {(a: Tally, b: Tally) => boolean} */
function isSame (a, b) {
  return a.count === b.count && a.sum % SUM_MODULUS === b.sum % SUM_MODULUS
}

/**
 * A record may have been deleted since.
 * @type {(plain: Log, indexed: Log, where: any, lte: number) => Promise<Difference | null>}
 */
async function lookAgain (plain, indexed, where, lte) {
  const [expected, found] = [await listSeqs(plain, where, lte), await listSeqs(indexed, where, lte)]
  const counted = await indexed.count({ where, lte })
  if (expected.join() === found.join() && counted === expected.length) return null
  const there = new Set(found)
  const seq = expected.find((seq) => !there.has(seq)) ?? null
  return { where, found: expected.join() === found.join() ? counted : found.length, expected: expected.length, seq }
}

/** @type {(log: Log, where: any, lte: number) => Promise<number[]>} */
async function listSeqs (log, where, lte) {
  /** @type {number[]} */
  const seqs = []
  await log.scan({ where, lte, onCorrupt: 'skip' }, ({ count, ...run }) => { seqs.push(...run.seqs.slice(0, count)) })
  return seqs
}

exports.compareWithScan = compareWithScan
