'use strict'
// How a log is opened: which file, whether it must be there, and what ends the waiting.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { pathToFileURL } = require('node:url')
const tape = require('tape')
const { repair, verify } = require('@millrace/repair')
const { SimulatedDisk, failureOf, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const FRAMINGS = ['checked', 'offset32']
const DATA = Buffer.from('data')
const fresh = () => newPath('folder', 'a.log')

async function make (file, options) {
  const log = OffsetLog(file, options)
  await log.append(DATA)
  await log.close()
}

/** @returns {string[]} all files and folders below one */
const list = (folder) => fs.readdirSync(folder, { recursive: true }).map(String).sort()

for (const framing of FRAMINGS) {
  tape(`mustExist: a missing file is ENOENT, and nothing is made (${framing})`, async (t) => {
    const file = fresh()
    const folder = path.dirname(path.dirname(file))
    const log = OffsetLog(file, { framing, mustExist: true })
    const err = await failureOf(() => log.ready())
    t.deepEqual([err?.code, err?.path], ['ENOENT', file])
    await log.close()
    t.deepEqual(list(folder), [])
    await make(file, { framing })
    await make(file, { framing, mustExist: true })
    const again = OffsetLog(file, { mustExist: true, flags: 'r' })
    t.equal(await again.count(), 2)
    await again.close()
  })

  tape(`errorIfExists: a file that is there is EEXIST, and stays as it is (${framing})`, async (t) => {
    const file = fresh()
    await make(file, { framing, errorIfExists: true })
    const before = fs.readFileSync(file)
    const log = OffsetLog(file, { framing, errorIfExists: true })
    const err = await failureOf(() => log.append(DATA))
    t.deepEqual([err?.code, err?.path], ['EEXIST', file])
    await log.close()
    t.deepEqual(fs.readFileSync(file), before)
    t.deepEqual(list(path.dirname(file)), ['a.log'])
    fs.writeFileSync(`${file}-empty`, '')
    const empty = OffsetLog(`${file}-empty`, { framing, errorIfExists: true })
    t.equal((await failureOf(() => empty.ready()))?.code, 'EEXIST', 'an empty file is one')
    await empty.close()
    await make(file, { framing })
  })

  tape(`errorIfExists: of two who make a log at the same time one fails (${framing})`, async (t) => {
    for (let round = 0; round < 5; round++) {
      const file = fresh()
      const logs = [1, 2, 3].map(() => OffsetLog(file, { framing, errorIfExists: true, lockTimeout: 10_000 }))
      const codes = await Promise.all(logs.map((log) => failureOf(() => log.append(DATA)).then((err) => err?.code ?? 'made')))
      t.deepEqual(codes.sort(), ['EEXIST', 'EEXIST', 'made'])
      for (const log of logs) await log.close()
    }
  })

  tape(`mustExist, errorIfExists: hold on a storage without locks too (${framing})`, async (t) => {
    const { storage } = new SimulatedDisk()
    const plain = { ...bound(storage), lock: undefined }
    const open = (options) => OffsetLog('/a.log', { framing, storage: plain, ...options })
    const missing = open({ mustExist: true })
    t.equal((await failureOf(() => missing.ready()))?.code, 'ENOENT')
    await missing.close()
    const made = open({ errorIfExists: true })
    await made.append(DATA)
    await made.close()
    const existing = open({ errorIfExists: true })
    t.equal((await failureOf(() => existing.ready()))?.code, 'EEXIST')
    await existing.close()
    const again = open({ mustExist: true })
    t.equal(await again.count(), 1)
    await again.close()
  })
}

/** The functions of a storage, as an object of its own. */
function bound (storage) {
  const names = ['open', 'unlink', 'rename', 'syncFolder']
  return Object.fromEntries(names.map((name) => [name, storage[name].bind(storage)]))
}

tape('options of opening: what makes no sense is refused', (t) => {
  const wrong = [{ mustExist: true, errorIfExists: true }, { errorIfExists: true, flags: 'r' }, { mustExist: 1 }, { strict: 1 },
    { signal: {} }, { maxPendingSize: 0 }, { maxPendingSize: '1' }]
  for (const options of wrong) {
    t.throws(() => OffsetLog('a.log', options), { code: 'ERR_INVALID_ARGUMENT' }, JSON.stringify(options))
  }
  t.end()
})

tape('URL: names the log and its copy', async (t) => {
  const file = newPath('ä #1.log')
  const log = OffsetLog(pathToFileURL(file))
  await log.append(DATA)
  t.equal(log.filename, file)
  await log.snapshot(pathToFileURL(`${file}-copy`))
  const answer = log.snapshot(new URL('https://example.com/a.log'))
  t.equal((await failureOf(() => answer))?.code, 'ERR_INVALID_ARGUMENT', 'through the promise, like a path that is none')
  await log.close()
  t.ok(fs.existsSync(file))
  const url = pathToFileURL(file)
  t.equal((await verify(url)).path, file)
  t.equal((await repair(url, pathToFileURL(`${file}-repaired`), { write: true })).out, `${file}-repaired`)
  const copy = OffsetLog(`${file}-copy`, { flags: 'r' })
  t.deepEqual(await copy.first({ seqs: false }), DATA)
  await copy.close()
  for (const url of ['https://example.com/a.log', 'file:///a%2fb']) {
    t.throws(() => OffsetLog(new URL(url)), { code: 'ERR_INVALID_ARGUMENT' }, url)
  }
})

tape('signal: ends the waiting for a lock, and the next one gets it', async (t) => {
  const file = fresh()
  const holder = OffsetLog(file)
  await holder.append(DATA)
  const controller = new AbortController()
  const reason = new Error('mine')
  const log = OffsetLog(file, { lockTimeout: 60_000, signal: controller.signal })
  const calls = [failureOf(() => log.get(0)), failureOf(() => log.append(DATA)), failureOf(() => log.count())]
  setTimeout(() => controller.abort(reason), 30)
  for (const err of await Promise.all(calls)) t.deepEqual([err?.code, err?.cause], ['ABORT_ERR', reason])
  await log.close()
  t.equal(log.pendingSize, 0)
  t.equal(await holder.count(), 1, 'the holder is not concerned')
  await holder.close()
  await make(file, {})
})

tape('signal: one that was aborted before makes nothing, and one after opening does nothing', async (t) => {
  const file = fresh()
  const aborted = OffsetLog(file, { signal: AbortSignal.abort() })
  t.equal((await failureOf(() => aborted.ready()))?.code, 'ABORT_ERR')
  await aborted.close()
  t.deepEqual(list(path.dirname(path.dirname(file))), [])
  const controller = new AbortController()
  const log = OffsetLog(file, { signal: controller.signal })
  await log.ready()
  controller.abort()
  await log.append(DATA)
  await log.close()
})

tape('signal: at any moment of opening the log is opened or not, and left as it was', async (t) => {
  const file = fresh()
  await make(file, {})
  const outcomes = new Set()
  for (let turns = 0; turns < 40; turns++) {
    const controller = new AbortController()
    const log = OffsetLog(file, { signal: controller.signal })
    const outcome = failureOf(() => log.ready())
    for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve))
    controller.abort()
    outcomes.add((await outcome)?.code ?? 'opened')
    await log.close()
    t.deepEqual(list(path.dirname(file)), ['a.log'])
  }
  t.ok(outcomes.has('ABORT_ERR'))
  const log = OffsetLog(file, { mustExist: true })
  t.equal(await log.count(), 1)
  await log.close()
})

