// @ts-nocheck
'use strict'
// An index with a builder, of every kind of log that can have one: whatever happens to the log, to the messages and to
// the Worker, each answer is that of a scan, nothing hangs, and a builder that does its work is not given up.

const fs = require('node:fs')
const path = require('node:path')
const { MessageChannel } = require('node:worker_threads')
const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { withDictionary } = require('@millrace/dictionary')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { createRandom, inQuickRuns, newPath, until } = require('@millrace/testkit')
const { createIndex, runBuilder } = require('..')
const { PATHS, compare, makeValue } = require('./real-log')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUNDS = Number(process.env.ROUNDS ?? inQuickRuns(60, 60))
const STEPS = 14

const ofFile = (codec, options = {}, name = 'events.log') => {
  return { make: () => newPath(name), open: OffsetLog, options: { codec, ...options }, plain: {} }
}

const ofFolder = (options, own) => {
  return { make: () => newPath('segments'), open: SegmentedLog, options: { codec: jsonCodec, segmentSize: 6000, ...options }, own }
}

/** By name: how the log is opened here, and in the thread of the builder. */
const KINDS = {
  json: ofFile(jsonCodec),
  binary: ofFile(binaryCodec),
  dictionary: ofFile(withDictionary(jsonCodec)),
  lines: ofFile(jsonCodec, { framing: 'lines' }, 'events.jsonl'),
  synced: ofFile(jsonCodec, { fsync: 'always' }),
  segments: ofFolder({}),
  'segments with a dictionary': ofFolder({ codec: withDictionary(jsonCodec) }),
  'segments of lines': ofFolder({ framing: 'lines' }),
  compressed: ofFolder({ compress: 'gzip' }),
  counted: ofFolder({ maxCount: 4 }, ['maxCount']),
  kept: ofFolder({ compress: 'gzip', maxCount: 4, keep: { where: { path: 'type', equals: 'post' } } }, ['maxCount', 'keep'])
}

/** A port whose messages come late, in their order. */
function latePort (port, random, lateness) {
  const delayed = (send) => {
    let before = Promise.resolve()
    return (...args) => {
      before = before.then(async () => {
        for (let left = random(lateness + 1); left > 0; left--) await new Promise(setImmediate)
        send(...args)
      })
    }
  }
  const listeners = new Map()
  return {
    postMessage: delayed((...args) => port.postMessage(...args)),
    on: (event, listener) => {
      const late = delayed(listener)
      listeners.set(listener, late)
      port.on(event, late)
    },
    off: (event, listener) => port.off(event, listeners.get(listener)),
    unref: () => port.unref()
  }
}

/** Reads of the same log that no index helps. */
function withoutIndex (log) {
  const wholeOf = (where) => Array.isArray(where) ? { all: where } : where
  const hide = (options) => ({ ...options, where: { not: { not: wholeOf(options.where) } } })
  return Object.fromEntries(['stream', 'count', 'first', 'last'].map((name) => [name, (options) => log[name](hide(options))]))
}

class Tried {
  wrong = []
  done = []
  seqs = []
  count = 0
  builders = []

  constructor (random, name) {
    this.random = random
    this.name = name
    this.kind = KINDS[name]
    this.path = this.kind.make()
    this.tuning = {
      recordsMax: [30, 50, 300][random(3)],
      fanOut: 2 + random(3),
      hashBits: random(2) === 0 ? 8 : 32,
      waitMs: random(5),
      sieveRunsMin: random(4),
      cachedPages: 1 + random(100)
    }
    this.lateness = [0, 0, 3, 40][random(4)]
    this.isLinked = random(4) === 0
  }

  get readerOptions () {
    const options = { ...this.kind.options, flags: 'r' }
    for (const name of [...this.kind.own ?? [], 'compress', 'fsync', 'segmentSize']) delete options[name]
    return options
  }

  async open () {
    const { kind: { open, options }, tuning, random } = this
    const { port1, port2 } = new MessageChannel()
    runBuilder(port2, (index) => open(this.pathThere(), { ...this.readerOptions, index }))
    port2.unref()
    this.builders.push(port2)
    const builder = this.lateness > 0 ? latePort(port1, random, this.lateness) : port1
    this.log = open(this.path, { fsync: 'never', ...options, index: createIndex(PATHS, { builder, tuning }) })
    await this.log.ready()
    this.plain = open(this.path, this.readerOptions)
    await this.plain.ready()
  }

  pathThere () {
    if (!this.isLinked) return this.path
    const link = `${this.path}-link`
    if (!fs.existsSync(link)) fs.symlinkSync(path.dirname(this.path), link)
    return path.join(link, path.basename(this.path))
  }

