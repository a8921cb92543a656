'use strict'
// Drains a log into a sink that may be slow, down or full.

const { Forwarder } = require('./lib/forwarder')
const { ship } = require('./lib/ship/ship')
const { verifyShipped } = require('./lib/ship/verify-shipped')
const { refused, tooLarge, unavailable } = require('./lib/outcomes')
const { httpSink } = require('./lib/sinks/http')
const { otlpSink } = require('./lib/sinks/otlp')
const { writableSink } = require('./lib/sinks/writable')

/**
 * @typedef {import('./lib/forwarder').Lag} Lag
 * @typedef {import('./lib/forwarder').ForwarderStats} ForwarderStats
 * @typedef {import('./lib/control').State} State
 * @typedef {import('./lib/reports').Report} Report
 * @typedef {import('./lib/refused-records').RefusedRecord} RefusedRecord
 * @typedef {import('./lib/options').SendContext} SendContext
 * @typedef {import('./lib/ship/ship').Shipper} Shipper
 * @typedef {import('./lib/ship/log-sink').Target} ShipTarget
 * @typedef {import('./lib/ship/log-sink').TargetEnd} TargetEnd
 * @typedef {import('./lib/ship/log-sink').ShippedRecord} ShippedRecord
 * @typedef {import('./lib/ship/verify-shipped').ShippedReport} ShippedReport
 * @typedef {import('./lib/sinks/http').HttpSinkOptions} HttpSinkOptions
 * @typedef {import('./lib/sinks/otlp').OtlpSinkOptions} OtlpSinkOptions
 */

/** @template [T=any] @typedef {import('./lib/options').ForwarderOptions<T>} ForwarderOptions */
/** @template [T=any] @typedef {import('./lib/ship/ship').ShipOptions<T>} ShipOptions */
/** @template [T=any] @typedef {import('./lib/options').SinkRecord<T>} SinkRecord */
/** @template [T=any] @typedef {import('./lib/options').Sink<T>} Sink */

exports.Forwarder = Forwarder
exports.ship = ship
exports.verifyShipped = verifyShipped
exports.refused = refused
exports.tooLarge = tooLarge
exports.unavailable = unavailable
exports.writableSink = writableSink
exports.httpSink = httpSink
exports.otlpSink = otlpSink
