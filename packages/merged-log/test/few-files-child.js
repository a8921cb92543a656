'use strict'
// Several slots of many segments, and their merged log, with indexes, in a process that may have few files open.
// Usage: node few-files-child.js <folder> <seed> <segments> <steps>, see few-files.test.js

const { createIndex } = require('@millrace/index')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, createRandom, until } = require('@millrace/testkit')
const { MergedLog, SlotLog } = require('..')

const TUNING = { recordsMax: 10, fanOut: 2, waitMs: 1, cachedPages: 5 }
const createSmallIndex = () => createIndex(['type', { path: 'n', range: true }], { tuning: TUNING })

async function run ([folder, seed, segments, steps]) {
  const random = createRandom(Number(seed))
  const open = () => SlotLog(folder, { codec: jsonCodec, fsync: 'never', index: createSmallIndex() })
  const writers = Array.from({ length: 3 }, open)
  let count = 0
  const append = async (writer) => {
    await writer.append(Array.from({ length: 1 + random(20) }, () => ({ n: count++, type: `t${random(20)}` })))
    await writer.roll()
  }
  for (const writer of writers) for (let left = Number(segments); left > 0; left--) await append(writer)
  const options = [{ index: createSmallIndex() }, {}]
  const logs = options.map((more) => MergedLog(folder, { codec: jsonCodec, ...more }))
  const opened = logs.map((log) => {
    const slots = new Map()
    log.eachSlot((slotLog, slot) => slots.set(slot, slotLog))
    return slots
  })
  await Promise.all(logs.map((log) => log.ready()))
  for (let step = 0; step < Number(steps); step++) {
    await append(writers[random(3)])
    for (const slots of opened) {
      await until(() => writers.every(({ slot }) => slots.has(slot)))
      for (const log of slots.values()) await log.refresh()
    }
    const n = random(count)
    const where = [{ path: 'type', equals: `t${random(22)}` }, { path: 'n', gte: n, lt: n + random(60) }][random(2)]
    const answers = await Promise.all(logs.map(async (log) => JSON.stringify([
      await collect(log.stream({ where })),
      await collect(log.stream({ where, reverse: true, values: false })),
      await log.count({ where }),
      await log.first({ where }),
      await log.last({ where })
    ])))
    if (answers[0] !== answers[1]) throw new Error(`step ${step}, ${JSON.stringify(where)}: ${answers}`.slice(0, 900))
  }
  for (const log of [...logs, ...writers]) await log.close()
}

run(process.argv.slice(2)).catch((err) => {
  console.error(err)
  process.exit(1)
})
