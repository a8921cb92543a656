'use strict'
// A conversion that was interrupted, anywhere and in any way, goes on: nothing is lost, nothing is there twice.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { isDeepStrictEqual } = require('node:util')
const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SimulatedDisk, collect, createRandom, failureOf, flip } = require('@millrace/testkit')
const { convert } = require('..')
const { FIXTURE, beside, newPath, readLog, readSource } = require('./helpers')
const { writers } = require('./old-packages')

const seed = Date.now() % 2 ** 31
const codecs = { fromCodec: jsonCodec, toCodec: binaryCodec }

/** @type {Promise<any[]>} */
const messages = readSource(FIXTURE).then(({ items }) => items.map(({ bytes }) => JSON.parse(bytes.toString())))

/** A log of each of the formats, of 60 JSON records of which a few are deleted, and the values that are left. */
async function writeSmall (format) {
  const values = Array.from({ length: 60 }, (_, n) => ({ n, text: 'x'.repeat(n * 13 % 200) }))
  const deleted = [0, 20, 21, 59]
  const file = newPath()
  await writers[format](file, values.map((value) => Buffer.from(JSON.stringify(value))), { deleted })
  return { file, values: values.filter(({ n }) => !deleted.includes(n)) }
}

/** Runs a conversion that is aborted at the given report. */
async function abortAt (from, to, options, reportIndex) {
  const controller = new AbortController()
  let index = 0
  const onProgress = () => { if (index++ === reportIndex) controller.abort(new Error('enough')) }
  return failureOf(() => convert(from, to, { ...options, onProgress, signal: controller.signal }))
}

tape('resume: aborted at every batch, and run again', async (t) => {
  const expected = await messages
  for (let index = 0; ; index++) {
    const to = newPath()
    const options = { ...codecs, batchSize: 400 }
    const err = await abortAt(FIXTURE, to, options, index)
    if (err === null) {
      t.equal(index, 7, 'there are 5 batches, and 2 in which all is compared')
      break
    }
    t.equal(err.code, 'ABORT_ERR')
    t.equal(err.name, 'AbortError')
    t.equal(err.cause.message, 'enough')
    t.notOk(fs.existsSync(to))
    const oldSeqs = []
    const result = await convert(FIXTURE, to, { ...options, onRecord: (seq) => oldSeqs.push(seq) })
    t.equal(result.records, 2000)
    t.equal(result.resumed, Math.min(2000, 400 * (index + 1)))
    t.equal(oldSeqs.length, 2000, 'the map is whole')
    t.ok(isDeepStrictEqual(await readLog(to, binaryCodec), expected), `aborted at report ${index}`)
    t.deepEqual(beside(to), ['log'])
  }
})

tape('resume: aborted again and again in one conversion, with other batch sizes', async (t) => {
  const { file, values } = await writeSmall('async-append-only-log')
  const to = newPath()
  let count = 0
  for (let batchSize = 1; await abortAt(file, to, { ...codecs, batchSize }, 3); batchSize++) count++
  t.ok(count > 3, `${count} times`)
  t.deepEqual(await readLog(to, binaryCodec), values)
})

tape('resume: where nothing was converted yet nothing is kept, and other options are taken', async (t) => {
  const { file, values } = await writeSmall('offset53')
  const disk = new SimulatedDisk()
  disk.decide = ({ path }) => path === '/to.converting.new' ? { code: 'EMFILE' } : undefined
  disk.put('/from', fs.readFileSync(file))
  t.equal((await failureOf(() => convert('/from', '/to', { storage: disk.storage }))).code, 'EMFILE')
  t.deepEqual(disk.list(), ['/from'])
  disk.decide = () => {}
  t.equal((await convert('/from', '/to', { ...codecs, storage: disk.storage })).records, values.length)
  const to = newPath()
  const picky = { ...binaryCodec, encode: () => { throw new Error('no') } }
  t.equal((await failureOf(() => convert(file, to, { ...codecs, toCodec: picky }))).code, 'ERR_CODEC_ENCODE')
  t.deepEqual(beside(to), [])
})

tape('resume: aborted before it began, nothing is there', async (t) => {
  const to = newPath()
  const err = await failureOf(() => convert(FIXTURE, to, { signal: AbortSignal.abort() }))
  t.equal(err.code, 'ABORT_ERR')
  t.deepEqual(beside(to), [])
})

