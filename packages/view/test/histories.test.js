'use strict'
// A view, and what happened to its log between two openings: another program changed it in place, an older copy was
// restored and has outgrown the place of the view, or the log deleted, compacted or dropped records. Afterwards the
// state is a fold of what the log has, and nothing was folded again without a reason. Histories differ in as little as
// possible: in one record of the same size.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { seal, unseal } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { acceptLines } = require('@millrace/offset-log/copies')
const { SegmentedLog } = require('@millrace/segmented-log')
const { createRandom, failureOf, inQuickRuns, newPath } = require('@millrace/testkit')
const { createView } = require('..')
const { compare, listing, scanOf } = require('./helpers')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUND_COUNT = inQuickRuns(40, 12)
const PARTS = 3
/** Of what a record has beside its number, in bytes: many are in a page, or the log has pages before its last 1 MiB. */
const SIZES = [10, 3000, 10, 3000, 60_000]
/** The records that a place names. A log that has no id cannot be known again once all of them are deleted. */
const POINT_COUNT = 8
const STATE_MAGIC = 'millrace-view 1'

const kinds = {
  checked: { open: OffsetLog },
  lines: { open: OffsetLog, framing: 'lines' },
  offset48: { open: OffsetLog, framing: 'offset48' },
  'checked segments': { open: SegmentedLog, isFolder: true },
  'segments of lines': { open: SegmentedLog, framing: 'lines', isFolder: true },
  'compressed segments of lines': { open: SegmentedLog, framing: 'lines', isFolder: true, compress: 'gzip' }
}

class History {
  /** What was deleted or dropped: a state may have it. */
  gone = new Map()

  constructor (kind, seed) {
    const { open, framing, compress, isFolder = false } = kinds[kind]
    this.open = open
    this.isFolder = isFolder
    this.isText = framing === 'lines'
    this.options = { codec: jsonCodec, fsync: 'never', ...(framing && { framing }), ...(compress && { compress }) }
    this.random = createRandom(seed)
    this.path = newPath('log')
    this.pad = 'x'.repeat(SIZES[this.random(SIZES.length)])
    this.count = 12 + this.random(30)
  }

  /** @param {(log: any) => any} use */
  async with (use, flags = 'r+') {
    const log = this.open(this.path, { ...this.options, flags })
    await log.ready()
    try {
      return await use(log)
    } finally {
      await log.close()
    }
  }

  /** Numbers with three digits. */
  makeValues (count) {
    return Array.from({ length: count }, () => 100 + this.random(900))
  }

  /** @param {boolean} [isOne]  each record in a commit of its own: then a log has the same seqs again */
  async append (log, values, isOne = false) {
    for (let at = 0; at < values.length;) {
      const size = isOne ? 1 : 1 + this.random(5)
      await log.append(values.slice(at, at + size).map((n) => ({ n, pad: this.pad })))
      at += size
    }
  }

  async make () {
    const { count, isFolder } = this
    const values = this.makeValues(count)
    await this.with(async (log) => {
      for (let part = 0; part < PARTS; part++) {
        await this.append(log, values.slice(part * count / PARTS, (part + 1) * count / PARTS))
        if (isFolder && part + 1 < PARTS && this.random(4) > 0) await log.roll()
      }
    })
    this.had = (await this.fold()).state
  }

  /** The state of a view that is opened now, and how many records were folded for it. */
  async fold (flags = 'r+') {
    return await this.with(async (log) => {
      let folded = 0
      const reduce = (state, value, seq) => {
        folded++
        return listing.reduce(state, value, seq)
      }
      const view = createView(log, { ...listing, reduce, saveMs: Infinity })
      const err = await failureOf(() => view.get())
      const state = err ? [] : [...view.value]
      await view.close()
      return { state, folded, err }
    }, flags)
  }

  scan () {
    return this.with(scanOf)
  }

