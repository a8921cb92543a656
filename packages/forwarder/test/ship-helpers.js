'use strict'
// Shippers between local logs, and what a target then holds.

const { ship } = require('..')
const { QUICK } = require('./helpers')

/** A shipper that keeps its reports. @type {(log: any, target: any, options?: any) => any} */
function shipTo (log, target, options) {
  const reports = []
  const shipper = ship(log, target, { ...QUICK, onReport: (report) => reports.push(report), ...options })
  return Object.assign(shipper, { reports })
}

/**
 * Ships everything, and closes the shipper.
 * @type {(log: any, target: any, options?: any) => Promise<any[]>} the reports
 */
async function shipAll (log, target, options) {
  const shipper = shipTo(log, target, options)
  await shipper.drained().finally(() => shipper.close())
  return shipper.reports
}

/** The numbers of the records in a target, in its order. @type {(target: any) => Promise<number[]>} */
async function numbersOf (target) {
  const numbers = []
  for await (const { value } of target.stream({ seqs: false })) numbers.push(value.n)
  return numbers
}

exports.shipTo = shipTo
exports.shipAll = shipAll
exports.numbersOf = numbersOf
