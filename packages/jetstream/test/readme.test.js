'use strict'
// The examples of the README, with a server. They name the usual port; here it is another one.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { temporaryFolder } = require('@millrace/testkit')
const { examplesOf, promisedOutput } = require('../../../test/readme-examples')
const { serverTest, startServer } = require('./server')

serverTest(tape, 'README: its examples run as printed', async (t) => {
  const examples = examplesOf(fs.readFileSync(path.join(__dirname, '..', 'README.md'), 'utf8'))
  t.ok(examples.length > 0)
  for (const example of examples) {
    const server = await startServer()
    const folder = temporaryFolder()
    fs.symlinkSync(path.join(__dirname, '..', '..', '..', 'node_modules'), path.join(folder, 'node_modules'), 'junction')
    fs.writeFileSync(path.join(folder, 'example.js'), example.replaceAll('127.0.0.1:4222', `127.0.0.1:${server.port}`))
    const { stdout, stderr } = spawnSync(process.execPath, ['example.js'], { cwd: folder, encoding: 'utf8', timeout: 60_000 })
    t.deepEqual(stdout.split('\n').filter(Boolean), promisedOutput(example), stderr)
    await server.remove()
  }
})
