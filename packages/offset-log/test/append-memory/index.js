'use strict'
// Peak memory of a loop that appends, by how it waits. Usage: node packages/offset-log/test/append-memory [records]

const { WAYS, measure } = require('./run-append-memory')

const [count] = process.argv.slice(2)
for (const way of Object.keys(WAYS)) {
  const { peak, refused } = measure(way, count === undefined ? undefined : Number(count))
  console.log(`${way.padEnd(28)} ${String(Math.round(peak / 1e6)).padStart(5)} MB ${refused > 0 ? `, ${refused} appends refused` : ''}`)
}