  async check () {
    for (let left = this.kind.own === undefined ? 1 : 5; left > 0; left--) {
      await this.plain.refresh()
      const plain = this.kind.own === undefined ? this.plain : withoutIndex(this.log)
      const wrong = await compare(this.log, plain, this.random).catch((err) => {
        if (err.code !== 'ERR_LOG_SEQ_RETAINED') throw err
        return [err.message]
      })
      // Between two reads its oldest records may go.
      if (wrong.length > 0 && left > 1) {
        await new Promise((resolve) => { setTimeout(resolve, 50) })
        continue
      }
      this.wrong.push(...wrong)
      break
    }
    const { failure } = await this.log.index.status()
    if (failure !== null) this.wrong.push(failure.stack)
  }

  async close () {
    await this.plain.close()
    await this.log.close()
  }
}

const steps = {
  async append (tried) {
    const { log, random } = tried
    const values = Array.from({ length: 1 + random(200) }, () => makeValue(random, tried.count++))
    tried.seqs.push(...await log.append(values, { seqs: true }))
  },
  async few (tried) {
    const { log, random } = tried
    for (let left = random(20); left > 0; left--) tried.seqs.push(await log.append(makeValue(random, tried.count++)))
  },
  async wait ({ random }) {
    for (let left = random(60); left > 0; left--) await new Promise(setImmediate)
  },
  async ready ({ log }) { await log.index.ready() },
  async delete (tried) {
    const { log, seqs, random } = tried
    if (!log.supports.del) return
    for (let left = random(12); left > 0 && seqs.length > 0; left--) {
      await log.del(seqs.splice(random(seqs.length), 1)[0]).catch((err) => {
        if (err.code !== 'ERR_LOG_SEQ_RETAINED') throw err
      })
    }
  },
  async compact ({ log }) { if (log.supports.compact) await log.compact() },
  async roll ({ log }) { await log.roll?.() },
  async dropBefore ({ log, random, seqs }) { if (seqs.length > 0) await log.dropBefore?.(seqs[random(seqs.length)]) },
  async reopen (tried) {
    await tried.close()
    await tried.open()
  },
  async drop (tried) {
    if (tried.random(3) > 0) return
    await tried.log.index.drop()
    await steps.reopen(tried)
  }
}
const NAMES = ['append', 'append', 'append', 'few', 'few', 'wait', 'wait', 'ready', 'ready', 'delete', 'delete', 'compact',
  'roll', 'dropBefore', 'reopen', 'drop']

/** How a promise ends, unless it hangs. */
async function inTime (promise, what) {
  let timer
  const late = new Promise((resolve, reject) => { timer = setTimeout(() => reject(new Error(`${what} hangs`)), 60_000) })
  return await Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

for (const name of Object.keys(KINDS)) {
  if (process.env.KIND && process.env.KIND !== name) continue
  tape(`builder: ${name}: whatever happens, the answers are those of a scan, and it is not given up (seed ${seed})`, async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      const random = createRandom(seed + round)
      const tried = new Tried(random, name)
      const about = () => `seed ${seed + round}, ${name}, late ${tried.lateness}, linked ${tried.isLinked}, after ${tried.done}`
      try {
        await inTime(tried.open(), 'open')
        for (let left = STEPS; left > 0 && tried.wrong.length === 0; left--) {
          const step = NAMES[random(NAMES.length)]
          tried.done.push(step)
          await inTime(steps[step](tried), step)
          await inTime(tried.check(), 'check')
        }
        if (tried.wrong.length === 0) await inTime(tried.log.index.ready(), 'the last ready')
        await inTime(tried.check(), 'check')
        await inTime(tried.close(), 'close')
      } catch (err) {
        tried.wrong.push(err.stack)
      }
      for (const port of tried.builders) port.close()
      if (tried.wrong.length > 0) return t.fail(`${about()}: ${tried.wrong[0]}`.slice(0, 900))
    }
    t.pass(`${ROUNDS} logs`)
  })
}

tape('builder: one that serves several logs is told which one it is to open', async (t) => {
  const { port1: builder, port2 } = new MessageChannel()
  const asked = []
  runBuilder(port2, (index, path) => {
    asked.push(path)
    const open = path.endsWith('.log') ? OffsetLog : SegmentedLog
    return open(path, { codec: jsonCodec, flags: 'r', index })
  })
  port2.unref()
  const index = createIndex(PATHS, { builder, tuning: { recordsMax: 50, waitMs: 1 } })
  const random = createRandom(seed)
  const logs = [OffsetLog(newPath('a.log'), { codec: jsonCodec, index }), OffsetLog(newPath('b.log'), { codec: jsonCodec, index }),
    SegmentedLog(newPath('segments'), { codec: jsonCodec, index })]
  for (const log of logs) await log.append(Array.from({ length: 200 }, (_, n) => makeValue(random, n)))
  for (const log of logs) {
    await log.index.ready()
    const { failure, isReady } = await log.index.status()
    t.deepEqual({ failure, isReady }, { failure: null, isReady: true }, path.basename(log.filename))
  }
  await until(() => asked.length === logs.length)
  t.deepEqual(asked.sort(), logs.map(({ filename }) => filename).sort())
  for (const log of logs) await log.close()
  builder.close()
})
