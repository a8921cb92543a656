'use strict'
// All scenarios of a folder, in every order of their steps.

const { runCommand } = require('../../command')
const { explore } = require('./explore')
const { loadLogs } = require('./load-logs')
const { scenarios } = require('./scenarios')

runCommand({
  name: 'folder-lock',
  run: 'node lab/models/folder-lock',
  about: 'Plays every order of the steps of processes that open one folder of segments. It takes some minutes.',
  options: { only: { default: '', about: 'the scenarios with this in their titles' } }
}, async ({ only }) => {
  const logs = loadLogs()
  let hasFailed = false
  for (const [title, { quick, long }] of Object.entries(scenarios)) {
    for (const scenario of title.includes(only) ? [...quick, ...long] : []) {
      const began = process.cpuUsage().user
      const { states, ends, violation, history } = await explore(scenario, logs)
      const seconds = (process.cpuUsage().user - began) / 1e6
      console.log(`${violation ?? 'ok'}  ${title}, ${JSON.stringify(scenario)}: ${states} states, ${ends} ends, ${seconds.toFixed(1)} s`)
      if (violation === null) continue
      console.log(history.join('\n'))
      hasFailed = true
    }
  }
  return hasFailed
})
