'use strict'
// Pieces of the Markdown of a reference page: texts, cells, tables and blocks of code.

const { codes } = require('../../packages/errors/lib/codes')
const { slugOf } = require('../anchors')
const { splitUnion } = require('./type-text')

const LINE_LENGTH_MAX = 100
const UNITS = [{ unit: 'GiB', size: 2 ** 30 }, { unit: 'MiB', size: 2 ** 20 }, { unit: 'KiB', size: 2 ** 10 }]
const CODE = /(`+)(?:(?!\1)[\s\S])+?\1/g

/** @typedef {(name: string) => string | null} FindLink  where a name has a section */

/**
 * The text of a comment as Markdown: its links lead somewhere, and error codes to their page.
 * @param {string} text
 * @param {FindLink} findLink
 */
function prose (text, findLink) {
  const linked = text.replace(/\{@link(?:code|plain)? +([^\s}|]+)(?:[ |]+([^}]*))?\}/g, (_, target, words) => {
    const address = /^https?:/.test(target) ? target : findLink(target)
    return address === null ? `\`${target}\`` : `[${words?.trim() || `\`${target}\``}](${address})`
  }).replace(/\]\((docs|packages)\//g, (_, folder) => folder === 'docs' ? '](../' : '](../../packages/')
  let from = 0
  let result = ''
  for (const { 0: code, index } of linked.matchAll(CODE)) {
    result += plain(linked.slice(from, index)) + (linkOfCode(code.slice(1, -1), linked[index - 1]) ?? code)
    from = index + code.length
  }
  return result + plain(linked.slice(from))
}

/** @param {string} text  without code */
function plain (text) {
  return text.replace(/<(?!https?:)/g, '&lt;').replace(/\b[A-Z][A-Z_]{3,}\b/g, (word) => linkOfCode(word, '') ?? word)
}

/** @type {(word: string, before: string) => string | null} */
function linkOfCode (word, before) {
  return Object.hasOwn(codes, word) && before !== '[' ? `[\`${word}\`](errors.md#${slugOf(word)})` : null
}

/** @param {string} text */
function sentence (text) {
  if (text === '') return ''
  const first = text[0].toUpperCase() + text.slice(1)
  return /[.:!?]$/.test(first) ? first : `${first}.`
}

/**
 * A type in a line of text: the members of a union one by one, with a link where there is a section.
 * @param {import('./type-text').TypeText} type
 * @param {(symbol: import('typescript').Symbol) => string | null} linkOf
 */
function typeWords ({ text, symbols }, linkOf) {
  const links = symbols.flatMap((symbol) => {
    const link = linkOf(symbol)
    return link === null ? [] : [{ pattern: new RegExp(`\\b${symbol.name}\\b`), link }]
  })
  const parts = splitUnion(text).map((part) => {
    const code = `\`${part.replace(/^\((.*=>.*)\)$/, '$1')}\``
    const named = links.find(({ pattern }) => pattern.test(part))
    return named ? `[${code}](${named.link})` : code
  })
  const [last] = parts.slice(-1)
  return parts.length === 1 ? last : `${parts.slice(0, -1).join(', ')} or ${last}`
}

/** @param {string} text */
function cell (text) {
  return text.replace(/\|/g, '\\|').replace(/\n/g, ' ')
}

/** @type {(head: string[], rows: string[][]) => string} columns without a value are left out */
function table (head, rows) {
  const used = head.map((_, column) => column === 0 || rows.some((row) => row[column] !== ''))
  const line = (/** @type {string[]} */ cells) => `| ${cells.filter((_, column) => used[column]).join(' | ')} |`
  return [line(head), `|${'---|'.repeat(used.filter(Boolean).length)}`, ...rows.map((row) => line(row.map(cell)))].join('\n')
}

/** @type {(name: string, parts: string[], result: string, arrow?: string) => string} on several lines if it is long */
function callBlock (name, parts, result, arrow = ': ') {
  const end = result === '' ? '' : `${arrow}${result}`
  const line = `${name}(${parts.join(', ')})${end}`
  const lines = parts.map((part) => `  ${part}`).join(',\n')
  const shown = line.length <= LINE_LENGTH_MAX || parts.length === 0 ? line : `${name}(\n${lines}\n)${end}`
  return `\`\`\`ts\n${shown}\n\`\`\``
}

/**
 * What an option is if it is not given, as its description says: `16 MiB by default`, or `0, the default, fails`.
 * @param {string} description
 * @param {string} type
 * @returns {{ text: string, byDefault: string }}  the description without a part that says only that
 */
function splitDefault (description, type) {
  const value = '(`[^`]+`|\'[^\']*\'|-?[\\w.,^+-]*[\\w^+](?: (?:[KMGT]?i?B|bytes|ms|s|seconds?|minutes?|hours?|days?))?)'
  const end = new RegExp(`(?:^|[;,.]) *${value} by default\\.?$`, 'i').exec(description)
  const found = end ?? new RegExp(`(?:^|[;,.(:] *|\\bor )${value}(?: by default|,? (?:is )?the default)\\b`, 'i').exec(description)
  if (found === null) return { text: description, byDefault: '' }
  const byDefault = showDefault(found[1], type)
  const isAlone = end !== null && byDefault !== ''
  return { text: isAlone ? description.slice(0, end.index) : description, byDefault }
}

/** @type {(value: string, type: string) => string} empty if the type says that it is something else */
function showDefault (value, type) {
  const bare = value.replace(/^[`'"]+|[`'"]+$/g, '')
  const parts = splitUnion(type)
  const texts = parts.filter((part) => /^['"]/.test(part)).map((part) => part.slice(1, -1))
  if (texts.includes(bare)) return `\`'${bare}'\``
  if (/^(?:true|false|null|undefined)$/i.test(bare)) return `\`${bare.toLowerCase()}\``
  if (texts.length > 0 && texts.length === parts.length) return ''
  if (/^[`']/.test(value)) return `\`${value.replaceAll('`', '')}\``
  return /^-?[\d.,]+$/.test(bare) || bare === 'Infinity' || /^0[xo]/.test(bare) ? `\`${bare}\`` : bare
}

/** @type {(name: string, value: number) => string} a size in KiB and so on; empty for what is no number */
function formatNumber (name, value) {
  if (Number.isNaN(value)) return ''
  const units = name.endsWith('Size') ? UNITS.filter(({ size }) => value >= size && value % size === 0) : []
  return units.length > 0 ? `${value / units[0].size} ${units[0].unit}` : `\`${value}\``
}

exports.formatNumber = formatNumber
exports.callBlock = callBlock
exports.prose = prose
exports.sentence = sentence
exports.splitDefault = splitDefault
exports.table = table
exports.typeWords = typeWords
