'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { layers, stacks } = require('..')
const { readSheets, toSheets } = require('../layers/report')
const { describeSource } = require('../lib/logs')
const { gatherFacts, formatCsv } = require('../lib/report')
const { makeFolder } = require('./support')

const [file, blocks] = layers
const row = (stack, run, more) => ({
  stack, layer: 'file', blockSize: 1024, run, ms: 12.34567, records: 5, bytes: 5000, peakMemory: 4096000, scaled: false, ...more
})

function writeSample (t) {
  const folder = makeFolder(t)
  const log = path.join(folder, 'my.log')
  fs.writeFileSync(log, 'x'.repeat(10))
  const source = { title: 'my.log', json: log, binary: log, records: 5, hits: 1, query: '%x' }
  const facts = gatherFacts('npm run bench', stacks.flatMap(({ packages }) => packages), describeSource(source))
  const measurements = [row('reference', 1, { scaled: true }), row('ours', 2), row('ours', 1)]
  const sheets = toSheets({ stacks, layers: [file, blocks] }, measurements, facts)
  const files = Object.keys(sheets).map((name) => path.join(folder, `${name}.csv`))
  for (const [index, sheet] of Object.values(sheets).entries()) fs.writeFileSync(files[index], formatCsv(sheet))
  return { folder, facts, measurements, files }
}

tape('csv: one file a layer, with a header and a line a run', (t) => {
  const { folder, files } = writeSample(t)
  t.deepEqual(files, ['file.csv', 'blocks.csv'].map((name) => path.join(folder, name)))
  const lines = fs.readFileSync(files[0], 'utf8').split('\n')
  t.deepEqual(lines.filter((line) => !line.startsWith('#')), [
    'stack,block_size,run,ms,records,bytes,peak_memory,scaled',
    'ours,1024,1,12.346,5,5000,4096000,no',
    'ours,1024,2,12.346,5,5000,4096000,no',
    'reference,1024,1,12.346,5,5000,4096000,yes',
    ''
  ])
  t.end()
})

tape('csv: what is read back is what was written, of the stacks and layers that are asked for', (t) => {
  const { folder, facts, measurements } = writeSample(t)
  const read = readSheets({ stacks, layers }, folder)
  t.deepEqual(read.facts, facts)
  t.deepEqual(read.measurements, [...measurements].reverse().map((one) => ({ ...one, ms: 12.346 })))
  const [, ours] = stacks
  t.equal(readSheets({ stacks: [ours], layers }, folder).measurements.length, 2)
  t.throws(() => readSheets({ stacks: [stacks[0]], layers }, folder), /nothing of these --stacks/)
  t.throws(() => readSheets({ stacks, layers: [layers[5]] }, folder), /run the bench first/)
  const other = path.join(folder, 'blocks.csv')
  fs.writeFileSync(other, fs.readFileSync(other, 'utf8').replace('my.log', 'other.log'))
  t.throws(() => readSheets({ stacks, layers }, folder), /different inputs/)
  t.end()
})

tape('csv: the header says machine, Node, versions and input, and no date and no path', (t) => {
  const { folder, files } = writeSample(t)
  const header = fs.readFileSync(files[0], 'utf8').split('\n').filter((line) => line.startsWith('# ')).join('\n')
  for (const word of ['command: npm run bench', 'machine: ', ' cores, ', 'GiB memory', `node: ${process.version}`,
    '@millrace/block-file ', '@node-rs/crc32 ', 'aligned-block-file 1.2.2', 'flumelog-offset 3.4.4', 'flumecodec 0.0.1', 'bipf 1.9.0',
    'input: my.log', '5 records, 10 bytes']) {
    t.ok(header.includes(word), word)
  }
  t.equal(header.match(/@millrace\/offset-log /g).length, 1, 'a package of two stacks is named once')
  t.notOk(header.includes(folder))
  t.notOk(/\b20\d\d-\d\d/.test(header))
  t.end()
})