const LIVE = `
  const { OffsetLog } = require(${JSON.stringify(path.join(__dirname, '..'))})
  const [file, options, streamOptions, how] = process.argv.slice(1)
  const log = OffsetLog(file, JSON.parse(options))
  const stream = how === 'readable' ? log.toReadable({ live: true, ...JSON.parse(streamOptions) }).resume()
    : log.stream({ live: true, ...JSON.parse(streamOptions) })
  if (how === 'pull') stream(null, () => {})
  process.once('beforeExit', () => { console.log('ended'); process.exit() })
  log.ready(() => setTimeout(() => { console.log('kept alive'); process.exit() }, 500).unref())
`

tape('live: keeps the process running under strict and as a readable, unless unref', (t) => {
  const run = (options, streamOptions, how) => {
    const args = ['-e', LIVE, fresh(), JSON.stringify(options), JSON.stringify(streamOptions), how]
    return spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout.split('\n')[0]
  }
  t.equal(run({ strict: true }, {}, 'pull'), 'kept alive')
  t.equal(run({ strict: true }, { unref: true }, 'pull'), 'ended')
  t.equal(run({}, {}, 'pull'), 'ended', 'as programs on flumedb expect')
  t.equal(run({}, {}, 'readable'), 'kept alive')
  t.equal(run({}, { unref: true }, 'readable'), 'ended')
  t.end()
})
