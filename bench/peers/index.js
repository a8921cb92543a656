'use strict'
// `npm run bench:peers`: Millrace beside the logs that it succeeds and the databases that one may use instead.
// Exit codes: 0 done, 1 one of ours failed or the peers disagree, 2 a wrong option.

const fs = require('node:fs')
const { describeWritten, prepareFolders, runCommand } = require('../lib/command')
const { describeMachine, describePackages } = require('../lib/facts')
const { formatCount } = require('../lib/format')
const { findSource } = require('../lib/source')
const { withFolder } = require('../lib/work-file')
const { drawPeers } = require('./lib/chart')
const { writeCsv } = require('./lib/csv')
const { parseOptions, usage } = require('./lib/options')
const { runCases } = require('./lib/run-cases')
const { formatTable } = require('./lib/table')

runCommand('bench:peers', async () => {
  const options = parseOptions(process.argv.slice(2))
  if (!options.help) return measurePeers(options)
  process.stdout.write(usage())
  return 0
})

/**
 * @param {import('./lib/options').Options} options
 * @returns {Promise<number>}  the exit code
 */
async function measurePeers (options) {
  const folders = prepareFolders(options.out)
  const source = await findSource({ records: options.records, file: undefined }, folders.generated)
  const logs = { binary: source.binary, json: source.json }
  const context = { logs, query: source.query, total: source.records, hits: source.hits }
  const cells = await withFolder(folders.generated, 'peers', (folder) => runCases(options, { ...context, folder }))
  const facts = {
    ...describeMachine(),
    command: options.command,
    packages: describePackages(cells.flatMap(({ packages }) => packages)),
    input: describeInput(source)
  }
  console.log(`\n${formatTable(cells, facts)}\n`)
  const written = [writeCsv(folders.data, cells, facts), ...await drawPeers(folders.images, cells, facts)]
  console.log(describeWritten(written))
  return 0
}

/** @param {import('../lib/source').Source} source */
function describeInput ({ records, binary, json }) {
  const size = (/** @type {string} */ file) => `${Math.round(fs.statSync(file).size / records)} bytes`
  return `${formatCount(records)} messages of ${size(binary)} in the binary format, ${size(json)} as JSON`
}
