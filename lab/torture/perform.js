// @ts-nocheck
'use strict'
// Runs a workload: asks a log for what the script says, and writes down in the ledger what it answers and promises.

const { compare } = require('./compare')
const { checkErased } = require('./erased')
const { Ledger, NEVER, RecordEntry } = require('./ledger')
const { readLog } = require('./read-log')
const { framingOf } = require('./framings')
const { readBefore } = require('./lines-file')
const { seededRandom } = require('./seeded')
const { Stage } = require('./stage')
const { Violation } = require('./violation')

const FILE = '/folder/log'
const CACHE_SIZE = 64 * 1024

/**
 * @typedef {import('./workload').Workload} Workload
 * @typedef {import('./workload').Operation} Operation
 */

class Performance {
  /**
   * @param {Workload} workload
   * @param {object} context
   * @param {(path: string, options: object) => any} context.OffsetLog
   * @param {import('./environment').Environment} context.environment
   * @param {(line: () => string) => void} [context.trace]
   */
  constructor (workload, { OffsetLog, environment, trace = () => {} }) {
    this._workload = workload
    this._framing = framingOf(workload)
    this._OffsetLog = OffsetLog
    this._environment = environment
    this._trace = trace
    this._random = seededRandom(workload.salt, 1)
    this.ledger = new Ledger()
    this._stage = new Stage({
      random: this._random,
      hasJitter: workload.hasJitter,
      trace,
      onChange: () => this._observe(),
      onFault: ({ losesPages, code }, path) => {
        // A copy that cannot be synced does not become the log.
        if (losesPages && path === FILE) this._session.mustPoison = true
        if (code) this._session.hasFailed = true
      }
    })
    this._beginSession(workload.fsync)
  }

  /** @returns {import('./stage').Point[]} */
  get points () {
    return this._stage.points
  }

  /** How many calls have changed the disk. */
  get _at () {
    return this._stage.at
  }

  /**
   * @returns {Promise<void>}
   * @throws {Violation}
   */
  async run () {
    this._environment.reset(this._workload.salt, this._workload.isSlow ? 2 : 0)
    await this._open(this._workload.fsync)
    for (const operation of this._workload.operations) {
      this._trace(() => `${this._at}: ${JSON.stringify(operation)}`)
      this._throwFailure()
      await this[`_${operation.do}`](operation)
    }
    await this._settle()
    this._throwFailure()
    this._observe()
    this._stage.end()
    this._environment.forgetTimers()
    this.ledger.settle()
  }

  /** Notes what the log promises by its observables. */
  _observe () {
    const { log, covered } = this._session
    const since = log?.since.value ?? -1
    const durable = log?.durable.value ?? -1
    if (durable > since) this._fail('wrong answer', `durable is ${durable} but since is ${since}`)
    // In this mode only synced records are shown.
    const seq = this._session.fsync === 'always' ? Math.max(since, durable) : durable
    if (seq <= covered) return
    this._session.covered = seq
    this._trace(() => `${this._at}:     promised up to ${seq}`)
    this.ledger.cover(seq, this._at)
  }

  /**
   * @param {string} kind
   * @param {string} message
   */
  _fail (kind, message) {
    this._failure ??= new Violation(kind, message)
  }

  _throwFailure () {
    if (this._failure) throw this._failure
  }

  /** @param {string} fsync */
  _beginSession (fsync) {
    this._session = {
      fsync,
      log: null,
      covered: -1,
      pending: 0,
      whenIdle: null,
      mayFail: false,
      hasFailed: false,
      hasUnshown: false,
      mustPoison: false,
      isPoisoned: false,
      isAnyErased: false
    }
  }

  /** @param {string} fsync */
  async _open (fsync) {
    this._beginSession(fsync)
    const { disk } = this._stage
    const before = readBefore(disk, FILE)
    const log = this._OffsetLog(FILE, { ...this._framing.options, storage: disk.storage, fsync, cache: CACHE_SIZE })
    this._session.log = log
    try {
      await log.ready()
    } catch (err) {
      throw new Violation('refused', `the log could not be opened: ${err.stack}`)
    }
    if (log.recovery) this._trace(() => `${this._at}:     recovery: ${JSON.stringify(log.recovery)}`)
    if (log.recovery?.damage?.length > 0) throw new Violation('refused', `damage is seen: ${JSON.stringify(log.recovery)}`)
    this._framing.checkOpening(before, disk, FILE, log.recovery)
    this._stage.isCreated = true
  }

