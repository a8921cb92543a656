'use strict'
// The text by which values of two logs are compared, whatever codecs the logs have.

const { isUint8Array } = require('node:util').types

/** @type {(value: any) => string} the same for equal values, which went through codecs */
function textOf (value) {
  if (isUint8Array(value)) return Buffer.from(value.buffer, value.byteOffset, value.length).toString('latin1')
  return JSON.stringify(value, replace) ?? 'undefined'
}

/** @this {any} @param {string} key @param {unknown} value */
function replace (key, value) {
  // A Buffer has a toJSON, which has run already.
  const raw = this[key]
  if (isUint8Array(raw)) return { $bytes: textOf(raw) }
  return typeof raw === 'bigint' ? { $bigint: String(raw) } : value
}

exports.textOf = textOf
