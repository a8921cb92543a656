'use strict'
// Appends to a log and follows it with a view, until it is killed: node view-process.js <log> <kind>

const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { createView } = require('..')
const { listing } = require('./helpers')

async function main () {
  const [file, kind] = process.argv.slice(2)
  const log = kind === 'segments'
    ? SegmentedLog(file, { codec: jsonCodec, segmentSize: 2 ** 14 })
    : OffsetLog(file, { codec: jsonCodec })
  const view = createView(log, { ...listing, saveMs: 1 })
  let { length: n } = await view.get()
  for (;;) {
    await log.append([{ n: n++ }, { n: n++ }])
    if (n % 50 === 0) process.stdout.write(`${(await view.get()).length}\n`)
    if (n % 200 === 0) await view.save()
  }
}

main()
