'use strict'
// Runs every test file of the house, each in a process of its own, three at a time, and ends with "N passed, N failed".
// Usage: node test/run.js [--long] [--jetstream] [part of a file's path ...]   A file runs if its path has one of the
// parts. Long runs have more of the random cases. The tests that need a NATS server run only with --jetstream.

const { spawn } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

const root = path.join(__dirname, '..')
const isLong = process.argv.includes('--long')
const needsServer = process.argv.includes('--jetstream')
const parts = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))

main()

async function main () {
  const files = findTestFiles().filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
  if (files.length === 0) {
    console.error(`no test file matches: ${parts.join(' ')}`)
    process.exit(2)
  }
  const totals = { passed: 0, failed: 0 }
  const next = files[Symbol.iterator]()
  const worker = async () => {
    for (const file of next) report(file, await runTestFile(file), totals)
  }
  // One more than there are processors: many of them wait, for a clock or for a process of theirs.
  await Promise.all(Array.from({ length: Math.min(3, 1 + os.availableParallelism()) }, worker))
  console.log(`${totals.passed} passed, ${totals.failed} failed`)
  process.exitCode = totals.failed > 0 ? 1 : 0
}

/** @returns {string[]}  paths from the root, of every *.test.js in a test folder */
function findTestFiles () {
  // The longest first, so that none of them runs alone at the end.
  const rooms = ['.', 'bench', ...fs.readdirSync(path.join(root, 'packages')).map((name) => path.join('packages', name))]
  return rooms
    .map((room) => path.join(room, 'test'))
    .filter((folder) => fs.existsSync(path.join(root, folder)))
    .flatMap((folder) => fs.readdirSync(path.join(root, folder)).map((name) => path.join(folder, name)))
    .filter((file) => file.endsWith('.test.js'))
}

/**
 * @typedef {{ code: number | null, output: string, passed: number, failed: number, ms: number }} Result
 * @param {string} file
 * @returns {Promise<Result>}
 */
function runTestFile (file) {
  return new Promise((resolve) => {
    const started = Date.now()
    const env = { ...process.env }
    if (isLong) env.MILLRACE_TESTS = 'long'
    if (needsServer) env.MILLRACE_JETSTREAM = '1'
    const child = spawn(process.execPath, [file], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
    /** @type {Buffer[]} */
    const chunks = []
    child.stdout.on('data', (chunk) => chunks.push(chunk))
    child.stderr.on('data', (chunk) => chunks.push(chunk))
    child.on('close', (code) => {
      const output = Buffer.concat(chunks).toString()
      const count = (/** @type {RegExp} */ pattern) => (output.match(pattern) ?? []).length
      resolve({ code, output, passed: count(/^ok \d/gm), failed: count(/^not ok \d/gm), ms: Date.now() - started })
    })
  })
}

/**
 * A file that dies, or that ends without a plan line, counts as a failure even when no assertion failed.
 * @param {string} file
 * @param {Result} result
 * @param {{ passed: number, failed: number }} totals
 */
function report (file, result, totals) {
  const finished = /^1\.\.\d+$/m.test(result.output)
  const failed = result.failed || (result.code === 0 && finished && result.passed > 0 ? 0 : 1)
  totals.passed += result.passed
  totals.failed += failed
  if (failed) console.log(result.output)
  const skipped = new Set(Array.from(result.output.matchAll(/^ok \d+ (.*?) ?# SKIP/gm), ([, why]) => why))
  for (const why of failed ? [] : skipped) console.log(`skipped in ${file}: ${why}`)
  console.log(`${failed ? 'FAILED' : 'ok'}  ${file}  ${result.passed} passed, ${failed} failed, ${result.ms} ms`)
}
