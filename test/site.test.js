'use strict'
// The pages of the site, as they are before it is built: each has a place of its own, and its links lead to others.
// `npm run docs:check` builds the site and looks at it.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { listPages } = require('../scripts/pages')
const { createSite, rewriteText } = require('../scripts/site/pages')

const root = path.join(__dirname, '..')
const ADDRESS = 'https://example.org/owner/name'

/** @param {string} markdown  without code */
function linksOf (markdown) {
  const text = markdown.replace(/^( *)(`{3,})[^\n]*\n[\s\S]*?\n\1\2`* *$/gm, '').replace(/(`+)[\s\S]+?\1/g, '')
  return [...text.matchAll(/\]\((?!https?:|mailto:|#)([^)\s]+)\)/g)].map(([, link]) => link)
}

tape('site: every page of the repository has a page of its own', (t) => {
  const { pages } = createSite(root, null)
  t.deepEqual(pages.map(({ file }) => file), listPages())
  t.equal(new Set(pages.map(({ target }) => target)).size, pages.length, 'no two have the same place')
  t.equal(pages.find(({ file }) => file === 'README.md').target, 'index.md')
  t.equal(pages.find(({ file }) => file === 'packages/pino/README.md').target, 'packages/pino.md')
  t.equal(pages.find(({ file }) => file === 'docs/guides/sharing.md').target, 'guides/sharing.md')
  t.end()
})

for (const address of [null, ADDRESS]) {
  tape(`site: links lead to pages and pictures of the site${address ? ', and to the repository' : ''}`, (t) => {
    const site = createSite(root, address)
    const targets = new Set(site.pages.map(({ target }) => target))
    const contents = site.pages.map((page) => ({ page, content: site.contentOf(page) }))
    const pictures = new Set(site.pictures())
    for (const { page, content } of contents) {
      const dead = linksOf(content).filter((link) => {
        const [place] = link.split('#')
        if (place.startsWith('/')) return !pictures.has(place.slice(1))
        return !targets.has(path.posix.join(path.posix.dirname(page.target), place))
      })
      t.deepEqual(dead, [], page.file)
    }
    for (const picture of pictures) t.ok(fs.existsSync(path.join(root, picture)), picture)
    t.equal(contents.some(({ content }) => content.includes(ADDRESS)), address !== null)
    t.end()
  })
}

tape('site: what is in code stays, a link to a source stays as text, a picture in a link is one', (t) => {
  const resolve = (link, isPicture) => isPicture ? `/pictures/${link}` : link.endsWith('.md') ? 'page.html' : null
  const cases = {
    '[a](b.md) and [c](d.js)': '[a](page.html) and c',
    '`[a](b.md)` [a](b.md)': '`[a](b.md)` [a](page.html)',
    '[![p](p.svg)](b.md)': '[![p](/pictures/p.svg)](page.html)',
    '[`a[0]`](b.md)': '[`a[0]`](page.html)',
    '<img src="p.svg"> <a href="d.js">': '<img src="/pictures/p.svg"> <a href="d.js">'
  }
  for (const [text, expected] of Object.entries(cases)) t.equal(rewriteText(text, resolve), expected, text)
  t.end()
})
