'use strict'
// `npm run bench`: times every layer across block sizes, stack beside stack, and leaves a table, CSV files and charts.
// Exit codes: 0 done, 1 a measurement failed or the stacks disagree, 2 a wrong option or file.

const fs = require('node:fs')
const path = require('node:path')
const { DisagreementError } = require('./lib/agreement')
const { runBench } = require('./lib/bench')
const { gatherCells } = require('./lib/cells')
const { drawCharts } = require('./lib/charts/draw-charts')
const { writeCsvs } = require('./lib/csv')
const { gatherFacts } = require('./lib/facts')
const { MeasureError } = require('./lib/measure')
const { parseOptions } = require('./lib/options')
const { formatTable } = require('./lib/table')
const { usage } = require('./lib/usage')
const { UserError } = require('./lib/user-error')

const ROOT = path.join(__dirname, '..')

main()

async function main () {
  // An exit, unlike a signal's default, lets half-made files be removed.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  try {
    const options = parseOptions(process.argv.slice(2))
    if (options.help) process.stdout.write(usage())
    else await bench(options)
  } catch (err) {
    process.exitCode = report(err)
  }
}

/** @param {import('./lib/options').Options} options */
async function bench (options) {
  const out = prepareOut(options.out ?? ROOT)
  const { measurements, source, skipped } = await runBench(options, path.join(out, 'data', 'generated'))
  const facts = gatherFacts(options.command, options.stacks, source)
  const cells = gatherCells(options, measurements)
  console.log(`${formatTable(cells)}\n\n${facts.machine}, Node ${facts.node}\n${facts.input}`)
  if (skipped > 0) console.log(`out of time: ${skipped} second or third runs were left out; --runs 3 insists on them`)
  const bytes = fs.statSync(source.json).size
  const setting = { facts, records: source.records, bytes, runs: countRuns(measurements) }
  const written = [
    ...writeCsvs(path.join(out, 'data'), options, measurements, facts),
    ...await drawCharts(path.join(out, 'images'), cells, setting, (line) => console.log(line))
  ]
  console.log(`written: ${written.map((file) => path.relative(process.cwd(), file)).join(', ')}`)
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

/**
 * @param {string} out
 * @returns {string}
 */
function prepareOut (out) {
  try {
    fs.mkdirSync(path.join(out, 'data', 'generated'), { recursive: true })
    fs.mkdirSync(path.join(out, 'images'), { recursive: true })
    fs.accessSync(out, fs.constants.W_OK)
    return out
  } catch (err) {
    throw new UserError(`--out: ${/** @type {Error} */ (err).message}`)
  }
}

/**
 * @param {unknown} err
 * @returns {number}  the exit code
 */
function report (err) {
  if (err instanceof UserError) {
    console.error(`bench: ${err.message}`)
    return 2
  }
  const isExplained = err instanceof MeasureError || err instanceof DisagreementError
  console.error(isExplained ? `bench: ${err.message}` : err)
  return 1
}
