'use strict'
// Every call of a workload to its storage fails in turn, once and for good: whatever fails says so, nothing hangs, and
// what was promised before is there afterwards.

const tape = require('tape')
const { SimulatedDisk, failureOf } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const FILE = '/folder/log'
const bytes = (text) => Buffer.from(text.repeat(40))
const OPTIONS = { cache: 0, blockSize: 64 }

/** Work of every kind, on a log that begins with a torn end. Notes what is promised once `sync` or `close` is back. */
async function work (disk, notes) {
  const log = OffsetLog(FILE, { storage: disk.storage, ...OPTIONS })
  const note = async (run) => {
    const err = await failureOf(run)
    if (err) notes.errors.push(err)
    return err === null
  }
  if (notes.isAsync) log._file.blocks._file.pace.mayBlock = () => false
  for (const text of ['a', 'b', 'c']) {
    if (await note(() => log.append([bytes(text), bytes(text)]))) notes.unpromised.push(text, text)
  }
  if (await note(() => log.sync())) notes.promised.push(...notes.unpromised.splice(0))
  await note(() => log.get(0))
  await note(() => collect(log.stream({ gt: 0 })))
  await note(() => collect(log.stream({ lt: 120, reverse: true })))
  await note(() => log.scan({ gte: 3 }, () => {}))
  // Whether it is deleted cannot be told when this fails, so the first record is not counted from here on.
  notes.isFirstInDoubt = true
  await note(() => log.del(0))
  if (await note(() => log.close())) notes.promised.push(...notes.unpromised.splice(0))
}

async function collect (stream) {
  const texts = []
  for await (const { seq, value } of stream) texts.push({ seq, text: value.toString()[0] })
  return texts
}

/** A disk with one record and half of another; its calls fail from the nth on, or only there. */
async function makeDisk (decide) {
  const source = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: source.storage })
  await log.append([bytes('z'), bytes('y')])
  await log.close()
  const disk = new SimulatedDisk({ decide })
  disk.put(FILE, source.read(FILE).subarray(0, 70))
  return disk
}

async function runFailing (failAt, { isForGood, isAsync, fault }) {
  let callCount = 0
  let isBroken = true
  const decide = () => {
    const index = callCount++
    return isBroken && (index === failAt || (isForGood && index > failAt)) ? fault : {}
  }
  const disk = await makeDisk(decide)
  const notes = { promised: [], unpromised: [], errors: [], isFirstInDoubt: false, isAsync }
  await work(disk, notes)
  isBroken = false
  return { disk, notes, callCount }
}

async function checkAfterwards (t, disk, { promised, errors }, where) {
  for (const err of errors) {
    if (typeof err.code !== 'string') t.fail(`${where}: an error without a code: ${err.stack}`)
  }
  const log = OffsetLog(FILE, { storage: disk.storage, ...OPTIONS })
  const texts = (await collect(log.stream())).map(({ text }) => text).filter((text) => text !== 'z' && text !== 'y')
  if (texts.slice(0, promised.length).join() !== promised.join()) t.fail(`${where}: promised ${promised}, found ${texts}`)
  const seq = await log.append(bytes('w'))
  if ((await log.get(seq)).toString()[0] !== 'w') t.fail(`${where}: the log does not work afterwards`)
  await log.close()
}

const faults = { EIO: { code: 'EIO' }, ENOSPC: { code: 'ENOSPC' }, 'a sync that loses pages': { losesPages: true } }
for (const [name, fault] of Object.entries(faults)) {
  tape(`storage: every call fails in turn with ${name}, once and for good`, async (t) => {
    let runs = 0
    for (const isForGood of [false, true]) {
      for (const isAsync of [false, true]) {
        let last = Infinity
        for (let failAt = 0; failAt < last; failAt++) {
          const { disk, notes, callCount } = await runFailing(failAt, { isForGood, isAsync, fault })
          if (!isForGood) last = callCount
          else if (callCount <= failAt) break
          await checkAfterwards(t, disk, notes, `call ${failAt}, for good: ${isForGood}, asynchronous: ${isAsync}`)
          runs++
        }
      }
    }
    t.ok(runs > 80, `${runs} runs`)
  })
}
