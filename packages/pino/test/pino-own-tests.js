'use strict'
// Runs pino's own tests twice: with the stream that they use, and with a destination of ours in its place, from which
// every record is read back. It installs pino and what its tests need in a temporary folder.
// Usage: node packages/pino/test/pino-own-tests.js

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { temporaryFolder } = require('@millrace/testkit')
const { version } = require('pino/package.json')

const NEEDED = ['split2@4', 'flush-write-stream@2', '@matteo.collina/tspl', 'proxyquire@2', 'import-fresh@3',
  'pino-pretty@13', 'strip-ansi@6', 'semver@7', 'execa@5', 'through2@5']
const SINK = path.join(__dirname, 'pino-sink.js')

function install () {
  const folder = temporaryFolder()
  fs.writeFileSync(path.join(folder, 'package.json'), '{ "private": true }')
  const args = ['install', '--silent', '--no-audit', '--no-fund', `pino@${version}`, ...NEEDED]
  const { status } = spawnSync('npm', args, { cwd: folder, stdio: 'inherit' })
  if (status !== 0) throw new Error('npm could not install pino and what its tests need')
  return path.join(folder, 'node_modules', 'pino')
}

/** The files of tests whose records go through the stream of the helper. */
function filesOf (pino) {
  const folder = path.join(pino, 'test')
  const usesSink = (name) => /\bsink\b/.test(fs.readFileSync(path.join(folder, name), 'utf8'))
  return fs.readdirSync(folder).filter((name) => /^(?!browser).*\.test\.js$/.test(name) && usesSink(name))
}

function runTests (pino, files) {
  const args = ['--test', '--test-reporter=tap', '--test-concurrency=1', ...files.map((name) => path.join('test', name))]
  const { stdout } = spawnSync(process.execPath, args, { cwd: pino, encoding: 'utf8', maxBuffer: 2 ** 28, timeout: 300_000, killSignal: 'SIGKILL' })
  const failed = [...stdout.matchAll(/^ *not ok \d+ - (.*)$/gm)].map((match) => match[1])
  return { passed: Number(/^# pass (\d+)$/m.exec(stdout)?.[1]), failed }
}

function useOurSink (pino) {
  const helper = path.join(pino, 'test', 'helper.js')
  fs.renameSync(helper, path.join(pino, 'test', 'helper-of-pino.js'))
  fs.writeFileSync(helper, `module.exports = { ...require('./helper-of-pino'), sink: require(${JSON.stringify(SINK)}).sink }\n`)
}

const pino = install()
const files = filesOf(pino)
console.log(`pino ${version}: ${files.join(' ')}`)
const theirs = runTests(pino, files)
console.log(`with their stream: ${theirs.passed} passed, ${theirs.failed.length} failed`, theirs.failed)
useOurSink(pino)
const ours = runTests(pino, files)
console.log(`through a log: ${ours.passed} passed, ${ours.failed.length} failed`, ours.failed)
process.exitCode = ours.failed.length > theirs.failed.length ? 1 : 0
