'use strict'
// What somebody types into the viewer's filter: terms apart by spaces, of which a record must pass all.

const { parseFilter } = require('../cli/filter')

// A part in quotes may hold spaces; a quote that is not closed reaches to the end, as somebody is just typing it.
const TERM = /(?:"(?:[^"\\]|\\.)*(?:"|$)|[^\s"])+/g
const OPERATOR = /[=<>^~]/

/**
 * @param {string} text
 * @returns {{ where: any[] | null, texts: string[] }}  `path=value` and its like are conditions; `!path` too; any other
 *   term is a text that the record must hold
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseQuery (text) {
  const where = []
  const texts = []
  for (const [term] of text.matchAll(TERM)) {
    const isText = term.startsWith('"') ? !OPERATOR.test(term.replace(/^"(?:[^"\\]|\\.)*"?/, '')) : !OPERATOR.test(term) && term[0] !== '!'
    if (isText) texts.push(unquote(term))
    else where.push(parseFilter(term))
  }
  return { where: where.length > 0 ? where : null, texts }
}

/** @param {string} term */
function unquote (term) {
  if (!term.startsWith('"')) return term
  try {
    return JSON.parse(term)
  } catch {
    return term.slice(1)
  }
}

exports.parseQuery = parseQuery
