// @ts-nocheck
'use strict'
// A box: processes that write, follow and copy one log, are killed, stopped and begun again with other options. What
// each of them reads is what the writers have told.

const { fork } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const { createRandom, temporaryFolder } = require('@millrace/testkit')
const { Model } = require('./model')
const { LIFE_SIZE } = require('./records')
const { chooseOptions, chooseSetting } = require('./settings')

const CHILD = path.join(__dirname, 'child.js')
const ASK_COUNT = 30
const RECENT_COUNT = 50
/** Of a process that was told to stop. */
const STOP_MS_MAX = 150_000

/**
 * @param {{ seed: number, rounds: number, roundMs: number, kind?: string, print?: (line: string) => void }} options
 * @returns {Promise<{ faults: string[], kills: number, records: number, asked: number }>}
 */
async function runOneBox (options) {
  const folder = temporaryFolder()
  const box = new Box(folder, options)
  for (let round = 0; round < options.rounds && box.faults.length === 0; round++) await box.runRound()
  // What failed stays, to be looked at.
  if (box.faults.length === 0) fs.rmSync(folder, { recursive: true })
  const { faults, kills, records, asked } = box
  const about = `${JSON.stringify(box.setting)}${faults.length > 0 && process.env.KEEP ? keep(folder, options.seed) : ''}`
  return { faults: faults.map((fault) => `seed ${options.seed} ${about}: ${fault}`), kills, records, asked }
}

function keep (folder, seed) {
  const kept = path.join(process.env.KEEP, String(seed))
  copyAll(folder, kept)
  return ` in ${kept}`
}

/** But for the socket of a lock: whoever was killed leaves it. */
function copyAll (from, to) {
  const filter = (file) => !fs.lstatSync(file).isSocket()
  fs.cpSync(from, to, { recursive: true, preserveTimestamps: true, filter })
}

class Box {
  faults = []
  kills = 0
  records = 0
  asked = 0
  #children = new Map()
  #lives = 0
  #isFirstRound = true
  /** What the writers had told when all was copied. @type {Model | null} */
  #copied = null

  constructor (folder, { seed, roundMs, kind, print = () => {} }) {
    this.folder = folder
    this.copyFolder = temporaryFolder()
    this.roundMs = roundMs
    this.print = print
    this.random = createRandom(seed)
    this.setting = chooseSetting(this.random, kind)
    this.model = new Model(this.setting)
  }

