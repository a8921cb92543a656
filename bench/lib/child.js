'use strict'
// A measuring process. Usage: node child.js '{ "module", "task", "parts", ... }'; calls that export of the module with
// the order, in which the parts are loaded from their files, and prints one line of JSON, or the failure.

const { module: home, task, parts, ...order } = JSON.parse(process.argv[2])

Promise.resolve().then(() => {
  for (const [role, { file, name }] of Object.entries(parts)) {
    const loaded = require(file)
    order[role] = (loaded.parts ?? [loaded]).find((/** @type {{ name: string }} */ part) => part.name === name)
  }
  return require(home)[task](order)
}).then((answer) => {
  // What a peer has left open must not keep the process.
  process.stdout.write(`${JSON.stringify(answer)}\n`, () => process.exit())
}, (err) => {
  process.stderr.write(`${err instanceof Error ? err.stack : err}\n`, () => process.exit(1))
})
