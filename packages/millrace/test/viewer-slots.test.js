'use strict'
// The viewer on a folder that several processes write: one list, in the order of the merged log.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { MergedLog, SlotLog } = require('@millrace/merged-log')
const { collect, newPath, until } = require('@millrace/testkit')
const { runCommand } = require('./run-command')
const { START_MS, SLOT_COUNT, closeAll, createRecord, hurt, makeSlots, view } = require('./viewed-slots')

const placeOf = ({ seq, beside }) => `${seq};${beside}`
const numberOf = ({ text }) => Number(/"n":(\d+)/.exec(text)[1])
const seqsOf = (rows) => rows.map(({ seq }) => seq)

/** All keys in the order of the merged log, newest first. */
async function readAll (folder) {
  const log = MergedLog(folder, { codec: jsonCodec, time: 'timestamp' })
  const keys = (await collect(log.stream({ reverse: true }))).map(({ seq }) => seq)
  await log.close()
  return keys
}

tape('view of slots: pages hold every record once, newest first, while records and a slot are added', async (t) => {
  const { folder, logs } = await makeSlots(1000)
  const { ask, page } = await view(t, folder)
  const [info] = await ask('info')
  t.deepEqual([info.name, info.slotCount, info.framing, info.codec], ['logs', SLOT_COUNT, 'checked', 'json'])
  const expected = await readAll(folder)
  const found = []
  for (let before; ;) {
    const { rows, isLast } = await page({ count: 60, ...(before && { before }) })
    found.push(...rows)
    if (isLast) break
    before = placeOf(rows.at(-1))
    if (found.length === 60) {
      await logs[1].append(createRecord(5000))
      logs.push(SlotLog(folder, { codec: jsonCodec }))
      await logs.at(-1).append(createRecord(3))
    }
  }
  t.deepEqual(seqsOf(found), expected)
  t.deepEqual(found.map(numberOf), Array.from({ length: 1000 }, (_, n) => 999 - n))
  const readNewer = async () => (await page({ after: placeOf(found[0]) })).rows
  await until(async () => (await readNewer()).length === 2)
  const newer = await readNewer()
  t.deepEqual(newer.map(numberOf), [5000, 3], 'what was added is newer than all of that')
  await closeAll(logs)
})

tape('view of slots: before, from and after a place part the list in two', async (t) => {
  const { folder, logs } = await makeSlots(200)
  const { page } = await view(t, folder)
  const { rows: all } = await page({ count: 200 })
  for (const index of [0, 1, 7, 100, 198, 199]) {
    const place = placeOf(all[index])
    const [before, from, after] = await Promise.all(['before', 'from', 'after'].map((name) => page({ [name]: place, count: 200 })))
    t.deepEqual(seqsOf(before.rows), seqsOf(all.slice(index + 1)), `before ${index}`)
    t.deepEqual(seqsOf(from.rows), seqsOf(all.slice(0, index + 1)), 'from')
    t.deepEqual(seqsOf(after.rows), seqsOf(all.slice(0, index)), 'after')
    // As it is in the address of the page, and in the time line.
    for (const found of [all[index].seq, `time:${all[index].time}`]) {
      t.deepEqual(seqsOf((await page({ from: found, count: 200 })).rows), seqsOf(all.slice(0, index + 1)), found)
    }
  }
  t.deepEqual((await page({ from: 'time:0', count: 1 })).rows.map(numberOf), [0])
  t.deepEqual((await page({ from: 'time:9000000000000' })).rows, [])
  await closeAll(logs)
})

tape('view of slots: a record, a search, the count and an estimate', async (t) => {
  const { folder, logs } = await makeSlots(6000, { segmentSize: 200_000 })
  const { ask, page } = await view(t, folder)
  const [row] = (await page({ count: 1 })).rows
  const [{ tree }] = await ask('record', { seq: row.seq })
  t.deepEqual(tree.members.map(([key, { text }]) => [key, text])[0], ['n', '5999'])
  const lines = await ask('search', { query: `level=30 ${'x'.repeat(101)}`, count: 10_000 })
  const found = lines.filter(({ row }) => row).map(({ row }) => numberOf(row))
  const expected = Array.from({ length: 6000 }, (_, n) => n).filter((n) => n % 5 === 3 && n * 37 % 200 > 100)
  t.deepEqual(found, expected.reverse().slice(0, 1000))
  const counted = (await ask('count')).findLast(({ timeline }) => timeline).timeline
  t.deepEqual([counted.count, counted.isCounted, counted.unit, counted.start], [6000, true, 'time', START_MS])
  t.deepEqual([Object.keys(counted.seqs), counted.places[0]], [['0', '1', '2'], `time:${START_MS}`])
  const sum = counted.counts.reduce((sum, count) => sum + count, 0)
  t.ok(Math.abs(sum - 6000) <= 2 * counted.counts.length, String(sum))
  const estimated = (await ask('timeline')).findLast(({ timeline }) => timeline).timeline
  t.ok(Math.abs(estimated.count - 6000) < 1200, `about ${estimated.count}`)
  t.equal(estimated.isCounted, false)
  await closeAll(logs)
})

