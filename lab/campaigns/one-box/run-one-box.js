// @ts-nocheck
'use strict'
// A box: processes that write, follow, serve and copy logs, are killed, stopped and begun again with other options and
// clocks. Files are removed meanwhile; between rounds all is moved, or comes back from a copy. What each process reads
// is what the writers have told.

const { fork } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const { createRandom, temporaryFolder } = require('@millrace/testkit')
const { RESTORES, copyAll, removeAtRest, removeDerived } = require('./files')
const { Model } = require('./model')
const { LIFE_SIZE } = require('./records')
const { TARGET } = require('./shipper')
const { chooseOptions, chooseSetting, pathOf } = require('./settings')

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
  const root = temporaryFolder()
  const box = new Box(root, options)
  for (let round = 0; round < options.rounds && box.faults.length === 0; round++) await box.runRound()
  // What failed stays, to be looked at.
  if (box.faults.length === 0) fs.rmSync(root, { recursive: true })
  const { faults, kills, records, asked } = box
  const about = `${JSON.stringify(box.setting)}${faults.length > 0 && process.env.KEEP ? keep(root, options.seed) : ''}`
  return { faults: faults.map((fault) => `seed ${options.seed} ${about}: ${fault}`), kills, records, asked }
}

function keep (root, seed) {
  const kept = path.join(process.env.KEEP, String(seed))
  copyAll(root, kept)
  return ` in ${kept}`
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
  #moves = 0
  /** Of the server. */
  #url = ''
  /** Whether the log may be another one than that whose records were shipped. */
  #isChanged = false

  constructor (root, { seed, roundMs, kind, print = () => {} }) {
    this.root = root
    this.copyFolder = path.join(root, 'copy')
    this.sentFile = path.join(root, 'sent')
    /** Leads to the folder, which is moved now and then. */
    this.link = path.join(root, 'link')
    /** A folder in which a link leads to the log. */
    this.fileLink = path.join(root, 'linked')
    this.roundMs = roundMs
    this.print = print
    this.random = createRandom(seed)
    this.setting = chooseSetting(this.random, kind)
    this.model = new Model(this.setting)
    this.#move()
    fs.mkdirSync(this.fileLink)
    fs.symlinkSync(pathOf(this.link, this.setting), pathOf(this.fileLink, this.setting))
  }

  async runRound () {
    const { random } = this
    const others = [['follower', 'visitor'], ['shipper', 'visitor'], ['sender', 'follower']].map((some) => some[random(2)])
    const roles = ['follower', ...others, 'writer', ...this.setting.http ? ['server', 'client'] : []]
    const isBelow = (role) => role === 'follower' || role === 'visitor'
    const areFirst = !this.#isFirstRound && random(3) === 0
    if (areFirst) await this.#moveBelow(roles.filter(isBelow))
    for (const role of roles) if (!areFirst || !isBelow(role)) this.#begin(this.#children.size, role)
    // What a busy machine needs to begin with is not counted.
    const awaited = Array.from(this.#children.values()).filter(({ role }) => role === 'writer' || role === 'client')
    while (!awaited.every(({ said }) => said.opened) && this.faults.length === 0) await sleep(20)
    const end = Date.now() + this.roundMs
    while (Date.now() < end && this.faults.length === 0) {
      await sleep(random(200))
      await this.#disturb()
    }
    // A client that comes to its end asks the server.
    const isClient = ([, { role }]) => role === 'client'
    for (const [slot] of Array.from(this.#children).filter(isClient)) await this.#end(slot)
    await Promise.all(Array.from(this.#children.keys(), (slot) => this.#end(slot)))
    if (this.faults.length === 0) await this.#check()
    if (this.faults.length === 0) this.#changeAtRest()
    this.#isFirstRound = false
  }

  async #disturb () {
    const { random } = this
    const slots = Array.from(this.#children.keys())
    const slot = slots[random(slots.length)]
    const child = this.#children.get(slot)
    const chosen = random(11)
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
    } else if (chosen === 3) {
      this.print(`removed ${removeDerived(this.folder, this.setting, random)}`)
    } else if (child.role === 'follower') {
      this.#ask(child)
    }
  }

  /** What people do while nobody has the log open. */
  #changeAtRest () {
    const { random } = this
    if (random(2) === 0) this.#move()
    if (random(3) === 0) this.#remove()
    if (this.#copied === null || random(3) === 0) this.#copy()
    else if (random(2) === 0) this.#restore()
    if (this.#isChanged && random(2) === 0) {
      const targets = fs.readdirSync(this.folder).filter((name) => name.startsWith(TARGET))
      for (const name of targets) fs.rmSync(path.join(this.folder, name))
    }
  }

  #copy () {
    fs.rmSync(this.copyFolder, { recursive: true, force: true })
    copyAll(this.folder, this.copyFolder)
    this.#copied = this.model.copy()
  }

  #restore () {
    const names = Object.keys(RESTORES)
    const name = names[this.random(names.length)]
    RESTORES[name]({ folder: this.folder, copy: this.copyFolder, setting: this.setting })
    this.print(`restored ${name}`)
    this.#isChanged = true
    if (name !== 'all but the log') this.model = this.#copied.copy()
  }

  #remove () {
    const { removed, isLogNew } = removeAtRest(this.folder, this.setting, this.random)
    this.print(`removed ${removed}`)
    this.#isChanged ||= isLogNew
  }

  /** The folder gets another name, and the link leads there. */
  #move () {
    const folder = path.join(this.root, `box-${++this.#moves}`)
    if (this.#moves === 1) fs.mkdirSync(folder)
    else fs.renameSync(this.folder, folder)
    fs.symlinkSync(path.basename(folder), `${this.link}-new`)
    fs.renameSync(`${this.link}-new`, this.link)
    this.folder = folder
    this.print(`moved to ${folder}`)
  }

  /** Readers that have the log open by its link, while nobody writes it, do not notice that it is moved. */
  async #moveBelow (roles) {
    const children = roles.map((role) => this.#begin(this.#children.size, role, this.link))
    while (this.faults.length === 0 && !children.every(({ said }) => said.opened)) await sleep(20)
    for (const child of children) child.kill('SIGSTOP')
    this.#move()
    for (const child of children) child.kill('SIGCONT')
  }

  /** Who only reads may come by a link to the file itself, too. */
  #chooseFolder (role) {
    const isReader = role === 'follower' || role === 'visitor'
    return [this.folder, this.link, isReader && !this.setting.isFolder ? this.fileLink : this.link][this.random(3)]
  }

  #begin (slot, role, folder = this.#chooseFolder(role)) {
    const { random, setting, sentFile } = this
    const first = ++this.#lives * LIFE_SIZE
    const given = { seed: random(2 ** 31), first, options: chooseOptions(random, setting) }
    const state = { isFirstRound: this.#isFirstRound, isChanged: this.#isChanged, url: this.#url }
    const otherFolder = folder === this.link ? this.folder : this.link
    const life = { role, folder, otherFolder, sentFile, setting, ...given, ...state }
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
    if (message.url) this.#tellUrl(message.url)
    this.records += message.appended?.length ?? 0
    if (message.fault) this.faults.push(message.fault)
    if (message.warning) this.faults.push(`${child.role} warns: ${message.warning}`)
    for (const found of message.found ?? []) {
      const fault = this.model.judge(found, child.asked.get(found.seq))
      if (fault) this.faults.push(`a follower says that ${fault}`)
    }
  }

  #tellUrl (url) {
    this.#url = url
    for (const child of this.#children.values()) if (child.role === 'client') child.send({ url }, () => {})
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
    if (child.role === 'server') this.#tellUrl('')
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
    const { entries, list, served } = child.said
    if (!entries) return
    if (served) this.faults.push(...this.model.judgeServed(served, this.setting.http).slice(0, 5))
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
