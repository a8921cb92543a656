'use strict'
// Runs the own tests of flumedb and of its views, as they are published, with flumelog-offset and with our log in its
// place. Ours must pass as many assertions in each file. It needs the network: the packages go into a temporary folder.
// Usage: node packages/offset-log/test/flume-own-tests.js

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { temporaryFolder } = require('@millrace/testkit')

const PACKAGES = ['flumedb@2.1.8', 'flumeview-hashtable@1.1.1', 'flumeview-level@4.0.4', 'flumeview-links@2.1.0',
  'flumeview-query@8.0.0', 'flumeview-reduce@1.4.0']
/** What they depend on is taken as it was on this day, so that each run has the same. */
const DAY = '2026-01-01'
const FILE_MS_MAX = 120_000
/** So much longer it waits before each further try. */
const AGAIN_MS = 2000
/** The framing of flumelog-offset, and our own. */
const FRAMINGS = ['offset32', 'checked']
/** A file system in memory, of Linux. */
const MEMORY = '/dev/shm'
/** It expects that the first record has the seq 0, as in the offset framings. */
const ONLY_OFFSET = ['flumeview-hashtable/test/simple.js']

/** In place of flumelog-offset. Some tests open a file twice, so there is no lock. */
const STAND_IN = `
const { OffsetLog } = require(${JSON.stringify(path.join(__dirname, '..'))})
module.exports = (file, options, codec) => {
  const given = typeof options === 'object' && options !== null ? options.codec : codec
  return OffsetLog(file, { framing: process.env.FRAMING, lock: false, ...(given ? { codec: given } : {}) })
}
`

/** Where the tests make their files. */
const quickest = fs.mkdtempSync(path.join(isWritable(MEMORY) ? MEMORY : os.tmpdir(), 'flume-'))
process.on('exit', () => fs.rmSync(quickest, { recursive: true, force: true }))

main()

function main () {
  const folder = install()
  const files = findFiles(folder)
  const theirs = new Map(files.map((file) => [file, runFile(folder, file)]))
  useOurLog(folder)
  let failed = 0
  for (const framing of FRAMINGS) {
    for (const file of files.filter((file) => framing !== 'checked' || !ONLY_OFFSET.includes(file))) {
      const before = theirs.get(file)
      const isWorseThan = ({ code, passed, failed }) =>
        (before.code === 0 && code !== 0) || passed < before.passed || failed > before.failed
      let ours = runFile(folder, file, framing)
      // Two files depend on who is first, a live stream or the callback: on a slow disk, now and then the callback. It
      // may be slow for some seconds, also where it is memory, as the processors are shared.
      for (let again = 0; again < 4 && isWorseThan(ours); again++) {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, again * AGAIN_MS)
        ours = runFile(folder, file, framing)
      }
      const isWorse = isWorseThan(ours)
      const counts = `${ours.passed} passed, ${ours.failed} failed; with flumelog-offset ${before.passed}, ${before.failed}`
      console.log(`${isWorse ? 'FAILED' : 'ok'}  ${framing}  ${file}  ${counts}`)
      if (!isWorse) continue
      console.log(ours.output)
      failed++
    }
  }
  process.exitCode = failed > 0 ? 1 : 0
}

/** @param {string} folder */
function isWritable (folder) {
  try {
    fs.accessSync(folder, fs.constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** @returns {string}  a folder with the packages as workspaces, each with what its tests need */
function install () {
  const folder = temporaryFolder()
  npm(folder, ['pack', '--silent', ...PACKAGES])
  for (const spec of PACKAGES) {
    const [name] = spec.split('@')
    fs.mkdirSync(path.join(folder, name))
    run('tar', ['-xzf', `${spec.replace('@', '-')}.tgz`, '-C', name, '--strip-components', '1'], folder)
  }
  const workspaces = PACKAGES.map((spec) => spec.split('@')[0])
  fs.writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ private: true, workspaces }))
  npm(folder, ['install', '--silent', '--no-audit', '--no-fund', '--before', DAY])
  return folder
}

/** @type {(folder: string) => string[]} the test files that open a log in a file; benchmarks assert nothing */
function findFiles (folder) {
  const isTest = (/** @type {string} */ file) => !file.endsWith('/bench.js') &&
    /flumelog-offset/.test(fs.readFileSync(path.join(folder, file), 'utf8'))
  return PACKAGES.map((spec) => spec.split('@')[0])
    .flatMap((name) => fs.readdirSync(path.join(folder, name, 'test')).map((file) => `${name}/test/${file}`))
    .filter((file) => file.endsWith('.js') && isTest(file))
}

/** @param {string} folder */
function useOurLog (folder) {
  const rooms = [folder, ...PACKAGES.map((spec) => path.join(folder, spec.split('@')[0]))]
  for (const room of rooms) {
    const place = path.join(room, 'node_modules', 'flumelog-offset')
    if (!fs.existsSync(place)) continue
    fs.rmSync(place, { recursive: true })
    fs.mkdirSync(place)
    fs.writeFileSync(path.join(place, 'index.js'), STAND_IN)
  }
}

function runFile (folder, file, framing = '') {
  const cwd = path.join(folder, file.split('/')[0])
  const env = { ...process.env, FRAMING: framing, TMPDIR: quickest }
  const bounds = /** @type {const} */ ({ timeout: FILE_MS_MAX, killSignal: 'SIGKILL', maxBuffer: 2 ** 28 })
  const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(folder, file)], { cwd, encoding: 'utf8', env, ...bounds })
  const count = (/** @type {RegExp} */ pattern) => (stdout.match(pattern) ?? []).length
  return { code: status, output: stdout + stderr, passed: count(/^ok \d/gm), failed: count(/^not ok \d/gm) }
}

/** @type {(folder: string, args: string[]) => void} */
function npm (folder, args) {
  run('npm', args, folder)
}

/** @type {(command: string, args: string[], cwd: string) => void} */
function run (command, args, cwd) {
  const { status } = spawnSync(command, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}`)
}
