'use strict'
// Logs to ship, streams to ship them to, and the check of what a stream then has.

const { ship, verifyShipped } = require('@millrace/forwarder')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { collect, newPath } = require('@millrace/testkit')
const { JetStreamLog } = require('..')

const QUICK = { backoff: { minMs: 20, maxMs: 200 }, lagMs: 0 }

/** A log with `{ n: 0 }` and so on. */
async function makeSource (count) {
  const log = OffsetLog(newPath('log'), { codec: jsonCodec })
  await fill(log, count)
  return log
}

async function fill (log, count, first = 0) {
  for (let n = first; n < first + count; n += 1000) {
    await log.append(Array.from({ length: Math.min(1000, first + count - n) }, (_, index) => ({ n: n + index })))
  }
}

/** @type {(servers: string | string[], options?: any) => any} */
function openTarget (servers, options) {
  return JetStreamLog({ servers, stream: 'shipped', codec: jsonCodec, waitOnFirstConnect: true, ...options })
}

function shipTo (log, target, options) {
  const reports = []
  const shipper = ship(log, target, { ...QUICK, onReport: (report) => reports.push(report), ...options })
  return Object.assign(shipper, { reports })
}

async function shipAll (log, target, options) {
  const shipper = shipTo(log, target, options)
  await shipper.drained().finally(() => shipper.close())
  return shipper.reports.map(({ what }) => what)
}

/** Whether a stream has `count` records, each once, in order, and the check says the same. */
async function checkShipped (t, log, target, count) {
  const numbers = (await collect(target.stream({ seqs: false }))).map(({ n }) => n)
  t.equal(numbers.length, count, 'as many records')
  t.equal(numbers.findIndex((n, index) => n !== index), -1, 'each once, in order')
  const { isSame, source } = await verifyShipped(log, target)
  t.deepEqual([isSame, source], [true, count], 'the check agrees')
}

const kindsOf = ({ reports }) => [...new Set(reports.map(({ what }) => what))]
const closeAll = async (...all) => { for (const one of all) await one.close() }

exports.checkShipped = checkShipped
exports.closeAll = closeAll
exports.fill = fill
exports.kindsOf = kindsOf
exports.makeSource = makeSource
exports.openTarget = openTarget
exports.shipAll = shipAll
exports.shipTo = shipTo
