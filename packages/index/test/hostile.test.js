'use strict'
// Run files whose checksums fit, but which say what cannot be: they are damaged, and are built again.

const fs = require('node:fs')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { collect, createRandom, newPath } = require('@millrace/testkit')
const { createIndex } = require('..')
const { MemoryLog } = require('./memory-log')
const { putTogether, takeApart } = require('./run-bytes')

const PATHS = ['type', { path: 'n', range: true }]
const TUNING = { recordsMax: 100, fanOut: 3, waitMs: 1, sieveRunsMin: 2, cachedPages: 3 }
const WHERE = [{ path: 'type', equals: 'rare' }, { path: 'n', gte: 7, lt: 9 }, { path: 'type', in: ['often', 'rare'] }]

/** A log with three runs. */
async function makeIndexed () {
  const log = new MemoryLog({ codec: jsonCodec })
  for (let n = 0; n < 250; n++) log.append({ type: n % 20 === 0 ? 'rare' : 'often', n: n % 50, ...n === 30 && { type: `\ufffd${n}` } })
  const index = createIndex(PATHS, { tuning: { ...TUNING, fanOut: 9 } }).open(log)
  await index.flush()
  await index.close()
  return log
}

/** Changes a run file, and gives what is wrong then, if anything. */
async function change (edit) {
  const log = await makeIndexed()
  const [file] = log.disk.list()
  const run = takeApart(log.disk.read(file))
  const isFitting = edit(run) !== false
  log.disk.put(file, putTogether(run, isFitting))
  const index = createIndex(PATHS, { tuning: TUNING }).open(log)
  await index.refresh()
  try {
    for (const where of WHERE) log.findIn(index.parts(where), where)
    await index.ready()
    const wrong = WHERE.map((where) => log.compare(index, where)).find((wrong) => wrong !== null) ?? null
    const { isReady, failure } = index.status()
    return wrong ?? (isReady && failure === null ? null : `it is not ready: ${failure}`)
  } finally {
    await index.close()
  }
}

const FOOTERS = {
  'no object': (run) => { run.footer = null },
  'a list': (run) => { run.footer = [] },
  'a size that is no number': ({ footer }) => {
    footer.dataSize = 'x'
    return false
  },
  'more data than the file has': ({ footer }) => {
    footer.dataSize = 2 ** 40
    return false
  },
  'half a page': ({ footer }) => {
    footer.dataSize = 2048
    return false
  },
  'a key that is too short': ({ footer }) => { footer.key = '00' },
  'a range that ends before it begins': ({ footer }) => { footer.to = footer.from },
  'records without end': ({ footer }) => { footer.records = 2 ** 52 },
  'fewer than no records': ({ footer }) => { footer.records = -1 },
  'a base after the last record': ({ footer }) => { footer.base = footer.last + 1 },
  'a table of seqs that is outside': ({ footer }) => { footer.seqTable = footer.dataSize - 8 },
  'a table of seqs that is nowhere': ({ footer }) => { delete footer.seqTable },
  'odd records that are none': ({ footer }) => { footer.oddCount = -2 },
  'odd records outside': ({ footer }) => { footer.oddStart = footer.dataSize },
  'no keys': ({ footer }) => { delete footer.keys },
  'fewer keys than paths': ({ footer }) => { footer.keys.pop() },
  'keys without end': ({ footer }) => { footer.keys[0].count = 2 ** 50 },
  'keys at half a word': ({ footer }) => { footer.keys[0].start += 2 },
  'keys that are null': ({ footer }) => { footer.keys[0] = null },
  'keys that say nothing of ids': ({ footer }) => { delete footer.keys[0].hasIds },
  'keys that have ids, which the file does not': ({ footer }) => { footer.keys[1].count = Math.floor(footer.keys[1].size / 8) },
  'values of a path without ranges': ({ footer }) => { footer.numbers[0] = footer.numbers[1] },
  'no values of a path with ranges': ({ footer }) => { footer.times[1] = null },
  'values without end': ({ footer }) => { footer.numbers[1].count = 2 ** 50 },
  'another format': ({ footer }) => { footer.format++ }
}

for (const [name, edit] of Object.entries(FOOTERS)) {
  tape(`hostile: a footer with ${name}`, async (t) => {
    t.equal(await change(edit), null)
    t.end()
  })
}

/** Where the first group of the keys of `type` is, which have ids, and its references. */
function findEntries ({ data, footer: { keys: [{ start, fences, count }] } }) {
  const word = data.readUInt32LE(fences + 4)
  const entries = start + word - word % 4
  const size = word % 4 + 1
  const references = Array.from({ length: count }, (_, index) => entries + 8 * count + size * index)
  const found = references.map((at) => data.readUIntLE(at, size))
  const lists = found.filter((reference) => reference % 2 === 1).map((reference) => start + (reference - 1) / 2)
  return { fences, entries, references, size, lists }
}

