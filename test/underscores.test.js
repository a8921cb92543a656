'use strict'
// A name that begins with an underscore is its package's own. No other package reads it, calls it or overrides it.

const fs = require('node:fs')
const path = require('node:path')
const { parse } = require('acorn')
const tape = require('tape')

const packages = path.join(__dirname, '..', 'packages')
const names = fs.readdirSync(packages)

/** The sources of a package that are published. @param {string} name */
function sourcesOf (name) {
  const files = fs.readdirSync(path.join(packages, name), { recursive: true }).map((file) => file.split(path.sep).join('/'))
  return files.filter((file) => /\.m?js$/.test(file) && !/^(test|node_modules|types)\//.test(file)).map((file) => {
    const text = fs.readFileSync(path.join(packages, name, file), 'utf8')
    const sourceType = /^(import|export) /m.test(text) ? 'module' : 'script'
    return { file: `${name}/${file}`, ast: parse(text, { ecmaVersion: 'latest', allowHashBang: true, sourceType }) }
  })
}

/** @param {any} key  of a member, property or method */
function isOwnName ({ type, name }) {
  return type === 'Identifier' && /^_[^_]/.test(name)
}

/** Visits every node of a tree. @type {(node: any, visit: (node: any) => void) => void} */
function walk (node, visit) {
  if (Array.isArray(node)) return node.forEach((one) => walk(one, visit))
  if (node === null || typeof node !== 'object' || typeof node.type !== 'string') return
  visit(node)
  for (const [name, child] of Object.entries(node)) if (name !== 'type') walk(child, visit)
}

/**
 * The names with an underscore in one source: those that it declares, as a member of a class or of an object; those
 * that it reads on what is not `this`; and the members of its classes that extend a class of another package.
 * @param {any} ast
 */
function namesIn (ast) {
  const imported = new Set(importedIn(ast))
  /** @type {Set<string>} */
  const declared = new Set()
  /** @type {string[]} */
  const read = []
  /** @type {string[]} */
  const overriding = []
  /** Members of those classes are no declarations. @type {Set<any>} */
  const foreign = new Set()
  walk(ast, (node) => {
    const { type } = node
    if (/^Class(Decl|Expr)/.test(type) && imported.has(node.superClass?.name)) {
      const own = node.body.body.filter((/** @type {any} */ { key }) => key && isOwnName(key))
      for (const member of own) foreign.add(member)
      overriding.push(...own.map((/** @type {any} */ { key }) => key.name))
    }
    const isOfOther = type === 'MemberExpression' && !node.computed && !/^(This|Super)/.test(node.object.type)
    // `process._exiting` is of Node.js.
    if (isOfOther && isOwnName(node.property) && node.object.name !== 'process') read.push(node.property.name)
    const target = type === 'AssignmentExpression' ? node.left : null
    if (target?.type === 'MemberExpression' && target.object.type === 'ThisExpression' && isOwnName(target.property)) {
      declared.add(target.property.name)
    }
    if (/^(Method|Property)Definition$/.test(type) && isOwnName(node.key) && !foreign.has(node)) declared.add(node.key.name)
    if (type === 'ObjectExpression') for (const { key } of node.properties) if (key && isOwnName(key)) declared.add(key.name)
    if (type === 'ObjectPattern') for (const { key } of node.properties) if (key && isOwnName(key)) read.push(key.name)
  })
  return { declared, read, overriding }
}

/** What a source requires of other packages of the house. @param {any} ast @returns {string[]} */
function importedIn (ast) {
  /** @type {string[]} */
  const found = []
  walk(ast, ({ type, id, init }) => {
    if (type !== 'VariableDeclarator' || id.type !== 'ObjectPattern' || init?.callee?.name !== 'require') return
    if (!String(init.arguments[0]?.value).startsWith('@millrace/')) return
    for (const { value } of id.properties) found.push(value.name)
  })
  return found
}

const found = names.map((name) => {
  return { name, sources: sourcesOf(name).map(({ file, ast }) => ({ file, ...namesIn(ast) })) }
})

tape("underscores: no package touches what is another one's own", (t) => {
  /** @type {Record<string, { reads?: Record<string, number>, overrides?: string[] }>} */
  const touched = {}
  for (const { sources } of found) {
    const own = new Set(sources.flatMap(({ declared }) => [...declared]))
    for (const { file, read, overriding } of sources) {
      /** @type {Record<string, number>} */
      const reads = {}
      for (const one of read.filter((one) => !own.has(one))) reads[one] = (reads[one] ?? 0) + 1
      if (Object.keys(reads).length > 0) touched[file] = { reads }
      if (overriding.length > 0) touched[file] = { ...touched[file], overrides: overriding }
    }
  }
  t.deepEqual(touched, {})
  t.end()
})
