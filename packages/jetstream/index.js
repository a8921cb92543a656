'use strict'
// The Log contract on a stream of NATS JetStream.

const { ship, verifyShipped } = require('@millrace/forwarder')
const { JetStreamLog } = require('./lib/jetstream-log')

/** @template [T=any] @typedef {import('./lib/options').JetStreamLogOptions<T>} JetStreamLogOptions */

exports.JetStreamLog = JetStreamLog
// The shipper takes any log as its target. It is here for those who look for it beside its most frequent one.
exports.ship = ship
exports.verifyShipped = verifyShipped
