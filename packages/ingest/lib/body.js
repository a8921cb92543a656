'use strict'
// The body of a request as the JSON texts of its records. The texts are kept as they came: numbers keep their digits
// and objects their repeated keys. Only line breaks between tokens become spaces, so that a record fits on a line.

const { isUtf8 } = require('node:buffer')
const { promisify } = require('node:util')
const zlib = require('node:zlib')
const { isTooDeep } = require('@millrace/json-codec')
const { LINES_TYPES, checkCharset, isGzip, withoutMark } = require('./content')
const { Problem } = require('./problem')

const inflate = promisify(zlib.gunzip)
const LINE_BREAK = /[\r\n]/

/**
 * @typedef {{ bodySize: number, inflatedSize: number, batchCount: number, recordSize: number }} BodyLimits
 */

/**
 * Collects and unpacks a body. fastify's own way to collect it copies each body, and takes its listeners away again.
 * @param {{ headers: import('node:http').IncomingHttpHeaders }} request
 * @param {import('node:stream').Readable} stream  of bytes; of text if the application around has put that in between
 * @param {BodyLimits} limits
 * @param {(err: Error | null, body?: Buffer) => void} done  once, whatever the stream does afterwards
 */
function receiveBody ({ headers }, stream, limits, done) {
  const { bodySize } = limits
  const type = headers['content-type']
  let isPacked = false
  try {
    checkCharset(type)
    isPacked = isGzip(headers['content-encoding'])
  } catch (err) {
    return done(/** @type {Error} */ (err))
  }
  if (Number(headers['content-length']) > bodySize) return done(bodyTooLarge(limits))
  /** @type {Buffer[]} */
  const chunks = []
  let size = 0
  let isDone = false
  stream.on('data', (data) => {
    if (isDone) return
    const chunk = typeof data === 'string' ? Buffer.from(data) : data
    size += chunk.length
    if (size > bodySize) finish(bodyTooLarge(limits))
    else chunks.push(chunk)
  })
  stream.on('end', () => {
    if (isDone) return
    try {
      const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, size)
      const inflated = isPacked ? inflateBody(body, limits) : body
      if (Buffer.isBuffer(inflated)) finish(null, withoutMark(inflated, type))
      else inflated.then((inflated) => finish(null, withoutMark(inflated, type)), finish)
    } catch (err) {
      finish(/** @type {Error} */ (err))
    }
  })
  stream.on('error', (cause) => finish(new Problem(400, 'the body did not arrive as a whole', { cause })))

  /** @type {(err: Error | null, body?: Buffer) => void} */
  function finish (err, body) {
    // The stream may fail while its bytes are unpacked.
    if (isDone) return
    isDone = true
    done(err, body)
  }
}

/** @param {BodyLimits} limits */
function bodyTooLarge ({ bodySize }) {
  return tooLarge(`the body is larger than ${bodySize} bytes`)
}

/** @type {(body: Buffer, limits: BodyLimits) => Promise<Buffer>} */
function inflateBody (body, { inflatedSize }) {
  return inflate(body, { maxOutputLength: inflatedSize }).catch((err) => {
    if (err.code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(`the body is larger than ${inflatedSize} bytes when it is unpacked`)
    throw new Problem(400, `the body is no gzip: ${err.message}`)
  })
}

/**
 * @param {Buffer} body
 * @param {string} type  media type without parameters
 * @param {BodyLimits} limits
 * @returns {string[]}  one JSON text a record, each without line breaks
 * @throws {Problem}
 */
function parseRecords (body, type, limits) {
  if (!isUtf8(body)) throw new Problem(400, 'the body is not UTF-8')
  const text = body.toString()
  const texts = LINES_TYPES.includes(type) ? parseLines(text, limits) : parseJson(text, limits)
  if (texts.length === 0) throw new Problem(400, 'the body has no record')
  return texts
}

/** @type {(text: string, limits: BodyLimits) => string[]} */
function parseJson (text, limits) {
  const value = parse(text, (reason) => new Problem(400, `the body is no JSON: ${reason}`))
  const texts = Array.isArray(value) ? splitArray(text) : [text.trim()]
  if (texts.length > limits.batchCount) throw tooMany(limits)
  texts.forEach((text, index) => checkText(text, limits, { index }))
  return LINE_BREAK.test(text) ? texts.map(onOneLine) : texts
}

/** @type {(text: string, limits: BodyLimits) => string[]} */
function parseLines (text, limits) {
  const texts = []
  let line = 0
  for (let at = 0; at < text.length;) {
    const found = text.indexOf('\n', at)
    const end = found === -1 ? text.length : found
    const part = text.slice(at, end).trim()
    line++
    if (part !== '') {
      if (texts.length === limits.batchCount) throw tooMany(limits)
      const begin = at
      parse(part, (reason) => {
        const position = { line, offset: Buffer.byteLength(text.slice(0, begin)) }
        return new Problem(400, `line ${line} is no JSON: ${reason}; nothing was stored`, { code: 'bad_record', more: position })
      })
      checkText(part, limits, { line })
      texts.push(part)
    }
    at = end + 1
  }
  return text.includes('\r') ? texts.map(onOneLine) : texts
}

/** @type {(text: string, toProblem: (reason: string) => Problem) => any} */
function parse (text, toProblem) {
  try {
    return JSON.parse(text)
  } catch (/** @type {any} */ err) {
    throw toProblem(err.message)
  }
}

/** @type {(text: string, limits: BodyLimits, position: Record<string, number>) => void} */
function checkText (text, { recordSize }, position) {
  if (text.length * 3 > recordSize && Buffer.byteLength(text) > recordSize) {
    throw tooLarge(`a record is larger than ${recordSize} bytes; nothing was stored`, position)
  }
  if (isTooDeep(text)) throw new Problem(400, 'a record is nested too deep; nothing was stored', { code: 'bad_record', more: position })
}

/** @param {string} text  JSON, so that its strings have no line breaks */
function onOneLine (text) {
  return text.replace(/[\r\n]/g, ' ')
}

/**
 * The texts of the elements. JSON.stringify would change numbers and drop repeated keys.
 * @param {string} text  an array that JSON.parse has accepted
 */
function splitArray (text) {
  const texts = []
  let depth = 0
  let begin = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text[at]
    if (unit === '"') at = endOfString(text, at)
    else if (unit === '[' || unit === '{') {
      if (++depth === 1) begin = at + 1
    } else if (unit === ']' || unit === '}') {
      if (--depth === 0) texts.push(text.slice(begin, at).trim())
    } else if (unit === ',' && depth === 1) {
      texts.push(text.slice(begin, at).trim())
      begin = at + 1
    }
  }
  return texts.length === 1 && texts[0] === '' ? [] : texts
}

/** @type {(text: string, at: number) => number} the position of the closing quote */
function endOfString (text, at) {
  for (at++; text[at] !== '"'; at++) if (text[at] === '\\') at++
  return at
}

/** @param {BodyLimits} limits */
function tooMany ({ batchCount }) {
  return tooLarge(`a batch may have ${batchCount} records; nothing was stored`)
}

/** @type {(detail: string, more?: Record<string, number>) => Problem} */
function tooLarge (detail, more = {}) {
  return new Problem(413, detail, { code: 'too_large', more })
}

exports.receiveBody = receiveBody
exports.parseRecords = parseRecords
exports.splitArray = splitArray