  /**
   * Runs a callback's answer, unless the process that asked was killed meanwhile.
   * @param {(cb: (err: Error | null, result?: any) => void) => void} ask
   * @param {(err: any, result: any) => void} answer
   */
  _ask (ask, answer) {
    const session = this._session
    session.pending++
    ask((err, result) => {
      if (session !== this._session) return
      if (err) session.hasFailed = true
      try {
        if (err && !session.mayFail) throw new Violation('wrong answer', `a call fails, though no fault was injected: ${err.stack}`)
        answer(err ?? null, result)
      } catch (err) {
        this._failure ??= err
      }
      if (--session.pending === 0) session.whenIdle?.()
    })
  }

  async _settle () {
    const session = this._session
    if (session.pending === 0) return
    await new Promise((resolve) => { session.whenIdle = resolve })
    session.whenIdle = null
  }

  /** @param {Operation} operation */
  async _append ({ records, isBatch, isAwaited }) {
    const { entries, commit, values } = this._prepareAppend(records, isBatch)
    const { isPoisoned, log } = this._session
    this._ask((cb) => log.append(values, cb), (err, seq) => {
      this._trace(() => `${this._at}:     commit ${commit.index}: ${err ? err.code : `appended, ${seq}`}`)
      if (err) {
        commit.failedAt = this._at
        if (isPoisoned && err.code !== 'ERR_LOG_POISONED') throw new Violation('not poisoned', `append: ${err.stack}`)
        return
      }
      if (isPoisoned) throw new Violation('not poisoned', `an append after a failed sync gives ${seq}`)
      this._noteAppended(commit, entries, seq)
      if (log.since.value < seq) throw new Violation('wrong answer', `append gives ${seq}, since is ${log.since.value}`)
      if (this._session.fsync === 'always') this.ledger.promise({ count: commit.index + 1, deletions: [] }, this._at)
    })
    if (isAwaited) await this._settle()
  }

  /** @type {(records: any[], isBatch: boolean) => { entries: any[], commit: any, values: Buffer | Buffer[] }} */
  _prepareAppend (records, isBatch) {
    const readFile = () => this._stage.disk.read(FILE)
    const entries = records.map((plan) => {
      return new RecordEntry(plan[0], this._framing.makeRecord(this._workload.salt, plan, readFile), plan[2])
    })
    const commit = this.ledger.append(entries, this._at)
    return { entries, commit, values: isBatch ? entries.map(({ bytes }) => bytes) : entries[0].bytes }
  }

  _noteAppended (commit, entries, seq) {
    commit.known.note(this._at)
    commit.failedAt = NEVER
    entries[entries.length - 1].seq = seq
    const other = this.ledger.show(entries[entries.length - 1], seq, this._at)
    if (other && this._framing.hasUniqueSeqs) throw new Violation('seq given twice', `record ${entries.at(-1).id} is at ${seq}, as record ${other.id} was`)
  }

  /** @param {Operation} operation */
  _appendNow ({ records, isBatch, hasSync }) {
    const { entries, commit, values } = this._prepareAppend(records, isBatch)
    const seq = this._callNow('appendSync', () => this._session.log.appendSync(values, { sync: hasSync }))
    if (seq === null) {
      commit.failedAt = this._at
      return
    }
    this._noteAppended(commit, entries, seq)
    if (!hasSync) this._noteUnshown()
    if (hasSync) this.ledger.promise({ count: commit.index + 1, deletions: [] }, this._at)
  }

