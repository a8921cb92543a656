'use strict'
// A Log in memory for tests: it answers when it is told to, and fails as it is told.

class MemoryLog {
  records = []
  supports = { flushSync: true }
  syncCount = 0
  isClosed = false
  /** Errors of the next appends. */
  failures = []
  /** While true, appends wait for `answer` or `flushSync`. */
  isSlow = false
  #waiting = []

  constructor ({ readyError = null, hasFlushSync = true, hasAppendSync = false } = {}) {
    this.readyError = readyError
    this.supports.flushSync = hasFlushSync
    if (hasAppendSync) this.appendSync = this.#appendSync
  }

  ready (cb) {
    process.nextTick(cb, this.readyError)
  }

  append (values, cb) {
    if (!Array.isArray(values)) throw new Error('expected a batch')
    this.#waiting.push({ values, cb })
    if (!this.isSlow) process.nextTick(() => this.answer())
  }

  answer (count = Infinity) {
    for (const { values, cb } of this.#waiting.splice(0, count)) {
      const err = this.#take(values)
      cb(err)
    }
  }

  #take (values) {
    const failure = this.failures.shift() ?? null
    const err = typeof failure === 'function' ? failure(values) : failure
    if (!err) this.records.push(...values.map(String))
    return err
  }

  flushSync () {
    if (this.flushError) throw this.flushError
    const answers = this.#waiting.splice(0).map(({ values, cb }) => [cb, this.#take(values)])
    process.nextTick(() => answers.forEach(([cb, err]) => cb(err)))
    this.flushCount = (this.flushCount ?? 0) + 1
    const failed = answers.find(([, err]) => err)
    if (failed) throw failed[1]
  }

  #appendSync (values) {
    if (this.notReady) throw this.notReady
    if (this.#waiting.length > 0) this.flushSync()
    const err = this.#take(values)
    if (err) throw err
    this.appendCount = (this.appendCount ?? 0) + 1
  }

  sync (cb) {
    this.syncCount++
    process.nextTick(cb, null)
  }

  close (cb) {
    this.isClosed = true
    process.nextTick(cb, null)
  }
}

const failure = (code, more) => Object.assign(new Error(`planned ${code}`), { code }, more)

/** @returns {{ write: Function, lines: string[] }}  in place of standard error */
function collector () {
  const lines = []
  return { lines, write: (bytes) => lines.push(String(bytes).trimEnd()) }
}

/** Fails the test unless every record of every level is counted once. */
function checkCounts (t, writer, what = 'counted once') {
  const { levels, total } = writer.counters()
  for (const [name, { submitted, written, dropped, filtered, queued }] of Object.entries({ ...levels, total })) {
    if (submitted !== written + dropped + filtered + queued) {
      t.fail(`${what}: ${name}: ${JSON.stringify({ submitted, written, dropped, filtered, queued })}`)
    }
  }
}

exports.MemoryLog = MemoryLog
exports.checkCounts = checkCounts
exports.collector = collector
exports.failure = failure
