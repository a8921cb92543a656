'use strict'
// Runs every test file of the house, each in a process of its own, three at a time, and ends with "N passed, N failed".

const { spawn } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { parseArgs } = require('node:util')
const { Question } = require('./silence')

const USAGE = `usage: node test/run.js [options] [part of a file's path ...]
  A file runs if its path has one of the parts; without parts every file runs.
  --slow         also the slow files, which test/slow.json lists; a part that is the whole name of one is enough
  --slow-in PART the same for the files whose path has the part; may be given many times
  --long         many more of the random cases, and the slow files
  --long-in PART the same for the files whose path has the part; may be given many times
  --jetstream    also the tests that need a NATS server
  --repeat N     each file N times, to find what fails by chance
  --busy N       beside N busy loops, as on a machine that others use
  --silent-s N   ends a file that prints nothing for N seconds (120; 600 in the long form)`

const RUN_FILE = path.join(__dirname, 'run-file.js')
const root = path.join(__dirname, '..')
/**
 * At the end of a program Node.js 20 may wait forever for V8's compiler, which runs beside it and waits for a garbage
 * collection of the program (`NodePlatform::DrainTasks`): one file looked like one that hangs, once in 300 runs.
 */
const NODE_FLAGS = process.version.startsWith('v20.') ? ['--no-concurrent-recompilation'] : []
const slowPath = path.join(__dirname, 'slow.json')
/** Files that `npm test` leaves out, so that it takes four minutes. @type {Set<string>} */
const slowFiles = new Set(fs.existsSync(slowPath) ? JSON.parse(fs.readFileSync(slowPath, 'utf8')) : [])
/** Their tests wait most of the time, for servers that elect each other: with these, they run beside all others. */
const SERVERS = 'packages/jetstream/'
/** How often a run that has finished no file meanwhile says what it is waiting for. */
const WAITING_MS = 20_000
/** How long a file that is ended has for its own clean-up, before it is killed. */
const GRACE_MS = 2000
/** A file that is just being loaded is not asked: what asks would end it. */
const ASK_MS_MIN = 5000

const { options, parts } = parseCommand(process.argv.slice(2))

/**
 * @typedef {{ slowIn: string[], longIn: string[], jetstream: boolean, repeat: number, busy: number,
 *   silentS: number | null }} Options
 *   `slowIn`, `longIn`: parts of paths
 */

/** An unknown option ends the process. @type {(args: string[]) => { options: Options, parts: string[] }} */
function parseCommand (args) {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        slow: { type: 'boolean', default: false },
        'slow-in': { type: 'string', multiple: true, default: [] },
        long: { type: 'boolean', default: false },
        'long-in': { type: 'string', multiple: true, default: [] },
        jetstream: { type: 'boolean', default: false },
        repeat: { type: 'string', default: '1' },
        busy: { type: 'string', default: '0' },
        'silent-s': { type: 'string' }
      }
    })
    const silent = values['silent-s']
    const options = {
      // Every path has the empty part.
      slowIn: values.slow || values.long ? [''] : values['slow-in'],
      longIn: values.long ? [''] : values['long-in'],
      jetstream: values.jetstream,
      repeat: readCount('repeat', values.repeat, 1),
      busy: readCount('busy', values.busy, 0),
      silentS: silent === undefined ? null : readCount('silent-s', silent, 1)
    }
    return { options, parts: positionals }
  } catch (err) {
    console.error(`${/** @type {Error} */ (err).message}\n\n${USAGE}`)
    process.exit(2)
  }
}

/** @type {(name: string, text: string, least: number) => number} */
function readCount (name, text, least) {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= least) return count
  throw new Error(`--${name} takes a whole number from ${least} on, got '${text}'`)
}

