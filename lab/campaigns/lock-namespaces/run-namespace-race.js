// @ts-nocheck
'use strict'
// The race: its rounds, and what is checked after each.

const { spawn, spawnSync } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { createInterface } = require('node:readline')
const { createRandom } = require('@millrace/testkit')

const RACER = path.join(__dirname, 'racer.js')
// A killed holder's file can be opened within this time of its death.
const TAKEOVER_MS_MAX = 100
const ANSWER_MS_MAX = 30_000
const LINE_SIZE = 32

/**
 * Where a racer runs, and by which path it comes to the file that the kernel locks. Those with a folder see the record,
 * and so can race for files that records lock.
 */
const PLACES = [
  { name: 'here', folder: 'folder' },
  { name: 'here, by a hard link', path: 'folder/linked' },
  { name: 'container', isContained: true, folder: 'folder' },
  { name: 'another container', isContained: true, folder: 'folder' },
  { name: 'container with the folder mounted', isContained: true, mount: ['folder', 'mounted'], folder: 'mounted' },
  { name: 'container with the file mounted', isContained: true, mount: ['folder/byKernel', 'single/log'], path: 'single/log' }
]
// Each has a file of its own. Mixed: some have flock, and some do not.
const MODES = ['byKernel', 'byRecord', 'mixed']

/** @returns {string | null}  what is missing here */
function whyNot () {
  if (process.platform !== 'linux') return 'namespaces are a thing of Linux'
  if (spawnSync('unshare', ['-pfm', '--mount-proc', 'true']).status !== 0) return 'it takes root, and the program unshare'
  if (spawnSync('flock', ['--version']).error) return 'there is no program flock'
  return null
}

/**
 * @param {{ rounds: number, seed: number, print?: (line: string) => void }} options
 * @returns {Promise<{ failures: string[], figures: Record<string, number> }>}
 */
async function runNamespaceRace ({ rounds, seed, print = console.log }) {
  const race = new Race(createRandom(seed))
  try {
    await race.begin()
    for (let round = 0; round < rounds && race.failures.length === 0; round++) await race.play(round)
    race.checkFiles()
  } catch (err) {
    race.failures.push(err.stack)
  } finally {
    await race.end()
  }
  const { failures, figures } = race
  for (const failure of failures) print(`FAILED  ${failure}`)
  print(`${figures.rounds} rounds of ${PLACES.length} processes in ${PLACES.filter(({ isContained }) => isContained).length} ` +
    `containers and outside: ${figures.byKernel} under the kernel's lock, ${figures.byRecord} under records, ` +
    `${figures.mixed} under both; ${figures.appends} appends`)
  const sorted = race.takeoversMs.sort((a, b) => a - b)
  const [median, most] = [0.5, 1].map((part) => sorted[Math.ceil(part * sorted.length) - 1] ?? 0)
  print(`${figures.killed} holders killed, their file opened ${median.toFixed(0)} ms later (median), ${most.toFixed(0)} ms at most; ` +
    `${figures.stopped} stopped, and kept it; ${failures.length} failures; seed ${seed}`)
  return { failures, figures }
}

class Race {
  /** @param {(limit: number) => number} random */
  constructor (random) {
    this._random = random
    this._root = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-namespaces-'))
    /** @type {Racer[]} */
    this._racers = []
    /** What was acknowledged, by mode. @type {Record<string, string[]>} */
    this._appended = Object.fromEntries(MODES.map((mode) => [mode, []]))
    this.failures = []
    this.figures = { rounds: 0, byKernel: 0, byRecord: 0, mixed: 0, appends: 0, killed: 0, stopped: 0 }
    /** From the death of a holder until another had the file. @type {number[]} */
    this.takeoversMs = []
  }

  async begin () {
    for (const folder of ['folder', 'mounted', 'single']) fs.mkdirSync(path.join(this._root, folder))
    for (const mode of MODES) fs.writeFileSync(this._fileOf(mode), 'begin'.padEnd(LINE_SIZE - 1) + '\n')
    fs.writeFileSync(path.join(this._root, 'single', 'log'), '')
    fs.linkSync(this._fileOf('byKernel'), path.join(this._root, 'folder', 'linked'))
    this._racers = await Promise.all(PLACES.map((place) => Racer.start(this._root, place)))
  }

  async end () {
    await Promise.all(this._racers.map((racer) => racer.kill()))
    fs.rmSync(this._root, { recursive: true, force: true })
  }

  /** @param {string} mode */
  _fileOf (mode) {
    return path.join(this._root, 'folder', mode)
  }

  /** @param {number} round */
  async play (round) {
    const mode = MODES[round % MODES.length]
    this.figures.rounds++
    this.figures[mode]++
    const racers = this._racers.filter(({ place }) => mode === 'byKernel' || place.folder)
    const open = (racer) => racer.open(mode, { isByRecord: mode === 'byRecord' || (mode === 'mixed' && this._random(2) === 0) })
    const answers = await Promise.all(racers.map(open))
    const winners = racers.filter((_, index) => answers[index].code === 'none')
    for (const [index, { code, message }] of answers.entries()) {
      if (code !== 'none' && code !== 'ERR_LOG_LOCKED') this._fail(round, `${racers[index].place.name}: ${message}`)
    }
    if (winners.length > 1) this._fail(round, `${winners.length} have it: ${winners.map(({ place }) => place.name).join('; ')}`)
    if (winners.length === 0) this._fail(round, `nobody has it: ${answers.map(({ message }) => message).join('; ')}`)
    for (const winner of winners) await this._append(round, mode, winner)
    const [winner] = winners
    if (winner === undefined) return
    const others = racers.filter((racer) => racer !== winner)
    if (this._random(4) === 0) await this._stop(round, mode, winner, others, open)
    if (this._random(2) === 0) await this._kill(round, mode, winner, others, answers[racers.indexOf(winner)].kind === 'file')
    else await winner.ask('close')
  }