tape(`resume: killed at calls of the file system, and run again (seed ${seed})`, async (t) => {
  const expected = await messages
  const random = createRandom(seed)
  const run = (to, last) => {
    const args = [path.join(__dirname, 'killed-conversion.js'), FIXTURE, to, String(last)]
    return spawnSync(process.execPath, args, { encoding: 'utf8' })
  }
  for (let round = 0, last = 0; ; round++, last += 1 + random(8)) {
    const to = newPath()
    const { signal, stdout } = run(to, last)
    if (signal === null) {
      t.ok(round > 3 && stdout === 'done\n', `${round} children were killed, at up to ${last} calls ${stdout}`)
      break
    }
    t.equal(signal, 'SIGKILL')
    // The one that was killed after all was done has left nothing to do but to find that out.
    const err = await failureOf(() => convert(FIXTURE, to, { ...codecs, batchSize: 100 }))
    if (err) t.fail(`killed at call ${last}: ${err.message}`)
    t.ok(isDeepStrictEqual(await readLog(to, binaryCodec), expected), `killed at call ${last}`)
    t.deepEqual(beside(to), ['log'])
  }
})

for (const format of Object.keys(writers)) {
  tape(`resume: ${format}: killed, or without power, at any change of the disk (seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    const { file, values } = await writeSmall(format)
    const options = { ...codecs, format, batchSize: 9 }
    const snapshots = []
    const disk = new SimulatedDisk({ onChange: () => snapshots.push(disk.clone({ onChange: null })) })
    disk.put('/from', fs.readFileSync(file))
    await convert('/from', '/to', { ...options, storage: disk.storage })
    let resumedCount = 0
    for (const [index, snapshot] of snapshots.entries()) {
      const after = random(2) === 0 ? snapshot : snapshot.crash((count) => random(count))
      const wasThere = after.list().includes('/to') && !after.list().includes('/to.converting.json')
      const { storage } = after
      const result = await convert('/from', '/to', { ...options, storage }).catch((err) => err)
      if (wasThere) t.equal(result.code, 'EEXIST', `${index}: it had ended`)
      else if (result.records !== values.length) t.fail(`${index}: ${result.stack ?? JSON.stringify(result)}`)
      else resumedCount += Math.sign(result.resumed)
      const log = OffsetLog('/to', { codec: binaryCodec, flags: 'r', storage })
      const found = (await collect(log.stream())).map(({ value }) => value)
      await log.close()
      if (!isDeepStrictEqual(found, values)) t.fail(`${index}: ${JSON.stringify(found)}`)
      if (after.list().join() !== '/from,/to') t.fail(`${index}: ${after.list()}`)
    }
    t.ok(resumedCount > 3, `${snapshots.length} interruptions, of which ${resumedCount} left records behind`)
  })
}

tape('resume: a disk that is full ends it with its code, and it goes on when there is room', async (t) => {
  const { file, values } = await writeSmall('offset32')
  const disk = new SimulatedDisk({ capacity: 46000 })
  disk.put('/from', fs.readFileSync(file))
  const options = { ...codecs, batchSize: 9, storage: disk.storage }
  const err = await failureOf(() => convert('/from', '/to', options))
  t.equal(err.code, 'ENOSPC')
  t.notOk(disk.list().includes('/to'))
  disk.capacity = Infinity
  t.equal((await convert('/from', '/to', options)).records, values.length)
  t.deepEqual(disk.list(), ['/from', '/to'])
})

tape('resume: a source of another size is refused, and converted when asked to begin anew', async (t) => {
  const { file, values } = await writeSmall('offset32')
  const to = newPath()
  await abortAt(file, to, { ...codecs, batchSize: 9 }, 2)
  const log = OffsetLog(file, { codec: jsonCodec })
  await log.append({ one: 'more' })
  await log.close()
  const err = await failureOf(() => convert(file, to, codecs))
  t.equal(err.code, 'ERR_SOURCE_CHANGED')
  const { resumed } = await convert(file, to, { ...codecs, resume: false })
  t.equal(resumed, 0)
  t.deepEqual(await readLog(to, binaryCodec), [...values, { one: 'more' }])
  t.deepEqual(beside(to), ['log'])
})

for (const verify of [true, false]) {
  tape(`resume: a source of the same size in which a record was changed or deleted is refused (verify: ${verify})`, async (t) => {
    for (const change of [
      (file, seq) => flip(file, seq + 9),
      async (file, seq) => {
        const log = OffsetLog(file)
        await log.del(seq)
        await log.close()
      }
    ]) {
      const { file } = await writeSmall('offset32')
      const to = newPath()
      await abortAt(file, to, { ...codecs, batchSize: 9 }, 2)
      const { items } = await readSource(file)
      await change(file, items[20].seq)
      const err = await failureOf(() => convert(file, to, { ...codecs, verify }))
      t.equal(err.code, 'ERR_SOURCE_CHANGED')
      t.equal(err.offset, items[change.length === 2 && err.offset === items[21].seq ? 21 : 20].seq)
      t.deepEqual(beside(to), ['log.converting', 'log.converting.json'])
    }
  })
}

tape('resume: other options are refused', async (t) => {
  const { file, values } = await writeSmall('flumelog-aligned-offset')
  const to = newPath()
  const options = { ...codecs, format: 'flumelog-aligned-offset' }
  await abortAt(file, to, { ...options, batchSize: 9 }, 2)
  for (const other of [{ fromCodec: undefined, toCodec: undefined }, { toCodec: { ...binaryCodec, name: 'other' } },
    { onCorrupt: 'skip' }, { blockSize: 32768 }, { format: 'async-append-only-log' }]) {
    const err = await failureOf(() => convert(file, to, { ...options, ...other }))
    t.equal(err?.code, 'ERR_INVALID_ARGUMENT', err?.message)
  }
  t.equal((await convert(file, to, options)).records, values.length)
})

tape('resume: what is in the way of an unfinished log is told apart from one', async (t) => {
  const { file, values } = await writeSmall('offset48')
  const ways = [
    [(to) => fs.writeFileSync(`${to}.converting`, 'not a log at all'), 'ERR_LOG_UNKNOWN_FORMAT'],
    [(to) => fs.copyFileSync(file, `${to}.converting`), 'ERR_INVALID_ARGUMENT'],
    [(to) => fs.writeFileSync(`${to}.converting.json`, 'no note'), 'ERR_INVALID_ARGUMENT'],
    [async (to) => {
      await abortAt(file, to, { ...codecs, batchSize: 9 }, 3)
      flip(`${to}.converting`, 32768 + 100)
    }, 'ERR_LOG_CORRUPT'],
    [async (to) => {
      const log = OffsetLog(`${to}.converting`)
      await log.append(Array.from({ length: 99 }, () => Buffer.from('something else')))
      await log.close()
    }, 'ERR_SOURCE_CHANGED']
  ]
  for (const [make, code] of ways) {
    const to = newPath()
    await make(to)
    t.equal((await failureOf(() => convert(file, to, codecs)))?.code, code)
    await convert(file, to, { ...codecs, resume: false })
    t.deepEqual(await readLog(to, binaryCodec), values)
    t.deepEqual(beside(to), ['log'])
  }
})

tape('resume: ended between the rename and the end of the note, it finds that all is done', async (t) => {
  const { file, values } = await writeSmall('offset32')
  const to = newPath()
  await abortAt(file, to, { ...codecs, batchSize: 9 }, 2)
  const note = fs.readFileSync(`${to}.converting.json`)
  await convert(file, to, codecs)
  fs.writeFileSync(`${to}.converting.json`, note)
  const { records, resumed, deleted } = await convert(file, to, codecs)
  t.deepEqual({ records, resumed, deleted }, { records: values.length, resumed: values.length, deleted: 4 })
  t.deepEqual(beside(to), ['log'])
  fs.writeFileSync(`${to}.converting.json`, note)
  t.equal((await failureOf(() => convert(file, to))).code, 'EEXIST', 'with other options it is another log')
  t.equal((await failureOf(() => convert(file, to, { ...codecs, resume: false }))).code, 'EEXIST')
  fs.copyFileSync(FIXTURE, to)
  t.equal((await failureOf(() => convert(file, to, codecs))).code, 'EEXIST', 'another log is not taken for it')
})

tape('resume: of two conversions to one log at the same time one is told that it is locked', async (t) => {
  const to = newPath()
  const ends = await Promise.allSettled([1, 2].map(() => convert(FIXTURE, to, { batchSize: 50 })))
  const failed = ends.filter(({ status }) => status === 'rejected')
  t.equal(failed.length, 1)
  t.equal(failed[0].reason.code, 'ERR_LOG_LOCKED')
  t.equal((await readSource(to)).items.length, 2000)
  t.deepEqual(beside(to), ['log'])
})
