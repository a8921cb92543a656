'use strict'
// The declarations of every package, as they are packed, in programs of consumers that are compiled strictly.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const ts = require('typescript')
const { newPath, temporaryFolder } = require('@millrace/testkit')
const { stagePackages } = require('../scripts/pack/prepare')
const { listDocuments } = require('../scripts/pages')
const { examplesOf } = require('./readme-examples')

const root = path.join(__dirname, '..')
const names = fs.readdirSync(path.join(root, 'packages'))
// The front door is published under the name of the project itself.
const publishedName = (name) => name === 'millrace' ? name : `@millrace/${name}`
const isWindows = process.platform === 'win32'
const PACKED = /^(?:package\.json|README\.md|LICENSE|(?:dist\/)?(?:bundle|index|survey|composing|copies|loopback|pretty|settings|threads|transport|lib\/.+)\.js|bin\/.+\.js|viewer\/\w+\.(?:mjs|html|css)|types\/(?:index|survey|composing|copies|loopback|pretty|settings|threads|transport|lib\/.+)\.d\.ts|docs\/(?:[\w-]+\/)*[\w-]+\.md|images\/[\w-]+\.svg)$/
const OPTIONS = {
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: false,
  allowJs: true,
  checkJs: true,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts'],
  types: []
}

const { packedFiles, consumer } = layOut()

tape('types: declarations have no parameter that only some types of Node.js know: those of version 25 refused that of EventEmitter', (t) => {
  for (const [name, files] of packedFiles) {
    const wrong = files.filter((file) => file.endsWith('.d.ts')).filter((file) => {
      return /\bEventEmitter<|\b(?:Buffer|Uint8Array)<Array/.test(fs.readFileSync(path.join(consumer, 'node_modules', name, file), 'utf8'))
    })
    t.deepEqual(wrong, [], name)
  }
  t.end()
})

