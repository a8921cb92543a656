'use strict'
// Random histories of callers that append with conditions, and what must hold whoever was first: no append was accepted
// although a record after its `since` matched, and every refusal names such a record, which could be read.

const assert = require('node:assert')

/** @typedef {{ open: () => any, random: (limit: number) => number, callerCount?: number, stepCount?: number }} Story */

const turns = async (count) => { for (; count > 0; count--) await new Promise(setImmediate) }
const whereKey = (key) => ({ path: 'key', equals: key })

/** @param {Story} story @returns {Promise<{ acceptedCount: number, refusedCount: number }>} */
async function playConditions ({ open, random, callerCount = 6, stepCount = 8 }) {
  const log = open()
  await log.ready()
  const accepted = []
  let refusedCount = 0
  let n = 0
  const value = (key) => ({ key, n: n++, pad: 'x'.repeat(random(12) === 0 ? 20_000 : random(120)) })
  const valuesOf = (key) => Array.from({ length: random(4) === 0 ? 1 + random(4) : 1 }, () => value(key))

  /** What a caller knows of a key: the newest record, one that it has just heard of, or nothing. */
  const pickSince = async (key, known) => {
    const kind = random(6)
    if (kind < 3) return await log.last({ where: whereKey(key), values: false }) ?? -1
    if (kind === 3) return log.since.value
    return known.get(key) ?? -1
  }

  const appendIf = async (known) => {
    const key = random(3)
    const since = await pickSince(key, known)
    const values = valuesOf(key)
    const isPlain = random(5) === 0
    try {
      const seqs = await log.append(values, { seqs: true, ...(!isPlain && { if: { where: whereKey(key), since } }) })
      known.set(key, seqs.at(-1))
      if (!isPlain) accepted.push({ key, since, seqs })
    } catch (err) {
      if (err.code !== 'ERR_APPEND_CONDITION' || isPlain) throw err
      refusedCount++
      assert.ok(err.seq > since, `${err.seq} is after ${since}`)
      assert.equal((await log.get(err.seq)).key, key, 'the refusal names a record that matches')
      known.set(key, err.seq)
    }
  }

  const call = async () => {
    const known = new Map()
    for (let step = 0; step < stepCount; step++) {
      if (random(3) === 0) await turns(random(5))
      if (random(8) === 0 && log.supports.flushSync) log.appendSync(valuesOf(random(3)), { sync: random(2) === 0 })
      else if (random(6) === 0) await Promise.all([appendIf(known), appendIf(known), appendIf(known)])
      else await appendIf(known)
    }
  }
  await Promise.all(Array.from({ length: callerCount }, call))
  const seqsOf = new Map()
  for await (const { seq, value: { key } } of log.stream()) seqsOf.set(key, [...(seqsOf.get(key) ?? []), seq])
  for (const { key, since, seqs } of accepted) {
    const before = seqsOf.get(key).filter((seq) => seq > since && seq < seqs[0])
    assert.deepEqual(before, [], `nothing of ${key} between ${since} and ${seqs[0]}`)
  }
  await log.close()
  return { acceptedCount: accepted.length, refusedCount }
}

/**
 * Callers who each add one to a counter, again and again.
 * @param {{ log: any, callerCount: number, turnCount: number }} race
 * @returns {Promise<number[]>}  the counts in the log
 */
async function raceForOneKey ({ log, callerCount, turnCount }) {
  const where = whereKey('counter')
  const addOne = async () => {
    for (;;) {
      const last = await log.last({ where })
      const next = { key: 'counter', count: (last?.value.count ?? 0) + 1 }
      try {
        return await log.append(next, { if: { where, since: last?.seq } })
      } catch (err) {
        if (err.code !== 'ERR_APPEND_CONDITION') throw err
      }
    }
  }
  await Promise.all(Array.from({ length: callerCount }, async () => {
    for (let turn = 0; turn < turnCount; turn++) {
      await log.append({ key: 'other' })
      await addOne()
    }
  }))
  const counts = []
  for await (const { value } of log.stream({ where })) counts.push(value.count)
  return counts
}

exports.playConditions = playConditions
exports.raceForOneKey = raceForOneKey
exports.whereKey = whereKey
