'use strict'
// The tables of options: one for each call, and once only what many calls share.

const ts = require('typescript')
const { formatNumber, splitDefault, table } = require('./markdown')
const { isOurs } = require('./shapes')

/**
 * @typedef {import('./shapes').Field} Field
 * @typedef {import('./shapes').Call} Call
 * @typedef {{ link: string, fields: Field[] }} Shown  a table, and a link to its section
 */

// So few are shown at each call.
const FEW = 3

class Options {
  #packages
  #shapes
  #words
  #folder
  /** What has no description. @type {string[]} */
  missing = []
  /** Whether those are noted. */
  isNoting = true
  /** The tables of this page. @type {Shown[]} */
  #shown = []

  /**
   * @param {import('./packages').Packages} packages
   * @param {import('./shapes').Shapes} shapes
   * @param {import('./words').Words} words
   * @param {string} folder  of the package
   */
  constructor (packages, shapes, words, folder) {
    this.#packages = packages
    this.#shapes = shapes
    this.#words = words
    this.#folder = folder
  }

  /** @param {Call | null} call @returns {Field[]} */
  fieldsOf (call) {
    const parameters = (call?.parameters ?? []).filter(({ isOptions }) => isOptions)
    return this.#shapes.fieldsOf(parameters.flatMap(({ types }) => types)).filter(({ symbol }) => isOurs(symbol))
  }

  /**
   * The call that shows the options that others have, too: the one with most of them.
   * @template T
   * @param {Array<{ call: Call | null, place: T }>} calls
   * @returns {{ place: T, fields: Field[] } | null}
   */
  findHolder (calls) {
    const all = calls.map(({ call, place }) => ({ place, fields: this.fieldsOf(call) }))
    const [most] = all.filter(({ fields }) => fields.length > FEW).sort((a, b) => b.fields.length - a.fields.length)
    return most ?? null
  }

  /**
   * What an earlier table has is only named.
   * @param {Field[]} fields
   * @param {string} around  a text that may say what an option does
   * @param {string} link  to the section of these options
   * @param {Shown | null} [holder]  the table that has what many calls share
   */
  show (fields, around, link, holder = null) {
    const isIn = (/** @type {Shown} */ shown, /** @type {Field} */ field) => {
      return shown.fields.some(({ symbol }) => isSame(symbol, field.symbol))
    }
    const from = [...holder === null ? [] : [holder], ...this.#shown].find((shown) => {
      return fields.filter((field) => isIn(shown, field)).length > FEW
    })
    if (from === undefined) {
      this.#shown.push({ link, fields })
      return this.#table(this.#ownFirst(fields), around)
    }
    const names = fields.filter((field) => isIn(from, field)).map(({ name }) => `\`${name}\``).join(', ')
    const rest = fields.filter((field) => !isIn(from, field))
    const line = `Options as of ${from.link}: ${names}.`
    return rest.length === 0 ? line : `${line}\n\n${this.#table(rest, around)}`
  }

  /** What other packages bring comes last. @param {Field[]} fields */
  #ownFirst (fields) {
    const isOwn = (/** @type {Field} */ { symbol }) => this.#packages.folderOf(symbol) === this.#folder
    return [...fields.filter(isOwn), ...fields.filter((field) => !isOwn(field))]
  }

  /** @type {(fields: Field[], around: string) => string} */
  #table (fields, around) {
    return table(['option', 'type', 'default', 'description'], fields.flatMap((field) => this.#rows(field, '', around)))
  }

  /** @type {(field: Field, prefix: string, around: string) => string[][]} */
  #rows (field, prefix, around) {
    const name = `${prefix}${field.name}`
    const { text, byDefault } = splitDefault(field.description, field.text.text)
    if (this.isNoting && field.description === '' && !around.includes(`\`${field.name}`)) this.missing.push(`${this.#packages.placeOf(field.symbol)}: ${name}`)
    const inner = this.#innerFields(field)
    const isShown = inner.some(({ description }) => description !== '')
    const type = isShown ? 'object' : this.#words.ofType(field.text)
    const row = [`\`${name}\``, type, byDefault || initialOf(this.#packages.checker, field), this.#words.ofComment(text)]
    // Fields without descriptions are explained together.
    return [row, ...isShown ? inner.flatMap((one) => this.#rows(one, `${name}.`, field.description)) : []]
  }

  /** Of an option that is a group of options. @param {Field} field @returns {Field[]} */
  #innerFields (field) {
    const { checker } = this.#packages
    const type = checker.getNonNullableType(field.type)
    const isObject = (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) !== 0
    if (!isObject || checker.isArrayType(type) || type.getCallSignatures().length > 0) return []
    const fields = this.#shapes.fieldsOf([type])
    const isOption = (/** @type {Field} */ { symbol, isOptional }) => {
      return isOptional && this.#packages.folderOf(symbol) === this.#folder
    }
    return fields.every(isOption) ? fields : []
  }
}

/** @typedef {import('typescript').TypeChecker} Checker */

/** What a table of defaults has that is the type, too. @type {(checker: Checker, field: Field) => string} */
function initialOf (checker, { name, symbol }) {
  const [declaration] = symbol.declarations ?? []
  if (!declaration || !ts.isPropertyAssignment(declaration)) return ''
  return formatNumber(name, evaluate(checker, declaration.initializer))
}

/** NaN if it is no product of numbers. @type {(checker: Checker, node: import('typescript').Expression) => number} */
function evaluate (checker, node) {
  if (ts.isNumericLiteral(node)) return Number(node.text)
  if (ts.isIdentifier(node)) {
    const declaration = checker.getSymbolAtLocation(node)?.valueDeclaration
    const isKnown = declaration && ts.isVariableDeclaration(declaration) && declaration.initializer
    return isKnown ? evaluate(checker, isKnown) : NaN
  }
  if (!ts.isBinaryExpression(node)) return NaN
  const [left, right] = [evaluate(checker, node.left), evaluate(checker, node.right)]
  if (node.operatorToken.kind === ts.SyntaxKind.AsteriskToken) return left * right
  return node.operatorToken.kind === ts.SyntaxKind.AsteriskAsteriskToken ? left ** right : NaN
}

/** @type {(a: import('typescript').Symbol, b: import('typescript').Symbol) => boolean} */
function isSame (a, b) {
  return a === b || (a.declarations?.[0] !== undefined && a.declarations[0] === b.declarations?.[0])
}

exports.Options = Options
