'use strict'
// Logs of several files: no run crosses a border, and what the log drops takes whole runs with it. No file stays that
// is of no use any more.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom, inQuickRuns } = require('@millrace/testkit')
const { createIndex } = require('..')
const { appendSome, compareMany } = require('./cases')
const { FOLDER, MemoryLog } = require('./memory-log')

const seed = Date.now() & 0xffffff
const ROUNDS = inQuickRuns(40, 8)
const PATHS = ['type', { path: 'key', range: true }, { path: 'tags', each: true }]
const openIndex = (log, random) => {
  const tuning = {
    recordsMax: 5 + random(100), fanOut: 2 + random(7), waitMs: 1,
    sieveRunsMin: random(4), cachedPages: 1 + random(4)
  }
  return createIndex(PATHS, { tuning }).open(log)
}

function makeLog (random) {
  const log = new MemoryLog({ codec: jsonCodec, seed: random(1e6) })
  log.roll()
  return log
}

function fill (log, random, files) {
  for (; files > 0; files--) {
    appendSome(log, random, random(200))
    log.roll()
  }
  appendSome(log, random, 1 + random(40))
}

/** @returns {Array<[number, number]>}  the ranges of the run files, in order */
function listRanges (log) {
  return log.disk.list().map((file) => file.slice(FOLDER.length + 1).split('-', 2).map(Number)).sort((a, b) => a[0] - b[0])
}

tape(`borders: each file of a log that is full has one run, and none crosses a border (seed ${seed})`, async (t) => {
  for (let round = 0; round < ROUNDS; round++) {
    const random = createRandom(seed + round)
    const log = makeLog(random)
    const index = openIndex(log, random)
    for (let left = 1 + random(3); left > 0; left--) {
      fill(log, random, random(6))
      await index.ready()
    }
    const ranges = listRanges(log)
    for (const [from, to] of ranges) if (to > log.nextBorder(from)) t.fail(`round ${round}: ${from} to ${to}`)
    const last = log.borders.at(-1)
    const hasRecords = (border) => log.find([]).some((seq) => seq >= border && seq < log.nextBorder(border))
    const full = log.borders.slice(0, -1).filter(hasRecords)
    const found = ranges.filter(([from]) => from < last).map(([from]) => from)
    if (String(found) !== String(full)) t.fail(`round ${round}: ${found} instead of ${full}`)
    const wrong = compareMany(log, index, random, 20)
    if (wrong !== null) t.fail(`round ${round}: ${wrong}`)
    await index.close()
  }
  t.pass(`${ROUNDS} logs`)
})

tape(`borders: the runs of what the log drops go, and their files (seed ${seed})`, async (t) => {
  for (let round = 0; round < ROUNDS; round++) {
    const random = createRandom(seed + round)
    const log = makeLog(random)
    let index = openIndex(log, random)
    fill(log, random, 6)
    await index.ready()
    const isOpen = random(2) === 0
    if (!isOpen) await index.close()
    log.dropBefore(log.borders[1 + random(log.borders.length - 1)])
    if (!isOpen) index = openIndex(log, random)
    const wrong = compareMany(log, index, random, 10)
    if (wrong !== null) t.fail(`round ${round}: ${wrong}`)
    await index.ready()
    const ranges = listRanges(log)
    const isClean = ranges.every(([from]) => from >= log.start) && ranges.length === index.status().runs
    if (!isClean) t.fail(`round ${round}: ${ranges} are left of ${log.start}`)
    await index.close()
  }
  t.pass(`${ROUNDS} logs`)
})

tape('borders: the files of runs that became one are removed', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  const index = createIndex(PATHS, { tuning: { recordsMax: 10, fanOut: 2, waitMs: 1 } }).open(log)
  for (let left = 20; left > 0; left--) {
    appendSome(log, createRandom(left), 10)
    await index.ready()
  }
  t.equal(listRanges(log).length, index.status().runs)
  await index.close()
})

tape('borders: a run is not believed if the log has gone on in its range from an older copy', async (t) => {
  const random = createRandom(seed)
  const log = makeLog(random)
  for (let n = 0; n < 50; n++) log.append({ type: 'first' })
  const older = log.copy({ disk: log.disk })
  log._end += 10_000
  log.borders = [0, log.end]
  log.append({ type: 'first' })
  let index = createIndex(PATHS, { tuning: { recordsMax: 1000, fanOut: 2, waitMs: 1 } }).open(log)
  await index.ready()
  t.equal(listRanges(log).length, 1)
  await index.close()
  for (let n = 0; n < 50; n++) older.append({ type: 'second' })
  older._end += 20_000
  older.append({ type: 'second' })
  index = createIndex(PATHS).open(older)
  await index.ready()
  t.equal(older.compare(index, { path: 'type', equals: 'second' }), null)
  await index.close()
})
