// @ts-nocheck
'use strict'
// Ships the log of the box into another one, which has each record once, in order.

const path = require('node:path')
const { collect } = require('@millrace/testkit')
const { ship } = require('@millrace/forwarder')
const { open } = require('millrace')
const { passOn, untilStopped } = require('./follower')
const { isRight } = require('./records')

const TARGET = 'shipped.log'

async function run (life) {
  await passOn(life, shipFrom, (err) => isOfAnother(life, err))
}

/** The target has what the log had before an older copy came back. */
function isOfAnother (life, err) {
  return life.isChanged && ['ERR_SHIP_SOURCE_CHANGED', 'ERR_SHIP_TARGET_TAKEN'].includes(err.code)
}

/** Until it is stopped; then all that the log has is there. */
async function shipFrom (life, log) {
  const target = open(path.join(life.folder, TARGET), { fsync: life.options.fsync, lockTimeout: 5000 })
  await life.step('open the target', target.ready())
  const reports = []
  const shipper = ship(log, target, { name: 'ship', lagMs: 50, onReport: (report) => reports.push(report) })
  await life.step('begin to ship', shipper.ready())
  await untilStopped(life)
  await life.step('ship', shipper.drained())
  const { isSame, counts, differences } = await life.step('compare', shipper.verify())
  const told = JSON.stringify({ counts, differences: differences.slice(0, 5), reports })
  const isStrict = life.setting.drops === 'none' && !life.setting.kind.includes('line')
  if (!isSame && isStrict) await life.fault(`the target is not the source: ${told}`)
  await life.step('close the shipper', shipper.close())
  const copies = await life.step('read the target', collect(target.stream({ seqs: false })))
  const wrong = copies.findIndex(({ seq, value }, i) => !isRight(value) || (i > 0 && seq <= copies[i - 1].seq))
  if (wrong >= 0) await life.fault(`the target has ${JSON.stringify(copies[wrong]).slice(0, 200)} at ${wrong}: ${told}`)
  await life.step('close the target', target.close())
}

exports.TARGET = TARGET
exports.isOfAnother = isOfAnother
exports.run = run
exports.shipFrom = shipFrom
