'use strict'
// A log of lines that only reads, while another program writes the text file, cuts it or puts another one in its place.

const fs = require('node:fs')
const { callbackify } = require('node:util')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { promisesOf } = require('@millrace/flow')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, failureOf, newPath, until } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const lines = (from, end, text = '') => Array.from({ length: end - from }, (_, i) => `{"n":${from + i}${text}}\n`).join('')
const openJson = (file, options) => OffsetLog(file, { framing: 'lines', codec: jsonCodec, flags: 'r', ...options })

/** A log that follows a file, and what it has read. */
function follow (file) {
  const log = openJson(file)
  const seen = []
  const ended = (async () => {
    for await (const { n } of log.stream({ live: true, seqs: false })) seen.push(n)
  })().then(() => null, (err) => err)
  return { log, seen, ended }
}

for (const [name, change, message] of [
  ['cut', (file) => fs.truncateSync(file, 8), /was cut: it has (8 bytes, of|less than the) 24 /],
  ['emptied, as copytruncate does', (file) => fs.truncateSync(file, 0), /was cut: it has (0 bytes, of|less than the) 24 /],
  ['emptied and shorter again', (file) => fs.writeFileSync(file, lines(5, 7)), /was cut: it has (16 bytes, of|less than the) 24 /],
  ['written anew, and as long', (file) => fs.writeFileSync(file, lines(5, 8)), /was written anew/],
  ['written anew, and longer', (file) => fs.writeFileSync(file, lines(4, 9)), /was written anew/],
  ['renamed, and made again, as logrotate does', (file) => {
    fs.renameSync(file, `${file}.1`)
    fs.writeFileSync(file, lines(5, 9))
  }, /was replaced by another file/],
  ['replaced, as an editor does', (file) => {
    fs.writeFileSync(`${file}~`, lines(0, 3))
    fs.renameSync(`${file}~`, file)
  }, /was replaced by another file/]
]) {
  tape(`follow, lines: a file that was ${name} ends live reads, and nothing of the new one is taken for the old one`, async (t) => {
    const file = newPath('events.jsonl')
    fs.writeFileSync(file, lines(0, 2))
    const { log, seen, ended } = follow(file)
    await until(() => seen.length === 2)
    fs.appendFileSync(file, lines(2, 3))
    await until(() => seen.length === 3)
    change(file)
    const err = await ended
    t.equal(err.code, 'ERR_LOG_REPLACED', err.message)
    t.match(err.message, message)
    t.match(err.message, /Open it again/)
    t.equal(err.path, file)
    t.deepEqual(seen, [0, 1, 2])
    fs.appendFileSync(file, lines(20, 60))
    t.equal((await failureOf(() => log.refresh())).code, 'ERR_LOG_REPLACED', 'for good')
    const readAll = () => collect(log.stream({ seqs: false }))
    const reads = [() => log.get(0), () => log.getMany([8]), () => log.count(), readAll]
    const answers = await Promise.all(reads.map((read) => read().catch((err) => err.code)))
    const isKept = /replaced by/.test(message.source)
    const old = [{ n: 0 }, [{ n: 1 }], 3, [{ n: 0 }, { n: 1 }, { n: 2 }]]
    t.deepEqual(answers, isKept ? old : old.map(() => 'ERR_LOG_REPLACED'), 'nor by reads that begin later')
    await log.close()
    const again = follow(file)
    const expected = fs.readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line).n)
    await until(() => again.seen.length === expected.length)
    t.deepEqual(again.seen, expected)
    await again.log.close()
  })
}

tape('follow, lines: what a file still gets after it was renamed is read, until another one has its name', async (t) => {
  const file = newPath('events.jsonl')
  fs.writeFileSync(file, lines(0, 2))
  const { log, seen, ended } = follow(file)
  await until(() => seen.length === 2)
  fs.renameSync(file, `${file}.1`)
  fs.appendFileSync(`${file}.1`, lines(2, 3))
  await until(() => seen.length === 3)
  fs.appendFileSync(`${file}.1`, lines(3, 5))
  fs.writeFileSync(file, lines(9, 10))
  t.equal((await ended).code, 'ERR_LOG_REPLACED')
  t.deepEqual(seen, [0, 1, 2, 3, 4])
  await log.close()
})

