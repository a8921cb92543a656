'use strict'
// The race: its rounds, and what is checked after each.

const { fork } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { collect, createRandom } = require('@millrace/testkit')
const { OffsetLog } = require('@millrace/offset-log')

const RACER = path.join(__dirname, 'racer.js')
// Enough for all of them to be told before it begins.
const START_MS = 10
const ANSWER_MS_MAX = 30_000
// So many rounds one log lasts; then it is read, and must have what every winner appended.
const LOG_ROUNDS = 20
// Every so many rounds the processes are new, and race from their start.
const FRESH_EVERY = 10
// Taking over a lock takes no more calls than these, mostly.
const CALL_COUNT = 16

/**
 * @param {object} options
 * @param {number} options.rounds
 * @param {number} options.processes
 * @param {number} [options.seed]
 * @param {(line: string) => void} [options.print]
 * @returns {Promise<{ failures: string[], figures: Record<string, number> }>}
 */
async function runLockRace ({ rounds, processes, seed = Date.now() % 2 ** 31, print = console.log }) {
  const race = new Race(processes, createRandom(seed))
  try {
    for (let round = 0; round < rounds && race.failures.length === 0; round++) await race.play(round)
    if (race.failures.length === 0) await race.checkLog()
  } catch (err) {
    race.failures.push(/** @type {Error} */ (err).stack)
  } finally {
    race.end()
  }
  const { failures, figures } = race
  for (const failure of failures) print(`FAILED  ${failure}`)
  print(`${figures.rounds} rounds of ${processes} processes, ${figures.fresh} of them new ones: ${figures.stale} began with the ` +
    `lock of a killed process, ${figures.claimed} of these with what another left that was killed while it took over`)
  print(`${figures.winners} winners, ${figures.refused} refused, by ${figures.holders} different processes, ${figures.claims} ` +
    `times by one that did not win either; ${failures.length} failures; seed ${seed}`)
  return { failures, figures }
}

class Race {
  /**
   * @param {number} count  of processes
   * @param {(limit: number) => number} random
   */
  constructor (count, random) {
    this._count = count
    this._random = random
    this._folder = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-race-'))
    this._racers = Array.from({ length: count }, () => new Racer())
    this._path = ''
    /** @type {string[]} what the winners of this log have appended */
    this._appended = []
    this._pids = new Set()
    /** @type {any[]} */
    this.failures = []
    this.figures = { rounds: 0, fresh: 0, stale: 0, claimed: 0, winners: 0, refused: 0, claims: 0, holders: 0 }
  }

  end () {
    for (const racer of this._racers) racer.kill()
    fs.rmSync(this._folder, { recursive: true, force: true })
  }

  /** @param {number} round */
  async play (round) {
    if (round % LOG_ROUNDS === 0) await this._beginLog(round)
    const isFresh = round % FRESH_EVERY === FRESH_EVERY - 1
    if (round % 2 === 1) await this._leaveStale()
    const racers = isFresh ? Array.from({ length: this._count }, () => new Racer()) : this._racers
    const atMs = isFresh ? 0 : Date.now() + START_MS
    const answers = await Promise.all(racers.map((racer) => {
      return racer.ask({ path: this._path, atMs, text: `${round} ${racer.pid}` })
    }))
    this.figures.rounds++
    if (isFresh) this.figures.fresh++
    this._check(round, racers, answers)
    await Promise.all(racers.filter((_, index) => answers[index].won).map((racer) => racer.ask({})))
    // Whoever did not win has no log either, but may be just giving back a claim.
    const names = fs.readdirSync(path.dirname(this._path))
    if (names.length !== 1) this._fail(round, `the folder has ${names.join(', ')}`)
    if (isFresh) for (const racer of racers) racer.kill()
  }

  /** @param {number} round */
  async _beginLog (round) {
    if (round > 0) await this.checkLog()
    this._appended = []
    const folder = path.join(this._folder, String(round))
    fs.mkdirSync(folder)
    this._path = path.join(folder, 'log')
  }

  /** The lock of a process that was killed, and sometimes what is left of others that tried to take it over. */
  async _leaveStale () {
    const holder = new Racer()
    const text = `killed ${holder.pid}`
    const { won, message } = await holder.ask({ path: this._path, text })
    if (!won) throw new Error(`nobody else has the log open, but: ${message}`)
    this._appended.push(text)
    await holder.kill()
    this.figures.stale++
    const claimerCount = this._random(3)
    if (claimerCount > 0) this.figures.claimed++
    for (let count = 0; count < claimerCount; count++) await this._leaveClaim()
  }

  async _leaveClaim () {
    const claimer = new Racer()
    const text = `killed ${claimer.pid}`
    const answer = await claimer.ask({ path: this._path, text, killedAt: this._random(CALL_COUNT) })
    // It was quicker than expected.
    if (answer.won) this._appended.push(text)
    else if (!answer.hasEnded) throw new Error(`nobody else has the log open, but: ${answer.message}`)
    await claimer.kill()
  }

  /**
   * @param {number} round
   * @param {Racer[]} racers
   * @param {any[]} answers
   */
  _check (round, racers, answers) {
    const winners = racers.filter((_, index) => answers[index].won)
    if (winners.length !== 1) {
      this._fail(round, `${winners.length} have the log open: ${answers.map((answer) => answer.message ?? 'won').join('; ')}`)
    }
    for (const { pid } of winners) this._appended.push(`${round} ${pid}`)
    this.figures.winners += winners.length
    for (const { won, code, message, holder } of answers) {
      if (won) continue
      this.figures.refused++
      const isKnown = racers.some(({ pid }) => pid === holder?.pid)
      // It has met one that was about to win, but another was quicker.
      if (holder?.pid !== winners[0]?.pid) this.figures.claims++
      if (code !== 'ERR_LOG_LOCKED' || !isKnown) this._fail(round, `refused with ${code}: ${message}`)
      this._pids.add(holder?.pid)
    }
    this.figures.holders = this._pids.size
  }

  /** No winner's record may be missing, and nobody else's be there. */
  async checkLog () {
    const log = OffsetLog(this._path, { flags: 'r' })
    const found = (await collect(log.stream({ seqs: false }))).map(String)
    await log.close()
    if (found.join() !== this._appended.join()) this.failures.push(`appended: ${this._appended}; found: ${found}`)
  }

  /**
   * @param {number} round
   * @param {string} message
   */
  _fail (round, message) {
    this.failures.push(`round ${round}: ${message}`)
  }
}

/** A process. */
class Racer {
  constructor () {
    this._child = fork(RACER)
    this._exit = once(this._child, 'exit')
    this.pid = this._child.pid
  }

  /**
   * @param {import('./racer').Order} order
   * @returns {Promise<any>}  its answer, or that it has ended
   */
  async ask (order) {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX)
    const answer = once(this._child, 'message', { signal }).then(([message]) => message)
    this._child.send(order)
    return Promise.race([answer, this._exit.then(() => ({ hasEnded: true }))])
  }

  async kill () {
    this._child.kill('SIGKILL')
    await this._exit
  }
}

exports.runLockRace = runLockRace
