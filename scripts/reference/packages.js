'use strict'
// The packages as the compiler sees them: what each of their entries exports, and where each name comes from.

const fs = require('node:fs')
const path = require('node:path')
const ts = require('typescript')

/**
 * @typedef {import('typescript').Symbol} Symbol
 *
 * @typedef {object} Export
 * @property {string} name
 * @property {Symbol | null} value  null if the name is only a type
 * @property {Symbol | null} type  null if the name is only a value
 *
 * @typedef {object} Entry
 * @property {string} specifier  what a program requires, such as `@millrace/offset-log/composing`
 * @property {Export[]} exports
 *
 * @typedef {object} Package
 * @property {string} folder  its name in `packages`
 * @property {string} name
 * @property {string} description
 * @property {Entry[]} entries  the main one first
 */

const root = path.join(__dirname, '..', '..')
const packagesFolder = path.join(root, 'packages')

class Packages {
  constructor () {
    const manifests = fs.readdirSync(packagesFolder).sort().map((folder) => {
      const text = fs.readFileSync(path.join(packagesFolder, folder, 'package.json'), 'utf8')
      return { folder, manifest: JSON.parse(text) }
    })
    const files = manifests.flatMap(({ folder, manifest }) => entryFiles(folder, manifest).map(({ file }) => file))
    const program = ts.createProgram([...files, path.join(root, 'types.d.ts')], readOptions())
    this.checker = program.getTypeChecker()
    /** @type {Package[]} */
    this.list = manifests.map(({ folder, manifest }) => ({
      folder,
      name: manifest.name,
      description: manifest.description,
      entries: entryFiles(folder, manifest).map(({ specifier, file }) => {
        const module = this.checker.getSymbolAtLocation(/** @type {any} */ (program.getSourceFile(file)))
        const names = module ? this.checker.getExportsOfModule(module) : []
        return { specifier, exports: this.#whole(module, specifier) ?? names.map((symbol) => this.#describe(symbol)) }
      })
    }))
  }

  /** A module that is one function. @type {(module: Symbol | undefined, specifier: string) => Export[] | null} */
  #whole (module, specifier) {
    const whole = module?.exports?.get(/** @type {any} */ ('export='))
    const value = whole && this.resolve(whole)
    if (!value || this.checker.getTypeOfSymbol(value).getCallSignatures().length === 0) return null
    return [{ name: path.posix.basename(specifier), value, type: null }]
  }

  /** @type {(symbol: Symbol) => Export} */
  #describe (symbol) {
    const target = this.#handedOn(this.resolve(symbol))
    // A name may be both: that of a constructor, and that of what it makes.
    const isType = isTypeAlias(symbol) || isTypeAlias(target) || isClass(target)
    const isValue = (target.flags & ts.SymbolFlags.Value) !== 0
    const type = isTypeAlias(symbol) ? this.resolveType(symbol) : target
    return { name: symbol.name, value: isValue ? target : null, type: isType ? this.resolveType(type) : null }
  }

  /** What another package has, if a value has the type of it: it is loaded late. @type {(value: Symbol) => Symbol} */
  #handedOn (value) {
    const type = value.declarations?.map((node) => ts.getJSDocType(node)).find((type) => type !== undefined)
    if (!type || !ts.isImportTypeNode(type) || !type.isTypeOf || !type.qualifier) return value
    const symbol = this.checker.getSymbolAtLocation(type.qualifier)
    return symbol ? this.resolve(symbol) : value
  }

  /** Where a symbol is declared, as people look it up. @param {Symbol} symbol */
  placeOf (symbol) {
    const node = symbol.declarations?.[0]
    const file = node?.getSourceFile()
    if (!node || !file) return ''
    return `${path.relative(root, file.fileName)}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
  }

  /** What an import or an export leads to. @type {(symbol: Symbol) => Symbol} */
  resolve (symbol) {
    return symbol.flags & ts.SymbolFlags.Alias ? this.checker.getAliasedSymbol(symbol) : symbol
  }

  /**
   * The typedef that has the description: others only give it a name in another file.
   * @type {(symbol: Symbol) => Symbol}
   */
  resolveType (symbol) {
    const target = this.resolve(symbol)
    const type = target.declarations?.find(isTypedef)?.typeExpression
    if (!type || !ts.isJSDocTypeExpression(type) || !ts.isImportTypeNode(type.type)) return target
    const next = type.type.qualifier && this.checker.getSymbolAtLocation(type.type.qualifier)
    return next === undefined || next === target ? target : this.resolveType(next)
  }

  /**
   * The folder of the package that declares it; null for what is not of this project.
   * @type {(symbol: Symbol) => string | null}
   */
  folderOf (symbol) {
    const file = symbol.declarations?.[0]?.getSourceFile().fileName
    return file === undefined ? null : folderOfFile(file)
  }
}

/** @param {string} file @returns {string | null} */
function folderOfFile (file) {
  const [folder, ...rest] = path.relative(packagesFolder, file).split(path.sep)
  return folder === '..' || rest.includes('node_modules') ? null : folder
}

/** @type {(folder: string, manifest: any) => Array<{ specifier: string, file: string }>} */
function entryFiles (folder, manifest) {
  // Without declarations of its own, an entry is a file for a bundler or a thread.
  return Object.entries(manifest.exports).filter(([, target]) => target.types).map(([subpath, target]) => ({
    specifier: path.posix.join(manifest.name, subpath),
    file: path.join(packagesFolder, folder, target.default)
  }))
}

function readOptions () {
  /** @param {import('typescript').Diagnostic} problem */
  const fail = ({ messageText }) => { throw new Error(String(messageText)) }
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail }
  const config = ts.getParsedCommandLineOfConfigFile(path.join(root, 'tsconfig.json'), { noCheck: true }, host)
  if (!config) throw new Error('tsconfig.json cannot be read')
  return config.options
}

/** @param {Symbol} symbol */
function isTypeAlias (symbol) {
  return (symbol.flags & ts.SymbolFlags.TypeAlias) !== 0
}

/** @param {Symbol} symbol */
function isClass (symbol) {
  return (symbol.flags & ts.SymbolFlags.Class) !== 0
}

/** @type {(node: import('typescript').Node) => node is import('typescript').JSDocTypedefTag} */
function isTypedef (node) {
  return ts.isJSDocTypedefTag(node)
}

exports.Packages = Packages
exports.folderOfFile = folderOfFile
exports.root = root