  async runRound () {
    const { random } = this
    const roles = ['writer', 'follower', ['follower', 'visitor'][random(2)], ['shipper', 'visitor'][random(2)]]
    roles.forEach((role, slot) => this.#begin(slot, role))
    // What a busy machine needs to begin with is not counted.
    while (!this.#children.get(0).said.opened && this.faults.length === 0) await sleep(20)
    const end = Date.now() + this.roundMs
    while (Date.now() < end && this.faults.length === 0) {
      await sleep(random(200))
      await this.#disturb()
    }
    await Promise.all(Array.from(this.#children.keys(), (slot) => this.#end(slot)))
    if (this.faults.length === 0) await this.#check()
    if (this.faults.length === 0) this.#copyOrRestore()
    this.#isFirstRound = false
  }

  async #disturb () {
    const { random } = this
    const slots = Array.from(this.#children.keys())
    const slot = slots[random(slots.length)]
    const child = this.#children.get(slot)
    const chosen = random(10)
    if (chosen < 2) {
      // Most of them live until they have begun.
      if (!child.said.opened && random(20) > 0) return
      const { role } = child
      await this.#kill(slot)
      this.#begin(slot, role)
    } else if (chosen === 2) {
      child.kill('SIGSTOP')
      await sleep(random(600))
      child.kill('SIGCONT')
    } else if (child.role === 'follower') {
      this.#ask(child)
    }
  }

  /** All is at rest, and so is a copy of it. */
  #copyOrRestore () {
    const { random, folder, copyFolder: copy } = this
    if (this.#copied === null || random(3) === 0) {
      fs.rmSync(copy, { recursive: true })
      copyAll(folder, copy)
      this.#copied = this.model.copy()
    } else if (random(2) === 0) {
      fs.rmSync(folder, { recursive: true })
      copyAll(copy, folder)
      this.model = this.#copied.copy()
    }
  }

  #begin (slot, role) {
    const { random, folder, setting } = this
    const first = ++this.#lives * LIFE_SIZE
    const given = { seed: random(2 ** 31), first, options: chooseOptions(random), isFirstRound: this.#isFirstRound }
    const life = { role, folder, setting, ...given }
    const child = fork(CHILD, [JSON.stringify(life)], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], serialization: 'advanced' })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => { output += bytes })
    Object.assign(child, { role, asked: new Map(), said: {} })
    this.print(`${slot} ${child.pid} ${JSON.stringify(life)}`)
    child.on('message', (message) => this.#hear(child, message))
    // Once all that it has told was heard.
    child.gone = new Promise((resolve) => child.once('close', (code, signal) => {
      this.print(`${slot} ${child.pid} ends with ${code ?? signal}`)
      if (!child.isKilled && code !== 0) this.faults.push(`${role} ended with ${code ?? signal}: ${output}`)
      else if (!child.isKilled && !child.isStopped) this.faults.push(`${role} ended by itself: ${output}`)
      else if (output !== '') this.faults.push(`${role} printed ${output}`)
      resolve()
    }))
    this.#children.set(slot, child)
    return child
  }

  #hear (child, message) {
    this.model.hear(message)
    Object.assign(child.said, message)
    this.records += message.appended?.length ?? 0
    if (message.fault) this.faults.push(message.fault)
    if (message.warning) this.faults.push(`${child.role} warns: ${message.warning}`)
    for (const found of message.found ?? []) {
      const fault = this.model.judge(found, child.asked.get(found.seq))
      if (fault) this.faults.push(`a follower says that ${fault}`)
    }
  }

  /** What the writers have said up to now, a follower finds. */
  #ask (child) {
    const { random, model } = this
    const seqs = Array.from(model.acked.keys())
    if (seqs.length === 0) return
    const chosen = Array.from({ length: ASK_COUNT }, () => {
      const recent = Math.min(seqs.length, random(2) === 0 ? Infinity : RECENT_COUNT)
      return seqs[seqs.length - 1 - random(recent)]
    })
    for (const seq of chosen) child.asked.set(seq, model.deleted.has(seq))
    this.asked += chosen.length
    child.send({ ask: chosen }, () => {})
  }

  async #kill (slot) {
    const child = this.#children.get(slot)
    child.isKilled = true
    this.kills++
    child.kill('SIGKILL')
    await child.gone
    this.#children.delete(slot)
  }

  /** Some are killed, others close what they have. */
  async #end (slot) {
    if (this.random(3) === 0) return this.#kill(slot)
    const child = this.#children.get(slot)
    child.isStopped = true
    child.send({ stop: true }, () => {})
    const timer = setTimeout(() => {
      this.faults.push(`${child.role} does not stop`)
      child.kill('SIGKILL')
    }, STOP_MS_MAX)
    await child.gone
    clearTimeout(timer)
    this.#children.delete(slot)
  }

  async #check () {
    const child = this.#begin(0, 'checker')
    child.isStopped = true
    await child.gone
    this.#children.delete(0)
    const { entries, list } = child.said
    if (!entries) return
    this.faults.push(...this.model.judgeAll(entries).slice(0, 5))
    this.faults.push(...this.#judgeList(entries, list))
  }

  /** Where nothing is removed, a view has what the log has, and no more. */
  #judgeList (entries, list) {
    const { deleting, drops } = this.model
    if (deleting.size > 0 || drops !== 'none') return []
    const there = new Set(entries.map(({ n }) => n))
    const surplus = list.filter((n) => !there.has(n))
    return surplus.length === 0 ? [] : [`the view has ${surplus.length} records that the log has not, from ${surplus[0]} on`]
  }
}

exports.runOneBox = runOneBox
