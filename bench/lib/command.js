'use strict'
// What every command does with its options and with its results: where the outputs go, and how it ends.

const fs = require('node:fs')
const path = require('node:path')
const { saveChart } = require('./charts/canvas')
const { UserError, formatUsage, readOptions } = require('./options')
const { writeCsv } = require('./report')
const { DisagreementError, MeasureError } = require('./run')

const ROOT = path.join(__dirname, '..', '..')

/**
 * @typedef {object} Results
 * @property {string} table  what is printed
 * @property {Record<string, import('./report').Sheet>} sheets  CSV files by their names
 * @property {Record<string, string | undefined>} charts  SVG by their names; undefined where there is nothing to draw
 * @property {boolean} [isFailure]
 */

/**
 * @typedef {import('./options').Usage & { run: (options: any, generated: string) => Promise<Results> }} Command  `run`
 *   is given the options, and the folder for logs that are made
 */

/**
 * Exit codes: 0 done, 1 a failure, 2 a failure that the user can mend.
 * @param {Command} command
 */
async function runCommand (command) {
  // An exit, unlike a signal's default, removes half-made files.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  try {
    const options = readOptions(command, process.argv.slice(2))
    if (options.help) process.stdout.write(formatUsage(command))
    else process.exitCode = await measure(command, options)
  } catch (err) {
    const isExplained = err instanceof UserError || err instanceof MeasureError || err instanceof DisagreementError
    console.error(isExplained ? `${command.name}: ${err.message}` : err)
    process.exitCode = err instanceof UserError ? 2 : 1
  }
}

/**
 * @param {Command} command
 * @param {any} options
 * @returns {Promise<number>}  the exit code
 */
async function measure ({ run }, options) {
  const { data, images, generated } = prepareFolders(options.out)
  const { table, sheets, charts, isFailure } = await run(options, generated)
  console.log(table)
  const files = Object.entries(sheets).map(([name, sheet]) => writeCsv(data, name, sheet))
  for (const [name, svg] of Object.entries(charts)) if (svg) files.push(...saveChart(images, name, svg))
  console.log(`written: ${files.map((file) => path.relative(process.cwd(), file)).join(', ')}`)
  return isFailure ? 1 : 0
}

/**
 * @param {string | undefined} out  undefined for the root of the repository
 * @returns {{ data: string, images: string, generated: string }}  all of them there
 * @throws {UserError}
 */
function prepareFolders (out = ROOT) {
  const data = path.join(out, 'data')
  const folders = { data, images: path.join(out, 'images'), generated: path.join(data, 'generated') }
  try {
    for (const folder of Object.values(folders)) {
      fs.mkdirSync(folder, { recursive: true })
      fs.accessSync(folder, fs.constants.W_OK)
    }
    return folders
  } catch (err) {
    throw new UserError(`--out: ${/** @type {Error} */ (err).message}`)
  }
}

exports.runCommand = runCommand