  /**
   * @param {string} name
   * @param {() => any} call  returns without waiting
   * @returns {any}  null if the call has failed, as it may
   */
  _callNow (name, call) {
    const { isPoisoned, mayFail } = this._session
    let result
    try {
      result = call() ?? true
    } catch (err) {
      this._trace(() => `${this._at}:     ${name}: ${err.code}`)
      const mayWait = err.code === 'ERR_LOG_NOT_READY'
      if (!mayWait) this._session.hasFailed = true
      if (!mayWait) this.ledger.failWaiting(this._at)
      if (!mayWait && !mayFail) throw new Violation('wrong answer', `${name} fails, though no fault was injected: ${err.stack}`)
      return null
    }
    this._trace(() => `${this._at}:     ${name}: done`)
    if (isPoisoned) throw new Violation('not poisoned', `${name} after a failed sync succeeds`)
    return result
  }

  /** With `fsync: 'always'`, readers see only what is durable. */
  _noteUnshown () {
    this._session.hasUnshown = this._session.fsync === 'always'
  }

  /** @param {Operation} operation */
  async _del ({ ids, isAwaited }) {
    await this._learnSeqs(ids)
    const records = ids.map((id) => this.ledger.records.get(id)).filter((record) => record && isDeletable(record))
    if (records.length === 0) return
    const deletions = this.ledger.remove(records, this._at)
    const seqs = records.map(({ seq }) => seq)
    this._ask((cb) => this._session.log.del(seqs.length === 1 ? seqs[0] : seqs, cb), (err) => {
      this._trace(() => `${this._at}:     del ${seqs}: ${err ? err.code : 'done'}`)
      if (err) return
      this._session.isAnyErased = true
      for (const deletion of deletions) {
        deletion.known.note(this._at)
        if (this._session.fsync === 'always') deletion.promisedAt = this._at
      }
    })
    if (isAwaited) await this._settle()
  }

  /**
   * Of a batch, append tells only the last seq.
   * @param {number[]} ids
   */
  async _learnSeqs (ids) {
    const isUnknown = (record) => record && record.seq === null
    if (ids.some((id) => isUnknown(this.ledger.records.get(id)))) await this._read()
  }

  /** @param {{ isAwaited?: boolean }} operation */
  async _sync ({ isAwaited }) {
    const mark = this.ledger.mark()
    const { isPoisoned, isAnyErased } = this._session
    this._ask((cb) => this._session.log.sync(cb), (err) => {
      this._trace(() => `${this._at}:     sync: ${err ? err.code : 'done'}`)
      if (err) return
      if (isPoisoned) throw new Violation('not poisoned', 'a sync after a failed one succeeds')
      this.ledger.promise(mark, this._at)
      if (isAnyErased) this._checkErased(mark.deletions)
    })
    if (isAwaited) await this._settle()
  }

  /** @param {{ hasSync: boolean }} operation */
  _flush ({ hasSync }) {
    const mark = this.ledger.mark()
    const { log, mayFail } = this._session
    if (this._callNow('flushSync', () => log.flushSync({ sync: hasSync })) === null) return
    if (!hasSync) this._noteUnshown()
    // The kernel has it: it survives a kill, though no append has called back.
    if (!mayFail) for (const commit of this.ledger.commits.slice(0, mark.count)) commit.known.note(this._at)
    // Deletions are not waited for, and a flush without a sync promises nothing that a power cut could take.
    if (hasSync) this.ledger.promise({ ...mark, deletions: [] }, this._at)
  }

  /** @param {{ isAwaited?: boolean }} operation */
  async _compact ({ isAwaited }) {
    const mark = this.ledger.markAnswered()
    const { isPoisoned } = this._session
    // One that is cut short by a close is no failure of the log.
    const compact = (cb) => this._session.log.compact((err) => cb(err?.code === 'ERR_LOG_CLOSED' ? null : err, !err))
    this._ask(compact, (err, isDone) => {
      this._trace(() => `${this._at}:     compact: ${err ? err.code : isDone ? 'done' : 'cut short'}`)
      if (!isDone) return
      if (isPoisoned) throw new Violation('not poisoned', 'a compaction after a failed sync succeeds')
      // All that was there at the call is in a file that was synced as a whole; not what waited to be written.
      this.ledger.promise(mark, this._at)
      this._checkErased(mark.deletions)
    })
    if (isAwaited) await this._settle()
  }

