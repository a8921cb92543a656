'use strict'
// All scenarios, which takes some minutes.
// Usage: node lab/models/folder-lock [part of a scenario's title]

const { explore } = require('./explore')
const { loadLogs } = require('./load-logs')
const { scenarios } = require('./scenarios')

const [, , part = ''] = process.argv

async function main () {
  const logs = loadLogs()
  for (const [title, { quick, long }] of Object.entries(scenarios)) {
    for (const scenario of title.includes(part) ? [...quick, ...long] : []) {
      const began = process.cpuUsage().user
      const { states, ends, violation, history } = await explore(scenario, logs)
      const seconds = (process.cpuUsage().user - began) / 1e6
      console.log(`${violation ?? 'ok'}  ${title}, ${JSON.stringify(scenario)}: ${states} states, ${ends} ends, ${seconds.toFixed(1)} s`)
      if (violation === null) continue
      console.log(history.join('\n'))
      process.exitCode = 1
    }
  }
}

main()
