'use strict'
// The pages about the insides are found from their index, and every decision has its three parts.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')

const root = path.join(__dirname, '..')
const read = (...names) => fs.readFileSync(path.join(root, ...names), 'utf8')
const pagesOf = (...names) => fs.readdirSync(path.join(root, ...names)).filter((name) => name.endsWith('.md'))

tape('internals: the index names every page and every decision', (t) => {
  const index = read('docs', 'internals', 'README.md')
  for (const name of pagesOf('docs', 'internals')) t.ok(name === 'README.md' || index.includes(`](${name})`), name)
  for (const name of pagesOf('docs', 'internals', 'decisions')) t.ok(index.includes(`](decisions/${name})`), name)
  t.end()
})

tape('internals: every decision says its context, what was decided, and the consequence', (t) => {
  for (const name of pagesOf('docs', 'internals', 'decisions')) {
    const parts = [...read('docs', 'internals', 'decisions', name).matchAll(/^\*\*(\w+)\.\*\*/gm)].map(([, part]) => part)
    t.deepEqual(parts, ['Context', 'Decision', 'Consequence'], name)
  }
  t.end()
})
