'use strict'
// Appends as fast as a peer takes them: batches of 100, one after the other, nothing synced that need not be.

const { createAppendJob } = require('../lib/append-job')

const BATCH_COUNT = 100

module.exports = createAppendJob({
  name: 'append',
  order: 10,
  meaning: 'batches of 100, not synced',
  mode: 'append'
}, async (store, records) => {
  const batches = Array.from({ length: Math.ceil(records.length / BATCH_COUNT) }, (_, index) => {
    return records.slice(index * BATCH_COUNT, (index + 1) * BATCH_COUNT)
  })
  const started = performance.now()
  for (const batch of batches) await store.append?.(batch)
  await store.settle?.()
  return { count: records.length, ms: performance.now() - started }
}, true)
