'use strict'
// A process that appends to a flumedb with two views, and tells how many appends have called back, until it is killed.
// Usage, by run-kills.js: node child.js <file> <framing> <first number>

const { FlumeDatabase } = require('../../../packages/offset-log/test/flume/database')

const UNDER_WAY = 50

run(process.argv[2], process.argv[3], Number(process.argv[4]))

/** @type {(file: string, framing: string, first: number) => Promise<never>} */
async function run (file, framing, first) {
  // A child whose parent died must not stay.
  process.once('disconnect', () => process.exit(1))
  const db = new FlumeDatabase(file, { framing })
  await db.settled()
  process.send?.(0)
  for (let n = first; ; n += UNDER_WAY) {
    const values = Array.from({ length: UNDER_WAY }, (_, i) => ({ n: n + i, text: 'x'.repeat(i) }))
    await Promise.all(values.map((value) => db.append(value)))
    process.send?.(n + UNDER_WAY - first)
    await new Promise(setImmediate)
  }
}
