'use strict'
// All that can be asked of a run file, each with the answer that the file gave before it was changed.

const { KeyCursor } = require('../../../packages/index/lib/run')
const { DamagedRun } = require('../../../packages/index/lib/run-format')

/**
 * @typedef {import('../../../packages/index/lib/run').Run} Run
 * @typedef {{ name: string, ask: (run: Run) => number | string }} Question
 */

/** Keys of a path that are sought, beside all that are listed. */
const SOUGHT = 3

class RunQuestions {
  #all
  #answers

  /** @param {Run} run  unchanged @param {(limit: number) => number} random */
  constructor (run, random) {
    this.#all = listQuestions(run, random)
    this.#answers = this.#all.map(({ ask }) => ask(run))
  }

  /**
   * @param {Run} run  changed
   * @returns {{ refused: number, wrong: string | null }}  `refused`: how many questions; `wrong`: one of the answers
   */
  ask (run) {
    let refused = 0
    for (const [index, { name, ask }] of this.#all.entries()) {
      try {
        if (ask(run) !== this.#answers[index]) return { refused, wrong: `another answer for ${name}` }
      } catch (err) {
        if (!(err instanceof DamagedRun)) throw err
        refused++
      }
    }
    return { refused, wrong: null }
  }
}

/**
 * @param {Run} run
 * @param {(limit: number) => number} random
 * @returns {Question[]}
 */
function listQuestions (run, random) {
  const { footer: { keys, numbers, times, to, from }, records } = run
  /** @type {Question[]} */
  const questions = [
    { name: 'the footer', ask: ({ footer }) => JSON.stringify(footer) },
    { name: 'all seqs', ask: (run) => digest(countUp(records).map((ordinal) => run.seqOf(ordinal))) },
    { name: 'odd records', ask: ({ odd }) => digest(odd) },
    { name: 'deleted records', ask: (run) => digest([...run.erased()]) },
    ...Array.from({ length: SOUGHT }, () => from + random(to - from)).map((seq) => {
      return { name: `the record at ${seq} or after it`, ask: (/** @type {Run} */ run) => run.ordinalFrom(seq) }
    })
  ]
  for (const slot of keys.keys()) {
    const shorts = readHashes(run, slot)
    const chooseKey = () => random(4) === 0 ? random(2 ** 32) : shorts[random(shorts.length)] ?? 0
    questions.push({ name: `the keys of path ${slot}`, ask: (run) => digestKeys(run, slot) })
    questions.push({ name: `the hashes of path ${slot}`, ask: (run) => digest(readHashes(run, slot)) })
    for (const short of Array.from({ length: SOUGHT }, chooseKey)) {
      questions.push({ name: `key ${short} of path ${slot}`, ask: (run) => digest(ordinalsOf(run.find(slot, short))) })
    }
  }
  for (const section of [...numbers, ...times].filter((section) => section !== null)) {
    questions.push({ name: 'values', ask: (run) => digestValues(run, section) })
    const [min, max] = [random(200) - 100, random(1000)]
    const findValues = (/** @type {Run} */ run) => Object.values(run.findValues(section, { min, max }))
    questions.push({ name: `values from ${min} to ${max}`, ask: (run) => digest(findValues(run)) })
  }
  return questions
}

/** @param {number} count */
function countUp (count) {
  return Array.from({ length: count }, (_, index) => index)
}

/** @type {(run: Run, slot: number) => number[]} */
function readHashes (run, slot) {
  const { count } = run.footer.keys[slot]
  const target = new Uint32Array(count)
  let read = 0
  while (read < count) read += run.readHashes(slot, read, target.subarray(read))
  return [...target]
}

/** @type {(run: Run, slot: number) => number} */
function digestKeys (run, slot) {
  const cursor = new KeyCursor(slot)
  let result = 0
  for (run.readKey(cursor); cursor.short !== Infinity; run.readKey(cursor)) {
    result = digest([result, cursor.short, cursor.id ?? -1, ...ordinalsOf(cursor.found)])
  }
  return result
}

/** @param {KeyCursor['found']} found */
function ordinalsOf (found) {
  if (typeof found === 'number') return [found]
  const ordinals = []
  const target = new Uint32Array(found.blockSize)
  for (let block = 0; block < found.blockCount; block++) {
    const count = found.readBlock(block, target)
    for (let at = 0; at < count; at++) ordinals.push(target[at])
  }
  return ordinals
}

/** @type {(run: Run, section: import('../../../packages/index/lib/run-format').ValueSection) => number} */
function digestValues (run, section) {
  return digest(countUp(section.count).flatMap((index) => {
    return [run.valueAt(section, index), run.valueOrdinal(section, index)]
  }))
}

/** So that answers are compared at once. @param {Iterable<number>} numbers */
function digest (numbers) {
  let result = 17
  for (const number of numbers) result = Math.imul(result, 31) + (number | 0) + Math.floor(number / 2 ** 32) | 0
  return result
}

exports.RunQuestions = RunQuestions
