'use strict'
// What the commands of the bench have in common: where their outputs go, and how they end.

const fs = require('node:fs')
const path = require('node:path')
const { DisagreementError } = require('./agreement')
const { MeasureError } = require('./measure')
const { UserError } = require('./user-error')

const ROOT = path.join(__dirname, '..', '..')

/**
 * Exit codes: what `run` gives, 1 when it fails, 2 when the user can mend it.
 * @param {string} name  begins each message
 * @param {() => Promise<number>} run
 */
async function runCommand (name, run) {
  // An exit, unlike a signal's default, lets half-made files be removed.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  try {
    process.exitCode = await run()
  } catch (err) {
    process.exitCode = report(name, err)
  }
}

/**
 * @param {string} name
 * @param {unknown} err
 * @returns {number}  the exit code
 */
function report (name, err) {
  if (err instanceof UserError) {
    console.error(`${name}: ${err.message}`)
    return 2
  }
  const isExplained = err instanceof MeasureError || err instanceof DisagreementError
  console.error(isExplained ? `${name}: ${err.message}` : err)
  return 1
}

/**
 * @typedef {{ data: string, images: string, generated: string }} Folders
 * @param {string | undefined} out  undefined for the root of the repository
 * @returns {Folders}  all of them there
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

/**
 * @param {string[]} files
 * @returns {string}
 */
function describeWritten (files) {
  return `written: ${files.map((file) => path.relative(process.cwd(), file)).join(', ')}`
}

exports.runCommand = runCommand
exports.prepareFolders = prepareFolders
exports.describeWritten = describeWritten
