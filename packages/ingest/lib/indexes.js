'use strict'
// Which logs have an index, and of which fields of their values: what the option `index` says.

const { misuse, reasonOf } = require('@millrace/errors')
const { createIndex } = require('@millrace/index')
const { jsonCodec } = require('@millrace/json-codec')

/** What people look for in logs of OpenTelemetry. @type {ReadonlyArray<Field>} */
const OTLP_FIELDS = ['traceId', { path: 'severityNumber', range: true }, ['resource', 'attributes', 'service.name']]

/**
 * @typedef {import('@millrace/index').AskedPath | import('@millrace/index').PathOptions} Field  a path in the value
 * @typedef {true | ReadonlyArray<Field>} Fields  true: those of OpenTelemetry
 * @typedef {ReadonlyArray<string> | Record<string, Fields>} IndexOption
 * @typedef {import('@millrace/index').Index} Index
 */

/**
 * @param {IndexOption | null} option
 * @returns {Map<string, Index>}  by the name of the log
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseIndexes (option) {
  if (option === null) return new Map()
  if (typeof option !== 'object') throw misuse(`ingest: index must be an object with the names of logs, got ${reasonOf(option)}`)
  const fields = Array.isArray(option) ? parseTexts(option) : /** @type {Record<string, Fields>} */ (option)
  return new Map(Object.entries(fields).map(([name, fields]) => [name, indexOf(name, fields)]))
}

const EACH = /^([^[]*)\[\*\](?:\.(.+))?$/s

/** @type {(texts: readonly unknown[]) => Record<string, Fields>} of flags: `LOG:FIELD`, or `LOG` alone */
function parseTexts (texts) {
  /** @type {Record<string, Field[]>} */
  const found = Object.create(null)
  for (const text of texts) {
    const [, name, field] = /^([^:]+)(?::(.+))?$/s.exec(String(text)) ?? []
    if (name === undefined) throw misuse(`ingest: index: expected LOG:FIELD, such as orders:user.id; got ${reasonOf(text)}`)
    found[name] = [...found[name] ?? [], ...(field === undefined ? OTLP_FIELDS : [parseField(field)])]
  }
  return found
}

/** @param {string} text  `tags[*]` is each element of an array, `links[*].to` a field in each @returns {Field} */
function parseField (text) {
  const [, path, each = true] = EACH.exec(text) ?? []
  return path === undefined ? text : { path: path === '' ? [] : path, each }
}

/** @type {(name: string, fields: Fields) => Index} */
function indexOf (name, fields) {
  const wanted = fields === true ? OTLP_FIELDS : fields
  if (!Array.isArray(wanted)) throw misuse(`ingest: index: expected a list of fields for ${name}, or true, got ${reasonOf(fields)}`)
  const { paths, open } = createIndex(wanted.map(ofRecord))
  // The log's own codec gives the bytes of a record.
  const codec = { value: { name: 'json', decode: jsonCodec.decode } }
  return { paths, open: (host) => open(Object.create(host, { codec })) }
}

/** The field of a value, in the record around it. @param {any} field @returns {any} */
function ofRecord (field) {
  if (typeof field === 'string') return `value.${field}`
  if (Array.isArray(field)) return ['value', ...field]
  return field === null || typeof field !== 'object' ? field : { ...field, path: ofRecord(field.path) }
}

exports.OTLP_FIELDS = OTLP_FIELDS
exports.parseIndexes = parseIndexes
