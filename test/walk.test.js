'use strict'
// How many files and functions it takes to follow one record, as `npm run walk` counts them. The limits only
// ever go down.

const tape = require('tape')
const { walk, walkNames } = require('../scripts/walk')

/** @type {Record<string, { files: number, functions: number }>} */
const limits = {
  append: { files: 18, functions: 74 },
  get: { files: 7, functions: 20 },
  stream: { files: 17, functions: 80 },
  open: { files: 30, functions: 142 }
}

tape('walk: every walk has its limit', (t) => {
  t.deepEqual(walkNames, Object.keys(limits))
  t.end()
})

for (const [name, { files, functions }] of Object.entries(limits)) {
  tape(`walk: ${name} runs through at most ${files} files and ${functions} functions`, async (t) => {
    const { fileCount, functionCount } = await walk(name)
    t.ok(fileCount <= files, `${fileCount} files`)
    t.ok(functionCount <= functions, `${functionCount} functions`)
  })
}
