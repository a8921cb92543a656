'use strict'
// repair, of compacted logs whose pages or blocks are not where they were: there a chunk's position does not say where
// it belongs, but what is around it does. What is elsewhere is not kept, and everything else is.

const tape = require('tape')
const { checkSalvage } = require('./salvage/check-salvage')
const { makeImages } = require('./salvage/images')
const { misdirect, swap } = require('./salvage/injuries')

const HEAD_SIZE = 32768

/** Every two places of this size, with one between them at most. */
function * pairsOf ({ bytes }, size, distanceMax) {
  for (let a = HEAD_SIZE; a < bytes.length; a += size) {
    for (let b = a + size; b < bytes.length && b - a <= distanceMax * size; b += size) yield [a, b]
  }
}

/**
 * @param {import('tape').Test} t
 * @param {number} size
 * @param {number} distanceMax
 */
async function checkPlaces (t, size, distanceMax) {
  const images = (await makeImages()).filter(({ name }) => name.startsWith('compacted'))
  const injuries = images.flatMap((image) => [...pairsOf(image, size, distanceMax)].flatMap(([a, b]) => [
    { image, kind: 'swapped', injury: swap(image.bytes, size, a, b) },
    { image, kind: 'misdirected', injury: misdirect(image.bytes, size, a, b) },
    { image, kind: 'misdirected', injury: misdirect(image.bytes, size, b, a) }
  ])).filter(({ injury }) => injury !== null)
  const { faults, cases } = await checkSalvage({ images, injuries })
  for (const fault of faults) t.fail(fault.slice(0, 1000))
  t.ok(cases > 20, `${cases} injuries`)
}

tape('repair: a page of a compacted log that belongs elsewhere is not kept, and what is behind it is', async (t) => {
  await checkPlaces(t, 16384, Infinity)
})

tape('repair: a block of a compacted log that belongs elsewhere is not kept, and what is behind it is', async (t) => {
  await checkPlaces(t, 4096, 4)
})
