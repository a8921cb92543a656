'use strict'
// Appends to a log of lines until it is killed, and prints the number of each value once its append has called back.

const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('..')

async function main ([path, fsync]) {
  const log = OffsetLog(path, { framing: 'lines', codec: jsonCodec, fsync })
  let n = await log.count()
  const text = 'x'.repeat(300)
  for (;;) {
    const count = n % 5 === 0 ? 1 : 1 + n % 7
    const values = Array.from({ length: count }, (_, index) => ({ n: n + index, count, index, text }))
    await log.append(count === 1 ? values[0] : values)
    n += count
    process.stdout.write(`${n}\n`)
  }
}

main(process.argv.slice(2))
