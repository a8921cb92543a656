'use strict'
// `npm run bench -- [table] [options]`: the tables that there are. Without a name: the layers.

const { runCommand } = require('./engine/command')
const { UserError } = require('./lib/run')

/** Each loads a lot, so only the one that is asked for does. */
const TABLES = ['layers', 'writes', 'cold', 'latency', 'limits', 'growth', 'index', 'ingest', 'jetstream', 'peers', 'logging']

/** @param {string} name @returns {import('./engine/row').Table} */
function loadTable (name) {
  if (TABLES.includes(name)) return require(`./tables/${name}`).table
  throw new UserError(`there is no table "${name}": choose from ${TABLES.join(', ')}`)
}

if (require.main === module) runCommand(loadTable, process.argv.slice(2))

exports.loadTable = loadTable
exports.TABLES = TABLES
