// A small program of a consumer, to be bundled: it uses a log, a filter, verify and threads, and prints the results.
// Usage: node app.mjs <file of the log> <module of the task>

import { binaryCodec } from '@millrace/binary-codec'
import { jsonCodec } from '@millrace/json-codec'
import { OffsetLog } from '@millrace/offset-log'
import { verify } from '@millrace/repair'

async function main () {
  const [file, task] = process.argv.slice(2)
  const where = { path: ['n'], equals: 7 }
  const report = { found: [] }
  for (const codec of [binaryCodec, jsonCodec]) {
    const log = OffsetLog(`${file}.${codec.name}`, { codec })
    for (let n = 0; n < 1000; n++) log.append({ n: n % 10 })
    await log.sync()
    let found = 0
    for await (const { n } of log.stream({ seqs: false, where })) found += n === 7 ? 1 : 0
    report.found.push(found)
    if (codec === binaryCodec) {
      report.threads = await log.scan({ threads: 2, where }, task).then(
        ({ results }) => results.reduce((sum, count) => sum + count, 0), ({ code }) => code)
    }
    report.lock = (await log.stats()).lock.kind
    await log.close()
  }
  const { isSound, records } = await verify(`${file}.binary`)
  console.log(JSON.stringify({ ...report, isSound, records }))
}

main()
