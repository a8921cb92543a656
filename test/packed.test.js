'use strict'
// What is packed of every package, as `npm pack` would take it: its manifest, its files, and where its links lead.
// `npm run pack:check` installs and runs it, too.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const tape = require('tape')
const { newPath, temporaryFolder } = require('@millrace/testkit')
const { linksOf, rewriteLinks } = require('../scripts/pack/links')
const { preparePackage, restorePackage } = require('../scripts/pack/prepare')
const { setAddress } = require('../scripts/pack/set-address')

const root = path.join(__dirname, '..')
const names = fs.readdirSync(path.join(root, 'packages'))
const readManifest = (folder) => JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'))
const manifests = new Map(names.map((name) => [name, readManifest(path.join(root, 'packages', name))]))
const publicNames = new Set([...manifests.values()].map(({ name }) => name))

/** These promise a newer Node.js than the others: fastify > light-my-request > cookie, and @nats-io/nuid, want it. */
const NEWER = { ingest: '>=22.12.0', jetstream: '>=22.12.0' }

/** Besides the package itself and its manifest. */
const SUBPATHS = {
  flow: ['./loopback'],
  framing: ['./survey'],
  ingest: ['./settings'],
  'log-writer': ['./threads'],
  'offset-log': ['./composing', './copies'],
  pino: ['./transport'],
  where: ['./pretty']
}

tape('packed: every manifest says what the registry and its readers need', (t) => {
  for (const [name, manifest] of manifests) {
    t.equal(manifest.name, name === 'millrace' ? name : `@millrace/${name}`)
    t.ok(manifest.description.length > 20 && !manifest.description.endsWith('.'), `${name}: a description`)
    t.ok(new Set(manifest.keywords).size >= 3, `${name}: keywords`)
    t.deepEqual(manifest.publishConfig, { access: 'public', provenance: true }, `${name}: provenance`)
    t.equal(manifest.license, 'MIT')
    const { engines } = readManifest(root)
    t.equal(manifest.engines.node, NEWER[name] ?? engines.node, `${name}: the Node.js that it promises`)
    t.equal(manifest.type, 'commonjs')
    t.deepEqual(Object.keys(manifest.exports), ['.', ...SUBPATHS[name] ?? [], './package.json'], `${name}: exports`)
    t.equal(manifest.exports['.'].default, `./${manifest.main}`)
    t.equal(manifest.exports['.'].types, `./${manifest.types}`)
  }
  t.end()
})

tape('packed: what is exported can be required, and what is behind it cannot', (t) => {
  for (const [name, { name: specifier, exports }] of manifests) {
    for (const subpath of Object.keys(exports)) {
      t.ok(fs.existsSync(require.resolve(path.posix.join(specifier, subpath))), path.posix.join(specifier, subpath))
    }
    const [inner] = fs.readdirSync(path.join(root, 'packages', name, 'lib')).filter((file) => file.endsWith('.js'))
    t.throws(() => require(`${specifier}/lib/${inner}`), { code: 'ERR_PACKAGE_PATH_NOT_EXPORTED' }, inner)
  }
  t.end()
})

/** Copies of all packages, prepared as `npm pack` does, but without declarations. */
function stage () {
  const folder = temporaryFolder()
  for (const name of names) {
    const filter = (file) => !['node_modules', 'test', 'types'].includes(path.basename(file))
    fs.cpSync(path.join(root, 'packages', name), path.join(folder, 'packages', name), { recursive: true, filter })
    preparePackage(name, path.join(folder, 'packages', name))
  }
  return folder
}

const staged = stage()
const { stdout } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', ...names.map((name) => `./packages/${name}`)],
  { cwd: staged, encoding: 'utf8', shell: process.platform === 'win32' })
const packedFiles = new Map(JSON.parse(stdout).map(({ name, files }) => [name, files.map(({ path }) => path)]))

tape('packed: every entry exports what its source exports', (t) => {
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(staged, 'node_modules'), 'junction')
  for (const [name, { exports }] of manifests) {
    const { exports: packedExports } = readManifest(path.join(staged, 'packages', name))
    for (const subpath of Object.keys(exports).filter((subpath) => !/package\.json|worker/.test(subpath))) {
      const [source, packed] = [[root, exports], [staged, packedExports]].map(([place, { [subpath]: target }]) => {
        return require(path.join(place, 'packages', name, target.default ?? target))
      })
      t.deepEqual(Object.keys(packed), Object.keys(source), path.posix.join(name, subpath))
    }
  }
  t.end()
})

