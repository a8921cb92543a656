'use strict'
// A reader whose path has a link: nobody writes the log while it is moved, and then the link leads to it again.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { createIndex } = require('@millrace/index')
const { jsonCodec: codec } = require('@millrace/json-codec')
const { collect, failureOf, newPath, temporaryFolder, until } = require('@millrace/testkit')
const { OffsetLog } = require('..')

/** A log that was moved below its reader. Something else has its old place. */
async function moveBelow (t, framing, isIndexed) {
  const root = temporaryFolder()
  const [before, after, link] = ['before', 'after', 'link'].map((name) => path.join(root, name))
  fs.mkdirSync(before)
  fs.symlinkSync('before', link)
  const file = path.join(link, 'log')
  const writer = OffsetLog(file, { codec, framing })
  await writer.append([{ n: 0 }, { n: 1 }])
  await writer.close()
  const log = OffsetLog(file, { flags: 'r', codec, ...isIndexed && { index: createIndex(['n']) } })
  t.teardown(() => log.close())
  await log.ready()
  fs.renameSync(before, after)
  fs.unlinkSync(link)
  fs.symlinkSync('after', link)
  fs.mkdirSync(before)
  const other = OffsetLog(path.join(before, 'log'), { codec, framing })
  await other.append({ n: -1 })
  await other.close()
  return { log, file, copy: path.join(root, 'copy') }
}

const CASES = ['checked', 'lines', 'offset32'].flatMap((framing) => [[framing, false], [framing, true]])

for (const [framing, isIndexed] of CASES) {
  const title = `reader moved: ${framing}${isIndexed ? ' with an index' : ''}`

  tape(`${title}: it copies the log from where its link leads now`, async (t) => {
    const { log, copy } = await moveBelow(t, framing, isIndexed)
    await log.snapshot(copy)
    const copied = OffsetLog(copy, { codec })
    t.deepEqual(await collect(copied.stream({ seqs: false })), [{ n: 0 }, { n: 1 }])
    await copied.close()
  })

  tape(`${title}: it follows who writes it there`, async (t) => {
    const { log, file } = await moveBelow(t, framing, isIndexed)
    const writer = OffsetLog(file, { codec })
    await writer.append({ n: 2 })
    if (framing === 'checked') {
      await writer.del([(await writer.first()).seq])
      await writer.compact()
      await writer.append({ n: 3 })
    }
    const last = writer.since.value
    await until(() => log.since.value === last)
    t.equal(await log.count({ where: { path: 'n', equals: 2 } }), 1)
    t.deepEqual(await collect(log.stream({ seqs: false })), await collect(writer.stream({ seqs: false })))
    await writer.close()
  })
}

for (const [framing, code] of [['checked', 'ERR_LOG_REPLACED'], ['lines', 'ERR_LOG_REPLACED'], ['offset48', 'ERR_LOG_CORRUPT']]) {
  tape(`reader moved: ${framing}: once another log has the name of a file that was renamed, a live stream ends: it waited forever`, async (t) => {
    const file = newPath('log')
    const append = async (n) => {
      const log = OffsetLog(file, { codec, framing })
      await log.append({ n })
      await log.close()
    }
    await append(0)
    const log = OffsetLog(file, { flags: 'r', codec, framing })
    const got = []
    const reading = failureOf(async () => {
      for await (const value of log.stream({ live: true, seqs: false })) got.push(value)
    })
    await until(() => got.length === 1)
    fs.renameSync(file, `${file}.away`)
    await append(1)
    t.equal((await reading)?.code, code)
    t.equal((await failureOf(() => log.refresh()))?.code, code)
    await log.close()
  })
}
