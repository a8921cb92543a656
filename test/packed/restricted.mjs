// What a program may do with a log that may only read and write files. Prints a line of JSON. With `hold` it keeps the
// log open until it is killed.
// Usage: deno run --no-prompt --allow-read --allow-write restricted.mjs <folder> [hold]

import { open } from 'millrace'

const [folder, mode] = process.argv.slice(2)

async function main () {
  const log = open(`${folder}/restricted.log`)
  try {
    await log.append({ mode: mode ?? 'once' })
  } catch ({ code }) {
    console.log(JSON.stringify({ code }))
    return
  }
  const { lock } = await log.stats()
  let count = 0
  for await (const { mode } of log.stream({ seqs: false, where: { path: ['mode'], exists: true } })) count += mode ? 1 : 0
  console.log(JSON.stringify({ lock: lock.kind, blindSpot: lock.blindSpot, count }))
  if (mode === 'hold') setInterval(() => {}, 1000)
  else await log.close()
}

main()
