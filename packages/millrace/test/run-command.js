'use strict'
// Runs the command, and says how it ended: the real binary, as a user would, or in this process, which takes a tenth of
// the time.

const { spawn } = require('node:child_process')
const path = require('node:path')
const { Readable, Writable } = require('node:stream')
const { isLongRun } = require('@millrace/testkit')
const { main } = require('../lib/cli/main')

const BIN = path.join(__dirname, '..', 'bin', 'millrace.js')

/**
 * @param {readonly string[]} words
 * @param {object} [options]
 * @param {string | Buffer | null} [options.input]  null leaves standard input open
 * @param {number} [options.stdin]  a file that is standard input
 * @param {string} [options.cwd]
 * @param {object} [options.env]  besides that of this process
 * @param {number} [options.uid]
 * @param {number} [options.gid]
 * @param {(child: any) => void} [options.onSpawn]
 */
function runCommand (words, { input = '', stdin, cwd, env = {}, uid, gid, onSpawn } = {}) {
  return new Promise((resolve, reject) => {
    const began = Date.now()
    const child = spawn(process.execPath, [BIN, ...words], { cwd, uid, gid, stdio: [stdin ?? 'pipe', 'pipe', 'pipe'], env: { ...process.env, ...env } })
    const chunks = { stdout: [], stderr: [] }
    for (const name of ['stdout', 'stderr']) child[name].on('data', (chunk) => chunks[name].push(chunk))
    // A command that reads nothing closes its standard input.
    child.stdin?.on('error', () => {})
    if (input !== null) child.stdin?.end(input)
    child.on('error', reject)
    child.on('close', (code, signal) => {
      const bytes = Buffer.concat(chunks.stdout)
      const stderr = Buffer.concat(chunks.stderr).toString()
      resolve({ stdout: bytes.toString(), stderr, bytes, code, signal, ms: Date.now() - began })
    })
    onSpawn?.(child)
  })
}

/**
 * For tests of what a command does with its words, and not of its process: signals, pipes, its end. In the long form it
 * is the real binary.
 * @param {readonly string[]} words
 * @param {object} [options]
 * @param {string | Buffer} [options.input]
 */
async function callCommand (words, { input = '' } = {}) {
  if (isLongRun) return runCommand(words, { input })
  const began = Date.now()
  const [stdout, stderr] = [new Collector(), new Collector()]
  // What the command uses of its process.
  const own = {
    argv: [process.execPath, BIN, ...words],
    env: process.env,
    stdin: Readable.from([Buffer.from(input)]),
    stdout,
    stderr,
    exitCode: undefined,
    once: () => {}
  }
  await main(/** @type {any} */ (own))
  const { bytes } = stdout
  const ms = Date.now() - began
  return { stdout: String(bytes), stderr: String(stderr.bytes), bytes, code: own.exitCode, signal: null, ms }
}

class Collector extends Writable {
  /** @type {Buffer[]} */
  #chunks = []

  /** @param {Uint8Array} chunk  whose memory is used again  @param {string} encoding  @param {() => void} done */
  _write (chunk, encoding, done) {
    this.#chunks.push(Buffer.from(chunk))
    done()
  }

  get bytes () {
    return Buffer.concat(this.#chunks)
  }
}

exports.BIN = BIN
exports.callCommand = callCommand
exports.runCommand = runCommand
