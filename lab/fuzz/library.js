'use strict'
// The packages under test, as they are or with a counter in them. Both can be loaded side by side.

const fs = require('node:fs')
const { createRequire } = require('node:module')
const path = require('node:path')
const vm = require('node:vm')
const { instrument } = require('./instrument')

const ROOT = path.join(__dirname, '..', '..')

class Library {
  /**
   * @param {object} [options]
   * @param {string} [options.root]  of the house to load from, this one by default
   * @param {import('./steps').StepCounter | null} [options.counter]  what the sources count their steps in
   */
  constructor ({ root = ROOT, counter = null } = {}) {
    this._packages = path.join(fs.realpathSync(root), 'packages')
    this._counter = counter
    /** @type {Map<string, { exports: any }>} */
    this._modules = new Map()
    /** @type {Map<string, any>} what was asked for */
    this._loaded = new Map()
    this._isShipped = counter === null && root === ROOT
  }

  /**
   * @param {string} name  of a package, and perhaps a file of it: 'framing/lib/head.js'
   * @returns {any}  what it exports
   */
  load (name) {
    let exported = this._loaded.get(name)
    if (exported === undefined) {
      const file = path.join(this._packages, name.endsWith('.js') ? name : path.join(name, 'index.js'))
      exported = this._isShipped ? require(file) : this._load(file)
      this._loaded.set(name, exported)
    }
    return exported
  }

  /** Whether the file is there: what is still being built is left alone. @param {string} name */
  has (name) {
    return fs.existsSync(path.join(this._packages, name))
  }

  /** @param {string} file */
  _load (file) {
    const known = this._modules.get(file)
    if (known) return known.exports
    const module = { exports: {} }
    this._modules.set(file, module)
    const source = fs.readFileSync(file, 'utf8')
    const code = this._counter ? instrument(source) : source
    // Named apart, so that whoever measures coverage does not take it for the original.
    const filename = this._counter ? `${file}#counted` : file
    const parameters = ['exports', 'require', 'module', '__filename', '__dirname', '$steps']
    const run = vm.compileFunction(code, parameters, { filename })
    run(module.exports, this._createRequire(file), module, file, path.dirname(file), this._counter)
    return module.exports
  }

  /** @param {string} file */
  _createRequire (file) {
    const original = createRequire(file)
    return (/** @type {string} */ request) => {
      if (request.startsWith('node:')) return original(request)
      const resolved = original.resolve(request)
      const isOurs = resolved.startsWith(this._packages + path.sep) && resolved.endsWith('.js')
      return isOurs ? this._load(resolved) : original(request)
    }
  }
}

exports.Library = Library
