'use strict'
// A worker of a cluster: appends numbered records in a slot of its own until its parent ends it, and says which ones
// were acknowledged. Usage: node worker.js <folder> <name>

const { jsonCodec } = require('@millrace/json-codec')
const { SlotLog } = require('..')

async function run (folder, name) {
  const onDisconnect = () => process.exit(1)
  process.once('disconnect', onDisconnect)
  const state = { isEnding: false }
  process.on('message', () => { state.isEnding = true })
  const log = SlotLog(folder, { codec: jsonCodec, segmentSize: 20_000 })
  await log.ready()
  process.send({ slot: log.slot })
  for (let n = 0; !state.isEnding; n++) {
    const time = Date.now()
    await log.append(n % 5 === 0 ? [{ name, n, time }, { name, n: ++n, time }] : { name, n, time })
    process.send({ acknowledged: n })
    if (n % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 2))
  }
  await log.close()
  process.off('disconnect', onDisconnect)
  process.disconnect()
}

run(process.argv[2], process.argv[3]).catch((err) => {
  console.error(err)
  process.exit(1)
})
