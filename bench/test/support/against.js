'use strict'
// Shows what `--against` finds and what it does not, on this machine as it is: takes an hour or two.
//
//   node bench/test/support/against.js same RUNS FILE    two folders with the same packages, ten rows a run, 20 pairs:
//                                                        how many rows are a false alarm
//   node bench/test/support/against.js slower RUNS FILE  one of them is slower by 5% in its log's scan: how many runs
//                                                        find it, and when
//
// Each pair is a line of JSON in the file.

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { compareCases } = require('../../engine/compare')
const { inTree, prepareTree } = require('../../engine/trees')
const { Counts, takeSamples, time } = require('../../lib/measure')
const { openBlocks, openItems, openRecords, openSections } = require('../../lib/readers')
const { runTask } = require('../../lib/run')

const RECORDS = 50000
const FEW = 2000
const SAMPLES = 32
const FEW_SAMPLES = 8
const MINUTES = 10
const SIZE = 690
const PAIRS = 20
// With what the wrapper itself costs, it comes to 5%.
const SHARE = 0.0375

/** In a child: the scan of a whole log. */
async function measureScan ({ file }) {
  const { log, close } = await openRecords(file)
  const { value } = await takeSamples(SAMPLES, () => {
    const counts = new Counts()
    return time(() => log.scan({}, (run) => counts.addRecords(run)))
  })
  await close()
  return { scan: value }
}

/** In a child: one short figure of each of ten layers. */
async function measureLayers ({ file, json, folder }) {
  const { OffsetLog } = require('@millrace/offset-log')
  const { jsonCodec } = require('@millrace/json-codec')
  const { binaryCodec } = require('@millrace/binary-codec')
  const readers = {
    blocks: await openBlocks(file),
    sections: await openSections(file),
    records: await openRecords(file),
    stream: await openItems(file),
    values: await openItems(json, { codec: 'json' }),
    filter: await openRecords(json, { where: { path: ['content', 'type'], equals: 'post' } })
  }
  const works = Object.fromEntries(Object.entries(readers).map(([name, { run }]) => [name, () => run(() => {})]))
  const seqs = []
  await readers.records.run((seq) => seqs.push(seq))
  const { log } = readers.records
  const values = Array.from({ length: 1000 }, (_, index) => createValue(index))
  const encoded = values.map((value) => binaryCodec.encode(value))
  works.get = async () => { for (let index = 0; index < 500; index++) await log.get(seqs[index * 7919 % seqs.length]) }
  works.encode = () => { for (const value of values) jsonCodec.encode(value) }
  works.decode = () => { for (const bytes of encoded) binaryCodec.decode(bytes) }
  let appended = 0
  works.append = async () => {
    const log = OffsetLog(path.join(folder, `${process.pid}.${appended++}`), { fsync: 'never' })
    for (let batch = 0; batch < 2; batch++) await log.append(encoded.slice(batch * 100, batch * 100 + 100))
    await log.close()
  }
  const figures = {}
  for (const [name, work] of Object.entries(works)) {
    const { value } = await takeSamples(FEW_SAMPLES, () => time(work))
    figures[name] = value
  }
  for (const { close } of Object.values(readers)) await close()
  return figures
}

function createValue (index) {
  const type = index % 3 === 0 ? 'post' : 'vote'
  const content = { type, text: 'word '.repeat(index % 100), mentions: [index, index + 1] }
  return { key: `%${index}`, content, timestamp: 1e12 + index }
}

async function writeLogs (folder) {
  const { OffsetLog } = require('@millrace/offset-log')
  const { jsonCodec } = require('@millrace/json-codec')
  const files = { file: path.join(folder, 'few'), large: path.join(folder, 'large'), json: path.join(folder, 'json') }
  for (const [file, count, create, codec] of [
    [files.file, FEW, () => Buffer.alloc(SIZE, 'x')],
    [files.large, RECORDS, () => Buffer.alloc(SIZE, 'x')],
    [files.json, FEW, createValue, jsonCodec]
  ]) {
    const log = OffsetLog(file, { codec, fsync: 'never' })
    for (let done = 0; done < count; done += 100) {
      await log.append(Array.from({ length: 100 }, (_, index) => create(done + index)))
    }
    await log.close()
  }
  return files
}

