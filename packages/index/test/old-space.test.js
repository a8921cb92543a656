'use strict'
// Questions and appends leave nothing in V8's old space, which only full collections clean: a closure that is assigned
// to a property where it is written is put there, and keeps all that it refers to.

const path = require('node:path')
const { PerformanceObserver, constants } = require('node:perf_hooks')
const { setImmediate } = require('node:timers/promises')
const { getHeapSpaceStatistics } = require('node:v8')
const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { newPath } = require('@millrace/testkit')
const { createIndex } = require('..')

const RECORDS = 2000
/** Until most of the code is compiled: its feedback lives there too. */
const WARM = 3000
const CALLS = 3000
const TRIES = 9
/** For each call. One closure of a filter, with what it refers to, is more. */
const BYTES_MAX = 300

const oldSpace = () => getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space').space_used_size

let collected = 0
new PerformanceObserver((list) => {
  for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) collected++
}).observe({ entryTypes: ['gc'] })

/** How much the old space grows for each call: the median of some tries without a full collection. */
async function growthOf (call) {
  const grown = []
  let at = 0
  for (; at < WARM; at++) await call(at)
  for (let tries = 0; tries < TRIES; tries++) {
    await setImmediate()
    const [before, collections] = [oldSpace(), collected]
    for (let end = at + CALLS; at < end; at++) await call(at)
    const bytes = (oldSpace() - before) / CALLS
    await setImmediate()
    if (collected === collections) grown.push(bytes)
  }
  return grown.sort((a, b) => a - b)[grown.length >> 1] ?? 0
}

for (const codec of [binaryCodec, jsonCodec]) {
  tape(`old space: questions and appends of ${codec.name} leave nothing there`, async (t) => {
    const log = OffsetLog(path.join(newPath(), 'log'), { codec, fsync: 'never', index: createIndex(['key']) })
    await log.append(Array.from({ length: RECORDS }, (_, n) => ({ key: `k${n}` })))
    await log.index.ready()
    const list = async (where) => {
      let count = 0
      for await (const value of log.stream({ where, seqs: false })) count += value.key.length > 0
      return count
    }
    const calls = {
      'a record by its key': (n) => list({ path: 'key', equals: `k${n % RECORDS}` }),
      'a key that is not there': (n) => list({ path: 'key', equals: `absent ${n % RECORDS}` }),
      'a count': (n) => log.count({ where: { path: 'key', equals: `k${n % RECORDS}` } }),
      'an append': (n) => log.append({ key: `more ${n}` }),
      'an append that tells its seqs': (n) => log.append([{ key: `more ${n}` }], { seqs: true })
    }
    for (const [name, call] of Object.entries(calls)) {
      const growth = await growthOf(call)
      t.ok(growth < BYTES_MAX, `${name}: ${growth.toFixed(0)} bytes each`)
    }
    await log.close()
    t.end()
  })
}
