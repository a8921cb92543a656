'use strict'
// Runs the real binary, as a user would, and says how it ended.

const { spawn } = require('node:child_process')
const path = require('node:path')

const BIN = path.join(__dirname, '..', 'bin', 'millrace.js')

/**
 * @param {readonly string[]} words
 * @param {object} [options]
 * @param {string | Buffer | null} [options.input]  null leaves standard input open
 * @param {string} [options.cwd]
 * @param {object} [options.env]  besides that of this process
 * @param {number} [options.uid]
 * @param {number} [options.gid]
 * @param {(child: any) => void} [options.onSpawn]
 */
function runCommand (words, { input = '', cwd, env = {}, uid, gid, onSpawn } = {}) {
  return new Promise((resolve, reject) => {
    const began = Date.now()
    const child = spawn(process.execPath, [BIN, ...words], { cwd, uid, gid, env: { ...process.env, ...env } })
    const chunks = { stdout: [], stderr: [] }
    for (const name of ['stdout', 'stderr']) child[name].on('data', (chunk) => chunks[name].push(chunk))
    // A command that reads nothing closes its standard input.
    child.stdin.on('error', () => {})
    if (input !== null) child.stdin.end(input)
    child.on('error', reject)
    child.on('close', (code, signal) => {
      const bytes = Buffer.concat(chunks.stdout)
      const stderr = Buffer.concat(chunks.stderr).toString()
      resolve({ stdout: bytes.toString(), stderr, bytes, code, signal, ms: Date.now() - began })
    })
    onSpawn?.(child)
  })
}

exports.BIN = BIN
exports.runCommand = runCommand
