'use strict'
// The parameters of a URL: a route takes those that its schema names, each once. Anything else may be misspelt, and an
// answer that ignores it would answer another question than the client has asked.

const { countEdits } = require('@millrace/errors')
const { Problem } = require('./problem')

/** Of numbers: `1e3`, `0x10`, ` 1` and `1.0` are numbers for JavaScript. */
const DECIMAL = /^-?\d+$/
/** Longer names are shown, and compared with others, only up to here. */
const NAME_LENGTH_MAX = 40
const EDITS_MAX = 2

/**
 * @param {Record<string, import('./schemas').Schema>} schemas  by name
 * @returns {(query: Record<string, unknown>) => Problem | null}
 */
function createQueryCheck (schemas) {
  const known = new Map(Object.entries(schemas))
  return (query) => {
    for (const name in query) {
      const schema = known.get(name)
      const value = query[name]
      if (schema === undefined) return unknownParameter(name, [...known.keys()])
      if (Array.isArray(value)) return badQuery(`${name} is given ${value.length} times; give it once`)
      if (schema.type === 'integer' && typeof value === 'string' && !DECIMAL.test(value)) {
        return badQuery(`${name} must be a whole number in decimal digits, not ${show(value)}`)
      }
    }
    return null
  }
}

/** @param {string} detail */
function badQuery (detail) {
  return new Problem(400, detail, { code: 'bad_query' })
}

/** @type {(name: string, known: string[]) => Problem} */
function unknownParameter (name, known) {
  const nearest = findNearest(name.slice(0, NAME_LENGTH_MAX), known)
  const hint = nearest === null ? '' : ` did you mean ${nearest}?`
  const all = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`
  return new Problem(400, `this path has no parameter ${show(name)};${hint === '' ? ` ${all}` : `${hint} If not, ${all}`}`, { code: 'unknown_parameter' })
}

/** @type {(name: string, known: string[]) => string | null} */
function findNearest (name, known) {
  const [nearest] = known.map((other) => ({ other, edits: countEdits(name.toLowerCase(), other) }))
    // So that one letter is not taken for another.
    .filter(({ other, edits }) => edits <= EDITS_MAX && edits < Math.min(name.length, other.length))
    .sort((a, b) => a.edits - b.edits)
  return nearest?.other ?? null
}

/** @param {string} text */
function show (text) {
  return JSON.stringify(text.length > NAME_LENGTH_MAX ? `${text.slice(0, NAME_LENGTH_MAX)}...` : text)
}

exports.createQueryCheck = createQueryCheck
