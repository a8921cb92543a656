'use strict'
// Parsing costs what it costs: the log must add little to it.

const { jsonCodec } = require('@millrace/json-codec')
const { openParsedInMemory } = require('../lib/in-memory')
const { createReadRow } = require('../lib/read-row')
const { openItems } = require('../lib/readers')
const { timeReader } = require('../lib/time-reader')

/** @type {import('../lib/time-reader').Kind} */
const KIND = { values: true, keys: ['seqSum', 'seqDigest', 'digest'] }

module.exports = createReadRow({
  name: 'json',
  order: 15,
  what: 'stream, JSON : JSON.parse in memory',
  goal: 1.1,
  samples: 3,
  ours: { open: async ({ path }) => timeReader(await openItems(path, { codec: jsonCodec }), KIND) },
  peer: { open: async ({ path }) => timeReader(await openParsedInMemory(path), KIND) }
}, { log: 'json', framing: 'offset32' })