tape('packed: what an entry loads needs no require for modules of Node.js: a bundle of ES modules has none, and that of millrace failed', (t) => {
  for (const name of names) {
    const folder = path.join(staged, 'packages', name)
    const files = new Set(Object.values(readManifest(folder).exports).map((target) => target.default ?? target).filter((file) => file.endsWith('.js')))
    const asking = []
    for (const file of files) {
      const text = fs.readFileSync(path.join(folder, file), 'utf8')
      if (/\brequire\('node:/.test(text)) asking.push(file)
      for (const [, target] of text.matchAll(/\brequire\('(\.[^']+)'\)/g)) {
        const found = path.posix.join(path.posix.dirname(file), target)
        if (!found.endsWith('.json')) files.add(found.endsWith('.js') ? found : `${found}.js`)
      }
    }
    t.deepEqual(asking, [], `${name}: ${files.size} files`)
  }
  t.end()
})

tape('packed: the licence, no path of this machine, and no link that leads nowhere', (t) => {
  const places = [root, os.tmpdir(), os.homedir()].filter((place) => place.length > 1)
  for (const [name, { name: specifier }] of manifests) {
    const read = (file) => fs.readFileSync(path.join(staged, 'packages', name, file), 'utf8')
    const files = packedFiles.get(specifier)
    t.equal(read('LICENSE'), fs.readFileSync(path.join(root, 'LICENSE'), 'utf8'), `${name}: its licence`)
    const leaks = files.filter((file) => places.some((place) => read(file).includes(place + path.sep)))
    t.deepEqual(leaks, [], `${name}: no path of this machine`)
    for (const file of files.filter((file) => file.endsWith('.md'))) t.deepEqual(deadLinks(read(file), file, files), [], `${name}: ${file}`)
  }
  t.end()
})

/** Those that lead neither to a file of the package, nor to a published package, nor to another place in the world. */
function deadLinks (markdown, file, files) {
  return linksOf(markdown).filter((link) => {
    const [, name] = link.match(/^https:\/\/www\.npmjs\.com\/package\/(millrace\b|@millrace\/[^#?]+)/) ?? []
    if (name) return !publicNames.has(name)
    if (/^(?:https?:|#)/.test(link)) return false
    return !files.includes(path.posix.join(path.posix.dirname(file), link.split('#')[0]))
  })
}

tape('packed: links lead to the registry, or to the repository once it has an address', (t) => {
  const markdown = 'See [errors](../errors/README.md#the-codes), [what\nsurvives](../../docs/guides/durability.md#syncs), [data](../../data),\n' +
    '[`obz`](https://www.npmjs.com/package/obz), [API](#api), `[no](../link.md)`.\n![Time](../../images/a.svg)\n```js\n// [nor](../this.md)\n```\n'
  const file = 'packages/framing/README.md'
  const edition = { version: '1.2.3', address: null, travelsAs: (path) => path === file ? 'README.md' : null }
  t.equal(rewriteLinks(markdown, file, edition), 'See [errors](https://www.npmjs.com/package/@millrace/errors#the-codes), [what\n' +
    'survives](https://www.npmjs.com/package/millrace?activeTab=code), data,\n' +
    '[`obz`](https://www.npmjs.com/package/obz), [API](#api), `[no](../link.md)`.\n\n```js\n// [nor](../this.md)\n```\n')
  const at = 'https://example.org/owner/name'
  t.equal(rewriteLinks(markdown, file, { ...edition, address: at }), `See [errors](${at}/blob/v1.2.3/packages/errors/README.md#the-codes), [what\n` +
    `survives](${at}/blob/v1.2.3/docs/guides/durability.md#syncs), [data](${at}/tree/v1.2.3/data),\n` +
    '[`obz`](https://www.npmjs.com/package/obz), [API](#api), `[no](../link.md)`.\n' +
    `![Time](${at}/raw/v1.2.3/images/a.svg)\n\`\`\`js\n// [nor](../this.md)\n\`\`\`\n`)
  const travels = { ...edition, travelsAs: (path) => path === 'packages/millrace/README.md' ? 'README.md' : path.startsWith('docs/') ? path : null }
  t.equal(rewriteLinks('[a](../../docs/a.md#b)', 'packages/millrace/README.md', travels), '[a](docs/a.md#b)')
  t.equal(rewriteLinks('[a](b.md) [r](../packages/millrace/README.md)', 'docs/a.md', travels), '[a](b.md) [r](../README.md)')
  t.end()
})

tape('packed: what packing changes in a folder is undone', (t) => {
  const folder = newPath('framing')
  fs.cpSync(path.join(root, 'packages', 'framing'), folder, { recursive: true })
  const stateOf = () => [fs.readdirSync(folder), ...['README.md', 'package.json'].map((file) => fs.readFileSync(path.join(folder, file), 'utf8'))]
  const before = stateOf()
  preparePackage('framing', folder)
  // Cut off, and begun again.
  preparePackage('framing', folder)
  restorePackage(folder)
  t.deepEqual(stateOf(), before)
  t.end()
})

tape('packed: one call writes the address of the repository wherever it is needed, and another replaces it', (t) => {
  const copy = temporaryFolder()
  for (const file of ['package.json', 'SECURITY.md', ...names.map((name) => `packages/${name}/package.json`)]) {
    fs.mkdirSync(path.dirname(path.join(copy, file)), { recursive: true })
    fs.copyFileSync(path.join(root, file), path.join(copy, file))
  }
  t.throws(() => setAddress(copy, ''), /expected an address/)
  setAddress(copy, 'https://example.org/first/one')
  setAddress(copy, 'https://example.org/owner/name')
  for (const name of names) {
    const directory = `packages/${name}`
    const { homepage, bugs, repository, ...rest } = readManifest(path.join(copy, directory))
    t.deepEqual({ homepage, bugs, repository }, {
      homepage: `https://example.org/owner/name/tree/main/${directory}#readme`,
      bugs: 'https://example.org/owner/name/issues',
      repository: { type: 'git', url: 'git+https://example.org/owner/name.git', directory }
    })
    const { homepage: _, bugs: __, repository: ___, ...before } = manifests.get(name)
    t.deepEqual(rest, before, `${name}: all else is as it was`)
  }
  const security = fs.readFileSync(path.join(copy, 'SECURITY.md'), 'utf8')
  t.equal(security.split('https://example.org/owner/name/security/advisories/new').length, 2)
  t.notOk(/no public address|first\/one/.test(security))
  t.end()
})
