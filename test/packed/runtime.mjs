// What a runtime can do with the packages: each part is tried, and a line of JSON says what came of it.
// Usage: <runtime> runtime.mjs <fresh folder>

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { binaryCodec } from '@millrace/binary-codec'
import { LogError } from '@millrace/errors'
import { jsonCodec } from '@millrace/json-codec'
import { OffsetLog } from '@millrace/offset-log'
import { repair, verify } from '@millrace/repair'

const [folder, part] = process.argv.slice(2)
const TIMEOUT_MS = 60_000

function equal (found, expected) {
  if (JSON.stringify(found) !== JSON.stringify(expected)) throw new Error(`found ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`)
}

async function collect (stream) {
  const items = []
  for await (const item of stream) items.push(item)
  return items
}

async function codeOf (run) {
  return run().then(() => 'none', (err) => err instanceof LogError ? err.code : String(err))
}

async function makeLog (name, count = 1000, options = {}) {
  const log = OffsetLog(path.join(folder, name), { codec: binaryCodec, ...options })
  const seqs = []
  for (let n = 0; n < count; n++) seqs.push(log.append({ n: n % 10, text: 'text' }))
  return { log, seqs: await Promise.all(seqs) }
}

const parts = {
  async 'append, get, stream, filter' () {
    for (const codec of [binaryCodec, jsonCodec]) {
      const { log, seqs } = await makeLog(`basic-${codec.name}`, 1000, { codec, fsync: 'always' })
      equal((await log.get(seqs[7])).n, 7)
      equal((await collect(log.stream({ where: { path: ['n'], equals: 3 } }))).length, 100)
      await log.close()
      const again = OffsetLog(path.join(folder, `basic-${codec.name}`), { codec })
      equal((await collect(again.stream({ reverse: true, limit: 2, seqs: false }))).map(({ n }) => n), [9, 8])
      equal(again.recovery, null)
      await again.close()
    }
  },
  async 'delete, compact, snapshot, verify, repair' () {
    const { log, seqs } = await makeLog('upkeep')
    await log.del(seqs.slice(0, 900))
    equal(await codeOf(() => log.get(seqs[5])), 'flumelog:deleted')
    const { sizeBefore, size } = await log.compact()
    equal(size < sizeBefore, true)
    await log.snapshot(path.join(folder, 'upkeep.copy'))
    await log.close()
    equal((await verify(path.join(folder, 'upkeep.copy'))).records, 100)
    equal((await repair(path.join(folder, 'upkeep'), path.join(folder, 'upkeep.new'), { write: true })).recovered, 100)
  },
  async 'recovery of a torn end' () {
    const { log } = await makeLog('torn')
    await log.close()
    fs.appendFileSync(path.join(folder, 'torn'), Buffer.alloc(3000, 7))
    const again = OffsetLog(path.join(folder, 'torn'), { codec: binaryCodec })
    equal((await collect(again.stream())).length, 1000)
    equal(again.recovery.size, 3000)
    await again.close()
  },
  async 'a reader follows the writer' () {
    const { log } = await makeLog('live', 1)
    const reader = OffsetLog(path.join(folder, 'live'), { flags: 'r', codec: binaryCodec })
    setTimeout(() => log.append({ n: 'late' }), 50)
    equal((await collect(reader.stream({ live: true, limit: 2, seqs: false }))).map(({ n }) => n), [0, 'late'])
    await reader.close()
    await log.close()
  },
  async 'one writer' () {
    const { log } = await makeLog('locked', 1)
    const second = OffsetLog(path.join(folder, 'locked'), { codec: binaryCodec })
    equal(await codeOf(() => second.ready()), 'ERR_LOG_LOCKED')
    await second.close().catch(() => {})
    const { stdout } = spawnSync(process.execPath, [...process.execArgv, ...(globalThis.Deno ? ['run', '-A'] : []), import.meta.filename, folder, 'lock'], { encoding: 'utf8' })
    equal(stdout.trim(), 'ERR_LOG_LOCKED')
    await log.close()
  },
  async 'the kernel holds the lock' () {
    const { log } = await makeLog('kernel', 1)
    equal((await log.stats()).lock.kind, 'kernel')
    await log.close()
  },
  async partitions () {
    const { log } = await makeLog('partitions')
    const counts = await Promise.all((await log.partitions(2)).map((range) => log.count(range)))
    equal(counts.length, 2)
    equal(counts[0] + counts[1], 1000)
    await log.close()
  },
  async 'closed by the end of the process' () {
    const { stdout, stderr } = spawnSync(process.execPath, [...process.execArgv, ...(globalThis.Deno ? ['run', '-A'] : []), import.meta.filename, folder, 'end'], { encoding: 'utf8' })
    equal(stdout.trim(), 'appended')
    equal(stderr.trim(), '')
    equal(fs.existsSync(path.join(folder, 'end.lock')), false)
  }
}

async function main () {
  if (part === 'lock') {
    const log = OffsetLog(path.join(folder, 'locked'), { codec: binaryCodec })
    console.log(await codeOf(() => log.ready()))
    process.exit(0)
  }
  if (part === 'end') {
    await makeLog('end', 10)
    console.log('appended')
    return
  }
  for (const [title, run] of Object.entries(parts)) {
    const late = new Promise((resolve) => setTimeout(resolve, TIMEOUT_MS)).then(() => { throw new Error('it takes too long') })
    const problem = await Promise.race([run(), late]).then(() => null, (err) => String(err?.stack ?? err).split('\n').slice(0, 3).join(' | '))
    console.log(JSON.stringify({ title, problem }))
  }
  process.exit(0)
}

main()
