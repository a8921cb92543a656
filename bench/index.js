'use strict'
// `npm run bench`: times every layer across block sizes, stack beside stack, and leaves a table, CSV files and charts.
// Exit codes: 0 done, 1 a measurement failed or the stacks disagree, 2 a wrong option or file.

const fs = require('node:fs')
const { runBench } = require('./lib/bench')
const { gatherCells } = require('./lib/cells')
const { drawCharts } = require('./lib/charts/draw-charts')
const { describeWritten, prepareFolders, runCommand } = require('./lib/command')
const { writeCsvs } = require('./lib/csv')
const { gatherFacts } = require('./lib/facts')
const { parseOptions } = require('./lib/options')
const { formatTable } = require('./lib/table')
const { usage } = require('./lib/usage')

runCommand('bench', async () => {
  const options = parseOptions(process.argv.slice(2))
  if (options.help) process.stdout.write(usage())
  else await bench(options)
  return 0
})

/** @param {import('./lib/options').Options} options */
async function bench (options) {
  const folders = prepareFolders(options.out)
  const { measurements, source, skipped } = await runBench(options, folders.generated)
  const facts = gatherFacts(options.command, options.stacks, source)
  const cells = gatherCells(options, measurements)
  console.log(`${formatTable(cells)}\n\n${facts.machine}, Node ${facts.node}\n${facts.input}`)
  if (skipped > 0) console.log(`out of time: ${skipped} second or third runs were left out; --runs 3 insists on them`)
  const bytes = fs.statSync(source.json).size
  const setting = { facts, records: source.records, bytes, runs: countRuns(measurements) }
  console.log(describeWritten([
    ...writeCsvs(folders.data, options, measurements, facts),
    ...await drawCharts(folders.images, cells, setting, (line) => console.log(line))
  ]))
}

/**
 * @param {import('./lib/shapes').Measurement[]} measurements
 * @returns {[number, number]}  the least and the most that a case ran, not counting those that run once by design
 */
function countRuns (measurements) {
  const counts = new Map()
  for (const { stack, layer, blockSize, scaled } of measurements) {
    const key = [stack, layer, blockSize].join(' ')
    if (!scaled) counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts.size === 0 ? [1, 1] : [Math.min(...counts.values()), Math.max(...counts.values())]
}