async function main () {
  const all = findTestFiles()
  const asked = [...parts, ...options.slowIn, ...options.longIn]
  const unmatched = asked.filter((part) => !all.some((file) => file.includes(part)))
  if (unmatched.length > 0) {
    console.error(`no test file matches: ${unmatched.join(' ')}`)
    process.exit(2)
  }
  const chosen = all.filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)))
  const isAsked = (/** @type {string} */ name) => {
    return options.slowIn.some((part) => name.includes(part)) || parts.some((part) => name.endsWith(part))
  }
  const files = chosen.filter((file) => !slowFiles.has(toName(file)) || isAsked(toName(file)))
  const runs = files.flatMap((file) => Array.from({ length: options.repeat }, () => file))
  const totals = { passed: 0, failed: 0 }
  const progress = new Progress(runs.length)
  const isApart = (/** @type {string} */ file) => options.jetstream && toName(file).startsWith(SERVERS)
  const others = runs.filter((file) => !isApart(file))[Symbol.iterator]()
  const ofServers = runs.filter(isApart)[Symbol.iterator]()
  const worker = async (/** @type {Iterable<string>[]} */ ...queues) => {
    for (const file of concat(queues)) {
      const end = progress.begin(file)
      const result = await runTestFile(file)
      report(file, result, totals, end())
    }
  }
  const loops = Array.from({ length: options.busy }, () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }))
  // Busy loops must not outlive a runner that is ended.
  process.on('exit', () => loops.forEach((loop) => loop.kill('SIGKILL')))
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130))
  // One more than there are processors: many of them wait, for a clock or for a process of theirs.
  const workers = Array.from({ length: Math.min(3, 1 + os.availableParallelism()) }, () => worker(others, ofServers))
  await Promise.all([...workers, worker(ofServers)])
  loops.forEach((loop) => loop.kill('SIGKILL'))
  progress.close()
  if (files.length < chosen.length) console.log(`left out ${chosen.length - files.length} of the slow files: --slow runs them`)
  console.log(`${totals.passed} passed, ${totals.failed} failed`)
  process.exitCode = totals.failed > 0 ? 1 : 0
}

/** @type {(queues: Iterable<string>[]) => Generator<string>} */
function * concat (queues) {
  for (const queue of queues) yield * queue
}

/** What runs, and how far the run is. Where many are waited for, a terminal has it in its last line. */
class Progress {
  #total
  #done = 0
  /** File to the time when it began. @type {Map<string, number>} */
  #running = new Map()
  #timer = setInterval(() => this.#tell(), process.stdout.isTTY ? 1000 : WAITING_MS)
  #hasLine = false

  /** @param {number} total */
  constructor (total) {
    this.#total = total
  }

  /** @param {string} file @returns {() => string}  ends it, and says how far the run is */
  begin (file) {
    this.#running.set(file, performance.now())
    return () => {
      this.#running.delete(file)
      this.#clear()
      if (!process.stdout.isTTY) this.#timer.refresh()
      return `${++this.#done}/${this.#total}`
    }
  }

