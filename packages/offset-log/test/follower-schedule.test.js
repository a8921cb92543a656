'use strict'
// A follower whose storage answers late and in any order, tells of changes late, twice or never, and fails at times,
// while its file is appended to, compacted, cut, damaged and replaced. Every call ends, and so does closing; a live
// stream ends, or gets what is appended last. SEED=<n> runs one case again; the order of events may still differ.

const fs = require('node:fs')
const tape = require('tape')
const { setImmediate } = require('node:timers')
const { setTimeout: sleep } = require('node:timers/promises')
const { fileStorage } = require('@millrace/block-file')
const { jsonCodec: codec } = require('@millrace/json-codec')
const { collect, createRandom, inQuickRuns, newPath, until } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const CASE_COUNT = inQuickRuns(120, 15)
const WIDTH = 6
const CALLS = ['read', 'sync', 'size', 'isAt', 'close', 'stat']

/** @type {(random: (limit: number) => number, failRarity: number) => any} `failRarity`: 0 for none */
function hostileStorage (random, failRarity) {
  const wait = (run) => {
    const chance = random(100)
    if (chance < 40) run()
    else if (chance < 70) setImmediate(run)
    else setTimeout(run, chance < 99 ? random(15) : 100 + random(600))
  }
  const same = (result) => result
  const late = (object, names, adapt = same) => Object.fromEntries(names.map((name) => [name, (...args) => {
    const cb = args.pop()
    const fails = failRarity > 0 && random(failRarity) === 0 && name !== 'close'
    wait(() => fails
      ? cb(Object.assign(new Error(`planted at ${name}`), { code: 'EIO' }))
      : object[name](...args, (err, result) => wait(() => cb(err, result && adapt(result)))))
  }]))
  const adaptHandle = (handle) => {
    const calls = late(handle, CALLS)
    let before = null
    // Some answers are from before the change that was just told.
    const stat = (cb) => before !== null && random(4) === 0
      ? wait(() => cb(null, before))
      : calls.stat((err, state) => {
          before = state ?? before
          cb(err, state)
        })
    return { ...handle, ...calls, stat }
  }
  const watch = (path, onEvent, cb) => {
    if (random(8) === 0) return wait(() => cb(new Error('no watches are left')))
    const losesAll = random(3) === 0
    fileStorage.watch(path, () => {
      for (let left = losesAll ? 0 : random(3); left > 0; left--) wait(onEvent)
    }, (err, watcher) => wait(() => cb(err, watcher && { isTrusted: random(2) === 0, close: () => watcher.close() })))
  }
  return { ...fileStorage, openSync: undefined, ...late(fileStorage, ['open'], adaptHandle), watch }
}

/** What happens in one case. */
class Story {
  file = newPath('log')
  /** Calls that have not ended. @type {Set<string>} */
  pending = new Set()
  streams = []
  steps = []
  #random
  #writer = null
  #count = 0

  constructor (seed) {
    this.#random = createRandom(seed)
    this.storage = hostileStorage(this.#random, [0, 0, 60, 25][this.#random(4)])
  }

  track (what, promise) {
    const name = `${what} ${++this.#count}`
    this.pending.add(name)
    promise.catch(() => {}).then(() => this.pending.delete(name))
  }

  openReader () {
    this.reader = OffsetLog(this.file, { codec, flags: 'r', storage: this.storage })
    this.track('ready', this.reader.ready())
    this.live()
  }

  live () {
    const stream = { reader: this.reader, got: [], isOver: false }
    this.streams.push(stream)
    this.track('live', (async () => {
      for await (const value of stream.reader.stream({ live: true, seqs: false })) stream.got.push(value)
    })().finally(() => { stream.isOver = true }))
  }

  async write (work) {
    this.#writer ??= OffsetLog(this.file, { codec })
    await work(this.#writer)
  }

  async shut () {
    const writer = this.#writer
    this.#writer = null
    await writer?.close()
  }

  async replace (change) {
    await this.shut()
    const copy = `${this.file}.copy`
    fs.copyFileSync(this.file, copy)
    change(copy)
    fs.renameSync(copy, this.file)
  }

  async run () {
    const random = this.#random
    const flip = (copy) => {
      const bytes = fs.readFileSync(copy)
      bytes[bytes.length - 1 - random(100)] ^= 255
      fs.writeFileSync(copy, bytes)
    }
    const steps = {
      append: () => this.write((log) => log.append([random(9), 'x'.repeat(random(99))])),
      compact: () => this.write((log) => log.compact()),
      del: () => this.write(async (log) => log.del((await log.last()).seq)),
      shut: () => this.shut(),
      keep: async () => { await this.shut(); fs.copyFileSync(this.file, `${this.file}.older`) },
      restore: () => this.replace((copy) => fs.copyFileSync(`${this.file}.older`, copy)),
      renew: () => this.replace(() => {}),
      damage: () => random(3) === 0 && this.replace(flip),
      cut: async () => {
        await this.shut()
        if (random(3) === 0) fs.truncateSync(this.file, fs.statSync(this.file).size - random(60))
      },
      live: () => this.live(),
      refresh: () => this.track('refresh', this.reader.refresh()),
      get: () => this.track('get', this.reader.get(32 + 8 * random(9))),
      last: () => this.track('last', this.reader.last()),
      partitions: () => this.track('partitions', this.reader.partitions(3)),
      read: () => this.track('read', collect(this.reader.stream({ reverse: random(2) === 0 }))),
      reopen: () => { this.track('close', this.reader.close()); this.openReader() },
      sleep: () => sleep(random(40))
    }
    const names = Object.keys(steps)
    for (let left = 5 + random(20); left > 0; left--) {
      const name = names[random(names.length)]
      this.steps.push(name)
      // A damaged log cannot be written.
      await Promise.resolve(steps[name]()).catch(() => {})
    }
  }

  /** Whether each live stream of the last reader has got one of the last records, or is over. */
  get isTold () {
    return this.streams.every(({ reader, got, isOver }) => reader !== this.reader || isOver || got.includes('end'))
  }
}

const first = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const count = process.env.SEED === undefined ? CASE_COUNT : 1

tape(`follower: whatever order events come in, every call ends, ${count} cases from seed ${first} (follower-schedule)`, async (t) => {
  let next = 0
  const lane = async () => {
    while (next < count) {
      const seed = first + next++
      const story = new Story(seed)
      await story.write((log) => log.append([1, 2, 3]))
      await story.shut()
      story.openReader()
      await story.run()
      let mayAppend = true
      await until(async () => {
        if (mayAppend) await story.write((log) => log.append('end')).catch(() => { mayAppend = false })
        return !mayAppend || story.isTold
      }).catch(() => t.fail(`seed ${seed}: a live stream waits: ${story.steps}`))
      story.track('close', story.reader.close())
      await until(() => story.pending.size === 0)
        .catch(() => t.fail(`seed ${seed}: ${[...story.pending]} do not end: ${story.steps}`))
      await story.shut().catch(() => {})
    }
  }
  await Promise.all(Array.from({ length: WIDTH }, lane))
  t.pass(`${count} cases`)
})
