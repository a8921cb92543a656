'use strict'
// Power cuts on a simulated disk, at every step of appending, saving and replacing: the saved state is never ahead of
// the log, and the view has each record of the log once.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { SimulatedDisk, createRandom, inQuickRuns } = require('@millrace/testkit')
const { createView } = require('..')
const { compare, listing, scanOf } = require('./helpers')

const FOLDER = '/folder/log'
const FILE = `${FOLDER}.list.view`
const seed = Date.now() % 2 ** 31
const CACHE_SIZE = 2 ** 17

const logs = {
  checked: (storage, fsync) => OffsetLog(FOLDER, { codec: jsonCodec, storage, fsync, cache: CACHE_SIZE }),
  offset48: (storage, fsync) => OffsetLog(FOLDER, { codec: jsonCodec, storage, fsync, framing: 'offset48', cache: CACHE_SIZE }),
  segments: (storage, fsync) => SegmentedLog(FOLDER, { codec: jsonCodec, storage, fsync, cache: CACHE_SIZE })
}
const open = (log, storage, options = {}) => createView(log, { ...listing, storage, saveMs: 60_000, ...options })

for (const [kind, openLog] of Object.entries(logs)) {
  tape(`crash: a view of ${kind} is never ahead of its log, and folds each record once (seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    let saved = 0
    for (let round = 0; round < inQuickRuns(120, 15); round++) {
      const crashes = []
      const disk = new SimulatedDisk({
        onChange: () => { if (random(4) === 0) crashes.push(disk.crash(random)) }
      })
      const gone = new Map()
      await write(openLog(disk.storage, ['always', 'interval', 'never'][round % 3]), disk.storage, random, gone)
      crashes.push(disk.crash(random))
      for (const crashed of crashes) {
        const wrong = await check(crashed, openLog, gone)
        if (wrong === SAVED) saved++
        else if (wrong !== null) t.fail(`round ${round}: ${wrong}`)
      }
    }
    t.ok(saved > 5, `${saved} times there was a saved state`)
  })
}

/** Appends, deletes, saves, builds again. */
async function write (log, storage, random, gone) {
  let view = open(log, storage)
  let n = 0
  for (let step = 4 + random(8); step > 0; step--) {
    await log.append(Array.from({ length: 1 + random(4) }, () => ({ n: n++ })))
    const choice = random(8)
    if (choice < 3) await view.get()
    if (choice === 2) await view.save()
    if (choice === 3) await Promise.all([view.get(), view.save(), log.append({ n: n++ })])
    if (choice === 4) await view.rebuild()
    if (choice === 5) {
      await view.close()
      view = open(log, storage)
    }
    if (choice === 6) {
      const entries = await scanOf(log)
      if (entries.length === 0) continue
      const [seq, value] = entries[random(entries.length)]
      gone.set(seq, value)
      await log.del(seq)
    }
    if (choice === 7 && log.roll) await log.roll()
  }
  await view.close()
  await log.close()
}

const SAVED = 'saved'

/** What is wrong after a power cut; SAVED if nothing is, and there was a saved state. */
async function check (disk, openLog, gone) {
  const hasFile = disk.list().includes(FILE)
  const cursor = hasFile ? JSON.parse(disk.read(FILE).toString().split('\n')[0].slice('millrace-view 1 01234567 '.length)).cursor : -1
  const log = openLog(disk.storage)
  const failure = await log.ready().then(() => null, (err) => err)
  // The offset framings have no checksums: what was not synced may be torn.
  const isTorn = failure !== null || await scanOf(log).then(() => false, () => true)
  if (isTorn && openLog === logs.offset48) return await log.close().catch(() => {}) ?? null
  if (failure !== null) return failure.stack
  if (cursor > log.since.value && !gone.has(cursor)) return `the state is saved up to ${cursor}, the log ends at ${log.since.value}`
  const view = open(log, disk.storage)
  let wrong = compare(await view.get(), await scanOf(log), gone)
  await log.append([{ n: -1 }, { n: -2 }]).catch((err) => { if (err.code !== 'ERR_LOG_READ_ONLY') throw err })
  wrong ??= compare(await view.get(), await scanOf(log), gone)
  await view.close()
  const next = open(log, disk.storage, { reduce: () => { throw new Error('folded again') } })
  const again = await next.get().then((state) => state, (err) => err)
  if (Array.isArray(again)) wrong ??= compare(again, await scanOf(log), gone)
  else if (log.recovery?.damage.length === 0) wrong ??= again.stack
  await next.close()
  await log.close()
  return wrong ?? (hasFile ? SAVED : null)
}
