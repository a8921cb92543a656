// @ts-nocheck
'use strict'
// Processes work in a folder, one after another, and are killed. Meanwhile, and between them, people move, copy,
// restore and remove what is there. Then the next program opens it, with no step by hand: the log has what was
// acknowledged, in order, and all that stands around it agrees with the log.

const { spawn } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const { createRandom, temporaryFolder } = require('@millrace/testkit')
const { check } = require('./check')
const { AT_REST, WHILE_OPEN, copyAll } = require('./events')
const { chooseLife, chooseSetting, pathOf } = require('./setting')

const CHILD = path.join(__dirname, 'child.js')
const END_MS_MAX = 90_000
const MEMORY = '/dev/shm'
const BEGUN_LOCK = /^left: \S*\.lock\.[0-9a-f]{16}\.new$/
/** What a process is told whose folder was moved, or whose file was cut. */
const MOVED = ['ERR_LOG_POISONED', 'ERR_FILE_MOVED', 'ERR_LOG_REPLACED', 'ENOENT', 'ERR_LOG_CORRUPT', 'ERR_LOG_READ_ONLY',
  'ERR_LOG_CLOSED', 'ERR_VIEW_STALE', 'ERR_LOG_SEQ_RETAINED', 'ERR_FILE_SHORT_READ', 'ERR_LOG_UNKNOWN_FORMAT']

/** A folder, and what is known of it. */
class Box {
  faults = []
  moves = 0
  copies = 0
  /** The number of the last record that must be there. */
  acked = -1
  /** The number of the first record that a hold keeps. */
  held = null
  /** A copy of the folder at rest, and what was acknowledged then. */
  backup = null
  backupAcked = -1
  /** Somebody has cut or replaced a text, or a file: until the next check. */
  isChanged = false
  /** The same, ever: a text says so at each opening. */
  wasChanged = false
  /** A file was cut while it was written. */
  isTorn = false
  /** Somebody has removed the record of a lock, ever: nobody takes it over, nor removes what was begun beside it. */
  isLockGone = false
  /** The process goes on in a folder that nobody looks at. */
  isLeft = false

  constructor ({ seed, kind, print = () => {} }) {
    this.random = createRandom(seed)
    for (let i = 0; i < 12; i++) this.random(2)
    this.setting = chooseSetting(this.random, kind)
    this.print = print
    this.root = temporaryFolder()
    this.sentFile = path.join(this.root, 'sent')
    this.folder = path.join(this.random(4) === 0 && fs.existsSync(MEMORY) ? this.#linkMemory() : this.root, 'box-0')
    fs.mkdirSync(this.folder)
  }

  /** A folder of another file system, by a link. */
  #linkMemory () {
    const real = fs.mkdtempSync(path.join(MEMORY, 'millrace-'))
    process.once('exit', () => fs.rmSync(real, { recursive: true, force: true }))
    const link = path.join(this.root, 'memory')
    fs.symlinkSync(real, link)
    return link
  }

  async runRound (round) {
    const { random } = this
    const lives = 1 + random(3)
    for (let i = 0; i < lives && this.faults.length === 0; i++) await this.#live(10 * round + i)
    if (this.faults.length === 0) await this.#checkAll()
    const names = Object.keys(AT_REST)
    for (let count = random(3); count > 0 && this.faults.length === 0; count--) {
      const name = names[random(names.length)]
      AT_REST[name](this)
      this.print(`at rest: ${name}`)
    }
  }

