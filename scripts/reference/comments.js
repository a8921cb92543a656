'use strict'
// What the comments of the sources say about a symbol: its description and its tags.

const ts = require('typescript')

/**
 * @typedef {import('typescript').Symbol} Symbol
 * @typedef {import('typescript').Node} Node
 * @typedef {{ name: string, text: string }} Tag  such as `throws`, with what follows it
 */

/** @param {Symbol} symbol @returns {string} */
function descriptionOf (symbol) {
  const declarations = symbol.declarations ?? []
  const texts = declarations.map(describeDeclaration)
  return texts.find((text) => text !== '') ?? declarations.map(describeInTypedef).find((text) => text !== '') ?? ''
}

/**
 * The members of a short type have no comments of their own: its description names them, as in `sync`: whether to sync.
 * @param {Node} node
 */
function describeInTypedef (node) {
  if (!ts.isPropertySignature(node) && !ts.isMethodSignature(node)) return ''
  const typedef = ts.findAncestor(node, ts.isJSDocTypedefTag)
  const name = `\`${node.name.getText()}`
  const sentences = typedef ? describeTypedef(typedef).split(/(?<=\.) (?=[A-Z`])/) : []
  const own = sentences.filter((sentence) => sentence.includes(name)).join(' ')
  return own.startsWith(`${name}\`: `) ? own.slice(name.length + 3) : own
}

/** @param {Node} node @returns {string} */
function describeDeclaration (node) {
  if (ts.isJSDocTypedefTag(node) || ts.isJSDocCallbackTag(node)) return describeTypedef(node)
  if (ts.isJSDocPropertyTag(node) || ts.isJSDocParameterTag(node)) return textOf(node.comment)
  const blocks = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc)
  const ofType = blocks.flatMap(({ tags = [] }) => [...tags]).filter(ts.isJSDocTypeTag)
  return join([...blocks, ...ofType].map(({ comment }) => textOf(comment))) || describeOverload(node) ||
    lineCommentsBefore(node)
}

/** Comments of whole lines right before the types of a method. @param {Node} node */
function lineCommentsBefore (node) {
  if (!ts.isMethodDeclaration(node) && !ts.isFunctionDeclaration(node)) return ''
  const text = node.getSourceFile().text
  const ranges = ts.getLeadingCommentRanges(text, node.pos) ?? []
  const texts = ranges.map(({ pos, end }) => text.slice(pos, end))
  const isBlock = texts.at(-1)?.startsWith('/**') ?? false
  const lines = isBlock ? texts.slice(0, -1) : []
  // With an empty line after it, a comment is about more than this.
  const isNear = lines.length > 0 && !/\n\s*\n/.test(text.slice(ranges[lines.length - 1].end, ranges[lines.length].pos))
  return isNear && lines.every((line) => line.startsWith('//')) ? lines.map((line) => line.slice(2).trim()).join(' ') : ''
}

/** The first comment of a function with overloads says what it does. @param {Node} node */
function describeOverload (node) {
  const { jsDoc: blocks = [] } = /** @type {{ jsDoc?: import('typescript').JSDoc[] }} */ (/** @type {unknown} */ (node))
  return textOf(blocks.find(({ tags = [] }) => tags.some(ts.isJSDocOverloadTag))?.comment)
}

/**
 * The text before several typedefs in one comment is about the first of them.
 * @param {import('typescript').JSDocTypedefTag | import('typescript').JSDocCallbackTag} node
 */
function describeTypedef (node) {
  const block = node.parent
  const own = textOf(node.comment)
  if (!ts.isJSDoc(block)) return own
  const typedefs = (block.tags ?? []).filter((tag) => ts.isJSDocTypedefTag(tag) || ts.isJSDocCallbackTag(tag))
  return typedefs[0] === node ? join([textOf(block.comment), own]) : own
}

/** @param {Symbol} symbol @returns {Tag[]} */
function tagsOf (symbol) {
  return (symbol.declarations ?? []).flatMap((node) => ts.getJSDocCommentsAndTags(node)).filter(ts.isJSDoc)
    .flatMap(({ tags = [] }) => [...tags].map((tag) => ({ name: tag.tagName.text, text: tagText(tag) })))
}

/** @param {import('typescript').JSDocTag} tag */
function tagText (tag) {
  // The compiler takes the type of this tag for one, and keeps it out of the text.
  const type = ts.isJSDocThrowsTag(tag) && tag.typeExpression ? tag.typeExpression.type.getText() : ''
  return join([type, textOf(tag.comment)], ' ')
}

/**
 * What the tags of parameters say, by the place of the parameter.
 * @param {import('typescript').SignatureDeclaration | import('typescript').JSDocSignature | undefined} declaration
 * @returns {Array<{ name: string, text: string } | null>}
 */
function parametersOf (declaration) {
  if (!declaration || ts.isJSDocSignature(declaration)) return []
  return declaration.parameters.map((parameter) => {
    const [tag] = ts.getJSDocParameterTags(parameter)
    return tag ? { name: tag.name.getText(), text: textOf(tag.comment) } : null
  })
}

/** @param {import('typescript').SignatureDeclaration | import('typescript').JSDocSignature | undefined} declaration */
function returnsOf (declaration) {
  return declaration ? textOf(ts.getJSDocReturnTag(declaration)?.comment) : ''
}

/** @param {string | import('typescript').NodeArray<import('typescript').JSDocComment> | undefined} comment */
function textOf (comment) {
  return (ts.getTextOfJSDocComment(comment) ?? '').replace(/\s*\n\s*/g, ' ').trim()
}

/** @type {(texts: string[], separator?: string) => string} */
function join (texts, separator = ' ') {
  return texts.filter(Boolean).join(separator)
}

exports.descriptionOf = descriptionOf
exports.parametersOf = parametersOf
exports.returnsOf = returnsOf
exports.tagsOf = tagsOf
