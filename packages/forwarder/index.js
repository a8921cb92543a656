'use strict'
// Drains a log into a sink that may be slow, down or full.

const { Forwarder } = require('./lib/forwarder')
const { refused, tooLarge, unavailable } = require('./lib/outcomes')
const { writableSink } = require('./lib/sinks/writable')

exports.Forwarder = Forwarder
exports.refused = refused
exports.tooLarge = tooLarge
exports.unavailable = unavailable
exports.writableSink = writableSink
