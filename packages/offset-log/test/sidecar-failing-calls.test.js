'use strict'
// Every call to the storage of a log with a sidecar fails in turn, once and for good: whatever fails says so, nothing
// that was promised is lost, and neither file says anything wrong of the other afterwards.

const tape = require('tape')
const { SimulatedDisk, failureOf } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const FILE = '/folder/log'
const OPTIONS = { cache: 0, framing: 'offset32', sidecar: true }
const bytesOf = (name) => Buffer.alloc(11000, name)
const BATCHES = [['a', 'b'], ['c', 'd', 'e'], ['f'], ['g']]

/**
 * @returns {Promise<{ promised: string[], appended: string[], isErased: boolean, mayBeErased: boolean,
 *   errors: Error[] }>}  `promised` is what `sync` or `close` has covered
 */
async function work (disk, isAsync) {
  const notes = { promised: [], appended: [], isErased: false, mayBeErased: false, errors: [] }
  const unpromised = []
  const log = OffsetLog(FILE, { storage: disk.storage, ...OPTIONS })
  if (isAsync) for (const pace of pacesOf(log)) pace.mayBlock = () => false
  const succeeds = async (run) => {
    const err = await failureOf(run)
    if (err) notes.errors.push(err)
    return err === null
  }
  const append = async (batch) => {
    if (await succeeds(() => log.append(batch.map(bytesOf)))) {
      unpromised.push(...batch)
      notes.appended.push(...batch)
    }
  }
  await append(BATCHES[0])
  if (await succeeds(() => log.sync())) notes.promised.push(...unpromised.splice(0))
  await append(BATCHES[1])
  await succeeds(() => namesOf(log))
  notes.mayBeErased = true
  const isErased = await succeeds(() => log.del([0, 11012]))
  await append(BATCHES[2])
  if (await succeeds(() => log.sync())) {
    notes.promised.push(...unpromised.splice(0))
    notes.isErased = isErased
  }
  await append(BATCHES[3])
  if (await succeeds(() => log.close())) {
    notes.promised.push(...unpromised)
    notes.isErased = isErased
  }
  return notes
}

function pacesOf (log) {
  const { _file: file, _writer: writer } = log._file.blocks
  return [file.pace, writer._writePace, writer._syncPace]
}

/** @returns {Promise<string[]>}  one letter a record */
async function namesOf (log) {
  const names = []
  for await (const value of log.stream({ seqs: false })) {
    const name = value.toString('latin1', 0, 1)
    names.push(value.equals(bytesOf(name)) ? name : `wrong bytes of ${value.length}`)
  }
  return names
}

/** What the work begins with: nothing; the records y and z with no sidecar, with one, or not closed. */
async function makeStarts () {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage, ...OPTIONS })
  await log.append([bytesOf('y'), bytesOf('z')])
  await log.sync()
  await log.del(0)
  await log.append([bytesOf('x')])
  const open = { [FILE]: disk.read(FILE), [`${FILE}.sidecar`]: disk.read(`${FILE}.sidecar`) }
  await log.close()
  const closed = { [FILE]: disk.read(FILE), [`${FILE}.sidecar`]: disk.read(`${FILE}.sidecar`) }
  return [
    { name: 'a new file', files: {}, before: [] },
    { name: 'no sidecar', files: { [FILE]: closed[FILE] }, before: ['z', 'x'] },
    { name: 'a sidecar', files: closed, before: ['z', 'x'] },
    { name: 'a sidecar, not closed', files: open, before: ['z'] },
    { name: 'a damaged sidecar', files: { ...closed, [`${FILE}.sidecar`]: Buffer.from('nothing') }, before: ['z', 'x'] }
  ]
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
  for (const [file, bytes] of Object.entries(start.files)) disk.put(file, bytes)
  const notes = await work(disk, isAsync)
  isBroken = false
  return { disk, notes, callCount }
}

/** @returns {Promise<string | null>}  what is wrong with the log that is left */
async function findFault (disk, { before, files }, { promised, appended, isErased, mayBeErased }) {
  const log = OffsetLog(FILE, { storage: disk.storage, ...OPTIONS })
  const found = await namesOf(log)
  const all = ['y', 'z', 'x', ...BATCHES.flat()].filter((name) => found.includes(name))
  if (log.recovery?.damage.length > 0) return `called damaged: ${JSON.stringify(log.recovery)}`
  if (found.join() !== all.join()) return `found ${found}`
  const erased = FILE in files ? ['y', 'z'] : appended.slice(0, 2)
  const expected = [...before, ...promised].filter((name) => !(mayBeErased && erased.includes(name)))
  const missing = expected.filter((name) => !found.includes(name))
  if (missing.length > 0) return `${missing} of the promised ${promised} are missing, found ${found}`
  if (isErased && erased.some((name) => found.includes(name))) return `${erased} are back, found ${found}`
  const seq = await log.append(bytesOf('w'))
  if (!(await log.get(seq)).equals(bytesOf('w'))) return 'the log does not work afterwards'
  await log.close()
  const again = OffsetLog(FILE, { storage: disk.storage, ...OPTIONS })
  const foundAgain = await namesOf(again)
  await again.close()
  if (foundAgain.join() !== [...found, 'w'].join()) return `found ${foundAgain} after ${found} and w`
  return again.recovery && `recovered after a clean close: ${JSON.stringify(again.recovery)}`
}

const faults = { EIO: { code: 'EIO' }, ENOSPC: { code: 'ENOSPC' }, 'a sync that loses pages': { losesPages: true } }
for (const [number, [name, fault]] of Object.entries(faults).entries()) {
  tape(`storage: every call for a log with a sidecar fails in turn with ${name}, once or for good`, async (t) => {
    let runs = 0
    for (const start of await makeStarts()) {
      for (let failAt = 0, isOver = false; !isOver; failAt++) {
        // What the one fault tries once the other tries for good.
        const isForGood = (failAt + number) % 2 === 0
        const isAsync = (failAt >> 1) % 2 === 0
        const run = await runFailing(start, fault, failAt, { isForGood, isAsync })
        isOver = run.callCount <= failAt
        await check(t, run, start, isOver, `${start.name}: call ${failAt}, for good: ${isForGood}, asynchronous: ${isAsync}`)
        runs++
      }
    }
    t.ok(runs > (fault.losesPages ? 25 : 200), `${runs} runs`)
  })
}

/** Once on the page cache as the failures left it, and once on what is durable. */
async function check (t, { disk, notes }, start, isOver, where) {
  for (const err of notes.errors) {
    if (isOver || typeof err.code !== 'string') t.fail(`${where}: ${err.stack}`)
  }
  const medium = disk.crash(() => 0)
  for (const [name, left] of Object.entries({ 'a new process': disk, 'a power cut': medium })) {
    const fault = await findFault(left, start, notes).catch((err) => err.stack)
    if (fault) t.fail(`${where}, after ${name}: ${fault}`)
  }
}