/** A tree whose packages are those of another one, but a scan of its log takes more processor time, by a share. */
function wrapTree (root, folder, share) {
  for (const name of fs.readdirSync(path.join(root, 'packages')).filter((name) => name !== 'millrace')) {
    const link = path.join(folder, 'node_modules', '@millrace', name)
    fs.mkdirSync(path.dirname(link), { recursive: true })
    fs.symlinkSync(path.join(name === 'offset-log' ? folder : root, 'packages', name), link)
  }
  const own = path.join(folder, 'packages', 'offset-log')
  fs.mkdirSync(own, { recursive: true })
  fs.writeFileSync(path.join(own, 'package.json'), '{ "name": "@millrace/offset-log", "main": "index.js" }')
  fs.writeFileSync(path.join(own, 'index.js'), `
    const { OffsetLog } = require(${JSON.stringify(path.join(root, 'packages', 'offset-log'))})
    const read = () => { const { user, system } = process.cpuUsage(); return user + system }
    exports.OffsetLog = (...args) => {
      const log = OffsetLog(...args)
      // An object of its own: a log whose calls were replaced would be slower by more.
      return {
        ready: () => log.ready(),
        close: () => log.close(),
        async scan (options, onRun) {
          const started = read()
          await log.scan(options, onRun)
          const end = started + (1 + ${share}) * (read() - started)
          while (read() < end);
        }
      }
    }`)
  return folder
}

async function main ([what, count, out]) {
  process.once('SIGINT', () => process.exit(1))
  const folder = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'millrace-against-'))
  process.once('exit', () => fs.rmSync(folder, { recursive: true, force: true }))
  const logs = await writeLogs(folder)
  const { root } = prepareTree('HEAD')
  const isSlower = what === 'slower'
  const roots = { this: isSlower ? wrapTree(root, path.join(folder, 'slow'), SHARE) : undefined, that: root }
  const scratch = path.join(folder, 'scratch')
  for (let run = 1; run <= Number(count); run++) {
    const started = performance.now()
    let pair = {}
    const measure = async (tree) => {
      const what = isSlower ? { task: 'measureScan', file: logs.large } : { task: 'measureLayers', ...logs }
      const order = { module: __filename, folder: scratch, ...what }
      pair[tree] = await runTask(order, {}, inTree(roots[tree], { isProcessorTime: true }))
      return isSlower ? pair[tree].scan : 1
    }
    fs.rmSync(scratch, { recursive: true, force: true })
    fs.mkdirSync(scratch)
    let pairs = 0
    const { rows: [row] } = await compareCases({
      cases: [{ name: 'a', better: 'less', measure, isTogether: true }],
      budgetMs: MINUTES * 60000,
      // With ten rows, they are judged afterwards: this one only counts its pairs.
      // Found is found, also if the interval is not beyond a tolerance yet.
      ...isSlower ? { tolerance: 0 } : { precision: -1, now: () => pairs >= PAIRS ? Infinity : 0 },
      onPair ({ reason }) {
        if (reason) throw new Error(reason)
        pairs++
        const order = { run, seconds: Math.round((performance.now() - started) / 100) / 10, load: os.loadavg()[0] }
        fs.appendFileSync(out, `${JSON.stringify({ what, ...order, ...pair })}\n`)
        pair = {}
      }
    })
    const seconds = Math.round((performance.now() - started) / 1000)
    console.log(run, row.verdict, row.ratio, row.low, row.high, row.pairs, seconds)
  }
}

if (require.main === module) main(process.argv.slice(2))

exports.measureScan = measureScan
exports.measureLayers = measureLayers
