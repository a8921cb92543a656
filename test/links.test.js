'use strict'
// Links between the pages of the documentation lead to a page that there is, and to a heading that it has.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { anchorsOf, slugOf, withoutCode } = require('../scripts/anchors')
const { listPages } = require('../scripts/pages')

const root = path.join(__dirname, '..')
const read = (page) => fs.readFileSync(path.join(root, page), 'utf8')

/** @param {string} page @returns {string[]}  the relative links of a page */
function linksOf (page) {
  const text = withoutCode(read(page)).replace(/(`+)[\s\S]+?\1/g, 'code').replace(/<!--[\s\S]*?-->/g, '')
  const links = [...text.matchAll(/\]\((?!https?:|mailto:)([^)\s]+)[^)]*\)/g), ...text.matchAll(/(?:href|src|srcset)="(?!https?:)([^"]+)"/g)]
  return links.map(([, target]) => target)
}

/** @type {(page: string, link: string) => string | null} what is wrong with a link */
function faultOf (page, link) {
  const [place, anchor] = link.split('#')
  const target = place === '' ? page : path.posix.join(path.posix.dirname(page), place)
  if (!fs.existsSync(path.join(root, target))) return 'leads nowhere'
  if (anchor === undefined || !target.endsWith('.md')) return null
  return anchorsOf(read(target)).has(anchor) ? null : 'leads to a heading that there is not'
}

tape('links: every relative link of every page leads to a file, and to a heading of it', (t) => {
  const pages = listPages()
  t.ok(pages.length > 40, `${pages.length} pages`)
  for (const page of pages) {
    const faults = linksOf(page).flatMap((link) => faultOf(page, link) === null ? [] : [`${link} ${faultOf(page, link)}`])
    t.deepEqual(faults, [], page)
  }
  t.end()
})

tape('anchors: they are those that GitHub gives', (t) => {
  const expected = {
    'What survives': 'what-survives',
    '`ERR_LOG_CLOSED`': 'err_log_closed',
    'Type `Stats`': 'type-stats',
    '`flumelog:deleted`': 'flumelogdeleted',
    'A log, its *end* & 1.5 "things"': 'a-log-its-end--15-things',
    'See [the format](format.md#head)': 'see-the-format',
    'Größe – über alles': 'größe--über-alles'
  }
  for (const [heading, slug] of Object.entries(expected)) t.equal(slugOf(heading), slug, heading)
  t.deepEqual([...anchorsOf('# A\n\n## A ##\n\n```sh\n# no heading\n```\n<a id="b"></a>\n\n### A')], ['b', 'a', 'a-1', 'a-2'])
  t.end()
})
