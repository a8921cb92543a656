'use strict'
// Every call to the storage fails in turn while a copy of a log is made, by repair or by a snapshot: at its place there
// is a whole copy or nothing, the log is as it was, and the next try succeeds.

const { isDeepStrictEqual } = require('node:util')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SimulatedDisk, collect, failEachCall, isLongRun } = require('@millrace/testkit')
const { repair } = require('..')

const FROM = '/folder/log'
const TO = '/copies/log'
const BLOCK_SIZE = 1024

const openers = {
  checked: (path, storage) => OffsetLog(path, { codec: jsonCodec, storage, blockSize: BLOCK_SIZE }),
  lines: (path, storage) => OffsetLog(path, { codec: jsonCodec, framing: 'lines', storage }),
  offset48: (path, storage) => OffsetLog(path, { codec: jsonCodec, framing: 'offset48', storage, blockSize: BLOCK_SIZE })
}

/** A disk with a log of thirty records, of which one is deleted, that is closed. */
async function makeDisk (open) {
  const disk = new SimulatedDisk()
  const log = open(FROM, disk.storage)
  const seqs = []
  for (let n = 0; n < 30; n++) seqs.push(await log.append({ n, text: 'x'.repeat(40) }))
  if (log.supports.del) await log.del(seqs[7])
  await log.close()
  return disk
}

const itemsOf = (log) => collect(log.stream())

/** Of the log at a path, or null if there is nothing. */
async function itemsAt (disk, path, open) {
  if (!disk.list().some((file) => file === path || file.startsWith(`${path}/`))) return null
  const log = open(path, disk.storage)
  try {
    return await itemsOf(log)
  } finally {
    await log.close()
  }
}

/** Makes the copy until it succeeds; from the third try on no call fails. */
async function work (run, copy) {
  const { failing } = run
  let isMade = false
  for (let attempt = 0; attempt < 3 && !isMade; attempt++) {
    failing.isMended = attempt === 2
    const { err } = failing.isMended
      ? { err: await run.must('copy, mended', () => copy(failing.storage)) === undefined }
      : await run.did('copy', () => copy(failing.storage))
    isMade = !err
  }
  failing.isMended = true
}

function check (name, open, copy, disk, expected) {
  tape(`copies: whatever call fails, there is a whole copy or none: ${name}`, async (t) => {
    const runs = await failEachCall({
      before: disk,
      work: (run) => work(run, copy),
      examine: async (run, left, where) => {
        const source = await run.must(`read the log ${where}`, () => itemsAt(left, FROM, open))
        if (!isDeepStrictEqual(source, expected)) run.report(`the log has changed ${where}`)
        const items = await run.must(`read the copy ${where}`, () => itemsAt(left, TO, open))
        if (!isDeepStrictEqual(items, expected)) run.report(`the copy ${where}: ${items && items.length} of ${expected.length}`)
      },
      leftovers: /\.(new|compacting|tail|repairing)$/,
      // What cannot be removed stays.
      counts: ({ name }) => name !== 'unlink',
      step: isLongRun ? 1 : 3,
      report: (problem) => t.fail(problem)
    })
    t.ok(runs > 60, `${runs} runs`)
  })
}

async function main () {
  for (const [name, open] of Object.entries(openers)) {
    const disk = await makeDisk(open)
    const expected = await itemsAt(disk, FROM, open)
    check(`snapshot of ${name}`, open, async (storage) => {
      const log = open(FROM, storage)
      try {
        await log.snapshot(TO)
      } finally {
        // The copy is there, whatever closing says.
        await log.close().catch(() => {})
      }
      return true
    }, disk, expected)
    if (name === 'checked' || name === 'offset48') {
      check(`repair of ${name}`, open, (storage) => repair(FROM, TO, { storage, write: true }), disk, expected)
    }
  }
}

main()
