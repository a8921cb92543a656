'use strict'
// Kills a flumedb in the middle of appends, again and again, and looks whether its views agree with the log afterwards.

const { fork } = require('node:child_process')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const { createRandom } = require('@millrace/testkit')
const { FlumeDatabase, collect } = require('../../../packages/offset-log/test/flume/database')

// It is killed after so many batches, and then at some moment of the next ones.
const BATCHES_MAX = 4
const MS_MAX = 30

/**
 * @param {object} options
 * @param {string} options.file
 * @param {string} options.framing
 * @param {number} options.rounds
 * @param {number} options.seed  of when to kill
 * @returns {Promise<{ faults: string[], count: number }>}  how many records there are in the end
 */
async function runKills ({ file, framing, rounds, seed }) {
  const random = createRandom(seed)
  const faults = []
  let count = 0
  for (let round = 0; round < rounds; round++) {
    // However slow the machine is, something is there in the end.
    const batches = Math.max(random(BATCHES_MAX), round === rounds - 1 ? 1 : 0)
    const acknowledged = await killWhileAppending({ file, framing, first: count, batches, ms: random(MS_MAX) })
    const db = new FlumeDatabase(file, { framing })
    const fault = await db.findFault()
    if (fault) faults.push(`round ${round}: ${fault}`)
    const numbers = (await collect(db.log.stream())).map(({ value: { n } }) => n)
    if (numbers.some((n, index) => n !== index)) faults.push(`round ${round}: the log has ${numbers}`)
    if (numbers.length < count + acknowledged) {
      faults.push(`round ${round}: ${numbers.length} records, though ${count} and then ${acknowledged} were acknowledged`)
    }
    count = numbers.length
    await db.close()
  }
  return { faults, count }
}

/**
 * @param {object} options
 * @param {string} options.file
 * @param {string} options.framing
 * @param {number} options.first  number of the first record
 * @param {number} options.batches  that are acknowledged before it may be killed
 * @param {number} options.ms  from then on until it is
 * @returns {Promise<number>}  how many appends it has acknowledged; the process has ended
 */
async function killWhileAppending ({ file, framing, first, batches, ms }) {
  const child = fork(path.join(__dirname, 'child.js'), [file, framing, String(first)], { stdio: 'inherit' })
  let acknowledged = 0
  // Before the first batch it says that it has opened the log.
  let messagesLeft = batches + 1
  const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)))
  await Promise.race([ended, new Promise((resolve) => child.on('message', (/** @type {number} */ count) => {
    acknowledged = count
    if (--messagesLeft === 0) resolve(null)
  }))])
  await sleep(ms)
  child.kill('SIGKILL')
  if (await ended !== 'SIGKILL') throw new Error(`the child ended by itself: ${await ended}`)
  return acknowledged
}

exports.runKills = runKills
