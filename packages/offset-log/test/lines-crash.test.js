'use strict'
// Power cuts on a simulated disk, under a log of lines: it has an exact prefix of what was committed, with all that was
// promised, and the file is JSON Lines.

const tape = require('tape')
const { SimulatedDisk, createRandom, inQuickRuns } = require('@millrace/testkit')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('..')

const FILE = '/folder/events.jsonl'
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUNDS = process.env.LONG ? 3000 : inQuickRuns(90, 2)

const openOn = ({ storage }, options) => {
  return OffsetLog(FILE, { framing: 'lines', codec: jsonCodec, storage, cache: 2 ** 17, ...options })
}

async function valuesOf (log) {
  const values = []
  for await (const value of log.stream({ seqs: false })) values.push(value)
  return values
}

/** What any other program reads there. */
function parse (disk) {
  const text = disk.list().includes(FILE) ? disk.read(FILE).toString() : ''
  return text.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line))
}

/** `scale`: with large texts, the sums move their base. */
function makeValue (random, n, scale) {
  return { n, text: 'x'.repeat(scale * (random(6) === 0 ? random(9000) : random(60))) }
}

/** What is promised while a cut is checked does not count. */
const copyOf = (commits) => commits.map((commit) => ({ ...commit }))

/**
 * Appends and syncs at random, and cuts the power now and then.
 * @type {(fsync: string, check: Function) => Promise<void>}
 */
async function runWorkload (random, fsync, check) {
  const commits = []
  const cuts = []
  // Also between the writes and syncs of one append.
  const onChange = () => {
    if (random(8) === 0) cuts.push([disk.crash(random), copyOf(commits)])
  }
  const disk = new SimulatedDisk({ onChange })
  const log = openOn(disk, { fsync })
  let n = 0
  const scale = random(5) === 0 ? 300 : 1
  for (let step = 1 + random(8); step > 0; step--) {
    const calls = Array.from({ length: 1 + random(3) }, () => {
      const values = Array.from({ length: random(2) ? 1 : 2 + random(3) }, () => makeValue(random, n++, scale))
      return { values, isPromised: false }
    })
    const earlier = [...commits]
    commits.push(...calls)
    const isSynced = random(3) === 0
    const written = Promise.all(calls.map(({ values }) => log.append(values.length === 1 ? values[0] : values)))
    // Its promise is given while others append.
    const syncing = isSynced ? log.sync().then(() => { for (const commit of earlier) commit.isPromised = true }) : null
    if (random(2) === 0) await check(disk.crash(random), copyOf(commits))
    await Promise.all([written, syncing])
    if (fsync === 'always') for (const call of calls) call.isPromised = true
    if (random(3) === 0) {
      await log.sync()
      for (const commit of commits) commit.isPromised = true
    }
    await check(disk.crash(random), commits)
    for (const [cut, known] of cuts.splice(0)) await check(cut, known)
  }
  await log.close()
  for (const commit of commits) commit.isPromised = true
  await check(disk.crash(random), commits)
}

/** @returns {Promise<number>}  how many commits are there */
async function checkPrefix (t, name, disk, commits) {
  const fail = (what) => t.fail(`${name}: ${what}`)
  const log = openOn(disk)
  const values = await valuesOf(log)
  const counts = [0]
  for (const commit of commits) counts.push(counts.at(-1) + commit.values.length)
  const found = counts.indexOf(values.length)
  const expected = commits.flatMap((commit) => commit.values).slice(0, values.length)
  if (found === -1 || JSON.stringify(values) !== JSON.stringify(expected)) fail(`no prefix of the commits: ${values.map(({ n }) => n)}`)
  const promised = commits.findLastIndex(({ isPromised }) => isPromised) + 1
  if (found !== -1 && found < promised) fail(`${promised} commits were promised, ${found} are there`)
  if (log.recovery?.changed) fail(`called changed: ${log.recovery.changed}`)
  if (JSON.stringify(parse(disk)) !== JSON.stringify(values)) fail('the file is not these lines')
  await log.append({ after: 1 })
  await log.close()
  const again = openOn(disk.crash(() => 0))
  if (JSON.stringify(await valuesOf(again)) !== JSON.stringify([...values, { after: 1 }])) fail('what was appended afterwards is not there')
  if (again.recovery !== null) fail(`recovered twice: ${JSON.stringify(again.recovery)}`)
  await again.close()
  return found
}

