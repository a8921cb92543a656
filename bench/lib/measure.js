'use strict'
// Starts the child process of one case and brings back its answer, or says which case died and of what.

const { spawn } = require('node:child_process')
const path = require('node:path')
const { fileOf } = require('./registry')

const CHILD = path.join(__dirname, 'child.js')
// Far above the slowest case: it only ends a child that hangs.
const TIMEOUT_MS = 10 * 60 * 1000
const ERROR_LINES = 12

/** @typedef {import('./shapes').Case} Case */
/** @typedef {import('./shapes').Answer} Answer */

/** A child that failed: the message names stack, layer and block size, and then gives the child's own words. */
class MeasureError extends Error {}

/**
 * @param {Case} one
 * @param {{ path: string, query: string }} input
 * @returns {Promise<Answer>}
 */
async function measure (one, { path, query }) {
  const order = {
    stackFile: fileOf(one.stack),
    layerFile: fileOf(one.layer),
    path,
    blockSize: one.blockSize,
    query
  }
  const { code, signal, stdout, stderr } = await run([CHILD, JSON.stringify(order)])
  if (code === 0) {
    try {
      return JSON.parse(stdout)
    } catch {}
  }
  const fate = signal ? `was ended by ${signal}` : code === 0 ? 'ended without an answer' : `exited with ${code}`
  throw new MeasureError(`${describeCase(one)}: the child ${fate}\n${lastLines(stderr)}`)
}

/** @param {Case} one */
function describeCase ({ stack, layer, blockSize }) {
  return `stack ${stack.name}, layer ${layer.name}, ${blockSize / 1024} KiB blocks`
}

/**
 * @param {string[]} args
 * @returns {Promise<{ code: number | null, signal: string | null, stdout: string, stderr: string }>}
 */
function run (args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: TIMEOUT_MS, killSignal: 'SIGKILL' })
    // A bench that is interrupted leaves no child behind.
    const kill = () => child.kill()
    process.once('exit', kill)
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text) => { stdout += text })
    child.stderr.setEncoding('utf8').on('data', (text) => { stderr += text })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      process.off('exit', kill)
      resolve({ code, signal, stdout, stderr })
    })
  })
}

/** @param {string} text */
function lastLines (text) {
  const lines = text.trim().split('\n').slice(-ERROR_LINES)
  return lines.map((line) => `  ${line}`).join('\n')
}

exports.MeasureError = MeasureError
exports.measure = measure
exports.describeCase = describeCase
