'use strict'
// The place of a reader that was saved while the log was durable up to there is proven after kills and power cuts,
// deletions and compactions: nothing is folded, counted or sent again without a reason.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { findDoubt, provePlace } = require('@millrace/offset-log/composing')
const { SegmentedLog } = require('@millrace/segmented-log')
const { SimulatedDisk, collect, createRandom, inQuickRuns } = require('@millrace/testkit')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const SIZES = [10, 3000, 30_000]
const kinds = {
  checked: [OffsetLog, {}],
  lines: [OffsetLog, { framing: 'lines' }],
  'checked segments': [SegmentedLog, {}],
  'segments of lines': [SegmentedLog, { framing: 'lines' }]
}

/** @type {(random: (limit: number) => number, log: any, save: () => Promise<void>) => any} */
async function step (random, log, save) {
  const make = () => ({ n: random(1000), text: 'x'.repeat(SIZES[random(SIZES.length)]) })
  const kind = random(8)
  if (kind < 3) await log.append(Array.from({ length: 1 + random(4) }, make))
  else if (kind === 3) log.append(make()).catch(() => {})
  else if (kind === 4) await save()
  else if (kind === 5 && log.roll) await log.roll()
  else if (kind === 6 && log.supports.del) {
    const seqs = await collect(log.stream({ values: false }))
    if (seqs.length > 1) await log.del(seqs[random(seqs.length)])
  } else if (kind === 7 && log.supports.compact && random(3) === 0) await log.compact()
}

for (const [kind, [Log, options]] of Object.entries(kinds)) {
  tape(`places: of ${kind}, after kills and power cuts (seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    const doubts = []
    for (let round = 0; round < inQuickRuns(150, 15); round++) {
      let disk = new SimulatedDisk()
      const open = async () => {
        const fsync = random(3) === 0 ? 'always' : 'never'
        const log = Log('/folder/log', { codec: jsonCodec, storage: disk.storage, fsync, ...options })
        await log.ready()
        return log
      }
      let log = await open()
      let saved = null
      for (let life = 0; life < 4; life++) {
        for (let count = 12; count > 0; count--) {
          await step(random, log, async () => {
            const place = await provePlace(log, log.since.value)
            await log.sync()
            saved = place
          })
        }
        const end = random(3)
        const left = end === 0 ? disk : end === 1 ? disk.clone() : disk.crash(random)
        await log.close()
        disk = left
        log = await open()
        const doubt = saved && await findDoubt(log, saved)
        if (doubt) doubts.push(`round ${round}, life ${life}: ${doubt}`)
      }
      await log.close()
    }
    t.deepEqual(doubts.slice(0, 3), [])
  })
}

tape('places: a text that was changed, and opened again, after its log was proven is not proven as it is now', async (t) => {
  const disk = new SimulatedDisk()
  const use = async (run) => {
    const log = SegmentedLog('/log', { codec: jsonCodec, framing: 'lines', openSegments: 1, storage: disk.storage })
    await log.ready()
    const result = await run(log)
    await log.close()
    return result
  }
  let place = await use(async (log) => {
    for (let n = 0; n < 3; n++) {
      await log.append([{ n: 100 }, { n: 101 }])
      await log.roll()
    }
    await log.append({ n: 102 })
    return provePlace(log, log.since.value)
  })
  place = await use(async (log) => {
    t.equal(await findDoubt(log, place), null)
    // Another segment is opened instead of the first one.
    await collect(log.stream({ seqs: false }))
    const [{ path }] = await log.segments()
    disk.damage(path, (bytes) => { bytes[bytes.indexOf('"n":') + 4] = 0x37 })
    return provePlace(log, log.since.value)
  })
  t.match(String(await use((log) => findDoubt(log, place))), /other records/)
})
