'use strict'
// Builds the site and looks at it in Chromium: every page in light and dark, on a desk and on a phone. axe finds
// nothing, nothing but tables and code scrolls sideways, the search works offline.
// Usage: npm run docs:check [-- part of a path ...]

const fs = require('node:fs')
const http = require('node:http')
const path = require('node:path')
const { withBrowser } = require('../../test/browser')
const { buildSite, output } = require('./build')

/**
 * @typedef {import('playwright-core').Page} Page
 * @typedef {{ id: string, help: string, nodes: Array<{ target: unknown[] }> }} Violation
 */

const DESK = { width: 1280, height: 900 }
const PHONE = { width: 360, height: 740 }
const TYPES = /** @type {Record<string, string>} */ ({
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.json': 'application/json'
})
const AT_ONCE = 2

/** Serves the built site to this machine. @returns {Promise<import('node:http').Server>} */
function serve () {
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const file = path.join(output, decodeURIComponent(pathname.endsWith('/') ? `${pathname}index.html` : pathname))
    if (!file.startsWith(output) || !fs.existsSync(file)) return response.writeHead(404).end()
    response.writeHead(200, { 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream' })
    response.end(fs.readFileSync(file))
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

/** @returns {string[]}  the pages, as the server has them */
function listBuilt () {
  const names = fs.readdirSync(output, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.html') && name !== '404.html' && !name.startsWith('images')).map((name) => name.split(path.sep).join('/')).sort()
}

/** @type {(page: Page, url: string) => Promise<string[]>} what is wrong with a page, in both colours and both widths */
async function checkPage (page, url) {
  const problems = []
  await page.setViewportSize(DESK)
  await page.goto(url)
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    for (const [name, size] of /** @type {const} */ ([['desk', DESK], ['phone', PHONE]])) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.setViewportSize(size)
      const found = await findProblems(page)
      problems.push(...found.map((problem) => `${colorScheme}, ${name}: ${problem}`))
    }
  }
  return problems
}

/** @param {Page} page @returns {Promise<string[]>} */
async function findProblems (page) {
  const isWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth')
  // Has been added by `check`.
  const { violations } = /** @type {{ violations: Violation[] }} */ (await page.evaluate('axe.run()'))
  return [
    ...isWide ? ['scrolls sideways'] : [],
    ...violations.map(({ id, help, nodes }) => `${id}: ${help} (${nodes.slice(0, 3).map(({ target }) => target.join(' ')).join('; ')})`)
  ]
}

/** @type {(page: Page, url: string) => Promise<string[]>} */
async function checkSearch (page, url) {
  await page.goto(url)
  // From here on, what the page needs must be there, or come from this server.
  await page.route((address) => !String(address).startsWith(url), (route) => route.abort())
  await page.keyboard.press('Control+k')
  await page.locator('.VPLocalSearchBox input').fill('retention')
  const result = page.locator('.VPLocalSearchBox .result').first()
  await result.waitFor()
  const text = await page.locator('.VPLocalSearchBox .results').innerText()
  return /retention/i.test(text) ? [] : [`the search for "retention" finds: ${text.slice(0, 200)}`]
}

/** @param {string[]} parts  of the paths of the pages to check; all if there are none */
async function check (parts) {
  buildSite()
  const server = await serve()
  const url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/`
  const names = listBuilt().filter((name) => parts.length === 0 || parts.some((part) => name.includes(part)))
  /** @type {string[]} */
  const problems = []
  await withBrowser(async (open) => {
    const left = [...names]
    const work = async () => {
      const { page, requests } = await open({ url })
      await page.addInitScript({ path: require.resolve('axe-core/axe.min.js', { paths: [__dirname] }) })
      for (let name = left.shift(); name !== undefined; name = left.shift()) {
        const found = await checkPage(page, url + name)
        problems.push(...found.map((problem) => `${name}: ${problem}`))
        console.log(`${found.length === 0 ? 'well' : 'BAD '} ${name}`)
      }
      problems.push(...await checkSearch(page, url))
      const foreign = requests.filter((address) => !address.startsWith(url) && !address.startsWith('data:'))
      problems.push(...foreign.map((address) => `asks for ${address}`))
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  })
  server.close()
  for (const problem of problems) console.error(problem)
  console.log(`${names.length} pages, ${problems.length} problems`)
  process.exitCode = problems.length > 0 ? 1 : 0
}

check(process.argv.slice(2))
