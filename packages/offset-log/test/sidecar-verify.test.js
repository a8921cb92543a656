'use strict'
// What verify and repair learn from the sidecar of a legacy log.

const tape = require('tape')
const { SimulatedDisk } = require('@millrace/testkit')
const { OffsetLog, repair, verify } = require('..')

const FILE = '/folder/log'
const BLOCK_SIZE = 65536

/** A closed log of 3,000 records beside its sidecar; a bit of record 1,500 is flipped behind everybody's back. */
async function createDamaged (framing) {
  const disk = new SimulatedDisk()
  const { storage } = disk
  const log = OffsetLog(FILE, { framing, sidecar: true, storage })
  const seqs = []
  for (let i = 0; i < 3000; i++) seqs.push(await log.append(Buffer.alloc(100, 1 + i % 200)))
  await log.close()
  const sound = await verify(FILE, { storage })
  disk.damage(FILE, (medium) => { medium[seqs[1500] + 20] ^= 1 })
  return { disk, storage, seqs, sound }
}

for (const framing of ['offset32', 'offset48', 'offset53']) {
  tape(`sidecar: ${framing}: verify tells a flipped bit of data, and repair leaves out what it may have hit`, async (t) => {
    const { disk, storage, seqs, sound } = await createDamaged(framing)
    t.ok(sound.isSound)
    t.equal(sound.promisedEnd, sound.size, 'all of it was promised')
    const report = await verify(FILE, { storage })
    const block = Math.floor((seqs[1500] + 20) / BLOCK_SIZE)
    t.notOk(report.isSound)
    t.ok(report.damage.some(({ offset, size }) => offset <= seqs[1500] && offset + size > seqs[1500]))
    const isSuspect = (seq, i) => seq < (block + 1) * BLOCK_SIZE && (seqs[i + 1] ?? Infinity) > block * BLOCK_SIZE
    const good = seqs.filter((seq, i) => !isSuspect(seq, i))
    await repair(FILE, '/folder/out', { write: true, storage })
    const log = OffsetLog('/folder/out', { storage })
    const found = []
    for await (const { seq, value } of log.stream()) {
      if (!value.equals(Buffer.alloc(100, 1 + seqs.indexOf(seq) % 200))) t.fail(`record ${seq} is bad`)
      found.push(seq)
    }
    t.deepEqual(found, good, 'every record outside of the block, and no other')
    await log.close()
    await repair(FILE, '/folder/all', { write: true, keepSuspects: true, storage })
    t.equal((await verify('/folder/all', { storage })).records, 3000, 'or all, for who wants to look')
    t.ok(disk.list().includes(`${FILE}.sidecar`), 'the source is as it was')
  })
}
