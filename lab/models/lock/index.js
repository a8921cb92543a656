'use strict'
// All scenarios, in every order of their steps. It takes some minutes and gigabytes.
// Usage: node --max-old-space-size=8000 lab/models/lock [part of a scenario's title]

const { explore } = require('./explore')
const { scenarios } = require('./scenarios')
const { take } = require('../../../packages/block-file/lib/lock/acquire')

const [, , part = ''] = process.argv

async function main () {
  for (const [title, { quick, long, files }] of Object.entries(scenarios)) {
    for (const scenario of title.includes(part) ? [...quick, ...long] : []) {
      const started = Date.now()
      const { states, violation, history } = await explore({ ...scenario, files }, take)
      console.log(`${violation ?? 'ok'}  ${title}, ${JSON.stringify(scenario)}: ${states} states, ${Date.now() - started} ms`)
      if (violation === null) continue
      console.log(history.join('\n'))
      process.exitCode = 1
    }
  }
}

main()
