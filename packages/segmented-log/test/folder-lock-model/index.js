'use strict'
// All scenarios, which takes some minutes.
// Usage: node packages/segmented-log/test/folder-lock-model/index.js [part of a scenario's title]

const { OffsetLog } = require('@millrace/offset-log')
const { explore } = require('./explore')
const { scenarios } = require('./scenarios')
const { SegmentedLog } = require('../..')

const [, , part = '', which = ''] = process.argv

async function main () {
  for (const [title, { quick, long }] of Object.entries(scenarios)) {
    const wanted = which === 'quick' ? quick : [...quick, ...long]
    for (const scenario of title.includes(part) ? wanted : []) {
      const began = process.cpuUsage().user
      const { states, ends, violation, history } = await explore(scenario, { SegmentedLog, OffsetLog })
      const seconds = (process.cpuUsage().user - began) / 1e6
      console.log(`${violation ?? 'ok'}  ${title}, ${JSON.stringify(scenario)}: ${states} states, ${ends} ends, ${seconds.toFixed(1)} s`)
      if (violation === null) continue
      console.log(history.join('\n'))
      process.exitCode = 1
    }
  }
}

main()
