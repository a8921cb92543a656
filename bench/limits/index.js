'use strict'
// `npm run bench:limits`: measures what must hold, each figure against another one from the same run.
// Exit codes: 0 done, 1 a goal was missed by more than 10 % or a measurement failed, 2 a wrong option.

const fs = require('node:fs')
const { saveChart } = require('../lib/charts/draw-charts')
const { describeWritten, prepareFolders, runCommand } = require('../lib/command')
const { describeMachine, describePackages, describeSource } = require('../lib/facts')
const { withFolder } = require('../lib/work-file')
const { drawLimits } = require('./lib/chart')
const { createContexts } = require('./lib/context')
const { writeCsv } = require('./lib/csv')
const { judge } = require('./lib/judge')
const { parseOptions, usage } = require('./lib/options')
const { runRows } = require('./lib/run-rows')
const { formatTable } = require('./lib/table')

const PACKAGES = ['@millrace/offset-log', '@millrace/block-file', '@millrace/json-codec', '@millrace/binary-codec',
  '@node-rs/crc32', 'flumelog-offset', 'bipf', 'lmdb', 'classic-level', 'better-sqlite3']

runCommand('bench:limits', async () => {
  const options = parseOptions(process.argv.slice(2))
  if (!options.help) return measureLimits(options)
  process.stdout.write(usage())
  return 0
})

/**
 * @param {import('./lib/options').Options} options
 * @returns {Promise<number>}  the exit code
 */
async function measureLimits (options) {
  const folders = prepareFolders(options.out)
  const { results, source } = await withFolder(folders.generated, 'limits', async (work) => {
    const contexts = createContexts(options.records, folders.generated, work)
    return { results: await runRows(options, contexts), source: contexts.source() }
  })
  const facts = {
    ...describeMachine(),
    command: options.command,
    packages: describePackages(PACKAGES),
    input: source ? describeSource(source) : 'no log of the bench'
  }
  console.log(`${formatTable(results)}\n\n${facts.machine}, Node ${facts.node}\n${facts.packages}`)
  const files = [writeCsv(folders.data, results, facts)]
  if (source) {
    const chart = await drawLimits(results, { facts, records: source.records, bytes: fs.statSync(source.json).size })
    if (chart !== undefined) files.push(...saveChart(folders.images, 'limits', chart))
  }
  console.log(describeWritten(files))
  return results.some((result) => judge(result)?.isFailure) ? 1 : 0
}
