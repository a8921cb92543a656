'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { Results } = require('../engine/results')
const { warm } = require('../lib/logs')
const { table } = require('../tables/cold')
const { NO_WAY, findWay } = require('../tables/cold/ways')
const { makeFolder, runBench, wordsOf } = require('./support')

const [{ rows }] = table.groups
const facts = { machine: 'Some CPU, 2 cores, 24 GiB memory', node: 'v20.0.0' }

tape('cold: each row reads a file that comes from the disk, or says that no way makes it cold', (t) => {
  const out = makeFolder(t)
  const { status, stdout, stderr } = runBench('cold', '--runs', '1', '--records', '3000', '--out', out)
  t.equal(status, 0, stderr)
  const csv = fs.readFileSync(path.join(out, 'data', 'cold.csv'), 'utf8')
  if (csv.includes('# absent')) {
    t.ok(stdout.includes(`Absent: ${NO_WAY} (file, log, blocks)`), stdout)
    return t.end()
  }
  for (const { name, peers } of rows) {
    for (const peer of Object.keys(peers)) {
      const [, ms] = new RegExp(`^${name},${peer},4096,1,ms,(.*)$`, 'm').exec(csv) ?? []
      const [, read] = new RegExp(`^${name},${peer},4096,1,from_disk,(.*)$`, 'm').exec(csv) ?? []
      t.ok(Number(ms) > 0 && Number(read) > (name === 'blocks' ? 1e6 : 2e6), `${name}, ${peer}: ${ms} ms, ${read} bytes`)
    }
  }
  t.ok(/\. Of the bytes that were read, at least \d+% came from the disk\./.test(stdout), stdout)
  t.end()
})

tape('cold: a way that leaves the file in memory is not taken', (t) => {
  const file = path.join(makeFolder(t), 'file')
  fs.writeFileSync(file, Buffer.alloc(1e6, 1))
  warm(file)
  t.equal(findWay(file, [{ name: 'none', run: () => {} }, { name: 'fails', run: () => { throw new Error('not allowed') } }]), -1)
  t.end()
})

tape('cold: where no way works, a row is absent and says so', async (t) => {
  const found = { inputs: { inputs: { pathOf: () => 'file' } }, way: -1 }
  t.deepEqual(await rows[0].prepare({ once: (name) => found[name] }), { absent: NO_WAY })
})

tape('cold: a run whose file was in memory fails', async (t) => {
  const file = path.join(makeFolder(t), 'file')
  fs.writeFileSync(file, Buffer.alloc(1e6, 1))
  const [row] = rows
  const order = { row, side: row.peers.loop, at: 4096, setting: { file, way: -1 } }
  const err = await row.measure(order).catch((err) => err)
  t.ok(/^the file was not cold: .* of 1000000 bytes came from the disk$/.test(err.message), err.message)
})

tape('cold: the title of the chart says what its panels show', async (t) => {
  const cases = rows.flatMap(({ name, peers }) => Object.keys(peers).map((peer) => ({ row: name, peer })))
  const results = new Results(cases.flatMap((one) => [4096, 65536].flatMap((at) => [1, 2].map((run) => {
    return { ...one, at, run, figures: { ms: one.peer === 'flumelog' ? 300 : 100, way: 0, from_disk: 2, least: 2 } }
  }))))
  const words = wordsOf(await table.charts.cold(results, { rows, peers: table.peers, facts }))
  t.ok(words.includes('Millrace reads from a cold disk 3.0 times as fast as flumelog-offset (64 KiB blocks)'), words)
  t.ok(words.includes('not in the page cache') && !words.includes('page cache warm'))
})
