'use strict'
// Gives a batch to the sink until it is accepted. If the sink refuses it for good, the batch is halved until the
// refused records are alone; these are set aside. The cursor passes a record only after one or the other.

const { onAbort } = require('@millrace/flow')
const { LogError } = require('@millrace/errors')
const { GaveUp } = require('./control')
const { classify, parseAnswer } = require('./outcomes')

// So many in a row are hardly the fault of the records.
const REFUSED_IN_A_ROW = 100
// After a batch that was too large the next ones grow by this, until they have their full size again.
const GROWTH = 1.1

/**
 * @typedef {import('./reading').Entry} Entry
 * @typedef {import('./options').Answer} Answer
 * @typedef {import('./options').Begin} Begin
 * @typedef {{ kind: 'accepted', accepted: Answer } | { kind: 'refused' | 'too large', error: Error }} Outcome
 */

class Delivery {
  /** Batches that were accepted. */
  batchCount = 0
  /** The largest batch to make. */
  countMax
  sizeMax
  #sink
  #control
  #retrier
  #progress
  #refusedRecords
  #reporter
  #onPass
  #bounds
  #attempts
  #refusedInARow = 0

  /**
   * @param {object} parts
   * @param {import('./options').Sink} parts.sink
   * @param {import('./control').Control} parts.control
   * @param {import('./control').Retrier} parts.retrier
   * @param {import('./progress').Progress} parts.progress
   * @param {import('./refused-records').RefusedRecords} parts.refusedRecords
   * @param {import('./reports').Reporter} parts.reporter
   * @param {(entries: Entry[]) => void} parts.onPass  gets the records that are done with
   * @param {{ count: number, size: number }} bounds
   * @param {number} attempts  failed tries after which a batch counts as refused
   */
  constructor ({ sink, control, retrier, progress, refusedRecords, reporter, onPass }, bounds, attempts) {
    this.#bounds = bounds
    this.#attempts = attempts
    this.#sink = sink
    this.#control = control
    this.#retrier = retrier
    this.#progress = progress
    this.#refusedRecords = refusedRecords
    this.#reporter = reporter
    this.#onPass = onPass
    this.countMax = bounds.count
    this.sizeMax = bounds.size
  }

  /**
   * The next records, as many as one batch may have.
   * @param {Entry[]} queue  not empty
   */
  cut (queue) {
    const [first] = queue
    const { end } = this.#progress.position
    // If a crash interrupted a batch, it is made again.
    const isAgain = end !== null && first.seq <= end
    let size = 0
    let count = 0
    for (const entry of queue) {
      size += entry.size
      const isOver = isAgain ? entry.seq > end : count === this.countMax || (count > 0 && size > this.sizeMax)
      if (isOver || (count > 0 && (entry.error !== null || first.error !== null))) break
      count++
    }
    return queue.slice(0, count)
  }

