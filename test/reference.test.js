'use strict'
// The pages of docs/reference are those of the sources, and have all that programs may use.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const ts = require('typescript')
const { codes } = require('@millrace/errors')
const { slotOptionNames } = require('@millrace/merged-log')
const { optionNames: writerOptionNames } = require('@millrace/log-writer')
const { OffsetLog } = require('@millrace/offset-log')
const { optionNames } = require('@millrace/segmented-log')
const { newPath } = require('@millrace/testkit')
const { createReference, folder } = require('../scripts/reference')
const { groups } = require('../scripts/reference/error-advice')

const OF_FILE_SYSTEM = ['ENOSPC', 'EDQUOT', 'EIO', 'EACCES', 'EPERM', 'EROFS', 'EMFILE', 'EEXIST', 'ENOENT', 'EISDIR']

// Options and methods that had no description when this test was written. The counts may only go down.
const UNDESCRIBED = {}
const { pages, missing } = createReference()

tape('reference: each page is what its sources say', (t) => {
  for (const [name, text] of pages) {
    const file = path.join(folder, name)
    const isSame = fs.existsSync(file) && fs.readFileSync(file, 'utf8') === text
    t.ok(isSame, `docs/reference/${name}${isSame ? '' : ' is not what the sources say: run `npm run reference`, and commit it'}`)
  }
  t.deepEqual(fs.readdirSync(folder).sort(), [...pages.keys()].sort(), 'and there are no others')
  t.end()
})

tape('reference: each page says in its first lines that it is generated, and by what', (t) => {
  for (const [name, text] of pages) t.match(text.slice(0, 700), /`npm run reference` writes it/, name)
  t.end()
})

tape('errors: every code has advice, once, and a section on the page', (t) => {
  const advised = groups.flatMap(({ codes }) => Object.keys(codes))
  t.deepEqual([...advised].sort(), [...Object.keys(codes), ...OF_FILE_SYSTEM].sort())
  const sections = [...pages.get('errors.md').matchAll(/^### `([A-Z_]+|flumelog:deleted)`$/gm)].map(([, code]) => code)
  t.deepEqual(sections, advised)
  t.end()
})

tape('errors: the page says which packages give a code', (t) => {
  for (const code of Object.keys(codes)) {
    const [, section] = pages.get('errors.md').split(`### \`${code}\`\n`)
    t.match(section.split('\n##')[0], /\nFrom: /, code)
  }
  t.end()
})

tape('reference: every option that a package takes is on its page', (t) => {
  const lists = { 'segmented-log.md': optionNames, 'merged-log.md': slotOptionNames, 'log-writer.md': writerOptionNames }
  for (const [page, names] of Object.entries(lists)) {
    for (const name of names) t.match(pages.get(page), new RegExp(`^\\| \`${name}\` \\|`, 'm'), `${page}: ${name}`)
  }
  t.end()
})

tape('reference: every method and property of a log is on its page', async (t) => {
  const log = OffsetLog(newPath('log'))
  await log.ready()
  const page = pages.get('offset-log.md')
  const names = new Set([...Object.keys(log), ...Object.getOwnPropertyNames(Object.getPrototypeOf(log))])
  for (const name of names) {
    if (name.startsWith('_') || ['constructor', 'toJSON'].includes(name)) continue
    t.ok(page.includes(`\n### ${name}\n`) || page.includes(`\n| \`${name}\` |`), name)
  }
  await log.close()
})

tape('types: a package that a comment names was taken for a tag: the option strict of open was in no type, and texts were cut off', (t) => {
  const packages = path.join(__dirname, '..', 'packages')
  const names = fs.readdirSync(packages).flatMap((name) => sourcesIn(path.join(packages, name)))
  const wrong = names.flatMap((name) => findFalseTags(name))
  t.deepEqual(wrong, [], 'write it in backticks')
  t.ok(pages.get('millrace.md').includes('\n| `strict` |'), 'the option strict of open is on its page')
  t.end()
})

tape('reference: every option, function and method has a description in its comment', (t) => {
  const counts = new Map()
  for (const place of missing) {
    const name = place.split('/')[1]
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const over = [...counts].filter(([name, count]) => count > (UNDESCRIBED[name] ?? 0)).map(([name]) => name)
  t.deepEqual(missing.filter((place) => over.includes(place.split('/')[1])), [])
  t.end()
})

/** @param {string} folder  of a package @returns {string[]} */
function sourcesIn (folder) {
  const names = fs.readdirSync(folder).filter((name) => ['index.js', 'lib', 'bin'].includes(name))
  return names.map((name) => path.join(folder, name)).flatMap((file) => {
    if (!fs.statSync(file).isDirectory()) return [file]
    return fs.readdirSync(file, { recursive: true }).filter((name) => name.endsWith('.js')).map((name) => path.join(file, name))
  })
}

/** The names of packages in the comments of a file that TypeScript takes for tags. @param {string} file */
function findFalseTags (file) {
  const text = fs.readFileSync(file, 'utf8')
  const found = []
  const visit = (node) => {
    for (const { tags = [] } of node.jsDoc ?? []) {
      for (const { tagName: { end } } of tags) if (text[end] === '/') found.push(`${file}: ${text.slice(end - 20, end + 20)}`)
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, false, ts.ScriptKind.JS))
  return found
}
