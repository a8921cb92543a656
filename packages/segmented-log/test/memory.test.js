'use strict'
// The memory of many logs: hundreds of them, with one record read from each, share one cache.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { inQuickRuns, temporaryFolder } = require('@millrace/testkit')
const { SegmentedLog, SharedCache } = require('..')

const LOG_COUNT = inQuickRuns(1000, 5)
const CACHE_SIZE = 8 * 2 ** 20
/** Beside the cache: the head of the file, buffers for a page and for values, and garbage. */
const SIZE_PER_LOG = 160 * 1024

tape(`memory: ${LOG_COUNT} logs with one get each stay below a bound`, async (t) => {
  const folder = temporaryFolder()
  const first = path.join(folder, '0')
  const log = SegmentedLog(first)
  const seq = await log.append(Buffer.from('a'))
  await log.close()
  for (let i = 1; i < LOG_COUNT; i++) fs.cpSync(first, path.join(folder, String(i)), { recursive: true })
  const cache = SharedCache(CACHE_SIZE)
  const before = process.memoryUsage().external
  const logs = []
  for (let i = 0; i < LOG_COUNT; i++) {
    const log = SegmentedLog(path.join(folder, String(i)), { cache, flags: 'r' })
    logs.push(log)
    if (String(await log.get(seq)) !== 'a') t.fail('another record')
    if (cache.usedSize > CACHE_SIZE) t.fail(`${cache.usedSize} bytes in caches`)
  }
  const external = process.memoryUsage().external - before
  const bound = CACHE_SIZE + LOG_COUNT * SIZE_PER_LOG
  t.ok(external < bound, `${external} bytes of external memory, ${bound} are allowed`)
  await Promise.all(logs.map((log) => log.close()))
  t.equal(cache.usedSize, 0, 'closing gives the memory back')
})
