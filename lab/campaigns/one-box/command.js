// @ts-nocheck
'use strict'
// Runs the command `millrace`.

const { execFile } = require('node:child_process')
const path = require('node:path')

const COMMAND = path.join(path.dirname(require.resolve('millrace/package.json')), 'bin', 'millrace.js')

/** @returns {Promise<string>} what it prints */
function command (life, ...args) {
  return life.step(args.join(' '), new Promise((resolve) => {
    execFile(process.execPath, [COMMAND, ...args], async (err, stdout, stderr) => {
      const ended = `${err?.code ?? err?.signal}: ${stdout} ${stderr}`
      if (err) await life.fault(`millrace ${args.join(' ')} ended with ${ended}`)
      resolve(stdout)
    })
  }))
}

exports.command = command
