'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { pickShown } = require('../engine/command')
const { Results } = require('../engine/results')
const { table } = require('../tables/layers')
const { browserTest } = require('../../test/browser')
const { drawBars } = require('../lib/bars')
const { SMALL, chooseLooks, drawChart, measureText, saveChart } = require('../lib/card')
const { hedge } = require('../lib/charts')
const { drawCurve, drawLines, toPercentiles } = require('../lib/lines')
const { makeFolder } = require('./support')

const PNG_SIGNATURE = '89504e470d0a1a0a'
const KIB = 1024
const ALL_KIB = [1, 2, 4, 8, 16, 32, 64, 128]
const facts = {
  machine: 'Some CPU, 2 cores, 24 GiB memory',
  node: 'v20.0.0',
  input: 'generated; 458803 records, 342426159 bytes as JSON, 319541240 as binary; 472 have value.content.root == %x'
}
const allLayers = table.groups[0].rows
const [checked, ours, reference] = ['checked', 'offset32', 'flumelog'].map((name) => table.peers.find((peer) => peer.name === name))
const isScaled = (stack, size) => stack === reference && size <= 8 * KIB

/** Times that only a test could wish for: the last stack takes ten times as long as the first. */
function makeCells (given = {}) {
  const { stacks = [ours, reference], layers = allLayers, kib = ALL_KIB, factors = [0.9, 1, 1.2], msOf } = given
  const slower = (stack) => stack === stacks.at(-1) ? 10 : 1 + stacks.indexOf(stack)
  const usual = (stack, size, layer) => (50 + allLayers.indexOf(layer) * 20) * slower(stack)
  const runs = layers.flatMap((layer) => kib.flatMap((size) => stacks.flatMap((stack) => factors.map((factor, run) => {
    const ms = (msOf ?? usual)(stack, size * KIB, layer) * factor
    const figures = { ms, ...isScaled(stack, size * KIB) && { scaled: 1 } }
    return { row: layer.name, peer: stack.name, at: size * KIB, run: run + 1, figures }
  }))))
  const results = new Results(runs)
  return { results, shown: { ...pickShown(table, results, facts), peers: stacks } }
}

async function draw ({ results, shown }) {
  const charts = {}
  for (const [name, draw] of Object.entries(table.charts)) charts[name] = await draw(results, shown)
  return { charts, svg: (name) => charts[name] }
}

/** The same, in files: PNGs take their time. */
async function save (t, cells) {
  const folder = makeFolder(t)
  const { charts } = await draw(cells)
  const files = Object.entries(charts).flatMap(([name, svg]) => svg ? saveChart(folder, name, svg) : [])
  return { folder, files: files.map((file) => path.basename(file)), svg: (name) => fs.readFileSync(path.join(folder, `${name}.svg`), 'utf8') }
}

/** The words that a reader sees, in order. */
const textsOf = (svg) => [...svg.matchAll(/<text[^>]*>(.*?)<\/text>/g)].map(([, text]) => {
  return text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ').trim()
})

tape('charts: three, each as SVG and as PNG', async (t) => {
  const { folder, files } = await save(t, makeCells())
  t.deepEqual(files, ['linegraph', 'barchart', 'barchart2'].flatMap((name) => [`${name}.svg`, `${name}.png`]))
  for (const file of files) {
    const bytes = fs.readFileSync(path.join(folder, file))
    if (!file.endsWith('.png')) continue
    t.equal(bytes.toString('hex', 0, 8), PNG_SIGNATURE)
    t.equal(bytes.readUInt32BE(16), 1120, 'twice the width of the SVG')
    // A chart whose font is missing has no text and packs far smaller.
    t.ok(bytes.length > 40000, `${file}: ${bytes.length} bytes`)
  }
})

