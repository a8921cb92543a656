'use strict'
// What tools need: runs of few records, which runs there are and why some are not used, and reads that keep nothing.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom } = require('@millrace/testkit')
const { createIndex, listRuns, removeRuns } = require('..')
const { appendSome, compareMany } = require('./cases')
const { FOLDER, MemoryLog } = require('./memory-log')

const PATHS = ['type', { path: 'key', range: true }, { path: 'tags', each: true }, { path: 'items', each: 'id' }, { path: ['a.b', 0] }]

function makeLog (count = 100) {
  const log = new MemoryLog({ codec: jsonCodec, seed: 7 })
  appendSome(log, createRandom(7), count)
  return log
}

async function makeIndexed (count, paths = PATHS) {
  const log = makeLog(count)
  const index = createIndex(paths).open(log)
  await index.flush()
  await index.close()
  return log
}

tape('flush: also few records are in a run, which is used later; more make another run', async (t) => {
  const log = await makeIndexed(100)
  const index = createIndex(PATHS).open(log)
  await index.ready()
  t.equal(index.status().records, log.records.length)
  t.equal(index.status().tail, 0)
  appendSome(log, createRandom(8), 50)
  index.appended()
  await index.flush()
  t.equal(index.status().runs, 2)
  t.equal(index.status().records, log.records.length)
  await index.flush()
  t.equal(index.status().runs, 2, 'nothing is new')
  t.equal(compareMany(log, index, createRandom(1), 30), null)
  await index.close()
})

tape('listRuns: what each run covers, and the paths as they were declared', async (t) => {
  const log = await makeIndexed(100)
  const [run, ...others] = await listRuns(log.storage, FOLDER)
  t.deepEqual(others, [])
  t.deepEqual(run.paths, [{ path: ['type'] }, { path: ['key'], range: true }, { path: ['tags'], each: true },
    { path: ['items'], each: ['id'] }, { path: ['a.b', 0] }])
  t.deepEqual(createIndex(run.paths).paths, createIndex(PATHS).paths)
  t.deepEqual([run.records, run.codec, run.from], [log.records.length, 'json', 0])
  t.ok(run.to > log.records.at(-1).seq && run.size > 0)
  const again = createIndex(run.paths).open(log.copy({ isReadOnly: true }))
  await again.refresh()
  t.equal(again.status().runs, 1, 'they find it')
  await again.close()
  t.deepEqual(await listRuns(log.storage, '/nowhere'), [])
})

tape('listRuns and inspect: a run that is damaged, of another log or of other paths', async (t) => {
  const why = async (log, paths = PATHS) => {
    const index = createIndex(paths).open(log)
    const [{ why }] = await index.inspect()
    await index.close()
    return why
  }
  const log = await makeIndexed(100)
  const reader = (changes) => log.copy({ isReadOnly: true, ...changes })
  t.equal(await why(reader()), null)
  t.match(await why(reader(), ['type']), /other paths/)
  t.match(await why(reader({ id: Buffer.from('0909', 'hex') })), /another log/)
  t.match(await why(reader({ codec: { ...jsonCodec, name: 'mine' } })), /codec is json/)
  const shorter = reader()
  shorter.cut(log.records[50].seq)
  t.match(await why(shorter), /after the end/)
  const other = reader()
  other.records.at(-1).chain++
  t.match(await why(other), /other records/)
  const [{ name }] = await listRuns(log.storage, FOLDER)
  const bytes = log.disk.read(`${FOLDER}/${name}`)
  bytes[bytes.length - 40] ^= 1
  log.disk.put(`${FOLDER}/${name}`, bytes)
  t.match(await why(reader()), /damaged/)
  t.deepEqual(await listRuns(log.storage, FOLDER), [])
})

