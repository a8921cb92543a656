// @ts-nocheck
'use strict'
// Forwards the log of the box to a sink that keeps the number of each record that it got: each must be there.

const fs = require('node:fs')
const { Forwarder } = require('@millrace/forwarder')
const { passOn, untilStopped } = require('./follower')
const { isRight } = require('./records')

async function run (life) {
  await passOn(life, sendFrom)
}

/** Until it is stopped; then all that the log has was sent. */
async function sendFrom (life, log) {
  const { sentFile, random } = life
  const sink = async (records) => {
    if (random(5) === 0) throw new Error('the sink is down')
    const wrong = records.find(({ value }) => !isRight(value))
    if (wrong) await life.fault(`the sink got ${JSON.stringify(wrong).slice(0, 200)}`)
    fs.appendFileSync(sentFile, records.map(({ value }) => `${value.n}\n`).join(''))
  }
  const batch = { count: 1 + random(200), ageMs: 20 }
  const reports = []
  const forwarder = Forwarder(log, { name: 'send', sink, batch, backoff: { minMs: 1, maxMs: 20 }, lagMs: 50, onReport: (report) => reports.push(report) })
  await life.step('begin to send', forwarder.ready())
  await untilStopped(life)
  await life.step('send', forwarder.drained())
  await life.step('close the forwarder', forwarder.close())
  return reports
}

/** @returns {Set<number>} the numbers of what was sent; a batch that was cut off is sent again */
function readSent ({ sentFile }) {
  if (!fs.existsSync(sentFile)) return new Set()
  return new Set(fs.readFileSync(sentFile, 'utf8').split('\n').map(Number))
}

exports.readSent = readSent
exports.run = run
exports.sendFrom = sendFrom
