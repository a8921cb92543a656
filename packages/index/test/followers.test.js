'use strict'
// Followers in another process than the writer: while it appends, merges, deletes, compacts, drops its index and is
// killed, they answer as a scan does.

const { fork } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, createRandom, inQuickRuns, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('@millrace/offset-log')
const { createIndex } = require('..')
const { compare, createState, makeWhere, openLog } = require('./real-log')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUNDS = inQuickRuns(60, 30)
const STEPS = ['append', 'append', 'append', 'one', 'ready', 'ready', 'delete', 'compact', 'reopen', 'drop']

class Writer {
  #child = fork(path.join(__dirname, 'writer-child.js'))
  /** Of the log in the other process. */
  #given

  constructor ({ kind, framing, file, tuning, hasBuilder, paths, seqs, count }) {
    this.#given = { kind, framing, file, tuning, hasBuilder, paths, seqs, count }
  }

  /** Lets it do a step, and calls again and again meanwhile. */
  async run (name, seed, meanwhile) {
    const state = { isDone: false }
    const answer = once(this.#child, 'message').finally(() => { state.isDone = true })
    this.#child.send({ given: this.#given, name, seed })
    while (!state.isDone) {
      await meanwhile()
      // What is read from memory never waits for anything.
      await new Promise(setImmediate)
    }
    const [{ failure, ...result }] = await answer
    if (failure !== undefined) throw new Error(failure)
    return result
  }

  /** Kills it while it does a step. */
  async kill (name, seed, meanwhile) {
    this.#child.send({ given: this.#given, name, seed })
    await meanwhile()
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await gone
  }

  async end () {
    const gone = once(this.#child, 'exit')
    this.#child.disconnect()
    await gone
  }
}

/** Two readers of one log. */
class Followers {
  constructor (state) {
    this.state = state
    this.open()
  }

  open () {
    const { state, state: { file, framing, codec } } = this
    this.indexed = openLog(state, { flags: 'r' })
    this.plain = OffsetLog(file, { framing, codec, flags: 'r' })
  }

  /** Finds what the writer has done. After a torn end was cut, a text file is opened again. */
  async refresh () {
    const refreshed = await Promise.allSettled([this.indexed.refresh(), this.plain.refresh()])
    const codes = refreshed.map(({ reason }) => reason?.code)
    if (codes.every((code) => code === undefined)) return
    if (codes.some((code) => code !== undefined && code !== 'ERR_LOG_REPLACED')) throw refreshed.find(({ reason }) => reason).reason
    await this.close()
    this.open()
  }

  async close () {
    await this.indexed.close()
    await this.plain.close()
  }
}

/** What is wrong with an answer of the time between two others: nothing but deletions can have changed it. */
function compareBetween (found, before, after) {
  const known = new Set(before)
  const given = new Set(found)
  if (found.some((seq) => !known.has(seq))) return 'a record that was not there'
  return after.some((seq) => known.has(seq) && !given.has(seq)) ? 'a record is missing' : null
}

tape(`followers: they answer as a scan does, whatever the writer does (seed ${seed})`, async (t) => {
  let [queries, uses] = [0, 0]
  for (let round = 0; round < ROUNDS; round++) {
    const random = createRandom(seed + round)
    const state = createState(random, round % 3)
    await state.log.append({ n: 0 })
    await state.log.close()
    let writer = new Writer(state)
    const followers = new Followers(state)
    const done = []
    const wrong = []
    for (let step = 0; step < 14 && wrong.length === 0; step++) {
      const name = STEPS[random(STEPS.length)]
      done.push(name)
      const where = makeWhere(random)
      const range = { where, values: false, lt: (followers.plain.since.value ?? -1) + 1 }
      const before = await collect(followers.plain.stream(range))
      const answers = []
      const ask = async () => { answers.push(await collect(followers.indexed.stream(range))) }
      if (random(8) === 0) {
        done.push('killed')
        await writer.kill(name, random(1e6), ask)
        writer = new Writer(state)
      } else {
        const { seqs, count } = await writer.run(name, random(1e6), ask)
        Object.assign(state, { seqs, count })
      }
      await followers.refresh()
      const after = await collect(followers.plain.stream(range))
      for (const found of answers) {
        const fault = compareBetween(found, before, after)
        if (fault !== null) wrong.push(`${JSON.stringify(where)}: ${fault}`)
      }
      if (random(2) === 0) await followers.indexed.index.ready()
      if (random(4) === 0) {
        await followers.close()
        followers.open()
      }
      wrong.push(...await compare(followers.indexed, followers.plain, random))
      queries += 4 + answers.length
      if ((await followers.indexed.explain({ where: { path: 'type', equals: 'none' } })).uses.length > 0) uses++
    }
    for (const difference of wrong) t.fail(`seed ${seed + round}, ${state.framing} ${state.codec.name}, after ${done}: ${difference}`.slice(0, 600))
    await followers.close()
    await writer.end()
    if (wrong.length > 0) return
  }
  t.ok(uses > 0, `${queries} queries; the index was used after ${uses} steps`)
})

for (const isOurs of [false, true]) {
  const of = isOurs ? 'a log has written' : 'another program has written'
  tape(`followers: a line of a text that ${of} is changed in place, and the index does not hide it`, async (t) => {
    const file = newPath('events.jsonl')
    const text = (users) => users.map((user, n) => `{"user":"${user}","n":${1000 + n}}\n`).join('')
    const users = Array.from({ length: 900 }, (_, n) => `u${n % 3}`)
    const options = { framing: 'lines', codec: jsonCodec }
    if (!isOurs) fs.writeFileSync(file, text(users))
    const writer = OffsetLog(file, { ...options, index: createIndex(['user']) })
    if (isOurs) await writer.append(users.map((user, n) => ({ user, n: 1000 + n })))
    await writer.index.ready()
    await writer.close()
    const log = OffsetLog(file, { ...options, flags: 'r', index: createIndex(['user']) })
    await log.refresh()
    await log.index.ready()
    const where = { path: ['user'], equals: 'u9' }
    t.equal(await log.count({ where }), 0)
    // Behind the last whole page, so that no checksum says that it is damaged.
    users[860] = 'u9'
    const fd = fs.openSync(file, 'r+')
    fs.writeSync(fd, text(users))
    fs.closeSync(fd)
    await log.refresh()
    t.deepEqual((await collect(log.stream({ where, seqs: false }))).map(({ n }) => n), [1860], 'as a scan says')
    t.equal(await log.count({ where }), 1)
    await log.index.ready()
    t.equal((await log.explain({ where })).scanned, null, 'it has read them anew')
    t.equal(await log.count({ where }), 1)
    await log.close()
  })
}

tape('followers: a count that needs no record knows what the writer has deleted since the follower has looked', async (t) => {
  const file = newPath('log')
  const options = { codec: jsonCodec, index: createIndex(['k']) }
  const writer = OffsetLog(file, options)
  const seqs = await writer.append(Array.from({ length: 50 }, (_, n) => ({ k: n % 2 })), { seqs: true })
  await writer.sync()
  await writer.index.ready()
  const follower = OffsetLog(file, { ...options, index: createIndex(['k']), flags: 'r' })
  await follower.ready()
  await follower.index.ready()
  // It never looks by itself.
  follower._file.follower._watch.close()
  const where = { path: 'k', equals: 1 }
  t.equal(await follower.count({ where }), 25)
  for (let gone = 1; gone <= 3; gone++) {
    await writer.del(seqs[2 * gone + 1])
    t.equal(await follower.count({ where }), 25 - gone)
    t.equal(await follower.count({ where, limit: 100 }), 25 - gone)
  }
  await writer.append({ k: 1 })
  t.equal(await follower.count({ where }), 23, 'and what it has appended')
  await follower.close()
  t.equal((await follower.count({ where }).catch((err) => err)).code, 'ERR_LOG_CLOSED')
  await writer.close()
})
