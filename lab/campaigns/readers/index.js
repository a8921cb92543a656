'use strict'
// Many live readers of one log, and how much memory they take.
// Usage: node lab/campaigns/readers [--readers 50] [--records 100000] [--slow-ms 10]
//   [--framing checked]. The slow reader alone takes records times slow-ms: a quarter of an hour

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { parseArgs } = require('node:util')
const { runReaders, toMiB } = require('./run-readers')

const { values } = parseArgs({
  options: {
    readers: { type: 'string', default: '50' },
    records: { type: 'string', default: '100000' },
    'slow-ms': { type: 'string', default: '10' },
    framing: { type: 'string', default: 'checked' }
  }
})

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-readers-'))
const options = {
  folder,
  readers: Number(values.readers),
  records: Number(values.records),
  slowMs: Number(values['slow-ms']),
  framing: values.framing,
  print: console.log
}
runReaders(options).then(({ faults, grownSize }) => {
  for (const fault of faults) console.log(`FAILED  ${fault}`)
  console.log(`readers: ${faults.length} faults; the process grew by ${toMiB(grownSize)} MiB at most`)
  process.exitCode = faults.length > 0 ? 1 : 0
}).finally(() => fs.rmSync(folder, { recursive: true, force: true }))
