'use strict'
// Integers put into bytes, against what Buffer makes of them.

const tape = require('tape')
const { putUint16, putUint32, putUint48, putUint53 } = require('@millrace/flow')
const { createRandom } = require('@millrace/testkit')

const seed = Number(process.env.SEED) || Date.now() % 2 ** 32
const WIDTHS = [
  [putUint16, 16, (buf, value) => buf.writeUInt16BE(value, 3)],
  [putUint32, 32, (buf, value) => buf.writeUInt32BE(value, 3)],
  [putUint48, 48, (buf, value) => buf.writeUIntBE(value, 3, 6)],
  [putUint53, 53, (buf, value) => buf.writeBigUInt64BE(BigInt(value), 3)]
]

tape(`put integers: the same bytes as by the methods of Buffer, and no others (seed ${seed})`, (t) => {
  const random = createRandom(seed)
  for (const [put, bits, write] of WIDTHS) {
    const powers = Array.from({ length: bits }, (_, power) => 2 ** power)
    const values = [...powers, ...powers.map((value) => value - 1), 2 ** bits - 1, 2 ** bits - 2,
      ...Array.from({ length: 1000 }, () => Math.floor(random(2 ** 30) / 2 ** 30 * 2 ** bits))]
    const wrong = values.filter((value) => {
      const [found, expected] = [Buffer.alloc(14, 0xa5), Buffer.alloc(14, 0xa5)]
      put(found, value, 3)
      write(expected, value)
      return !found.equals(expected)
    })
    t.deepEqual(wrong, [], `${bits} bits`)
  }
  t.end()
})
