'use strict'
// Forwards a log that another process has open, to a server: node forwarding-process.js <log> <url>

const { Forwarder, httpSink } = require('..')
const { makeLog, QUICK } = require('./helpers')

async function main () {
  const [file, url] = process.argv.slice(2)
  const log = makeLog({ flags: 'r' }, file)
  const forwarder = Forwarder(log, { ...QUICK, sink: httpSink(url), batch: { count: 20, ageMs: 0 } })
  await forwarder.drained()
  await forwarder.close()
  await log.close()
}

main()
