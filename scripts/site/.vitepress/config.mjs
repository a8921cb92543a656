// The site: its search works offline, and its anchors are those that GitHub gives.

import fs from 'node:fs'
import { defineConfig } from 'vitepress'
import anchors from '../../anchors.js'

const { pages, address } = JSON.parse(fs.readFileSync(new URL('../pages/pages.json', import.meta.url), 'utf8'))
const { slugOf } = anchors

const GROUPS = [
  { text: 'Begin', of: (target) => ['index.md', 'start.md', 'pages.md', 'glossary.md'].includes(target) },
  { text: 'Guides', of: (target) => target.startsWith('guides/') },
  { text: 'Cookbook', of: (target) => target.startsWith('cookbook/') },
  { text: 'Packages', of: (target) => target.startsWith('packages/') },
  { text: 'Reference', of: (target) => target.startsWith('reference/') },
  { text: 'How it works', of: (target) => /^(?:internals|lab)\//.test(target) && !target.includes('/decisions/') },
  { text: 'Decisions', of: (target) => target.includes('/decisions/') },
  { text: 'Measurements', of: (target) => target.startsWith('bench/') },
  { text: 'Project', of: (target) => !target.includes('/') }
]
// Each part of the site has a list of its own pages beside it.
const SIDEBARS = {
  '/packages/': ['Packages'],
  '/reference/': ['Reference'],
  '/internals/': ['How it works', 'Decisions', 'Measurements'],
  '/bench/': ['Measurements', 'How it works'],
  '/lab/': ['How it works', 'Decisions', 'Measurements'],
  '/': ['Begin', 'Guides', 'Cookbook', 'Project']
}

function createGroups () {
  const left = new Set(pages)
  return new Map(GROUPS.map(({ text, of }) => {
    const items = [...left].filter(({ target }) => of(target))
    for (const page of items) left.delete(page)
    return [text, { text, items: items.map(toItem).sort(byPlace) }]
  }).filter(([, { items }]) => items.length > 0))
}

function toItem ({ target, title }) {
  // In a list of references, the word says nothing.
  const text = target === 'index.md' ? 'What Millrace is' : title.replace(/: reference$/, '')
  return { text, link: `/${target.replace(/(?:index)?\.md$/, '')}` }
}

// The page that a folder begins with comes first.
function byPlace (a, b) {
  const rank = ({ link }) => ['/', '/start', '/pages', '/reference/command', '/reference/errors'].indexOf(link) + 1 || (link.endsWith('/') ? 1 : 9)
  const name = ({ text }) => text.replace(/^@millrace\//, '')
  return rank(a) - rank(b) || name(a).localeCompare(name(b), 'en', { numeric: true })
}

// A head without words is a plain cell.
function freeEmptyHead (token, place, tokens) {
  if (token.type !== 'th_open' || tokens[place + 1].content.trim() !== '') return
  token.tag = 'td'
  tokens[place + 2].tag = 'td'
}

// On a phone, the rows of some tables are shown as paragraphs.
function classesOf (tokens, place) {
  const end = tokens.findIndex(({ type }, index) => index > place && type === 'thead_close')
  const heads = tokens.slice(place, end).filter(({ type }) => type === 'inline').map(({ content }) => content)
  const isList = heads.length > 2 && ['option', 'parameter', 'name'].includes(heads[0])
  return (isList ? ' list' : '') + (heads[2] === 'default' ? ' with-defaults' : '')
}

const groups = createGroups()

export default defineConfig({
  title: 'Millrace',
  description: 'An append-only log for Node.js',
  srcDir: 'pages',
  outDir: 'dist',
  markdown: {
    anchor: { slugify: slugOf },
    toc: { slugify: slugOf },
    headers: { slugify: slugOf },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config: (md) => {
      // A wide table scrolls by itself, with the keyboard too.
      md.renderer.rules.table_open = (tokens, place) => `<div class="table${classesOf(tokens, place)}" tabindex="0"><table>\n`
      md.renderer.rules.table_close = () => '</table></div>\n'
      md.core.ruler.push('empty-heads', ({ tokens }) => tokens.forEach(freeEmptyHead))
    }
  },
  themeConfig: {
    search: { provider: 'local' },
    sidebar: Object.fromEntries(Object.entries(SIDEBARS).map(([place, names]) => {
      return [place, names.flatMap((name) => groups.get(name) ?? [])]
    })),
    outline: { level: [2, 3], label: 'On this page' },
    nav: [
      ...groups.get('Begin').items.filter(({ link }) => link === '/start').map(({ link }) => ({ text: 'Start', link })),
      { text: 'Packages', link: groups.get('Packages').items[0].link, activeMatch: '^/packages/' },
      { text: 'Reference', link: '/reference/command', activeMatch: '^/reference/' },
      { text: 'Internals', link: '/internals/architecture', activeMatch: '^/(?:internals|bench|lab)/' }
    ],
    ...address && { socialLinks: [{ icon: 'github', link: address }] }
  }
})
