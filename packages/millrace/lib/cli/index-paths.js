'use strict'
// The paths of an index as people type and read them: keys with dots between them, as in a filter, and `[*]` for each
// element of an array.

const { misuse } = require('@millrace/errors')
const { parsePath } = require('./filter')

/** @typedef {import('@millrace/index').PathOptions} PathOptions */

const EACH = /^((?:"(?:[^"\\]|\\.)*"|[^"[])*)\[\*\](?:\.(.+))?$/s
const PLAIN_KEY = /^(?!\d+$)[^\s."=!<>^~,[\]]+$/

/**
 * @param {string} text  such as `user.id`, `tags[*]` or `links[*].to`
 * @returns {PathOptions}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseIndexPath (text) {
  const [, before = text, inside] = EACH.exec(text) ?? []
  if (before === text) return { path: toSteps(text, text) }
  return { path: before === '' ? [] : toSteps(before, text), each: inside === undefined ? true : toSteps(inside, text) }
}

/** @param {string} text @param {string} whole  for the message */
function toSteps (text, whole) {
  const outside = text.replace(/"(?:[^"\\]|\\.)*"/g, '')
  if (outside.includes(',')) throw misuse(`${whole} has a comma. Give each path by itself, as in --path type --path user.`)
  if (/[\s[\]$]/.test(outside.trim())) throw expected(whole)
  try {
    const { path, rest } = parsePath(text.trim(), text)
    if (rest === '') return path
  } catch (/** @type {any} */ err) {
    if (err.code !== 'ERR_INVALID_ARGUMENT') throw err
  }
  throw expected(whole)
}

/** @param {string} text */
function expected (text) {
  return misuse(`${text === '' ? 'An empty text' : text} is not a path. Expected keys with dots between them, as in user.id, and [*] ` +
    'for each element of an array, as in tags[*] or links[*].to; a key that has other signs is written in quotes.')
}

/** @param {PathOptions} options  as a run lists them */
function formatIndexPath ({ path, each = false, range = false }) {
  const inside = each === false ? '' : `[*]${each === true ? '' : `.${formatSteps(each)}`}`
  return `${formatSteps(path)}${inside}${range ? ' (with ranges)' : ''}`
}

/** @param {any} steps */
function formatSteps (steps) {
  return steps.map((/** @type {string | number} */ step) => {
    return typeof step === 'number' || PLAIN_KEY.test(step) ? String(step) : JSON.stringify(step)
  }).join('.')
}

/** @param {readonly PathOptions[]} paths */
function formatIndexPaths (paths) {
  return paths.map(formatIndexPath).join(', ')
}

exports.formatIndexPath = formatIndexPath
exports.formatIndexPaths = formatIndexPaths
exports.parseIndexPath = parseIndexPath
