'use strict'
// What the search for secrets costs, and what it costs to write each line at once: ns a line, in turn.
// Usage: node packages/pino/test/speed.js

const fs = require('node:fs')
const pino = require('pino')
const { temporaryFolder } = require('@millrace/testkit')
const { destination } = require('..')

const ROUND_COUNT = 7
const LINE_COUNT = 100_000
const plainLine = (n) => ({ requestId: `a1b2c3d4-e5f6-4a11-b123-${(n + 1e11).toString(16)}`, path: `/api/v1/things/${n}`, ms: n * 1.37, tags: ['red', 'green'] })
const cases = {
  'each line at once': [{}, plainLine],
  'in batches, as all below': [{ handleSignals: false }, plainLine],
  'with the search': [{ handleSignals: false, redact: true }, plainLine],
  'with it, a secret in each line': [{ handleSignals: false, redact: true }, (n) => ({ ...plainLine(n), user: `user-${n}@example.com` })]
}

async function measure ([options, makeLine]) {
  const folder = temporaryFolder()
  const to = destination(`${folder}/logs`, options)
  await to.ready()
  const logger = pino(to)
  const began = process.hrtime.bigint()
  for (let n = 0; n < LINE_COUNT; n++) logger.info(makeLine(n), 'request completed')
  const ns = Number(process.hrtime.bigint() - began) / LINE_COUNT
  await to.close()
  fs.rmSync(folder, { recursive: true })
  return ns
}

async function main () {
  const found = Object.fromEntries(Object.keys(cases).map((name) => [name, []]))
  for (let round = 0; round < ROUND_COUNT; round++) {
    for (const [name, one] of Object.entries(cases)) found[name].push(await measure(one))
  }
  for (const [name, times] of Object.entries(found)) {
    console.log(`${name}: ${Math.round(times.sort((a, b) => a - b)[ROUND_COUNT >> 1])} ns a line`)
  }
}

main()
