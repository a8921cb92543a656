'use strict'
// Every call of a workload to its storage fails in turn, once and for good: whatever fails says so, nothing hangs, and
// what was promised before is there afterwards. A quick run tries every fourth call of a workload, and others with the
// next one.

const tape = require('tape')
const { SimulatedDisk, failureOf, inQuickRuns, isLongRun } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { failEach } = require('./failing-work')

const FILE = '/folder/log'
const OPTIONS = { cache: 0, blockSize: 64 }
const BATCHES = [['a', 'b'], ['c', 'd'], ['e', 'f'], ['g']]
const bytesOf = (name) => Buffer.from(name.repeat(40))

/**
 * Work of every kind, with a deletion of the log's first record before the last batch.
 * @returns {Promise<{ promised: string[], firstName: string, isErased: boolean, errors: Error[] }>}  `promised` is what
 *   `sync` or `close` has covered
 */
async function work (disk, { framing, first, content }, isAsync) {
  const notes = { promised: [], firstName: content ? 'z' : '', isErased: false, errors: [] }
  const unpromised = []
  const log = OffsetLog(FILE, { storage: disk.storage, framing, ...OPTIONS })
  if (isAsync) log._file.blocks._file.adaptiveIo.mayBlock = () => false
  const succeeds = async (run) => {
    const err = await failureOf(run)
    if (err) notes.errors.push(err)
    return err === null
  }
  const append = async (batch) => {
    if (!await succeeds(() => log.append(batch.map(bytesOf)))) return
    unpromised.push(...batch)
    notes.firstName ||= batch[0]
  }
  for (const batch of BATCHES.slice(0, 3)) await append(batch)
  if (await succeeds(() => log.sync())) notes.promised.push(...unpromised.splice(0))
  await succeeds(() => log.get(first))
  await succeeds(() => log.get(log.since.value))
  await succeeds(() => namesOf(log, { gt: first }))
  await succeeds(() => namesOf(log, { lt: first + 120, reverse: true }))
  await succeeds(() => log.scan({ gte: first + 3 }, () => {}))
  const isErased = await succeeds(() => log.del(first))
  await append(BATCHES[3])
  if (await succeeds(() => log.close())) {
    notes.promised.push(...unpromised)
    notes.isErased = isErased
  }
  return notes
}

/** @returns {Promise<string[]>}  one letter a record */
async function namesOf (log, options) {
  const names = []
  for await (const value of log.stream({ ...options, seqs: false })) {
    const name = value.toString('latin1', 0, 1)
    names.push(value.equals(bytesOf(name)) ? name : `wrong bytes: ${value.toString('hex')}`)
  }
  return names
}

/**
 * What the work begins with: nothing; or the records z and v, and behind them what a crash left: a record y that was
 * not synced, or half of it, or a deletion that was begun.
 * @returns {Promise<Array<{ name: string, framing: string, content: Buffer | null, first: number }>>}
 */
async function makeStarts () {
  const starts = []
  for (const framing of ['checked', 'offset32']) {
    const disk = new SimulatedDisk()
    const log = OffsetLog(FILE, { storage: disk.storage, framing })
    const first = await log.append(bytesOf('z'))
    await log.append(bytesOf('v'))
    await log.sync()
    await log.append(bytesOf('y'))
    const content = disk.read(FILE)
    await log.close()
    starts.push({ name: `${framing}, a new file`, framing, content: null, first })
    starts.push({ name: `${framing}, an unsynced end`, framing, content, first })
    starts.push({ name: `${framing}, a torn end`, framing, content: content.subarray(0, -20), first })
  }
  starts.push({ ...starts[0], name: 'checked, a deletion that was begun', content: await makeHalfErased() })
  return starts
}

/** A file as it is when the journal of a deletion is synced, and the record x not yet erased. */
async function makeHalfErased () {
  let content = null
  const disk = new SimulatedDisk({
    onChange: ({ name, position }) => {
      if (isErasing && name === 'write' && position >= 32768) content ??= disk.read(FILE)
    }
  })
  let isErasing = false
  const log = OffsetLog(FILE, { storage: disk.storage })
  await log.append([bytesOf('z'), bytesOf('v'), bytesOf('x')])
  isErasing = true
  await log.del(log.since.value)
  await log.close()
  return content
}

async function runFailing (start, fault, failAt, { isForGood, isAsync }) {
  let callCount = 0
  let isBroken = true
  const decide = ({ name }) => {
    if (fault.losesPages && name !== 'sync') return {}
    const index = callCount++
    return isBroken && (index === failAt || (isForGood && index > failAt)) ? fault : {}
  }
  const disk = new SimulatedDisk({ decide })
  if (start.content) disk.put(FILE, start.content)
  const notes = await work(disk, start, isAsync)
  isBroken = false
  return { disk, notes, callCount }
}

