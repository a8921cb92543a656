'use strict'

const tape = require('tape')
const { table } = require('../tables/layers')
const { pickShown } = require('../engine/command')
const { Results } = require('../engine/results')
const { median, summarize, formatMs, formatCount, formatKib, formatSize } = require('../lib/report')

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

tape('format: figures as people read them', (t) => {
  t.equal(formatMs(1.234), '1.2')
  t.equal(formatMs(12345.6), '12,346')
  t.equal(formatCount(458803), '458,803')
  t.equal(formatCount(999), '999')
  t.equal(formatKib(16384), '16 KiB')
  t.deepEqual([1e5, 1.5e6, 1e10].map(formatSize), ['100 KB', '1.5 MB', '10 GB'])
  t.end()
})

/** What the layers print of these runs. */
function print (...runs) {
  const results = new Results(runs.map(([peer, at, run, ms, more]) => ({ row: 'log', peer, at, run, figures: { ms, ...more } })))
  return table.format(results, pickShown(table, results, {})).join('\n').split('\n')
}

tape('table of layers: medians, ratios and marks', (t) => {
  const lines = print(['checked', 1024, 1, 11], ['checked', 1024, 2, 10], ['checked', 1024, 3, 14], ['flumelog', 1024, 1, 55, { scaled: 1 }],
    ['checked', 2048, 1, 10])
  t.ok(lines.some((line) => /^ ?1 KiB +11 \(10-14\) +~ 55 +5\.0×$/.test(line)), lines.join('\n'))
  t.ok(lines.some((line) => /^ ?2 KiB +10 +- +-$/.test(line)), 'what was not measured is a dash')
  t.ok(lines.at(-1).startsWith('~ '), 'the mark is explained')
  t.end()
})

tape('table of layers: fits a hundred columns with three stacks', (t) => {
  const runs = ['checked', 'offset32', 'flumelog'].flatMap((peer) => [11111, 12222, 13333].map((ms, run) => [peer, 131072, run + 1, ms]))
  const width = Math.max(...print(...runs).map((line) => line.length))
  t.ok(width <= 100, `${width} columns`)
  t.end()
})
