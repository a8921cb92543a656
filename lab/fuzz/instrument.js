'use strict'
// Puts a counter into a source: at the start of every function and of every turn of a loop. Lines stay where they are.

const acorn = require('acorn')

const LOOPS = new Set(['ForStatement', 'ForInStatement', 'ForOfStatement', 'WhileStatement', 'DoWhileStatement'])
const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])
const COUNT = '++$steps.n > $steps.max && $steps.stop()'

/**
 * @param {string} source  of a CommonJS module
 * @returns {string}  the same, counting in what it finds under the name `$steps`
 */
function instrument (source) {
  const program = acorn.parse(source, { ecmaVersion: 'latest', sourceType: 'script', allowReturnOutsideFunction: true })
  /** @type {Array<{ at: number, text: string }>} */
  const insertions = []
  visit(program, (node) => {
    if (!LOOPS.has(node.type) && !FUNCTIONS.has(node.type)) return
    const { body } = node
    if (body.type === 'BlockStatement') {
      insertions.push({ at: body.start + 1, text: `${COUNT};` })
    } else if (LOOPS.has(node.type)) {
      insertions.push({ at: body.start, text: `{${COUNT};` }, { at: body.end, text: '}' })
    } else {
      insertions.push({ at: body.start, text: `(${COUNT}, ` }, { at: body.end, text: ')' })
    }
  })
  return insert(source, insertions)
}

/**
 * @param {any} node
 * @param {(node: any) => void} onNode
 */
function visit (node, onNode) {
  if (Array.isArray(node)) return node.forEach((child) => visit(child, onNode))
  if (node === null || typeof node !== 'object' || typeof node.type !== 'string') return
  onNode(node)
  for (const child of Object.values(node)) if (child !== null && typeof child === 'object') visit(child, onNode)
}

/**
 * @param {string} source
 * @param {Array<{ at: number, text: string }>} insertions  those of what is inside come after those around it
 */
function insert (source, insertions) {
  const isClosing = (/** @type {{ text: string }} */ { text }) => text.length === 1
  const opening = insertions.filter((insertion) => !isClosing(insertion))
  // What ends where something around it ends is closed first.
  const closing = insertions.filter(isClosing).reverse()
  let result = ''
  let done = 0
  for (const { at, text } of [...closing, ...opening].sort((one, other) => one.at - other.at)) {
    result += source.slice(done, at) + text
    done = at
  }
  return result + source.slice(done)
}

exports.instrument = instrument
