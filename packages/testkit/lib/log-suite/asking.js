'use strict'
// The part of the log suite about calls that give one answer: count, first, last, getMany.

const { createRandom, failureOf, inQuickRuns } = require('../tools')
const { appendEach, collect, deleteSome, isSame, seqBetween } = require('./helpers')

const ROUND_COUNT = inQuickRuns(200)

/** @param {import('../log-suite').Suite} suite */
function addAskingTests ({ seed, test }) {
  const random = createRandom(seed)
  test(`count, first and last: random ranges give what a stream gives (seed ${seed})`, async (t, log) => {
    const seqs = await appendEach(log, Array.from({ length: 60 }, (_, n) => ({ n, odd: n % 2 === 1 })))
    await deleteSome(log, seqs.filter(() => random(4) === 0))
    for (let round = 0; round < ROUND_COUNT; round++) {
      /** @type {any} */
      const range = {}
      for (const name of ['gt', 'gte', 'lt', 'lte']) if (random(4) === 0) range[name] = seqs[random(60)] + random(3) - 1
      if (random(3) === 0) range.where = { path: ['odd'], equals: true }
      const entries = await collect(log.stream(range))
      const answers = [await log.count(range), await log.first(range), await log.last(range)]
      const expected = [entries.length, entries[0], entries[entries.length - 1]]
      if (!isSame(answers, expected)) t.fail(`${JSON.stringify(range)}: ${JSON.stringify({ answers, expected })}`)
    }
    t.equal(await log.count({ limit: 3 }), 3)
  })

  test('first and last: seqs and values shape the item, and an empty range has none', async (t, log) => {
    t.equal(await log.first(), undefined)
    t.equal(await log.last({ seqs: false }), undefined)
    t.equal(await log.count(), 0)
    const seqs = await appendEach(log, ['a', 'b', 'c'])
    t.deepEqual(await log.first(), { seq: seqs[0], value: 'a' })
    t.equal(await log.first({ seqs: false, gt: seqs[0] }), 'b')
    t.equal(await log.last({ values: false }), seqs[2])
    t.equal(await log.last({ gt: seqs[2] }), undefined)
    /** @type {(resolve: (count: any) => void) => void} */
    const countByCallback = (resolve) => {
      log.count({ gte: seqs[1] }, (/** @type {any} */ err, /** @type {any} */ count) => resolve(err ?? count))
    }
    t.equal(await new Promise(countByCallback), 2)
  })

  test('getMany: gives the values in the order of the seqs, undefined for what was deleted', async (t, log) => {
    const values = Array.from({ length: 500 }, (_, n) => ({ n, text: 'x'.repeat(n) }))
    const seqs = await appendEach(log, values)
    const deleted = await deleteSome(log, [seqs[7]])
    const expectedOf = (/** @type {number} */ n) => deleted.includes(seqs[n]) ? undefined : values[n]
    const wanted = Array.from({ length: 1000 }, () => random(500))
    const expected = wanted.map(expectedOf)
    t.ok(isSame(await log.getMany(wanted.map((n) => seqs[n])), expected))
    t.deepEqual(await log.getMany([]), [])
    t.deepEqual(await log.getMany([seqs[7]]), [expectedOf(7)])
  })

  test('getMany: a seq that names no record fails it, with the place of the seq in the list', async (t, log) => {
    const [first, second] = await appendEach(log, ['aaaaaaaa', 'bbbbbbbb'])
    const err = await failureOf(() => log.getMany([first, seqBetween(first, second)]))
    t.deepEqual([err?.code, err?.index], ['ERR_RECORD_NOT_FOUND', 1])
    for (const seqs of [null, 7, {}, ['0'], [undefined]]) {
      t.equal((await failureOf(() => log.getMany(seqs)))?.code, 'ERR_INVALID_ARGUMENT', JSON.stringify(seqs))
    }
  })

  test('options: one that there is not is refused', async (t, log) => {
    await log.append('a')
    const calls = {
      count: () => log.count({ limt: 1 }),
      first: () => log.first({ reverse: true }),
      last: () => log.last({ filter: () => true }),
      getMany: () => log.getMany([], { Where: 1 }),
      toReadable: () => collectNode(log.toReadable({ Where: 1 }))
    }
    for (const [name, call] of Object.entries(calls)) {
      t.equal((await failureOf(call))?.code, 'ERR_INVALID_ARGUMENT', name)
    }
  })

  test('options: under strict: true every read refuses one that there is not', async (t, log) => {
    const seq = await log.append('a')
    for (const options of [{ limt: 1 }, { Where: {} }, { filter: () => true }]) {
      const calls = {
        stream: () => collect(log.stream(options)),
        scan: () => log.scan(options, () => {}),
        get: () => log.get(seq, options)
      }
      for (const [name, call] of Object.entries(calls)) {
        const err = await failureOf(call)
        t.equal(err?.code, 'ERR_INVALID_ARGUMENT', name)
        t.ok(err?.message.includes(Object.keys(options)[0]), err?.message)
      }
    }
    t.deepEqual(await collect(log.stream({ limit: 1, limt: undefined, seqs: false })), ['a'])
  }, { strict: true })

  test('a list is taken for no options', async (t, log) => {
    const seq = await log.append('a')
    for (const options of [[], ['a']]) {
      const calls = {
        stream: () => collect(log.stream(options)),
        toReadable: () => collectNode(log.toReadable(options)),
        scan: () => log.scan(options, () => {}),
        count: () => log.count(options),
        first: () => log.first(options),
        last: () => log.last(options),
        explain: () => log.explain(options),
        get: () => log.get(seq, options),
        getMany: () => log.getMany([seq], options),
        append: () => log.append('b', options)
      }
      for (const [name, call] of Object.entries(calls)) t.equal((await failureOf(call))?.code, 'ERR_INVALID_ARGUMENT', name)
    }
    t.deepEqual(await collect(log.stream({ seqs: false })), ['a'])
  })
}

/** @param {import('node:stream').Readable} readable */
async function collectNode (readable) {
  const items = []
  for await (const item of readable) items.push(item)
  return items
}

exports.addAskingTests = addAskingTests
