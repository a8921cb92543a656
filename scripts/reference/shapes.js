'use strict'
// The shapes that a page shows: calls with their parameters, options, and the members of an object. Calls that differ
// only in a callback or in the kind of an argument are shown as one.

const ts = require('typescript')
const { descriptionOf, parametersOf, returnsOf } = require('./comments')
const { folderOfFile } = require('./packages')
const { ofNode, ofType, splitUnion } = require('./type-text')

/**
 * @typedef {import('typescript').Type} Type
 * @typedef {import('typescript').Symbol} Symbol
 * @typedef {import('typescript').Signature} Signature
 * @typedef {import('./type-text').TypeText} TypeText
 *
 * @typedef {object} Parameter
 * @property {string} name
 * @property {boolean} isOptional
 * @property {boolean} isRest
 * @property {boolean} isOptions  whether its fields are shown in a table
 * @property {TypeText} type
 * @property {Type[]} types  of all calls
 * @property {string} description
 *
 * @typedef {object} Call
 * @property {Parameter[]} parameters
 * @property {TypeText} returns
 * @property {Type[]} returnTypes
 * @property {string} returnsText  what a tag says
 * @property {boolean} takesCallback
 *
 * @typedef {object} Field  of options or of an object
 * @property {string} name
 * @property {Symbol} symbol
 * @property {Type} type
 * @property {TypeText} text
 * @property {boolean} isOptional
 * @property {string} description
 */

const FLAGS = ts.NodeBuilderFlags.UseAliasDefinedOutsideCurrentScope | ts.NodeBuilderFlags.NoTruncation |
  ts.NodeBuilderFlags.UseStructuralFallback
const OPTIONS_NAME = /^(?:options|settings|given)$/
// Tells a compiler what is wrong with a call; nobody calls it.
const MISTAKES = ['ListIsABatch']

class Shapes {
  #checker

  /** @param {import('./packages').Packages} packages */
  constructor (packages) {
    this.#checker = packages.checker
  }

  /** @param {Type} type @param {'call' | 'construct'} [kind] @returns {Call | null} */
  callOf (type, kind = 'call') {
    const signatures = kind === 'call' ? type.getCallSignatures() : type.getConstructSignatures()
    const calls = signatures.map((signature) => this.#read(signature))
      .filter(({ returns }) => !MISTAKES.some((name) => returns.text.includes(name)))
    if (calls.length === 0) return null
    // What calls back is said in a sentence.
    const plain = calls.filter(({ returns }) => returns.text !== 'void')
    const isPromised = plain.length > 0 && calls.some(({ takesCallback }) => takesCallback)
    return { ...merge(isPromised ? plain : calls), takesCallback: isPromised }
  }

  /** @param {Signature} signature @returns {Call} */
  #read (signature) {
    const checker = this.#checker
    const node = checker.signatureToSignatureDeclaration(signature, ts.SyntaxKind.MethodSignature, undefined, FLAGS)
    // The compiler has the single elements of a tuple of arguments only here.
    const [symbols] = /** @type {Symbol[][]} */ (/** @type {any} */ (checker).getExpandedParameters(signature))
    const texts = parametersOf(signature.declaration)
    const parameters = (node?.parameters ?? []).map((parameter, index) => {
      const type = checker.getTypeOfSymbol(symbols[index])
      const given = symbols[index].name
      const name = texts[index]?.name ?? (given.startsWith('__') ? 'options' : given)
      const text = parameter.type ? ofNode(checker, parameter.type) : ofType(checker, type)
      return {
        name,
        isOptional: parameter.questionToken !== undefined,
        isRest: parameter.dotDotDotToken !== undefined,
        isOptions: this.#isOptions(name, type, text.text),
        type: withoutUndefined(text, parameter.questionToken !== undefined),
        types: [type],
        description: texts[index]?.text ?? ''
      }
    })
    const returnType = signature.getReturnType()
    const returns = node?.type ? ofNode(checker, node.type) : ofType(checker, returnType)
    const result = { returnTypes: [returnType], returnsText: returnsOf(signature.declaration) }
    const last = parameters.at(-1)
    const called = last && /^\(?NodeCallback(?:<(.*)>)?/.exec(last.type.text)
    if (!last || !called) return { ...result, parameters, returns, takesCallback: false }
    // Without a callback, the call returns a promise.
    const isBoth = last.isOptional && /^(?:any|Promise\b)/.test(returns.text)
    const promise = returns.text === 'any'
      ? {
          text: `Promise<${called[1] ?? 'any'}>`, symbols: last.type.symbols.filter(({ name }) => name !== 'NodeCallback')
        }
      : returns
    return {
      ...result,
      parameters: isBoth ? parameters.slice(0, -1) : parameters,
      returns: isBoth ? promise : returns,
      takesCallback: true
    }
  }

  /** @type {(name: string, type: Type, text: string) => boolean} */
  #isOptions (name, type, text) {
    if (!OPTIONS_NAME.test(name) && !/^\w*Options\b/.test(text)) return false
    const fields = this.fieldsOf([type])
    return fields.length > 0 && fields.some(({ symbol }) => isOurs(symbol))
  }

