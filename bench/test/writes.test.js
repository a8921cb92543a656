'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { Results } = require('../engine/results')
const { createAgreement } = require('../lib/run')
const { table } = require('../tables/writes')
const { makeFolder, runBench, wordsOf } = require('./support')

const [{ rows }] = table.groups
const SIZES = [1, 10, 100, 1000]
const facts = { machine: 'Some CPU, 2 cores, 24 GiB memory', node: 'v20.0.0' }

tape('writes: each layer is appended to in batches of each size, by each peer, and all append the same', async (t) => {
  const folder = makeFolder(t)
  const agree = createAgreement()
  let count = 0
  for (const { durableMs, ...layer } of rows) {
    // A sync takes long where others use the disk: a few are enough.
    const row = { ...layer, ...durableMs && { durableMs: 1 } }
    for (const [peer, side] of Object.entries(row.peers)) {
      if (row.cannot?.[peer]) continue
      for (const at of row.at) {
        const own = path.join(folder, String(count++))
        fs.mkdirSync(own)
        const { figures, answers } = await row.measure({ row, at, side, setting: { records: 1000 }, folder: own })
        for (const [name, answer] of Object.entries(answers)) agree(`${row.name} ${name}`, `${peer}, ${at}`, answer)
        t.ok(figures.us > 0 && (durableMs ? figures.records >= at : figures.records === 1000), `${row.name}, ${peer}, ${at}`)
        fs.rmSync(own, { recursive: true })
      }
    }
  }
})

tape('writes: a small run leaves its CSV file and chart, and says who never syncs', (t) => {
  const out = makeFolder(t)
  const few = ['--rows', 'durable', '--peers', 'write,flumelog', '--runs', '1', '--records', '1000']
  const { status, stdout, stderr } = runBench('writes', ...few, '--out', out)
  t.equal(status, 0, stderr)
  const lines = fs.readFileSync(path.join(out, 'data', 'writes.csv'), 'utf8').split('\n')
  for (const at of SIZES) t.ok(lines.some((line) => line.startsWith(`durable,write,${at},1,us,`)), `${at}`)
  t.ok(lines.includes('# absent: durable of flumelog: never syncs'))
  t.deepEqual(fs.readdirSync(path.join(out, 'images')), ['writes.png', 'writes.svg'])
  t.ok(stdout.includes('durable: '), stdout)
  t.end()
})

tape('writes: what was appended and is not in the file is found out', async (t) => {
  const folder = makeFolder(t)
  const row = rows.find(({ name }) => name === 'frames')
  let appends = 0
  const forgetful = {
    async open (file, options) {
      const log = await row.peers.millrace.open(file, options)
      return { ...log, append: (batch) => ++appends === 3 ? undefined : log.append(batch) }
    }
  }
  const order = { row, at: 100, setting: { records: 1000 }, folder }
  const err = await row.measure({ ...order, side: forgetful }).catch((err) => err)
  t.ok(/^1000 records .* were appended, and 900 /.test(err.message), err.message)
})

/** Millrace takes 1 us a record, the other `times` as long, and so on. */
function makeResults (times, runs = [1, 2, 3]) {
  const cases = rows.flatMap(({ name, peers }) => Object.keys(peers).flatMap((peer) => {
    return SIZES.map((at) => ({ row: name, peer, at }))
  }))
  return new Results(cases.flatMap((one) => runs.map((run) => {
    return { ...one, run, figures: { us: one.peer === 'flumelog' ? times[one.row] ?? 1 : 1 } }
  })))
}

tape('writes: the title of the chart says what its panels show, and no more than the runs do', async (t) => {
  const shown = { rows, peers: table.peers, facts }
  const draw = async (...given) => wordsOf(await table.charts.writes(makeResults(...given), shown))
  const words = await draw({ bytes: 9, frames: 2, json: 1.5, binary: 3 })
  t.ok(words.includes('Millrace appends 1.5 to 3.0 times as fast as flumelog-offset (batches of 100)'), words)
  for (const { name, what } of rows) t.ok(words.includes(name) && words.includes(what), name)
  t.ok((await draw({ frames: 0.5, json: 2, binary: 2 })).includes('flumelog-offset takes 0.5 to 2.0 times as long as Millrace to append'))
  t.ok((await draw({ frames: 2, json: 2, binary: 2 }, [1])).includes('One run: Millrace seems to append 2.0 times as fast'))
  t.equal(await table.charts.writes(new Results([]), { ...shown, rows: [], peers: [] }), undefined)
})
