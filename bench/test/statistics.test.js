'use strict'

const tape = require('tape')
const { scale } = require('../layers/cases')
const { formatTable, gatherCells } = require('../layers/report')
const { median, summarize, formatMs, formatCount, formatRatio, formatKib, formatSize } = require('../lib/report')

tape('median: the middle one, or the mean of the middle two, whatever the order', (t) => {
  t.equal(median([3, 1, 2]), 2)
  t.equal(median([10, 9, 1, 100]), 9.5)
  t.equal(median([7]), 7)
  const values = [3, 1, 2]
  median(values)
  t.deepEqual(values, [3, 1, 2], 'its argument is left alone')
  t.end()
})

tape('summarize: spread is the range as a part of the median', (t) => {
  t.deepEqual(summarize([90, 100, 120]), { median: 100, min: 90, max: 120, spread: 0.3 })
  t.deepEqual(summarize([5]), { median: 5, min: 5, max: 5, spread: 0 })
  t.equal(summarize([0, 0]).spread, 0)
  t.end()
})

tape('scale: a part of the bytes takes a part of the time', (t) => {
  t.equal(scale(200, { bytesRead: 64, bytesWhole: 320 }), 1000)
  t.equal(scale(200, { bytesRead: 64, bytesWhole: 64 }), 200)
  t.end()
})

tape('format: figures as people read them', (t) => {
  t.equal(formatMs(1.234), '1.2')
  t.equal(formatMs(12345.6), '12,346')
  t.equal(formatCount(458803), '458,803')
  t.equal(formatCount(999), '999')
  t.equal(formatRatio(1.26), '1.3×')
  t.equal(formatRatio(9.96), '10×')
  t.equal(formatRatio(23.4), '23×')
  t.equal(formatKib(16384), '16 KiB')
  t.deepEqual([1e5, 1.5e6, 1e10].map(formatSize), ['100 KB', '1.5 MB', '10 GB'])
  t.end()
})

tape('cells and table: medians, ratios and marks', (t) => {
  const stacks = [{ name: 'a', label: 'Aaa' }, { name: 'b', label: 'Bbb' }]
  const layers = [{ name: 'log', meaning: 'every record' }]
  const one = (stack, blockSize, ms, scaled = false) => ({ stack, layer: 'log', blockSize, ms, scaled })
  const cells = gatherCells({ stacks, layers, blockSizes: [1024, 2048] }, [
    one('a', 1024, 11), one('a', 1024, 10), one('a', 1024, 14), one('b', 1024, 55, true), one('a', 2048, 10)
  ])
  t.equal(cells.get(stacks[0], layers[0], 1024).median, 11)
  t.equal(cells.ratio(stacks[1], layers[0], 1024), 5)
  t.equal(cells.ratio(stacks[1], layers[0], 2048), undefined)
  const lines = formatTable(cells).split('\n')
  t.ok(lines.some((line) => /^ ?1 KiB +11 \(10-14\) +~ 55 +5\.0×$/.test(line)), lines.join('\n'))
  t.ok(lines.some((line) => /^ ?2 KiB +10 +- +-$/.test(line)), 'what was not measured is a dash')
  t.ok(lines.at(-1).startsWith('~ '), 'the mark is explained')
  t.end()
})

tape('table: fits a hundred columns with three stacks', (t) => {
  const stacks = ['Millrace, checked', 'Millrace, offset32', 'flumelog-offset'].map((label, index) => ({ name: `s${index}`, label }))
  const layers = [{ name: 'log', meaning: 'every record' }]
  const measurements = stacks.flatMap(({ name }) => [11111, 12222, 13333].map((ms) => {
    return { stack: name, layer: 'log', blockSize: 131072, ms, scaled: false }
  }))
  const table = formatTable(gatherCells({ stacks, layers, blockSizes: [131072] }, measurements))
  const width = Math.max(...table.split('\n').map((line) => line.length))
  t.ok(width <= 100, `${width} columns`)
  t.end()
})
