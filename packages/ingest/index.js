'use strict'
// An HTTP front that appends to logs: a fastify plugin, and a server of its own around it.

const { Keys, createKey, listKeys, revokeKey } = require('./lib/keys')
const { ingest } = require('./lib/plugin')
const { createIngest } = require('./lib/server')

/**
 * @typedef {import('./lib/options').IngestOptions} IngestOptions
 * @typedef {import('./lib/options').ServerOptions} ServerOptions
 * @typedef {import('./lib/options').Ack} Ack
 * @typedef {import('./lib/keys').Key} Key
 * @typedef {import('./lib/server').Ingest} Ingest
 */

exports.ingest = ingest
exports.createIngest = createIngest
exports.Keys = Keys
exports.createKey = createKey
exports.listKeys = listKeys
exports.revokeKey = revokeKey
