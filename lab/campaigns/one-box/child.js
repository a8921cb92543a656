// @ts-nocheck
'use strict'
// A process of the box. Usage, by run-one-box.js: node child.js <JSON of its role, options and seed>

const { setClock } = require('./clocks')
const { Life } = require('./life')

const ROLES = {
  writer: './writer',
  follower: './follower',
  shipper: './shipper',
  sender: './sender',
  server: './http/server',
  client: './http/client',
  visitor: './visitor',
  checker: './checker'
}

const given = JSON.parse(process.argv[2])
const life = new Life(given)

async function end (err) {
  if (err) await life.fault(`${err.step ?? ''}: ${err.code ?? 'no code'}: ${err.stack}${err.cause ? `; cause: ${err.cause.stack}` : ''}`)
  else await life.tell({ ended: true })
  process.exit(err ? 1 : 0)
}

// Nobody ends a child whose parent is gone.
process.on('disconnect', () => process.exit(1))
process.on('uncaughtException', end)
process.on('unhandledRejection', end)
process.on('warning', (warning) => life.tell({ warning: `${warning.name} ${warning.code}: ${warning.message}` }))
if (given.options) {
  process.umask(given.options.umask)
  setClock(given.options.clock)
}
require(ROLES[given.role]).run(life).then(() => end(null), end)
