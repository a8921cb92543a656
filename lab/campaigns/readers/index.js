'use strict'
// Many live readers of one log, and how much memory they take.

const { temporaryFolder } = require('@millrace/testkit')
const { runCommand } = require('../../command')
const { runReaders, toMiB } = require('./run-readers')

runCommand({
  name: 'readers',
  run: 'node lab/campaigns/readers',
  about: 'Many live readers of one log, one of them slow. The slow one alone takes records times slow-ms: a quarter of an hour.',
  options: {
    readers: { kind: 'integer', default: 50, about: 'how many' },
    records: { kind: 'integer', default: 100_000, about: 'how many are appended' },
    'slow-ms': { kind: 'number', default: 10, about: 'how many ms the slow reader needs for a record' },
    framing: { default: 'checked', about: 'of the log' }
  }
}, async ({ 'slow-ms': slowMs, ...options }) => {
  const given = /** @type {any} */ ({ folder: temporaryFolder(), slowMs, print: console.log, ...options })
  const { faults, grownSize } = await runReaders(given)
  for (const fault of faults) console.log(`FAILED  ${fault}`)
  console.log(`readers: ${faults.length} faults; the process grew by ${toMiB(grownSize)} MiB at most`)
  return faults.length > 0
})