  /** Of the log, with those beside it, but not the state. */
  get #files () {
    return this.isFolder ? [this.path] : [this.path, `${this.path}.sums`].filter((file) => fs.existsSync(file))
  }

  get state () {
    return `${this.path}.list.view`
  }

  copy () {
    const to = newPath('copy')
    for (const file of this.#files) fs.cpSync(file, path.join(to, path.basename(file)), { recursive: true })
    return to
  }

  restore (copy) {
    for (const file of this.#files) fs.rmSync(file, { recursive: true })
    for (const name of fs.readdirSync(copy)) {
      fs.cpSync(path.join(copy, name), path.join(path.dirname(this.path), name), { recursive: true })
    }
  }

  /** The files of lines, in order. */
  get texts () {
    if (!this.isFolder) return [this.path]
    const names = fs.readdirSync(this.path).filter((name) => name.endsWith('.jsonl'))
    return names.sort().map((name) => path.join(this.path, name))
  }

  /** Changes the number of a record in a file, as an editor does. */
  edit () {
    const texts = this.texts.filter((file) => fs.statSync(file).size > 0)
    const file = texts[this.random(texts.length)]
    const bytes = fs.readFileSync(file)
    const digits = [...bytes.toString('latin1').matchAll(/"n":\d/g)].map(({ index }) => index + 4)
    const at = digits[this.random(digits.length)]
    const handle = fs.openSync(file, 'r+')
    fs.writeSync(handle, bytes[at] === 0x31 ? '2' : '1', at)
    fs.closeSync(handle)
    return file
  }

  async accept () {
    for (const file of this.texts) await acceptLines(file, { onProgress: () => {} })
  }

  /** @param {Array<[number, number]>} entries */
  async delete (log, entries) {
    for (const [seq, n] of entries) this.gone.set(seq, n)
    await log.del(entries.map(([seq]) => seq))
  }

  /** Some records of a list. */
  choose (entries) {
    return Array.from({ length: 1 + this.random(4) }, () => entries[this.random(entries.length)])
  }

  /** What is wrong with the state; null if nothing is. @param {boolean} mayBuild */
  async judge (mayBuild) {
    const failure = await failureOf(async () => { this.has = await this.scan() })
    if (failure?.code === 'ERR_LOG_CORRUPT' && mayBuild) {
      // A page that is not what the log has written. What cannot be read is not folded, either.
      await this.fold()
      await this.accept()
      return await this.judge(true)
    }
    if (failure) throw failure
    const before = this.had.at(-1)[0]
    for (const flags of ['r', 'r+', 'r+']) {
      const { state, folded, err } = await this.fold(flags)
      if (err) return `${flags}: it fails with ${err.code}: ${err.message}`
      const wrong = compare(state, this.has, mayBuild ? new Map() : this.gone)
      if (wrong) return `${flags}: ${wrong}`
      if (mayBuild) continue
      const newCount = this.has.filter(([seq]) => seq > before).length
      const isRight = folded === newCount || (folded === 0 && flags === 'r+')
      if (!isRight) return `${flags}: ${folded} were folded, ${newCount} are new`
    }
    return null
  }
}

/** By name: of which kinds it is, whether the view may be built again, and what happens. */
const changes = {
  nothing: { run: () => {} },
  more: { run: (story) => story.with((log) => story.append(log, story.makeValues(3))) },
  'a line edited': { of: ({ isText }) => isText, mayBuild: true, run: (story) => { story.edit() } },
  'a line edited and accepted': {
    of: ({ isText }) => isText,
    mayBuild: true,
    run: async (story) => {
      story.edit()
      await story.accept()
      if (story.random(2) === 0) await changes.more.run(story)
    }
  },
  // The log has not noticed, and the view is saved afterwards.
  'a line edited while it was open': {
    of: ({ isText }) => isText,
    mayBuild: true,
    run: (story) => story.with(async (log) => {
      const view = createView(log, { ...listing, saveMs: Infinity })
      await story.append(log, story.makeValues(2))
      await view.get()
      story.edit()
      await view.close()
    })
  },
  'a torn end': { of: ({ isText }) => isText, run: (story) => fs.appendFileSync(story.texts.at(-1), '{"n":123') },
  'lines of another program': {
    of: ({ isText }) => isText,
    run: (story) => fs.appendFileSync(story.texts.at(-1), '{"n":123}\n{"n":456}\n')
  },
  'an older copy that has outgrown it': {
    of: ({ options }) => options.framing !== 'offset48',
    mayBuild: true,
    run: async (story) => {
      const older = story.copy()
      const values = story.makeValues(12 + story.random(10))
      const others = values.slice()
      const at = story.random(values.length)
      others[at] = 100 + (values[at] - 99) % 900
      await story.with((log) => story.append(log, values, true))
      await story.fold()
      story.restore(older)
      await story.with((log) => story.append(log, [...others, ...story.makeValues(story.random(3))], true))
    }
  },
  'a copy from before a deletion': {
    of: ({ options: { framing } }) => framing === undefined,
    mayBuild: true,
    run: async (story) => {
      const older = story.copy()
      await story.with(async (log) => {
        const entries = await scanOf(log)
        // Of the segments before, a view does not know what was deleted.
        const segments = story.isFolder ? await log.segments() : [{ base: 0 }]
        const newest = segments.findLast(({ base }) => base <= entries.at(-1)[0])
        await story.delete(log, story.choose(entries.filter(([seq]) => seq >= newest.base)))
      })
      fs.rmSync(story.state)
      await story.fold()
      story.restore(older)
    }
  },
  deleted: {
    of: ({ isText }) => !isText,
    run: (story) => story.with(async (log) => story.delete(log, story.choose(await scanOf(log))))
  },
  'the last ones deleted': {
    of: ({ isText }) => !isText,
    run: (story) => story.with(async (log) => {
      const most = story.options.framing === 'offset48' ? POINT_COUNT - 1 : POINT_COUNT + 1
      await story.delete(log, (await scanOf(log)).slice(-1 - story.random(most)))
    })
  },
  compacted: {
    of: ({ isFolder, options: { framing } }) => framing === undefined && !isFolder,
    run: async (story) => {
      for (let round = story.random(3); round >= 0; round--) {
        await changes.deleted.run(story)
        if (story.random(2) === 0) await changes.more.run(story)
        await story.with((log) => log.compact())
        if (story.random(2) === 0) await changes.more.run(story)
      }
    }
  },
  dropped: {
    of: ({ isFolder }) => isFolder,
    run: async (story) => {
      const before = new Map(await story.scan())
      await story.with((log) => log.dropBefore(log.since.value))
      for (const [seq] of await story.scan()) before.delete(seq)
      for (const [seq, n] of before) story.gone.set(seq, n)
    }
  },
  rolled: {
    of: ({ isFolder }) => isFolder,
    run: (story) => story.with(async (log) => {
      await log.roll()
      await story.append(log, story.makeValues(2))
    })
  },
  'a snapshot in its place': {
    of: ({ isFolder }) => !isFolder,
    run: async (story) => {
      const copy = newPath('snapshot')
      await story.with((log) => log.snapshot(copy))
      for (const end of ['', '.sums']) if (fs.existsSync(copy + end)) fs.renameSync(copy + end, story.path + end)
    }
  },
  'a state of an earlier version': {
    run: (story) => {
      const text = unseal(STATE_MAGIC, fs.readFileSync(story.state)).toString()
      const [, place, state] = /^(.*)\n([^]*)$/.exec(text)
      const { proof, ...others } = JSON.parse(place)
      fs.writeFileSync(story.state, seal(STATE_MAGIC, Buffer.from(`${JSON.stringify(others)}\n${state}`)))
    }
  }
}

for (const kind of Object.keys(kinds)) {
  for (const [name, { run, of = () => true, mayBuild = false }] of Object.entries(changes)) {
    if (!of(new History(kind, seed))) continue
    tape(`histories: ${kind}, ${name} (seed ${seed})`, async (t) => {
      const random = createRandom(seed)
      const tell = async (own) => {
        const story = new History(kind, own)
        await story.make()
        await run(story)
        const wrong = await story.judge(mayBuild)
        return wrong === null ? [] : [`${own}: ${story.count} records with ${story.pad.length}: ${wrong}`]
      }
      const wrongs = await Promise.all(Array.from({ length: ROUND_COUNT }, () => tell(random(2 ** 31))))
      t.deepEqual(wrongs.flat().slice(0, 3), [], `of ${ROUND_COUNT}`)
    })
  }
}
