'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { drawCharts } = require('../layers/report')
const { layers: allLayers, stacks: allStacks } = require('..')
const { gatherCells } = require('../layers/report')
const { saveChart } = require('../lib/charts')
const { makeFolder } = require('./support')

const PNG_SIGNATURE = '89504e470d0a1a0a'
const KIB = 1024
const facts = {
  machine: 'Some CPU, 2 cores, 24 GiB memory',
  node: 'v20.0.0',
  input: 'generated; 458803 records, 342426159 bytes as JSON, 319541240 as binary; 472 have value.content.root == %x'
}
const [checked, ours, reference] = allStacks

/** Times that only a test could wish for: the last stack takes ten times as long as the first. */
function makeCells ({ stacks = [ours, reference], layers = allLayers, kib = [1, 2, 4, 8, 16, 32, 64, 128] } = {}) {
  const blockSizes = kib.map((size) => size * KIB)
  const measurements = layers.flatMap((layer, layerIndex) => blockSizes.flatMap((blockSize) => {
    return stacks.flatMap((stack, index) => [0.9, 1, 1.2].map((factor, run) => ({
      stack: stack.name,
      layer: layer.name,
      blockSize,
      run,
      ms: (50 + layerIndex * 20) * factor * (index === stacks.length - 1 ? 10 : 1 + index),
      scaled: stack === reference && blockSize <= 8 * KIB
    })))
  }))
  return gatherCells({ stacks, layers }, measurements)
}

async function draw (cells) {
  const said = []
  const charts = await drawCharts(cells, facts, (line) => said.push(line))
  return { charts, said, svg: (name) => charts[name] }
}

/** The same, in files: PNGs take their time. */
async function save (t, cells) {
  const folder = makeFolder(t)
  const { charts, said } = await draw(cells)
  const files = Object.entries(charts).flatMap(([name, svg]) => saveChart(folder, name, svg))
  return { folder, files: files.map((file) => path.basename(file)), said, svg: (name) => fs.readFileSync(path.join(folder, `${name}.svg`), 'utf8') }
}

/** The words that a reader sees, in order. */
const textsOf = (svg) => [...svg.matchAll(/<text[^>]*>(.*?)<\/text>/g)].map((match) => match[1].replace(/<[^>]*>/g, ' '))

tape('charts: three, each as SVG and as PNG', async (t) => {
  const { folder, files, said } = await save(t, makeCells())
  t.deepEqual(files, ['linegraph', 'barchart', 'barchart2'].flatMap((name) => [`${name}.svg`, `${name}.png`]))
  t.deepEqual(said, [])
  for (const file of files) {
    const bytes = fs.readFileSync(path.join(folder, file))
    if (!file.endsWith('.png')) continue
    t.equal(bytes.toString('hex', 0, 8), PNG_SIGNATURE)
    t.equal(bytes.readUInt32BE(16), 1660, 'twice the width of a README')
    // A chart whose font is missing has no text and packs far smaller.
    t.ok(bytes.length > 40000, `${file}: ${bytes.length} bytes`)
  }
})

tape('linegraph: names layers, stacks, units, and what hollow marks are', async (t) => {
  const { svg } = await draw(makeCells())
  const texts = textsOf(svg('linegraph'))
  for (const { name, meaning } of allLayers) t.ok(texts.includes(name) && texts.includes(meaning), name)
  for (const text of ['Millrace, offset32', 'flumelog-offset', 'ms', 'block size, KiB', '1', '128', '1,000', '10×',
    'scaled from the first 64 MiB', 'At 64 KiB Millrace, offset32 is 10 times as fast as flumelog-offset']) {
    t.ok(texts.includes(text), text)
  }
  t.ok(svg('linegraph').includes('stroke-dasharray="5 5"'), 'scaled points are joined by dashes')
  t.ok(texts.at(-1).includes('458,803 messages, 342 MB') && texts.at(-1).includes('Some CPU'))
})

tape('barcharts: name layers, sizes, times with their unit, and ratios', async (t) => {
  const { svg } = await draw(makeCells())
  const texts = textsOf(svg('barchart')).map((text) => text.trim().replace(/\s+/g, ' '))
  for (const text of ['Millrace, offset32', 'flumelog-offset', '16 KiB', '32 KiB', '64 KiB', '0 ms', '50 ms', '500 ms 10×',
    'file every block, start to end', 'json every record, parsed as JSON']) {
    t.ok(texts.includes(text), text)
  }
  t.notOk(texts.some((text) => text.startsWith('8 KiB') || text.startsWith('stream')))
  t.ok(textsOf(svg('barchart2')).some((text) => text.startsWith('binary')))
})

tape('charts: three stacks have three colours and three labels', async (t) => {
  const { svg } = await draw(makeCells({ stacks: [checked, ours, reference] }))
  for (const name of ['linegraph', 'barchart2']) {
    for (const label of ['Millrace, checked', 'Millrace, offset32', 'flumelog-offset']) t.ok(textsOf(svg(name)).includes(label))
    for (const index of [0, 1, 2]) t.ok(svg(name).includes(`fill-${index}`), `${name}: colour ${index}`)
  }
  const texts = textsOf(svg('linegraph')).map((text) => text.trim())
  t.equal(texts.filter((text) => text === '10×').length, allLayers.length, 'the gap to the last')
  t.equal(texts.filter((text) => text === '2.0×').length, allLayers.length, 'and to the one between')
})

tape('charts: what was not measured is left out, with a line that says so', async (t) => {
  const [log] = allLayers.filter((layer) => layer.name === 'log')
  const { files, said } = await save(t, makeCells({ layers: [log], kib: [8] }))
  t.deepEqual(files, ['linegraph.svg', 'linegraph.png'])
  t.equal(said.length, 2)
  const alone = await save(t, makeCells({ stacks: [ours], layers: [log], kib: [16] }))
  t.equal(alone.files.length, 6)
  t.ok(textsOf(alone.svg('linegraph')).includes('Millrace, offset32: time to read a whole log'))
})

tape('charts: a title does not praise a stack that was slower', async (t) => {
  const { svg } = await draw(makeCells({ stacks: [reference, ours] }))
  t.ok(textsOf(svg('linegraph')).includes('At 64 KiB flumelog-offset is 10 times as fast as Millrace, offset32'), 'the first of the two')
  const cells = makeCells()
  const slower = { ...cells, ratio: () => 0.5 }
  const { svg: honest } = await draw(slower)
  t.ok(textsOf(honest('linegraph')).includes('At 64 KiB flumelog-offset takes 0.5 times as long as Millrace, offset32'))
})

tape('charts: a title speaks of what was read in full, and compares the default framing', async (t) => {
  t.equal(checked.framing, 'checked', 'first of all stacks')
  const cells = makeCells()
  const { svg } = await draw({ ...cells, ratio: (stack, layer, blockSize) => blockSize === 64 * KIB ? 5 : 115 })
  for (const name of ['linegraph', 'barchart', 'barchart2']) {
    t.ok(textsOf(svg(name)).includes('At 64 KiB Millrace, offset32 is 5.0 times as fast as flumelog-offset'), name)
  }
  const { svg: small } = await draw(makeCells({ kib: [1] }))
  t.ok(textsOf(small('linegraph')).includes('Time to read a whole log'), 'no figure where all are scaled')
})

tape('charts: the same cells give the same bytes', async (t) => {
  const [a, b] = [await save(t, makeCells()), await save(t, makeCells())]
  for (const file of a.files) {
    t.ok(fs.readFileSync(path.join(a.folder, file)).equals(fs.readFileSync(path.join(b.folder, file))), file)
  }
})
