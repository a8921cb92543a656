'use strict'
// A case as one line, and back: all that it depends on.

const zlib = require('node:zlib')
const { targets } = require('./targets')

const VERSION = 1

class LineError extends Error {}

/**
 * @typedef {import('./examine').Sample} Sample
 * @typedef {import('./examine').Target} Target
 */

/**
 * @param {Target} target
 * @param {Sample} sample
 * @returns {string}
 */
function toLine ({ name }, { bytes, plan }) {
  // Logs are zeros for the most part.
  const packed = zlib.deflateRawSync(bytes, { level: 9 }).toString('base64url')
  return JSON.stringify({ version: VERSION, target: name, plan, bytes: packed })
}

/**
 * @param {string} line
 * @returns {{ target: Target, sample: Sample }}
 * @throws {LineError}
 */
function fromLine (line) {
  let parsed
  let bytes
  try {
    parsed = JSON.parse(line)
    bytes = zlib.inflateRawSync(Buffer.from(parsed.bytes, 'base64url'))
  } catch {
    throw new LineError('not a line that a failure printed')
  }
  const { version, target: name, plan } = parsed
  if (version !== VERSION) throw new LineError(`expected a line of version ${VERSION}, got ${version}`)
  const target = targets.find((target) => target.name === name)
  if (!target || plan === null || typeof plan !== 'object') throw new LineError(`no target ${name}, or no plan`)
  return { target, sample: { bytes, plan } }
}

exports.LineError = LineError
exports.fromLine = fromLine
exports.toLine = toLine
