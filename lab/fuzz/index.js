'use strict'
// The fuzzer's command line. Usage: npm run fuzz -- --help

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { judgeWithStack } = require('./batch')
const { Examiner } = require('./examine')
const { HELP, UsageError, parseArguments } = require('./options')
const { printFigures, printReport } = require('./report')
const { runFuzz } = require('./run-fuzz')

main(process.argv.slice(2)).then((hasFailed) => {
  process.exitCode = hasFailed ? 1 : 0
}, (err) => {
  const isUsage = err instanceof UsageError
  console.error(isUsage ? `fuzz: ${err.message}; --help lists the options` : err)
  process.exitCode = isUsage ? 2 : 1
})

/**
 * @param {string[]} args
 * @returns {Promise<boolean>}  whether anything failed
 */
async function main (args) {
  const {
    help, replay, root, workers = os.availableParallelism(), seed = Date.now() % 2 ** 31, ...others
  } = parseArguments(args)
  if (help) {
    process.stdout.write(HELP)
    return false
  }
  if (root !== undefined && !fs.existsSync(path.join(root, 'packages'))) throw new UsageError(`--root: there is no ${root}/packages`)
  if (replay) return runReplay(replay, root)
  console.log(`seed ${seed}`)
  const abort = new AbortController()
  // What was found so far is worth to be known. A second signal ends it at once.
  for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => abort.abort())
  const { signal } = abort
  const result = await runFuzz({
    ...others, root, workers, seed, signal, onReport: printReport, onProgress: createProgress()
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
