'use strict'
// The errors of the writer: what was found, and the path that leads to it.

const { LogError } = require('@millrace/errors')

const KEYS_SHOWN_MAX = 10

/**
 * @param {Array<string | number>} path
 * @param {string} found
 * @param {unknown} [cause]
 * @returns {LogError}
 */
function refused (path, found, cause) {
  const shown = path.length > KEYS_SHOWN_MAX ? [...path.slice(0, KEYS_SHOWN_MAX), '...'] : path
  return new LogError('ERR_CODEC_ENCODE', `encode: at /${shown.join('/')}: ${found}`, { path, cause })
}

/**
 * @param {object} value
 * @returns {string}  such as `[object Map]`
 */
function nameOf (value) {
  return Object.prototype.toString.call(value)
}

exports.refused = refused
exports.nameOf = nameOf
