'use strict'
// Every example of every README runs as it is printed, and prints what its comments say.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { temporaryFolder } = require('@millrace/testkit')
const { listDocuments, listPages } = require('../scripts/pages')
const { examplesOf, promisedOutput } = require('./readme-examples')

const root = path.join(__dirname, '..')
const readmes = listPages()

/** Other tests run the examples of these: the first one's need a server, and the second one's build on each other. */
const RUN_ELSEWHERE = ['packages/jetstream/README.md', 'docs/start.md']

for (const readme of readmes.filter((readme) => !RUN_ELSEWHERE.includes(readme))) {
  tape(`${readme}: its examples run as printed`, (t) => {
    const examples = examplesOf(fs.readFileSync(path.join(root, readme), 'utf8'))
    for (const [index, example] of examples.entries()) {
      const folder = temporaryFolder()
      fs.symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'), 'junction')
      fs.writeFileSync(path.join(folder, 'example.js'), example)
      const { stdout, stderr, status } = spawnSync(process.execPath, ['example.js'], { cwd: folder, encoding: 'utf8', timeout: 120_000 })
      t.equal(status, 0, `example ${index + 1} ends well ${stderr}`)
      t.deepEqual(stdout.split('\n').filter(Boolean), promisedOutput(example), `example ${index + 1} prints what it says`)
    }
    if (readme.startsWith('packages/') || readme === 'README.md') t.ok(examples.length > 0, 'there is an example')
    t.end()
  })
}

tape('cookbook: each page is one program of at most 80 lines', (t) => {
  for (const page of listDocuments().filter((page) => /^docs\/cookbook\/(?!README)/.test(page))) {
    const examples = examplesOf(fs.readFileSync(path.join(root, page), 'utf8'))
    t.equal(examples.length, 1, page)
    t.ok(examples[0].split('\n').length <= 81, page)
  }
  t.end()
})

/** The pages that a page leads to, as paths from the root. @param {string} readme */
function linkedFrom (readme) {
  const markdown = fs.readFileSync(path.join(root, readme), 'utf8')
  const targets = [...markdown.matchAll(/\]\((?!https?:|#)([^)#]+\.md)(?:#[^)]*)?\)/g)].map(([, target]) => target)
  return targets.map((target) => path.posix.join(path.posix.dirname(readme), target))
}

tape('documents: the index lists every guide, and every other page can be reached from it', (t) => {
  const listed = linkedFrom('docs/README.md')
  const guides = listDocuments().filter((page) => /^docs\/(?:guides\/)?[\w-]+\.md$/.test(page) && page !== 'docs/README.md')
  t.deepEqual(guides.filter((page) => !listed.includes(page)), [], 'guides')
  const reached = new Set(['docs/README.md'])
  for (const page of reached) {
    for (const target of linkedFrom(page)) if (readmes.includes(target)) reached.add(target)
  }
  t.deepEqual(listDocuments().filter((page) => !reached.has(page)), [], 'others')
  t.end()
})