  /** @param {Array<import('./ledger').Deletion>} deletions */
  _checkErased (deletions) {
    const gone = new Set(deletions)
    const records = [...this.ledger.records.values()]
    // Records that copy the log have bytes of others.
    if (records.some(({ kind }) => kind === 'log')) return
    const erased = records.filter((record) => {
      return record.deletions.some((deletion) => gone.has(deletion) && deletion.undoneAt === NEVER)
    })
    checkErased(this._stage.disk, erased)
  }

  async _tick () {
    this._environment.fireTimers()
    // What the timer began may go on beside what comes next, or be over before.
    if (this._random(2) === 0) await turns(20)
  }

  async _wait () {
    await this._settle()
    // An append that comes after the answer of a failed sync must fail.
    if (this._session.mustPoison) {
      await turns(50)
      this._session.isPoisoned = true
    }
  }

  async _read () {
    const session = this._session
    if (session.hasUnshown) await session.log.sync().catch(() => {})
    session.hasUnshown = false
    const expectation = this.ledger.expect(this._at, true)
    let found
    try {
      found = await readLog(session.log)
    } catch (err) {
      if (session.mayFail) return
      throw new Violation('wrong answer', `reading fails: ${err.stack}`)
    }
    // After a failure, readers may be refused what was acknowledged but not promised.
    if (session.hasFailed || session.mustPoison) return
    for (const [record, seq] of compare(expectation, found)) record.seq = seq
  }

  /** Reads along from now on. */
  _live () {
    const session = this._session
    const { log } = session
    const read = log.stream({ live: true, gt: log.since.value })
    const next = () => read(null, (end, item) => {
      if (end || session !== this._session) return
      if (item && item.seq > log.since.value) {
        this._fail('wrong answer', `a live stream gives ${item.seq} while since is ${log.since.value}`)
      }
      process.nextTick(next)
    })
    next()
  }

  /** @param {{ call: string, fault: object, skip: number, count: number }} operation */
  _fault ({ call, fault, skip, count }) {
    this._session.mayFail = true
    this._stage.addFault(call, fault, skip, count)
  }

  /** @param {{ room: number }} operation */
  _fill ({ room }) {
    this._session.mayFail = true
    this._stage.fill(room)
  }

  /** @param {{ how: 'close' | 'kill' | 'cut' | 'drop', fsync: string, seed: number }} operation */
  async _reopen ({ how, fsync, seed }) {
    if (how === 'close' || how === 'drop') await this._close()
    this._observe()
    this.ledger.settle()
    const isKill = how === 'kill' || how === 'close'
    const expectation = this.ledger.expect(this._at, isKill)
    if (!isKill) this.ledger.cutPower(this._at)
    this._environment.forgetTimers()
    this._stage.restart(how, seed)
    await this._open(fsync)
    const found = await readLog(this._session.log).catch((err) => {
      throw new Violation('refused', `the log cannot be read: ${err.stack}`)
    })
    const matched = compare(expectation, found)
    this._framing.checkFile(this._stage.disk, FILE, found)
    for (const [record, seq] of matched) record.seq = seq
    this.ledger.reopened(expectation, new Set(matched.keys()), this._at)
    this._trace(() => `${this._at}:     found ${found.length} records`)
  }

  async _close () {
    const mark = this.ledger.mark()
    const { isPoisoned, isAnyErased } = this._session
    this._ask((cb) => this._session.log.close(cb), (err) => {
      this._trace(() => `${this._at}:     close: ${err ? err.code : 'done'}`)
      if (err) return
      // Closing a poisoned log says nothing about what it could not write.
      if (isPoisoned || this._session.mustPoison) return
      this.ledger.promise(mark, this._at)
      if (isAnyErased) this._checkErased(mark.deletions)
    })
    await this._settle()
  }
}

/** @param {RecordEntry} record */
function isDeletable ({ seq, commit }) {
  return seq !== null && commit.droppedAt === NEVER && !commit.isUncertain && commit.known.isEver
}

/** @param {number} count */
async function turns (count) {
  for (let turn = 0; turn < count; turn++) await new Promise(process.nextTick)
}

exports.CACHE_SIZE = CACHE_SIZE
exports.FILE = FILE
exports.Performance = Performance
