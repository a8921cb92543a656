'use strict'
// A disk of 2 MiB that becomes full and is cleared again, under a plain and under a segmented log.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { OffsetLog } = require('@millrace/offset-log')
const { verify } = require('@millrace/repair')
const { SegmentedLog } = require('@millrace/segmented-log')
const { temporaryFolder } = require('@millrace/testkit')
const { LogWriter, lines } = require('..')
const { checkCounts, collector } = require('./memory-log')

const RECORD_COUNT = 12_000
const LEVELS = ['debug', 'info', 'info', 'warn', 'info', 'info', 'info', 'info', 'info', 'error']

function mountSmallDisk () {
  const folder = temporaryFolder()
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder]).status === 0
  return { isMounted, folder, unmount: () => spawnSync('umount', [folder]) }
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

const logs = {
  'a plain log': (folder) => OffsetLog(path.join(folder, 'log'), { codec: lines }),
  'a segmented log': (folder) => SegmentedLog(path.join(folder, 'logs'), { codec: lines, segmentSize: 128 * 1024, compress: 'gzip' })
}

for (const [what, open] of Object.entries(logs)) {
  for (const whenFull of ['write-through', 'wait', 'drop-new', 'drop-old']) {
    tape(`small disk: ${what}, ${whenFull}: what is lost is what the policy says, counted and told`, async (t) => {
      const disk = mountSmallDisk()
      if (!disk.isMounted) return t.skip('only the super-user can mount a small disk')
      try {
        await fillAndClear(t, disk.folder, open(disk.folder), whenFull)
      } finally {
        disk.unmount()
      }
    })
  }
}

async function fillAndClear (t, folder, log, whenFull) {
  await log.ready()
  const ballast = path.join(folder, 'ballast')
  fs.writeFileSync(ballast, Buffer.alloc(1024 * 1024))
  const standardError = collector()
  const codes = new Set()
  const onReport = ({ code }) => codes.add(code)
  const writer = LogWriter(log, { whenFull, queue: { count: 200 }, standardError, onReport })
  for (let n = 0; n < RECORD_COUNT; n++) {
    writer.write({ n, text: 'x'.repeat(150) }, LEVELS[n % LEVELS.length])
    if (n % 50 === 0) await nextTurn()
    if (n === RECORD_COUNT * 3 / 4) fs.unlinkSync(ballast)
  }
  checkCounts(t, writer)
  await writer.flush()
  writer.write({ n: RECORD_COUNT })
  await writer.flush()
  const { total } = writer.counters()
  const records = []
  const gaps = []
  for await (const value of log.stream({ seqs: false })) {
    if (value.gap) gaps.push(value.gap)
    else records.push(value.n)
  }
  t.ok(codes.has('ENOSPC'), 'the disk was full')
  t.ok(total.dropped > 100, `${total.dropped} of ${RECORD_COUNT} were dropped`)
  const disorder = records.filter((n, index) => index > 0 && n <= records[index - 1])
  t.deepEqual(disorder, [], 'the others are there once, in order')
  t.equal(gaps.reduce((sum, { count }) => sum + count, 0), total.dropped, 'the gap records and the counters agree')
  t.equal(records.length + total.dropped + standardError.lines.length, RECORD_COUNT + 1, 'each is in the log, in a gap, or on standard error')
  t.notOk(gaps.some(({ levels }) => levels.error), 'errors are protected')
  t.equal(records.at(-1), RECORD_COUNT, 'the log goes on once there is room')
  checkCounts(t, writer)
  await writer.close()
  await log.close()
  if (log instanceof OffsetLog) t.equal((await verify(log.filename)).damage.length, 0)
}
