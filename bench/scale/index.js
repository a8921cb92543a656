'use strict'
// `npm run bench:scale`: grows a log, and times its scan and its opening at each size.
// Exit codes: 0 done, 1 a measurement failed, 2 a wrong option, or too little room on the disk.

const fs = require('node:fs')
const path = require('node:path')
const { describeWritten, prepareFolders, runCommand } = require('../lib/command')
const { describeMachine, describePackages } = require('../lib/facts')
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
  const folder = fs.mkdtempSync(path.join(folders.generated, 'scale-'))
  const remove = () => fs.rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  const { measurements, idleMemory } = await runSizes(options, folder).finally(remove)
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