  /** A process, from its start to its end. */
  async #live (number) {
    const { random, setting, folder, sentFile, print } = this
    const life = chooseLife(random, setting)
    print(`life ${number}: ${JSON.stringify(life)}`)
    const process = new Process({ folder, sentFile, setting, life, number })
    await process.hasTold(1)
    // Most come further than the opening.
    await process.hasTold(random(5) === 0 ? 0 : 1 + random(120))
    await sleep(random(20))
    let isMoved = false
    const names = Object.keys(WHILE_OPEN)
    for (let count = random(4); count > 0 && !process.isGone; count--) {
      const name = names[random(names.length)]
      // Whoever has still to open it makes another one.
      if (/move/.test(name) && !process.hasOpened) continue
      isMoved = await WHILE_OPEN[name](this, process.child) === 'moved' || isMoved
      print(`while open: ${name}, after ${process.told.length}`)
      await sleep(random(30))
    }
    const signal = ['SIGKILL', 'SIGKILL', 'SIGTERM', 'SIGINT', null][random(5)]
    const fault = await process.end(signal)
    print(`ends after ${process.told.length}: ${JSON.stringify(process.told.at(-1))}`)
    if (fault !== null) this.faults.push(fault)
    this.#hear(process.told, isMoved || this.isTorn)
    await this.#checkCopies()
    this.isLeft = false
  }

  #hear (told, mayFail) {
    for (const { acked = -1, failed, text, recovery, held, holding } of told) {
      if (failed && !(mayFail && MOVED.includes(failed))) this.faults.push(`a process failed with ${failed}: ${text}`)
      if (isBad(recovery) && !this.isTorn) this.faults.push(`a process found ${JSON.stringify(recovery)}`)
      if (this.isLeft) continue
      this.acked = Math.max(this.acked, acked)
      if (held !== undefined) this.held = held
      if (holding !== undefined) this.held = Math.min(this.held ?? Infinity, holding)
    }
  }

  async #checkAll () {
    const { folder, setting, sentFile, faults } = this
    if (!fs.existsSync(pathOf(folder, setting))) {
      if (this.acked >= 0) faults.push('there is no log')
      return
    }
    const found = await this.#check(folder, sentFile)
    if (found === null) return
    const isKnown = (fault) => this.isLockGone && BEGUN_LOCK.test(fault)
    const judged = this.isChanged || this.isTorn ? [] : this.#judge(found)
    faults.push(...found.faults.filter((fault) => !isKnown(fault)), ...judged)
    this.print(`check: ${found.entries.length} records up to ${found.last}, of ${this.acked}; ${JSON.stringify(found.recovery)}`)
    this.acked = found.last
    this.isChanged = false
  }

  /** @returns {string[]} what is wrong with what the log has */
  #judge ({ recovery, corrupt, first, last, entries }) {
    const { setting: { drop }, acked, held } = this
    const faults = []
    if (isBad(recovery) || corrupt !== null) faults.push(`damage was found: ${JSON.stringify(recovery)} ${corrupt}`)
    if (recovery?.changed && !this.wasChanged) faults.push(`a change was found: ${JSON.stringify(recovery.changed)}`)
    if (last < acked) faults.push(`the log ends at ${last}, though ${acked} was acknowledged`)
    const gap = entries.findIndex(({ value }, i) => i > 0 && value.n !== entries[i - 1].value.n + 1)
    if (gap > 0 && drop !== 'keep') faults.push(`after ${entries[gap - 1].value.n} comes ${entries[gap].value.n}`)
    if (drop === null && first > 0) faults.push(`the log begins at ${first}`)
    const isHeld = held !== null && ['count', 'before'].includes(drop)
    if (isHeld && first > held) faults.push(`the log begins at ${first}, though ${held} was held`)
    return faults
  }

  /** What comes of `check`; null if it cannot be opened, and may be. */
  async #check (folder, sentFile, mayFail = this.isTorn) {
    const { random, setting } = this
    try {
      return await check({ folder, sentFile, setting, life: chooseLife(random, setting) })
    } catch (err) {
      if (!(mayFail && MOVED.includes(err.code))) {
        this.faults.push(`the next open fails: ${err.stack}; cause: ${err.cause?.stack}`)
        return null
      }
      // Somebody moves it away.
      fs.rmSync(pathOf(folder, setting), { recursive: true, force: true })
      this.acked = folder === this.folder ? -1 : this.acked
      return null
    }
  }

  /** A copy that was made while somebody wrote is another log: whatever is in it, all answers must agree. */
  async #checkCopies () {
    const { root, sentFile, setting } = this
    for (const name of fs.readdirSync(root).filter((name) => /^copy-\d+$/.test(name))) {
      const copy = path.join(root, name)
      if (this.faults.length === 0 && fs.existsSync(pathOf(copy, setting))) {
        const sent = `${copy}-sent`
        if (fs.existsSync(sentFile)) fs.copyFileSync(sentFile, sent)
        const found = await this.#check(copy, sent, true)
        // What its holder had begun to write is nobody's there.
        const faults = (found?.faults ?? []).filter((fault) => !BEGUN_LOCK.test(fault))
        this.faults.push(...faults.map((fault) => `a copy: ${fault}`))
      }
      fs.rmSync(copy, { recursive: true, force: true })
    }
  }
}

class Process {
  /** What it has said. */
  told = []
  isGone = false
  #output = ''
  #gone

  constructor (given) {
    const args = ['--no-warnings', CHILD, JSON.stringify(given)]
    this.child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let rest = ''
    this.child.stdout.setEncoding('utf8').on('data', (text) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop()
      for (const line of lines) this.told.push(JSON.parse(line))
    })
    this.child.stderr.on('data', (text) => { this.#output += text })
    this.#gone = new Promise((resolve) => this.child.once('close', resolve)).then(() => { this.isGone = true })
  }

  async hasTold (count) {
    while (!this.isGone && this.told.length < count) await sleep(1)
  }

  get hasOpened () {
    return this.told.some(({ opened }) => opened !== undefined)
  }

  /** @returns {Promise<string | null>} what is wrong */
  async end (signal) {
    if (signal !== null) this.child.kill(signal)
    let fault = null
    const timer = setTimeout(() => {
      fault = `a process does not end: ${JSON.stringify(this.told.slice(-3))}`
      this.child.kill('SIGKILL')
    }, END_MS_MAX)
    await this.#gone
    clearTimeout(timer)
    return this.#output === '' ? fault : `a process printed ${this.#output}`
  }
}

const isBad = (recovery) => Boolean(recovery) && recovery.damage.length + recovery.flaws.length > 0

/**
 * @param {{ seed: number, rounds: number, kind?: string, print?: (line: string) => void }} options
 * @returns {Promise<string[]>} what is wrong
 */
async function runFolder ({ rounds, ...options }) {
  const box = new Box(options)
  const { faults, root, setting } = box
  options.print?.(`${options.seed}: ${JSON.stringify(setting)}`)
  for (let round = 0; round < rounds && faults.length === 0; round++) await box.runRound(round)
  if (faults.length > 0 && process.env.KEEP) copyAll(box.folder, path.join(process.env.KEEP, String(options.seed)))
  fs.rmSync(path.dirname(fs.realpathSync(box.folder)), { recursive: true, force: true })
  fs.rmSync(root, { recursive: true, force: true })
  return faults.map((fault) => `seed ${options.seed} ${JSON.stringify(setting)}: ${fault}`)
}

exports.runFolder = runFolder
