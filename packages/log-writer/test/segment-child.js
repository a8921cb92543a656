'use strict'
// Writes numbered records from the main thread and two workers into one segmented log until it is killed. Whenever an
// error is in the file, it says so on standard output. Usage: node segment-child.js <folder> <name> <options as JSON>

const fs = require('node:fs')
const { Worker, isMainThread, workerData } = require('node:worker_threads')
const { LogWriter, lines } = require('..')
const { ThreadWriter, shareWriter } = require('../threads')

const EAGER_EVERY = 50

/** @type {(writer: { write: (record: any, level: string) => unknown }, name: string) => void} */
function writeForEver (writer, name) {
  let n = 0
  const step = () => {
    for (let count = 0; count < EAGER_EVERY; count++, n++) {
      const isEager = count === EAGER_EVERY - 1
      writer.write({ name, n, text: String.fromCharCode(97 + n % 26).repeat(n % 300) }, isEager ? 'error' : 'info')
      if (isEager) fs.writeSync(1, `${name} ${n}\n`)
    }
    setTimeout(step, 1)
  }
  step()
}

async function main () {
  const { SegmentedLog } = require('@millrace/segmented-log')
  const [folder, name, options] = process.argv.slice(2)
  const log = SegmentedLog(folder, { codec: lines, ...JSON.parse(options) })
  await log.ready()
  const writer = LogWriter(log)
  const shared = shareWriter(writer)
  for (const thread of ['b', 'c']) {
    const channel = shared.connect()
    const data = { channel, name: name + thread }
    new Worker(__filename, { workerData: data, transferList: [channel.port] }).on('error', (err) => { throw err })
  }
  writeForEver(writer, name + 'a')
}

if (isMainThread) main()
else writeForEver(ThreadWriter(workerData.channel, { eagerMs: 60_000 }), workerData.name)