tape('follow, lines: what a file still gets is read while an empty one has its name, as logrotate makes it', async (t) => {
  const file = newPath('events.jsonl')
  fs.writeFileSync(file, lines(0, 2))
  const { log, seen, ended } = follow(file)
  await until(() => seen.length === 2)
  fs.renameSync(file, `${file}.1`)
  fs.writeFileSync(file, '')
  await log.refresh()
  fs.appendFileSync(`${file}.1`, lines(2, 3))
  await log.refresh()
  fs.appendFileSync(`${file}.1`, lines(3, 5))
  fs.appendFileSync(file, lines(9, 10))
  t.equal((await ended).code, 'ERR_LOG_REPLACED')
  t.deepEqual(seen, [0, 1, 2, 3, 4])
  await log.close()
})

tape('follow, lines: a file that gets its name back while a reader looks who has it is no other file', async (t) => {
  const file = newPath('events.jsonl')
  fs.writeFileSync(file, lines(0, 2))
  let comesBack = false
  const open = async (path, options) => {
    if (comesBack) fs.renameSync(`${file}.1`, file)
    comesBack = false
    return await promisesOf(fileStorage).open(path, options)
  }
  const log = openJson(file, { storage: { ...fileStorage, open: callbackify(open) } })
  t.equal(await log.count(), 2)
  fs.renameSync(file, `${file}.1`)
  fs.appendFileSync(`${file}.1`, lines(2, 3))
  comesBack = true
  await log.refresh()
  t.equal(comesBack, false)
  fs.appendFileSync(file, lines(3, 4))
  await log.refresh()
  t.deepEqual(await collect(log.stream({ seqs: false })), [0, 1, 2, 3].map((n) => ({ n })))
  await log.close()
})

for (const [name, appended] of [['a half line', '{"n":2'], ['half a batch', lines(2, 3)]]) {
  tape(`follow, lines: ${name} that a writer cuts while it is being read costs nothing that was read before`, async (t) => {
    const file = newPath('events.jsonl')
    fs.writeFileSync(file, lines(0, 2))
    let cuts = false
    const open = async (...args) => {
      const handle = await promisesOf(fileStorage).open(...args)
      const { stat } = handle
      handle.stat = (cb) => stat.call(handle, (err, state) => {
        if (cuts) fs.truncateSync(file, 16)
        cuts = false
        cb(err, state)
      })
      return handle
    }
    const log = openJson(file, { storage: { ...fileStorage, open: callbackify(open) } })
    t.equal(await log.count(), 2)
    fs.appendFileSync(file, appended)
    cuts = true
    await log.refresh()
    fs.appendFileSync(file, lines(5, 6))
    await log.refresh()
    t.deepEqual(await collect(log.stream({ seqs: false })), [{ n: 0 }, { n: 1 }, { n: 5 }])
    await log.close()
  })
}

tape('follow, lines: a reader that is not told the framing, of a log that is still empty, sees what comes', async (t) => {
  const file = newPath('events.jsonl')
  const writer = OffsetLog(file, { framing: 'lines', codec: jsonCodec })
  await writer.ready()
  t.equal(fs.statSync(file).size, 0)
  const reader = OffsetLog(file, { codec: jsonCodec, flags: 'r' })
  await reader.ready()
  await writer.append([{ n: 1 }, { n: 2 }])
  await reader.refresh()
  t.deepEqual(await collect(reader.stream({ seqs: false })), [{ n: 1 }, { n: 2 }])
  t.equal((await reader.stats()).framing, 'lines')
  await reader.close()
  await writer.close()
})
