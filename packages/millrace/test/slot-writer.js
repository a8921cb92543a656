'use strict'
// A process that writes a slot: one record for each message, which is its time. Usage: node slot-writer.js <folder>

const { jsonCodec } = require('@millrace/json-codec')
const { SlotLog } = require('@millrace/merged-log')

const log = SlotLog(process.argv[2], { codec: jsonCodec })
log.ready(() => process.send(log.slot))
process.on('message', async ({ time, ...others }) => {
  await log.append({ time, ...others, slot: log.slot })
  await log.sync()
  process.send(log.slot)
})
process.on('disconnect', () => log.close())
