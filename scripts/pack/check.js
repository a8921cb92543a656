'use strict'
// Packs all packages, installs the tarballs in an empty folder, and uses them there: from CommonJS, ES modules and
// TypeScript, in bundles, and as their READMEs do. It measures what an installation costs. It gets the tools from the
// registry. Usage: npm run pack:check [-- --all]   With --all it installs with the newest Node.js of each line, too.

const assert = require('node:assert')
const { execFileSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { examplesOf, promisedOutput } = require('../../test/readme-examples')
const { install, mustRun, packAll, run, temporaryFolder } = require('./consumer')
const { checkEngines, checkSizes, checkTimes } = require('./thin')

const root = path.join(__dirname, '..', '..')
const TOOLS = ['esbuild@0.28', 'rollup@4', '@rollup/plugin-commonjs@29', '@rollup/plugin-node-resolve@16', '@arethetypeswrong/core@0.18',
  'publint@0.3']
// What examples and declarations need: the versions that the tests here use.
const COMPANIONS = ['typescript', '@types/node', 'pull-stream', 'flumedb', 'flumeview-reduce', 'flumelog-offset', 'flumecodec',
  'pino']
// All 1000 records are in both logs, and 100 of them are found.
const REPORT = { found: [100, 100], partitions: 100, isSound: true, records: 1000 }

/** @typedef {{ folder: string, names: string[] }} Consumer  with the names of the packages in it */

main().catch((err) => {
  console.error(err)
  process.exitCode = 1
})

async function main () {
  const folder = temporaryFolder()
  const tarballs = await packAll(folder)
  const packed = new Map(tarballs.map((tarball) => {
    const manifest = readPacked(tarball)
    return [manifest.name, { tarball, manifest }]
  }))
  await step('what is installed', () => checkSizes(packed))
  await step('the oldest Node.js, strictly', () => checkEngines(packed, { isLong: process.argv.includes('--all') }))
  /** @type {Consumer} */
  const consumer = { folder: path.join(folder, 'consumer'), names: [] }
  fs.mkdirSync(consumer.folder)
  await step('installed in an empty folder', async () => {
    await install(consumer.folder, tarballs)
    const { dependencies } = readManifest(consumer.folder)
    consumer.names = Object.keys(dependencies)
    return `${consumer.names.length} packages`
  })
  await step('CommonJS and ES modules', () => checkImports(consumer))
  await step('tools installed', () => install(consumer.folder, [...TOOLS, ...COMPANIONS.map(ownVersion)]))
  await step('publint and arethetypeswrong', () => lintTarballs(consumer.folder, tarballs))
  await step('processor time of require', async () => checkTimes(consumer.folder))
  await step('TypeScript, strict', () => checkTypes(consumer))
  await step('bundles', () => checkBundles(consumer))
  await step('examples of READMEs', () => checkExamples(consumer))
}

/**
 * @param {string} title
 * @param {() => Promise<unknown>} check
 */
async function step (title, check) {
  const beganMs = Date.now()
  const found = await check()
  console.log(`ok  ${title}${found === undefined ? '' : `: ${found}`}, ${((Date.now() - beganMs) / 1000).toFixed(1)} s`)
}

/** @param {string} folder */
function readManifest (folder) {
  return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'))
}

/** @param {string} tarball @returns {any}  its manifest */
function readPacked (tarball) {
  return JSON.parse(execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' }))
}

/**
 * What other tools find wrong with the manifests, the files and the declarations.
 * @param {string} folder  with the tools
 * @param {string[]} tarballs
 */
async function lintTarballs (folder, tarballs) {
  fs.copyFileSync(path.join(__dirname, 'lint.mjs'), path.join(folder, 'lint.mjs'))
  const found = JSON.parse(await mustRun(process.execPath, ['lint.mjs', ...tarballs], { cwd: folder }))
  assert.deepStrictEqual(found, [])
  return `${tarballs.length} packages`
}

/** @param {string} name */
function ownVersion (name) {
  return `${name}@${readManifest(path.join(root, 'node_modules', name)).version}`
}

/**
 * Every public path, both ways, with the same names.
 * @param {Consumer} consumer
 */
async function checkImports ({ folder, names }) {
  const specifiers = names.flatMap((name) => {
    const { exports } = readManifest(path.join(folder, 'node_modules', name))
    return Object.keys(exports).filter((subpath) => !/package\.json/.test(subpath)).map((subpath) => path.posix.join(name, subpath))
  })
  const list = JSON.stringify(specifiers)
  const print = 'console.log(JSON.stringify(found))'
  fs.writeFileSync(path.join(folder, 'all.cjs'), `const found = ${list}.map((name) => Object.keys(require(name)).sort())\n${print}\n`)
  fs.writeFileSync(path.join(folder, 'all.mjs'), `const found = await Promise.all(${list}.map(async (name) => Object.keys(await import(name)).sort()))\n${print}\n`)
  const required = JSON.parse(await mustRun(process.execPath, ['all.cjs'], { cwd: folder }))
  const imported = JSON.parse(await mustRun(process.execPath, ['all.mjs'], { cwd: folder }))
  // Node.js adds these to what it finds in a CommonJS module.
  const plain = imported.map((/** @type {string[]} */ names) => names.filter((name) => !['default', 'module.exports'].includes(name)))
  assert.deepStrictEqual(plain, required)
  return specifiers.length
}

/** @param {Consumer} consumer */
async function checkTypes ({ folder, names }) {
  const programs = path.join(folder, 'types')
  fs.cpSync(path.join(root, 'test', 'consumer'), programs, { recursive: true })
  for (const name of names) {
    const examples = examplesOf(fs.readFileSync(path.join(folder, 'node_modules', name, 'README.md'), 'utf8'), 'ts')
    for (const [index, example] of examples.entries()) fs.writeFileSync(path.join(programs, `${name.replace(/\W/g, '-')}-${index}.mts`), example)
  }
  const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, allowJs: true, checkJs: true }
  const compilerOptions = { ...strict, target: 'es2022', lib: ['es2023'], types: [], outDir: 'out', rootDir: '.' }
  const tsc = path.join(folder, 'node_modules', 'typescript', 'bin', 'tsc')
  for (const [module, moduleResolution, include] of [['nodenext', 'nodenext', ['*']], ['esnext', 'bundler', ['api.ts']]]) {
    const config = { compilerOptions: { ...compilerOptions, module, moduleResolution, noEmit: module === 'esnext' }, include }
    fs.writeFileSync(path.join(programs, 'tsconfig.json'), JSON.stringify(config))
    await mustRun(process.execPath, [tsc, '-p', '.'], { cwd: programs })
  }
  for (const [file, expected] of [['esm.mjs', 'esm well\n'], ['cjs.cjs', 'cjs well\n'], ['checked.cjs', 'js well\n']]) {
    assert.strictEqual(await mustRun(process.execPath, [path.join('out', file)], { cwd: programs }), expected)
  }
}

/**
 * Each bundle runs where no package is.
 * @param {Consumer} consumer
 */
async function checkBundles ({ folder }) {
  fs.copyFileSync(path.join(root, 'test', 'packed', 'app.mjs'), path.join(folder, 'app.mjs'))
  const esbuild = require(path.join(folder, 'node_modules', 'esbuild'))
  const common = { absWorkingDir: folder, bundle: true, platform: 'node', external: ['@node-rs/crc32'], logLevel: 'error' }
  for (const [format, extension] of /** @type {const} */ ([['cjs', 'js'], ['esm', 'mjs']])) {
    const built = temporaryFolder()
    await esbuild.build({ ...common, format, entryPoints: { app: 'app.mjs' }, outdir: built, outExtension: { '.js': `.${extension}` } })
    assert.deepStrictEqual(await runBundle(built, `app.${extension}`), REPORT, `esbuild, ${format}`)
  }
  for (const [format, extension] of /** @type {const} */ ([['cjs', 'js'], ['es', 'mjs']])) {
    const rolled = temporaryFolder()
    await rollUp(folder, { app: 'app.mjs' }, format, rolled)
    assert.deepStrictEqual(await runBundle(rolled, `app.${extension}`), REPORT, `Rollup, ${format}`)
  }
  return '2 of esbuild, 2 of Rollup'
}

/**
 * @param {string} folder  with Rollup in it
 * @param {Record<string, string>} input
 * @param {'cjs' | 'es'} format
 * @param {string} dir
 */
async function rollUp (folder, input, format, dir) {
  const config = `import commonjs from '@rollup/plugin-commonjs'
import { nodeResolve } from '@rollup/plugin-node-resolve'
export default {
  input: ${JSON.stringify(input)},
  external: [/^node:/, '@node-rs/crc32'],
  plugins: [nodeResolve({ preferBuiltins: true }), commonjs({ ignoreDynamicRequires: true })],
  output: { dir: ${JSON.stringify(dir)}, format: '${format}', exports: 'auto', entryFileNames: '[name].${format === 'es' ? 'mjs' : 'js'}' }
}
`
  fs.writeFileSync(path.join(folder, 'rollup.config.mjs'), config)
  const bin = path.join(folder, 'node_modules', 'rollup', 'dist', 'bin', 'rollup')
  await mustRun(process.execPath, [bin, '--config', 'rollup.config.mjs', '--silent'], { cwd: folder })
}

/**
 * @param {string} folder
 * @param {string} app
 */
async function runBundle (folder, app) {
  const { lock, ...report } = JSON.parse(await mustRun(process.execPath, [app, path.join(folder, 'app.log')], { cwd: folder }))
  assert.ok(['kernel', 'file'].includes(lock))
  return report
}

/** @param {Consumer} consumer */
async function checkExamples ({ folder, names }) {
  let count = 0
  for (const name of names) {
    // Its examples need a server: its own tests run them with one.
    if (name === '@millrace/jetstream') continue
    const examples = examplesOf(fs.readFileSync(path.join(folder, 'node_modules', name, 'README.md'), 'utf8'))
    for (const example of examples) {
      const place = fs.mkdtempSync(path.join(folder, 'example-'))
      fs.writeFileSync(path.join(place, 'example.js'), example)
      const { code, stdout, stderr } = await run(process.execPath, ['example.js'], { cwd: place, timeout: 120_000 })
      assert.strictEqual(code, 0, `${name}: ${stderr}\n${example}`)
      assert.deepStrictEqual(stdout.split('\n').filter(Boolean), promisedOutput(example), name)
      count++
    }
  }
  return count
}
