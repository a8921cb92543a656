'use strict'
// A log that was closed is opened by one look at its last page. The walk over its tail is the slow, obvious twin.

const tape = require('tape')
const {
  HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE, TailWalk, findCleanEnd, packCommit, packedSizeMax
} = require('..')

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 32))
const SALT = 0x5a175a17
const RULES = { verify: false, salt: SALT, shift: 0, hasGaps: false }

let state = seed
function random (below) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor(state / 2 ** 32 * below)
}

/** The bytes of a log with some commits, and the slot that a close would write. */
function makeLog (commitCount) {
  const parts = [Buffer.alloc(HEAD_SIZE)]
  let tail = { end: HEAD_SIZE, shift: 0, chainCrc: SALT }
  let epoch = 1
  let last = -1
  for (let commit = 0; commit < commitCount; commit++) {
    const records = Array.from({ length: 1 + random(4) }, () => {
      return Buffer.alloc(random(random(3) === 0 ? 20000 : 300), random(256))
    })
    const ends = records.map((_, index) => index + 1)
    const group = { records, ends, seqs: records.map(() => -1), count: records.length }
    const size = records.reduce((sum, { length }) => sum + LENGTH_SIZE + length, 0)
    epoch += random(2)
    const writer = { salt: SALT, epoch, durable: tail.end + tail.shift, isAfterLoss: false }
    const packed = packCommit(group, tail, writer, Buffer.alloc(packedSizeMax(size)))
    parts.push(Buffer.from(packed.bytes))
    tail = packed.tail
    last = packed.seq
  }
  const { end, shift, chainCrc } = tail
  const slot = { sequence: 1, epoch, end, logicalEnd: end + shift, last, erasedCount: 0, chainCrc, reservedEnd: 0 }
  return { bytes: Buffer.concat(parts), slot }
}

function walk (bytes, slot) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const window = { buffer: bytes, view, start: 0, end: bytes.length, forget: () => {} }
  const walk = new TailWalk(window, { rules: RULES, unfinished: new Map() }, slot, bytes.length)
  if (!walk.run()) throw new Error('all bytes are there')
  return walk.report()
}

function look (bytes, slot) {
  const { end } = slot
  const start = end - 1 - (end - 1) % PAGE_SIZE
  return findCleanEnd({ bytes: bytes.subarray(start, end), offset: 0, start, end }, RULES, slot)
}

tape(`clean-end: one look at the last page says what the walk says (seed ${seed})`, (t) => {
  let damagedCount = 0
  for (let round = 0; round < 60; round++) {
    const { bytes, slot } = makeLog(1 + random(30))
    const { tail, damage, epoch, promisedEnd, promisedLogicalEnd } = walk(bytes, slot)
    const isPromised = promisedEnd === slot.end && promisedLogicalEnd === slot.logicalEnd
    const isSame = damage === null && look(bytes, slot) === epoch && isPromised
    if (!isSame || tail.end !== slot.end || tail.chainCrc !== slot.chainCrc) t.fail(`round ${round}`)
    for (let flip = 0; flip < 40; flip++) {
      const bad = Buffer.from(bytes)
      bad[bad.length - 1 - random(bad.length - HEAD_SIZE)] ^= 1 << random(8)
      const isDamaged = walk(bad, slot).damage !== null
      if ((look(bad, slot) === null) !== isDamaged) t.fail(`round ${round}, flip ${flip}`)
      damagedCount += Number(isDamaged)
    }
  }
  t.ok(damagedCount > 0, `${damagedCount} of 2400 flips are on the last page`)
  t.end()
})

tape('clean-end: a page of another log, or of an earlier end, is not the one that the slot describes', (t) => {
  const { bytes, slot } = makeLog(5)
  t.equal(look(bytes, { ...slot, chainCrc: slot.chainCrc ^ 1 }), null)
  t.notEqual(walk(bytes, { ...slot, chainCrc: slot.chainCrc ^ 1 }).damage, null)
  const page = { bytes, offset: HEAD_SIZE, start: HEAD_SIZE, end: slot.end }
  t.equal(findCleanEnd(page, { ...RULES, salt: 1 }, slot), null)
  t.end()
})
