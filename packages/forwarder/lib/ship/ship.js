'use strict'
// Ships a log into another one: a forwarder whose sink is a log.

const { checkOptions, misuse, reasonOf } = require('@millrace/errors')
const { LogForwarder } = require('../forwarder')
const { checkLog } = require('../options')
const { LogSink } = require('./log-sink')
const { targetOf } = require('./log-target')
const { verifyShipped } = require('./verify-shipped')

// An acknowledgement of the target takes longer than this, so records gather meanwhile.
const BATCH_AGE_MS = 50

/**
 * @template [T=any]
 * @typedef {Omit<import('../options').ForwarderOptions<T>, 'sink'> & { refill?: boolean | undefined }} ShipOptions
 *   the options of a forwarder except `sink`, and `refill`: whether to ship again what the target has lost, true by
 *   default. False: the shipper then stops with `ERR_SHIP_TARGET_LOST`. `name` is `'ship'` by default: a log that is
 *   shipped into two targets needs two names. `batch.ageMs` is 50 by default
 */

class Shipper extends LogForwarder {
  #source
  #target

  /**
   * @param {any} source
   * @param {any} target
   * @param {ShipOptions} options
   */
  constructor (source, target, { refill = true, name = 'ship', batch, ...options }) {
    const parsed = targetOf(target)
    const sink = createSink(source, parsed, refill)
    super(source, { ...options, name, batch: { ageMs: BATCH_AGE_MS, ...batch }, sink })
    this.#source = source
    this.#target = target
  }

  /**
   * Compares what was shipped with the source, as `verifyShipped` does, up to the record that was shipped last.
   * @param {import('./verify-shipped').VerifyOptions} [options]
   */
  async verify (options = {}) {
    return verifyShipped(this.#source, this.#target, { lte: this.stats().seq, ...options })
  }
}

/** @type {(source: any, target: import('./log-sink').Target, refill: unknown) => import('../options').Sink} */
function createSink (source, target, refill) {
  if (typeof refill !== 'boolean') throw misuse(`ship: refill must be true or false, got ${reasonOf(refill)}`)
  const sink = new LogSink(source, target, { refill })
  return {
    begin: (context) => sink.begin(context),
    send: (records, context) => sink.send(records, context),
    check: () => sink.check(),
    sync: () => sink.sync(),
    isFatal: (err) => sink.isFatal(err)
  }
}

/**
 * Copies each record of a log into another one, once and in order, and goes on with those that are appended. The
 * shipper begins at once. It has the methods and observables of a forwarder, and `verify`.
 *
 * Each record in the target says where it came from: `{ log, seq, value }`, with the id of the source and the seq
 * there. If the source gives bytes and the target has no codec, 24 bytes come before them: the id (16 bytes) and the
 * seq (8 bytes, big-endian). So the shipper reads in the target what has arrived: when it begins, and after an append
 * that failed.
 *
 * If the target has more than the cursor says, or there is no cursor, it goes on after the target's last record. If
 * the target has less than it once had, it reports `target`, and ships again what is missing (see `refill`). If the
 * target ends with a record of another log, or others append to it, it stops with `ERR_SHIP_TARGET_TAKEN`. If the
 * source has no record, or another one, at the seq of the target's last record, as after an older copy of the source
 * was restored, it stops with `ERR_SHIP_SOURCE_CHANGED`. If the target cannot be opened, is closed, poisoned or full,
 * it stops with `ERR_SHIP_TARGET_FAILED`; for a full stream of JetStream it waits. After any other failure of the
 * target it waits, looks at the target, and goes on.
 *
 * A shipper that stops reports `stopped`, and `drained` fails with the error. A record that was deleted before its
 * turn is not shipped; one that is deleted later stays in the target. If a power cut takes records from the source
 * that were shipped already, the target keeps them. A source with a method `hold` keeps what the target does not have
 * yet, or may lose in a power cut, within the limits of the source; the shipper calls `sync` of the target before a
 * hold moves on.
 * @template [T=any]
 * @param {import('../forwarder').ForwardedLog} log
 * @param {object} target  a log of any kind. A copy of a log has the same id: never ship a log and its copy into one
 *   target
 * @param {ShipOptions<T>} [options]
 * @returns {Shipper}
 */
function ship (log, target, options = {}) {
  checkTarget('ship', log, target)
  checkOptions('ship', options)
  if (Object.hasOwn(options, 'sink')) throw misuse('ship: there is no option sink; the target takes its place')
  return new Shipper(log, target, options)
}

/** @type {(call: string, log: any, target: any) => void} */
function checkTarget (call, log, target) {
  checkLog(`${call}: the source`, log, ['get', 'scan', 'stream', 'since'])
  if (typeof target?.shipTarget !== 'function') checkLog(`${call}: the target`, target, ['append', 'stream', 'since'])
  if (log === target) throw misuse(`${call}: the target is the log itself`)
}

exports.ship = ship
exports.Shipper = Shipper