tape('view of slots: records without a time come slot by slot, and the time line leads to them', async (t) => {
  const { folder, logs } = await makeSlots(300, { record: (n) => ({ n }) })
  const { ask, page } = await view(t, folder)
  const { timeline } = (await ask('count')).findLast(({ timeline }) => timeline)
  t.deepEqual([timeline.unit, timeline.end], ['index', 300])
  const { rows } = await page({ count: 200 })
  const slots = rows.map(({ seq }) => Number(seq.split(':')[0]))
  t.deepEqual(slots, [...slots].sort((a, b) => b - a))
  for (const bin of [0, 30, 60, 119]) {
    const place = timeline.places[bin]
    t.equal((await page({ from: place, count: 200 })).rows.at(-1).seq, place)
  }
  await closeAll(logs)
})

tape('view of slots: what is appended comes once, from all slots, and from a new one', async (t) => {
  const { folder, logs } = await makeSlots(30, { record: (n) => ({ n, time: Date.now() }) })
  const { url, ask } = await view(t, folder)
  const [{ end }] = await ask('info')
  const gone = new AbortController()
  const response = await fetch(`${url}tail?${new URLSearchParams({ after: end, query: 'n>0' })}`, { signal: gone.signal })
  const seen = []
  let count = 0
  const reading = (async () => {
    let rest = ''
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split('\n')
      rest = lines.pop()
      for (const line of lines.map((line) => JSON.parse(line))) {
        seen.push(...line.rows.map(numberOf).reverse())
        count += line.count
      }
    }
  })().catch(() => {})
  for (let n = 100; n < 130; n++) {
    if (n === 115) logs.push(SlotLog(folder, { codec: jsonCodec }))
    await logs[n % logs.length].append([{ n, time: Date.now() }, { n: 0, time: Date.now() }])
  }
  await until(() => seen.length >= 30 && count >= 60)
  t.deepEqual(seen.sort((a, b) => a - b), Array.from({ length: 30 }, (_, index) => 100 + index), 'what passes')
  t.equal(count, 60, 'of so many')
  gone.abort()
  await reading
  await closeAll(logs)
})

tape('view of slots: damage is told with its slot and file, and the list goes on behind it', async (t) => {
  const { folder, logs } = await makeSlots(1000)
  await closeAll(logs)
  const file = hurt(folder)
  const { ask, page } = await view(t, folder)
  const { report } = (await ask('verify')).at(-1)
  t.deepEqual([report.isSound, report.damageCount, report.damage[0].slot, report.damage[0].file], [false, 1, 1, file])
  let found = 0
  for (let before; ;) {
    const { rows, isLast } = await page({ count: 200, ...(before && { before }) })
    found += rows.length
    before = rows.length > 0 ? placeOf(rows.at(-1)) : before
    if (isLast) break
  }
  t.equal(found, report.records)
  t.ok(found < 1000)
  const { from } = report.damage[0].seqs
  const { rows } = await page({ from: `1:${from}`, count: 200 })
  const own = rows.map(({ seq }) => seq.split(':').map(Number)).filter(([slot]) => slot === 1)
  t.ok(own.every(([, seq]) => seq >= from), 'the page begins there')
})

tape('view of slots: wrong parameters are answered with a message', async (t) => {
  const { folder, logs } = await makeSlots(10)
  const { ask } = await view(t, folder)
  const wrong = [['page', { before: '5' }], ['page', { from: '0:x' }], ['page', { after: '0:1;2' }], ['record', {}], ['tail', {}],
    ['record', { seq: '9:4096' }], ['record', { seq: '0:5' }], ['page', { before: 'time:soon' }]]
  for (const [name, parameters] of wrong) {
    const [{ error }] = await ask(name, parameters)
    t.equal(typeof error, 'string', `${name} ${JSON.stringify(parameters)}: ${error}`)
  }
  await closeAll(logs)
})

tape('view of slots: by the command, until it is interrupted', async (t) => {
  const { folder, logs } = await makeSlots(100)
  let answer = null
  const { signal, stdout } = await runCommand(['view', folder], {
    onSpawn: (child) => child.stdout.once('data', async (url) => {
      answer = await fetch(`${String(url).trim()}page`).then((response) => response.json(), (err) => err)
      child.kill('SIGINT')
    })
  })
  t.equal(signal, 'SIGINT')
  t.match(stdout, /^http/)
  t.deepEqual(answer?.rows?.map(numberOf), Array.from({ length: 50 }, (_, index) => 99 - index))
  await closeAll(logs)
  const empty = newPath('logs')
  fs.mkdirSync(path.join(empty, '0'), { recursive: true })
  const refused = await runCommand(['view', empty])
  t.deepEqual([refused.code, refused.stdout], [2, ''])
  t.match(refused.stderr, /none of them has a log yet/)
})