  /**
   * @param {number} round
   * @param {string} mode
   * @param {Racer} racer
   */
  async _append (round, mode, racer) {
    const text = `${round} ${racer.pid} ${this._appended[mode].length}`.padEnd(LINE_SIZE - 1) + '\n'
    const { code, message } = await racer.ask('append', { text })
    this.figures.appends++
    if (code === 'none') this._appended[mode].push(text)
    else this._fail(round, `${racer.place.name} could not append: ${message}`)
  }

  /**
   * @param {number} round
   * @param {string} mode
   * @param {Racer} winner
   * @param {Racer[]} others
   * @param {(racer: Racer) => Promise<any>} open
   */
  async _stop (round, mode, winner, others, open) {
    winner.signal('SIGSTOP')
    this.figures.stopped++
    const answers = await Promise.all(others.map(open))
    winner.signal('SIGCONT')
    for (const [index, { code }] of answers.entries()) {
      if (code === 'none') this._fail(round, `${others[index].place.name} has the file of one that was stopped`)
    }
    await this._append(round, mode, winner)
  }

  /**
   * @param {number} round
   * @param {string} mode
   * @param {Racer} winner
   * @param {Racer[]} others
   * @param {boolean} isByRecord  whether the winner has no lock of the kernel; then its heir has none either
   */
  async _kill (round, mode, winner, others, isByRecord) {
    const heir = others[this._random(others.length)]
    await winner.kill()
    this.figures.killed++
    const beganMs = performance.now()
    const { code, message } = await heir.open(mode, { isByRecord, lockTimeout: TAKEOVER_MS_MAX })
    this.takeoversMs.push(performance.now() - beganMs)
    if (code !== 'none') {
      this._fail(round, `${heir.place.name} cannot have the file of ${winner.place.name}, which was killed: ${message}`)
    } else {
      await this._append(round, mode, heir)
      await heir.ask('close')
    }
    this._racers[this._racers.indexOf(winner)] = await Racer.start(this._root, winner.place)
  }

  /** Every acknowledged line is there, whole, in order, and nothing else. */
  checkFiles () {
    for (const mode of MODES) {
      const appended = this._appended[mode]
      const lines = fs.readFileSync(this._fileOf(mode), 'utf8').split('\n').slice(1, -1).map((line) => `${line}\n`)
      if (lines.join('') === appended.join('')) continue
      this.failures.push(`${mode}: ${appended.length} lines were acknowledged, ${lines.length} are there; the first that differs ` +
        `is ${lines.findIndex((line, index) => line !== appended[index])}`)
    }
  }

  /**
   * @param {number} round
   * @param {string} message
   */
  _fail (round, message) {
    this.failures.push(`round ${round}: ${message}`)
  }
}

/** A process, perhaps in a container. */
class Racer {
  /**
   * @param {string} root
   * @param {typeof PLACES[number]} place
   */
  constructor (root, place) {
    this.place = place
    const { isContained = false, mount } = place
    const mounting = mount ? `mount --bind ${path.join(root, mount[0])} ${path.join(root, mount[1])} && ` : ''
    // What unshare says of signals on its way out is of no interest.
    const script = `${mounting}exec ${process.execPath} ${RACER} 2>&3`
    const [command, args] = isContained
      ? ['unshare', ['-pfm', '--kill-child', '--mount-proc', 'sh', '-c', script]]
      : [process.execPath, [RACER]]
    this._root = root
    const [stderr, ...more] = isContained ? ['ignore', 2] : ['inherit']
    this._child = spawn(command, args, { stdio: ['pipe', 'pipe', stderr, ...more] })
    this._hasEnded = new Promise((resolve) => this._child.on('exit', resolve))
    this._child.stdin.on('error', () => {})
    /** @type {Array<(answer: any) => void>} */
    this._asking = []
    createInterface({ input: this._child.stdout }).on('line', (line) => this._asking.shift()?.(JSON.parse(line)))
    /** As it is seen from outside. */
    this.pid = this._child.pid
  }

  /**
   * @param {string} root
   * @param {typeof PLACES[number]} place
   * @returns {Promise<Racer>}
   */
  static async start (root, place) {
    const racer = new Racer(root, place)
    await racer._hear()
    // unshare has made one child, which became the racer.
    if (place.isContained) racer.pid = Number(fs.readFileSync(`/proc/${racer.pid}/task/${racer.pid}/children`, 'latin1'))
    return racer
  }

  /**
   * @param {string} mode
   * @param {{ isByRecord: boolean, lockTimeout?: number }} options
   */
  open (mode, options) {
    const { path: own, folder } = this.place
    const file = mode === 'byKernel' && own ? own : `${folder}/${mode}`
    return this.ask('open', { file: path.join(this._root, file), ...options })
  }

  /**
   * @param {string} name
   * @param {object} [options]
   */
  ask (name, options = {}) {
    const answer = this._hear()
    this._child.stdin.write(`${JSON.stringify({ name, ...options })}\n`)
    return answer
  }

  _hear () {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${this.place.name} does not answer`)), ANSWER_MS_MAX)
      this._asking.push((answer) => {
        clearTimeout(timer)
        resolve(answer)
      })
    })
  }

  /** @param {NodeJS.Signals} name */
  signal (name) {
    process.kill(this.pid, name)
  }

  /** It is dead when this is done. */
  async kill () {
    try {
      this.signal('SIGKILL')
    } catch {
      // It is gone already.
    }
    await this._hasEnded
  }
}

exports.runNamespaceRace = runNamespaceRace
exports.whyNot = whyNot
