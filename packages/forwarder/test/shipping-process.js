'use strict'
// Ships a log that another process has open into a log of its own: node shipping-process.js <log> <target>

const { makeLog, QUICK } = require('./helpers')
const { ship } = require('..')

async function main () {
  const [file, targetFile] = process.argv.slice(2)
  const log = makeLog({ flags: 'r' }, file)
  const target = makeLog({ lockTimeout: 5000 }, targetFile)
  const shipper = ship(log, target, { ...QUICK, batch: { count: 20, ageMs: 0 } })
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
