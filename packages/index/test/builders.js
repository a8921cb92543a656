// @ts-nocheck
'use strict'
// Builders of an index of a log in memory, which run in this thread: all messages go through a port, as to another one.

const { MessageChannel } = require('node:worker_threads')
const { createIndex, runBuilder } = require('..')

/** `none`: there is no builder. */
const KINDS = ['none', 'none', 'prompt', 'late']

/** The log as another thread sees it: as it was when that looked last. */
class LateView {
  #log
  #seen
  #random
  /** What the log tells. */
  index = null

  constructor (log, random) {
    this.#log = log
    this.#seen = log.copy()
    this.#random = random
    for (const name of ['folder', 'storage', 'codec', 'findFile']) this[name] = log[name]
    this.isReadOnly = true
  }

  get start () { return this.#seen.start }
  get end () { return this.#seen.end }

  async refresh () {
    if (this.#random(4) === 0) return
    await new Promise(setImmediate)
    const { epoch } = this.#seen
    this.#seen = this.#log.copy()
    if (epoch !== this.#seen.epoch) this.index.replaced()
  }

  identity () { return this.#seen.identity() }
  proof (seq) { return this.#seen.proof(seq) }
  scanRaw (...args) { return this.#seen.scanRaw(...args) }
}

/** @returns {MessagePort | undefined}  for `createIndex` */
function createBuilder (kind, log, random) {
  if (kind === 'none') return undefined
  return connect((index) => {
    if (kind === 'prompt') return { index: index.open(log) }
    const view = new LateView(log, random)
    view.index = index.open(view)
    return view
  })
}

/** Runs a builder at the other end of a port. */
function connect (openLog) {
  const { port1, port2 } = new MessageChannel()
  runBuilder(port2, openLog)
  // Who waits for the index keeps the process running.
  port2.unref()
  return port1
}

/** Waits until a builder, or a Worker that is one, has opened its log. Call it before the index is opened. */
async function whenOpened (port) {
  const alive = setInterval(() => {}, 1000)
  await new Promise((resolve) => {
    const listen = ({ kind }) => { if (kind === 'opened') resolve(port.off('message', listen)) }
    port.on('message', listen)
    for (const event of ['error', 'exit']) port.on(event, resolve)
    port.unref()
  })
  await new Promise(setImmediate)
  clearInterval(alive)
}

/** The same log, as a builder sees it, with some things of its own. */
function viewOf (log, own = {}) {
  return Object.assign(Object.create(log), { isReadOnly: true }, own)
}

/** An index of an empty log in memory whose builder is open. */
async function openWith (log, openLog, tuning) {
  const builder = connect(openLog)
  const opened = whenOpened(builder)
  const index = createIndex(['type', 'n'], { builder, tuning: { recordsMax: 50, fanOut: 3, waitMs: 1, ...tuning } }).open(log)
  await opened
  return index
}

exports.KINDS = KINDS
exports.connect = connect
exports.createBuilder = createBuilder
exports.openWith = openWith
exports.viewOf = viewOf
exports.whenOpened = whenOpened