/** @returns {Promise<string | null>}  what is wrong with the log that is left */
async function findFault (disk, { framing, content }, { promised, firstName, isErased }) {
  const log = OffsetLog(FILE, { storage: disk.storage, framing, ...OPTIONS })
  const found = await namesOf(log)
  const all = ['z', 'v', 'y', ...BATCHES.flat()].filter((name) => found.includes(name))
  if (found.join() !== all.join()) return `found ${found}`
  // Whether the first record is deleted cannot be told when that has failed.
  const expected = content ? ['z', 'v', ...promised] : promised
  const missing = expected.filter((name) => name !== firstName && !found.includes(name))
  if (missing.length > 0) return `${missing} of the promised ${promised} are missing, found ${found}`
  if (isErased && found.includes(firstName)) return `${firstName} is back, found ${found}`
  const halves = BATCHES.filter((batch) => batch.some((name) => found.includes(name)) &&
    !batch.every((name) => found.includes(name) || name === firstName))
  if (framing === 'checked' && halves.length > 0) return `half of ${halves} is there, found ${found}`
  const seq = await log.append(bytesOf('w'))
  if (!(await log.get(seq)).equals(bytesOf('w'))) return 'the log does not work afterwards'
  await log.close()
  const again = OffsetLog(FILE, { storage: disk.storage, ...OPTIONS })
  const foundAgain = await namesOf(again)
  await again.close()
  if (foundAgain.join() !== [...found, 'w'].join()) return `found ${foundAgain} after ${found} and w`
  return again.recovery && `recovered after a clean close: ${JSON.stringify(again.recovery)}`
}

/** Once on the page cache as the failures left it, and once on what is durable. */
async function check (t, { disk, notes }, start, where) {
  for (const err of notes.errors) {
    if (typeof err.code !== 'string') t.fail(`${where}: an error without a code: ${err.stack}`)
  }
  const medium = disk.crash(() => 0)
  for (const [name, left] of Object.entries({ 'a new process': disk, 'a power cut': medium })) {
    const fault = await findFault(left, start, notes).catch((err) => err.stack)
    if (fault) t.fail(`${where}, after ${name}: ${fault}`)
  }
}

const STEP = isLongRun ? 1 : 4
const faults = { EIO: { code: 'EIO' }, ENOSPC: { code: 'ENOSPC' }, 'a sync that loses pages': { losesPages: true } }
for (const [name, fault] of Object.entries(faults)) {
  tape(`storage: every call fails in turn with ${name}, once and for good`, async (t) => {
    let runs = 0
    let workloads = 0
    for (const start of await makeStarts()) {
      for (const isForGood of [false, true]) {
        for (const isAsync of [false, true]) {
          for (let failAt = workloads++ % STEP; ; failAt += STEP) {
            const run = await runFailing(start, fault, failAt, { isForGood, isAsync })
            if (run.callCount <= failAt) break
            await check(t, run, start, `${start.name}: call ${failAt}, for good: ${isForGood}, asynchronous: ${isAsync}`)
            runs++
          }
        }
      }
    }
    t.ok(runs > inQuickRuns(fault.losesPages ? 50 : 800, STEP), `${runs} runs`)
  })
}

for (const framing of ['checked', 'lines', 'offset32']) {
  for (const fsync of ['always', 'interval', 'never']) {
    tape(`storage: ${framing}, fsync ${fsync}: whatever fails, once, for a while or always, the log goes on or says why not`, async (t) => {
      const openLog = (storage) => OffsetLog(FILE, { storage, framing, fsync, cache: 0 })
      const step = isLongRun ? 1 : 6
      const runs = await failEach({ openLog, fsync, isAtomic: framing !== 'offset32', step, report: (problem) => t.fail(problem) })
      t.ok(runs > 300 / step, `${runs} runs`)
    })
  }
}

/** A disk where writes over these bytes of the log fail, as where each write takes new room. */
function failingWrites (isHit) {
  const state = { isFull: false, disk: null }
  state.disk = new SimulatedDisk({
    decide: ({ name, position }) => state.isFull && name === 'write' && isHit(position) ? { code: 'ENOSPC' } : {}
  })
  return state
}

for (const fsync of ['always', 'interval', 'never']) {
  tape(`storage: a full disk where also overwriting takes room poisons no checked log, fsync ${fsync}`, async (t) => {
    const state = failingWrites(() => true)
    const log = OffsetLog(FILE, { storage: state.disk.storage, fsync })
    await log.ready()
    state.isFull = true
    for (let round = 0; round < 2; round++) t.equal((await failureOf(() => log.append(bytesOf('a'))))?.code, 'ENOSPC')
    state.isFull = false
    await log.append(bytesOf('b'))
    await log.sync()
    state.isFull = true
    t.equal((await failureOf(() => log.append(bytesOf('c'))))?.code, 'ENOSPC')
    await new Promise(setImmediate)
    state.isFull = false
    await log.append(bytesOf('d'))
    t.deepEqual(await namesOf(log), ['b', 'd'])
    await log.close()
    const again = OffsetLog(FILE, { storage: state.disk.crash(() => 0).storage })
    t.deepEqual(await namesOf(again), ['b', 'd'])
    await again.close()
  })
}

tape('storage: flushSync needs no checkpoint: if that cannot be completed, what is written is synced and promised', async (t) => {
  const state = failingWrites((position) => position < 32768)
  const log = OffsetLog(FILE, { storage: state.disk.storage, fsync: 'never' })
  await log.append(bytesOf('a'))
  state.isFull = true
  log.sync().catch(() => {})
  for (let round = 0; round < 5; round++) {
    log.append(bytesOf('bcdef'[round])).catch(() => {})
    log.flushSync()
    await log.sync()
  }
  const lost = OffsetLog(FILE, { storage: state.disk.crash(() => 0).storage })
  t.deepEqual(await namesOf(lost), [...'abcdef'])
  await lost.close()
  state.isFull = false
  await log.append(bytesOf('g'))
  await log.close()
})
