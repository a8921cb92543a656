'use strict'
// A measuring process. Usage: node child.js '{ "module", "task", ... }'; calls that export of the module with the
// order, and prints one line of JSON, or the failure.

const { module: file, task, ...order } = JSON.parse(process.argv[2])

Promise.resolve().then(() => require(file)[task](order)).then((answer) => {
  // What a peer has left open must not keep the process.
  process.stdout.write(`${JSON.stringify(answer)}\n`, () => process.exit())
}, (err) => {
  process.stderr.write(`${err instanceof Error ? err.stack : err}\n`, () => process.exit(1))
})
