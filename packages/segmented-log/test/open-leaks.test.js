'use strict'
// A folder that cannot be opened leaves no file open, whatever call fails, and whenever the signal is aborted.

const tape = require('tape')
const { createIndex } = require('@millrace/index')
const { jsonCodec } = require('@millrace/json-codec')
const { FailingDisk, SimulatedDisk, failureOf, isLongRun, newPath } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const FOLDER = '/folder/logs'
const codec = jsonCodec
const keep = { where: { path: 'n', equals: 1 } }

/** What the newest segment is when the folder is opened. @type {Record<string, (disk: any, newest: string) => any>} */
const KINDS = {
  closed: () => {},
  killed: (disk) => disk.clone({}),
  damaged: (disk, newest) => disk.put(newest, disk.read(newest).subarray(0, -8000)),
  headless: (disk, newest) => disk.put(newest, Buffer.alloc(40_000))
}

async function makeDisk (kind, framing) {
  const disk = new SimulatedDisk()
  const log = SegmentedLog(FOLDER, { codec, framing, storage: disk.storage })
  for (let n = 0; n < 6; n++) {
    if (n === 3) await log.roll()
    await log.append({ n, text: 'x'.repeat(5000) })
  }
  await log.sync()
  const newest = (await log.segments()).at(-1).path
  if (kind === 'killed') return KINDS.killed(disk)
  await log.close()
  KINDS[kind](disk, newest)
  return disk
}

/** @returns {Promise<Error | null>} why it could not be opened */
async function openAndClose (storage, options) {
  const log = SegmentedLog(FOLDER, { codec, storage, ...options })
  const err = await log.ready().then(() => null, (err) => err)
  await log.close().catch(() => {})
  return err
}

for (const framing of ['checked', 'lines']) {
  for (const flags of ['r', 'r+']) {
    for (const kind of Object.keys(KINDS)) {
      tape(`segmented open: nothing stays open after any failure: ${framing}, ${kind}, flags ${flags}`, async (t) => {
        const problems = []
        let failures = 0
        const before = await makeDisk(kind, framing)
        for (const isAsync of [false, true]) {
          for (let at = 0, isOver = false; !isOver; at += isLongRun ? 1 : 2) {
            const failing = new FailingDisk({ code: 'EIO', at, span: 2, isAsync }, before)
            const index = createIndex(['n'])
            const options = { framing, flags, index, ...(framing === 'checked' && { keep }), maxCount: 2 }
            if (await openAndClose(failing.storage, options)) failures++
            isOver = failing.callCount <= at
            if (failing.leaked.length > 0) problems.push(`${failing.failed}: ${failing.leaked}`)
          }
        }
        t.deepEqual(problems, [])
        t.ok(failures > 1, `${failures} failures`)
      })

      tape(`segmented open: nothing stays open if it is aborted: ${framing}, ${kind}, flags ${flags}`, async (t) => {
        const before = await makeDisk(kind, framing)
        const problems = []
        for (let turns = 0; turns < 80; turns++) {
          const never = new FailingDisk({ code: 'EIO', at: Infinity, span: 1, isAsync: true }, before)
          const controller = new AbortController()
          const log = SegmentedLog(FOLDER, { codec, storage: never.storage, framing, flags, signal: controller.signal })
          for (let turn = 0; turn < turns; turn++) await (turn % 4 === 3 ? new Promise(setImmediate) : null)
          controller.abort()
          await log.ready().catch(() => {})
          await log.close().catch(() => {})
          if (never.leaked.length > 0) problems.push(`${turns}: ${never.leaked}`)
        }
        t.deepEqual(problems, [])
      })
    }
  }
}

tape('segmented open: an index that throws when it is opened fails the open, and the folder stays neither open nor locked', async (t) => {
  const folder = newPath('logs')
  const index = { open: () => { throw new Error('mine') } }
  for (const flags of ['r+', 'r']) {
    const log = SegmentedLog(folder, { codec, index, flags })
    t.equal((await failureOf(() => log.ready()))?.message, 'mine', flags)
    await log.close()
    const again = SegmentedLog(folder, { codec })
    await again.append({ n: 1 })
    await again.close()
  }
})
