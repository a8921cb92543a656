'use strict'
// Builds the site of the documentation from README.md, docs/, the READMEs of the packages and what else is a page.
// Usage: npm run docs [-- --base /folder/]. What builds it is installed here when it is missing, and nowhere else.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { createSite } = require('./pages')

const root = path.join(__dirname, '..', '..')
const source = path.join(__dirname, 'pages')
const output = path.join(__dirname, 'dist')
const program = path.join(__dirname, 'node_modules', 'vitepress', 'bin', 'vitepress.js')

/** @param {string[]} options  of VitePress */
function buildSite (options = []) {
  if (!fs.existsSync(program)) install()
  writePages()
  const { status } = spawnSync(process.execPath, [program, 'build', __dirname, ...options], { stdio: 'inherit' })
  if (status !== 0) throw new Error('the site was not built: see above')
}

function install () {
  console.log('installing what builds the site, once, into scripts/site/node_modules')
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: __dirname, stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) throw new Error('npm ci failed: see above')
}

/** Copies the pages with the links that they have on the site, and the pictures. */
function writePages () {
  const { repository } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'))
  const address = repository ? repository.url.replace(/^git\+/, '').replace(/\.git$/, '') : null
  const site = createSite(root, address)
  fs.rmSync(source, { recursive: true, force: true })
  for (const page of site.pages) write(page.target, site.contentOf(page))
  for (const picture of site.pictures()) {
    const file = path.join(source, 'public', picture)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.copyFileSync(path.join(root, picture), file)
  }
  const list = site.pages.map(({ target, title }) => ({ target, title }))
  write('pages.json', JSON.stringify({ pages: list, address }))
}

/** @type {(name: string, text: string) => void} */
function write (name, text) {
  const file = path.join(source, name)
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, text)
}

if (require.main === module) {
  buildSite(process.argv.slice(2))
  console.log(`the site is in ${path.relative(process.cwd(), output)}`)
}

exports.buildSite = buildSite
exports.output = output
