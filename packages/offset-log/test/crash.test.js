'use strict'
// Power cuts on a simulated disk: what legacy framings can promise, which is what was synced.

const { createHash } = require('node:crypto')
const tape = require('tape')
const { SimulatedDisk, createRandom, testLog } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const FILE = '/folder/log'
const seed = Date.now() % 2 ** 31

// The whole contract, on a disk that answers in its own time.
const disks = new Map()
testLog(tape, (path, options) => {
  const disk = disks.get(path) ?? new SimulatedDisk()
  disks.set(path, disk)
  return OffsetLog(path, { storage: disk.storage, ...options })
}, { name: 'simulated disk' })

tape(`crash: what sync has covered is there afterwards, whatever else the disk kept (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const tally = { images: new Set(), opened: 0, refused: 0, recovered: 0 }
  for (let round = 0; round < 150; round++) {
    const disk = new SimulatedDisk()
    const log = OffsetLog(FILE, { storage: disk.storage, framing: ['offset32', 'offset48', 'offset53'][round % 3] })
    const promised = []
    const unpromised = []
    for (let step = 1 + random(5); step > 0; step--) {
      const batch = Array.from({ length: 1 + random(4) }, () => randomText(random))
      unpromised.push(...batch)
      await log.append(batch.map((text) => Buffer.from(text)))
      if (random(2) === 0) {
        await log.sync()
        promised.push(...unpromised.splice(0))
      }
    }
    for (let crash = 0; crash < 4; crash++) await checkCrash(t, disk.crash(random), promised, tally)
    await log.close()
    const { storage } = disk.crash(() => 0)
    if (await textsOf(OffsetLog(FILE, { storage })) !== [...promised, ...unpromised].join()) {
      t.fail('close has synced everything')
    }
  }
  const { images, opened, recovered, refused } = tally
  t.comment(`${images.size} images: ${opened} opened, ${recovered} of them recovered, ${refused} refused`)
  t.ok(tally.opened > tally.images.size / 2)
})

/** A log that opens has all that was promised; one that does not is as the crash left it. */
async function checkCrash (t, disk, promised, tally) {
  const before = disk.list().includes(FILE) ? disk.read(FILE) : Buffer.alloc(0)
  tally.images.add(createHash('sha256').update(before).digest('hex'))
  const log = OffsetLog(FILE, { storage: disk.storage })
  const err = await log.ready().then(() => null, (err) => err)
  if (err) {
    tally.refused++
    if (!/^ERR_LOG_(CORRUPT|UNKNOWN_FORMAT)$/.test(err.code)) t.fail(err.stack)
    if (!disk.read(FILE).equals(before)) t.fail('a log that was refused was changed')
    if (promised.length === 0) return
    // Nothing of what was promised is gone: it can still be read.
    if (err.code === 'ERR_LOG_UNKNOWN_FORMAT') t.fail('a promised record is there, so its framing can be told')
    return
  }
  tally.opened++
  if (log.recovery) tally.recovered++
  const found = await firstTexts(log, promised.length)
  if (found.join() !== promised.join()) t.fail(`promised ${promised}, found ${found}`)
  await log.append(Buffer.from('after'))
  await log.close()
}

async function firstTexts (log, limit) {
  const texts = []
  for await (const value of log.stream({ limit, seqs: false })) texts.push(value.toString())
  return texts
}

async function textsOf (log) {
  const texts = await firstTexts(log, -1)
  await log.close()
  return texts.join()
}

function randomText (random) {
  return String.fromCharCode(97 + random(26)).repeat(1 + random(random(4) === 0 ? 3000 : 200))
}
