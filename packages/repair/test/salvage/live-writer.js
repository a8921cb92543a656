'use strict'
// A process that appends to a log and deletes from it as fast as it can, for as long as it is told to.
// Usage: node live-writer.js <file> <framing> <fsync> <how long, in ms>

const { createRandom } = require('@millrace/testkit')
const { OffsetLog } = require('@millrace/offset-log')

const [file, framing, fsync, duration] = process.argv.slice(2)
const random = createRandom(3)

main()

async function main () {
  const log = OffsetLog(file, { framing, fsync })
  const end = Date.now() + Number(duration)
  const seqs = []
  const write = async () => {
    while (Date.now() < end) {
      const sizes = Array.from({ length: 1 + random(5) }, () => 1 + random(random(8) ? 500 : 40000))
      seqs.push(await log.append(sizes.map((size) => Buffer.alloc(size, 1 + random(255)))))
      await new Promise(setImmediate)
    }
  }
  const erase = async () => {
    while (Date.now() < end) {
      await new Promise(setImmediate)
      if (seqs.length > 5) await log.del(Array.from({ length: 1 + random(20) }, () => seqs[random(seqs.length)]))
    }
  }
  await Promise.all([write(), erase()])
  await log.close()
}
