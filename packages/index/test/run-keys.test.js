'use strict'
// The keys of a path in a run file: with and without ids, and with references of each size.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { createRandom, inQuickRuns, newPath } = require('@millrace/testkit')
const { mergeKeys } = require('../lib/merge-keys')
const { Pace } = require('../lib/pace')
const { HASHES_AT_ONCE, KeyCursor, Run } = require('../lib/run')
const { RunFiles } = require('../lib/run-files')
const { RunPages } = require('../lib/run-pages')
const { KeyWriter, writeContent } = require('../lib/run-writer')
const { takeApart } = require('./run-bytes')

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUNDS = inQuickRuns(60, 12)

/** Ascending hashes; each key has some records of the first ones, 2^6 to 2^31 of them, by its group. */
function makeKeys (random) {
  const shorts = new Set()
  const bits = random(8) === 0 ? 12 : 32
  for (let left = random(4) === 0 ? 0 : random(2000); left > 0; left--) shorts.add(random(2 ** bits))
  return [...shorts].sort((a, b) => a - b).map((short, index) => {
    const limit = 2 ** (6 + (index >>> 8) * 9 % 26)
    const count = 1 + random([1, 1, 1, 20, 300][random(5)])
    const ordinals = new Set(Array.from({ length: count }, () => random(limit)))
    return { short, ordinals: [...ordinals].sort((a, b) => a - b), id: random(5) === 0 ? null : random(2 ** 32) }
  })
}

/** A run of some keys, and what reads of it must give. */
async function writeKeys (made, hasIds, records) {
  const run = await writeRun(records, async (writer) => {
    const target = new KeyWriter(writer, records, hasIds)
    for (const { short, ordinals, id } of made) target.add(short, ordinals, ordinals.length, id)
    return target.end()
  })
  return { run, keys: asKept(made, hasIds) }
}

/** Other keys lose their ids. */
function asKept (made, hasIds) {
  return made.map((key) => ({ ...key, id: hasIds || key.ordinals.length >= 16 ? key.id : null }))
}

/** A run whose footer says nothing but its keys. */
async function writeRun (records, write) {
  const file = newPath('run')
  fs.writeFileSync(file, '')
  await writeContent(fileStorage, file, new Pace(), async (writer) => {
    return { keys: [await write(writer)] }
  })
  const bytes = fs.readFileSync(file)
  const { footer } = takeApart(bytes)
  const checksums = bytes.subarray(footer.dataSize)
  return await new RunFiles(fileStorage, path.dirname(file)).open('run', async (file) => {
    return new Run(file, bytes.length, { ...footer, records }, checksums, new RunPages(3))
  })
}

/** What was found, as the key that was written. */
function describe (short, found, id) {
  if (typeof found === 'number') return { short, ordinals: [found], id }
  const ordinals = []
  const block = new Uint32Array(found.blockSize)
  for (let index = 0; index < found.blockCount; index++) {
    ordinals.push(...block.subarray(0, found.readBlock(index, block)))
  }
  return { short, ordinals: ordinals.reverse(), id }
}

const isSame = (key, found, id) => JSON.stringify(describe(key.short, found, id)) === JSON.stringify(key)

/** Reads the keys in their order. Gives what is wrong, if anything. */
function readAll (run, keys) {
  const cursor = new KeyCursor(0)
  for (const key of keys) {
    run.readKey(cursor)
    const isRight = cursor.short === key.short && isSame(key, cursor.found, cursor.id)
    if (!isRight) return `${cursor.short} comes instead of ${key.short}, or is another one`
  }
  run.readKey(cursor)
  return cursor.short === Infinity ? null : `${cursor.short} comes after the last one`
}

/** What is wrong, if anything. */
async function tryKeys (random) {
  const { run, keys } = await writeKeys(makeKeys(random), random(2) === 0, 2 ** 31)
  for (const key of keys) {
    const found = run.find(0, key.short)
    if (found === -1 || !isSame(key, found, run.foundId)) return `the key ${key.short} is another one`
    const isThere = keys.some(({ short }) => short === key.short + 1)
    if (!isThere && run.find(0, key.short + 1) !== -1) return `${key.short + 1} is there`
  }
  const wrong = readAll(run, keys)
  if (wrong !== null) return wrong
  const hashes = new Uint32Array(HASHES_AT_ONCE)
  for (let at = 0; at < keys.length;) {
    const count = run.readHashes(0, at, hashes)
    if (count === 0) return `no hashes from ${at} on`
    for (let index = 0; index < count; index++) if (hashes[index] !== keys[at + index]?.short) return `another hash at ${at + index}`
    at += count
  }
  await run.close()
  return null
}

tape(`run keys: each is found with its records and its id, and no other (seed ${SEED})`, async (t) => {
  for (let round = 0; round < ROUNDS; round++) {
    const wrong = await tryKeys(createRandom(SEED + round))
    if (wrong !== null) t.fail(`round ${round}: ${wrong}`)
  }
  t.pass(`${ROUNDS} rounds`)
  t.end()
})

/** Nearly always the same one. */
function pickId (random, short) {
  return random(9) === 0 ? null : short + (random(9) === 0 ? 1 : 0)
}

/** Keys of records of one run. Keys of several runs may be the same, and have the same ids or others. */
function makeSome (random, records) {
  const shorts = new Set(Array.from({ length: random(600) }, () => random(1000) * 2 ** 20))
  return [...shorts].sort((a, b) => a - b).map((short) => {
    const ordinals = new Set(Array.from({ length: 1 + random([1, 1, 30, 400][random(4)]) }, () => random(records)))
    return { short, ordinals: [...ordinals].sort((a, b) => a - b), id: pickId(random, short) }
  })
}

/** What keys become when runs become one. */
function joinKeys (all, offsets) {
  const joined = new Map()
  for (const [index, keys] of all.entries()) {
    for (const { short, ordinals, id } of keys) {
      const known = joined.get(short) ?? { short, ordinals: [], id }
      const moved = ordinals.map((ordinal) => ordinal + offsets[index])
      joined.set(short, { short, ordinals: [...known.ordinals, ...moved], id: known.id === id ? id : null })
    }
  }
  return [...joined.values()].sort((a, b) => a.short - b.short)
}

tape(`run keys: runs with ids and without become one; an id stays if all have it (seed ${SEED})`, async (t) => {
  let wrong = null
  for (let round = 0; round < ROUNDS && wrong === null; round++) {
    const random = createRandom(SEED + round)
    const offsets = [0]
    const all = []
    const isMixed = random(2) === 0
    for (let left = 1 + random(4); left > 0; left--) {
      const records = 100 + random(10_000)
      offsets.push(offsets[offsets.length - 1] + records)
      all.push(await writeKeys(makeSome(random, records), isMixed ? random(2) === 0 : true, records))
    }
    const runs = all.map(({ run }) => run)
    const merged = await writeRun(offsets[runs.length], (writer) => mergeKeys(writer, runs, offsets, 0))
    const { hasIds } = merged.footer.keys[0]
    if (hasIds && runs.some(({ footer }) => !footer.keys[0].hasIds)) wrong = `round ${round}: ids that no run has`
    wrong ??= readAll(merged, asKept(joinKeys(all.map(({ keys }) => keys), offsets), hasIds))
    if (wrong !== null) wrong = `round ${round}: ${wrong}`
    for (const run of [...runs, merged]) await run.close()
  }
  t.equal(wrong, null)
  t.end()
})