  /**
   * Returns early if the forwarder ends.
   * @param {Entry[]} batch  in order; a record with an error is alone
   * @returns {Promise<Begin | null>}  where to begin again, if the sink has lost what it accepted
   */
  async deliver (batch) {
    const pieces = [batch]
    while (pieces.length > 0) {
      const piece = /** @type {Entry[]} */ (pieces.pop())
      const outcome = await this.#send(piece)
      if (outcome === null) return null
      if (outcome.kind === 'accepted') {
        if (outcome.accepted.begin) return outcome.accepted.begin
        if (!await this.#accept(piece, outcome.accepted)) return null
      } else if (piece.length === 1) {
        if (!await this.#setAside(piece[0], outcome.error)) return null
        await this.#pass(piece, 1)
      } else {
        if (outcome.kind === 'too large') this.#shrink(piece)
        const half = piece.length >> 1
        pieces.push(piece.slice(half), piece.slice(0, half))
      }
    }
    return null
  }

  /** @param {Entry[]} piece  @returns {Promise<Outcome | null>}  null if the forwarder ended first */
  async #send (piece) {
    const [first, last] = [piece[0], piece[piece.length - 1]]
    if (first.error) return { kind: 'refused', error: first.error }
    if (!await this.#control.mayGoOn()) return null
    await this.#progress.intend(last.seq)
    const log = this.#progress.logId
    const { keyPrefix } = this.#progress
    const { signal } = this.#control
    const context = { key: `${keyPrefix}-${first.seq}-${last.seq}`, keyPrefix, log, signal }
    const sent = await this.#retrier.until(async () => {
      this.#control.show('sending')
      // The user may change the array.
      const records = piece.map(({ seq, value }) => ({ seq, value }))
      return unlessAborted(signal, async () => this.#sink.send(records, context))
        .then((given) => toAccepted(parseAnswer(given, piece.length)), toRefused)
    }, { isFatal: this.#sink.isFatal, attempts: this.#attempts }).catch((err) => {
      if (!(err instanceof GaveUp)) throw err
      return { result: /** @type {Outcome} */ ({ kind: 'refused', error: err }) }
    })
    return sent && sent.result
  }

  /** @type {(piece: Entry[], accepted: Answer) => Promise<boolean>} */
  async #accept (piece, accepted) {
    const { refused = [], refusedCount = 0, message = 'the sink refused it', state } = accepted
    const isAll = refusedCount >= piece.length
    const named = isAll ? piece.map((_, index) => ({ index, message })) : refused
    for (const { index, message: why = message } of named) {
      if (!await this.#setAside(piece[index], new LogError('ERR_SINK_REFUSED', why))) return false
    }
    if (refusedCount > 0 && !isAll && !await this.#noteRefused(piece, refusedCount, message)) return false
    const count = Math.min(piece.length, refused.length + refusedCount)
    if (count < piece.length) this.#refusedInARow = 0
    this.batchCount++
    this.#grow()
    await this.#pass(piece, count, state)
    return true
  }

  /** @type {(entry: Entry, error: Error) => Promise<boolean>} false if the forwarder ended first */
  async #setAside (entry, error) {
    this.#refusedInARow++
    if (this.#refusedInARow > REFUSED_IN_A_ROW) await this.#retrier.slowDown(this.#refusedInARow - REFUSED_IN_A_ROW)
    const done = await this.#retrier.until(() => this.#refusedRecords.add(this.#progress.logId, entry, error.message))
    if (done === null) return false
    const message = `the record at ${entry.seq} was refused and set aside: ${error.message}`
    this.#reporter.tell({ what: 'refused', message, seq: entry.seq, error, count: 1 })
    return true
  }

  /** @type {(piece: Entry[], count: number, why: string) => Promise<boolean>} */
  async #noteRefused (piece, count, why) {
    const [seq, to] = [piece[0].seq, piece[piece.length - 1].seq]
    const range = { seq, to, count }
    const done = await this.#retrier.until(() => this.#refusedRecords.addRange(this.#progress.logId, range, why))
    if (done === null) return false
    const message = `the sink refused ${count} of the records from ${seq} to ${to}, and did not say which: ${why}`
    this.#reporter.tell({ what: 'refused', message, seq, error: null, count })
    return true
  }

  /** @type {(piece: Entry[], refused: number, state?: object) => Promise<void>} */
  async #pass (piece, refused, state) {
    await this.#progress.pass(piece[piece.length - 1], { forwarded: piece.length - refused, refused }, state)
    this.#onPass(piece)
  }

  /** @param {Entry[]} piece  that was too large */
  #shrink (piece) {
    const size = piece.reduce((sum, entry) => sum + entry.size, 0)
    this.countMax = Math.min(this.countMax, Math.ceil(piece.length / 2))
    this.sizeMax = Math.min(this.sizeMax, Math.ceil(size / 2))
  }

  /** The batch may have been too large because of one record. */
  #grow () {
    this.countMax = Math.min(this.#bounds.count, Math.ceil(this.countMax * GROWTH))
    this.sizeMax = Math.min(this.#bounds.size, Math.ceil(this.sizeMax * GROWTH))
  }
}

/** @type {(accepted: Answer) => Outcome} */
function toAccepted (accepted) {
  return { kind: 'accepted', accepted }
}

/** Throws again what another try may mend. @type {(thrown: unknown) => Outcome} */
function toRefused (thrown) {
  const { kind, error } = classify(thrown)
  if (kind === 'failed') throw thrown
  return { kind, error }
}

/**
 * A sink that does not heed the signal must not keep the forwarder from closing.
 * @template Result
 * @param {AbortSignal} signal
 * @param {() => Promise<Result>} run
 * @returns {Promise<Result>}
 */
function unlessAborted (signal, run) {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason)
    const forget = onAbort(signal, () => reject(signal.reason))
    run().then(resolve, reject).finally(forget)
  })
}

exports.Delivery = Delivery
