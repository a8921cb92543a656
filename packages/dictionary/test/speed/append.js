'use strict'
// What a dictionary costs: events appended to logs with and without one, in turns. Prints medians of the time of the
// processor, and the median of the ratios.
//
//   node packages/dictionary/test/speed/append.js [rounds]

const fs = require('node:fs')
const path = require('node:path')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { createRandom, temporaryFolder } = require('@millrace/testkit')
const { withDictionary } = require('../..')

const EVENT_COUNT = 64 * 2000
const COMMIT_SIZE = 64
const CODECS = { off: jsonCodec, on: withDictionary(jsonCodec) }
// Appended as one batch, and as single events whose group becomes one commit.
const WAYS = ['batches', 'single']

async function main () {
  const rounds = Number(process.argv[2] ?? 15)
  for (const way of WAYS) {
    const ns = { off: [], on: [] }
    const bytes = { off: 0, on: 0 }
    for (let round = 0; round <= rounds; round++) {
      const order = round % 2 === 0 ? ['off', 'on'] : ['on', 'off']
      for (const name of order) {
        const { time, size } = await append(CODECS[name], way)
        // The first round warms up.
        if (round > 0) ns[name].push(time / EVENT_COUNT)
        bytes[name] = size / EVENT_COUNT
      }
    }
    const [off, on] = [median(ns.off), median(ns.on)]
    const cost = median(ns.on.map((time, round) => time / ns.off[round])) - 1
    console.log(`${way}: off ${off.toFixed(0)} ns and ${bytes.off.toFixed(1)} bytes an event, on ${on.toFixed(0)} ns and ` +
      `${bytes.on.toFixed(1)} bytes: ${(100 * cost).toFixed(1)}% slower`)
  }
}

async function append (codec, way) {
  const folder = temporaryFolder()
  const file = path.join(folder, 'log')
  const log = OffsetLog(file, { codec, fsync: 'never' })
  await log.ready()
  const random = createRandom(1)
  const sources = Array.from({ length: 30 }, (_, index) => `source-${index}`)
  const events = Array.from({ length: 100 }, (_, index) => `event-${index}`)
  const began = process.cpuUsage()
  for (let count = 0; count < EVENT_COUNT; count += COMMIT_SIZE) {
    const values = []
    for (let index = 0; index < COMMIT_SIZE; index++) {
      const value = { source: sources[random(30)], event: events[random(100)] }
      values.push({ time: 1790000000000 + count + index, value })
    }
    if (way === 'batches') await log.append(values)
    else await Promise.all(values.map((value) => log.append(value)))
  }
  // Of the processor, user and system: others may use the machine too.
  const { user, system } = process.cpuUsage(began)
  const time = 1000 * (user + system)
  await log.close()
  const { size } = fs.statSync(file)
  fs.rmSync(folder, { recursive: true })
  return { time, size }
}

function median (numbers) {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1]
}

main()
