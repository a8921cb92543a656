'use strict'
// A forwarder, and a log of which an older copy was restored, and which has gone on with others at the same seqs: all
// but one are the same records as before. None may be missing. And nothing is sent again after deletions and
// compactions.

const fs = require('node:fs')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { collect, createRandom, inQuickRuns, newPath } = require('@millrace/testkit')
const { forward } = require('./helpers')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUND_COUNT = inQuickRuns(60, 10)

for (const [kind, Log] of Object.entries({ OffsetLog, SegmentedLog })) {
  for (const start of ['first', 'next']) {
    tape(`restored: ${kind}, from the ${start} on, no record of the copy is missing (seed ${seed})`, async (t) => {
      const random = createRandom(seed)
      for (let round = 0; round < ROUND_COUNT; round++) {
        const [file, copy, cursor] = [newPath('log'), newPath('copy'), newPath('cursor')]
        const count = 1 + random(12)
        const batch = { count: 1 + random(4) }
        /** @type {(use: (log: any) => any) => Promise<any>} */
        const open = async (use) => {
          const log = Log(file, { codec: jsonCodec, fsync: 'never' })
          await log.ready()
          const result = await use(log)
          await log.close()
          return result
        }
        const append = async (log, values) => { for (const n of values) await log.append({ n }) }
        /** What is sent now. */
        const send = (log, options) => new Promise((resolve, reject) => {
          const sent = []
          const sink = async (records) => { for (const { seq, value } of records) sent.push(`${seq} ${value.n}`) }
          const forwarder = forward(log, { path: cursor, batch, sink, ...options })
          const done = () => resolve({ sent, reports: forwarder.reports })
          forwarder.drained().then(() => forwarder.close()).then(done, reject)
        })
        const common = Array.from({ length: random(20) }, () => 100 + random(5))
        const rest = Array.from({ length: count }, () => 100 + random(5))
        await open((log) => append(log, [...common, 100]))
        fs.cpSync(file, copy, { recursive: true })
        /** @type {(log: any) => Promise<string[]>} */
        const list = async (log) => (await collect(log.stream({}))).map(({ seq, value }) => `${seq} ${value.n}`)
        const sent = await open(async (log) => {
          const first = start === 'next' ? [] : (await send(log)).sent
          await append(log, rest)
          const { sent } = await send(log, { start })
          return [...first, ...sent]
        })
        fs.rmSync(file, { recursive: true })
        fs.renameSync(copy, file)
        const others = rest.slice()
        others[random(count)] += 100
        const added = Array.from({ length: random(4) }, () => 100)
        const again = await open(async (log) => {
          await append(log, [...others, ...added])
          return await send(log)
        })
        const has = await open(list)
        const wanted = start === 'next' ? has.filter((text) => / 2\d\d$/.test(text)) : has
        const missing = wanted.filter((text) => !sent.includes(text) && !again.sent.includes(text))
        if (missing.length > 0) t.fail(`round ${round}: ${missing} is missing`)
        if (again.reports.filter(({ what }) => what === 'cursor').length !== 1) t.fail(`round ${round}: nothing is said`)
      }
      t.pass('all rounds')
    })
  }
}

tape(`restored: nothing is sent again after deletions and compactions (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  for (let round = 0; round < ROUND_COUNT; round++) {
    const file = newPath('log')
    let n = 0
    let log = OffsetLog(file, { codec: jsonCodec, fsync: 'never' })
    const all = []
    const reports = []
    for (let step = 0; step < 6; step++) {
      for (let count = random(8); count > 0; count--) await log.append({ n: n++ })
      const sink = async (records) => { all.push(...records.map(({ value }) => value.n)) }
      const forwarder = forward(log, { batch: { count: 3 }, sink })
      await forwarder.drained()
      await forwarder.close()
      reports.push(...forwarder.reports)
      const seqs = await collect(log.stream({ values: false }))
      for (let count = random(4); count > 0 && seqs.length > 0; count--) {
        await log.del(seqs.splice(random(2) === 0 ? seqs.length - 1 : random(seqs.length), 1))
      }
      if (random(2) === 0) await log.compact()
      if (random(2) === 0) continue
      await log.close()
      log = OffsetLog(file, { codec: jsonCodec, fsync: 'never' })
    }
    await log.close()
    if (all.join() !== Array.from({ length: n }, (_, index) => index).join()) t.fail(`round ${round}: ${all}`)
    if (reports.length > 0) t.fail(`round ${round}: ${reports[0].message}`)
  }
  t.pass('all rounds')
})
