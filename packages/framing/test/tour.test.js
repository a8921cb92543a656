'use strict'
// A tour of the package, in the order of its README: the bytes of a log, made and read back in memory.

const tape = require('tape')
const framing = require('..')

const { HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE, ChunkHeader, createFileHeader, encodeHead, packCommit, readHead } = framing

/** A log with one commit. */
function makeLog (...texts) {
  const header = createFileHeader('bytes')
  const records = texts.map((text) => Buffer.from(text))
  const group = { records, ends: [records.length], seqs: [0], count: records.length }
  const tail = { end: HEAD_SIZE, shift: 0, chainCrc: header.salt }
  const writer = { salt: header.salt, epoch: 1, durable: HEAD_SIZE }
  const size = records.reduce((sum, { length }) => sum + LENGTH_SIZE + length, 0)
  const commit = packCommit(group, tail, writer, Buffer.alloc(framing.packedSizeMax(size)))
  return { header, commit, bytes: Buffer.concat([encodeHead(header), commit.bytes]) }
}

tape('tour: a head names the codec and the end of the log', (t) => {
  const bytes = encodeHead(createFileHeader('json'))
  t.equal(bytes.length, HEAD_SIZE)
  t.ok(framing.hasMagic(bytes))
  const { header, slot } = readHead(bytes, 'new.log')
  t.equal(header.codec, 'json')
  t.equal(slot.end, HEAD_SIZE)
  t.end()
})

tape('tour: a commit is a chunk of records with checksums', (t) => {
  const { commit, bytes } = makeLog('a record')
  t.ok(commit.seq > HEAD_SIZE, 'the seq is a position in the file')
  const header = new ChunkHeader()
  framing.readChunkHeader(new DataView(bytes.buffer, bytes.byteOffset), HEAD_SIZE, header)
  t.equal(header.size, LENGTH_SIZE + 'a record'.length)
  t.ok(commit.bytes.length < PAGE_SIZE)
  t.ok(commit.bytes.includes('a record'))
  t.end()
})

tape('tour: a checksum finds every flipped bit', (t) => {
  const bytes = Buffer.from('a record')
  const before = framing.crc32(bytes)
  t.equal(framing.crc32(bytes.subarray(4), framing.crc32(bytes.subarray(0, 4))), before, 'in pieces')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    bytes[bit >> 3] ^= 1 << (bit & 7)
    if (framing.crc32(bytes) === before) t.fail(`bit ${bit}`)
    bytes[bit >> 3] ^= 1 << (bit & 7)
  }
  t.end()
})

tape('tour: a damaged head is noticed', (t) => {
  const bytes = encodeHead(createFileHeader('json'))
  bytes.fill(0xff, 0, 4)
  t.notOk(framing.hasMagic(bytes))
  t.end()
})

tape('tour: the offset framings are those of flumelog-offset', (t) => {
  t.deepEqual(Object.keys(framing.offsetFramings).sort(), ['offset32', 'offset48', 'offset53'])
  t.end()
})
