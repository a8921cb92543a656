'use strict'
// The pages of the site, made from those of the repository: where each goes, and where its links lead then.

const fs = require('node:fs')
const path = require('node:path')
const { listPages } = require('../pages')

/**
 * @typedef {object} SitePage
 * @property {string} file  in the repository, from the root
 * @property {string} target  on the site, such as `guides/durability.md`
 * @property {string} title
 *
 * @typedef {object} Site
 * @property {SitePage[]} pages
 * @property {(page: SitePage) => string} contentOf  with links that lead somewhere on the site
 * @property {() => string[]} pictures  that the pages show, from the root; once all contents were asked for
 */

// A link or a picture. What is in code is code.
const LINK = /(`+)[\s\S]+?\1|(!?)\[((?:[^[\]]|\[[^\]]*\]|!\[[^\]]*\]\([^)]*\))*)\]\(([^()\s]+)\)/g
const FENCE = /^( *)(`{3,}|~{3,})[^\n]*\n[\s\S]*?\n\1\2[`~]* *$/gm
const SOURCE_IN_HTML = /\b(src|srcset|href)="(?!https?:|#|data:)([^"]+)"/g
const ALONE = new Map([['README.md', 'index.md'], ['bench/README.md', 'bench/index.md'], ['lab/README.md', 'lab/index.md'], ['docs/README.md', 'pages.md']])

/**
 * @param {string} root  of the repository
 * @param {string | null} address  of the repository on the web; null if it has none
 * @returns {Site}
 */
function createSite (root, address) {
  const pages = listPages(root).map((file) => ({ file, target: targetOf(file), title: titleOf(root, file) }))
  const targets = new Map(pages.map(({ file, target }) => [file, target]))
  /** @type {Set<string>} */
  const pictures = new Set()

  /** @type {(page: SitePage, link: string, isPicture: boolean) => string | null} null if it can only be text */
  const resolve = ({ file, target }, link, isPicture) => {
    if (/^(?:https?:|mailto:|#)/.test(link)) return link
    const [place, anchor] = link.split('#')
    const source = path.posix.normalize(path.posix.join(path.posix.dirname(file), place)).replace(/\/$/, '')
    const suffix = anchor === undefined ? '' : `#${anchor}`
    const page = targets.get(source) ?? targets.get(`${source}/README.md`)
    if (page !== undefined) return relativeTo(target, page) + suffix
    if (isPicture || /\.(?:svg|png|html)$/.test(source)) {
      pictures.add(source)
      return `/${source}`
    }
    const isFolder = fs.existsSync(path.join(root, source)) && fs.statSync(path.join(root, source)).isDirectory()
    return address === null ? null : `${address}/${isFolder ? 'tree' : 'blob'}/main/${source}${suffix}`
  }

  return {
    pages,
    contentOf: (page) => eachText(fs.readFileSync(path.join(root, page.file), 'utf8'), (text) => {
      return rewriteText(text, (link, isPicture) => resolve(page, link, isPicture))
    }),
    pictures: () => [...pictures].sort()
  }
}

/** @type {(text: string, resolve: (link: string, isPicture: boolean) => string | null) => string} */
function rewriteText (text, resolve) {
  return text.replace(LINK, (whole, code, mark, words, link) => {
    if (code !== undefined) return whole
    // A picture may stand in a link.
    const shown = mark === '' ? rewriteText(words, resolve) : words
    const target = resolve(link, mark === '!')
    return target === null ? shown : `${mark}[${shown}](${target})`
  }).replace(SOURCE_IN_HTML, (whole, name, link) => {
    const target = resolve(link, name !== 'href')
    return target === null ? whole : `${name}="${target}"`
  })
}

/** Changes all but the blocks of code. @type {(markdown: string, change: (text: string) => string) => string} */
function eachText (markdown, change) {
  let result = ''
  let from = 0
  for (const { 0: block, index } of markdown.matchAll(FENCE)) {
    result += change(markdown.slice(from, index)) + block
    from = index + block.length
  }
  return result + change(markdown.slice(from))
}

/** @param {string} file  in the repository */
function targetOf (file) {
  const alone = ALONE.get(file)
  if (alone !== undefined) return alone
  const [first, ...rest] = file.split('/')
  if (first === 'docs') return rest.join('/').replace(/README\.md$/, 'index.md')
  if (first === 'packages') return `packages/${rest[0]}.md`
  return file.split('/').length === 1 ? file.toLowerCase() : file
}

/** @type {(from: string, to: string) => string} */
function relativeTo (from, to) {
  const link = path.posix.relative(path.posix.dirname(from), to)
  return link.startsWith('.') ? link : `./${link}`
}

/** @type {(root: string, file: string) => string} */
function titleOf (root, file) {
  const heading = /^# +(.+)$/m.exec(fs.readFileSync(path.join(root, file), 'utf8'))
  return (heading?.[1] ?? file).replace(/[`*]/g, '')
}

exports.createSite = createSite
exports.eachText = eachText
exports.rewriteText = rewriteText
