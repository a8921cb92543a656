'use strict'
// The Log contract on a stream of NATS JetStream.

const { connectTo } = require('./lib/connection')

exports.connectTo = connectTo
