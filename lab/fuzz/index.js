'use strict'
// The fuzzer's command line. Usage: npm run fuzz -- --help

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { UsageError, newSeed, runCommand } = require('../command')
const { judgeWithStack } = require('./batch')
const { Examiner } = require('./examine')
const { command, countCases } = require('./options')
const { printFigures, printReport } = require('./report')
const { runFuzz } = require('./run-fuzz')

runCommand(command, main)

/**
 * @param {Record<string, any>} values
 * @returns {Promise<boolean>}  whether anything failed
 */
async function main (values) {
  const { replay, root, seconds, workers = os.availableParallelism(), seed = newSeed() } = values
  const hasPackages = root === undefined || fs.existsSync(path.join(root, 'packages'))
  if (!hasPackages) throw new UsageError(`--root: there is no ${root}/packages`)
  if (replay) return runReplay(replay, root)
  console.log(`seed ${seed}`)
  const abort = new AbortController()
  // What was found so far is worth to be known. A second signal ends it at once.
  for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => abort.abort())
  const { signal } = abort
  const counts = countCases(values)
  const result = await runFuzz({
    counts, seconds, root, workers, seed, signal, onReport: printReport, onProgress: createProgress()
  })
  printFigures(result)
  return result.figures.some(({ violationCount }) => violationCount > 0)
}

/** Where somebody watches. */
function createProgress () {
  if (!process.stderr.isTTY) return () => {}
  return (/** @type {Record<string, number>} */ done) => {
    const parts = Object.entries(done).map(([name, count]) => `${count.toLocaleString('en')} ${name}`)
    process.stderr.write(`\r${parts.join(', ')} \r`)
  }
}

/**
 * @param {{ target: import('./examine').Target, sample: import('./examine').Sample }} replay
 * @param {string | undefined} root
 */
async function runReplay ({ target, sample }, root) {
  const { bytes, plan } = sample
  console.log(`${target.name}: ${bytes.length} bytes, ${JSON.stringify(plan)}`)
  for (let at = 0; at < bytes.length; at += 32) {
    const row = bytes.subarray(at, at + 32)
    if (row.some((byte) => byte !== 0)) console.log(`${String(at).padStart(8)}  ${row.toString('hex').replace(/(.{8})/g, '$1 ')}`)
  }
  const examiner = new Examiner({ root })
  examiner.stage.install()
  const violation = await judgeWithStack(examiner, target, sample)
  examiner.stage.restore()
  console.log(violation ? `FAILED  ${violation.kind}: ${violation.message}` : 'all is as it should be')
  return violation !== null
}
