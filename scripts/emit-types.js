'use strict'
// Emits the declarations of the packages, from the JSDoc of their sources, into the folder `types` of each, as packing
// them does. Usage: node scripts/emit-types.js [package ...]

const fs = require('node:fs')
const path = require('node:path')
const ts = require('typescript')

/** @typedef {import('typescript').Node} Node */

const root = path.join(__dirname, '..')
const packages = path.join(root, 'packages')
// Nothing is ever there: what the compiler writes to it goes to the packages.
const OUT = path.join(root, 'types')
// Files that mention these need the types of Node.js, also in programs that name no types at all.
const NODE_NAMES = /\b(?:Buffer|NodeJS|AbortSignal|URL|asyncDispose)\b|["']node:/
const NODE_REFERENCE = '/// <reference types="node" />\n'
// What another package keeps for itself: the compiler names types by the file that they are in.
const INSIDES = /import\("(@millrace\/[^"/]+)\/lib\/[^"]+"\)\.(\w+)/g
// Older compilers, and older types of Node.js, know these without a parameter only.
const PARAMETERS = /\b(Buffer|DataView|\w+Array)<ArrayBuffer(?:Like)?>/g
// Newer types of Node.js refuse the parameter that older ones give it by default.
const EVENTS = /\bEventEmitter<\[never\]>/g

/**
 * @param {string[]} names  of packages
 * @param {(name: string) => string} folderOf  where the folder `types` of a package goes
 * @param {{ check?: boolean }} [options]  false for `check` emits whatever the sources say, in half the time
 * @returns {string[]}  what is wrong with the sources; nothing is written then
 */
function emitTypes (names, folderOf, { check = true } = {}) {
  const program = createProgram(names, check)
  const problems = check ? [...ts.getPreEmitDiagnostics(program)] : []
  /** @type {Map<string, string>} */
  const texts = new Map()
  const { diagnostics } = program.emit(undefined, (file, text) => {
    const [name, ...rest] = path.relative(OUT, file).split(path.sep)
    if (names.includes(name)) texts.set(path.join(folderOf(name), 'types', ...rest), finish(text))
  }, undefined, true, { afterDeclarations: [hidePrivateMembers] })
  problems.push(...diagnostics)
  if (problems.length > 0) return problems.map(describe)
  // What is left of modules that are gone would be packed too.
  for (const name of names) fs.rmSync(path.join(folderOf(name), 'types'), { recursive: true, force: true })
  for (const [file, text] of texts) {
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, text)
  }
  return []
}

/**
 * @param {string[]} names
 * @param {boolean} check
 */
function createProgram (names, check) {
  const emit = { noEmit: false, declaration: true, emitDeclarationOnly: true, rootDir: packages, outDir: OUT }
  /** @type {import('typescript').ParseConfigFileHost} */
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: (problem) => { throw new Error(describe(problem)) } }
  const file = path.join(root, 'tsconfig.json')
  const config = ts.getParsedCommandLineOfConfigFile(file, { ...emit, noCheck: !check }, host)
  if (!config) throw new Error(`${file} cannot be read`)
  const folders = names.map((name) => path.join(packages, name) + path.sep)
  return ts.createProgram(config.fileNames.filter((file) => {
    return file.endsWith('.d.ts') || folders.some((folder) => path.normalize(file).startsWith(folder))
  }), config.options)
}

/**
 * Members whose names begin with _ are nobody's business outside.
 * @type {import('typescript').TransformerFactory<import('typescript').SourceFile | import('typescript').Bundle>}
 */
function hidePrivateMembers (context) {
  /** @type {(node: Node) => Node | undefined} */
  const visit = (node) => {
    const name = ts.isClassElement(node) && node.name && ts.isIdentifier(node.name) ? node.name.text : ''
    if (name.startsWith('_')) return undefined
    // The compiler cannot visit those of a type literal.
    return ts.isAccessor(node) ? node : ts.visitEachChild(node, visit, context)
  }
  return (file) => ts.visitEachChild(file, visit, context)
}

/** @param {string} text */
function finish (text) {
  const plain = text.replace(PARAMETERS, '$1').replace(EVENTS, 'EventEmitter').replace(INSIDES, 'import("$1").$2')
  return NODE_NAMES.test(plain.replace(/\/\*[\s\S]*?\*\//g, '')) ? NODE_REFERENCE + plain : plain
}

/** @param {import('typescript').Diagnostic} problem */
function describe ({ file, start = 0, messageText }) {
  const text = ts.flattenDiagnosticMessageText(messageText, '\n')
  if (!file) return text
  const { line } = file.getLineAndCharacterOfPosition(start)
  return `${path.relative(root, file.fileName)}:${line + 1}: ${text}`
}

if (require.main === module) {
  const names = process.argv.length > 2 ? process.argv.slice(2) : fs.readdirSync(packages)
  const problems = emitTypes(names, (name) => path.join(packages, name))
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length > 0 ? 1 : 0
}

exports.emitTypes = emitTypes
