'use strict'
// A log that cannot be opened leaves no file open, whatever call fails, and whenever the signal is aborted.

const tape = require('tape')
const { FailingDisk, SimulatedDisk, isLongRun } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const PATH = '/folder/log'

/** A disk with a log; `isKilled`: that was not closed. */
async function makeDisk (framing, isKilled) {
  const disk = new SimulatedDisk()
  const log = OffsetLog(PATH, { framing, storage: disk.storage })
  for (let n = 0; n < 5; n++) await log.append(Buffer.from(`{"n":${n}}`))
  await log.sync()
  await log.append(Buffer.from('{"n":5}'))
  if (isKilled) return disk.clone({})
  await log.close()
  return disk
}

/** @returns {Promise<Error | null>} why it could not be opened */
async function openAndClose (storage, options) {
  const log = OffsetLog(PATH, { storage, ...options })
  const err = await log.ready().then(() => null, (err) => err)
  // It fails if what was appended cannot be synced.
  await log.close().catch(() => {})
  return err
}

for (const framing of ['checked', 'lines', 'offset48']) {
  for (const flags of ['r', 'r+']) {
    tape(`open: nothing stays open after any failure: ${framing}, flags ${flags} (open-leaves-sums)`, async (t) => {
      const problems = []
      let failures = 0
      for (const isKilled of [false, true]) {
        const before = await makeDisk(framing, isKilled)
        for (const fsync of ['interval', 'always']) {
          for (const isAsync of [false, true]) {
            for (let at = 0, isOver = false; !isOver; at += isLongRun ? 1 : 2) {
              const failing = new FailingDisk({ code: 'EIO', at, span: 2, isAsync }, before)
              const err = await openAndClose(failing.storage, { framing, flags, fsync })
              if (err) failures++
              isOver = failing.callCount <= at
              if (failing.leaked.length > 0) problems.push(`${failing.failed}: ${failing.leaked}`)
            }
          }
        }
      }
      t.deepEqual(problems, [])
      t.ok(failures > 5, `${failures} failures`)
    })

    tape(`open: nothing stays open if it is aborted: ${framing}, flags ${flags} (open-leaves-sums)`, async (t) => {
      const before = await makeDisk(framing, true)
      const problems = []
      for (let turns = 0; turns < 60; turns++) {
        const never = new FailingDisk({ code: 'EIO', at: Infinity, span: 1, isAsync: true }, before)
        const controller = new AbortController()
        const log = OffsetLog(PATH, { storage: never.storage, framing, flags, signal: controller.signal })
        for (let turn = 0; turn < turns; turn++) await (turn % 4 === 3 ? new Promise(setImmediate) : null)
        controller.abort()
        await log.ready().catch(() => {})
        await log.close()
        if (never.leaked.length > 0) problems.push(`${turns}: ${never.leaked}`)
      }
      t.deepEqual(problems, [])
    })
  }
}
