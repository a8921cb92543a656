// @ts-nocheck
'use strict'
// Kills real processes with SIGKILL while they append, delete, sync, close or recover, and looks for what they were
// promised: no acknowledged append or delete is lost, and nothing is there that was not appended.

const { spawn } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { KINDS, parseMessages } = require('./kill-messages')
const { FRAMINGS } = require('./framings')
const { Model } = require('./kill-model')
const { createCommits, randomFrom } = require('./kill-records')
const { readLog } = require('./read-log')
const { Violation } = require('./violation')

const PACKAGE = path.dirname(require.resolve('@millrace/offset-log'))
const CHILD = path.join(__dirname, 'kill-child.js')
const MODES = ['always', 'interval', 'never']
// Then a new log is begun, so that checking one stays quick.
const LOG_ROUNDS_MAX = 20
const LOG_SIZE_MAX = 64 * 1024 * 1024
// A child that has not opened its log by then hangs.
const OPEN_MS_MAX = 20_000
const WRITE_SIZES_MAX = [2 ** 31, 4096, 50_001]
const APPEND_COUNTS = [1, 4, 32, 250]

/**
 * @typedef {{ kind: string, message: string }} Failure
 * @typedef {import('../../packages/offset-log/lib/load').Recovery} Recovery
 * @typedef {object} Figures  of one mode
 * @property {number} rounds  processes killed
 * @property {number} logs
 * @property {number} appended  appends acknowledged
 * @property {number} deleted  records whose delete was acknowledged
 * @property {number} opening  processes killed before they had opened their log
 * @property {number} cuts  recoveries that cut a torn tail
 */

/**
 * @param {object} options
 * @param {number} options.rounds  how many processes to kill
 * @param {number} [options.seed]  of what they do; when they are killed is chance
 * @param {string} [options.logModule]  the package to load instead of the one that ships
 * @param {import('./framings').FramingName} [options.framing]
 * @param {boolean} [options.keep]  the folder of the logs, after a failure
 * @param {(line: string) => void} [options.print]
 * @returns {Promise<{ failures: Failure[], figures: Record<string, Figures> }>}  figures by mode
 */
async function runKill (options) {
  const { rounds, seed = newSeed(), logModule = PACKAGE, framing = 'checked', keep = true, print = console.log } = options
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-kill-'))
  /** @type {Record<string, Figures>} */
  const figures = {}
  /** @type {Failure[]} */
  const failures = []
  let roundsLeft = rounds
  const hasRounds = () => failures.length === 0 && roundsLeft > 0
  const takeRound = () => hasRounds() && roundsLeft-- > 0
  await Promise.all(MODES.map(async (mode, index) => {
    const lane = new Lane({ folder, mode, seed: seed + index, logModule, framing, hasRounds, takeRound })
    figures[mode] = lane.figures
    try {
      await lane.run()
    } catch (err) {
      const { kind = 'thrown', message, stack } = err
      failures.push({ kind, message: `${kind}: ${err instanceof Violation ? message : stack}; ${lane.describe()}` })
    }
  }))
  for (const { message } of failures) print(`FAILED  ${message}`)
  for (const [mode, counts] of Object.entries(figures)) print(`fsync ${mode}: ${describeFigures(counts)}`)
  const total = Object.values(figures).reduce((sum, { rounds }) => sum + rounds, 0)
  print(`kill: ${total} processes killed, ${failures.length} broken promises; seed ${seed}`)
  if (failures.length === 0 || !keep) fs.rmSync(folder, { recursive: true, force: true })
  return { failures, figures }
}

