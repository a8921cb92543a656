'use strict'
// Logs of a test, read again.

const { spawnSync } = require('node:child_process')
const { jsonCodec } = require('@millrace/json-codec')
const { SegmentedLog } = require('@millrace/segmented-log')
const { collect, newPath } = require('@millrace/testkit')

const newFolder = () => newPath('logs')

/** @param {string} folder  @param {object} [options]  of the stream, and `codec` */
async function readAll (folder, { codec = jsonCodec, ...options } = {}) {
  const log = SegmentedLog(folder, { flags: 'r', codec })
  const found = await collect(log.stream({ seqs: false, ...options }))
  await log.close()
  return found
}

const HEAD = `
  const pino = require('pino')
  const { destination } = require(${JSON.stringify(require.resolve('..'))})
  const [, folder] = process.argv
`

/** Runs a program in a process of its own. @param {string} program  @param {string} folder */
function run (program, folder, options) {
  const args = ['-e', HEAD + program, folder]
  return spawnSync(process.execPath, args, { encoding: 'utf8', cwd: __dirname, timeout: 60_000, ...options })
}

const upTo = (count) => Array.from({ length: count }, (_, n) => n)

exports.HEAD = HEAD
exports.newFolder = newFolder
exports.readAll = readAll
exports.run = run
exports.upTo = upTo
