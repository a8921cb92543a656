'use strict'
// The seqs of a run, packed.

const tape = require('tape')
const { createRandom, inQuickRuns } = require('@millrace/testkit')
const { Pace } = require('../lib/pace')
const { PageWriter } = require('../lib/run-writer')
const { SeqReader, SeqWriter, endOfTable } = require('../lib/seqs')

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUNDS = inQuickRuns(400, 80)
const DISTANCE_MAX = 2 ** 32 - 1

/** What is before it is of any bytes. */
async function write (distances) {
  const writer = new PageWriter(/** @type {any} */ (null), new Pace())
  writer.bytes.fill(0xff)
  const seqs = new SeqWriter(writer)
  for (const distance of distances) seqs.add(distance)
  const table = await seqs.end()
  return { table, size: writer.position, wordAt: (offset) => writer.view.getUint32(offset, true) }
}

/** How far each record is from the one before it. */
const GAPS = {
  'of one size': (random) => {
    const size = 1 + random(1000)
    return () => size
  },
  'of similar sizes': (random) => () => 40 + random(1200),
  'small, and seldom large': (random) => () => random(50) === 0 ? random(2 ** 20) : 1 + random(300),
  'of any size': (random) => () => 1 + random(2 ** random(20)),
  'of the smallest size': () => () => 1
}

function makeDistances (random, gapOf, count) {
  const distances = [0]
  while (distances.length < count) distances.push(distances[distances.length - 1] + gapOf())
  // The last ones may be as far from the first as a run allows.
  const by = random(4) === 0 ? DISTANCE_MAX - distances[count - 1] : 0
  const from = Math.max(1, random(count))
  return distances.map((distance, index) => index >= from ? distance + by : distance)
}

for (const [name, makeGap] of Object.entries(GAPS)) {
  tape(`seqs: each is found by its ordinal, and each ordinal by its seq: records ${name} (seed ${SEED})`, async (t) => {
    let wrong = null
    for (let round = 0; round < ROUNDS && wrong === null; round++) {
      const random = createRandom(SEED + round)
      const count = 1 + random([3, 70, 600][random(3)])
      const distances = makeDistances(random, makeGap(random), count)
      const source = await write(distances)
      if (source.size !== endOfTable(source.table, count)) wrong = `round ${round}: a table of another size`
      const reader = new SeqReader(source, source.table, count)
      for (let left = 200; left > 0 && wrong === null; left--) {
        const ordinal = random(count)
        const found = reader.distanceOf(ordinal)
        if (found !== distances[ordinal]) wrong = `round ${round}: ${found} instead of ${distances[ordinal]} at ${ordinal}`
        const sought = Math.max(0, distances[ordinal] + random(3) - 1)
        const first = distances.findIndex((distance) => distance >= sought)
        const from = reader.ordinalFrom(sought)
        if (from !== (first === -1 ? count : first)) wrong = `round ${round}: ${from} from ${sought}`
      }
    }
    t.equal(wrong, null)
    t.end()
  })
}

tape('seqs: those of records of one size take a bit each', async (t) => {
  const { size } = await write(Array.from({ length: 6400 }, (_, index) => 692 * index))
  t.equal(size, 6400 / 8 + 8)
  t.end()
})
