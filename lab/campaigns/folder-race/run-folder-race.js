'use strict'
// Processes that open one folder together, append, begin segments, and are killed at random. There are never two
// writers; nobody is told that the log is corrupt; nothing that was acknowledged is lost.

const { fork } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { jsonCodec } = require('@millrace/json-codec')
const { createRandom, temporaryFolder } = require('@millrace/testkit')
const { SegmentedLog } = require('@millrace/segmented-log')

const RACER = path.join(__dirname, 'racer.js')
const PROCESS_COUNT_MAX = 16
/** A folder is new after so many rounds. */
const FOLDER_ROUNDS = 5
const ANSWER_MS_MAX = 60_000

/**
 * @param {{ rounds: number, seed: number, print?: (line: string) => void }} options
 * @returns {Promise<{ failures: string[], figures: Record<string, number> }>}
 */
async function runFolderRace ({ rounds, seed, print = () => {} }) {
  const race = new Race(seed)
  try {
    for (let round = 0; round < rounds && race.failures.length === 0; round++) {
      await race.play(round)
      if (round % 100 === 99) print(`${round + 1} rounds: ${JSON.stringify(race.figures)}`)
    }
    await race.check()
  } finally {
    race.end()
  }
  return { failures: race.failures, figures: race.figures }
}

class Race {
  /** @type {string[]} */
  failures = []
  figures = { rounds: 0, processes: 0, won: 0, locked: 0, died: 0, segments: 0, records: 0 }
  #random
  #root = temporaryFolder()
  #folder = ''
  /** @type {Array<{ name: string, step: number }>} */
  #acknowledged = []
  /** @type {any[]} */
  #children = []

  /** @param {number} seed */
  constructor (seed) {
    this.#random = createRandom(seed)
  }

  /** @param {number} round */
  async play (round) {
    if (round % FOLDER_ROUNDS === 0) {
      await this.check()
      this.#folder = path.join(this.#root, String(round))
      this.#acknowledged = []
    }
    const count = 2 + this.#random(PROCESS_COUNT_MAX - 1)
    while (this.#children.length < count) {
      const child = /** @type {any} */ (fork(RACER))
      child.ended = once(child, 'exit').then(([code, signal]) => {
        return [{ code: signal === 'SIGKILL' ? 'died' : 'none', message: `it ended with ${code}` }]
      })
      this.#children.push(child)
    }
    this.figures.rounds++
    const asked = this.#children.slice(0, count).map((child, index) => this.#ask(child, `${round}.${index}`))
    for (const answer of await Promise.all(asked)) this.#note(round, answer)
    this.#children = this.#children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
  }

  /** @param {any} child @param {string} name */
  async #ask (child, name) {
    this.figures.processes++
    const onMessage = (/** @type {any} */ { acknowledged, answer }) => {
      if (acknowledged) this.#acknowledged.push(acknowledged)
      else child.emit('answer', answer)
    }
    child.on('message', onMessage)
    const command = { folder: this.#folder, name, seed: this.#random(2 ** 31), mayDie: true }
    child.send(command)
    let timer
    const [answer] = await Promise.race([
      new Promise((resolve) => child.once('answer', (/** @type {object} */ answer) => resolve([answer]))),
      child.ended,
      new Promise((resolve) => {
        timer = setTimeout(() => resolve([{ code: 'none', message: 'it is silent' }]), ANSWER_MS_MAX)
      })
    ])
    clearTimeout(timer)
    child.removeAllListeners('answer').off('message', onMessage)
    return answer
  }

  /** @type {(round: number, answer: { code: string, message?: string }) => void} */
  #note (round, { code, message }) {
    if (code === 'won') this.figures.won++
    else if (code === 'ERR_LOG_LOCKED') this.figures.locked++
    else if (code === 'died') this.figures.died++
    else this.failures.push(`round ${round}: ${code}: ${message}`)
  }

  /** Each acknowledged record is there, once, in the order of its process. */
  async check () {
    if (this.#folder === '' || !fs.existsSync(this.#folder)) return
    const log = SegmentedLog(this.#folder, { codec: jsonCodec })
    const steps = new Map()
    for await (const { name, step } of log.stream({ seqs: false })) {
      if (step !== (steps.get(name) ?? 0) + 1) this.failures.push(`${this.#folder}: ${name} has ${step} after ${steps.get(name)}`)
      steps.set(name, step)
      this.figures.records++
    }
    this.figures.segments += (await log.segments()).length
    await log.close()
    for (const { name, step } of this.#acknowledged) {
      if (!(steps.get(name) >= step)) this.failures.push(`${this.#folder}: ${name} ${step} was acknowledged, and is lost`)
    }
    const left = fs.readdirSync(this.#folder).filter((name) => !/^writer$|Z\.log(\.cut-\d+)?$/.test(name))
    if (left.length > 0) this.failures.push(`${this.#folder}: left behind: ${left.join()}`)
    fs.rmSync(this.#folder, { recursive: true })
  }

  end () {
    for (const child of this.#children) child.kill('SIGKILL')
  }
}

exports.runFolderRace = runFolderRace
