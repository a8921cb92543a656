'use strict'
// Ships a log that another process has open into a stream: node shipping-process.js <log> <server> <atomic | single>

const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { openTarget, shipTo } = require('./ship-helpers')

async function main () {
  const [file, server, way] = process.argv.slice(2)
  const log = OffsetLog(file, { codec: jsonCodec, flags: 'r' })
  const target = openTarget(server, { config: { allow_atomic: way === 'atomic' } })
  const shipper = shipTo(log, target, { batch: { count: 20, ageMs: 0 } })
  // The test kills this process some time after the first record.
  const forget = shipper.lag(() => process.send?.('moving'))
  await shipper.drained()
  forget()
  const { isSame } = await shipper.verify()
  await shipper.close()
  await target.close()
  await log.close()
  process.exitCode = isSame ? 0 : 1
  process.disconnect?.()
}

main()
