'use strict'
// Ships a log into another one: a forwarder whose sink is a log.

const { misuse } = require('@millrace/errors')
const { LogForwarder } = require('../forwarder')
const { LogSink } = require('./log-sink')
const { targetOf } = require('./log-target')
const { verifyShipped } = require('./verify-shipped')

// An acknowledgement of the target takes longer than this, so records gather meanwhile.
const BATCH_AGE_MS = 50

/**
 * @template [T=any]
 * @typedef {Omit<import('../options').ForwarderOptions<T>, 'sink'> & { refill?: boolean | undefined }} ShipOptions
 *   `refill`: whether to ship again what the target has lost; true by default
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
   * Compares what was shipped with the source.
   * @param {import('./verify-shipped').VerifyOptions} [options]
   */
  verify (options = {}) {
    return verifyShipped(this.#source, this.#target, { lte: this.stats().seq, ...options })
  }
}

/** @type {(source: any, target: import('./log-sink').Target, refill: unknown) => import('../options').Sink} */
function createSink (source, target, refill) {
  if (typeof refill !== 'boolean') throw misuse(`ship: refill must be true or false, got ${String(refill)}`)
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
 * The shipper begins at once.
 * @template [T=any]
 * @param {import('../forwarder').ForwardedLog} log
 * @param {object} target  a log
 * @param {ShipOptions<T>} [options]
 * @returns {Shipper}
 */
function ship (log, target, options = {}) {
  checkTarget('ship', log, target)
  if (Object.hasOwn(options, 'sink')) throw misuse('ship: there is no option sink; the target takes its place')
  return new Shipper(log, target, options)
}

/** @type {(call: string, log: any, target: any) => void} */
function checkTarget (call, log, target) {
  if (typeof log?.get !== 'function') throw misuse(`${call}: the source must be a log with the method get`)
  if (typeof target?.append !== 'function') throw misuse(`${call}: the target must be a log`)
  if (log === target) throw misuse(`${call}: the target is the log itself`)
}

exports.ship = ship
exports.Shipper = Shipper
