'use strict'
// The viewer on a folder of segments: it shows them as one log, and says in which one the damage is.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SegmentedLog } = require('@millrace/segmented-log')
const { newPath, until } = require('@millrace/testkit')
const { openViewed } = require('../lib/viewer/open')
const { runCommand } = require('./run-command')

const COUNT = 3000
const NEVER = new AbortController().signal

async function makeFolder () {
  const folder = newPath('logs')
  const log = SegmentedLog(folder, { codec: jsonCodec, segmentSize: 40_000, compress: 'gzip' })
  for (let n = 0; n < COUNT; n += 10) {
    await log.append(Array.from({ length: 10 }, (_, i) => ({ n: n + i, time: 1790000000000 + n * 1000, text: 'x'.repeat(60) })))
  }
  await until(async () => (await log.segments()).slice(0, -1).every(({ compressed }) => compressed))
  await log.close()
  return folder
}

const answersOf = async (run) => {
  const answers = []
  await run({ send: (answer) => { answers.push(answer) }, signal: NEVER })
  return answers
}

tape('view: a folder of segments is one log, compressed or not', async (t) => {
  const folder = await makeFolder()
  const { viewed, close } = await openViewed(folder)
  const info = await viewed.info()
  const files = fs.readdirSync(folder).filter((name) => /\.(log|gz)$/.test(name))
  t.ok(files.filter((name) => name.endsWith('.gz')).length > 5, 'most segments are compressed')
  t.equal(info.name, 'logs')
  t.equal(info.size, files.reduce((sum, name) => sum + fs.statSync(path.join(folder, name)).size, 0))
  let before
  const seen = []
  for (let isLast = false; !isLast;) {
    const page = await viewed.page({ before, count: 200 }, NEVER)
    seen.push(...page.rows.map(({ text }) => Number(/n: (\d+)/.exec(text)?.[1] ?? /"n":(\d+)/.exec(text)[1])))
    before = page.rows.at(-1)?.seq
    isLast = page.isLast
  }
  t.deepEqual(seen, Array.from({ length: COUNT }, (_, index) => COUNT - 1 - index), 'page after page, newest first')
  const found = await answersOf((reply) => viewed.search({ query: 'n=1234' }, reply))
  t.equal(found.filter(({ row }) => row).length, 1)
  const counted = await answersOf((reply) => viewed.count(reply))
  t.equal(counted.at(-1).count, COUNT)
  const { timeline } = (await answersOf((reply) => viewed.timeline(reply))).at(-1)
  t.equal(timeline.unit, 'time')
  t.deepEqual([timeline.start, timeline.end], [1790000000000, 1790000000000 + (COUNT - 10) * 1000])
  const { report } = (await answersOf((reply) => viewed.verify(reply))).at(-1)
  t.deepEqual(report, { isSound: true, records: COUNT, mendable: 0, damage: [], damageCount: 0, damageSize: 0 })
  await close()
})

tape('view: damage in a segment is told with its file, and with seqs of the log', async (t) => {
  const folder = await makeFolder()
  const log = SegmentedLog(folder, { flags: 'r' })
  const segments = await log.segments()
  await log.close()
  const { path: file, base } = segments.at(-1)
  const bytes = fs.readFileSync(file)
  bytes.fill(0xff, 33_000, 34_000)
  fs.writeFileSync(file, bytes)
  const { viewed, close } = await openViewed(folder)
  const { report } = (await answersOf((reply) => viewed.verify(reply))).at(-1)
  t.equal(report.isSound, false)
  t.ok(report.damage.length > 0)
  t.ok(report.damage.every((range) => range.file === path.basename(file) && (range.seqs?.from ?? base) >= base))
  await close()
})

tape('view: the command takes a folder', async (t) => {
  const folder = await makeFolder()
  let answer = null
  const { signal } = await runCommand(['view', folder], {
    onSpawn: (child) => child.stdout.once('data', async (url) => {
      answer = await fetch(`${String(url).trim()}page`).then((response) => response.json(), (err) => err)
      child.kill('SIGINT')
    })
  })
  t.equal(signal, 'SIGINT')
  t.equal(answer?.rows?.length, 50)
})
