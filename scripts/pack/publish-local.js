'use strict'
// Publishes all packages as a release would, with lerna, but to a registry of its own on this machine, and installs
// them from there: lerna has no dry run. It takes verdaccio, and whatever the packages need, from the registry that npm
// is set to. Usage: npm run pack:publish

const assert = require('node:assert')
const { spawn } = require('node:child_process')
const fs = require('node:fs')
const net = require('node:net')
const path = require('node:path')
const { install, mustRun, temporaryFolder } = require('./consumer')

const root = path.join(__dirname, '..', '..')
const START_MS_MAX = 120_000

main().catch((err) => {
  console.error(err)
  process.exitCode = 1
})

async function main () {
  const folder = temporaryFolder()
  const registry = await startRegistry(folder)
  try {
    const tree = await copyTree(path.join(folder, 'tree'), registry)
    await mustRun('npm', ['run', 'lerna', '--', 'publish', 'from-package', '--yes', '--registry', registry.url],
      { cwd: tree, env: { ...process.env, CI: 'true' } })
    const changes = await mustRun('git', ['status', '--porcelain'], { cwd: tree })
    assert.strictEqual(changes, '', 'publishing leaves the tree as it was')

    const manifests = fs.readdirSync(path.join(tree, 'packages')).map((name) => readManifest(path.join(tree, 'packages', name)))
    const consumer = path.join(folder, 'consumer')
    fs.mkdirSync(consumer)
    fs.writeFileSync(path.join(consumer, '.npmrc'), registry.npmrc)
    await install(consumer, manifests.map(({ name, version }) => `${name}@${version}`))
    for (const { name, version } of manifests) {
      const installed = path.join(consumer, 'node_modules', name)
      const { version: published, main } = readManifest(installed)
      assert.strictEqual(published, version)
      for (const file of [main, 'LICENSE', 'README.md', 'types/index.d.ts']) assert.ok(fs.existsSync(path.join(installed, file)), `${name}: ${file}`)
      await mustRun(process.execPath, ['-e', `require('${name}')`], { cwd: consumer })
      console.log(`ok  ${name}@${version}: published, installed, required`)
    }
  } finally {
    registry.stop()
  }
}

/**
 * @typedef {{ url: string, npmrc: string, stop: () => void }} Registry  with what a `.npmrc` must say of it
 * @param {string} folder
 * @returns {Promise<Registry>}
 */
async function startRegistry (folder) {
  const tools = path.join(folder, 'tools')
  fs.mkdirSync(tools)
  // It asks for a tag of node-fetch, which mirrors of the registry may not have.
  fs.writeFileSync(path.join(tools, 'package.json'), '{ "private": true, "overrides": { "node-fetch": "^2.7.0" } }\n')
  await install(tools, ['verdaccio@6'])
  const uplink = (await mustRun('npm', ['config', 'get', 'registry'], { cwd: root })).trim()
  const config = path.join(folder, 'verdaccio.yaml')
  const own = (/** @type {string} */ pattern) => `  '${pattern}': { access: $all, publish: $authenticated, unpublish: $authenticated }`
  fs.writeFileSync(config, `storage: ${JSON.stringify(path.join(folder, 'storage'))}
auth: { htpasswd: { file: ${JSON.stringify(path.join(folder, 'htpasswd'))} } }
uplinks: { upstream: { url: ${JSON.stringify(uplink)} } }
packages:
${own('@millrace/*')}
${own('millrace')}
  '**': { access: $all, proxy: upstream }
max_body_size: 100mb
web: { enable: false }
log: { type: stdout, format: pretty, level: error }
`)
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}/`
  const bin = path.join(tools, 'node_modules', 'verdaccio', 'bin', 'verdaccio')
  const child = spawn(process.execPath, [bin, '--config', config, '--listen', `127.0.0.1:${port}`], { stdio: ['ignore', 'inherit', 'inherit'] })
  const stop = () => { child.kill() }
  try {
    await waitUntilUp(url)
    const token = await addUser(url)
    return { url, stop, npmrc: `registry=${url}\n//127.0.0.1:${port}/:_authToken=${token}\n` }
  } catch (err) {
    stop()
    throw err
  }
}

/** @returns {Promise<number>} */
function findFreePort () {
  return new Promise((resolve, reject) => {
    const server = net.createServer().on('error', reject).listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
      server.close(() => resolve(port))
    })
  })
}

/** @param {string} url */
async function waitUntilUp (url) {
  for (const endMs = Date.now() + START_MS_MAX; ;) {
    const isUp = await fetch(`${url}-/ping`).then(({ ok }) => ok, () => false)
    if (isUp) return
    if (Date.now() > endMs) throw new Error(`the registry at ${url} did not start within ${START_MS_MAX} ms`)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/**
 * @param {string} url
 * @returns {Promise<string>}  a token that may publish
 */
async function addUser (url) {
  const body = JSON.stringify({ name: 'publisher', password: 'of-this-machine-only' })
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${url}-/user/org.couchdb.user:publisher`, { method: 'PUT', headers, body })
  const { token } = /** @type {{ token?: string }} */ (await response.json())
  if (!token) throw new Error(`the registry gave no token: ${response.status}`)
  return token
}

/**
 * The working tree as a repository of its own, since lerna publishes from a clean one.
 * @param {string} tree
 * @param {Registry} registry
 */
async function copyTree (tree, registry) {
  const listed = await mustRun('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root })
  for (const file of listed.split('\0').filter((file) => file && fs.existsSync(path.join(root, file)))) {
    fs.mkdirSync(path.dirname(path.join(tree, file)), { recursive: true })
    fs.copyFileSync(path.join(root, file), path.join(tree, file))
  }
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(tree, 'node_modules'), 'junction')
  fs.writeFileSync(path.join(tree, '.npmrc'), registry.npmrc)
  for (const name of fs.readdirSync(path.join(tree, 'packages'))) {
    const manifest = readManifest(path.join(tree, 'packages', name))
    // Only the registry's own CI can prove where a package comes from.
    delete manifest.publishConfig.provenance
    fs.writeFileSync(path.join(tree, 'packages', name, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  }
  const git = (/** @type {string[]} */ ...args) => mustRun('git', ['-c', 'user.name=publisher', '-c', 'user.email=publisher@localhost', ...args], { cwd: tree })
  await git('init', '-q')
  fs.appendFileSync(path.join(tree, '.git', 'info', 'exclude'), 'node_modules\n')
  await git('add', '-A')
  await git('commit', '-qm', 'What is to be published')
  return tree
}

/** @param {string} folder */
function readManifest (folder) {
  return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'))
}
