'use strict'
// Appends numbers to a segmented log until its parent lets it go. Usage: node follower-child.js <folder> <segment size>

const { jsonCodec } = require('@millrace/json-codec')
const { SegmentedLog } = require('..')

async function run (folder, segmentSize) {
  process.once('disconnect', () => process.exit(1))
  const log = SegmentedLog(folder, { codec: jsonCodec, segmentSize, lockTimeout: 20_000 })
  let n = await log.count()
  process.on('message', async (command) => {
    if (command === 'close') {
      await log.close()
      process.disconnect()
      process.exit()
    }
    const { count } = command
    for (let i = 0; i < count; i++) await log.append({ n: n++, text: 'x'.repeat(500) })
    process.send({ n })
  })
  process.send({ n })
}

run(process.argv[2], Number(process.argv[3])).catch((err) => {
  console.error(err)
  process.exit(1)
})
