'use strict'
// The Log contract on a stream of NATS JetStream.

const { JetStreamLog } = require('./lib/jetstream-log')

/** @template [T=any] @typedef {import('./lib/options').JetStreamLogOptions<T>} JetStreamLogOptions */

exports.JetStreamLog = JetStreamLog
