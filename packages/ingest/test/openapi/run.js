'use strict'
// Sends a server what schemathesis makes of its OpenAPI document: valid requests must be taken, others refused, and no
// answer may be a failure of the server. schemathesis comes from PyPI: pip install schemathesis.
// Usage: [SCHEMATHESIS=/path/to/schemathesis] node packages/ingest/test/openapi/run.js [option of schemathesis ...]

const { spawn } = require('node:child_process')
const { once } = require('node:events')
const path = require('node:path')
const { temporaryFolder } = require('@millrace/testkit')
const { createIngest } = require('../..')

const CONFIG = path.join(__dirname, 'schemathesis.toml')
const { SCHEMATHESIS = 'schemathesis' } = process.env

main()

async function main () {
  let failures = 0
  const onReport = (err) => {
    failures++
    console.error(err)
  }
  const server = createIngest({ folder: temporaryFolder(), port: 0, onReport })
  const url = await server.listen()
  await server.ready()
  // So that some names are those of logs.
  for (const name of ['0', 'a']) {
    const headers = { 'content-type': 'application/json' }
    await fetch(`${url}/v1/logs/${name}`, { method: 'POST', headers, body: '[{"n":1},{"n":2}]' })
  }
  const words = ['--config-file', CONFIG, 'run', `${url}/openapi.json`, ...process.argv.slice(2)]
  const child = spawn(SCHEMATHESIS, words, { stdio: 'inherit' })
  child.on('error', (err) => {
    console.error(`${err.message}: install it with pip install schemathesis, or say where it is with SCHEMATHESIS`)
    process.exit(2)
  })
  const [code] = await once(child, 'exit')
  await server.close()
  process.exitCode = code === 0 && failures > 0 ? 1 : code
}
