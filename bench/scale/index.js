'use strict'
// `npm run bench:scale`: grows a log, and times its scan and its opening at each size.
// Exit codes: 0 done, 1 a measurement failed, 2 a wrong option, or too little room on the disk.

const { describeWritten, prepareFolders, runCommand } = require('../lib/command')
const { describeMachine, describePackages } = require('../lib/facts')
const { withFolder } = require('../lib/work-file')
const { drawScale } = require('./lib/chart')
const { parseOptions, usage } = require('./lib/options')
const { formatTable, toPoints, writeCsv } = require('./lib/report')
const { checkRoom } = require('./lib/room')
const { runSizes } = require('./lib/run-sizes')

const PACKAGES = ['@millrace/offset-log', '@millrace/block-file', '@node-rs/crc32']

runCommand('bench:scale', async () => {
  const options = parseOptions(process.argv.slice(2))
  if (!options.help) return measureSizes(options)
  process.stdout.write(usage())
  return 0
})

/**
 * @param {import('./lib/options').Options} options
 * @returns {Promise<number>}  the exit code
 */
async function measureSizes (options) {
  const folders = prepareFolders(options.out)
  checkRoom(folders.generated, options)
  const run = (/** @type {string} */ folder) => runSizes(options, folder)
  const { measurements, idleMemory } = await withFolder(folders.generated, 'scale', run)
  const facts = {
    ...describeMachine(),
    command: options.command,
    packages: describePackages(PACKAGES),
    idleMemory
  }
  const points = toPoints(measurements)
  console.log(`\n${formatTable(points, facts)}\n`)
  const written = [writeCsv(folders.data, measurements, facts), ...await drawScale(folders.images, points, facts)]
  console.log(describeWritten(written))
  return 0
}
