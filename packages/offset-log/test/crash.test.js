'use strict'
// Power cuts on a simulated disk. The checked framing promises an exact prefix of what was committed, with all that was
// synced in it; the legacy ones only that what was synced is not lost.

const tape = require('tape')
const { CrashPoint, SimulatedDisk, collect, createRandom, inQuickRuns, testLog } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const FILE = '/folder/log'
// Hundreds of logs are opened here.
const CACHE_SIZE = 2 ** 17
const LEGACY = ['offset32', 'offset48', 'offset53']
const seed = Date.now() % 2 ** 31

// The whole contract, on a disk that answers in its own time.
for (const framing of ['checked', 'offset32']) {
  const disks = new Map()
  testLog(tape, (path, options) => {
    const disk = disks.get(path) ?? new SimulatedDisk()
    disks.set(path, disk)
    return OffsetLog(path, { storage: disk.storage, framing, ...options })
  }, { name: `simulated disk, ${framing}` })
}

tape(`crash: a checked log is an exact prefix of the commits, and has all that was synced (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const images = new Set()
  let recovered = 0
  for (let round = 0; round < inQuickRuns(90, 2); round++) {
    const fsync = ['always', 'interval', 'never'][round % 3]
    const disk = new SimulatedDisk()
    const log = OffsetLog(FILE, { storage: disk.storage, fsync })
    const commits = []
    for (let step = 1 + random(5); step > 0; step--) {
      const commit = { texts: Array.from({ length: 1 + random(4) }, () => randomText(random)), isPromised: false }
      commits.push(commit)
      // Half of the crashes come while a write is under way: then nobody knows which side of it they fall on.
      const written = log.append(commit.texts.map((text) => Buffer.from(text)))
      if (random(2) === 0) recovered += await checkPrefix(t, disk.crash(random), commits, images)
      await written
      commit.isPromised = fsync === 'always'
      if (random(3) === 0) {
        await log.sync()
        for (const commit of commits) commit.isPromised = true
      }
      recovered += await checkPrefix(t, disk.crash(random), commits, images)
    }
    await log.close()
    for (const commit of commits) commit.isPromised = true
    await checkPrefix(t, disk.crash(random), commits, images)
  }
  t.comment(`${images.size} images, ${recovered} of them recovered`)
  t.ok(images.size > 100 && recovered > 20)
})

/** @returns {Promise<number>}  1 when there was something to recover */
async function checkPrefix (t, disk, commits, images) {
  images.add(hashOf(disk))
  const log = OffsetLog(FILE, { storage: disk.storage, cache: CACHE_SIZE })
  const texts = await firstTexts(log, -1)
  const promised = commits.findLastIndex(({ isPromised }) => isPromised) + 1
  const counts = [0]
  for (const commit of commits) counts.push(counts.at(-1) + commit.texts.length)
  const found = counts.indexOf(texts.length)
  const expected = commits.flatMap((commit) => commit.texts).slice(0, texts.length)
  if (found === -1 || texts.join() !== expected.join()) t.fail(`no prefix of the commits: ${texts}`)
  if (found < promised) t.fail(`${promised} commits were promised, ${found} are there`)
  if (log.recovery?.damage.length > 0) t.fail(`called damaged: ${JSON.stringify(log.recovery)}`)
  const wasRecovered = log.recovery === null ? 0 : 1
  await log.append(Buffer.from('after'))
  await log.close()
  const again = OffsetLog(FILE, { storage: disk.crash(() => 0).storage, cache: CACHE_SIZE })
  if ((await textsOf(again)) !== [...texts, 'after'].join()) t.fail('what was appended afterwards is not there')
  if (again.recovery !== null) t.fail(`recovered twice: ${JSON.stringify(again.recovery)}`)
  return wasRecovered
}

tape(`crash: what sync has covered is there afterwards, in legacy framings too (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const tally = { images: new Set(), opened: 0, readOnly: 0, refused: 0, recovered: 0 }
  for (let round = 0; round < inQuickRuns(150, 2); round++) {
    const disk = new SimulatedDisk()
    const log = OffsetLog(FILE, { storage: disk.storage, framing: LEGACY[round % 3] })
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
    for (let crash = 0; crash < 4; crash++) await checkPromised(t, disk.crash(random), promised, tally)
    await log.close()
    const { storage } = disk.crash(() => 0)
    if (await textsOf(OffsetLog(FILE, { storage })) !== [...promised, ...unpromised].join()) {
      t.fail('close has synced everything')
    }
  }
  const { images, opened, recovered, readOnly, refused } = tally
  t.comment(`${images.size} images: ${opened} opened, ${recovered} of them recovered, ${readOnly} for reading, ${refused} refused`)
  t.ok(tally.opened > tally.images.size / 2)
})

/** A log that opens has all that was promised; where it may not be written, or not even read, it is left as it was. */
async function checkPromised (t, disk, promised, tally) {
  const before = disk.list().includes(FILE) ? disk.read(FILE) : Buffer.alloc(0)
  tally.images.add(hashOf(disk))
  const log = OffsetLog(FILE, { storage: disk.storage, framing: 'offset32' })
  const err = await log.ready().then(() => null, (err) => err)
  if (err) {
    tally.refused++
    if (err.code !== 'ERR_LOG_UNKNOWN_FORMAT') t.fail(err.stack)
    if (!disk.read(FILE).equals(before)) t.fail('a log that was refused was changed')
    if (promised.length > 0) t.fail('a promised record is there, so its framing can be told')
    return
  }
  const found = await firstTexts(log, promised.length)
  if (found.join() !== promised.join()) t.fail(`promised ${promised}, found ${found}`)
  const [damage] = log.recovery?.damage ?? []
  if (damage) {
    tally.readOnly++
    if (!(damage.offset >= 0 && damage.size > 0 && damage.offset + damage.size <= before.length)) {
      t.fail(`damage without a range: ${JSON.stringify(damage)}`)
    }
    const refusal = await log.append(Buffer.from('after')).then(() => null, (err) => err)
    if (refusal?.code !== 'ERR_LOG_READ_ONLY' || refusal.cause.code !== 'ERR_LOG_CORRUPT') t.fail(`${refusal?.stack}`)
    await log.close()
    if (!disk.read(FILE).equals(before)) t.fail('a log with damage in it was changed')
    return
  }
  tally.opened++
  if (log.recovery) tally.recovered++
  await log.append(Buffer.from('after'))
  await log.close()
}

/** @param {SimulatedDisk} disk  that nobody has written to yet */
function hashOf (disk) {
  const point = new CrashPoint(disk)
  return point.choose(point.all()).hash
}

async function firstTexts (log, limit) {
  return (await collect(log.stream({ limit, seqs: false }))).map((value) => value.toString())
}

async function textsOf (log) {
  const texts = await firstTexts(log, -1)
  await log.close()
  return texts.join()
}

function randomText (random) {
  return String.fromCharCode(97 + random(26)).repeat(1 + random(random(4) === 0 ? 3000 : 200))
}