/** One mode's processes and logs, one after the other. */
class Lane {
  /**
   * @param {object} options
   * @param {string} options.folder
   * @param {string} options.mode  of fsync
   * @param {number} options.seed
   * @param {string} options.logModule
   * @param {import('./framings').FramingName} options.framing
   * @param {() => boolean} options.hasRounds
   * @param {() => boolean} options.takeRound  whether one more process may be killed
   */
  constructor ({ folder, mode, seed, logModule, framing, hasRounds, takeRound }) {
    this._framing = framing
    this._folder = folder
    this._mode = mode
    this._seed = seed
    this._random = randomFrom(seed)
    this._logModule = logModule
    this._OffsetLog = require(logModule).OffsetLog
    /** @type {Figures} */
    this.figures = { rounds: 0, logs: 0, appended: 0, deleted: 0, opening: 0, cuts: 0 }
    this._hasRounds = hasRounds
    this._takeRound = takeRound
    this._logCount = 0
    this._roundCount = 0
    this._path = ''
  }

  /** @returns {string}  which log, for a failure */
  describe () {
    return `fsync ${this._mode}, round ${this._roundCount} of ${this._path}`
  }

  async run () {
    while (this._hasRounds()) {
      await this._playLog()
      fs.rmSync(path.dirname(this._path), { recursive: true, force: true })
    }
  }

  async _playLog () {
    this._beginLog()
    // The first process is sometimes killed while it makes the file.
    if (this._random(2) === 0 && this._takeRound()) await this._openAndKill()
    await this._check({ flags: 'r+' })
    for (let round = 0; round < LOG_ROUNDS_MAX && this._hasRoom() && this._takeRound(); round++) {
      await this._loadAndKill()
      if (this._random(4) === 0) await this._check({ flags: 'r' })
      while (this._random(3) === 0 && this._takeRound()) await this._openAndKill()
      // What the next process finds is left as it is, or already recovered.
      await this._check({ flags: this._random(2) === 0 ? 'r' : 'r+' })
    }
    await this._check({ flags: 'r+' })
  }

  _beginLog () {
    const folder = path.join(this._folder, `${this._mode}-${this._logCount++}`)
    fs.mkdirSync(folder)
    this._path = path.join(folder, 'log')
    this.figures.logs++
    this._logSeed = this._random(2 ** 31)
    this._model = new Model(createCommits(this._logSeed, this._framing))
  }

  _hasRoom () {
    return fs.statSync(this._path).size < LOG_SIZE_MAX
  }

  async _openAndKill () {
    const child = this._spawn({ isOpenOnly: true })
    await child.until(KINDS.OPENING)
    await wait(this._random(4) === 0 ? this._random(30) : this._random(6))
    this._take(await child.kill())
  }

  async _loadAndKill () {
    const random = this._random
    const closeAfterMs = random(10) === 0 ? 1 + random(100) : 0
    const child = this._spawn({
      firstCommit: this._model.nextCommit,
      deletable: this._model.pickSeqs(random, 60),
      appendCount: APPEND_COUNTS[random(APPEND_COUNTS.length)],
      closeAfterMs
    })
    await child.until(KINDS.OPENED)
    await wait(closeAfterMs > 0 ? closeAfterMs + random(20) : random(random(3) === 0 ? 20 : 300))
    this._take(await child.kill())
  }

  /** @param {object} options */
  _spawn (options) {
    this._roundCount++
    this.figures.rounds++
    return new Child({
      logModule: this._logModule,
      path: this._path,
      framing: this._framing,
      fsync: this._mode,
      seed: this._logSeed,
      childSeed: this._random(2 ** 31),
      writeSizeMax: WRITE_SIZES_MAX[this._random(WRITE_SIZES_MAX.length)],
      ...options
    })
  }

  /** @param {Buffer} bytes  what the process said */
  _take (bytes) {
    const { appended, deleted } = this._model.take(bytes)
    this.figures.appended += appended
    this.figures.deleted += deleted
    const opened = [...parseMessages(bytes)].find(({ kind }) => kind === KINDS.OPENED)
    if (!opened) this.figures.opening++
    else if (opened.index > 0) this.figures.cuts++
  }

