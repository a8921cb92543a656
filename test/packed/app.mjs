// A small program of a consumer, to be bundled: it uses a log, a filter, partitions and verify, and prints the results.
// Usage: node app.mjs <file of the log>

import { binaryCodec } from '@millrace/binary-codec'
import { jsonCodec } from '@millrace/json-codec'
import { OffsetLog } from '@millrace/offset-log'
import { verify } from 'millrace'

async function main () {
  const [file] = process.argv.slice(2)
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
      const counts = await Promise.all((await log.partitions(2)).map((range) => log.count({ ...range, where })))
      report.partitions = counts.reduce((sum, count) => sum + count, 0)
    }
    report.lock = (await log.stats()).lock.kind
    await log.close()
  }
  const { isSound, records } = await verify(`${file}.binary`)
  console.log(JSON.stringify({ ...report, isSound, records }))
}

main()
