'use strict'
// What packing makes of the code of a package: few files, which do what its modules did.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { temporaryFolder } = require('@millrace/testkit')
const { bundlePackage } = require('../scripts/pack/bundle')

const MODULES = {
  'index.js': "'use strict'\nconst { a } = require('./lib/a')\nexports.a = a\nexports.late = () => require('./lib/late')\n",
  'other.js': "'use strict'\nexports.b = require('./lib/b')\nexports.only = require('./lib/only').only\n",
  'lib/a.js': "'use strict'\n\n/** A number. */\nexports.count = 0\nconst b = require('./b') // not removed\n/** @type {any} */\nconst process = require('node:process')\n" +
    'exports.a = () => [b.pid(), process.pid, ++exports.count]\n',
  // In a circle with a.js, and with a name that a loader might have.
  'lib/b.js': "'use strict'\nconst a = require('./a')\nconst load = 1, modules = 2\nconst path = require('node:path')\n" +
    'exports.pid = () => [load + modules, path.basename(`x/y`), a.count]\n',
  'lib/late.js': "'use strict'\nexports.a = require('./a')\nexports.deep = require('./deep/deep')\nexports.place = __dirname\n",
  'lib/deep/deep.js': "'use strict'\nexports.b = require('../b')\nexports.version = require('../../package.json').version\n",
  'lib/only.js': "'use strict'\nexports.only = require('./a').count\n"
}
const MANIFEST = {
  name: 'sample',
  version: '1.2.3',
  main: 'index.js',
  exports: { '.': { types: './types/index.d.ts', default: './index.js' }, './other': './other.js', './package.json': './package.json' },
  files: ['index.js', 'other.js', 'lib', 'types']
}

/** Writes a package, and the folder `dist` in it. @param {Record<string, string>} modules */
function bundle (modules) {
  const folder = temporaryFolder()
  for (const [name, text] of Object.entries(modules)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    fs.writeFileSync(path.join(folder, name), text)
  }
  fs.writeFileSync(path.join(folder, 'package.json'), JSON.stringify(MANIFEST))
  const manifest = bundlePackage(folder, MANIFEST)
  const dist = path.join(folder, 'dist')
  return { folder, dist, manifest, text: fs.readFileSync(path.join(dist, 'bundle.js'), 'utf8') }
}

tape('bundle: what is loaded at once is in one file, and the rest beside it', (t) => {
  const { dist, text, manifest } = bundle(MODULES)
  const files = fs.readdirSync(dist, { recursive: true }).map((file) => file.split(path.sep).join('/')).filter((file) => file.endsWith('.js'))
  t.deepEqual(files.sort(), ['bundle.js', 'index.js', 'lib/deep/deep.js', 'lib/late.js', 'lib/only.js', 'other.js'])
  t.deepEqual([...text.matchAll(/^\$add\('([^']+)'/gm)].map(([, name]) => name), ['lib/a.js', 'lib/b.js'])
  t.notOk(/A number|@type/.test(text), 'without JSDoc')
  t.ok(text.includes('// not removed'))
  t.notOk(/require\('node:/.test(text), 'where no require is, modules of Node.js are found all the same')
  const { main, exports, files: packed } = manifest
  t.deepEqual({ main, exports, packed }, {
    main: 'dist/index.js',
    exports: { '.': { types: './types/index.d.ts', default: './dist/index.js' }, './other': './dist/other.js', './package.json': './package.json' },
    packed: ['dist', 'types']
  })
  t.end()
})

tape('bundle: all entries and all late modules share one copy of each module', (t) => {
  const { folder, dist } = bundle(MODULES)
  const [ours, packed] = [folder, dist].map((place) => {
    const { a, late } = require(path.join(place, 'index.js'))
    const first = a()
    const { b, only } = require(path.join(place, 'other.js'))
    const { a: again, deep, place: at } = late()
    const isOne = again.a === a && deep.b === b
    return { first, only, isOne, version: deep.version, second: again.a(), at: path.relative(place, at) }
  })
  t.deepEqual(packed, ours)
  t.deepEqual(packed, {
    first: [[3, 'y', 0], process.pid, 1], only: 1, isOne: true, version: '1.2.3', second: [[3, 'y', 1], process.pid, 2], at: 'lib'
  })
  t.end()
})

tape('bundle: a module that asks for its place, and a file that is no module, are refused', (t) => {
  t.throws(() => bundle({ ...MODULES, 'lib/b.js': 'exports.place = __dirname\n' }), /lib\/b\.js asks for its place, so it must be loaded late/)
  t.throws(() => bundle({ ...MODULES, 'lib/table.json': '{}' }), /lib\/table\.json is packed, but is no module/)
  t.end()
})