  close () {
    clearInterval(this.#timer)
    this.#clear()
  }

  #tell () {
    const now = performance.now()
    const list = Array.from(this.#running, ([file, beganMs]) => `${file} ${Math.round((now - beganMs) / 1000)} s`)
    if (!process.stdout.isTTY) return console.log(`${this.#done}/${this.#total}, running: ${list.join(', ')}`)
    const line = `${this.#done}/${this.#total}  ${list.map((text) => path.basename(text)).join('  ')}`
    this.#clear()
    process.stdout.write(line.slice(0, (process.stdout.columns || 80) - 1))
    this.#hasLine = true
  }

  #clear () {
    if (this.#hasLine) process.stdout.write('\r\x1b[K')
    this.#hasLine = false
  }
}

/** @param {string} file  @returns {string}  with `/`, on every system */
function toName (file) {
  return file.split(path.sep).join('/')
}

/** @returns {string[]}  paths from the root, of every *.test.js in a test folder */
function findTestFiles () {
  // The longest first, so that none of them runs alone at the end.
  const rooms = ['.', 'bench', 'lab', ...fs.readdirSync(path.join(root, 'packages')).map((name) => path.join('packages', name))]
  return rooms
    .map((room) => path.join(room, 'test'))
    .filter((folder) => fs.existsSync(path.join(root, folder)))
    .flatMap((folder) => fs.readdirSync(path.join(root, folder)).map((name) => path.join(folder, name)))
    .filter((file) => file.endsWith('.test.js'))
}

/**
 * @typedef {{ code: number | null, output: string, passed: number, failed: number, ms: number,
 *   silentS: number | null, silence: string }} Result  `silentS`: it was ended because it was silent for so long;
 *   `silence`: what it waited for when it had been silent for half of that
 * @param {string} file
 * @returns {Promise<Result>}
 */
function runTestFile (file) {
  return new Promise((resolve) => {
    const startedMs = performance.now()
    const isLong = options.longIn.some((part) => file.includes(part))
    const limitS = options.silentS ?? (isLong ? 600 : 120)
    const env = { ...process.env }
    if (isLong) env.MILLRACE_TESTS = 'long'
    if (options.jetstream) env.MILLRACE_JETSTREAM = '1'
    // Of a group of its own, so that the processes that it started end with it. A terminal's Ctrl-C does not reach
    // the group: the runner passes it on.
    const isGroup = process.platform !== 'win32'
    const child = spawn(process.execPath, [...NODE_FLAGS, RUN_FILE, file], {
      cwd: root, env, detached: isGroup, stdio: ['ignore', 'pipe', 'pipe']
    })
    const kill = (/** @type {NodeJS.Signals} */ signal) => {
      try {
        isGroup ? process.kill(-Number(child.pid), signal) : child.kill(signal)
      } catch {
        // It has ended meanwhile.
      }
    }
    const killNow = () => kill('SIGKILL')
    process.on('exit', killNow)
    let isSilent = false
    /** @type {Question | null} */
    let question = null
    const ask = () => { if (!isSilent) question ??= new Question(child) }
    const end = () => {
      isSilent = true
      question?.lookAgain()
      kill('SIGTERM')
      setTimeout(() => {
        killNow()
        // A process that left the group may still hold the pipes.
        child.stdout.destroy()
        child.stderr.destroy()
      }, GRACE_MS).unref()
    }
    const timer = setTimeout(end, limitS * 1000)
    const askTimer = setTimeout(ask, Math.max(limitS * 500, ASK_MS_MIN))
    /** @type {Buffer[]} */
    const chunks = []
    const onData = (/** @type {Buffer} */ chunk) => {
      chunks.push(chunk)
      if (isSilent || question?.takes(chunk)) return
      timer.refresh()
      askTimer.refresh()
    }
    child.stdout.on('data', onData)
    child.stderr.on('data', onData)
    child.on('close', (code) => {
      clearTimeout(timer)
      clearTimeout(askTimer)
      process.off('exit', killNow)
      const output = Buffer.concat(chunks).toString()
      const count = (/** @type {RegExp} */ pattern) => (output.match(pattern) ?? []).length
      const ms = Math.round(performance.now() - startedMs)
      const passed = count(/^ok \d/gm)
      const silentS = isSilent ? limitS : null
      resolve({ code, output, passed, failed: count(/^not ok \d/gm), ms, silentS, silence: question?.text ?? '' })
    })
  })
}

/**
 * A file that dies, that is ended, or that ends without a plan line counts as a failure even when no assertion failed.
 * @param {string} file
 * @param {Result} result
 * @param {{ passed: number, failed: number }} totals
 * @param {string} place  how far the run is
 */
function report (file, result, totals, place) {
  const finished = /^1\.\.\d+$/m.test(result.output)
  const failed = result.failed || (result.code === 0 && finished && result.passed > 0 ? 0 : 1)
  totals.passed += result.passed
  totals.failed += failed
  if (failed) console.log(result.output)
  if (result.silence !== '') console.log(`${file} printed nothing for long:\n${result.silence}`)
  if (result.silentS) console.log(`ended ${file}: it printed nothing for ${result.silentS} s`)
  const skipped = new Set(Array.from(result.output.matchAll(/^ok \d+ (.*?) ?# SKIP/gm), ([, why]) => why))
  for (const why of failed ? [] : skipped) console.log(`skipped in ${file}: ${why}`)
  console.log(`${failed ? 'FAILED' : 'ok'}  ${place}  ${file}  ${result.passed} passed, ${failed} failed, ${result.ms} ms`)
}

main()