const DATA = {
  'a group whose references are of another size': (run) => { run.data[findEntries(run).fences + 4] ^= 3 },
  'a group outside of its section': (run) => run.data.writeUInt32LE(2 ** 31, findEntries(run).fences + 4),
  'a list outside of the data': (run) => {
    const { fences, references: [first] } = findEntries(run)
    run.data[fences + 4] |= 3
    run.data.writeUInt32LE(2 ** 32 - 1, first)
  },
  'lists of no known form': (run) => { for (const list of findEntries(run).lists) run.data[list] = 3 },
  'lists of more ordinals than are read at once': (run) => {
    for (const list of findEntries(run).lists) {
      run.data[list] &= 0xf
      run.data.writeUInt16LE(0x7fff, list + 1)
    }
  },
  'lists that go up and down': (run) => { for (const list of findEntries(run).lists) run.data.fill(0, list + 3, list + 5) },
  'seqs that go down': ({ data, footer }) => data.writeUInt32LE(5, footer.seqTable + 8),
  'seqs that are all the same': ({ data, footer }) => { data.fill(0, footer.seqTable, footer.seqTable + 24) },
  'seqs of more bits than they can have': ({ data, footer }) => data.writeUInt32LE(40, footer.seqTable + 12),
  'seqs whose bits end before they begin': ({ data, footer }) => data.writeUInt32LE(2 ** 32 - 1, footer.seqTable + 12),
  'seqs whose bits are not there': ({ data, footer }) => {
    for (const group of [0, 1, 2]) data.writeUInt32LE(2 ** 30 + group, footer.seqTable + 8 * group + 4)
  },
  'seqs after its end': ({ data, footer }) => data.fill(0xff, 0, footer.seqTable)
}

for (const [name, edit] of Object.entries(DATA)) {
  tape(`hostile: a run with ${name} is read without a failure, and is built again once it is merged`, async (t) => {
    const log = await makeIndexed()
    const [file] = log.disk.list()
    const run = takeApart(log.disk.read(file))
    edit(run)
    log.disk.put(file, putTogether(run))
    const index = createIndex(PATHS, { tuning: TUNING }).open(log)
    await index.refresh()
    for (const where of WHERE) {
      t.ok(log.findIn(index.parts(where), where))
      t.ok(log.findIn(index.parts(where, { reverse: true }), where, { reverse: true }))
    }
    await index.ready()
    const { isReady, failure } = index.status()
    t.ok(isReady && failure === null)
    await index.close()
    t.end()
  })
}

tape('hostile: lists that share their bytes do not make a merge endless', async (t) => {
  const log = await makeIndexed()
  for (const file of log.disk.list()) {
    const run = takeApart(log.disk.read(file))
    const { entries, references, size, lists } = findEntries(run)
    const { keys: [{ start }] } = run.footer
    for (const at of references) run.data.writeUIntLE(2 * (lists[0] - start) + 1, at, size)
    // As if each had all records.
    run.data.fill(1, lists[0] + 2, entries)
    run.data[lists[0]] &= 0xf
    run.data[lists[0] + 1] = 90
    log.disk.put(file, putTogether(run))
  }
  const index = createIndex(PATHS, { tuning: TUNING }).open(log)
  await index.ready()
  t.equal(index.status().failure, null)
  await index.close()
  t.end()
})

tape('runs: of a path that no record has, also if the records fill whole pages', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec })
  // On a line, 64 of them take 8 bytes: with the end of the table, that is a page.
  log._random = () => 0
  for (let n = 0; n < 511 * 64; n++) log.append({ n: n + 10_000 })
  const index = createIndex(['user'], { tuning: { recordsMax: 511 * 64 } }).open(log)
  await index.flush()
  const { footer } = takeApart(log.disk.read(log.disk.list()[0]))
  t.equal(footer.keys[0].fences, footer.dataSize)
  t.deepEqual([...index.parts({ path: 'user', equals: 'ada' })], [], 'nothing is scanned')
  t.equal(index.status().runs, 1, 'the run is not taken for a damaged one')
  await index.close()
  t.end()
})

/** Words of the run files of a log, with checksums that fit. */
function forgeRuns (folder, random) {
  for (const name of fs.readdirSync(folder)) {
    const run = takeApart(fs.readFileSync(`${folder}/${name}`))
    for (let left = 30; left > 0; left--) {
      // The seqs come first.
      const at = 4 * random((random(2) === 0 ? run.footer.seqTable + 32 : run.data.length) / 4)
      const word = run.data.readUInt32LE(at)
      run.data.writeUInt32LE([word + 1, word - 1, word ^ 1 << random(32), random(2 ** 32)][random(4)] >>> 0, at)
    }
    fs.writeFileSync(`${folder}/${name}`, putTogether(run))
  }
}

for (const framing of ['checked', 'lines']) {
  tape(`hostile: runs that name places where no record is: a log (${framing}) gives only records that match`, async (t) => {
    for (let seed = 0; seed < 4; seed++) {
      const random = createRandom(seed)
      const file = newPath('a.log')
      const open = () => OffsetLog(file, { framing, codec: jsonCodec, index: createIndex(PATHS, { tuning: TUNING }) })
      let log = open()
      await log.append(Array.from({ length: 500 }, (_, n) => ({ type: n % 20 === 0 ? 'rare' : 'often', n: n % 50 })))
      await log.index.ready()
      await log.close()
      forgeRuns(`${file}.index`, random)
      log = open()
      await log.ready()
      for (const where of WHERE) {
        const found = await collect(log.stream({ where, seqs: false }))
        const isMatch = ({ type, n }) => where.path === 'n' ? n >= 7 && n < 9 : where.equals === undefined || type === where.equals
        t.ok(found.every(isMatch), `${found.length} records`)
      }
      await log.index.ready()
      await log.close()
    }
    t.end()
  })
}
