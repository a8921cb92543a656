'use strict'
// The keys of a path in a run file: with and without ids, and with references of each size.

const fs = require('node:fs')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { promisesOf } = require('@millrace/flow')
const { createRandom, inQuickRuns, newPath } = require('@millrace/testkit')
const { Pace } = require('../lib/pace')
const { HASHES_AT_ONCE, KeyCursor, Run, RunPages } = require('../lib/run')
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

/** A run whose footer says nothing but its keys. */
async function writeRun (keys, hasIds) {
  const file = newPath('run')
  fs.writeFileSync(file, '')
  await writeContent(fileStorage, file, new Pace(), async (writer) => {
    const target = new KeyWriter(writer, 2 ** 31, hasIds)
    for (const { short, ordinals, id } of keys) target.add(short, ordinals, ordinals.length, id)
    return { keys: [await target.end()] }
  })
  const bytes = fs.readFileSync(file)
  const { footer } = takeApart(bytes)
  const handle = await promisesOf(fileStorage).open(file, { flags: 'r', createFolder: false })
  const checksums = bytes.subarray(footer.dataSize)
  return new Run('run', bytes.length, handle, { ...footer, records: 2 ** 31 }, checksums, new RunPages(3))
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

/** What is wrong, if anything. */
async function tryKeys (random) {
  const hasIds = random(2) === 0
  const made = makeKeys(random)
  const keys = made.map((key) => ({ ...key, id: hasIds || key.ordinals.length >= 16 ? key.id : null }))
  const run = await writeRun(made, hasIds)
  const isSame = (key, found, id) => JSON.stringify(describe(key.short, found, id)) === JSON.stringify(key)
  for (const key of keys) {
    const found = run.find(0, key.short)
    if (found === -1 || !isSame(key, found, run.foundId)) return `the key ${key.short} is another one`
    const isThere = keys.some(({ short }) => short === key.short + 1)
    if (!isThere && run.find(0, key.short + 1) !== -1) return `${key.short + 1} is there`
  }
  const cursor = new KeyCursor(0)
  for (const key of keys) {
    run.readKey(cursor)
    if (cursor.short !== key.short || !isSame(key, cursor.found, cursor.id)) return `${cursor.short} comes instead of ${key.short}`
  }
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
