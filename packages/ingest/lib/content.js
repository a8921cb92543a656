'use strict'
// What the headers of a request say about its body: the media type, the charset and the coding.

const { Problem } = require('./problem')

const JSON_TYPES = ['application/json']
const LINES_TYPES = ['application/x-ndjson', 'application/ndjson', 'application/jsonl']
const RECORD_TYPES = [...JSON_TYPES, ...LINES_TYPES]
/** RFC 9110: x-gzip is another name. */
const GZIP = ['gzip', 'x-gzip']
const CHARSET = /;\s*charset\s*=\s*("?)([^";]*)\1/gi
const UTF8 = ['utf-8', 'utf8', '']

/** The media type without its parameters. @param {string} [header] */
function mediaType (header = '') {
  if (RECORD_TYPES.includes(header)) return header
  return header.split(';')[0].trim().toLowerCase()
}

/**
 * @param {string | undefined} header  `Content-Encoding`; Node.js joins repeated ones with commas
 * @returns {boolean}  whether the body is gzip
 * @throws {Problem}
 */
function isGzip (header) {
  if (header === undefined || header === '') return false
  const codings = header.toLowerCase().split(',').map((coding) => coding.trim()).filter((coding) => coding !== '' && coding !== 'identity')
  if (codings.length === 0) return false
  if (codings.length === 1 && GZIP.includes(codings[0])) return true
  throw new Problem(415, `Content-Encoding ${JSON.stringify(header)} is not known; use gzip, once, or none`, { headers: { 'Accept-Encoding': 'gzip' } })
}

/** Text must be UTF-8, and say nothing else. @param {string | undefined} header  `Content-Type` @throws {Problem} */
function checkCharset (header) {
  if (header === undefined || !header.includes(';') || !RECORD_TYPES.includes(mediaType(header))) return
  for (const [, , charset] of header.matchAll(CHARSET)) {
    if (UTF8.includes(charset.trim().toLowerCase())) continue
    throw new Problem(415, `the charset ${JSON.stringify(charset)} is not understood; send UTF-8`)
  }
}

exports.mediaType = mediaType
exports.isGzip = isGzip
exports.checkCharset = checkCharset
exports.LINES_TYPES = LINES_TYPES
exports.RECORD_TYPES = RECORD_TYPES