tape('removeRuns: all are gone; another file stays', async (t) => {
  const log = await makeIndexed(100)
  log.disk.put(`${FOLDER}/notes`, Buffer.from('mine'))
  t.equal(await removeRuns(log.storage, FOLDER), 1)
  t.deepEqual(await listRuns(log.storage, FOLDER), [])
  t.equal(String(log.disk.read(`${FOLDER}/notes`)), 'mine')
  t.equal(await removeRuns(log.storage, FOLDER), 0)
  t.equal(await removeRuns(log.storage, '/nowhere'), 0)
})

tape('keepsUp: false: a reader scans nothing in the background, and every answer is right', async (t) => {
  const log = await makeIndexed(100)
  appendSome(log, createRandom(9), 60)
  const reader = log.copy({ isReadOnly: true })
  const index = createIndex(PATHS, { tuning: { keepsUp: false } }).open(reader)
  await index.refresh()
  await index.ready()
  t.equal(reader.scanned, 0)
  t.equal(index.status().runs, 1)
  t.equal(index.status().tail, 0)
  t.equal(compareMany(reader, index, createRandom(2), 30), null)
  await index.close()
})

tape('counts: of runs that were merged they need no reads, if a path has few keys for each record', async (t) => {
  const log = new MemoryLog({ codec: jsonCodec, seed: 9 })
  // In a block there are some three records of each user.
  for (let n = 0; n < 16_000; n++) log.append({ user: n * 7919 % 600, pair: n >> 1 })
  const index = createIndex(['user', 'pair'], { tuning: { recordsMax: 2000 } }).open(log)
  await index.flush()
  t.ok(index.status().runs < 8, `${index.status().runs} runs`)
  const unsure = ({ parts }) => [...parts].flatMap(({ seqs }) => seqs).length
  const users = Array.from({ length: 30 }, (_, user) => index.count({ path: 'user', equals: user }))
  t.equal(users.reduce((sum, counted) => sum + unsure(counted), 0), 0)
  const wanted = log.records.map(({ bytes }) => JSON.parse(bytes)).filter(({ user }) => user < 30).length
  t.equal(users.reduce((sum, { sure }) => sum + sure, 0), wanted)
  t.equal(unsure(index.count({ path: 'pair', equals: 7 })), 2, 'of many keys it would be too large')
  await index.close()
})

tape('runs: those that were merged, or are of other paths or another log, are removed from the disk', async (t) => {
  const log = makeLog(1000)
  const files = () => log.disk.list(FOLDER).filter((name) => name.endsWith('.run'))
  const use = async (paths, host = log) => {
    const index = createIndex(paths, { tuning: { recordsMax: 60, fanOut: 3 } }).open(host)
    await index.ready()
    const { runs } = index.status()
    await index.close()
    return runs
  }
  const runs = await use(PATHS)
  t.ok(runs < 1000 / 60 / 2, `${runs} runs: some were merged`)
  t.equal(files().length, runs)
  t.equal(await use(['type']), files().length, 'of other paths')
  t.equal(await use(['type'], log.copy({ id: Buffer.from('0909', 'hex') })), files().length, 'of another log')
  const before = files()
  await use(PATHS, log.copy({ isReadOnly: true }))
  t.deepEqual(files(), before, 'a reader removes none')
})

tape('the migrating guide: each path that it declares is used by the filter beside it', (t) => {
  const guide = path.join(__dirname, '..', '..', '..', 'docs', 'guides', 'migrating.md')
  const [table] = fs.readFileSync(guide, 'utf8').split('### From ssb-db2\'s operators')[1].split('### ')
  const rows = [...table.matchAll(/^\| `\w+\(.*\)` \| `(.+)` \| `(.+)` \|$/gm)]
  t.equal(rows.length, 6)
  const read = (text) => new Function('id', `return ${text}`)('%a') // eslint-disable-line no-new-func
  const index = createIndex(rows.map(([, , declared]) => read(declared))).open(makeLog())
  for (const [, where] of rows) t.equal(index.explain(read(where)).uses.length, 1, where)
  t.end()
  index.close()
})
