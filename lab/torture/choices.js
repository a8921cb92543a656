'use strict'
// Which images to make of one moment: all combinations where these can be counted, a good sample where they cannot.

const { TEAR } = require('@millrace/testkit')
const { pickWeighted } = require('./seeded')

// 2^8 combinations of kept and lost sectors are all tried; of more sectors only some are.
const SUBSET_SECTORS_MAX = 8
const SAMPLE_COUNT = 40
const TEAR_SEED_MAX = 2 ** 20

/**
 * @typedef {import('@millrace/testkit').CrashPoint} CrashPoint
 * @typedef {import('@millrace/testkit').Choice} Choice
 * @typedef {(limit: number) => number} Random
 */

/**
 * @param {CrashPoint} point
 * @param {Random} random
 * @returns {Iterable<Choice>}
 */
function * everyChoice (point, random) {
  const count = point.sectors.length
  if (count <= SUBSET_SECTORS_MAX) {
    for (let mask = 0; mask < 2 ** count; mask++) yield keep(point, (index) => Boolean(mask & (1 << index)))
  } else {
    yield * sampledChoices(point, random, SAMPLE_COUNT)
  }
  yield * oddChoices(point, random)
}

/**
 * @param {CrashPoint} point
 * @param {Random} random
 * @param {number} count
 * @returns {Iterable<Choice>}  some of all combinations of kept and lost sectors
 */
function * sampledChoices (point, random, count) {
  yield point.none()
  yield point.all()
  for (let sample = 2; sample < count; sample++) yield keep(point, pickSubset(point.sectors.length, random))
}

/**
 * @param {number} count
 * @param {Random} random
 * @returns {(index: number) => boolean}
 */
function pickSubset (count, random) {
  const one = random(count)
  const percent = random(101)
  return pickWeighted(random, [
    [3, (index) => index < one],
    [2, (index) => index >= one],
    [3, (index) => index !== one],
    [2, (index) => index === one],
    [4, () => random(2) === 0],
    [3, () => random(100) < percent]
  ])
}

/**
 * Names, sizes, earlier versions and torn sectors: a few of each, where there are any.
 * @param {CrashPoint} point
 * @param {Random} random
 * @returns {Iterable<Choice>}
 */
function * oddChoices (point, random) {
  const { folders, files, sectors } = point
  for (let index = 0; index < folders.length; index++) {
    for (let kept = 0; kept < Math.min(folders[index].count, 4); kept++) {
      for (const choice of [point.all(), randomChoice(point, random)]) {
        choice.names[index] = kept
        yield choice
      }
    }
  }
  const hasSizes = files.some(({ sizes }) => sizes.length > 1)
  const hasVersions = sectors.some(({ versions }) => versions.length > 1)
  const count = (hasSizes ? 4 : 0) + (hasVersions ? 6 : 0) + Math.min(8, 2 * sectors.length)
  for (let odd = 0; odd < count; odd++) yield randomChoice(point, random)
}

/**
 * @param {CrashPoint} point
 * @param {Random} random
 * @returns {Choice}  one of all that there are
 */
function randomChoice (point, random) {
  const choice = keep(point, point.sectors.length > 0 ? pickSubset(point.sectors.length, random) : () => true)
  const isOdd = random(2) === 0
  point.sectors.forEach(({ versions }, index) => {
    if (versions.length > 1 && random(2) === 0) choice.sectors[index] = random(versions.length + 1)
  })
  if (point.sectors.length > 0 && random(2) === 0) {
    for (let torn = 1 + random(3); torn > 0; torn--) {
      const index = random(point.sectors.length)
      const version = 1 + random(point.sectors[index].versions.length)
      choice.sectors[index] = version + TEAR * (1 + random(TEAR_SEED_MAX))
    }
  }
  if (isOdd) {
    choice.sizes = point.files.map(({ sizes }, index) => random(2) === 0 ? choice.sizes[index] : random(sizes.length))
    choice.names = point.folders.map(({ count }) => random(2) === 0 ? count : random(count + 1))
  }
  return choice
}

/**
 * @param {CrashPoint} point
 * @param {(index: number) => boolean} isKept
 * @returns {Choice}  all names and the last sizes, and these sectors
 */
function keep (point, isKept) {
  const choice = point.all()
  choice.sectors = choice.sectors.map((latest, index) => isKept(index) ? latest : 0)
  return choice
}

exports.everyChoice = everyChoice
exports.pickSubset = pickSubset
exports.randomChoice = randomChoice
exports.sampledChoices = sampledChoices
