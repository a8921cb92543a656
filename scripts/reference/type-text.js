'use strict'
// Types as texts that people read, with the names in them that have a section of their own.

const ts = require('typescript')

/**
 * @typedef {import('typescript').Type} Type
 * @typedef {import('typescript').TypeNode} TypeNode
 * @typedef {import('typescript').Symbol} Symbol
 * @typedef {{ text: string, symbols: Symbol[] }} TypeText  the symbols are of the names in it
 */

const FLAGS = ts.NodeBuilderFlags.UseAliasDefinedOutsideCurrentScope | ts.NodeBuilderFlags.NoTruncation |
  ts.NodeBuilderFlags.UseStructuralFallback | ts.NodeBuilderFlags.AllowAnonymousIdentifier
const printer = ts.createPrinter({ removeComments: true, omitTrailingSemicolon: true })
const emptyFile = ts.createSourceFile('types.ts', '', ts.ScriptTarget.ESNext)
// What the compiler writes out of what nobody would.
const NOISE = [
  [/(?:typeof )?import\("[^"]*"\)\.|(?:typeof )?import\('[^']*'\)\./g, ''],
  [/\b(Buffer|DataView|\w+Array)<ArrayBuffer(?:Like)?>/g, '$1'],
  [/<any>/g, ''],
  [/\s*\n\s*/g, ' '],
  [/;( })/g, '$1'],
  [/; (?=\w+\??:)/g, ', '],
  [/(\?: [^,;{}()]*?) \| undefined/g, '$1'],
  [/\b(FastifyInstance)<[^()]*?FastifyTypeProviderDefault>/g, '$1']
]

/**
 * @param {import('typescript').TypeChecker} checker
 * @param {Type} type
 * @returns {TypeText}
 */
function ofType (checker, type) {
  const node = checker.typeToTypeNode(type, undefined, FLAGS)
  return node ? ofNode(checker, node) : { text: checker.typeToString(type), symbols: [] }
}

/**
 * @param {import('typescript').TypeChecker} checker
 * @param {TypeNode} node  from a source, or made by the compiler
 * @returns {TypeText}
 */
function ofNode (checker, node) {
  const file = node.pos < 0 ? emptyFile : node.getSourceFile()
  let text = printer.printNode(ts.EmitHint.Unspecified, node, file)
  for (const [pattern, replacement] of NOISE) text = text.replace(pattern, /** @type {string} */ (replacement))
  /** @type {Symbol[]} */
  const symbols = []
  const visit = (/** @type {import('typescript').Node} */ node) => {
    const name = nameIn(node)
    // Names that the compiler has made know their symbol only by this property.
    const known = name && /** @type {any} */ (name).symbol
    const symbol = known ?? (name && name.pos >= 0 ? checker.getSymbolAtLocation(name) : undefined)
    if (symbol) symbols.push(symbol)
    ts.forEachChild(node, visit)
  }
  visit(node)
  return { text, symbols }
}

/** @param {import('typescript').Node} node */
function nameIn (node) {
  if (ts.isTypeReferenceNode(node)) return ts.isQualifiedName(node.typeName) ? node.typeName.right : node.typeName
  if (!ts.isImportTypeNode(node) || !node.qualifier) return undefined
  return ts.isQualifiedName(node.qualifier) ? node.qualifier.right : node.qualifier
}

/** @param {string} text @returns {string[]}  the parts of a union, as they are written */
function splitUnion (text) {
  /** @type {string[]} */
  const parts = []
  let depth = 0
  let from = 0
  for (let place = 0; place < text.length; place++) {
    if ('([{<'.includes(text[place])) depth++
    // Not of an arrow.
    if (')]}'.includes(text[place]) || (text[place] === '>' && text[place - 1] !== '=')) depth--
    // The result of a function that is not in parentheses reaches to the end.
    if (depth === 0 && text.startsWith('=>', place)) break
    if (depth !== 0 || !text.startsWith(' | ', place)) continue
    parts.push(text.slice(from, place))
    from = place + 3
  }
  return [...parts, text.slice(from)].map((part) => part.trim())
}

exports.ofType = ofType
exports.ofNode = ofNode
exports.splitUnion = splitUnion