tape('linegraph: names layers, stacks, units, and what hollow marks are', async (t) => {
  const { svg } = await draw(makeCells())
  const texts = textsOf(svg('linegraph'))
  for (const { name, what } of allLayers) t.ok(texts.includes(name) && texts.includes(what), name)
  for (const text of ['Millrace, offset32', 'flumelog-offset', 'ms', 'block size, KiB', '1', '128', '1,000', '10×',
    'scaled from the first 64 MiB', 'Millrace reads a log 10 times as fast as flumelog-offset (64 KiB blocks)']) {
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

tape('charts: what was not measured is left out', async (t) => {
  const [log] = allLayers.filter((layer) => layer.name === 'log')
  const { files } = await save(t, makeCells({ layers: [log], kib: [8] }))
  t.deepEqual(files, ['linegraph.svg', 'linegraph.png'])
  const alone = await save(t, makeCells({ stacks: [ours], layers: [log], kib: [16] }))
  t.equal(alone.files.length, 6)
  t.ok(textsOf(alone.svg('linegraph')).includes('Millrace, offset32: time to read a whole log'))
})

tape('charts: a title does not praise a stack that was slower', async (t) => {
  const { svg } = await draw(makeCells({ stacks: [reference, ours] }))
  t.ok(textsOf(svg('linegraph')).includes('flumelog-offset reads a log 10 times as fast as Millrace (64 KiB blocks)'), 'the first of the two')
  const { svg: honest } = await draw(makeCells({ msOf: (stack) => stack === ours ? 100 : 50 }))
  t.ok(textsOf(honest('linegraph')).includes('flumelog-offset takes 0.5 times as long as Millrace to read a log (64 KiB blocks)'))
})

tape('charts: a title speaks of what was read in full, and compares the default framing', async (t) => {
  t.equal(checked.framing, 'checked', 'first of all stacks')
  const { svg } = await draw(makeCells({ msOf: (stack, size) => stack === ours ? 10 : size === 64 * KIB ? 50 : 1150 }))
  for (const name of ['linegraph', 'barchart', 'barchart2']) {
    t.ok(textsOf(svg(name)).includes('Millrace reads a log 5.0 times as fast as flumelog-offset (64 KiB blocks)'), name)
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

/** A place in the figures where a case is weak. */
const steady = { runs: [3, 5], spread: [0.1, 0.5], load: { average: 0.5, steal: 0.05, calibration: [20, 22] } }

tape('hedge: a title keeps its verb while runs, spread and load are what they should be', (t) => {
  const { isWeak, verb, title, footer } = hedge(steady)
  t.deepEqual([isWeak, verb('reads', 'read'), title('A log'), footer], [false, 'reads', 'A log', []])
  t.equal(hedge({ runs: [], spread: [] }).isWeak, false)
  t.end()
})

tape('hedge: single runs, a wide spread and a busy machine are said, and change the verb', (t) => {
  const { load } = steady
  const weak = [
    [{ runs: [1, 1] }, 'One run: it', '2 of 2 cases ran only once.'],
    [{ runs: [1, 5] }, 'Single runs: it', '1 of 2 cases ran only once.'],
    [{ spread: [0.1, 0.51] }, 'Wide spread: it', 'The runs of a case differ by up to 51% of their median.'],
    [{ load: { ...load, average: 0.6 } }, 'Busy machine: it', 'The machine was busy: the load was 0.6 for each core before the run.'],
    [{ load: { ...load, steal: 0.06 } }, 'Busy machine: it', 'The machine was busy: its host took 6% of the time.'],
    [{ load: { calibration: [20, 23] } }, 'Busy machine: it', 'The machine was busy: the same loop took up to 1.15 times as long.'],
    [{ load: { calibration: [23, 20] } }, 'Busy machine: it', 'The machine was busy: the same loop took up to 1.15 times as long.']
  ]
  for (const [change, title, ...footer] of weak) {
    const found = hedge({ ...steady, ...change })
    t.deepEqual([found.isWeak, found.verb('reads', 'read'), found.title('it'), found.footer], [true, 'seems to read', title, footer], title)
  }
  const all = hedge({ runs: [1], spread: [2], load: { steal: 0.5 } })
  t.equal(all.title('A log'), 'One run, wide spread, busy machine: a log')
  t.equal(all.footer.length, 3)
  t.end()
})

tape('charts: runs that differ, or are one, are in the title and at the foot', async (t) => {
  const wide = makeCells({ factors: [0.7, 1, 1.5] })
  const texts = textsOf((await draw(wide)).svg('linegraph'))
  t.ok(texts.includes('Wide spread: Millrace seems to read a log 10 times as fast as flumelog-offset (64 KiB blocks)'))
  t.ok(texts.includes('The runs of a case differ by up to 80% of their median.'))
  const once = textsOf((await draw(makeCells({ factors: [1] }))).svg('barchart'))
  t.ok(once.includes('One run: Millrace seems to read a log 10 times as fast as flumelog-offset (64 KiB blocks)'))
  t.notOk(once.some((text) => text.includes('Thin lines')), 'one run has no thin line')
  t.ok(textsOf((await draw(wide)).svg('barchart')).some((text) => text.includes('Thin lines')), 'several have')
})

/** Groups of bars, a list of values each; a thin line ends at `max`. */
async function drawSome (groups, layout = {}) {
  const svg = await drawChart({ title: 'T', subtitle: 'S', stacks: ['A', 'B'], marks: 'bars', footer: [] }, (canvas) => {
    return drawBars(canvas, groups.map((bars) => ({
      rows: bars.map(([value, max = value]) => ({ label: 'row', bars: [{ look: 0, value, min: value, max, text: String(value) }] }))
    })), { formatTick: String, ...layout })
  })
  const widths = [...svg.matchAll(/<rect class="fill-0" x="0" [^>]*width="([\d.]+)"/g)].map(([, width]) => Number(width))
  return { svg, texts: textsOf(svg).join(' '), widths }
}

tape('bars: one thin line of 6,900 beside bars of 50 to 120 leaves the panel in an arrow with its figure', async (t) => {
  const { svg, texts, widths } = await drawSome([[[54, 60], [124, 6900], [100]]])
  t.ok(svg.includes('class="tip"') && texts.includes('→ 6900'))
  t.ok(texts.includes('An arrow: a run beyond the edge, with its figure.'))
  t.ok(widths[1] > 250, `the bars have the room: ${widths}`)
  t.ok(Math.abs(widths[0] / widths[1] - 54 / 124) < 0.001, 'and their lengths are true')
  const usual = await drawSome([[[54, 60], [124, 180], [100]]])
  t.notOk(usual.svg.includes('class="tip"') || usual.texts.includes('arrow'))
})

tape('bars: the texts below an axis do not touch', async (t) => {
  for (const longest of [4, 900, 9400, 12_306, 99_000, 1_234_567]) {
    const formatTick = (tick) => `${tick.toLocaleString('en')} ms`
    const { svg } = await drawSome([[[longest], [longest / 2]]], { formatTick })
    const ticks = [...svg.matchAll(/<g class="tick"[^>]*transform="translate\(([\d.]+),0\)">.*?<text[^>]*>([^<]+)<\/text>/g)]
    t.ok(ticks.length >= 2, `${longest}: ${ticks.map(([, , text]) => text)}`)
    for (const [index, [, x, text]] of ticks.entries()) {
      if (index === 0) continue
      const [, before, textBefore] = ticks[index - 1]
      const halves = (measureText(text, SMALL) + measureText(textBefore, SMALL)) / 2
      t.ok(Number(x) - Number(before) > halves, `${textBefore}, ${text}`)
    }
  }
})

tape('bars: a bar that would make slivers of two others is drawn as broken', async (t) => {
  const { svg, texts, widths } = await drawSome([[[50], [60], [900]]])
  t.equal(svg.match(/class="gap"/g).length, 2)
  t.ok(texts.includes('A bar with a gap is longer than it is drawn.') && texts.includes('900'))
  t.ok(widths[1] > 200 && widths[2] > widths[1])
  const pair = await drawSome([[[50], [900]]])
  t.notOk(pair.svg.includes('class="gap"'), 'of two, the difference is the finding')
})

tape('bars: each panel has a scale of its own, and says so', async (t) => {
  const own = await drawSome([[[10]], [[100]]])
  t.ok(own.texts.includes('Each panel has its own scale.'))
  t.ok(own.widths[0] > 0.9 * own.widths[1])
  t.notOk((await drawSome([[[10], [100]]])).texts.includes('own scale'), 'one panel has nothing to be told from')
})

tape('bars: a heading begins a line, with what its panels have in common', async (t) => {
  const bar = { look: 0, value: 1, min: 1, max: 1, text: '1', more: { text: 'stored', class: 'muted' } }
  const group = (more) => ({ title: 'panel', rows: [{ label: 'row', bars: [bar] }], ...more })
  const svg = await drawChart({ title: 'T', subtitle: 'S', stacks: ['A'], marks: 'bars', footer: [] }, (canvas) => {
    const groups = [group({ heading: 'Written', promise: 'Survives a kill.' }), group({ heading: 'Buffered', promise: 'May be lost.' })]
    return drawBars(canvas, groups, {})
  })
  for (const text of ['Written', 'Survives a kill.', 'Buffered', '1 stored']) t.ok(textsOf(svg).includes(text), text)
  const places = [...svg.matchAll(/class="panel" transform="translate\(([\d.]+),([\d.]+)\)"/g)]
  t.equal(places[0][1], places[1][1], 'one below the other')
})

tape('percentiles: as a sorted list of all values has them, and no further than their number tells', (t) => {
  const counts = Array.from({ length: 60 }, (_, index) => [index + 1, 1 + (index * 37) % 400])
  const sorted = counts.flatMap(([value, count]) => Array(count).fill(value))
  const points = toPercentiles([...counts].reverse())
  for (const { p, value } of points) t.equal(value, sorted[Math.max(0, Math.ceil(p * sorted.length - 1e-6) - 1)], `p${100 * p}`)
  t.deepEqual(points[points.length - 1], { p: 1, value: 60 })
  t.equal(toPercentiles([[3, 99]]).some(({ p }) => p > 0.99 && p < 1), false, '99 values have no p99.9')
  t.ok(toPercentiles([[3, 10000]]).some(({ p }) => p === 0.9999), 'ten thousand have p99.99')
  t.deepEqual(toPercentiles([]), [])
  t.end()
})

/** Curves by the share of the calls, and their times in ms. */
const toCurve = (times) => {
  return Object.entries(times).map(([p, value]) => ({ p: Number(p), value })).sort((a, b) => a.p - b.p)
}
const CURVES = [
  toCurve({ 0.5: 0.02, 0.9: 0.03, 0.99: 0.5, 0.999: 4, 1: 1200 }),
  toCurve({ 0.5: 0.05, 0.9: 0.06, 0.99: 0.1, 0.999: 2, 1: 900 }),
  []
]

/** @returns {Promise<string>} */
function drawCurves (curves = CURVES) {
  const words = { title: 'T', subtitle: 'S', stacks: ['A', 'B', 'C', 'D'].slice(0, curves.length), marks: 'lines', footer: [] }
  return drawChart(words, (canvas) => drawCurve(canvas, [{ name: 'append', meaning: 'synced', curves }]))
}

/** As of the row `get` of latency once: four ends above each other. */
const CROWDED = [56.2, 6.31, 28.2, 14.1].map((max, index) => toCurve({ 0.5: 0.001 * (index + 1), 0.9999: 0.3, 1: max }))

tape('curve: percentiles are named, times have units, the greatest value is labelled, and who is missing is said', async (t) => {
  const svg = await drawCurves()
  const texts = textsOf(svg)
  for (const text of ['p50', 'p90', 'p99', 'p99.9', 'p99.99', 'max', '1 s', '100 µs', '1.2 s', '900 ms', 'not measured here: C']) t.ok(texts.includes(text), text)
  const named = svg.matchAll(/translate\(([\d.]+),0\)"><line[^>]*>(?:<\/line>)?<text[^>]*>p[\d.]+</g)
  const xs = [...named].map(([, x]) => Number(x))
  t.ok(Math.abs(xs[2] - xs[1] - (xs[4] - xs[3])) < 0.01, 'each tenth has the same width')
})

tape('lines: a point can have a range, which the scale has room for', async (t) => {
  const point = (x, y) => ({ x, y, min: y / 2, max: y * 3 })
  const svg = await drawChart({ title: 'T', subtitle: 'S', stacks: ['A'], marks: 'lines', footer: [] }, (canvas) => {
    const panel = { name: 'scan', meaning: 'ns', series: [{ points: [point(1, 525), point(2, 355), point(4, 495)] }] }
    return drawLines(canvas, [panel], { sizes: [1, 2, 4], formatSize: String, axis: 'size', scale: 'linear' })
  })
  const ranges = [...svg.matchAll(/<line class="stroke-0 range"[^>]* y1="([\d.]+)" y2="([\d.]+)"/g)]
  t.equal(ranges.length, 3)
  t.ok(ranges.every(([, low, high]) => Number(low) > Number(high) && Number(high) >= 0))
})

const luminance = (colour) => {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
const contrast = (a, b) => {
  const [low, high] = [luminance(a), luminance(b)].sort((a, b) => a - b)
  return (high + 0.05) / (low + 0.05)
}

tape('charts: marks have a contrast of 3 to the card at least, and texts one of 4.5', (t) => {
  for (const { light, dark, ink } of chooseLooks(5)) {
    t.ok(contrast(light, '#ffffff') >= 3 && contrast(dark, '#0d1117') >= 3, `${light}, ${dark}`)
    t.ok(contrast(ink, '#ffffff') >= 4.5 && contrast(dark, '#0d1117') >= 4.5, ink)
  }
  t.end()
})

/** In a page that is a picture: texts that leave the card, labels that lie on lines or marks, and the smallest text. */
const inspect = (page) => page.evaluate(() => {
  const edge = document.querySelector('.card').getBoundingClientRect()
  const boxOf = (element) => element.getBoundingClientRect()
  const name = (element) => element.textContent
  const outside = [...document.querySelectorAll('text')].filter((text) => {
    const { left, right, top, bottom } = boxOf(text)
    return name(text) !== '' && (left < edge.left + 4 || right > edge.right - 4 || top < edge.top || bottom > edge.bottom)
  }).map(name)
  const hidden = []
  for (const panel of document.querySelectorAll('.panel')) {
    const lines = [...panel.querySelectorAll('line[class*=stroke-]')].flatMap((line) => {
      return Array.from({ length: 101 }, (_, step) => {
        const { x, y } = line.getPointAtLength(line.getTotalLength() * step / 100).matrixTransform(line.getScreenCTM())
        return { left: x, right: x, top: y, bottom: y }
      })
    })
    const labels = [...panel.querySelectorAll('text[class*=ink-]')]
    const obstacles = [...lines, ...[...panel.querySelectorAll('path')].map(boxOf)]
    for (const label of labels) {
      const { left, right, top, bottom } = boxOf(label)
      // A box of text has room for accents above and descenders below, which figures do not have.
      const [high, low] = [top + 3, bottom - 3]
      const hits = [...obstacles, ...labels.filter((one) => one !== label).map(boxOf)].filter((box) => {
        return box.left < right && box.right > left && box.top < low && box.bottom > high
      })
      if (hits.length > 0) hidden.push(name(label))
    }
  }
  const sizes = [...document.querySelectorAll('[font-size]')].map((text) => Number(text.getAttribute('font-size')))
  return { outside, hidden, size: Math.min(...sizes), width: edge.width }
})

browserTest('charts: texts stay on the card, labels hide nothing, and the smallest text has 7 pixels on a phone', async (t, open) => {
  const folder = makeFolder(t)
  const cells = makeCells({ stacks: [checked, ours, reference] })
  const three = { stacks: [checked, ours, reference] }
  // Lines that cross and that lie on each other, and lines without any order.
  const close = makeCells({
    ...three, msOf: (stack, size) => 100 + (stack === checked ? 0 : 3) + Math.log2(size) * (stack === ours ? 9 : -2)
  })
  let state = 1
  const random = () => (state = (state * 48271 + 11) % 2147483647) / 2147483647
  const rough = makeCells({ ...three, msOf: () => 50 * 20 ** random() })
  const charts = {
    ...(await draw(cells)).charts,
    close: (await draw(close)).charts.linegraph,
    rough: (await draw(rough)).charts.linegraph,
    weak: (await draw(makeCells({ factors: [0.5, 3] }))).charts.barchart2,
    curve: await drawCurves(),
    crowded: await drawCurves(CROWDED)
  }
  for (const [name, svg] of Object.entries(charts)) {
    const [file] = saveChart(folder, name, svg)
    const { page } = await open({ path: file })
    const { outside, hidden, size, width } = await inspect(page)
    t.deepEqual({ outside, hidden }, { outside: [], hidden: [] }, name)
    t.ok(size * 328 / width >= 7, `${name}: ${size}`)
    await page.context().close()
  }
  // Without that the test would show nothing: a label on a line, and a text beyond the edge.
  const spoil = (svg) => svg.replace(/(<g class="panel".*?<line class="stroke-0"[^>]* x1="([\d.]+)"[^>]* y1="([\d.]+)"[^>]*>(?:<\/line>)?)/,
    '$1<text class="ink-0" x="$2" y="$3">hidden</text><text x="9999" y="9">outside</text>')
  fs.writeFileSync(path.join(folder, 'spoilt.svg'), spoil(charts.linegraph))
  const { page } = await open({ path: path.join(folder, 'spoilt.svg') })
  const { outside, hidden } = await inspect(page)
  t.deepEqual({ outside, hidden }, { outside: ['outside'], hidden: ['hidden'] })
})
