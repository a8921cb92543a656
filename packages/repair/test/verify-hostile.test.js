'use strict'
// Logs that a fuzzer made, and that verify once never came to the end of.

const fs = require('node:fs')
const zlib = require('node:zlib')
const tape = require('tape')
const { failureOf, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('@millrace/offset-log')
const { repair, verify } = require('..')
const { crc } = require('../../framing/test/checked-oracle')
const { countReads } = require('../../offset-log/test/count-reads')

/**
 * @param {string[]} packed  deflated, in base64
 * @returns {string}  the path
 */
function writePacked (packed) {
  const file = newPath('log')
  const bytes = zlib.inflateRawSync(Buffer.from(packed.join(''), 'base64url'))
  // The fuzzer made some of them when the bit of the headers that is now always set was not yet.
  for (const start of [0, 8192]) {
    if (bytes.toString('hex', start, start + 8) !== '89464c470d0a1a0a') continue
    bytes[start + 11] |= 2
    bytes.writeUInt32BE(crc(bytes.subarray(start, start + 60)), start + 60)
  }
  fs.writeFileSync(file, bytes)
  return file
}

tape('verify: a chunk that was never promised and does not fit is where the log ends', async (t) => {
  const file = writePacked([
    '7d29K4VhFADw815XPiJZlYlklDCJjZKumVKUwSCTSdGVQaT8E_4A212ot-RrtInJIqTUTVm5b91LdzSh3284nZ6nnuFsT6fO2Z2Y',
    'nmxv7WqNJJLXnsON7jrxqRhJfnlxdSnqPJeH2wIAAAD49dbaj5-ypCkikuy3X6jE7aNK3Eqzu1xL6b1frQAAAOCv2tX_BwAAgH_v',
    '_nrzKkuaa_3_9a9Y7f-fjswfqhUAAAAAAAAAAAAAAAAAAAAAAAAA_NTtw0GpY39_NPoiV5sAGLWY7QSobP8rRjRmx2kkexHRuTN2',
    'VjqeWhnofZy9fBmfnjlPI7mpzAkcfJs7ify3dwpfeXWPYBoLcTF0V274AA'
  ])
  const report = await verify(file)
  t.ok(report.end <= report.size)
  await repair(file, `${file}.out`, { write: true })
  t.ok((await verify(`${file}.out`)).isSound)
})

tape('verify: the range of a batch whose end is lost begins behind what is damaged of it', async (t) => {
  const file = writePacked([
    '7d29K0ZRGADw576vr5TJpiwWiwzKZngXLDaKWdmkxMDkKosymEQmwmRRSrHcwR-gUP4Jm9Hgfry8lMmEfr-655x7ntO5pzPeU8_Znpia',
    '7Onu644kond4eH3p9HnsZO9u8eXgdeBgevQmcmkk7fPrqwsr8dXlQ_9OAAAAAL_e2u7tddmoRRT_ACI2Zz-VI2Us6Vu-OrRXAAAA8Fdt',
    'O_8HAACAf-94cOOibNQ_zv_nWmX6WMZqQ_dPZ_YKAAAAAAAAAAAAAAAAAAAAAAAAAH6qyOw3PrN_FFvla5kBMI1WWdwJUNRZRJJFdBXZ',
    'ANOIWiOiM_InrWLtWUQ9jWhr5LGsmrqrUc2XNKrsgrVmvN7srzdvHSzGFYpYR1p9J0kjOrO8L8vrZjz5dq3nrbW-Zyn8DWt9Aw'
  ])
  const { damage, damageSize } = await verify(file)
  let end = 0
  for (const { offset, size } of damage) {
    t.ok(offset >= end, `${offset}, behind ${end}`)
    end = offset + size
  }
  t.equal(damageSize, damage.reduce((sum, { size }) => sum + size, 0))
})

tape('verify: a legacy log that ends with an empty frame was not cut off, whatever is before it', async (t) => {
  const file = writePacked(['Y2BgUGMgFkBUmjCMAuoDxm4A'])
  const log = OffsetLog(file, { flags: 'r' })
  t.equal((await failureOf(() => log.scan({}, () => {}))).code, 'ERR_LOG_CORRUPT')
  await log.close()
  const { isSound, damage, tail } = await verify(file)
  t.notOk(isSound)
  t.equal(tail, null)
  t.deepEqual(damage.map(({ offset, size }) => [offset, size]), [[52, 343]])
})

/**
 * @param {number} size
 * @param {(put: (...words: number[]) => void, at: number) => void} putMore  some words of four bytes
 * @returns {string}  the path of a file that begins with a whole frame
 */
function writeWords (size, putMore) {
  const bytes = Buffer.alloc(size)
  const end = { at: 0 }
  const put = (/** @type {number[]} */ ...words) => {
    for (const word of words) end.at = bytes.writeUInt32BE(word, end.at)
  }
  put(4, 0x78787878, 4, 16)
  while (end.at + 64 < size) putMore(put, end.at)
  const file = newPath('log')
  fs.writeFileSync(file, bytes.subarray(0, end.at))
  return file
}

tape('verify: a legacy file that names an end of a frame every few bytes is not read again for each', async (t) => {
  const file = writeWords(100_000, (put, at) => put(8, at + 8))
  const { counted, storage } = countReads()
  const { size } = await verify(file, { storage })
  t.ok(counted.bytes < 10 * size, `${counted.bytes} bytes read of ${size}`)
})

tape('verify: a legacy file in which every second frame is damaged is not read again for each', async (t) => {
  const file = writeWords(100_000, (put, at) => put(5, 0x78787878, 4, at, 4, 0x78787878, 4, at + 32))
  const { counted, storage } = countReads()
  const { size, damageCount, records } = await verify(file, { storage })
  t.equal(damageCount, Math.floor(size / 32))
  t.equal(records, 1 + damageCount)
  t.ok(counted.bytes < 10 * size, `${counted.bytes} bytes read of ${size}`)
})

tape('verify: a whole frame behind damage that is larger than what is read at a time', async (t) => {
  const file = newPath('log')
  const log = OffsetLog(file, { framing: 'offset32' })
  const seqs = await log.append(['one', 'two', 'x'.repeat(300_000), 'four'].map((text) => Buffer.from(text)))
  await log.close()
  const bytes = fs.readFileSync(file)
  // All of the second frame: 3 bytes and what is around them.
  bytes.fill(0xff, 15, 30)
  fs.writeFileSync(file, bytes)
  const { records, damage, since } = await verify(file)
  t.equal(records, 3)
  t.equal(since, seqs)
  t.deepEqual(damage.map(({ offset, size }) => [offset, size]), [[15, 15]])
})