  /**
   * The fields of all the types, as one list.
   * @param {Type[]} types
   * @returns {Field[]}
   */
  fieldsOf (types) {
    /** @type {Map<string, Symbol[]>} */
    const found = new Map()
    for (const type of types) {
      const object = this.#checker.getNonNullableType(type)
      if (this.#isList(object)) continue
      for (const symbol of this.#checker.getPropertiesOfType(object)) {
        if (/^(?:_|#|prototype$)/.test(symbol.name)) continue
        found.set(symbol.name, [...found.get(symbol.name) ?? [], symbol])
      }
    }
    return [...found].map(([name, symbols]) => this.#field(name, symbols)).filter(({ text }) => text.text !== 'undefined')
  }

  /** @param {Type} type */
  #isList (type) {
    const plain = ts.TypeFlags.StringLike | ts.TypeFlags.NumberLike | ts.TypeFlags.BooleanLike
    return (type.flags & plain) !== 0 || this.#checker.isArrayType(type) || this.#checker.isTupleType(type)
  }

  /** @type {(name: string, symbols: Symbol[]) => Field} */
  #field (name, symbols) {
    const checker = this.#checker
    const described = symbols.find((symbol) => descriptionOf(symbol) !== '') ?? symbols[0]
    const type = checker.getTypeOfSymbol(described)
    const isOptional = symbols.some(({ flags }) => flags & ts.SymbolFlags.Optional)
    // As it is written in the source, if one place says it.
    const nodes = new Set(symbols.flatMap(({ declarations = [] }) => declarations.map(typeNodeOf)))
    const node = (described.declarations ?? []).map(typeNodeOf).find((node) => node !== undefined)
    const isOnePlace = nodes.size === 1 || descriptionOf(described) !== ''
    const literals = literalsOf(checker.getNonNullableType(type))
    const all = () => joinTexts(symbols.map((symbol) => ofType(checker, checker.getTypeOfSymbol(symbol))))
    const written = node && isOnePlace ? ofNode(checker, node) : all()
    const text = literals === '' ? withoutUndefined(written, isOptional) : { text: literals, symbols: [] }
    return { name, symbol: described, type, text, isOptional, description: descriptionOf(described) }
  }

  /** Whether it is called, and has nothing else. @type {(type: Type, symbol: Symbol) => boolean} */
  isMethod (type, symbol) {
    const target = this.#checker.getNonNullableType(type)
    const isFunction = (symbol.flags & ts.SymbolFlags.Method) !== 0 || target.getCallSignatures().length > 0
    return isFunction && this.#checker.getPropertiesOfType(target).length === 0
  }

  /** As its typedef says it. @type {(type: Type, typedef?: import('typescript').JSDocTypedefTag) => TypeText} */
  textOf (type, typedef) {
    const written = typedef?.typeExpression
    const node = written && ts.isJSDocTypeExpression(written) ? written.type : undefined
    const literals = literalsOf(type)
    if (literals !== '') return { text: literals, symbols: [] }
    return node ? ofNode(this.#checker, node) : ofType(this.#checker, type)
  }

  /** What a call gives in the end. @param {Type} type @returns {Type} */
  awaited (type) {
    return this.#checker.getNonNullableType(this.#checker.getAwaitedType(type) ?? type)
  }
}

/** @param {Call[]} calls @returns {Call} */
function merge (calls) {
  const longest = Math.max(...calls.map(({ parameters }) => parameters.length))
  const parameters = Array.from({ length: longest }, (_, index) => {
    const all = calls.flatMap(({ parameters }) => parameters[index] ?? [])
    return {
      ...all[0],
      isOptional: all.length < calls.length || all.some(({ isOptional }) => isOptional),
      isOptions: all.some(({ isOptions }) => isOptions),
      type: joinTexts(all.map(({ type }) => type)),
      types: all.flatMap(({ types }) => types),
      description: all.find(({ description }) => description !== '')?.description ?? ''
    }
  })
  return {
    parameters,
    returns: joinResults(calls.map(({ returns }) => returns)),
    returnTypes: calls.flatMap(({ returnTypes }) => returnTypes),
    returnsText: calls.find(({ returnsText }) => returnsText !== '')?.returnsText ?? '',
    takesCallback: false
  }
}

/** @param {TypeText[]} texts @returns {TypeText} */
function joinTexts (texts) {
  const parts = new Set(texts.flatMap(({ text }) => splitUnion(text)))
  if (parts.has('true') && parts.has('false')) parts.add('boolean')
  if (parts.has('boolean')) for (const part of ['true', 'false']) parts.delete(part)
  return { text: [...parts].join(' | '), symbols: texts.flatMap(({ symbols }) => symbols) }
}

/** `A<B> | A<C>` is written as `A<B | C>`. @param {TypeText[]} texts @returns {TypeText} */
function joinResults (texts) {
  const { text, symbols } = joinTexts(texts)
  /** @type {Map<string, Set<string>>} */
  const heads = new Map()
  for (const part of splitUnion(text)) {
    const [, head = part, inner = ''] = /^(\w+)<(.*)>$/.exec(part) ?? []
    const parts = heads.get(head) ?? new Set()
    for (const one of splitUnion(inner)) parts.add(one)
    heads.set(head, parts)
  }
  const joined = [...heads].map(([head, parts]) => {
    const inner = [...parts].filter(Boolean).join(' | ')
    return inner === '' ? head : `${head}<${inner}>`
  })
  return { text: joined.join(' | '), symbols }
}

/** @type {(text: TypeText, isOptional: boolean) => TypeText} */
function withoutUndefined ({ text, symbols }, isOptional) {
  if (!isOptional) return { text, symbols }
  const parts = splitUnion(text).filter((part) => part !== 'undefined')
  const [only] = parts
  const inner = /^\((.*=>.*)\)$/.exec(only ?? '')?.[1] ?? ''
  const isFunction = parts.length === 1 && inner !== '' && splitUnion(inner).length === 1
  return { text: isFunction ? inner : parts.join(' | ') || text, symbols }
}

/** The texts that a value may be, if it is one of a few; otherwise empty. @param {Type} type */
function literalsOf (type) {
  if (!type.isUnion() || type.types.length > 6 || !type.types.every((part) => part.isStringLiteral())) return ''
  return type.types.map((part) => `'${/** @type {import('typescript').StringLiteralType} */ (part).value}'`).join(' | ')
}

/** @param {import('typescript').Declaration} declaration @returns {import('typescript').TypeNode | undefined} */
function typeNodeOf (declaration) {
  if (ts.isJSDocPropertyTag(declaration)) {
    const type = declaration.typeExpression?.type
    return type && !ts.isJSDocTypeLiteral(/** @type {any} */ (type)) ? type : undefined
  }
  return ts.isPropertySignature(declaration) ? declaration.type : undefined
}

/** @param {Symbol} symbol */
function isOurs (symbol) {
  const file = symbol.declarations?.[0]?.getSourceFile().fileName
  return file !== undefined && folderOfFile(file) !== null
}

exports.Shapes = Shapes
exports.isOurs = isOurs
