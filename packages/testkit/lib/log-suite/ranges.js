'use strict'
// Tests ranges, limits and filters of a log against a plain array.

const { createRandom, inQuickRuns } = require('../tools')
const { collect, deleteSome, isSame, scanAll } = require('./helpers')

const ROUND_COUNT = inQuickRuns(400)

/** @param {import('../log-suite').Suite} suite */
function addRangeTests ({ seed, test }) {
  const random = createRandom(seed)
  test(`stream and scan: random options give what an array gives (seed ${seed})`, async (t, log) => {
    const model = await fill(log, random)
    let failures = 0
    for (let round = 0; round < ROUND_COUNT && failures < 3; round++) {
      const options = randomOptions(random, model)
      const expected = select(model, options)
      const streamed = await collect(log.stream(options))
      const scanned = (await scanAll(log, options)).map(({ seq, bytes }) => ({ seq, value: JSON.parse(String(bytes)) }))
      if (!isSame(streamed, expected) || !isSame(scanned, expected)) {
        failures++
        t.fail(`${JSON.stringify(options)}: expected ${seqsOf(expected)}, stream gave ${seqsOf(streamed)}, ` +
          `scan gave ${seqsOf(scanned)}`)
      }
    }
    t.equal(failures, 0, `${ROUND_COUNT} rounds over ${model.length} records`)
  }, { blockSize: 64 + random(4096) })

  test('limit: counts what is delivered, not what is deleted or filtered', async (t, log) => {
    const seqs = []
    for (const n of [0, 1, 2, 3, 4, 5]) seqs.push(await log.append({ odd: n % 2 === 1, n }))
    const from = (await deleteSome(log, [seqs[0], seqs[1]])).length > 0 ? 0 : seqs[2]
    const ns = async (/** @type {object} */ options) => {
      return (await collect(log.stream({ gte: from, ...options }))).map(({ value }) => value.n)
    }
    t.deepEqual(await ns({ limit: 2 }), [2, 3])
    t.deepEqual(await ns({ limit: 2, reverse: true }), [5, 4])
    t.deepEqual(await ns({ limit: 2, where: { path: ['odd'], equals: true } }), [3, 5])
    t.deepEqual(await ns({ limit: 0 }), [])
    t.deepEqual(await ns({ limit: -1 }), [2, 3, 4, 5])
  })
}

/**
 * @typedef {Array<{ seq: number, value: any }>} Model
 * @param {any} log
 * @param {(limit: number) => number} random
 * @returns {Promise<Model>}  the records that were not deleted
 */
async function fill (log, random) {
  const model = []
  for (let i = 0; i < 120; i++) {
    const value = { i, kind: ['vote', 'post', 'about'][random(3)], text: 'é'.repeat(random(random(10) === 0 ? 3000 : 40)) }
    model.push({ seq: await log.append(value), value })
  }
  const chosen = model.filter(() => random(5) === 0).map(({ seq }) => seq)
  const deleted = new Set(await deleteSome(log, chosen))
  return model.filter(({ seq }) => !deleted.has(seq))
}

/** @param {(limit: number) => number} random @param {Model} model */
function randomOptions (random, model) {
  const { seq: last } = model[model.length - 1]
  const bound = () => {
    const kind = random(8)
    if (kind === 0) return -1 - random(3)
    if (kind === 1) return last + random(100)
    if (kind === 2) return random(last + 1) + 0.5
    if (kind < 5) return random(last + 1)
    return model[random(model.length)].seq
  }
  /** @type {any} */
  const options = {}
  for (const name of ['gt', 'gte', 'lt', 'lte']) if (random(4) === 0) options[name] = bound()
  if (random(2)) options.reverse = true
  if (random(3) === 0) options.limit = random(20)
  if (random(4) === 0) options.where = { path: ['kind'], equals: ['vote', 'post', 'nothing'][random(3)] }
  return options
}

/** @param {Model} model @param {any} options */
function select (model, options) {
  const { gt = -Infinity, gte = -Infinity, lt = Infinity, lte = Infinity, reverse, limit = Infinity, where } = options
  const inRange = model.filter(({ seq, value }) => seq > gt && seq >= gte && seq < lt && seq <= lte &&
    (!where || value.kind === where.equals))
  return (reverse ? inRange.reverse() : inRange).slice(0, limit)
}

/** @param {Model} items */
const seqsOf = (items) => items.map(({ seq }) => seq).join(' ')

exports.addRangeTests = addRangeTests
