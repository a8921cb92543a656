'use strict'
// All scenarios, in every order of their steps.

const { runCommand } = require('../../command')
const { explore } = require('./explore')
const { scenarios } = require('./scenarios')
const { take } = require('../../../packages/block-file/lib/lock/acquire')

runCommand({
  name: 'lock',
  run: 'node --max-old-space-size=8000 lab/models/lock',
  about: 'Plays every order of the steps of processes that take the lock of a file. It takes some minutes and gigabytes.',
  options: { only: { default: '', about: 'the scenarios with this in their titles' } }
}, async ({ only }) => {
  let hasFailed = false
  for (const [title, { quick, long, files }] of Object.entries(scenarios)) {
    for (const scenario of title.includes(only) ? [...quick, ...long] : []) {
      const started = Date.now()
      const { states, violation, history } = await explore({ ...scenario, files }, take)
      console.log(`${violation ?? 'ok'}  ${title}, ${JSON.stringify(scenario)}: ${states} states, ${Date.now() - started} ms`)
      if (violation === null) continue
      console.log(history.join('\n'))
      hasFailed = true
    }
  }
  return hasFailed
})