/** The packages with their declarations, what `npm pack` takes of them, and a program that has installed just that. */
function layOut () {
  const folder = temporaryFolder()
  const packageOf = (name) => path.join(folder, 'packages', name)
  stagePackages(folder)

  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', ...names.map((name) => `./packages/${name}`)]
  const { stdout, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8', shell: isWindows })
  if (!stdout) throw new Error(stderr)
  const packedFiles = new Map(JSON.parse(stdout).map(({ name, files }) => [name, files.map((file) => file.path)]))

  const consumer = path.join(folder, 'consumer')
  fs.cpSync(path.join(__dirname, 'consumer'), consumer, { recursive: true })
  fs.writeFileSync(path.join(consumer, 'package.json'), '{ "private": true }\n')
  for (const name of names) {
    for (const file of packedFiles.get(publishedName(name))) {
      const target = path.join(consumer, 'node_modules', publishedName(name), file)
      fs.mkdirSync(path.dirname(target), { recursive: true })
      fs.copyFileSync(path.join(packageOf(name), file), target)
    }
  }
  for (const name of ['pino', 'obz', 'fast-check', 'pure-rand', 'pull-stream', '@types/node', 'undici-types', 'fastify', 'prom-client',
    '@nats-io/jetstream', '@nats-io/transport-node']) {
    const link = path.join(consumer, 'node_modules', name)
    fs.mkdirSync(path.dirname(link), { recursive: true })
    fs.symlinkSync(path.join(root, 'node_modules', name), link, 'junction')
  }
  // Lerna brings an older one, so npm keeps ours beside its package.
  const commander = path.dirname(require.resolve('commander', { paths: [path.join(root, 'packages', 'millrace')] }))
  fs.symlinkSync(commander, path.join(consumer, 'node_modules', 'commander'), 'junction')
  return { packedFiles, consumer }
}

/**
 * @param {string[]} files  of the consumer
 * @param {import('typescript').CompilerOptions} options
 * @param {Set<number>} [ignored]  codes of problems
 */
function compile (files, options, ignored = new Set()) {
  const all = { ...OPTIONS, outDir: path.join(consumer, 'out'), rootDir: consumer, ...options }
  const program = ts.createProgram(files.map((file) => path.join(consumer, file)), all, createHost(all))
  // The declarations of other projects, which are linked from elsewhere, are checked by these.
  const isOurs = ({ file }) => !file || !path.relative(consumer, file.fileName).startsWith('..')
  const found = ts.getPreEmitDiagnostics(program).filter((problem) => isOurs(problem) && !ignored.has(problem.code))
  const problems = found.map(({ file, start = 0, messageText }) => {
    const line = file && file.getLineAndCharacterOfPosition(start).line + 1
    return `${file && path.relative(consumer, file.fileName)}:${line} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  })
  return { program, problems }
}

/** The same library files for every program, parsed once. */
const parsed = new Map()
function createHost (options) {
  const host = ts.createCompilerHost(options)
  const { getSourceFile } = host
  host.getSourceFile = (file, languageVersion, ...rest) => {
    const key = `${file} ${languageVersion.impliedNodeFormat}`
    if (!parsed.has(key)) parsed.set(key, getSourceFile.call(host, file, languageVersion, ...rest))
    return parsed.get(key)
  }
  host.getCurrentDirectory = () => consumer
  return host
}

tape('types: what is packed of a package is its sources, their declarations and what must be', (t) => {
  for (const name of names) {
    const files = packedFiles.get(publishedName(name))
    t.deepEqual(files.filter((file) => !PACKED.test(file)), [], `${name}: nothing else`)
    for (const file of ['package.json', 'README.md', 'LICENSE', 'dist/index.js', 'types/index.d.ts']) {
      t.ok(files.includes(file), `${name}: ${file}`)
    }
    const sources = fs.readdirSync(path.join(root, 'packages', name, 'lib'), { recursive: true })
      .filter((file) => file.endsWith('.js')).map((file) => `lib/${file.split(path.sep).join('/')}`)
    const missing = sources.filter((file) => !files.includes(`types/${file.replace(/\.js$/, '.d.ts')}`))
    t.deepEqual(missing, [], `${name}: declarations of each source`)
    const declarations = files.filter((file) => file.startsWith('types/lib/'))
    t.equal(declarations.length, sources.length, `${name}: and of no others`)
    const { scripts } = JSON.parse(fs.readFileSync(path.join(root, 'packages', name, 'package.json'), 'utf8'))
    t.equal(scripts.prepack, `node ../../scripts/pack/prepare.js ${name}`, `${name}: emitted when it is packed`)
    t.equal(scripts.postpack, `${scripts.prepack} --undo`)
  }
  t.end()
})

/** The examples in TypeScript of every README, as modules of the consumer. */
function readmeExamples () {
  const readmes = ['README.md', ...names.map((name) => path.join('packages', name, 'README.md'))]
  return readmes.flatMap((readme) => {
    const file = path.join(root, readme)
    const markdown = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
    return examplesOf(markdown, 'ts').map((example, index) => {
      const module = `${readme.replace(/\W/g, '-')}-${index}.mts`
      fs.writeFileSync(path.join(consumer, module), example)
      return module
    })
  })
}

/** What only TypeScript asks of a program: types of parameters, a look if a value is there, declarations of others. */
const NOT_IN_JAVASCRIPT = new Set([2307, 2531, 2532, 7005, 7006, 7016, 7031, 7034, 7053, 18046, 18047, 18048])
/** Their examples take members out of what may not be there, or is not known. */
const CARELESS = ['docs/cookbook/outbox.md', 'packages/forwarder/README.md', 'packages/framing/README.md',
  'packages/ingest/README.md']

/** The examples in JavaScript, as modules whose types are checked. */
function javaScriptExamples () {
  const pages = ['README.md', ...names.map((name) => `packages/${name}/README.md`), ...listDocuments()]
  return pages.filter((page) => !CARELESS.includes(page) && fs.existsSync(path.join(root, page))).flatMap((page) => {
    return examplesOf(fs.readFileSync(path.join(root, page), 'utf8')).map((example, index) => {
      const module = `js-${page.replace(/\W/g, '-')}-${index}.${/^import /m.test(example) ? 'mjs' : 'cjs'}`
      fs.writeFileSync(path.join(consumer, module), example)
      return module
    })
  })
}

const examples = readmeExamples()
const { program, problems } = compile([
  ...examples, 'api.ts', 'testkit.ts', 'cjs.cts', 'esm.mts', 'checked.cjs',
  ...names.flatMap((name) => packedFiles.get(publishedName(name)).filter((file) => file.endsWith('.d.ts'))
    .map((file) => `node_modules/${publishedName(name)}/${file}`))
], { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext })

tape('types: consumers compile with nodenext, from import and from require, and so does every declaration', (t) => {
  t.ok(examples.length > 0, 'and examples of READMEs')
  t.deepEqual(problems, [])
  t.end()
})

tape('types: examples in JavaScript use logs and destinations as their declarations say', (t) => {
  const files = javaScriptExamples()
  t.ok(files.length > 30, `${files.length} examples`)
  const options = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, types: ['node'] }
  t.deepEqual(compile(files, options, NOT_IN_JAVASCRIPT).problems, [])
  t.end()
})

tape('types: consumers compile as bundlers resolve, and as Node.js 10 did', (t) => {
  const { ESNext, CommonJS } = ts.ModuleKind
  const { Bundler, Node10 } = ts.ModuleResolutionKind
  t.deepEqual(compile(['api.ts'], { module: ESNext, moduleResolution: Bundler }).problems, [], 'bundler')
  const old = { module: CommonJS, moduleResolution: Node10, skipLibCheck: true }
  t.deepEqual(compile(['api.ts'], old).problems, [], 'node10')
  t.end()
})

tape('types: consumers and examples compile with exact optional properties, in node16 and as bundlers resolve', (t) => {
  const exact = { exactOptionalPropertyTypes: true, skipLibCheck: false }
  const { ESNext, Node16 } = ts.ModuleKind
  const node16 = { ...exact, module: Node16, moduleResolution: ts.ModuleResolutionKind.Node16 }
  const bundler = { ...exact, module: ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler }
  for (const [name, options] of Object.entries({ node16, bundler })) {
    t.deepEqual(compile([...examples, 'api.ts', 'esm.mts'], options).problems, [], name)
  }
  t.end()
})

tape('types: what is compiled runs', (t) => {
  t.notOk(program.emit().emitSkipped)
  for (const [file, output] of [['esm.mjs', 'esm well\n'], ['cjs.cjs', 'cjs well\n'], ['checked.cjs', 'js well\n']]) {
    const { stdout, stderr } = spawnSync(process.execPath, [path.join('out', file)], { cwd: consumer, encoding: 'utf8' })
    t.equal(stdout, output, `${file} ${stderr}`)
  }
  t.end()
})

const checker = program.getTypeChecker()

/** What a package declares, by name: values, types, and what is both. */
function declaredBy (name) {
  const file = program.getSourceFile(path.join(consumer, 'node_modules', publishedName(name), 'types', 'index.d.ts'))
  return new Map(checker.getExportsOfModule(checker.getSymbolAtLocation(file)).map((symbol) => {
    return [symbol.name, symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol]
  }))
}

tape('types: a package exports what its declarations say', (t) => {
  for (const name of names) {
    const values = [...declaredBy(name)].filter(([, { flags }]) => flags & ts.SymbolFlags.Value)
    t.deepEqual(values.map(([value]) => value).sort(), Object.keys(require(`../packages/${name}`)).sort(), name)
  }
  t.end()
})

tape('types: a log has what its declarations say', async (t) => {
  const symbol = declaredBy('offset-log').get('OffsetLog')
  const names = checker.getDeclaredTypeOfSymbol(symbol).getProperties().map((property) => property.name)
  const declared = names.filter((name) => !name.startsWith('__@'))
  const log = require('../packages/offset-log').OffsetLog(newPath('a.log'))
  const ofOneFile = Object.getPrototypeOf(log)
  const ofClasses = [ofOneFile, Object.getPrototypeOf(ofOneFile)].flatMap((prototype) => {
    return Object.entries(Object.getOwnPropertyDescriptors(prototype))
  })
  const accessors = ofClasses.filter(([name, { get }]) => get && name !== '__proto__').map(([name]) => name)
  const found = [...Object.keys(log), ...accessors].filter((name) => !name.startsWith('_'))
  t.deepEqual(declared.sort(), found.sort())
  t.ok(names.some((name) => name.startsWith('__@asyncDispose')) && Symbol.asyncDispose in log)
  await log.close()
})
