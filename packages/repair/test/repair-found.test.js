'use strict'
// repair: what random injuries (./salvage) found, each in its smallest case.

const tape = require('tape')
const { SimulatedDisk, failureOf } = require('@millrace/testkit')
const { OffsetLog } = require('@millrace/offset-log')
const { repair, verify } = require('..')
const { LogBuilder } = require('../../framing/test/checked-builder')
const { decodeLog } = require('../../framing/test/checked-oracle')

const FILE = '/folder/log'
const OUT = '/folder/out'
const HEAD_SIZE = 32768

/**
 * Repairs the bytes, and reads the new log by the oracle.
 * @param {Buffer} bytes
 */
async function repairBytes (bytes) {
  const disk = new SimulatedDisk({ defer: queueMicrotask })
  const { storage } = disk
  disk.put(FILE, bytes)
  const report = await repair(FILE, OUT, { storage, write: true })
  const { frames, slot } = decodeLog(disk.read(OUT))
  const { isSound } = await verify(OUT, { storage })
  return { report, seqs: frames.filter(({ isErased }) => !isErased).map(({ seq }) => seq), slot, isSound }
}

tape('repair: the last promised chunk of a compacted log is lost, and so is the end of the batch behind it', async (t) => {
  const builder = new LogBuilder({ hasGaps: true })
  const append = (commitContinues) => {
    builder.open()
    builder.record(Buffer.alloc(100, 'a'))
    builder.close({ commitContinues })
  }
  builder.jump(5000)
  append(false)
  append(false)
  const promised = builder.build()
  append(true)
  append(false)
  const bytes = Buffer.concat([promised.subarray(0, HEAD_SIZE), builder.build().subarray(HEAD_SIZE)])
  const [first, second, third, last] = builder.frames.map(({ seq }) => seq)
  const physicalOf = (seq) => seq - 5000
  bytes[physicalOf(second) + 10] ^= 1
  bytes[physicalOf(last) + 10] ^= 1
  // The third record's chunk says where the lost one ended; then it is cut off, since its batch has no end.
  const { seqs, slot, isSound } = await repairBytes(bytes)
  t.deepEqual(seqs, [first])
  t.equal(slot.logicalEnd, third - 40, 'no seq of what is lost is used again')
  t.ok(isSound)
})

tape('repair: the salt of an empty log without headers counts if both slots prove it', async (t) => {
  const bytes = new LogBuilder().build()
  bytes.fill(0xee, 0, 4096).fill(0xee, 8192, 12288)
  const found = await repairBytes(Buffer.from(bytes))
  t.equal(found.report.framing, 'checked')
  t.deepEqual(found.report.flaws.map(({ offset }) => offset), [0, 8192])
  t.ok(found.isSound)
  const disk = new SimulatedDisk()
  disk.put(FILE, bytes.fill(0xee, 12288 + 20, 12288 + 21))
  const err = await failureOf(() => repair(FILE, OUT, { storage: disk.storage }))
  t.equal(err?.code, 'ERR_LOG_UNKNOWN_FORMAT', 'one checksum proves nothing')
})

tape('repair: a flipped bit in each of two frames in a row of an offset log costs them, and no others', async (t) => {
  for (const framing of ['offset32', 'offset48', 'offset53']) {
    const disk = new SimulatedDisk({ defer: queueMicrotask })
    const { storage } = disk
    const log = OffsetLog(FILE, { storage, framing })
    const seqs = []
    for (const size of [100, 30, 60, 90, 50]) seqs.push(await log.append(Buffer.alloc(size, 'a')))
    await log.close()
    const whole = disk.read(FILE)
    for (let index = 0; index < 3; index++) {
      const [start, next] = seqs.slice(index)
      const end = seqs[index + 2] ?? whole.length
      // The second frame's first size, its other one, and its end.
      for (const offset of [next + 3, next + 4 + whole.readUInt32BE(next) + 3, end - 1]) {
        const bytes = Buffer.from(whole)
        bytes[start + 3] ^= 2
        bytes[offset] ^= 8
        disk.put(FILE, bytes)
        const out = `${OUT}-${framing}-${offset}`
        const { recovered } = await repair(FILE, out, { storage, write: true })
        t.equal(recovered, 3, `${framing}, frame ${index}, byte ${offset}`)
        const others = Buffer.from(disk.read(out))
        t.ok(others.fill(whole.subarray(start, end), start, end).equals(whole))
      }
    }
  }
})
