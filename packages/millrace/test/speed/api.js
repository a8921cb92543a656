'use strict'
// What a program would write for the same work. Usage: node api.js file (cat | count | 'count --where')

const { once } = require('node:events')
const { open } = require('../..')

main(process.argv[2], process.argv[3])

async function main (file, job) {
  const log = open(file, { flags: 'r' })
  if (job === 'cat') {
    let text = ''
    for await (const value of log.stream({ seqs: false })) {
      text += `${JSON.stringify(value)}\n`
      if (text.length < 65536) continue
      if (!process.stdout.write(text)) await once(process.stdout, 'drain')
      text = ''
    }
    process.stdout.write(text)
  } else {
    let count = 0
    await log.scan(job === 'count' ? {} : { where: { path: ['type'], equals: 'post' } }, (run) => { count += run.count })
    console.log(count)
  }
  await log.close()
}