for (const fsync of ['always', 'interval', 'never']) {
  tape(`lines: after a power cut the log is an exact prefix of the commits (${fsync}, seed ${seed})`, async (t) => {
    let [cuts, whole] = [0, 0]
    for (let round = 0; round < ROUNDS / 3; round++) {
      const random = createRandom(seed + round)
      await runWorkload(random, fsync, async (disk, commits) => {
        cuts++
        if (await checkPrefix(t, `seed ${seed + round}`, disk, commits) === commits.length) whole++
      })
    }
    t.ok(cuts > whole && whole > 0, `${cuts} power cuts, ${whole} took nothing`)
  })
}

tape('lines: what a sync promises while a first batch is described is there after a power cut', async (t) => {
  const disk = new SimulatedDisk()
  /** The sync of the folder, which comes after that of the file. */
  let release = null
  const syncFolder = (folder, cb) => {
    const run = () => disk.storage.syncFolder(folder, cb)
    if (folder !== '/folder' || release === null) return run()
    release.resolve(run)
  }
  let log = openOn(disk, { fsync: 'interval' })
  await log.append({ n: 0 })
  await log.close()
  log = openOn({ storage: { ...disk.storage, syncFolder } }, { fsync: 'interval' })
  await log.append({ n: 1, text: 'x'.repeat(9000) })
  const held = new Promise((resolve) => { release = { resolve } })
  const syncing = log.sync()
  const run = await held
  release = null
  await log.append({ n: 2, text: 'x'.repeat(9000) })
  const batch = log.append([{ n: 3 }, { n: 4 }])
  for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
  run()
  await syncing
  const random = createRandom(1)
  for (let cut = 0; cut < 100; cut++) {
    const after = openOn(disk.crash(random))
    const values = await valuesOf(after)
    if (values[1]?.n !== 1) t.fail(`${values.map(({ n }) => n)} is left`)
    await after.close()
  }
  await batch
  t.deepEqual((await valuesOf(log)).map(({ n }) => n), [0, 1, 2, 3, 4])
  await log.close()
})

tape('lines: if a description of a batch could not be synced, the log takes no more until it is opened again', async (t) => {
  let fails = false
  const decide = ({ name, path }) => {
    if (fails && name === 'sync' && path.endsWith('.sums')) return { code: 'EIO' }
  }
  const disk = new SimulatedDisk({ decide })
  const log = openOn(disk, { fsync: 'never' })
  await log.append({ n: 0 })
  fails = true
  // Nobody knows which descriptions the disk has, and a second sync would not tell.
  for (const batch of [[{ n: 1 }, { n: 2 }], [{ n: 3 }, { n: 4 }]]) {
    const err = await log.append(batch).catch((err) => err)
    t.equal(err.code, 'ERR_LOG_POISONED', err.message)
    fails = false
  }
  t.deepEqual((await valuesOf(log)).map(({ n }) => n), [0], 'the batch that failed left nothing')
  await log.close().catch(() => {})
  const random = createRandom(1)
  for (let cut = 0; cut < 50; cut++) {
    const again = openOn(disk.crash(random))
    const left = await valuesOf(again)
    await again.append([{ n: 5 }, { n: 6 }])
    const values = await valuesOf(again)
    if (left.length > 1 || values.length !== left.length + 2) t.fail(`${values.map(({ n }) => n)}`)
    await again.close()
  }
})

tape(`lines: without the file of sums, whole lines are there, and all that was promised (seed ${seed})`, async (t) => {
  let cuts = 0
  for (let round = 0; round < ROUNDS / 6; round++) {
    const random = createRandom(seed + round)
    await runWorkload(random, 'always', async (disk, commits) => {
      cuts++
      const sums = disk.list().find((name) => name.endsWith('.sums'))
      if (sums === undefined) return
      await new Promise((resolve, reject) => disk.storage.unlink(sums, (err) => err ? reject(err) : resolve()))
      const log = openOn(disk)
      const values = []
      for await (const value of log.stream({ seqs: false, onCorrupt: 'skip' })) values.push(value)
      const all = commits.flatMap(({ values }) => values).map((value) => JSON.stringify(value))
      if (!values.every((value) => all.includes(JSON.stringify(value)))) t.fail(`seed ${seed + round}: a line that nobody wrote`)
      for (const { values: wanted, isPromised } of commits) {
        if (isPromised && !wanted.every(({ n }) => values.some((value) => value.n === n))) t.fail(`seed ${seed + round}: a promised line is gone`)
      }
      await log.close()
    })
  }
  t.pass(`${cuts} power cuts`)
})
