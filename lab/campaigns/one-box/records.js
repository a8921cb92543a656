// @ts-nocheck
'use strict'
// The records of the box: each follows from its number, so that whoever reads one can tell whether it is right. And
// filters, each beside a plain function that says the same.

const { createRandom } = require('@millrace/testkit')

const TYPES = ['post', 'vote', 'about', 'kept']
const TAGS = ['red', 'green', 'blue']
const WARM_UP_COUNT = 8
const BEGIN_MS = Date.UTC(2026, 0, 1)
/** Numbers of one life of a writer. */
const LIFE_SIZE = 1_000_000

function createValue (n) {
  const random = createRandom(Math.imul(n + 1, 0x9e3779b1) | 0)
  for (let i = 0; i < WARM_UP_COUNT; i++) random(2)
  return {
    n,
    user: `u${random(3) === 0 ? random(4) : random(300)}`,
    type: TYPES[random(TYPES.length)],
    price: random(1000),
    tags: TAGS.filter(() => random(3) === 0),
    at: new Date(BEGIN_MS + (n % LIFE_SIZE) * 1000 - random(9000)).toISOString(),
    text: 'äbc'[random(3)].repeat(random(20) === 0 ? random(3000) : random(300))
  }
}

function isRight (value) {
  return JSON.stringify(value) === JSON.stringify(createValue(value?.n ?? -1))
}

/** The paths that an index may have. */
const PATHS = ['user', 'type', { path: 'tags', each: true }, { path: 'price', range: true }, { path: 'at', range: true }, 'n']

/** @returns {{ where: object, matches: (value: any) => boolean }} */
function chooseFilter (random, n) {
  const { user, price, at } = createValue(n)
  const filters = [
    [{ path: 'user', equals: user }, (value) => value.user === user],
    [{ path: 'user', in: [user, 'u1'] }, (value) => value.user === user || value.user === 'u1'],
    [{ path: 'n', equals: n }, (value) => value.n === n],
    [{ path: 'type', equals: 'kept' }, (value) => value.type === 'kept'],
    [{ path: 'user', equals: 'nobody' }, () => false],
    [{ path: 'tags', includes: 'red' }, (value) => value.tags.includes('red')],
    [{ path: 'price', gte: price, lt: price + 20 }, (value) => value.price >= price && value.price < price + 20],
    [{ path: 'at', time: { gte: at, lt: toTime(at, 60_000) } }, (value) => value.at >= at && value.at < toTime(at, 60_000)],
    [[{ path: 'user', equals: 'u2' }, { path: 'price', lt: 300 }], (value) => value.user === 'u2' && value.price < 300],
    [{ any: [{ path: 'user', equals: user }, { path: 'price', equals: price }] }, (value) => value.user === user || value.price === price],
    [{ not: { path: 'user', equals: user } }, (value) => value.user !== user]
  ]
  const [where, matches] = filters[random(filters.length)]
  return { where, matches }
}

const toTime = (at, ms) => new Date(Date.parse(at) + ms).toISOString()

exports.LIFE_SIZE = LIFE_SIZE
exports.PATHS = PATHS
exports.chooseFilter = chooseFilter
exports.createValue = createValue
exports.isRight = isRight
