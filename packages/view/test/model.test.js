'use strict'
// A view against a fold over a full scan, through random histories: appends, deletions, compactions, segments that are
// dropped, other openings, copies that are restored, state files that are damaged or removed.

const fs = require('node:fs')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { createRandom, inQuickRuns, newPath } = require('@millrace/testkit')
const { createView } = require('..')
const { codeOf, compare, listing, scanOf } = require('./helpers')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const CACHE_SIZE = 2 ** 17
const kinds = {
  checked: (file) => OffsetLog(file, { codec: jsonCodec, cache: CACHE_SIZE }),
  lines: (file) => OffsetLog(file, { codec: jsonCodec, framing: 'lines', cache: CACHE_SIZE }),
  offset48: (file) => OffsetLog(file, { codec: jsonCodec, framing: 'offset48', cache: CACHE_SIZE }),
  segments: (file) => SegmentedLog(file, { codec: jsonCodec, cache: CACHE_SIZE }),
  'segments with keep': (file) => {
    return SegmentedLog(file, { codec: jsonCodec, cache: CACHE_SIZE, keep: { where: { path: 'n', lt: 20 } } })
  }
}

class Story {
  #open
  #random
  #file = newPath('log')
  /** @type {any} */
  #view
  #n = 0
  #version = 1
  /** What was deleted or dropped: a state may have it. */
  #gone = new Map()
  /** What the last state had, as long as nothing builds the view again. @type {Array<[number, number]>} */
  #had = []
  /** Whether nothing but `rebuild` may help. */
  #mayBeStale = false
  /** @type {any} */
  log

  constructor (open, random) {
    this.#open = open
    this.#random = random
    this.#openAll()
  }

  #openAll () {
    this.log = this.#open(this.#file)
    this.#openView()
  }

  #openView () {
    const saveMs = this.#random(2) === 0 ? 1 : 60_000
    this.#view = createView(this.log, { ...listing, version: this.#version, saveMs })
  }

  async #closeAll () {
    await this.#view.close()
    await this.log.close()
  }

  get #stateFile () {
    return `${this.#file}.list.view`
  }

  /** The view may be built anew. */
  #forget () {
    this.#had = []
    this.#mayBeStale = true
  }

  steps = {
    append: () => this.log.append(Array.from({ length: 1 + this.#random(5) }, () => ({ n: this.#n++ }))),
    appendMany: async () => {
      for (let count = 20; count > 0; count--) await this.log.append({ n: this.#n++, text: 'x'.repeat(this.#random(2000)) })
    },
    get: () => this.check(),
    save: () => this.#view.save(),
    delete: async () => {
      await this.log.ready()
      if (!this.log.supports.del) return
      const entries = await scanOf(this.log)
      // Often the last one, which is where the view is.
      const [seq, n] = entries[this.#random(2) === 0 ? entries.length - 1 : this.#random(entries.length)] ?? []
      if (seq === undefined) return
      // A log without an id is not known again once all that the place names are deleted: every other one stays.
      if (this.#open === kinds.offset48 && n % 2 === 0) return
      this.#gone.set(seq, n)
      await this.log.del(seq)
    },
    compact: () => this.log.supports.compact ? this.log.compact() : null,
    openView: async () => {
      await this.#view.close()
      this.#openView()
    },
    openLog: async () => {
      await this.#closeAll()
      this.#openAll()
    },
    openLogFirst: async () => {
      await this.log.close()
      await this.#view.close()
      // What was not saved, and deleted since, is lost.
      this.#had = []
      this.#openAll()
    },
    rebuild: async () => {
      await this.#view.rebuild()
      this.#had = []
      this.#mayBeStale = false
      const wrong = compare(await this.#view.get(), await scanOf(this.log), new Map())
      return wrong && `after a rebuild: ${wrong}`
    },
    version: async () => {
      await this.#view.close()
      this.#version++
      this.#forget()
      this.#openView()
    },
    damage: async () => {
      await this.#view.close()
      if (fs.existsSync(this.#stateFile)) {
        const bytes = fs.readFileSync(this.#stateFile)
        if (this.#random(2) === 0) bytes[this.#random(bytes.length)] ^= 1 << this.#random(8)
        fs.writeFileSync(this.#stateFile, bytes.subarray(0, bytes.length - this.#random(2)))
        this.#forget()
      }
      this.#openView()
    },
    remove: async () => {
      await this.#view.close()
      fs.rmSync(this.#stateFile, { force: true })
      this.#forget()
      this.#openView()
    },
    // An older copy of the log takes its place, with the same id; the state stays.
    restore: async () => {
      await this.#closeAll()
      const copies = `${this.#file}-copy`
      fs.rmSync(copies, { recursive: true, force: true })
      const beside = [this.#file, `${this.#file}.sums`].filter((file) => fs.existsSync(file))
      beside.forEach((file, index) => fs.cpSync(file, `${copies}/${index}`, { recursive: true }))
      this.#openAll()
      for (let count = this.#random(4); count >= 0; count--) await this.steps.append()
      if (this.#random(2) === 0) await this.#view.get().catch(() => {})
      await this.#closeAll()
      beside.forEach((file, index) => {
        fs.rmSync(file, { recursive: true })
        fs.cpSync(`${copies}/${index}`, file, { recursive: true })
      })
      this.#n += 1000
      this.#forget()
      this.#openAll()
      // Without the view: it meets another history at the same seqs.
      await this.#view.close()
      for (let count = this.#random(4); count > 0; count--) await this.log.append({ n: this.#n++ })
      this.#openView()
    },
    drop: async () => {
      if (!this.log.roll) return
      await this.log.roll()
      const before = new Map(await scanOf(this.log))
      await this.log.dropBefore(this.log.since.value)
      for (const [seq] of await scanOf(this.log)) before.delete(seq)
      for (const [seq, n] of before) this.#gone.set(seq, n)
    }
  }

  /** What is wrong with the state; null if nothing is. */
  async check () {
    if (await codeOf(() => this.#view.get()) === 'ERR_VIEW_STALE') {
      if (!this.#mayBeStale) return 'it is stale without a reason'
      return await this.steps.rebuild()
    }
    this.#mayBeStale = false
    const state = await this.#view.get()
    const missing = this.#had.find(([seq, n]) => !state.some((entry) => entry[0] === seq && entry[1] === n))
    if (missing) return `${missing[0]} was in the view`
    this.#had = state.slice()
    return compare(state, await scanOf(this.log), this.#gone)
  }

  async end () {
    const wrong = await this.check()
    await this.#closeAll()
    return wrong
  }
}

for (const [kind, open] of Object.entries(kinds)) {
  tape(`model: a view of ${kind} is a fold over a scan (seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    for (let round = 0; round < inQuickRuns(200, 40); round++) {
      const story = new Story(open, random)
      const names = Object.keys(story.steps)
      const told = []
      let wrong = null
      for (let step = 25; step > 0 && !wrong; step--) {
        const name = random(3) === 0 ? 'append' : names[random(names.length)]
        told.push(name)
        const found = await story.steps[name]()
        if (typeof found === 'string') wrong = found
        else if (random(2) === 0) wrong = await story.check()
      }
      wrong ??= await story.end()
      if (wrong) t.fail(`round ${round}: ${wrong}; after ${told.join(', ')}`)
    }
    t.pass('all rounds')
  })
}