  /** @param {{ flags: string }} options  with `r` nothing is mended */
  async _check ({ flags: wanted }) {
    // A reader of lines sees what a killed writer has left of a batch, until the next writer cuts it.
    const flags = this._framing === 'lines' ? 'r+' : wanted
    if (flags === 'r' && !(fs.existsSync(this._path) && fs.statSync(this._path).size > 0)) return
    const before = fs.existsSync(this._path) ? fs.readFileSync(this._path) : Buffer.alloc(0)
    const framing = FRAMINGS[this._framing]
    const log = this._OffsetLog(this._path, { ...framing.options, fsync: this._mode, flags })
    try {
      await log.ready()
    } catch (err) {
      throw new Violation('refused', `a killed process is no reason not to open: ${err.stack}`)
    }
    try {
      if (log.recovery) this._checkRecovery(log.recovery, flags, before)
      if (flags === 'r+') framing.checkFile({ read: fs.readFileSync }, this._path, await readLog(log))
      await this._model.check(log, flags === 'r+')
    } catch (err) {
      await log.close().catch(() => {})
      throw err
    }
    await log.close()
  }

  /**
   * A killed process leaves a write that is not whole, of a commit or of a journal: no damage.
   * @param {Recovery} recovery
   * @param {string} flags
   * @param {Buffer} before  the file as the process left it
   */
  _checkRecovery ({ offset, size, keptAt, damage, flaws, changed }, flags, before) {
    const fail = (what) => {
      throw new Violation('refused', `${what}: ${JSON.stringify({ offset, size, keptAt, damage, flaws })}`)
    }
    if (changed) fail(changed)
    if (damage.length > 0) fail('damage is seen')
    if (flaws.some(({ what }) => !what.startsWith('journal'))) fail('parts of the head are lost')
    if (size === 0) return
    if (before.subarray(offset + size).some((byte) => byte !== 0)) fail(`of ${before.length} bytes not all are named`)
    if (flags === 'r') return
    this.figures.cuts++
    const kept = keptAt === null ? Buffer.alloc(0) : fs.readFileSync(keptAt)
    if (!kept.equals(before.subarray(offset, offset + size))) fail('the bytes that were cut are not kept')
  }
}

/** A process that is going to be killed. */
class Child {
  /** @param {Partial<import('./kill-child').ChildOptions>} options */
  constructor (options) {
    this._process = spawn(process.execPath, [CHILD, JSON.stringify(options)], { stdio: ['ignore', 'ignore', 'pipe', 'pipe'] })
    /** @type {Buffer[]} */
    this._chunks = []
    this._errors = ''
    this._closed = once(this._process, 'close')
    this._process.stderr.on('data', (chunk) => { this._errors += chunk })
    this._process.stdio[3].on('data', (chunk) => this._chunks.push(chunk))
  }

  /** @param {number} kind  resolves when the process has sent a message of this kind, or has ended */
  async until (kind) {
    const deadline = AbortSignal.timeout(OPEN_MS_MAX)
    const has = () => [...parseMessages(Buffer.concat(this._chunks))].some((message) => message.kind === kind)
    while (!has() && !this._hasEnded) {
      await Promise.race([once(this._process.stdio[3], 'data', { signal: deadline }), this._closed]).catch(async (err) => {
        await this.kill()
        throw err.name === 'AbortError' ? new Violation('no answer', `the log was not opened within ${OPEN_MS_MAX} ms`) : err
      })
    }
  }

  get _hasEnded () {
    return this._process.exitCode !== null || this._process.signalCode !== null
  }

  /** @returns {Promise<Buffer>}  all that it said */
  async kill () {
    const hasEnded = this._hasEnded
    this._process.kill('SIGKILL')
    const [code, signal] = await this._closed
    if (hasEnded || signal !== 'SIGKILL') throw new Violation('thrown', `the process ended by itself with ${code ?? signal}: ${this._errors}`)
    return Buffer.concat(this._chunks)
  }
}

/** @param {Figures} figures */
function describeFigures ({ rounds, logs, appended, deleted, opening, cuts }) {
  return `${rounds} processes killed on ${logs} logs, ${opening} of them while opening; ${appended} appends and ` +
    `${deleted} deletes acknowledged, ${cuts} torn ends cut`
}

function newSeed () {
  return Date.now() % 2 ** 31
}

/** @param {number} ms */
function wait (ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

exports.runKill = runKill
