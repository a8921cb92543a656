// @ts-nocheck
'use strict'
// Follows a log while other processes append to it, delete from it, are killed and recover it, and checks that what is
// seen is exactly what was committed, in order.

const { fork } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { createRandom } = require('@millrace/testkit')
const { OffsetLog } = require('@millrace/offset-log')
const { describeRecord } = require('./records')

const WRITER = path.join(__dirname, 'writer.js')
const FINAL_WAIT_MS = 60_000
const WRITE_SIZES_MAX = [2 ** 31, 1000, 20_000]

/**
 * @typedef {object} FollowOptions
 * @property {number} commits
 * @property {number} kills
 * @property {number} seed
 * @property {string} [framing]
 * @property {string} [fsync]
 */

/**
 * @typedef {object} FollowReport
 * @property {string[]} faults
 * @property {number} records  seen
 * @property {number} deleted  of them, in the end
 * @property {number} kills
 * @property {number} opens  by readers beside a writer
 * @property {number} gets
 * @property {number[]} latencies  in ms: from an append's end in the writer to the reader's `since` covering it, sorted
 */

/**
 * @param {FollowOptions} options
 * @returns {Promise<FollowReport>}
 */
async function runFollow (options) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-follow-'))
  try {
    return await new FollowRun(path.join(folder, 'log'), options).run()
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

class FollowRun {
  /**
   * @param {string} logPath
   * @param {FollowOptions} options
   */
  constructor (logPath, { commits, kills, seed, framing = 'checked', fsync = 'interval' }) {
    this._path = logPath
    this._options = { commits, kills, seed, framing, fsync }
    this._random = createRandom(seed)
    /** @type {Array<{ seq: number, number: number, index: number, count: number }>} */
    this._seen = []
    /** @type {number[]} every value of `since` */
    this._sinces = []
    /** @type {Array<{ since: number, at: number }>} what the writer said, and the reader has not come to */
    this._awaited = []
    this._isOver = false
    /** @type {FollowReport} */
    this.report = { faults: [], records: 0, deleted: 0, kills: 0, opens: 0, gets: 0, latencies: [] }
  }

  async run () {
    const { framing } = this._options
    await OffsetLog(this._path, { framing }).close()
    const log = OffsetLog(this._path, { flags: 'r' })
    await log.ready()
    const latency = setInterval(() => this._measure(log.since.value), 1)
    log.since((since) => this._sinces.push(since))
    const reading = this._readAll(log)
    const others = [this._readAtRandom(log), this._openAgainAndAgain()]
    await this._write()
    await this._waitForEnd(log)
    this._isOver = true
    await log.close()
    await Promise.all([reading, ...others])
    clearInterval(latency)
    await this._compare()
    this.report.records = this._seen.length
    this.report.latencies.sort((a, b) => a - b)
    return this.report
  }

  /** Writers, one after the other, all but the last of which are killed. */
  async _write () {
    const { commits, kills } = this._options
    for (let killed = 0; killed <= kills && this.report.faults.length === 0; killed++) {
      const isLast = killed === kills
      // Each has its share, and is killed somewhere in it.
      const share = Math.ceil(commits * (killed + 1) / (kills + 1))
      const killAt = isLast ? Infinity : Math.floor(share - this._random(Math.ceil(commits / (kills + 1))))
      await this._runWriter(isLast ? commits : share + 1000, killAt)
    }
  }

  /**
   * @param {number} commitCount
   * @param {number} killAt  a commit's number
   */
  async _runWriter (commitCount, killAt) {
    const { framing, fsync } = this._options
    const options = {
      path: this._path,
      framing,
      fsync,
      commitCount,
      seed: this._random(2 ** 31),
      writeSizeMax: WRITE_SIZES_MAX[this._random(WRITE_SIZES_MAX.length)],
      // A legacy deletion that is killed half way leaves half a record.
      deletes: framing === 'checked',
      compacts: framing === 'checked'
    }
    const child = fork(WRITER, [JSON.stringify(options)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    child.on('message', (/** @type {any} */ { appended, at, since }) => {
      if (appended === undefined) return
      this._awaited.push({ since, at })
      if (appended < killAt || child.killed) return
      // Not now, when it has just finished something.
      setTimeout(() => child.kill('SIGKILL'), this._random(8))
    })
    const [code, signal] = await once(child, 'exit')
    if (signal === 'SIGKILL') this.report.kills++
    else if (code !== 0) this._fail(`a writer ended with ${code ?? signal}`)
  }

  /** @param {number} since */
  _measure (since) {
    const now = Date.now()
    while (this._awaited.length > 0 && this._awaited[0].since <= since) {
      const awaited = this._awaited.shift()
      this.report.latencies.push(Math.max(0, now - (awaited?.at ?? now)))
    }
  }

  /** @param {ReturnType<typeof OffsetLog>} log */
  async _readAll (log) {
    try {
      for await (const { seq, value } of log.stream({ live: true })) {
        const { isRight, ...place } = describeRecord(value)
        if (!isRight) return this._fail(`record ${seq} is not what was appended`)
        this._seen.push({ seq, ...place })
      }
    } catch (err) {
      this._fail(`the stream failed: ${err.stack}`)
    }
  }

  /** @param {ReturnType<typeof OffsetLog>} log */
  async _readAtRandom (log) {
    while (!this._isOver) {
      await new Promise((resolve) => setTimeout(resolve, 1))
      if (this._seen.length === 0) continue
      const { seq, number, index } = this._seen[this._random(this._seen.length)]
      this.report.gets++
      try {
        const found = describeRecord(await log.get(seq))
        if (!found.isRight || found.number !== number || found.index !== index) this._fail(`get(${seq}) is wrong`)
      } catch (err) {
        if (err.code !== 'flumelog:deleted' && err.code !== 'ERR_LOG_CLOSED') this._fail(`get(${seq}): ${err.stack}`)
      }
    }
  }

  /** Readers that come while a writer is at work find no damage, and read the same in both directions. */
  async _openAgainAndAgain () {
    while (!this._isOver) {
      await new Promise((resolve) => setTimeout(resolve, this._random(30)))
      const log = OffsetLog(this._path, { flags: 'r' })
      try {
        await log.ready()
        this.report.opens++
        const { damage = [], flaws = [] } = log.recovery ?? {}
        if (damage.length + flaws.length > 0) this._fail(`a reader found ${JSON.stringify({ damage, flaws })}`)
        let last = Infinity
        for await (const { seq, value } of log.stream({ reverse: true, limit: 200 })) {
          if (seq >= last) this._fail(`${seq} came after ${last} in reverse`)
          last = seq
          if (!describeRecord(value).isRight) this._fail(`record ${seq} is wrong in reverse`)
        }
        await log.close()
      } catch (err) {
        this._fail(`a reader failed: ${err.stack}`)
      }
    }
  }

  /** @param {ReturnType<typeof OffsetLog>} log */
  async _waitForEnd (log) {
    const whole = OffsetLog(this._path, { flags: 'r' })
    await whole.ready()
    const { value: since } = whole.since
    await whole.close()
    const begun = Date.now()
    const lastSeen = () => this._seen[this._seen.length - 1]?.seq ?? -1
    while (lastSeen() < since && Date.now() - begun < FINAL_WAIT_MS) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    if (lastSeen() < since) this._fail(`the reader stopped at ${lastSeen()}, the log goes to ${since} (${log.since.value})`)
  }

  /** With the log as the next writer finds it. */
  async _compare () {
    const log = OffsetLog(this._path)
    const seen = new Map(this._seen.map((each) => [each.seq, each]))
    if (this._seen.some(({ seq }, i) => i > 0 && seq <= this._seen[i - 1].seq)) this._fail('not in order')
    for await (const seq of log.stream({ values: false })) {
      if (!seen.delete(seq)) this._fail(`record ${seq} was never seen`)
    }
    for (const [seq] of seen) {
      const err = await log.get(seq).then(() => null, (err) => err)
      if (err?.code !== 'flumelog:deleted') this._fail(`record ${seq} was seen, and is not in the log: ${err}`)
      this.report.deleted++
    }
    if (log.supports.atomicBatch) this._checkCommits()
    await log.close()
  }

  /** A `since` in the middle of a commit would show half of it. */
  _checkCommits () {
    const places = new Map(this._seen.map(({ seq }, place) => [seq, place]))
    for (const since of this._sinces) {
      const place = places.get(since)
      // Its last records may have been deleted before they could be seen; but none of them comes later.
      const next = this._seen[(place ?? Infinity) + 1]
      if (next && next.number === this._seen[place].number) this._fail(`half a commit at ${since}`)
    }
  }

  /** @param {string} fault */
  _fail (fault) {
    this.report.faults.push(fault)
  }
}

exports.runFollow = runFollow
