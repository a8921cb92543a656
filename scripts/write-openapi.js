'use strict'
// Prints the OpenAPI document of a server, as it serves it at /openapi.json.

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { createIngest } = require('../packages/ingest')

main()

async function main () {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-openapi-'))
  const server = createIngest({ folder, port: 0 })
  try {
    const response = await fetch(`${await server.listen()}/openapi.json`)
    console.log(JSON.stringify(await response.json(), null, 2))
  } finally {
    await server.close()
    fs.rmSync(folder, { recursive: true })
  }
}
