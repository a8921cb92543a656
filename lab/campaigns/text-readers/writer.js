'use strict'
// A process that writes two logs of lines at the same time: one file, and a folder of segments that it rotates. Ends by
// closing both. Usage, by run-text-readers.js: node writer.js <JSON of { file, folder, seconds, rate, seed }>

const { createRandom } = require('@millrace/testkit')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')

const TICK_MS = 20
const SEGMENT_SIZE = 200_000
/** Half of the last one is not among them: some programs refuse that, though JSON.stringify writes it. */
const LETTERS = [...'abc {}[]",:\\\n\u00e9\u2028\u{1f600}']

/** @param {{ file: string, folder: string, seconds: number, rate: number, seed: number }} options */
async function run ({ file, folder, seconds, rate, seed }) {
  const random = createRandom(seed)
  /** @type {any} */
  const shared = { framing: 'lines', codec: jsonCodec, fsync: ['always', 'interval', 'never'][random(3)] }
  const logs = [OffsetLog(file, shared), SegmentedLog(folder, { ...shared, segmentSize: SEGMENT_SIZE })]
  const endMs = Date.now() + seconds * 1000
  let count = 0
  while (Date.now() < endMs) {
    for (let due = rate * TICK_MS / 1000; due > 0;) {
      const values = Array.from({ length: random(3) === 0 ? 1 + random(6) : 1 }, () => makeValue(random, count++))
      due -= values.length
      // One write of a batch may be larger than a page, or than what a reader gets at once.
      for (const log of logs) await log.append(/** @type {any} */ (values.length === 1 ? values[0] : values))
    }
    if (random(50) === 0) for (const log of logs) await log.sync()
    await new Promise((resolve) => setTimeout(resolve, TICK_MS))
  }
  for (const log of logs) await log.close()
  process.stdout.write(`${count}\n`)
}

/** @type {(random: (limit: number) => number, n: number) => { n: number, text: string }} */
function makeValue (random, n) {
  const size = random(40) === 0 ? random(30_000) : random(120)
  return { n, text: Array.from({ length: size }, () => LETTERS[random(LETTERS.length)]).join('') }
}

run(JSON.parse(process.argv[2])).catch((err) => {
  console.error(err)
  process.exit(1)
})
