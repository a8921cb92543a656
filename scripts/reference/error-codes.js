'use strict'
// The section of the error codes: what each means, who gives it, and what to do.

const fs = require('node:fs')
const path = require('node:path')
const ts = require('typescript')
const { codes } = require('../../packages/errors/lib/codes')
const { slugOf } = require('../anchors')
const { groups } = require('./error-advice')
const { prose, table } = require('./markdown')
const { root } = require('./packages')

// So many packages are all of them.
const ALL_COUNT = 12
const HEAD = `# Error codes

*This page is generated: \`npm run reference\` writes it, from the table of codes, the advice for each, and the types and
comments of [@millrace/errors](../../packages/errors/README.md).*

Branch on \`err.code\` and on the [fields](#properties-of-logerror) of the error, never on the words of a message: the words
may change. Constructors and synchronous functions throw. A method that takes a callback or returns a promise delivers
every failure there, misuse too. In messages and below, a *framing* is the file format of a log: the checked framing is the
default; the offset framings (\`offset32\`, \`offset48\`, \`offset53\`) are those of flumelog-offset.

The table is in the order of the alphabet. The sections are in the order of how urgent a code is.`

/** @returns {string} */
function createErrorCodes () {
  const givers = findGivers()
  const rows = Object.keys(codes).sort().map((code) => {
    return [`[\`${code}\`](#${slugOf(code)})`, prose(codes[/** @type {keyof typeof codes} */ (code)], () => null)]
  })
  const sections = groups.map(({ title, text, codes }) => {
    const all = Object.entries(codes).map(([code, advice]) => describe(code, advice, givers.get(code) ?? []))
    return [`## ${title}`, text, ...all].join('\n\n')
  })
  return [HEAD, table(['code', 'meaning'], rows), ...sections, '## The package'].join('\n\n')
}

/** @type {(code: string, advice: import('./error-advice').Advice, givers: string[]) => string} */
function describe (code, { means, todo }, givers) {
  const links = givers.map((folder) => `[${folder}](${folder}.md)`).join(', ')
  const from = givers.length >= ALL_COUNT ? 'nearly all packages' : links
  const text = (/** @type {string} */ text) => prose(text, () => null).replaceAll(`[\`${code}\`](errors.md#`, `[\`${code}\`](#`)
  return [
    `### \`${code}\``,
    text(means),
    `**What to do.** ${text(todo)}`,
    ...from === '' ? [] : [`From: ${from}.`]
  ].join('\n\n')
}

/** The packages whose sources give a code, and do not only look for it. @returns {Map<string, string[]>} */
function findGivers () {
  /** @type {Map<string, string[]>} */
  const givers = new Map()
  const packages = path.join(root, 'packages')
  for (const folder of fs.readdirSync(packages).filter((name) => !['errors', 'testkit'].includes(name)).sort()) {
    for (const code of codesIn(path.join(packages, folder))) givers.set(code, [...givers.get(code) ?? [], folder])
  }
  return givers
}

/** @param {string} folder  of a package @returns {Set<string>} */
function codesIn (folder) {
  /** @type {Set<string>} */
  const found = new Set()
  const names = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })
  for (const name of names.filter((name) => /^(?:lib[\\/].*|[^\\/]*)\.js$/.test(name))) {
    const file = path.join(folder, name)
    const source = ts.createSourceFile(file, fs.readFileSync(file, 'utf8'), ts.ScriptTarget.ESNext, true)
    const visit = (/** @type {import('typescript').Node} */ node) => {
      if (ts.isStringLiteral(node) && Object.hasOwn(codes, node.text) && isGiven(node)) found.add(node.text)
      if (ts.isIdentifier(node) && node.text === 'misuse' && ts.isCallExpression(node.parent)) found.add('ERR_INVALID_ARGUMENT')
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
  return found
}

/** @param {import('typescript').StringLiteral} node */
function isGiven ({ parent }) {
  const compares = ts.isBinaryExpression(parent) && parent.operatorToken.getText().includes('=')
  const isListed = ts.isArrayLiteralExpression(parent) || ts.isCaseClause(parent)
  return !isListed && (!compares || parent.operatorToken.kind === ts.SyntaxKind.EqualsToken)
}

exports.createErrorCodes = createErrorCodes
