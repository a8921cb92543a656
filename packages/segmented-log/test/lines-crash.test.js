'use strict'
// Power cuts on a simulated disk, under a log of segments of lines that is appended to without waiting: batches are
// atomic, also the first one of a segment.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, collect, createRandom, inQuickRuns } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const FOLDER = '/logs'
const CUTS = inQuickRuns(6, 3)
const SEGMENTS = inQuickRuns(12, 3)
const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31

const openOn = ({ storage }, options) => SegmentedLog(FOLDER, { framing: 'lines', codec: jsonCodec, storage, ...options })

/** Numbers, so large that a power cut may take any part of them. */
const makeBatch = (first) => [0, 1, 2].map((index) => ({ n: first + index, text: 'x'.repeat(700) }))

/** @type {Record<string, (log: any, batch: object[], isSynced: boolean, turns: number) => void | Promise<void>>} */
const calls = {
  appendSync: (log, batch, isSynced) => log.appendSync(batch, { sync: isSynced }),
  flushSync: (log, batch, isSynced) => {
    log.append(batch).catch(() => {})
    log.flushSync({ sync: isSynced })
  },
  'flushSync later': async (log, batch, isSynced, turns) => {
    log.append(batch).catch(() => {})
    // The file of sums is being made.
    for (; turns > 0; turns--) await new Promise(setImmediate)
    log.flushSync({ sync: isSynced })
  }
}

/** @returns {Promise<string | null>}  what is wrong with a log after a crash */
async function faultOf (disk, promised) {
  const log = openOn(disk)
  const numbers = (await collect(log.stream({ seqs: false }))).map(({ n }) => n)
  const { recovery } = log
  await log.append({ n: -1 })
  await log.close()
  if (numbers.some((n, index) => n !== index)) return `not what was appended: ${numbers}`
  if (numbers.length % 3 !== 0) return `a part of a batch: ${numbers}`
  if (numbers.length < promised) return `${promised} were promised, ${numbers} are there`
  return recovery?.changed ?? null
}

for (const fsync of ['always', 'interval', 'never']) {
  for (const [name, call] of Object.entries(calls)) {
    tape(`lines: the first batch of a segment is atomic across a power cut (${name}, ${fsync}, seed ${seed})`, async (t) => {
      const random = createRandom(seed)
      let promised = 0
      const images = []
      const onChange = () => images.push([disk.clone({ onChange: null }), promised])
      const disk = new SimulatedDisk({ onChange })
      const log = openOn(disk, { fsync })
      await log.ready()
      for (let segment = 0; segment < SEGMENTS; segment++) {
        for (let batch = 0; batch < 3; batch++) {
          const isSynced = batch === 1
          await call(log, makeBatch(9 * segment + 3 * batch), isSynced, segment)
          if (isSynced) promised = 9 * segment + 6
          onChange()
        }
        await log.roll()
        promised = 9 * (segment + 1)
      }
      await log.close()
      const faults = new Set()
      for (const [image, expected] of images) {
        for (let cut = 0; cut < CUTS; cut++) {
          const fault = await faultOf(image.crash(random), expected).catch((err) => err.message)
          if (fault) faults.add(fault)
        }
      }
      t.deepEqual([...faults].slice(0, 5), [], `${images.length} steps, ${CUTS} power cuts before each`)
    })
  }
}
